"""`build`: a speed band from any source by any of the three methods, one signature."""

from typing import Literal, get_args

import numpy as np

from simulator.base.errors import ScenarioError
from simulator.calibration.bands.adaptive import Adaptive, build_adaptive
from simulator.calibration.bands.built import BuiltBand
from simulator.calibration.bands.curve import Curve
from simulator.calibration.bands.cuts import CutRule
from simulator.calibration.bands.gbbp import build_gbbp
from simulator.calibration.bands.grid import build_grid, build_panels
from simulator.calibration.bands.session import Session
from simulator.calibration.bands.shape import check_shape
from simulator.calibration.bands.source import Floats, ReplaySource, Source
from simulator.models.speed import Cut, SpeedBand

Method = Literal["adaptive", "gbbp", "grid"]
METHODS: tuple[str, ...] = get_args(Method)

KNOTS_PER_OCTAVE = 6
"""Foretold cuts of an adaptive band, so that straight lines between them follow a curve over log size."""
LEAST_ACCURACY = 0.005


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

    Parameters
    ----------
    source
        What is measured, and between which sizes.
    method
        `grid` (20 equidistant sizes), `gbbp` (the paper's bisection) or `adaptive` (ours). Panels of a number of
        columns are measured at halved rows where it is `adaptive`, and the result says `panels`.
    rule
        How wide cuts are; by default what the samples show.
    budget_s
        Seconds that may be spent, finding a and b included; a point that is foretold to exceed them ends the procedure.
    accuracy
        Mean relative error asked for; only `adaptive` can.
    verify_largest
        Have `adaptive` measure b in the place of trusting its trend, for up to half of the grid's cost.

    Raises
    ------
    ScenarioError
        If an option is out of bounds.
    CalibrationError
        If the budget does not hold two points.
    """
    check_build(method, accuracy)
    session = Session(source, rule or CutRule(), budget_s)
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


def _through(session: Session) -> SpeedBand:
    return SpeedBand.through(list(_ordered(session)))


def check_build(method: str, accuracy: float) -> None:
    """Refuse what `build` cannot do, before a source is opened, which may look for its ends for seconds.

    Raises
    ------
    ScenarioError
        If there is no such method, or the accuracy is out of bounds.
    """
    if method not in METHODS:
        raise ScenarioError(f"method: {method!r} found, one of {', '.join(METHODS)} allowed")
    if not LEAST_ACCURACY <= accuracy < 1:
        raise ScenarioError(f"accuracy: {accuracy:g} found, a share from {LEAST_ACCURACY:g} to below 1 allowed")


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
    """Measured cuts, foretold ones between them and up to b; beyond the last point as wide as the trend is in doubt."""
    session, curve = state.session, state.curve
    ends = np.unique(np.append(curve.x, state.top))
    counts = np.maximum(1, np.ceil(np.diff(ends) / np.log(2) * KNOTS_PER_OCTAVE)).astype(int)
    spans = zip(ends[:-1], ends[1:], counts, strict=True)
    x = np.concatenate([np.linspace(left, right, n + 1)[1:] for left, right, n in spans])
    x = np.setdiff1d(x, curve.x)
    measured = _ordered(session)
    low, middle, high = _foretold_shares(session, curve, x)
    doubt = curve.doubt * np.maximum(0.0, x - curve.x[-1])
    low = np.maximum(0.0, low - doubt * (low > 0))
    columns = np.exp(x), *(np.exp(curve.speed(x)) * row for row in (low, middle, high + doubt))
    cuts = [Cut(*(float(value) for value in row)) for row in zip(*columns, strict=True)]
    if session.source.largest_is_memory_limit:
        cuts.append(Cut(session.source.largest, 0.0, 0.0, 0.0))
    return SpeedBand.through([*measured, *cuts])


def _foretold_shares(session: Session, curve: Curve, x: Floats) -> Floats:
    """Lower, middle and upper speed as shares of the ideal one, at log sizes; shape (3, sizes).

    Between measured cuts they change evenly over log size; under load they follow from the foretold time of a run.
    """
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
            *(line for check in shape if check.holds is False for line in check.found),
        ),
        doubts=tuple(getattr(source, "warnings", ())),
        shape=shape,
        incomplete=tuple(session.incomplete),
        table_error=None if table is None else table.accuracy(band),
        ends_s=session.ends_s,
        expected_error=expected,
    )
