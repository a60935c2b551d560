"""Speeds in two calls: `measure` runs a kernel at some sizes on this machine, `fit_speed` makes a speed band of it."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from simulator.base import files, notebook, randomness
from simulator.base.errors import ScenarioError
from simulator.base.machine import require_linux, this_machine
from simulator.base.provenance import provenance
from simulator.base.shipped import locate
from simulator.calibration.bands import BuiltBand, CutRule, ReplaySource, Source, apart, build
from simulator.calibration.bands.source import read_replay
from simulator.calibration.bench.measurement import Measurement
from simulator.calibration.history.learnt import Drift, keep_calibration, learnt_drift
from simulator.calibration.kernels.table import SIZED_KERNELS
from simulator.calibration.ranks.measuring import Point, measure_speeds, measured_bands
from simulator.calibration.ranks.ranks import Ranks
from simulator.calibration.speed.real_source import RealSource
from simulator.models.doubt import DRIFT
from simulator.models.speed import SpeedBand

if TYPE_CHECKING:
    import pandas as pd

TABLE_WIDTH = 0.05
"""Half width of the cuts of a recorded table, which has one time per size."""
AGAIN = 0.25
"""Share of the time that a band took which visiting its points again may take where no budget is stated."""
TIME_CAP_S = 10.0
"""Longest predicted single run at the largest size where neither cap nor budget is stated."""


@dataclass(frozen=True)
class Measurements:
    """What `measure` saw: samples of each size on each PE."""

    kernel: str
    points: tuple[Measurement, ...]

    @property
    def bands(self) -> dict[str, SpeedBand]:
        """The speed band of each PE, by name."""
        return {pe: band for (pe, _), band in measured_bands(self.points).items()}

    def __repr__(self) -> str:
        pes = len({one.pe for one in self.points})
        return f"Measurements({self.kernel}, {len(self.points)} points on {pes} PEs)"

    def to_dataframe(self) -> "pd.DataFrame":
        """One row per sample: pe, kernel, n, size_elements, volume, sample, cpu_s, wall_s, speed (volume per CPU s)."""
        import pandas as pd

        return pd.DataFrame(
            [
                {
                    "pe": one.pe,
                    "kernel": self.kernel,
                    "n": one.n,
                    "size_elements": one.size,
                    "volume": one.volume,
                    "sample": number,
                    "cpu_s": usage.cpu_s,
                    "wall_s": usage.wall_s,
                    "speed": one.volume / usage.cpu_s,
                }
                for one in self.points
                for number, usage in enumerate(one.samples)
            ]
        )

    def _repr_html_(self) -> str:
        cuts = [(one, one.cut()) for one in self.points]
        rows = [
            {"PE": one.pe, "elements": one.size, "low": c.low, "mid": c.mid, "high": c.high, "stable": one.stable}
            for one, c in cuts
        ]
        ends = [(f"{one.pe}, {one.size}", c.low, c.mid, c.high) for one, c in cuts]
        chart = notebook.ranges(ends, unit="volume per second")
        return notebook.page(f"Speed of {self.kernel}", notebook.table(rows), chart)


def measure(
    kernel: str,
    orders: Sequence[int],
    *,
    budget_s: float = 10.0,
    cpus: Sequence[int] | None = None,
    seed: int = 0,
    on_progress: Callable[[list[Measurement], float], None] = lambda _measured, _share: None,
) -> Measurements:
    """Measure a matrix kernel on the PEs of this machine at once, so that they share caches, memory and clock.

    `kernel` is one of `KERNELS` (`dgemm`, `matmul`), `orders` are those of the square matrices; `budget_s` is a soft
    limit; `cpus` are one per PE, by default all physical cores.

    Raises `ScenarioError` if there is no such kernel, or this is no Linux; `CalibrationError` if a process that
    measures ends early.
    """
    require_linux()
    here = [core.cpu for core in this_machine().cores]
    cpus = here if cpus is None else list(cpus)
    unknown = [cpu for cpu in cpus if cpu not in here]
    if unknown or not cpus or not orders or min(orders) < 1:
        wrong = f"cpus are {cpus} and orders {list(orders)}"
        raise ScenarioError(f"measure: {wrong}; name some of the cpus {here} and orders of 1 or more")
    wanted = [Point(kernel, n, n) for n in sorted(set(orders))]
    with Ranks(cpus) as ranks:
        measured = measure_speeds(
            ranks,
            [f"cpu{cpu}" for cpu in cpus],
            wanted,
            budget_s=budget_s,
            generator=randomness.stream(seed, "order of measurements"),
            on_progress=on_progress,
        )
    return Measurements(kernel, tuple(measured))


def fit_speed(  # noqa: PLR0913 - one per option of the command
    source: "str | Path | Measurements | Source",
    *,
    method: str = "adaptive",
    rule: CutRule | None = None,
    budget_s: float | None = None,
    accuracy: float = 0.05,
    verify_largest: bool = False,
    pe: str | None = None,
    inputs: Sequence[Path] = (),
    drift: float = DRIFT,
    learnt: float = 1.0,
) -> BuiltBand:
    """The speed band of a PE: `fit_speed("dgemm", budget_s=20).band.cut(1e6)`.

    It says noise and doubt apart (`bands.doubts`), but for cuts of a recorded load: there the whole band is doubt.

    >>> fit_speed("gbbp_dgemm.csv", method="gbbp").band.cut(1e6).mid > 1e9
    True

    Parameters
    ----------
    source
        The name of a kernel (`SIZED_KERNELS`), which really runs on the last core; a table of sizes
        (`size_elements,volume,cpu_s`) or a file of points, by path or as shipped; what `measure` returned; or a source
        with settings of its own, such as `RealSource.of_command`.
    method, rule, budget_s, accuracy, verify_largest
        See `bands.build`; what `measure` returned is joined as it is.
    pe, inputs
        Of several that were measured, the one that is meant; further files that went into it, for the provenance.
    drift, learnt
        Standard deviation of what the machine changes by until the model is used (`learnt_drift`); factor on all doubt
        (`widening`).

    Raises `ScenarioError` if an option is out of bounds, or there is no such kernel or table; `CalibrationError` if a
    real run fails, or the budget does not hold two points.
    """
    if isinstance(source, Measurements):
        return apart(_joined(source, pe), drift=drift, learnt=learnt)
    named = str(source) in SIZED_KERNELS
    if isinstance(source, str | Path) and not named:
        path = locate(source)
        source, inputs = read_replay(path), (path, *inputs)
        rule = rule or CutRule(band=None if source.repeats else TABLE_WIDTH)
    elif isinstance(source, str | Path):
        cap_s = TIME_CAP_S if budget_s is None else min(TIME_CAP_S, budget_s / 10)
        source = RealSource.of_kernel(str(source), cpu=this_machine().cores[-1].cpu, time_cap_s=cap_s)
    with _open(source):
        built = build(
            source, method=method, rule=rule, budget_s=budget_s, accuracy=accuracy, verify_largest=verify_largest
        )
        if isinstance(source, RealSource) and (rule is None or rule.load is None):
            built = _visited_again(built, source, rule or CutRule(), budget_s)
    if rule is None or rule.load is None:
        built = apart(built, drift=drift, half_width=None if rule is None else rule.band, learnt=learnt)
    return _with_provenance(built, source, inputs)


def _visited_again(built: BuiltBand, source: RealSource, rule: CutRule, budget_s: float | None) -> BuiltBand:
    """The band after further visits of its points, over what is left of a budget, or without one a part of the time.

    Between points it is as it was built, moved by as much as the medians of its points moved.
    """
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
    return learnt_drift(_subject(getattr(source, "subject", {})))


def keep_speeds(built: BuiltBand) -> None:
    """Keep what was measured, so that later calibrations learn from it how far this machine drifts."""
    points = {point.size: point for point in sorted(built.points, key=lambda point: point.size)}
    doubt, error = built.band.doubt, 0.0
    if doubt is not None:
        error = float(np.sqrt(doubt.sources.get("sampling", 0.0) * np.mean(doubt.at(list(points)) ** 2)))
    speeds = [point.speed for point in points.values()]
    keep_calibration(_subject(built.subject), list(points), speeds, error=error)


def _subject(measured: Mapping[str, Any]) -> dict[str, Any]:
    """What speeds are compared by with those of earlier calibrations."""
    return {"model": "speed", **measured}


def _joined(measured: Measurements, pe: str | None) -> BuiltBand:
    """The band through the cuts of one PE, as they were measured."""
    names = list(dict.fromkeys(one.pe for one in measured.points))
    if (pe is None and len(names) > 1) or (pe is not None and pe not in names):
        raise ScenarioError(f"pe is {pe!r}; name one of {', '.join(names)}")
    own = sorted((one for one in measured.points if pe in (None, one.pe)), key=lambda one: one.size)
    cuts = tuple(one.cut() for one in own)
    points = [replace(one, cost_s=float(sum(sample.wall_s for sample in one.samples))) for one in own]
    return BuiltBand(
        "measured",
        SpeedBand.through(list(cuts)),
        tuple(points),
        cuts,
        sum(point.cost_s for point in points),
        f"b = {cuts[-1].size:g} elements: the largest size that was asked for",
        assumptions=("straight lines between cuts",),
        doubts=tuple(f"size {one.size}: the median is not known to 3 %" for one in own if not one.stable),
        provenance=provenance(machine=this_machine()),
        subject={"kernel": measured.kernel},
    )


def _open(source: Source | ReplaySource) -> AbstractContextManager[Any]:
    """Stop what a source of real runs started, whatever ends the building."""
    return source if isinstance(source, AbstractContextManager) else nullcontext()


def _with_provenance(built: BuiltBand, source: Source, inputs: Sequence[Path]) -> BuiltBand:
    hashes = {str(path): files.digest(files.read_bytes(path)) for path in inputs}
    real = source if isinstance(source, RealSource) else None
    made = provenance(inputs=hashes, machine=None if real is None else real.machine)
    made |= {"points_reused": getattr(source, "reused", 0)}
    return replace(built, provenance=made, subject=dict(getattr(source, "subject", {})))
