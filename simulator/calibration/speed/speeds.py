"""A speed band in one call: `fit_speed` takes a kernel that really runs, a table of sizes or a file of points."""

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from simulator.base import files
from simulator.base.machine import this_machine
from simulator.base.provenance import provenance
from simulator.base.shipped import locate
from simulator.calibration.bands import (
    TABLE,
    BuiltBand,
    CutRule,
    ReplaySource,
    Source,
    apart,
    beside_load,
    build,
    with_levels,
)
from simulator.calibration.bands.source import read_replay
from simulator.calibration.bench.measurement import Workload
from simulator.calibration.history.learnt import Drift, keep_calibration, learnt_drift
from simulator.calibration.kernels.table import SIZED_KERNELS
from simulator.calibration.speed.real_source import RealSource
from simulator.models.doubt import DRIFT

TABLE_WIDTH = 0.05
"""Half width of the cuts of a recorded table, which has one time per size."""
AGAIN = 0.25
"""Share of the time that a band took which visiting its points again may take where no budget is stated."""
TIME_CAP_S = 10.0
"""Longest predicted single run at the largest size where neither cap nor budget is stated."""


def fit_speed(  # noqa: PLR0913 - one per option of the command
    source: "str | Path | Source",
    *,
    method: str | None = None,
    rule: CutRule | None = None,
    budget_s: float | None = None,
    accuracy: float = 0.05,
    verify_largest: bool = False,
    inputs: Sequence[Path] = (),
    drift: float = DRIFT,
    learnt: float = 1.0,
) -> BuiltBand:
    """The speed band of a PE: `fit_speed("dgemm", budget_s=20).band.cut(1e6)`.

    It says noise and doubt apart (`bands.doubts`); for cuts of a recorded load the whole band is doubt.

    >>> fit_speed("gbbp_dgemm.csv", method="gbbp").band.cut(1e6).mid > 1e9
    True

    `source`: the name of a kernel (`SIZED_KERNELS`), which really runs on the last core; a table of sizes
    (`size_elements,volume,cpu_s`) or a file of points, by path or as shipped; or a source with settings of its own,
    such as `RealSource.of_command`.
    `method`, `rule`, `budget_s`, `accuracy`, `verify_largest`: see `bands.build`. By default every row of a table is
    used, and real runs are `adaptive`.
    `inputs`: further files that went into it, for the provenance.
    `drift`, `learnt`: standard deviation of what the machine changes by until the model is used (`learnt_drift`);
    factor on all doubt (`widening`).

    Raises `ScenarioError` if an option is out of bounds, or there is no such kernel or table; `CalibrationError` if a
    real run fails, or the budget does not hold two points.
    """
    named = str(source) in SIZED_KERNELS
    if isinstance(source, str | Path) and not named:
        path = locate(source)
        source, inputs = read_replay(path), (path, *inputs)
        rule = rule or CutRule(band=None if source.repeats else TABLE_WIDTH)
    elif isinstance(source, str | Path):
        cap_s = TIME_CAP_S if budget_s is None else min(TIME_CAP_S, budget_s / 10)
        source = RealSource.of_kernel(str(source), cpu=this_machine().cores[-1].cpu, time_cap_s=cap_s)
    method = method or (TABLE if isinstance(source, ReplaySource) else "adaptive")
    asked: Any = {"method": method, "rule": rule, "budget_s": budget_s, "accuracy": accuracy, "drift": drift}
    narrower = [fit_speed(one, **asked) for one in getattr(source, "narrower", ())]
    with _open(source):
        built = build(
            source, method=method, rule=rule, budget_s=budget_s, accuracy=accuracy, verify_largest=verify_largest
        )
        if isinstance(source, RealSource) and (rule is None or rule.load is None):
            built = _visited_again(built, source, rule or CutRule(), budget_s)
    if rule is None or rule.load is None:
        built = apart(built, drift=drift, half_width=None if rule is None else rule.band, learnt=learnt)
        built = with_levels(built, getattr(source, "at_once", None))
    elif isinstance(source, RealSource):
        built = beside_load(built, drift=drift, learnt=learnt)
    return _with_provenance(replace(built, narrower=tuple(narrower)), source, inputs)


def _visited_again(built: BuiltBand, source: RealSource, rule: CutRule, budget_s: float | None) -> BuiltBand:
    """The band after further visits of its points, over what is left of a budget, or without one a part of the time."""
    spent_s = built.ends_s + built.experimental_s
    left_s = AGAIN * built.experimental_s if budget_s is None else budget_s - spent_s
    again = {point.size: point for point in source.revisit(max(0.0, left_s))}
    points = tuple(again.get(point.size, point) for point in built.points)
    moved = {new.size: np.log(new.speed / old.speed) for new, old in zip(points, built.points, strict=True)}
    sizes = sorted(moved)
    factors = np.exp(np.interp(np.log(built.band.sizes), np.log(sizes), [moved[size] for size in sizes]))
    band = replace(built.band, **{name: factors * getattr(built.band, name) for name in ("low", "mid", "high")})
    own = {point.size: rule.cut(point) for point in points}
    cuts = tuple(own.get(cut.size, cut) for cut in built.cuts)
    return replace(built, points=points, band=band, cuts=cuts, experimental_s=sum(point.cost_s for point in points))


def drift_of(source: Source) -> Drift:
    """How far this machine drifts at what a source measures, by earlier calibrations of it."""
    return learnt_drift(_subject(getattr(source, "subject", Workload())))


def keep_speeds(built: BuiltBand) -> None:
    """Keep what was measured, so that later calibrations learn from it how far this machine drifts."""
    points = {point.size: point for point in sorted(built.points, key=lambda point: point.size)}
    doubt, error = built.band.doubt, 0.0
    if doubt is not None:
        error = float(np.sqrt(doubt.sources.get("sampling", 0.0) * np.mean(doubt.at(list(points)) ** 2)))
    speeds = [point.speed for point in points.values()]
    keep_calibration(_subject(built.subject), list(points), speeds, error=error)


def _subject(measured: Workload) -> dict[str, object]:
    """What speeds are compared by with those of earlier calibrations."""
    return {"model": "speed", **measured.to_dict()}


def _open(source: Source | ReplaySource) -> AbstractContextManager[object]:
    """Stop what a source of real runs started, whatever ends the building."""
    return source if isinstance(source, AbstractContextManager) else nullcontext()


def _with_provenance(built: BuiltBand, source: Source, inputs: Sequence[Path]) -> BuiltBand:
    hashes = {str(path): files.digest(files.read_bytes(path)) for path in inputs}
    real = source if isinstance(source, RealSource) else None
    made = provenance(inputs=hashes, machine=None if real is None else real.machine)
    made |= {"points_reused": getattr(source, "reused", 0)}
    return replace(built, provenance=made, subject=getattr(source, "subject", Workload()))
