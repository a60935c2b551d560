"""Message times that measurements were fitted with: by bytes and hops, in lines, in packets, and through knots."""

from dataclasses import dataclass, field, fields
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simulator.base.errors import ScenarioError
from simulator.models.doubt import Doubt, doubt_data, doubt_of

Floats = NDArray[np.float64]
LEAST_S = 1e-12
"""No message takes less: a line that was fitted far away may pass below zero."""


def _broadcast(size_bytes: ArrayLike, hops: ArrayLike) -> tuple[Floats, Floats]:
    size, distance = np.broadcast_arrays(np.asarray(size_bytes, np.float64), np.asarray(hops, np.float64))
    return size, distance


def _numbers(model: "PiecewiseModel | PacketisedModel | type") -> list[str]:
    """Names of a model's own numbers."""
    return [one.name for one in fields(model) if one.name not in {"doubt", "source"}]


def _no_faults(name: str, values: Floats) -> None:
    if not np.all(np.isfinite(values)):
        raise ScenarioError(f"link: {name}: {values.tolist()} found, finite numbers allowed")


@dataclass(frozen=True)
class PiecewiseModel:
    """Straight lines over the bytes, one for each range of sizes.

    With `d` hops and `l` bytes: `latency + (d - 1) * hop_latency + l * (gap + (d - 1) * hop_gap)`. One line without
    breaks is Hockney's model. At a break the time may jump: eager messages end there and rendezvous begins.
    """

    breaks_bytes: Floats
    """Where one line ends and the next begins, ascending; a message of so many bytes belongs to the former."""
    latencies_s: Floats
    """Of each line; (breaks + 1,). Those of later lines are intercepts: they may be negative."""
    gaps_s_per_byte: Floats
    hop_latencies_s: Floats
    """For each hop beyond the first."""
    hop_gaps_s_per_byte: Floats
    doubt: Doubt | None = field(default=None, kw_only=True)
    """What is not known of its times, over bytes. None: nothing is doubted, or nothing is known of it."""
    source: str = field(default="", compare=False, kw_only=True)
    """What links share a doubt by: the model's file, or the entry that says it; empty: each link alone."""
    form: ClassVar[str] = "piecewise"

    def __post_init__(self) -> None:
        lines = self.latencies_s.size
        for name in _numbers(self):
            values = getattr(self, name)
            allowed = lines - (name == "breaks_bytes")
            if values.shape != (allowed,) or not lines:
                raise ScenarioError(f"link: {name}: {values.size} numbers found, {allowed} allowed")
            _no_faults(name, values)
        if np.any(np.diff(self.breaks_bytes) <= 0) or np.any(self.breaks_bytes <= 0):
            raise ScenarioError("link: breaks_bytes: ascending sizes above 0 allowed")

    @property
    def faults(self) -> tuple[str, ...]:
        """What is not physical: latencies and gaps below 0; not the intercepts of later lines."""
        told = []
        if self.latencies_s[0] < 0:
            told.append(f"latency {self.latencies_s[0]:.3g} s is negative")
        if self.hop_latencies_s[0] < 0:
            told.append(f"latency of a further hop {self.hop_latencies_s[0]:.3g} s is negative")
        for name, values in (("gap", self.gaps_s_per_byte), ("gap of a further hop", self.hop_gaps_s_per_byte)):
            told += [f"{name} {value:.3g} s per byte is negative" for value in values if value < 0]
        return tuple(told)

    @property
    def knows_hops(self) -> bool:
        """Whether further hops cost something here: otherwise none were measured."""
        return bool(np.any(self.hop_latencies_s != 0) or np.any(self.hop_gaps_s_per_byte != 0))

    @property
    def latency_s(self) -> float:
        """Time of a message without bytes to the next node."""
        return float(self.time_s(0.0))

    @property
    def bandwidth_bytes_per_s(self) -> float:
        """Bytes per second of the largest messages; 1e30 where time does not grow."""
        return 1.0 / float(self.gaps_s_per_byte[-1]) if self.gaps_s_per_byte[-1] > 0 else 1e30

    def time_s(self, size_bytes: ArrayLike, hops: ArrayLike = 1) -> Floats:
        """Message times; sizes and hops of any shapes that broadcast."""
        size, distance = _broadcast(size_bytes, hops)
        line, more = np.searchsorted(self.breaks_bytes, size, side="left"), distance - 1
        latency = self.latencies_s[line] + more * self.hop_latencies_s[line]
        time = latency + size * (self.gaps_s_per_byte[line] + more * self.hop_gaps_s_per_byte[line])
        return np.asarray(np.maximum(time, LEAST_S), dtype=np.float64)

    def jumps_s(self, hops: float = 1) -> Floats:
        """Rise of the time at each break; (breaks,)."""
        ends = self.time_s(self.breaks_bytes, hops)
        return np.asarray(self.time_s(np.nextafter(self.breaks_bytes, np.inf), hops) - ends)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON and YAML."""
        return {name: getattr(self, name).tolist() for name in _numbers(self)} | doubt_data(self.doubt)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "PiecewiseModel":
        """The model that `to_dict` wrote."""
        return cls(*(np.asarray(data[name], dtype=np.float64) for name in _numbers(cls)), doubt=doubt_of(data))


@dataclass(frozen=True)
class PacketisedModel:
    """The packetised linear model, `l` bytes over `d` hops (processor-characterisation 4.2, equation 5).

    `alpha + d*(beta + tau*(l + h))` up to one packet of `p` bytes, and beyond it
    `alpha + d*(beta + tau*p) + (l/p - 1)*(alpha2 + beta + tau*p)`. The time jumps by `-d*tau*h` at `l = p`, as printed.
    """

    alpha_s: float
    """Time to prepare a message."""
    alpha2_s: float
    """Time to prepare a packet."""
    beta_s: float
    """Start-up time of each hop."""
    tau_s_per_byte: float
    """Inverse of the bandwidth."""
    packet_bytes: float
    """p: payload of a packet."""
    header_bytes: float
    """h: header of a packet."""
    doubt: Doubt | None = field(default=None, kw_only=True)
    """What is not known of its times, over bytes. None: nothing is doubted, or nothing is known of it."""
    source: str = field(default="", compare=False, kw_only=True)
    """What links share a doubt by: the model's file, or the entry that says it; empty: each link alone."""
    form: ClassVar[str] = "packetised"
    knows_hops: ClassVar[bool] = True

    def __post_init__(self) -> None:
        for name in _numbers(self):
            _no_faults(name, np.array([getattr(self, name)]))
        if self.packet_bytes <= 0:
            raise ScenarioError(f"link: packet_bytes: {self.packet_bytes:g} found, a number above 0 allowed")

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
        """Bytes per second in full packets; 1e30 where time does not grow."""
        packet_s = self.alpha2_s + self.beta_s + self.tau_s_per_byte * self.packet_bytes
        return self.packet_bytes / packet_s if packet_s > 0 else 1e30

    def time_s(self, size_bytes: ArrayLike, hops: ArrayLike = 1) -> Floats:
        """Message times; sizes and hops of any shapes that broadcast."""
        size, distance = _broadcast(size_bytes, hops)
        full_s = self.beta_s + self.tau_s_per_byte * self.packet_bytes
        short = self.alpha_s + distance * (self.beta_s + self.tau_s_per_byte * (size + self.header_bytes))
        long = self.alpha_s + distance * full_s + (size / self.packet_bytes - 1) * (self.alpha2_s + full_s)
        return np.asarray(np.maximum(np.where(size <= self.packet_bytes, short, long), LEAST_S), dtype=np.float64)

    def jump_s(self, hops: ArrayLike = 1) -> Floats:
        """`-d*tau*h`: how the time changes just above `l = p`."""
        return np.asarray(-np.asarray(hops, np.float64) * self.tau_s_per_byte * self.header_bytes)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON and YAML."""
        return {name: float(getattr(self, name)) for name in _numbers(self)} | doubt_data(self.doubt)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "PacketisedModel":
        """The model that `to_dict` wrote."""
        return cls(*(float(data[name]) for name in _numbers(cls)), doubt=doubt_of(data))


@dataclass(frozen=True)
class KnotsModel:
    """Smooth monotone curves through knots, time over bytes, logarithms on both axes; one for each number of hops.

    Between two measured distances straight lines over the hops, beyond them the last line goes on. Below the first
    knot its time holds, beyond the last knot its bandwidth over the last octave.
    """

    hops: Floats
    """Distances measured, ascending."""
    knots_bytes: tuple[Floats, ...]
    """Knots of each distance, ascending, at least two."""
    knots_s: tuple[Floats, ...]
    """Not decreasing, above zero."""
    doubt: Doubt | None = field(default=None, kw_only=True)
    """What is not known of its times, over bytes. None: nothing is doubted, or nothing is known of it."""
    source: str = field(default="", compare=False, kw_only=True)
    """What links share a doubt by: the model's file, or the entry that says it; empty: each link alone."""
    form: ClassVar[str] = "smooth"
    faults: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        if not (self.hops.size == len(self.knots_bytes) == len(self.knots_s) > 0) or np.any(np.diff(self.hops) <= 0):
            raise ScenarioError("link: hops: ascending distances with sizes and times of each allowed")
        for sizes, times in zip(self.knots_bytes, self.knots_s, strict=True):
            if sizes.size < 2 or sizes.shape != times.shape or np.any(np.diff(sizes) <= 0) or np.any(sizes < 0):
                raise ScenarioError("link: knots_bytes: two or more ascending sizes and as many times allowed")
            if np.any(np.diff(times) < 0) or not np.all(np.isfinite(times)) or times[0] <= 0:
                raise ScenarioError("link: knots_s: times above zero that do not decrease allowed")

    @property
    def knows_hops(self) -> bool:
        """Whether more than one distance was measured."""
        return self.hops.size > 1

    @property
    def latency_s(self) -> float:
        """Time of the least message to the next node."""
        return float(self.time_s(0.0))

    @property
    def bandwidth_bytes_per_s(self) -> float:
        """Bytes per second beyond the last knot; 1e30 where time does not grow."""
        slope = _last_gap(self.knots_bytes[0], self.knots_s[0])
        return 1.0 / slope if slope > 0 else 1e30

    def time_s(self, size_bytes: ArrayLike, hops: ArrayLike = 1) -> Floats:
        """Message times; sizes and hops of any shapes that broadcast."""
        size, distance = _broadcast(size_bytes, hops)
        curves = np.array([_curve(*knots, size) for knots in zip(self.knots_bytes, self.knots_s, strict=True)])
        if self.hops.size == 1:
            return np.asarray(curves[0])
        low = np.clip(np.searchsorted(self.hops, distance, side="right") - 1, 0, self.hops.size - 2)
        part = (distance - self.hops[low]) / (self.hops[low + 1] - self.hops[low])
        below, above = (np.take_along_axis(curves, (low + k)[np.newaxis], axis=0)[0] for k in (0, 1))
        return np.asarray(np.maximum(below + part * (above - below), LEAST_S))

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON and YAML."""
        lists = {name: [column.tolist() for column in getattr(self, name)] for name in ("knots_bytes", "knots_s")}
        return {"hops": self.hops.tolist(), **lists, **doubt_data(self.doubt)}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "KnotsModel":
        """The model that `to_dict` wrote."""
        columns = (tuple(np.asarray(row, np.float64) for row in data[name]) for name in ("knots_bytes", "knots_s"))
        return cls(np.asarray(data["hops"], dtype=np.float64), *columns, doubt=doubt_of(data))


FittedForm = PiecewiseModel | PacketisedModel | KnotsModel
"""Message times by bytes and hops."""


def _last_gap(sizes: Floats, times: Floats) -> float:
    """Seconds per byte over the last octave of knots."""
    start = min(int(np.searchsorted(sizes, sizes[-1] / 2, side="right")), sizes.size - 1) - 1
    start = max(start, 0)
    return float((times[-1] - times[start]) / (sizes[-1] - sizes[start]))


def _curve(sizes: Floats, times: Floats, size: Floats) -> Floats:
    """Through the knots; sizes are counted from one byte on, so that none is far from the first."""
    x, y, at = np.log(np.maximum(sizes, 0) + 1), np.log(times), np.log(np.maximum(size, 0) + 1)
    inside = np.exp(_monotone(x, y, np.clip(at, x[0], x[-1])))
    return np.asarray(inside + np.maximum(size - sizes[-1], 0.0) * _last_gap(sizes, times))


def _monotone(x: Floats, y: Floats, at: Floats) -> Floats:
    """Cubic that is monotone where the knots are (Fritsch and Butland's slopes: a weighted harmonic mean)."""
    steps, secants = np.diff(x), np.diff(y) / np.diff(x)
    slopes = np.zeros_like(x)
    slopes[0], slopes[-1] = secants[0], secants[-1]
    before, after = secants[:-1], secants[1:]
    weights = steps[:-1] + 2 * steps[1:], 2 * steps[:-1] + steps[1:]
    both = before * after > 0
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = (weights[0] + weights[1]) / (weights[0] / before + weights[1] / after)
    slopes[1:-1] = np.where(both, mean, 0.0)
    k = np.clip(np.searchsorted(x, at, side="right") - 1, 0, steps.size - 1)
    h, u = steps[k], (at - x[k]) / steps[k]
    start, end = y[k], y[k + 1]
    return np.asarray(
        start * (1 + 2 * u) * (1 - u) ** 2
        + h * slopes[k] * u * (1 - u) ** 2
        + end * u**2 * (3 - 2 * u)
        + h * slopes[k + 1] * u**2 * (u - 1)
    )
