"""Speed of a PE as a function of problem size: cuts, speed functions and speed bands, piecewise linear.

After Lastovetsky, Reddy and Higgins, "Building the Functional Performance Model of a Processor", section 2.4, as
EQUATIONS section 1 mends it: intervals are closed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from simulator.base import notebook
from simulator.base.arrays import Flags, Floats, Vector
from simulator.base.documents import NOT_WRITTEN, Data, Record
from simulator.base.errors import ScenarioError
from simulator.base.tables import Table, as_table
from simulator.models.doubt import Doubt, Noise
from simulator.models.file import ModelFile, cell_faults, check_level, refuse, rows_of
from simulator.models.levels import Levels

_ANY_SIZE = np.ones(1)
_LABELS = ("problem size (elements)", "volume per second")
"""Of a speed model's file."""
_PLACES = 101
"""Even places at which a distribution is looked at."""
ROWS = 12
"""Knots that are listed where a model shows itself."""
TOGETHER = "on all cores at once"
"""What a model's file says of speeds that were not measured alone."""
LEAST_HALF_WIDTH = 0.025
"""A cut is never narrower than this share of its middle, on either side (speed-bands-gbbp, section 2.4; our choice)."""


@dataclass(frozen=True)
class Cut:
    """The speed band at one problem size: the closed interval of speeds seen there."""

    size: float
    low: float
    mid: float
    high: float

    def at_most(self, other: "Cut") -> bool:
        """`I_self <= I_other`: neither end lies above the other's."""
        return self.high <= other.high and self.low <= other.low

    def meets(self, other: "Cut") -> bool:
        """Whether the intervals share at least one speed."""
        return self.low <= other.high and other.low <= self.high

    def contains(self, other: "Cut") -> bool:
        """Whether the other's interval lies in this one; equal intervals contain each other."""
        return self.low <= other.low and other.high <= self.high


@dataclass(frozen=True)
class SpeedFunction(Record):
    """One speed over problem size: straight lines between knots, constant beyond the outer ones."""

    sizes: Vector
    """Ascending problem sizes, elements stored and processed."""
    speeds: Vector
    """Volume per second at those sizes, above zero but for the last, which may be zero (the memory limit)."""

    def __post_init__(self) -> None:
        _check_sizes(self.sizes, (self.speeds,), "speed function")
        if np.any(self.speeds[:-1] <= 0) or self.speeds[-1] < 0 or not np.any(self.speeds > 0):
            raise ScenarioError("speed function: only the speed at the largest size may be 0; give speeds above 0")

    def speed(self, size: ArrayLike) -> Floats:
        """Volume per second at problem sizes of any shape."""
        return np.asarray(np.interp(np.asarray(size, np.float64), self.sizes, self.speeds), np.float64)

    def time(self, size: ArrayLike, volume: ArrayLike | None = None) -> Floats:
        """Seconds that a volume takes at a problem size; infinity where the speed is zero.

        `size`: problem sizes, any shape.
        `volume`: volume of computation at those sizes; by default the size itself (one unit of volume per element).
        """
        size = np.asarray(size, np.float64)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray((size if volume is None else np.asarray(volume, np.float64)) / self.speed(size))

    @cached_property
    def monotone(self) -> bool:
        """Whether `time(size)` grows with the size everywhere, so that a line through the origin meets the curve once.

        On a straight piece `x / (c + g x)` has the sign of `c`, the piece's speed continued to size 0.
        """
        if self.sizes.size < 2:
            return True
        return bool(np.all(self._intercepts > 0))

    def size(self, time_s: ArrayLike) -> tuple[Floats, Flags]:
        """The largest size whose `time(size)` is at most a time: exact inverse where time grows with the size.

        `time_s`: seconds for one unit of volume per element, finite and above zero, any shape.

        The sizes are never infinite, as the speed beyond the outer knots is constant and above zero, except where it is
        zero: there no size beyond the last knot. The flags are false where other sizes take the same time.
        """
        asked = np.asarray(time_s, np.float64)
        if not (np.all(asked > 0) and np.all(np.isfinite(asked))):
            raise ScenarioError("speed function: give finite times above 0")
        flat = asked.reshape(-1)
        candidates = self._crossings(flat)
        found = np.max(np.where(np.isnan(candidates), -np.inf, candidates), axis=0)
        least = np.min(np.where(np.isnan(candidates), np.inf, candidates), axis=0)
        unique = least >= found * (1 - 1e-12)
        return found.reshape(asked.shape), unique.reshape(asked.shape)

    @cached_property
    def _intercepts(self) -> Floats:
        slopes = np.diff(self.speeds) / np.diff(self.sizes)
        return np.asarray(self.speeds[:-1] - slopes * self.sizes[:-1])

    def _crossings(self, times_s: Floats) -> Floats:
        """Sizes where each piece takes those times, NaN where it does not; shape (pieces + 2, times)."""
        first, last = times_s * self.speeds[0], times_s * self.speeds[-1]
        rows = [np.where(first <= self.sizes[0], first, np.nan)]
        slopes = np.diff(self.speeds) / np.diff(self.sizes)
        for k, (slope, intercept) in enumerate(zip(slopes, self._intercepts, strict=True)):
            # x = t (c + g x)  =>  x = t c / (1 - t g)
            with np.errstate(divide="ignore", invalid="ignore"):
                x = times_s * intercept / (1 - times_s * slope)
            slack = 1e-12 * self.sizes[k + 1]
            inside = (x >= self.sizes[k] - slack) & (x <= self.sizes[k + 1] + slack)
            rows.append(np.where(inside, np.clip(x, self.sizes[k], self.sizes[k + 1]), np.nan))
        rows.append(np.where(last >= self.sizes[-1], last, np.nan))
        return np.array(rows)

    def __repr__(self) -> str:
        return f"SpeedFunction({_extent(self.sizes, self.speeds)})"

    def _repr_html_(self) -> str:
        chart = notebook.curves(self.sizes, {"speed": self.speeds}, labels=_LABELS, log=(True, False))
        rows = [{"size (elements)": x, "speed": y} for x, y in zip(self.sizes[:ROWS], self.speeds[:ROWS], strict=True)]
        return notebook.page("Speed function", chart, notebook.table(rows, count=self.sizes.size))


@dataclass(frozen=True)
class SpeedBand(Record):
    """Lower, middle and upper speed over problem size: straight lines between cuts, constant beyond the outer ones."""

    sizes: Vector
    """Ascending problem sizes, elements stored and processed."""
    low: Vector
    mid: Vector
    high: Vector
    """Speeds in units of volume per second, `0 <= low <= mid <= high`; only the last cut may be (0, 0)."""
    surface: "SpeedSurface | None" = field(default=None, compare=False, repr=False, metadata=NOT_WRITTEN)
    """What it is a slice of, so that a file can say all that was measured."""
    doubt: Doubt | None = None
    """What is not known of the middle curve. None with `noise` None: the whole band, from `low` to `high`, is doubt."""
    noise: Noise | None = None
    """How the time of one run differs from its truth; None: not at all. Ends then show where 90 % of runs lie."""
    source: str = field(default="", compare=False, metadata=NOT_WRITTEN | {"read": True})
    """What all PEs that use it share a doubt by: the model's file, or the entry that says it; empty: each PE alone."""

    def __post_init__(self) -> None:
        for name in ("sizes", "low", "mid", "high"):
            if not isinstance(getattr(self, name), np.ndarray):
                object.__setattr__(self, name, np.array(getattr(self, name), np.float64))
        if self.sizes.shape == self.low.shape == self.mid.shape == self.high.shape == (1,) and (
            0 < self.sizes[0] < np.inf and 0 < self.low[0] <= self.mid[0] <= self.high[0] < np.inf
        ):
            return  # one cut, of which large platforms have many: the checks below say nothing more
        _check_sizes(self.sizes, (self.low, self.mid, self.high), "speed band")
        if np.any(self.low < 0) or np.any(self.low > self.mid) or np.any(self.mid > self.high):
            raise ScenarioError("speed band: curves have to be in order: 0 <= low <= mid <= high")
        if np.any(self.mid[:-1] <= 0) or self.mid[0] <= 0:
            raise ScenarioError("speed band: only the speed at the largest of several sizes may be 0; give mid above 0")

    @classmethod
    def constant(cls, speed: float) -> "SpeedBand":
        """The same speed at every problem size, without width."""
        curve = np.array([float(speed)])
        return cls(_ANY_SIZE, curve, curve, curve)

    @property
    def wide(self) -> bool:
        """Whether it is more than a line, so that what is drawn for a PE matters."""
        return self.doubtful or self.noise is not None

    @property
    def stated(self) -> bool:
        """Whether it says noise and doubt apart; otherwise the whole band is doubt."""
        return self.doubt is not None or self.noise is not None

    @property
    def doubtful(self) -> bool:
        """Whether its truth is drawn."""
        if self.stated:
            return self.doubt is not None and bool(np.any(self.doubt.sd > 0))
        return self.low is not self.high and not np.array_equal(self.low, self.high)

    @classmethod
    def through(cls, cuts: list[Cut]) -> "SpeedBand":
        """Join cuts of different sizes, in any order, by straight lines."""
        ordered = sorted(cuts, key=lambda cut: cut.size)
        sizes, low, mid, high = np.array([(c.size, c.low, c.mid, c.high) for c in ordered], dtype=np.float64).T
        return cls(sizes, low, mid, high)

    def cut(self, size: float) -> Cut:
        """The band at one problem size."""
        low, mid, high = (float(np.interp(size, self.sizes, curve)) for curve in (self.low, self.mid, self.high))
        return Cut(size, low, mid, high)

    def drawn(self, size: ArrayLike, *, position: ArrayLike = 0.5, noise: ArrayLike = 0.5) -> Floats:
        """Speed of one run at problem sizes: that of a truth, with what is drawn for the run.

        `size`: problem sizes, any shape; broadcast against the others.
        `position`: where the truth lies in the doubt, from 0 (slow) to 1; drawn evenly, once per truth.
        `noise`: where the run lies in the noise, from 0 (quick) to 1; drawn evenly, once per replication.
        """
        from scipy.special import ndtri

        if not self.stated:
            return self.speed(size, position=position)
        speeds = np.interp(np.asarray(size, np.float64), self.sizes, self.mid)
        if self.doubt is not None:
            speeds = speeds * self.doubt.factor(size, ndtri(np.asarray(position, np.float64)))
        return np.asarray(speeds if self.noise is None else speeds / self.noise.at(noise, size), np.float64)

    def speed(self, size: ArrayLike, *, position: ArrayLike = 0.5) -> Floats:
        """Speed at problem sizes, at a position across the band.

        `size`: problem sizes, any shape; broadcast against `position`.
        `position`: 0 on the lower curve, 0.5 on the middle one, 1 on the upper one, linear between.
        """
        size, position = np.asarray(size, dtype=np.float64), np.asarray(position, dtype=np.float64)
        low, mid, high = (np.interp(size, self.sizes, curve) for curve in (self.low, self.mid, self.high))
        below, above = np.minimum(position * 2, 1.0), np.maximum(position * 2 - 1, 0.0)
        return np.asarray(low + below * (mid - low) + above * (high - mid), dtype=np.float64)

    def run_interval(self, size: ArrayLike, *, level: float = 0.9) -> tuple[Floats, Floats]:
        """Speeds between which one run lies with a probability, noise and doubt together; as the sizes.

        Raises ScenarioError if noise and doubt are one: then `low` and `high` are limits, without a probability.
        """
        from scipy.special import ndtri

        if not self.stated:
            raise ScenarioError("speed band: noise and doubt are one; low and high are its limits")
        places = (np.arange(_PLACES) + 0.5) / _PLACES
        sizes = np.asarray(size, np.float64)
        sds = np.zeros(sizes.shape) if self.doubt is None else self.doubt.at(sizes)
        logs = [np.zeros(1) if self.noise is None else np.log(self.noise.at(places, one)) for one in sizes.flat]
        ends, deviates = ((1 - level) / 2, (1 + level) / 2), ndtri(places)[:, np.newaxis]
        found = [np.quantile(sd * deviates - row, ends, method="hazen") for sd, row in zip(sds.flat, logs, strict=True)]
        low, high = np.exp(np.array(found).reshape(-1, 2)).T
        mid = np.interp(sizes, self.sizes, self.mid)
        return mid * np.minimum(low, 1.0).reshape(sizes.shape), mid * np.maximum(high, 1.0).reshape(sizes.shape)

    def scaled(self, factors: ArrayLike, sizes: ArrayLike = 1.0) -> "SpeedBand":
        """The same with all speeds multiplied.

        `factors`, `sizes`: by what, at which ascending problem sizes; straight between by the logarithm of the size,
        and the outer ones beyond.
        """
        at, by = np.atleast_1d(np.asarray(sizes, np.float64)), np.atleast_1d(np.asarray(factors, np.float64))
        if np.all(by == 1.0):
            return self
        within = at[(at > self.sizes[0]) & (at < self.sizes[-1])]
        knots = np.union1d(self.sizes, within) if at.size > 1 else self.sizes
        factor = np.interp(np.log(knots), np.log(at), by)
        low, mid, high = (np.interp(knots, self.sizes, curve) * factor for curve in (self.low, self.mid, self.high))
        return replace(self, sizes=knots, low=low, mid=mid, high=high)

    def shown(self) -> "SpeedBand":
        """The same with its lower and upper curve where 90 % of runs lie; as it is where that is not known."""
        if not self.stated:
            return self
        low, high = self.run_interval(self.sizes)
        return replace(self, low=low, high=high)

    def function(self, *, position: float = 0.5) -> SpeedFunction:
        """The speed function at one position across the band; see `speed`."""
        return SpeedFunction(self.sizes, self.speed(self.sizes, position=position))

    def time(self, size: ArrayLike, volume: ArrayLike | None = None, *, position: float = 0.5) -> Floats:
        """Seconds that a volume takes at a problem size; see `SpeedFunction.time`."""
        return self.function(position=position).time(size, volume)

    def __repr__(self) -> str:
        return f"SpeedBand({_extent(self.sizes, self.mid)})"

    def _repr_html_(self) -> str:
        band = (self.low, self.high)
        chart = notebook.curves(self.sizes, {"speed": self.mid}, labels=_LABELS, band=band, log=(True, False))
        columns = zip(self.sizes[:ROWS], self.low[:ROWS], self.mid[:ROWS], self.high[:ROWS], strict=True)
        rows = [dict(zip(("size (elements)", "low", "mid", "high"), row, strict=True)) for row in columns]
        return notebook.page("Speed band", chart, notebook.table(rows, count=self.sizes.size))


@dataclass(frozen=True)
class SpeedSurface(Record):
    """Speed bands by number of columns: the speed on panels, whose rows are a process's share and whose columns are n.

    A problem of one size is quick or slow by its shape, so a band over sizes holds for one number of columns. Between
    two numbers of columns, panels of equal proportions are compared: those whose sizes are as the squares of their
    columns. Logarithms of speeds lie on straight lines over the logarithm of the columns; constant beyond the ends.
    """

    columns: tuple[float, ...]
    bands: tuple[SpeedBand, ...]
    """Over problem size, in elements, of panels of so many columns; none ends at a speed of 0."""

    def __post_init__(self) -> None:
        if not self.columns or len(self.columns) != len(self.bands):
            raise ScenarioError("speed surface: give one band for each number of columns, at least one")
        ascending = all(one < other for one, other in zip(self.columns, self.columns[1:], strict=False))
        if not (ascending and self.columns[0] > 0 and self.columns[-1] < np.inf):
            raise ScenarioError("speed surface: columns have to be finite, above 0 and ascending")
        if any(np.any(band.mid <= 0) for band in self.bands):
            raise ScenarioError("speed surface: give bands whose mid is above 0 everywhere")

    def at(self, columns: float) -> SpeedBand:
        """The band of panels of so many columns; exactly what was measured where it was."""
        if columns in self.columns:
            return replace(self.bands[self.columns.index(columns)], surface=self)
        right = int(np.searchsorted(self.columns, columns))
        near = sorted({max(0, right - 1), min(right, len(self.columns) - 1)})
        scales = [(columns / self.columns[place]) ** 2 for place in near]
        sizes = np.unique(np.concatenate([self.bands[p].sizes * scale for p, scale in zip(near, scales, strict=True)]))
        logs = np.log(np.array([self.columns[place] for place in near]))
        shares = np.array([1.0]) if len(near) == 1 else np.abs(np.log(columns) - logs[::-1]) / (logs[1] - logs[0])

        def joined(name: Literal["low", "mid", "high"]) -> Floats:
            curves = [
                np.interp(sizes, self.bands[place].sizes * scale, getattr(self.bands[place], name))
                for place, scale in zip(near, scales, strict=True)
            ]
            return np.asarray(np.prod(np.array(curves) ** shares[:, np.newaxis], axis=0))

        mid = joined("mid")
        band = SpeedBand(sizes, np.minimum(joined("low"), mid), mid, np.maximum(mid, joined("high")), self)
        return replace(band, **_blended([self.bands[place] for place in near], scales, shares))

    def to_dict(self) -> Data:
        """Plain data for JSON and YAML."""
        sources = ({"source": band.source} if band.source and band.wide else {} for band in self.bands)
        bands = [band.to_dict() | source for band, source in zip(self.bands, sources, strict=True)]
        return {"columns": list(self.columns), "bands": bands}


def _blended(bands: Sequence[SpeedBand], scales: Sequence[float], shares: Floats) -> Data:
    """Doubt and noise between two bands, whose sizes are so many times as large; none where one of them has none."""
    found: Data = {}
    doubts = [band.doubt for band in bands if band.doubt is not None]
    noises = [band.noise for band in bands if band.noise is not None]
    if len(doubts) == len(bands):
        sizes = np.unique(np.concatenate([doubt.sizes * scale for doubt, scale in zip(doubts, scales, strict=True)]))
        sd = sum(share * doubt.at(sizes / scale) for doubt, scale, share in zip(doubts, scales, shares, strict=True))
        names = dict.fromkeys(name for doubt in doubts for name in doubt.sources)
        sources = {
            name: float(sum(share * doubt.sources.get(name, 0.0) for doubt, share in zip(doubts, shares, strict=True)))
            for name in names
        }
        common = float(sum(share * doubt.common for doubt, share in zip(doubts, shares, strict=True)))
        found["doubt"] = Doubt(sizes, np.asarray(sd), min(1.0, common), sources)
    if len(noises) == len(bands):
        places = (np.arange(max(noise.factors.size for noise in noises)) + 0.5) / max(
            noise.factors.size for noise in noises
        )
        logs = sum(share * np.log(noise.at(places)) for noise, share in zip(noises, shares, strict=True))
        levels = [noise.levels for noise in noises if noise.levels is not None]
        both = Levels.mixed(levels, scales) if len(levels) == len(bands) else None
        found["noise"] = Noise(np.exp(logs), both).spread_as(noises, shares, scales)
    return found


def _extent(sizes: Floats, speeds: Floats) -> str:
    """How many knots, and between which sizes and speeds."""
    if sizes.size == 1:
        return f"{speeds[0]:.4g} units/s at every size"
    ends = f"{sizes[0]:.4g} to {sizes[-1]:.4g} elements"
    return f"{sizes.size} knots, {ends}, {speeds.min():.4g} to {speeds.max():.4g} units/s"


def cut_from_samples(size: float, cpu_speeds: Floats, wall_speeds: Floats) -> Cut:
    """The cut that repeated runs of one problem size show.

    Middle and upper end are speeds in CPU seconds, what the PE gives without load (the paper's ideal time); the lower
    end is the speed in wall seconds, what the load observed meanwhile left. The ends are without their outer tenth.
    """
    mid = float(np.median(cpu_speeds))
    low = min(float(np.quantile(wall_speeds, 0.1)), mid * (1 - LEAST_HALF_WIDTH))
    high = max(float(np.quantile(cpu_speeds, 0.9)), mid * (1 + LEAST_HALF_WIDTH))
    return Cut(size, low, mid, high)


def _check_sizes(sizes: Floats, curves: tuple[Floats, ...], what: str) -> None:
    """Refuse arrays of unlike shape, sizes that do not ascend from above zero, and numbers that are not finite."""
    if any(a.ndim != 1 or a.shape != sizes.shape for a in (sizes, *curves)) or not sizes.size:
        raise ScenarioError(f"{what}: give as many speeds as sizes, at least one of each")
    if not all(np.all(np.isfinite(a)) for a in (sizes, *curves)) or np.any(np.diff(sizes) <= 0) or sizes[0] <= 0:
        raise ScenarioError(f"{what}: sizes have to be finite, above 0 and ascending")


@dataclass(frozen=True)
class ShapeCheck:
    """One assumption of the shape of a band and whether its cuts obey it."""

    assumption: str
    holds: bool | None
    """None where what was measured cannot tell."""
    found: tuple[str, ...] = ()
    """Where it fails, or why it is not known; sizes in elements."""


@dataclass(frozen=True)
class TableError:
    """Relative errors of a band's middle curve against a recorded table."""

    sizes: int
    mean: float
    max: float
    max_at_elements: float

    def __str__(self) -> str:
        return f"{self.sizes} sizes, error {self.mean:.1%} on average, {self.max:.1%} at most"


@dataclass(frozen=True)
class SpeedAt:
    """Speeds of one cut, in units of volume per second."""

    low: float
    mid: float
    high: float


@dataclass(frozen=True)
class SpeedPoint:
    """One measured problem size."""

    size_elements: float
    speed: SpeedAt
    volume: float | None = None
    """Of one run."""
    cpu_s: tuple[float, ...] = ()
    wall_s: tuple[float, ...] = ()
    cost_s: float = 0.0
    visits: tuple[int, ...] = ()
    """Clean samples of each visit."""


@dataclass(frozen=True, kw_only=True)
class SpeedFile(ModelFile):
    """What the file of a speed model says."""

    FORMAT, KIND, WRITER = 2, "speed", "apportion calibrate speed"
    model: SpeedBand | SpeedSurface
    kernel: str | None = None
    subject: Mapping[str, object] = field(default_factory=dict)
    method: str = ""
    measured: str | None = None
    experimental_s: float = 0.0
    ends_s: float = 0.0
    points: tuple[SpeedPoint, ...] = ()
    incomplete: tuple[str, ...] = ()
    table_error: TableError | None = None
    largest_reason: str | None = None
    steps: tuple[str, ...] = ()
    assumptions: tuple[str, ...] = ()
    assumptions_violated: tuple[str, ...] = ()
    shape: tuple[ShapeCheck, ...] = ()
    expected_error: Mapping[str, float] | None = None

    @property
    def band(self) -> SpeedBand:
        """Its band; of a surface, that of its largest number of columns."""
        return self.model.at(self.model.columns[-1]) if isinstance(self.model, SpeedSurface) else self.model


def load_speed_model(path: str | Path) -> SpeedFile:
    """Read a speed model.

    Raises ScenarioError if the file is missing, no JSON, or no speed model.
    """
    return SpeedFile.load(path)


def predict_speeds(path: str | Path, at: Table | str | Path, *, level: float = 0.9) -> list[Data]:
    """The band at the sizes of a table or a CSV file (`size_elements`), in its order; speeds in volume per second.

    Raises ScenarioError if model or table cannot be used, or a size is not above 0.

    `level`: probability that one run lies between `low` and `high`, and its truth between `truth_low` and `truth_high`.
    Where noise and doubt are one, `low` and `high` are the band's limits, and nothing is said of the truth.
    """
    found = load_speed_model(path)
    band, table = found.band, as_table(at)
    sizes = table.numbers("size_elements")
    refuse(cell_faults(table, "size_elements", sizes, sizes <= 0, "give a number above 0"))
    measured = [point.size_elements for point in found.points]
    low, mean, high = (band.speed(sizes, position=position) for position in (0.0, 0.5, 1.0))
    truths = {}
    if band.stated:
        check_level(level)
        low, high = band.run_interval(sizes, level=level)
        silent = replace(band, noise=None) if band.doubt is not None else band
        ends = {"truth_low": -1, "truth_high": 1}
        truths = {name: silent.drawn(sizes, position=(1 + sign * level) / 2) for name, sign in ends.items()}
    least, most = float(band.sizes[0]), float(band.sizes[-1])
    beyond = {"beyond_points": sizes > max(measured, default=most), "outside_band": (sizes < least) | (sizes > most)}
    return rows_of({"size_elements": sizes, "low": low, "mean": mean, "high": high, **truths, **beyond})
