"""Builders of speed bands compared on real runs: grid, GBBP and adaptive against a sweep that none of them saw.

All of them, and all kernels, advance side by side in one run. Each builder's points are measured for it alone and cost
it their own wall seconds; only the ends of the sizes are found once for all.
"""

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from advisor.reproduce.builders.lanes import BuilderLane, GridLane, HeldOutLane, held_out_sizes
from advisor.reproduce.builders.turns import next_lane
from simulator import CalibrationError, ScenarioError, files, randomness
from simulator.calibration import (
    LEAST_SAMPLE_S,
    MEMORY_SHARE,
    Effort,
    Ends,
    KernelSubject,
    RealPoint,
    RealSource,
    sized_kernel,
)
from simulator.calibration.bands import BuiltBand

Floats = NDArray[np.float64]

METHODS = ("grid", "gbbp", "adaptive")
HELD_OUT, PASSES = 36, 3
"""Sizes of the held-out sweep, and fresh samples of each."""
LEAST_HELD_OUT = 30
BUDGET_IN_CAPS = 55.0
"""What one kernel takes, in units of the longest single run: the grid about 9, the sweep 27, GBBP what is left."""
GBBP_IN_CAPS = 16.0
"""What GBBP may spend, in the same units, nearly twice the grid: on noise it bisects for ever."""
CAP_IN_SAMPLES = 500.0
"""Shortest sample: this part of the longest run, as it is by default in `calibrate speed` (20 ms of 10 s)."""
CAP_IN_LONG_RUNS = 50.0
"""A run of this part of the longest or more is run once, as the paper does; shorter ones till the median is known."""
LATE = 1.4
"""After this many times the budget no size is sampled again that has a sample."""
LEAST_CAP_S = 0.05
RUN_FILE, POINTS = "run.json", "points"


@dataclass(frozen=True)
class Compared:
    """What was measured of one kernel."""

    kernel: str
    ends: Ends
    smallest: float
    largest: float
    built: dict[str, BuiltBand]
    """By method."""
    held_out: tuple[RealPoint, ...]
    """The sweep, by ascending size, without sizes that a builder happened to choose as well."""
    dropped: int
    """How many sizes those were."""
    points: dict[str, tuple[RealPoint, ...]]
    """Every method's own points with all their samples."""

    @property
    def held_out_sizes(self) -> Floats:
        """Sizes of the sweep in elements."""
        return np.array([point.size for point in self.held_out])

    @property
    def held_out_speeds(self) -> Floats:
        """Speeds by the median CPU time of the fresh samples at each size."""
        return np.array([point.measured().speed for point in self.held_out])


def compare_builders(
    kernels: Sequence[str],
    *,
    folder: Path,
    cpu: int,
    budget_s: float,
    seed: int,
    on_progress: Callable[[str, float], None],
) -> list[Compared]:
    """Measure kernels by every method and by a held-out sweep, in one run in random order.

    Parameters
    ----------
    kernels
        Names in `SIZED_KERNELS`.
    folder
        Every finished point is kept here; a run that was broken off goes on, one that had ended is set aside.
    cpu
        The logical processor that all runs are pinned to.
    budget_s
        About how many seconds all of it may take; the longest single run, and so b, follows from it.
    seed
        For the order.
    on_progress
        Told what is measured next and the share done.

    Raises
    ------
    ScenarioError
        If the folder holds the points of a run with other settings.
    CalibrationError
        If a run fails, or b lies so low that fewer than 30 sizes can be held out; points finished are kept.
    """
    begin, generator = time.monotonic(), randomness.stream(seed, "comparison", "order")
    cap_s = budget_s / len(kernels) / BUDGET_IN_CAPS
    if cap_s < LEAST_CAP_S:
        least_s = LEAST_CAP_S * BUDGET_IN_CAPS * len(kernels)
        raise ScenarioError(f"budget: {budget_s:g} s found, at least {least_s:g} s for {len(kernels)} kernels allowed")
    settings = {"kernels": list(kernels), "cpu": cpu, "budget_s": budget_s, "seed": seed}
    _start(folder, settings)
    with ExitStack() as stack:
        contests = []
        for kernel in kernels:
            on_progress(f"{kernel}: ends", 0.0)
            source = stack.enter_context(_source(kernel, cpu, cap_s, folder / POINTS, 1 / len(kernels)))
            contests.append(_contest(kernel, source, folder / POINTS, generator))
        lanes = [lane for contest in contests for lane in contest.lanes]
        while (lane := next_lane(lanes, generator)) is not None:
            steps = sum(max(one.expected, one.done) for one in lanes)
            on_progress(lane.source.label, sum(one.done for one in lanes) / steps)
            lane.step()
            if time.monotonic() - begin > LATE * budget_s:
                for contest in contests:
                    contest.sweep.once_is_enough = True
    files.write_json(folder / POINTS / RUN_FILE, {"settings": settings, "finished": True})
    return [_compared(contest) for contest in contests]


@dataclass(frozen=True)
class _Contest:
    """Those who measure one kernel."""

    kernel: str
    source: RealSource
    builders: tuple[BuilderLane, ...]
    sweep: HeldOutLane

    @property
    def lanes(self) -> tuple[BuilderLane | HeldOutLane, ...]:
        return (*self.builders, self.sweep)


def _source(kernel: str, cpu: int, cap_s: float, folder: Path, share: float) -> RealSource:
    """A kernel whose longest single run takes the cap, with its share of the memory."""
    return RealSource(
        KernelSubject(sized_kernel(kernel)),
        cpu=cpu,
        effort=Effort(
            cap_s,
            least_sample_s=min(LEAST_SAMPLE_S, cap_s / CAP_IN_SAMPLES),
            kept_warm_up_s=cap_s / CAP_IN_LONG_RUNS,
            long_once=True,
        ),
        max_size=None,
        store=folder / f"{kernel}.json",
        memory_share=MEMORY_SHARE * share,
    )


def _contest(kernel: str, source: RealSource, folder: Path, generator: np.random.Generator) -> _Contest:
    own = {method: source.beside(folder / f"{kernel}-{method}.json") for method in METHODS}
    builders = (
        GridLane(own["grid"], generator),
        BuilderLane("gbbp", own["gbbp"], budget_s=GBBP_IN_CAPS * source.effort.time_cap_s),
        BuilderLane("adaptive", own["adaptive"]),
    )
    effort = replace(source.effort, time_cap_s=float("inf"), precision=0.0, most_samples=PASSES, long_once=False)
    sweep = source.beside(folder / f"{kernel}-held-out.json", effort=effort)
    sizes = held_out_sizes(sweep, HELD_OUT)
    if len(sizes) < LEAST_HELD_OUT:
        raise CalibrationError(
            f"kernel {kernel}: {len(sizes)} sizes to hold out found between {source.smallest:g} and "
            f"{source.largest:g} elements, {LEAST_HELD_OUT} needed: a larger --budget allowed"
        )
    return _Contest(kernel, source, builders, HeldOutLane(sweep, sizes, passes=PASSES, generator=generator))


def _compared(contest: _Contest) -> Compared:
    builders, sweep, source = contest.builders, contest.sweep, contest.source
    seen = {n for lane in builders for n in lane.source.kept}
    swept = [point for size in sweep.sizes if (point := sweep.source.known(size)) is not None]
    kept = tuple(point for point in swept if point.n not in seen)
    return Compared(
        contest.kernel,
        source.ends,
        source.smallest,
        source.largest,
        {lane.method: lane.band for lane in builders if lane.band is not None},
        kept,
        len(swept) - len(kept),
        {lane.method: tuple(lane.source.kept.values()) for lane in builders},
    )


def _start(folder: Path, settings: dict[str, Any]) -> None:
    """Go on with a run of the same settings that was broken off; set one aside that had ended."""
    points = folder / POINTS
    files.make_folder(points)
    if (points / RUN_FILE).exists():
        document = files.read_json(points / RUN_FILE)
        if not isinstance(document, dict) or "settings" not in document:
            raise ScenarioError(f"{points / RUN_FILE}: no settings of a run found, another folder allowed")
        if document.get("finished"):
            files.set_aside(folder, [POINTS])
        elif document["settings"] != settings:
            raise ScenarioError(
                f"{points}: a run broken off with {_shown(document['settings'])} found, "
                f"{_shown(settings)} asked for: the same options, or another folder, allowed"
            )
    files.write_json(points / RUN_FILE, {"settings": settings, "finished": False})


def _shown(settings: dict[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in settings.items())
