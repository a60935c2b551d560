"""Message times by the packetised linear model (equation 5), and which of its parameters points determine."""

import math
from dataclasses import dataclass, fields, replace
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from simulator.base import ties
from simulator.base.arrays import Flags, Floats
from simulator.models.choice import TooFewPoints
from simulator.models.network.kinds.kind import (
    LEAST_S,
    NO_LIMIT,
    Fit,
    Fitted,
    Kind,
    KindForm,
    MessageModel,
    Parameter,
    refuse_unless,
)
from simulator.models.network.points import NetworkPoints, column_scale, relative_fit, solve_scaled, without_rounding

SIDE_SIZES = 2
"""Fewest sizes of messages of one packet, and of more."""
FEWEST_POINTS = 7
"""The model has six parameters."""
HARDLY = 2.0
"""Parameters are negative only where that fits better by so many standard errors."""
UNITS = {"alpha": "s", "alpha2": "s", "beta": "s", "tau": "s/B", "p": "B", "h": "B"}
TOGETHER = "one distance does not separate alpha and beta"
NEEDS = f"{FEWEST_POINTS} points of {2 * SIDE_SIZES} sizes"


@dataclass(frozen=True)
class PacketisedModel(MessageModel):
    """The packetised linear model, `l` bytes over `d` hops (processor-characterisation 4.2, equation 5).

    `alpha + d*(beta + tau*(l + h))` up to one packet of `p` bytes, and beyond it
    `alpha + d*(beta + tau*p) + (l/p - 1)*(alpha2 + beta + tau*p)`. The time jumps by `-d*tau*h` at `l = p`, as printed.
    """

    alpha_s: float
    alpha2_s: float
    """Time to prepare a packet."""
    beta_s: float
    """Start-up time of each hop."""
    tau_s_per_byte: float
    """Inverse of the bandwidth."""
    packet_bytes: float
    header_bytes: float
    knows_hops: ClassVar[bool] = True

    def __post_init__(self) -> None:
        for name in _NUMBERS:
            value = getattr(self, name)
            refuse_unless(math.isfinite(value), f"{name} is {value:g}; give a finite number")
        refuse_unless(self.packet_bytes > 0, f"packet_bytes is {self.packet_bytes:g}; give a number above 0")

    @property
    def faults(self) -> tuple[str, ...]:
        """What is not physical: times and sizes below 0."""
        names = {"alpha_s": "alpha", "alpha2_s": "alpha2", "beta_s": "beta", "tau_s_per_byte": "tau"}
        names |= {"header_bytes": "header h"}
        return tuple(
            f"{name} {getattr(self, field):.3g} is negative"
            for field, name in names.items()
            if getattr(self, field) < 0
        )

    @property
    def latency_s(self) -> float:
        """Time of a message without bytes to the next node."""
        return float(self.time_s(0.0))

    @property
    def bandwidth_bytes_per_s(self) -> float:
        """Bytes per second in full packets; `NO_LIMIT` where time does not grow."""
        packet_s = self.alpha2_s + self.beta_s + self.tau_s_per_byte * self.packet_bytes
        return self.packet_bytes / packet_s if packet_s > 0 else NO_LIMIT

    def time_s(self, size_bytes: ArrayLike, hops: ArrayLike = 1) -> Floats:
        """Message times; sizes and hops of any shapes that broadcast."""
        size, distance = np.broadcast_arrays(np.asarray(size_bytes, np.float64), np.asarray(hops, np.float64))
        full_s = self.beta_s + self.tau_s_per_byte * self.packet_bytes
        short = self.alpha_s + distance * (self.beta_s + self.tau_s_per_byte * (size + self.header_bytes))
        long = self.alpha_s + distance * full_s + (size / self.packet_bytes - 1) * (self.alpha2_s + full_s)
        return np.asarray(np.maximum(np.where(size <= self.packet_bytes, short, long), LEAST_S), dtype=np.float64)

    def jump_s(self, hops: ArrayLike = 1) -> Floats:
        """`-d*tau*h`: how the time changes just above `l = p`."""
        return np.asarray(-np.asarray(hops, np.float64) * self.tau_s_per_byte * self.header_bytes)

    def scaled(self, latency: float = 1.0, bandwidth: float = 1.0) -> "PacketisedModel":
        """See `MessageModel.scaled`; a further packet, start-up of the hop included, goes by the bandwidth."""
        return replace(
            self,
            alpha_s=latency * self.alpha_s,
            beta_s=latency * self.beta_s,
            alpha2_s=(self.alpha2_s + self.beta_s) / bandwidth - latency * self.beta_s,
            tau_s_per_byte=self.tau_s_per_byte / bandwidth,
        )


_NUMBERS = [one.name for one in fields(PacketisedModel) if one.name not in {"doubt", "source"}]


def fit_packetised(points: NetworkPoints) -> Fitted:
    """Least relative squares over all parameters; p between each two neighbouring sizes is tried.

    With `J = tau*h` and `S = (alpha2 + beta + tau*p)/p` both branches are linear for every split of the sizes: `alpha +
    d*(beta + J) + tau*d*l` and `(alpha - p*S) + d*(beta + tau*p) + S*l`; p follows from the two constants. Where it
    would lie outside its split it is put to the split's edge. One distance determines alpha + d*beta only, and p no
    closer than its split.
    """
    if points.sizes.size < 2 * SIDE_SIZES or points.size_bytes.size < FEWEST_POINTS:
        found = f"{points.size_bytes.size} points of {points.sizes.size} sizes"
        raise TooFewPoints(f"{found}; at least {FEWEST_POINTS} points of {2 * SIDE_SIZES} sizes are needed")
    several = points.distances.size > 1
    splits, same = _splits(points, several=several), _same(points)
    least, values, place = np.inf, np.zeros(6), SIDE_SIZES - 1
    for bound, split in splits:
        if not ties.is_less(bound, least, floor=same):
            break  # no place of p in this split, or in those that follow, does better
        squares, tried = _within(points, split, several=several)
        if ties.is_less(squares, least, floor=same):
            least, values, place = squares, tried, split
    edges = (float(points.sizes[place]), float(points.sizes[place + 1]))
    values = _bounded(points, _polished(points, values, several=several), place, several=several)
    covariance = _covariance(points, values, several=several)
    shared = values if several else _shared_out(values, float(points.distances[0]))
    model = PacketisedModel(*(float(value) for value in shared))
    notes = (f"p lies between {edges[0]:g} and {edges[1]:g} B", *_thin(points, place))
    if several:
        return Fitted(model, _parameters(values, covariance), 6, notes)
    combined = _combined(points, values, covariance, edges)
    return Fitted(model, combined, 6, (*notes, f"{TOGETHER}: the model shares them out, alpha2 not below 0"))


def _shared_out(values: Floats, hops: float) -> Floats:
    """One distance determines alpha + d*beta and alpha2 + beta: as much of them in beta as leaves no other below 0."""
    _, alpha2, both, tau, packet, header = values  # fitted with alpha = 0
    each = alpha2 + both if ties.is_less(-alpha2, both) or ties.is_less(both, -alpha2) else 0.0  # no rest of rounding
    beta = max(min(both, each), 0.0)
    return np.array([hops * (both - beta), each - beta, beta, tau, packet, header])


def _thin(points: NetworkPoints, split: int) -> tuple[str, ...]:
    """What to know where p is next to the smallest or largest sizes."""
    counts = {"of one packet": split + 1, "of more than one packet": points.sizes.size - split - 1}
    return tuple(
        f"only {count} sizes {which}: p may lie beyond them, and all parameters with it"
        for which, count in counts.items()
        if count <= SIDE_SIZES
    )


def _splits(points: NetworkPoints, *, several: bool) -> list[tuple[float, int]]:
    """Every split by the last size of one packet, and the least that its two branches leave, best first."""
    found: list[tuple[float, int]] = []
    for split in range(SIDE_SIZES - 1, points.sizes.size - SIDE_SIZES):
        short = points.size_bytes <= points.sizes[split]
        left = sum(
            _squares(
                _branch(points, mine, several=several, short=is_short), points.time_s[mine], _weights(points)[mine]
            )[0]
            for mine, is_short in ((short, True), (~short, False))
        )
        found.append((left, split))
    return [found[place] for place in ties.in_order([left for left, _ in found], floor=_same(points))]


def _same(points: NetworkPoints) -> float:
    """Sums of squares that differ by less differ by rounding."""
    return float(ties.SAME**2 * points.trust.sum())


def _branch(points: NetworkPoints, mine: Flags, *, several: bool, short: bool) -> Floats:
    size, hops = points.size_bytes[mine], points.hops[mine]
    bytes_column = hops * size if short else size
    columns = (np.ones_like(size), hops, bytes_column) if several else (np.ones_like(size), bytes_column)
    return np.column_stack(columns)


def _weights(points: NetworkPoints) -> Floats:
    return np.asarray(np.sqrt(points.trust) / points.time_s)


def _squares(design: Floats, time: Floats, weights: Floats) -> tuple[float, Floats]:
    found = solve_scaled(design, time, weights)
    return float(np.sum((time * weights - (design * weights[:, np.newaxis]) @ found) ** 2)), found


def _within(points: NetworkPoints, split: int, *, several: bool) -> tuple[float, Floats]:
    """The least squares with p in one split: squares and parameters."""
    low, high = float(points.sizes[split]), float(np.nextafter(points.sizes[split + 1], 0.0))
    low = max(low, 1e-3)
    short = points.size_bytes <= points.sizes[split]
    if not several:
        return _at(points, short, float(np.sqrt(low * high)), several=False)
    weights = _weights(points)
    one = _squares(_branch(points, short, several=True, short=True), points.time_s[short], weights[short])[1]
    more = _squares(_branch(points, ~short, several=True, short=False), points.time_s[~short], weights[~short])[1]
    meeting = (one[0] - more[0]) / more[2] if more[2] != 0 else np.inf
    if low < meeting < high:
        return _at(points, short, float(meeting), several=True)
    tried = [_at(points, short, edge, several=True) for edge in (low, high)]
    return tried[ties.first_least([squares for squares, _ in tried], floor=_same(points))]


def _design(points: NetworkPoints, short: Flags, packet: float, *, several: bool) -> Floats:
    """Linear for one p: (alpha,) alpha2, beta, tau, J; one distance has no alpha of its own."""
    size, hops = points.size_bytes, points.hops
    more = np.where(short, 0.0, size / packet - 1)
    tau = np.where(short, hops * size, (hops + more) * packet)
    columns = (more, hops + more, tau, np.where(short, hops, 0.0))
    return np.column_stack((np.ones_like(size), *columns) if several else columns)


def _named(found: Floats, packet: float, *, several: bool) -> Floats:
    """Alpha, alpha2, beta, tau, p, h of the linear numbers."""
    alpha, alpha2, beta, tau, jump = found if several else (0.0, *found)
    return np.array([alpha, alpha2, beta, tau, packet, jump / tau if tau != 0 else 0.0])


def _at(points: NetworkPoints, short: Flags, packet: float, *, several: bool) -> tuple[float, Floats]:
    design = _design(points, short, packet, several=several)
    squares, found = _squares(design, points.time_s, _weights(points))
    return squares, _named(without_rounding(found, design, points.time_s), packet, several=several)


def _polished(points: NetworkPoints, values: Floats, *, several: bool) -> Floats:
    """The same p, the other parameters by reweighted least squares."""
    design = _design(points, points.size_bytes <= values[4], values[4], several=several)
    return _named(relative_fit(design, points.time_s, points.trust)[0], values[4], several=several)


def _bounded(points: NetworkPoints, values: Floats, split: int, *, several: bool) -> Floats:
    """With no parameter below 0, if the points hardly say otherwise; p anywhere in its split."""
    if not (np.any(np.delete(values, 4) < 0) and several):
        return values
    from scipy.optimize import minimize_scalar, nnls

    short = points.size_bytes <= points.sizes[split]
    fitted = PacketisedModel(*(float(value) for value in values)).time_s(points.size_bytes, points.hops)
    weights = np.sqrt(points.trust) / np.clip(fitted, 0.5 * points.time_s, 2 * points.time_s)

    def left(packet: float) -> tuple[float, Floats]:
        design = _design(points, short, packet, several=True)
        scale = column_scale(design, weights)
        found, norm = nnls(design * weights[:, np.newaxis] / scale, points.time_s * weights)
        return float(norm) ** 2, found / scale

    edges = _inside((float(points.sizes[split]), float(points.sizes[split + 1])))
    packet = float(minimize_scalar(lambda p: left(p)[0], bounds=edges, method="bounded").x)
    squares, found = left(packet)
    free = float(np.sum((weights * (points.time_s - fitted)) ** 2))
    spread = free / max(points.time_s.size - len(UNITS), 1)
    below = np.count_nonzero(found == 0)
    worse = ties.is_less(free + below * HARDLY**2 * spread, squares, floor=_same(points))
    return values if worse else _named(found, packet, several=True)


def _slopes(points: NetworkPoints, values: Floats) -> Floats:
    """Derivatives of the time by alpha, alpha2, beta, tau, p, h; (points, 6)."""
    _, alpha2, beta, tau, packet, header = values
    size, hops = points.size_bytes, points.hops
    short, more = size <= packet, size / packet - 1
    one, zero = np.ones_like(size), np.zeros_like(size)
    by_packet = hops * tau + more * tau - size / packet**2 * (alpha2 + beta + tau * packet)
    return np.column_stack(
        (
            one,
            np.where(short, zero, more),
            np.where(short, hops, hops + more),
            np.where(short, hops * (size + header), (hops + more) * packet),
            np.where(short, zero, by_packet),
            np.where(short, hops * tau, zero),
        )
    )


def _covariance(points: NetworkPoints, values: Floats, *, several: bool) -> Floats:
    """Of alpha, alpha2, beta, tau, p, h; zeros for what is not fitted."""
    model = PacketisedModel(*(float(value) for value in values))
    fitted = model.time_s(points.size_bytes, points.hops)
    error = (points.time_s - fitted) / fitted
    spread = max(1.4826 * float(np.median(np.abs(error))), 1e-9)
    huber = np.sqrt(np.minimum(1.0, 2.5 * spread / np.maximum(np.abs(error), 1e-300)))
    weights = np.sqrt(points.trust) * huber / fitted
    kept = [k for k in range(6) if several or k not in {0, 4}]
    design = _slopes(points, values)[:, kept]
    scale = column_scale(design, weights)
    inverse = np.linalg.pinv(design * weights[:, np.newaxis] / scale, rcond=1e-10)
    degrees = max(points.size_bytes.size - len(kept), 1)
    scatter = float(np.sum((weights * (points.time_s - fitted)) ** 2)) / degrees
    covariance = np.zeros((6, 6))
    covariance[np.ix_(kept, kept)] = (inverse @ inverse.T) / np.outer(scale, scale) * scatter
    return covariance


def _parameters(values: Floats, covariance: Floats) -> tuple[Parameter, ...]:
    errors = np.sqrt(np.diag(covariance))
    return tuple(
        Parameter(name, float(value), float(error), UNITS[name])
        for name, value, error in zip(UNITS, values, errors, strict=True)
    )


def _combined(
    points: NetworkPoints, values: Floats, covariance: Floats, edges: tuple[float, float]
) -> tuple[Parameter, ...]:
    """What one distance determines; the width of p's split is part of the standard errors."""
    ends = [_polished(points, np.array([*values[:4], edge, values[5]]), several=False) for edge in _inside(edges)]
    width = (ends[1] - ends[0]) / np.sqrt(12)
    hops = float(points.distances[0])
    both = np.array([0.0, 1.0, 1.0, 0.0, 0.0, 0.0])  # alpha2 + beta: beta holds alpha / d, alpha2 lacks it
    errors = np.sqrt(np.diag(covariance) + width**2)
    packet_error = np.sqrt(both @ covariance @ both + (both @ width) ** 2)
    none = "not determined by one distance"
    return (
        Parameter("alpha", None, None, "s", f"{none}: only alpha + {hops:g} beta"),
        Parameter("beta", None, None, "s", f"{none}: only alpha + {hops:g} beta"),
        Parameter("alpha2", None, None, "s", f"{none}: only alpha2 + beta"),
        Parameter(f"alpha + {hops:g} beta", float(hops * values[2]), float(hops * errors[2]), "s"),
        Parameter("alpha2 + beta", float(values[1] + values[2]), float(packet_error), "s"),
        Parameter("tau", float(values[3]), float(errors[3]), "s/B"),
        Parameter("p", float(values[4]), float((edges[1] - edges[0]) / np.sqrt(12)), "B", "anywhere in its split"),
        Parameter("h", float(values[5]), float(errors[5]), "B"),
    )


def _inside(edges: tuple[float, float]) -> tuple[float, float]:
    return max(edges[0], 1e-3), float(np.nextafter(edges[1], 0.0))


class PacketisedForm(KindForm):
    """The packetised linear model, equation 5.

    alpha + d (beta + tau (l + h)) up to p bytes; alpha + d (beta + tau p) + (l / p - 1) (alpha2 + beta + tau p) beyond.
    It jumps by -d tau h at l = p.
    """

    alpha_s: float
    """alpha, seconds."""
    alpha2_s: float
    """alpha2, seconds of each further packet."""
    beta_s: float
    """beta, seconds of each hop."""
    tau_s_per_byte: float
    """tau, seconds per byte."""
    packet_bytes: float
    """p, bytes of a packet."""
    header_bytes: float
    """h, bytes of its header."""

    def times(self) -> PacketisedModel:
        """See `KindForm`."""
        return PacketisedModel.from_dict(self.numbers())


KIND = Kind(PacketisedModel, PacketisedForm, (Fit("packetised", 2, NEEDS, fit_packetised),))
