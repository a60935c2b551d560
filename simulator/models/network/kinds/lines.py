"""Message times on straight lines by message size: Hockney's one line, and several with breaks between."""

from dataclasses import dataclass, fields, replace
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from simulator.base import ties
from simulator.base.arrays import Floats, Ints, Vector
from simulator.models.choice import TooFewPoints, schwarz
from simulator.models.network.kinds.kind import (
    LEAST_S,
    Fit,
    Fitted,
    Kind,
    KindForm,
    MessageModel,
    Parameter,
    bandwidth_of,
    refuse_unless,
    stretched,
)
from simulator.models.network.points import FEWEST_SIZES, LEAST_ERROR, NetworkPoints, relative_fit

SEGMENT_SIZES = 3
"""Fewest sizes that a line is fitted to."""
MOST_SEGMENTS = 8
MOST_BREAKS = 160
"""Places for breaks that are tried."""
SAME_ERROR = 1e-6
"""Relative errors (their root mean square) that differ by less place a break equally well; the first place wins."""
BREAK_COST = 2.0
"""Numbers that a break counts as in the criterion: it is chosen among many places."""
HARDLY = 2.0
"""A number that is negative by less than so many standard errors is taken as 0."""
GAPS, FURTHER = (1, 3), (2, 3)
"""Columns of gaps, and of what a further hop adds."""
UNITS = {"latency": "s", "gap": "s/B", "hop_latency": "s", "hop_gap": "s/B"}


@dataclass(frozen=True)
class PiecewiseModel(MessageModel):
    """Straight lines over the bytes, one for each range of sizes.

    With `d` hops and `l` bytes: `latency + (d - 1) * hop_latency + l * (gap + (d - 1) * hop_gap)`. One line without
    breaks is Hockney's model. At a break the time may jump: eager messages end there and rendezvous begins.
    """

    breaks_bytes: Vector
    """Where one line ends and the next begins, ascending; a message of so many bytes belongs to the former."""
    latencies_s: Vector
    """Of each line; (breaks + 1,). Those of later lines are intercepts: they may be negative."""
    gaps_s_per_byte: Vector
    hop_latencies_s: Vector
    """For each hop beyond the first."""
    hop_gaps_s_per_byte: Vector

    def __post_init__(self) -> None:
        lines = self.latencies_s.size
        refuse_unless(lines > 0, "latencies_s: give one number for each line, at least one")
        for name in _NUMBERS:
            values, count = getattr(self, name), lines - (name == "breaks_bytes")
            refuse_unless(values.shape == (count,), f"{name} has {values.size} numbers; {lines} lines need {count}")
            refuse_unless(np.all(np.isfinite(values)), f"{name}: {values.tolist()} are not all finite numbers")
        ascending = np.all(np.diff(self.breaks_bytes) > 0) and np.all(self.breaks_bytes > 0)
        refuse_unless(ascending, "breaks_bytes: sizes have to ascend from above 0")

    @property
    def faults(self) -> tuple[str, ...]:
        """What is not physical: latencies and gaps below 0; not the intercepts of later lines."""
        found = []
        if self.latencies_s[0] < 0:
            found.append(f"latency {self.latencies_s[0]:.3g} s is negative")
        if self.hop_latencies_s[0] < 0:
            found.append(f"latency of a further hop {self.hop_latencies_s[0]:.3g} s is negative")
        for name, values in (("gap", self.gaps_s_per_byte), ("gap of a further hop", self.hop_gaps_s_per_byte)):
            found += [f"{name} {value:.3g} s per byte is negative" for value in values if value < 0]
        return tuple(found)

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
        """Bytes per second of the largest messages; `NO_LIMIT` where time does not grow."""
        return bandwidth_of(float(self.gaps_s_per_byte[-1]))

    def time_s(self, size_bytes: ArrayLike, hops: ArrayLike = 1) -> Floats:
        """Message times; sizes and hops of any shapes that broadcast."""
        size, distance = np.broadcast_arrays(np.asarray(size_bytes, np.float64), np.asarray(hops, np.float64))
        line, more = np.searchsorted(self.breaks_bytes, size, side="left"), distance - 1
        latency = self.latencies_s[line] + more * self.hop_latencies_s[line]
        time = latency + size * (self.gaps_s_per_byte[line] + more * self.hop_gaps_s_per_byte[line])
        return np.asarray(np.maximum(time, LEAST_S), dtype=np.float64)

    def scaled(self, latency: float = 1.0, bandwidth: float = 1.0) -> "PiecewiseModel":
        """See `MessageModel.scaled`; what a further hop costs likewise."""
        return replace(
            self,
            latencies_s=stretched(self.latencies_s, latency, bandwidth),
            gaps_s_per_byte=self.gaps_s_per_byte / bandwidth,
            hop_latencies_s=stretched(self.hop_latencies_s, latency, bandwidth),
            hop_gaps_s_per_byte=self.hop_gaps_s_per_byte / bandwidth,
        )


_NUMBERS = [field.name for field in fields(PiecewiseModel) if field.name not in {"doubt", "source"}]


def fit_hockney(points: NetworkPoints) -> Fitted:
    """One line: a latency and a gap (seconds per byte); where distances differ, both for each further hop too."""
    per_hop = points.distances.size > 1
    design, names = _design(points, per_hop=per_hop)
    if points.sizes.size < 2 or points.size_bytes.size < design.shape[1]:
        found = f"{points.size_bytes.size} points of {points.sizes.size} sizes"
        raise TooFewPoints(f"{found}; at least {design.shape[1]} points of 2 sizes are needed")
    values, errors = _line(design, points.time_s, points.trust, level=False)
    parameters = tuple(
        Parameter(name, float(value), float(error), UNITS[name])
        for name, value, error in zip(names, values, errors, strict=True)
    )
    return Fitted(_lines(np.zeros(0), values[np.newaxis], per_hop=per_hop), parameters, len(names))


def fit_piecewise(points: NetworkPoints) -> Fitted:
    """Several lines by message size; the breaks are found by dynamic programming, which is exact.

    The number of lines has the least `n ln(mean squared relative error) + k ln(n) n/(n - k - 1)`, k counting every
    number fitted and each break as two. No gap is below 0: where times fall with the size, the line is level.
    """
    if points.sizes.size < 2 * SEGMENT_SIZES:
        raise TooFewPoints(f"{points.sizes.size} sizes; at least {2 * SEGMENT_SIZES} are needed")
    per_hop = points.distances.size > 1
    design, names = _design(points, per_hop=per_hop)
    starts = _segments(points, design)
    sizes = points.sizes
    number = np.searchsorted(sizes, points.size_bytes)
    lines, parameters = [], []
    edges = [*starts, sizes.size]
    for segment, (start, end) in enumerate(pairwise(edges)):
        mine = (number >= start) & (number < end)
        values, errors = _line(design[mine], points.time_s[mine], points.trust[mine], level=True)
        lines.append(values)
        parameters += [
            Parameter(f"{name}_{segment + 1}", float(value), float(error), UNITS[name])
            for name, value, error in zip(names, values, errors, strict=True)
        ]
    table = np.array(lines)
    breaks = np.array([_break(sizes[k - 1], sizes[k], *table[i : i + 2]) for i, k in enumerate(starts[1:])])
    for place, (at, k) in enumerate(zip(breaks, starts[1:], strict=True)):
        between = f"between {sizes[k - 1]:g} and {sizes[k]:g} B"
        half = float(sizes[k] - sizes[k - 1]) / np.sqrt(12)
        parameters.append(Parameter(f"break_{place + 1}", float(at), float(half), "B", between))
    free = len(names) * len(lines) + len(breaks)
    same_as = "" if breaks.size else "hockney"
    return Fitted(_lines(breaks, table, per_hop=per_hop), tuple(parameters), free, same_as=same_as)


def _lines(breaks: Floats, table: Floats, *, per_hop: bool) -> PiecewiseModel:
    zeros = np.zeros(len(table))
    return PiecewiseModel(
        breaks,
        table[:, 0],
        table[:, 1],
        table[:, 2] if per_hop else zeros,
        table[:, 3] if per_hop else zeros,
    )


def _line(design: Floats, time: Floats, trust: Floats, *, level: bool) -> tuple[Floats, Floats]:
    """Coefficients and standard errors; numbers for further hops that are hardly below 0 are left out."""
    kept = list(range(design.shape[1]))
    while True:
        found, covariance = relative_fit(design[:, kept], time, trust)
        errors = np.sqrt(np.diag(covariance))
        below = [
            column
            for column, value, error in zip(kept, found, errors, strict=True)
            if value < 0 and ((level and column in GAPS) or (column in FURTHER and value > -HARDLY * error))
        ]
        if not below:
            values, spreads = np.zeros(design.shape[1]), np.zeros(design.shape[1])
            values[kept], spreads[kept] = found, errors
            return values, spreads
        kept.remove(below[-1])


def _break(last: float, first: float, before: Floats, after: Floats) -> float:
    """Where two lines meet, if that is between the two sizes and at one hop; else halfway between their logarithms."""
    slope = before[1] - after[1]
    meet = (after[0] - before[0]) / slope if slope != 0 else np.inf
    if before.size == 2 and last * (1 - ties.SAME) <= meet < first * (1 + ties.SAME) and meet > 0:
        return float(np.clip(meet, last, np.nextafter(first, 0.0)))  # lines may meet just where something was measured
    return float(np.sqrt(max(last, 0.5) * first))


def _segments(points: NetworkPoints, design: Floats) -> list[int]:
    """First size of each segment, of the number of segments that the data support."""
    edges, costs = _costs(points, design)
    count, width = points.size_bytes.size, design.shape[1]
    floor = LEAST_ERROR**2 * float(points.trust.sum())
    best = np.full(edges.size, np.inf)
    best[0] = 0.0
    same = SAME_ERROR**2 * float(points.trust.sum())
    chosen, least = [0], np.inf
    came: list[Ints] = []
    for segments in range(1, min(MOST_SEGMENTS, points.sizes.size // SEGMENT_SIZES) + 1):
        total = best[:, np.newaxis] + costs
        came.append(np.argmax(ties.near_least(total, axis=0, floor=same), axis=0))
        best = np.min(total, axis=0)
        if not np.isfinite(best[-1]):
            break
        numbers = width * segments + BREAK_COST * (segments - 1)
        if numbers + 1 >= count and segments > 1:
            break
        mean_square = (max(best[-1], 0.0) + floor) / count
        criterion = schwarz(mean_square, count, numbers, spare=max(count - numbers - 1, 1))
        if ties.is_less(criterion, least):
            least, end, chosen = criterion, edges.size - 1, []
            for back in reversed(came):
                end = int(back[end])
                chosen.append(int(edges[end]))
            chosen.reverse()
    return chosen


def _costs(points: NetworkPoints, design: Floats) -> tuple[Ints, Floats]:
    """Squared relative errors of one line over the sizes from any edge to any later one, by sums over sizes."""
    sizes, number = points.sizes, np.searchsorted(points.sizes, points.size_bytes)
    edges = np.arange(sizes.size + 1)
    if edges.size > MOST_BREAKS:
        edges = np.unique(np.linspace(0, sizes.size, MOST_BREAKS).round().astype(np.int64))
    scaled = design * (np.sqrt(points.trust) / points.time_s)[:, np.newaxis]
    scaled /= np.sqrt(np.sum(scaled**2, axis=0))
    target = np.sqrt(points.trust)
    rows = np.concatenate((scaled, target[:, np.newaxis]), axis=1)
    width = design.shape[1]
    sums = np.zeros((sizes.size + 1, width + 1, width + 1))
    np.add.at(sums, number + 1, rows[:, :, np.newaxis] * rows[:, np.newaxis, :])
    sums = np.cumsum(sums, axis=0)[edges]
    start, end = np.triu_indices(edges.size, 1)
    enough = edges[end] - edges[start] >= SEGMENT_SIZES
    start, end = start[enough], end[enough]
    part = sums[end] - sums[start]
    found = np.full((edges.size, edges.size), np.inf)
    found[start, end] = np.maximum(_residuals(part, width), 0.0)
    return edges, found


def _residuals(part: Floats, width: int) -> Floats:
    """What a line leaves of each part's squares; a level one where it would fall."""
    normal, right, whole = part[:, :width, :width], part[:, :width, width], part[:, width, width]
    scale = np.sqrt(np.maximum(np.einsum("pii->pi", normal), 1e-300))
    normal = normal / (scale[:, :, np.newaxis] * scale[:, np.newaxis, :]) + 1e-11 * np.eye(width)
    right = right / scale
    found = np.linalg.solve(normal, right[:, :, np.newaxis])[:, :, 0]
    left = whole - np.sum(found * right, axis=1)
    if width == 2:
        left = np.where(found[:, 1] < 0, whole - right[:, 0] ** 2, left)
    return np.asarray(left)


def _design(points: NetworkPoints, *, per_hop: bool) -> tuple[Floats, tuple[str, ...]]:
    """Design of one straight line: latency, gap, and both for each further hop where distances differ."""
    ones, more = np.ones_like(points.hops), points.hops - 1
    if not per_hop:
        return np.column_stack((ones, points.size_bytes)), ("latency", "gap")
    design = np.column_stack((ones, points.size_bytes, more, more * points.size_bytes))
    return design, ("latency", "gap", "hop_latency", "hop_gap")


class LinesForm(KindForm):
    """Straight lines by message size, as fitted.

    A line for each range of sizes, the first up to and with the first break: latency + l gap, and for each hop beyond
    the first the hop latency + l times the hop gap.
    """

    breaks_bytes: list[float]
    """Where one range ends, ascending; the first range goes up to and with the first break."""
    latencies_s: list[float]
    """Seconds of a message without bytes, by range."""
    gaps_s_per_byte: list[float]
    """Seconds per byte, by range."""
    hop_latencies_s: list[float] | None = None
    """Seconds of each hop beyond the first, by range."""
    hop_gaps_s_per_byte: list[float] | None = None
    """Seconds per byte of each hop beyond the first, by range."""

    def times(self) -> PiecewiseModel:
        """See `KindForm`."""
        nothing = [0.0] * len(self.latencies_s)
        return PiecewiseModel.from_dict(
            {name: nothing if said is None else said for name, said in self.numbers().items()}
        )


KIND = Kind(
    PiecewiseModel,
    LinesForm,
    (
        Fit("hockney", 1, f"{FEWEST_SIZES} sizes", fit_hockney),
        Fit("piecewise", 3, f"{2 * SEGMENT_SIZES} sizes", fit_piecewise),
    ),
)
