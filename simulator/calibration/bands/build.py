"""`build`: a speed band from any source by any of the three methods, one signature."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, get_args

import numpy as np

from simulator.base import files, notebook
from simulator.base.arrays import Floats
from simulator.base.documents import Data
from simulator.base.errors import ScenarioError
from simulator.calibration.bands.adaptive import Adaptive, Curve, build_adaptive
from simulator.calibration.bands.gbbp import build_gbbp
from simulator.calibration.bands.panels import by_rows
from simulator.calibration.bands.session import CutRule, Session, build_grid, build_panels
from simulator.calibration.bands.shape import check_shape
from simulator.calibration.bands.source import ReplaySource, Source
from simulator.calibration.bench.measurement import Measurement, Workload
from simulator.models.speed import (
    TOGETHER,
    Cut,
    ShapeCheck,
    SpeedAt,
    SpeedBand,
    SpeedFile,
    SpeedPoint,
    SpeedSurface,
    TableError,
)

Method = Literal["adaptive", "gbbp", "grid"]
TABLE = "table"
"""All rows of a recorded table, none chosen; what it is where no method is named."""
METHODS: tuple[str, ...] = get_args(Method)
KNOTS_PER_OCTAVE = 6
"""Predicted cuts of an adaptive band, so that straight lines between them follow a curve over log size."""
LEAST_ACCURACY = 0.005


@dataclass(frozen=True)
class BuiltBand:
    """The result of `build`."""

    method: str
    band: SpeedBand
    points: tuple[Measurement, ...]
    """In the order in which they were measured."""
    cuts: tuple[Cut, ...]
    """Measured or defined cuts by size; the band may hold predicted ones too."""
    experimental_s: float
    largest_reason: str
    """Why b is b, and what its cut is."""
    steps: tuple[str, ...] = ()
    assumptions: tuple[str, ...] = ()
    assumptions_violated: tuple[str, ...] = ()
    """Where that, or the shape that partitioning needs, does not hold."""
    unmeasured: tuple[str, ...] = ()
    """Those of the assumptions that predict a range in which nothing was measured; warnings of the model's file."""
    doubts: tuple[str, ...] = ()
    """What the source says of points of which too little is known."""
    shape: tuple[ShapeCheck, ...] = ()
    """What the paper assumes of the shape, and whether the cuts obey it."""
    incomplete: tuple[str, ...] = ()
    """Limits that were reached before the method was done, such as the budget; the band holds as far as it goes."""
    table_error: TableError | None = None
    """How far the band is from the recorded table that its points come from; None for real runs."""
    ends_s: float = 0.0
    """Seconds that finding a and b took, in addition to the experimental time."""
    expected_error: dict[str, float] | None = None
    """`mean` and `max` relative error that the method expects if its assumptions hold; None: it promises nothing."""
    provenance: Mapping[str, object] = field(default_factory=dict)
    subject: Workload = field(default_factory=Workload)
    narrower: tuple["BuiltBand", ...] = ()
    """The same on panels of fewer columns, by columns."""

    @property
    def warnings(self) -> tuple[str, ...]:
        """What to know before the model is trusted, one line each."""
        unknown = (line for check in self.shape if check.holds is None for line in check.found)
        stated = "was stated, not measured"
        return (
            *self.assumptions_violated,
            *self.unmeasured,
            *(f"shape: {line}" for line in unknown if stated not in line),
            *self.doubts,
        )

    @property
    def model(self) -> SpeedBand | SpeedSurface:
        """The band; of panels, with the number of columns that it holds for, and bands of fewer."""
        if self.subject.columns is None:
            return self.band
        every = (*self.narrower, self)
        columns = tuple(float(built.subject.columns or 0) for built in every)
        return SpeedSurface(columns, tuple(built.band for built in every))

    def __repr__(self) -> str:
        return f"BuiltBand({self.method}, {len(self.points)} points, {self.band!r})"

    def _repr_html_(self) -> str:
        facts = {"method": self.method, "points": len(self.points), "seconds of runs": self.experimental_s}
        error = self.expected_error
        facts |= (
            {} if error is None else {"expected error": f"{error['mean']:.1%} on average, {error['max']:.1%} at most"}
        )
        title = f"Speed band of {self.subject.kernel or ' '.join(self.subject.command) or 'a recorded table'}"
        return notebook.page(title, notebook.facts(facts), self.band._repr_html_(), warnings=self.warnings)

    @property
    def file(self) -> SpeedFile:
        """What its file says."""
        cuts = {cut.size: cut for cut in self.cuts}
        return SpeedFile(
            model=self.model,
            kernel=self.subject.kernel,
            subject=self.subject.to_dict(),
            method=self.method,
            measured=TOGETHER if self.subject.beside else "alone" if self.subject != Workload() else None,
            experimental_s=self.experimental_s,
            ends_s=self.ends_s,
            points=tuple(_point(point, cuts[point.size]) for point in self.points),
            incomplete=self.incomplete,
            table_error=self.table_error,
            largest_reason=self.largest_reason,
            steps=self.steps,
            assumptions=self.assumptions,
            assumptions_violated=self.assumptions_violated,
            shape=self.shape,
            expected_error=self.expected_error,
            warnings=self.warnings,
            provenance=self.provenance,
        )

    def to_dict(self) -> Data:
        """Plain data for JSON; the body of a speed model's file is `model`."""
        return self.file.to_dict()


def _point(point: Measurement, cut: Cut) -> SpeedPoint:
    times = point.cpu_s, point.wall_s, point.cost_s
    return SpeedPoint(point.size, SpeedAt(cut.low, cut.mid, cut.high), point.volume, *times, point.clean_visits)


def save_speed_model(built: BuiltBand, path: str | Path) -> None:
    """Write a band with its points as JSON, whole or not at all."""
    path = Path(path)
    files.write_json(path, built.to_dict())


def build(
    source: Source,
    *,
    method: str = "adaptive",
    rule: CutRule | None = None,
    budget_s: float | None = None,
    accuracy: float = 0.05,
    verify_largest: bool = False,
) -> BuiltBand:
    """Build a speed band.

    `source`: what is measured, and between which sizes.
    `method`: `grid` (20 equidistant sizes), `gbbp` (the paper's bisection) or `adaptive` (ours). Panels of a number of
    columns are measured at halved rows where it is `adaptive`, and the result says `panels`. `TABLE`: every row of a
    recorded table.
    `rule`: how wide cuts are; by default what the samples show.
    `budget_s`: seconds that may be spent, finding a and b included; a point predicted to exceed them ends the
    procedure.
    `accuracy`: mean relative error asked for; only `adaptive` can.
    `verify_largest`: have `adaptive` measure b in the place of trusting its trend, for up to half of the grid's cost.
    """
    session = Session(source, rule or CutRule(), budget_s)
    if method == TABLE and isinstance(source, ReplaySource):
        return _built_of_rows(session, source, accuracy)
    check_build(method, accuracy)
    if method == "adaptive" and (sizes := getattr(source, "panel_sizes", ())):
        build_panels(session, sizes)
        return _built(session, "panels", _through(session), assumptions=("straight lines between cuts",))
    if method == "adaptive":
        return _built_adaptive(build_adaptive(session, accuracy=accuracy, verify_largest=verify_largest))
    (build_grid if method == "grid" else build_gbbp)(session)
    assumptions: tuple[str, ...] = ("straight lines between cuts",)
    if method == "gbbp":
        assumptions = ("speed rises at most once and then falls", "speed is straight where neighbouring cuts meet")
    return _built(session, method, _through(session), assumptions=assumptions)


def _built_of_rows(session: Session, source: ReplaySource, accuracy: float) -> BuiltBand:
    """Every row is a cut; between rows the curve of the adaptive builder."""
    limit = source.largest_is_memory_limit
    for size in source.sizes[:-1] if limit else source.sizes:
        session.measure(float(size))
    state = Adaptive(session, accuracy)
    mean, most = state.error()
    assumptions = (f"between the {len(session.points)} sizes of the table, all used, speed is a power of the size",)
    subject = source.subject
    if subject.kernel is not None and subject.columns is not None:
        band = by_rows(_ordered(session), subject.kernel, subject.columns)
        assumptions = (f"between the {len(session.points)} numbers of rows, times lie on straight lines or powers",)
    else:
        band = _adaptive_band(state)
    return _built(session, TABLE, band, assumptions=assumptions, expected={"mean": mean, "max": most})


def _through(session: Session) -> SpeedBand:
    return SpeedBand.through(list(_ordered(session)))


def check_build(method: str, accuracy: float) -> None:
    """Refuse what `build` cannot do, before a source is opened, which may look for its ends for seconds."""
    if method not in METHODS:
        raise ScenarioError(f"method is {method!r}; name one of {', '.join(METHODS)}")
    if not LEAST_ACCURACY <= accuracy < 1:
        raise ScenarioError(f"accuracy is {accuracy:g}; give a share from {LEAST_ACCURACY:g} to below 1")


def _built_adaptive(state: Adaptive) -> BuiltBand:
    """Cuts between and beyond the points measured follow the curve; the assumptions say where."""
    session, curve = state.session, state.curve
    top, b = float(np.exp(curve.x[-1])), state.largest
    mean, most = state.error()
    assumptions = [
        "between points, speed is a power of the size",
        f"between neighbours that fit each other no dip hides; {len(session.points)} points measured",
    ]
    if top < b * (1 - 1e-9):
        assumptions.append(
            f"from {top:.6g} to {b:.6g} elements nothing was measured: speed follows its trend, "
            f"size to the power {curve.slope:.3f}, and drops no further"
        )
    if max(mean / state.accuracy, most / (3 * state.accuracy)) > 1:
        session.violated.append(
            f"accuracy: an error of {100 * mean:.1f} % on average and {100 * most:.0f} % at most is expected, "
            f"{100 * state.accuracy:g} % and {300 * state.accuracy:g} % were asked for; a point at b would take about "
            f"{state.needed_s():.3g} s: state a larger budget"
        )
    session.violated += _trend_faults(state, top, b)
    expected = {"mean": mean, "max": most}
    return _built(session, "adaptive", _adaptive_band(state), assumptions=tuple(assumptions), expected=expected)


def _trend_faults(state: Adaptive, top: float, largest: float) -> list[str]:
    """What speaks against a trend from the largest point measured up to the largest size."""
    if top >= largest * (1 - 1e-9):
        return []
    faults = []
    levels = getattr(state.session.source, "level_ends", ())
    if beyond := [name for name, size in levels if top < size < largest]:
        faults.append(
            f"trend: {' and '.join(beyond)} will be full above the largest point measured ({top:.6g} elements): "
            "speed may drop there unseen"
        )
    late, _ = state.curve.slopes
    if late < -0.3:
        faults.append(
            f"trend: speed falls steeply at the largest point measured ({top:.6g} elements, size to the power "
            f"{late:.2f}); what lies beyond is a guess"
        )
    return faults


def _adaptive_band(state: Adaptive) -> SpeedBand:
    """Measured cuts, predicted ones between them up to b; beyond the last point as wide as the trend is in doubt."""
    session, curve = state.session, state.curve
    ends = np.unique(np.append(curve.x, state.top))
    counts = np.maximum(1, np.ceil(np.diff(ends) / np.log(2) * KNOTS_PER_OCTAVE)).astype(int)
    spans = zip(ends[:-1], ends[1:], counts, strict=True)
    x = np.concatenate([np.linspace(left, right, n + 1)[1:] for left, right, n in spans])
    x = np.setdiff1d(x, curve.x)
    measured = _ordered(session)
    low, middle, high = _predicted_shares(session, curve, x)
    doubt = curve.doubt * np.maximum(0.0, x - curve.x[-1])
    low = np.maximum(0.0, low - doubt * (low > 0))
    columns = np.exp(x), *(np.exp(curve.speed(x)) * row for row in (low, middle, high + doubt))
    cuts = [Cut(*(float(value) for value in row)) for row in zip(*columns, strict=True)]
    if session.source.largest_is_memory_limit:
        cuts.append(Cut(session.source.largest, 0.0, 0.0, 0.0))
    return SpeedBand.through([*measured, *cuts])


def _predicted_shares(session: Session, curve: Curve, x: Floats) -> Floats:
    """Lower, middle and upper speed as shares of the ideal one, at log sizes; shape (3, sizes)."""
    rule = session.rule
    if rule.load is None:
        measured = _ordered(session)
        shares = np.array([(cut.low, cut.mid, cut.high) for cut in measured]).T / np.exp(curve.s)
        return np.array([np.interp(x, curve.x, row) for row in shares])
    points = sorted(session.points, key=lambda point: point.size)
    spreads = np.interp(x, curve.x, [rule.spread(point) for point in points])
    times_s = np.exp(curve.volume(x) - curve.speed(x))
    cuts = [
        rule.cut_under_load(1.0, 1.0, float(time_s), spread=float(spread))
        for time_s, spread in zip(times_s, spreads, strict=True)
    ]
    return np.array([(cut.low, cut.mid, cut.high) for cut in cuts]).reshape(-1, 3).T


def _ordered(session: Session) -> tuple[Cut, ...]:
    return tuple(cut for _, cut in sorted(session.cuts.items()))


def _left_out(table: ReplaySource | None, session: Session, band: SpeedBand) -> list[str]:
    """Rows of a table that no point is at and that contradict the band, in a line."""
    if table is None:
        return []
    sizes = np.setdiff1d(table.sizes, list(session.cuts))  # a memory limit is a cut
    speeds = table.speeds(sizes)
    outside = (speeds < band.speed(sizes, position=0.0)) | (speeds > band.speed(sizes, position=1.0))
    if not np.any(outside):
        return []
    off = np.abs(band.speed(sizes) / speeds - 1)
    most = int(np.argmax(off))
    found = f"{sizes.size} of {table.sizes.size} sizes of the table, {np.count_nonzero(outside)} of them outside"
    by = f"by up to {off[most]:.0%} at {sizes[most]:.6g} elements"
    return [f"left out: {found} of the band, {by}; without --method all are used"]


def _built(
    session: Session,
    method: str,
    band: SpeedBand,
    *,
    assumptions: tuple[str, ...],
    expected: dict[str, float] | None = None,
) -> BuiltBand:
    source, cuts = session.source, _ordered(session)
    table: ReplaySource | None = getattr(source, "table", None)
    limit = "the memory limit, its cut is (0, 0) by definition" if source.largest_is_memory_limit else "no memory limit"
    reason = getattr(source, "largest_reason", None) or f"b = {source.largest:.6g} elements is {limit}"
    shape = check_shape(
        band,
        cuts,
        widths_measured=session.rule.widths_measured,
        unsettled=session.unsettled if method == "gbbp" else None,
    )
    return BuiltBand(
        method=method,
        band=band,
        points=tuple(session.points),
        cuts=cuts,
        experimental_s=session.spent_s,
        largest_reason=reason,
        steps=tuple(session.steps),
        assumptions=assumptions,
        unmeasured=tuple(line for line in assumptions if "nothing was measured" in line),
        assumptions_violated=(
            *session.violated,
            # a table that is used whole takes no shape for granted
            *(line for check in shape if check.holds is False and method != TABLE for line in check.found),
        ),
        doubts=(*getattr(source, "warnings", ()), *_left_out(table, session, band)),
        shape=shape,
        incomplete=tuple(session.incomplete),
        table_error=None if table is None else table.accuracy(band),
        ends_s=session.ends_s,
        expected_error=expected,
    )
