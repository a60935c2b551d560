"""The speed-band paper's Table 1 on this machine: the grid, GBBP and adaptive really run, side by side.

Experimental seconds are wall seconds of everything that measuring a method's own points took. Finding the largest size
is done once and serves all methods: the paper leaves it out of its times, so `speedup_over_grid` does too, and
`speedup_with_ends` counts it whole for each.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from advisor.reproduce.gbbp_score import METHODS, paper_line, paper_rows, score
from simulator import (
    CalibrationError,
    Machine,
    ScenarioError,
    files,
    plots,
    provenance,
    randomness,
    this_machine,
    ties,
    units,
)
from simulator.calibration import (
    LEAST_SAMPLE_S,
    MEMORY_SHARE,
    Budget,
    Effort,
    Ends,
    KernelSubject,
    Measurement,
    RealSource,
    run_campaign,
    sized_kernel,
)
from simulator.calibration.bands import BuiltBand, CutRule, build, grid_sizes

# Builders of speed bands compared on real runs: grid, GBBP and adaptive against a sweep that none of them saw.
#
# All of them, and all kernels, advance side by side in one run. Each builder's points are measured for it alone and
# cost it their own wall seconds; only the ends of the sizes are found once for all.


Floats = NDArray[np.float64]


# Whose turn it is: all who measure advance side by side, so that a drift of the machine falls on all alike.


class Lane(Protocol):
    """One who measures, step by step."""

    @property
    def done(self) -> int:
        """Steps taken."""

    @property
    def expected(self) -> int:
        """Steps that it is thought to take in all, never fewer than it took."""

    @property
    def finished(self) -> bool:
        """Whether no step is left."""

    def step(self) -> None:
        """Measure one thing."""


AnyLane = TypeVar("AnyLane", bound=Lane)


def next_lane(lanes: Sequence[AnyLane], generator: np.random.Generator) -> AnyLane | None:
    """The lane that is furthest behind, by its share done plus a random part of one step; None if all are finished.

    Each lane is so spread evenly, yet in random order, over the whole run, however many steps it takes.
    """
    part = generator.random(len(lanes))
    due = [
        np.inf if lane.finished else (lane.done + part[k]) / max(lane.expected, lane.done + 1)
        for k, lane in enumerate(lanes)
    ]
    first = int(np.argmin(due))
    return None if np.isinf(due[first]) else lanes[first]


def turns_of(lanes: Sequence[AnyLane], generator: np.random.Generator) -> Iterator[tuple[int, list[AnyLane]]]:
    """Who is next, again and again, as passes of a campaign."""
    while (lane := next_lane(lanes, generator)) is not None:
        yield 0, [lane]


# Those who measure side by side: builders with points of their own, the grid, and the held-out sweep.


# Builders one point at a time: run again on the points so far, each stops at the size that it asks for next.
#
# A builder is a plain function that asks its source for sizes. Given the same points it asks for the same sizes, so
# running it from the start on what was measured so far tells the next size, and nothing has to be kept but the points.


class _AskedForError(Exception):
    """The builder asked for a size that is not measured yet."""

    def __init__(self, size: float) -> None:
        super().__init__(size)
        self.size = size


@dataclass(frozen=True)
class PointsSoFar:
    """A source that hands out the points measured so far, and none else."""

    smallest: float
    largest: float
    largest_is_memory_limit: bool
    largest_reason: str
    points: Mapping[int, Measurement]
    """By parameter n."""
    n_of: Callable[[float], int]
    """The parameter whose problem size is nearest to a size."""
    cost_of: Callable[[Floats], Floats]
    """Predicted experimental seconds of points whose single runs take so long."""
    level_ends: Sequence[tuple[str, float]] = ()
    """As the source tells them."""
    otherwise: Callable[[int], Measurement] | None = None
    """What to hand out in the place of points that are not there, to predict what a builder will ask for."""

    def measure(self, size: float) -> Measurement:
        """The point nearest to a size."""
        n = self.n_of(size)
        if n in self.points:
            return self.points[n]
        if self.otherwise is None:
            raise _AskedForError(size)
        return self.otherwise(n)

    def cost_s(self, times_s: Floats) -> Floats:
        """Predicted experimental seconds of points whose single runs take so long."""
        return self.cost_of(times_s)


def next_step(
    method: str, so_far: PointsSoFar, *, rule: CutRule | None = None, budget_s: float | None = None
) -> float | BuiltBand:
    """The size in elements that a builder asks for next, or the band where it asks for none; options as in `build`."""
    try:
        return build(so_far, method=method, rule=rule, budget_s=budget_s)
    except _AskedForError as asked:
        return asked.size


RULE = CutRule(band=0.05)
"""Cuts are as wide as on recorded speeds: one long run shows no spread, and every method gets the same."""


class BuilderLane:
    """A builder on a subject: its next point is measured for it alone, whatever others know."""

    def __init__(self, method: str, source: RealSource, *, budget_s: float | None = None) -> None:
        self.method, self.source, self._budget_s = method, source, budget_s
        self.band: BuiltBand | None = None
        """The result, once the builder asks for no more."""
        self._next = 0.0
        self.expected = 0
        self._look()

    @property
    def done(self) -> int:
        """Points measured."""
        return len(self.source.kept)

    @property
    def finished(self) -> bool:
        """Whether the band is built."""
        return self.band is not None

    def step(self) -> None:
        """Measure the point that the builder asks for."""
        self.source.measure(self._next)
        self._look()

    def _look(self) -> None:
        """What the builder asks for next, and how many points it may take in all if speed stays as it is."""
        found = self._ask()
        if isinstance(found, BuiltBand):
            self.band = found
            return
        self._next = found
        predicted = self._ask(self._at_known_speed)
        self.expected = len(predicted.points) if isinstance(predicted, BuiltBand) else 0

    def _ask(self, otherwise: Callable[[int], Measurement] | None = None) -> float | BuiltBand:
        """What the builder says to the points so far."""
        source = self.source
        so_far = PointsSoFar(
            source.smallest,
            source.largest,
            source.largest_is_memory_limit,
            source.largest_reason,
            source.kept,
            source.n_of,
            source.cost_s,
            source.level_ends,
            otherwise,
        )
        return next_step(self.method, so_far, rule=RULE, budget_s=self._budget_s)

    def _at_known_speed(self, n: int) -> Measurement:
        """A point as it would be at the speed of the nearest one measured."""
        source = self.source
        speed = source.volume_of(source.n_of(source.largest)) / source.effort.time_cap_s
        if source.kept:
            nearest = list(source.kept)[ties.first_least([abs(np.log(known / n)) for known in source.kept])]
            speed = source.kept[nearest].speed
        time_s = source.volume_of(n) / speed
        cost_s = float(source.cost_s(np.array(time_s)))
        return Measurement.of_times(source.size_of(n), source.volume_of(n), (time_s,), (time_s,), cost_s)


class GridLane(BuilderLane):
    """The naive grid: all its sizes are known, so it takes them in random order."""

    def __init__(self, source: RealSource, generator: np.random.Generator) -> None:
        sizes = grid_sizes(source.smallest, source.largest)
        if source.largest_is_memory_limit:
            sizes.pop()
        self._order = generator.permutation(sizes).tolist()
        super().__init__("grid", source)

    def _look(self) -> None:
        source = self.source
        self.expected = len({source.n_of(size) for size in self._order})
        left = [size for size in self._order if source.n_of(size) not in source.kept]
        if left:
            self._next = left[0]
            return
        found = self._ask()
        self.band = found if isinstance(found, BuiltBand) else None


class HeldOutLane:
    """Sizes that no builder sees, in passes of one fresh sample each, every pass in random order."""

    def __init__(
        self,
        source: RealSource,
        sizes: Sequence[float],
        *,
        passes: int,
        generator: np.random.Generator,
    ) -> None:
        self.source, self.sizes = source, tuple(sizes)
        self.once_is_enough = False
        """Set when the time is up: a size that has a sample gets no other."""
        self._passes, self._generator = passes, generator

    @property
    def counts(self) -> tuple[int, ...]:
        """Samples so far of each size."""
        known = (self.source.known(size) for size in self.sizes)
        return tuple(0 if point is None else len(point.samples) for point in known)

    @property
    def done(self) -> int:
        """Samples so far."""
        return sum(self.counts)

    @property
    def expected(self) -> int:
        """Samples in all."""
        return self._passes * len(self.sizes)

    @property
    def finished(self) -> bool:
        """Whether every size has its samples, or has one and the time is up."""
        least = min(self.counts)
        return least >= self._passes or (least > 0 and self.once_is_enough)

    def step(self) -> None:
        """One sample at a size with fewest so far."""
        counts = np.array(self.counts)
        fewest = np.flatnonzero(counts == counts.min())
        self.source.visit(self.sizes[self._generator.choice(fewest)])


def held_out_sizes(source: RealSource, count: int) -> tuple[float, ...]:
    """Sizes for the sweep: half at equal steps, half at equal steps of the logarithm; none of the grid's, each once.

    Fewer than `count` where there are not so many between the ends.
    """
    a, b, half = source.smallest, source.largest, count // 2
    share = (np.arange(half) + 0.5) / half
    taken = {source.n_of(size) for size in (*grid_sizes(a, b), a, b)}
    chosen: list[float] = []
    for size in np.concatenate([a + (b - a) * share, a * (b / a) ** share]):
        n = next((n for n in _around(source.n_of(float(size))) if _free(source, n, taken)), None)
        if n is not None:
            taken.add(n)
            chosen.append(source.size_of(n))
    return tuple(sorted(chosen))


def _around(n: int) -> list[int]:
    """A parameter and its neighbours, nearest first."""
    return sorted(range(max(1, n - 4), n + 5), key=lambda near: abs(near - n))


def _free(source: RealSource, n: int, taken: set[int]) -> bool:
    size = source.size_of(n)
    return source.smallest < size < source.largest and source.n_of(size) == n and n not in taken


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
    held_out: tuple[Measurement, ...]
    """The sweep, by ascending size, without sizes that a builder happened to choose as well."""
    dropped: int
    """How many sizes those were."""
    points: dict[str, tuple[Measurement, ...]]
    """Every method's own points with all their samples."""

    @property
    def held_out_sizes(self) -> Floats:
        """Sizes of the sweep in elements."""
        return np.array([point.size for point in self.held_out])

    @property
    def held_out_speeds(self) -> Floats:
        """Speeds by the median CPU time of the fresh samples at each size."""
        return np.array([point.speed for point in self.held_out])


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
        Called with what is measured next and the share done.

    Raises
    ------
    ScenarioError
        If the folder holds the points of a run with other settings.
    CalibrationError
        If a run fails, or b lies so low that fewer than 30 sizes can be held out; points finished are kept.
    """
    budget, generator = Budget(LATE * budget_s), randomness.stream(seed, "comparison", "order")
    cap_s = budget_s / len(kernels) / BUDGET_IN_CAPS
    if cap_s < LEAST_CAP_S:
        least_s = LEAST_CAP_S * BUDGET_IN_CAPS * len(kernels)
        raise Budget(budget_s).refusal(least_s, f"{len(kernels)} kernels")
    settings = {"kernels": list(kernels), "cpu": cpu, "budget_s": budget_s, "seed": seed}
    _start(folder, settings)
    with ExitStack() as stack:
        contests = []
        for kernel in kernels:
            on_progress(f"{kernel}: ends", 0.0)
            source = stack.enter_context(_source(kernel, cpu, cap_s, folder / POINTS, 1 / len(kernels)))
            contests.append(_contest(kernel, source, folder / POINTS, generator))
        lanes = [lane for contest in contests for lane in contest.lanes]

        def step(lane: BuilderLane | HeldOutLane, _number: int) -> None:
            steps = sum(max(one.expected, one.done) for one in lanes)
            on_progress(lane.source.label, sum(one.done for one in lanes) / steps)
            lane.step()
            for contest in contests:
                contest.sweep.once_is_enough = not budget.holds()

        run_campaign(turns_of(lanes, generator), step)
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
    own = {method: source.with_own_points(folder / f"{kernel}-{method}.json") for method in METHODS}
    builders = (
        GridLane(own["grid"], generator),
        BuilderLane("gbbp", own["gbbp"], budget_s=GBBP_IN_CAPS * source.effort.time_cap_s),
        BuilderLane("adaptive", own["adaptive"]),
    )
    effort = replace(source.effort, time_cap_s=float("inf"), precision=0.0, most_samples=PASSES, long_once=False)
    sweep = source.with_own_points(folder / f"{kernel}-held-out.json", effort=effort)
    sizes = held_out_sizes(sweep, HELD_OUT)
    if len(sizes) < LEAST_HELD_OUT:
        raise CalibrationError(
            f"kernel {kernel}: only {len(sizes)} sizes can be held out between {source.smallest:g} and "
            f"{source.largest:g} elements, and {LEAST_HELD_OUT} are needed; give a larger --budget"
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
            raise ScenarioError(f"{points / RUN_FILE}: this file holds no settings of a run; name another folder")
        if document.get("finished"):
            files.set_aside(folder, [POINTS])
        elif document["settings"] != settings:
            raise ScenarioError(
                f"{points} holds a run that was broken off with {_settings_shown(document['settings'])}, "
                f"{_settings_shown(settings)} is asked for; give the same options, or another folder"
            )
    files.write_json(points / RUN_FILE, {"settings": settings, "finished": False})


def _settings_shown(settings: dict[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in settings.items())


# The speed-band paper's Table 1 on this machine: the grid, GBBP and adaptive really run, side by side.


KERNELS = {"naive_matmul": "matmul", "dgemm": "dgemm", "cholesky": "cholesky"}
"""The paper's name of a kernel -> ours."""
BUSY_LOAD = 0.3
"""Mean runnable processes of others from which on the machine counts as busy."""
LOST_SHARE = 0.05
"""The same for the share of the wall time that the runs had to wait."""
DOCUMENT = "gbbp.json"
EXPLAINED = (
    "time: wall seconds that a method's own points took; speedup: the grid's time over it, as the paper counts it;",
    "with b: the same with the time for finding the largest size b, shared by all, added to both; runs: the same if",
    "every point cost one single run; errors: against the median of fresh runs at sizes that no method saw;",
    "noise: how far one of those runs lies from the others at its size: no error much below it can be had",
)
HEAD = (
    f"{'':<14}{'method':<10}{'time':>9}{'speedup':>9}{'with b':>8}{'runs':>7}{'points':>8}{'mean':>9}{'max error':>11}"
)


def table(
    folder: Path, *, budget_s: float, cpu: int, seed: int, on_progress: Callable[[str, float], None]
) -> dict[str, Any]:
    """Measure, and write the document with all bands and a figure per kernel into the folder.

    Parameters
    ----------
    folder
        Finished points too are kept here, so that a run that was broken off goes on.
    budget_s
        About how many seconds it may take in all.
    cpu
        The logical processor that everything runs on.

    Returns
    -------
    dict
        `kernels` (per kernel and method, see `score`), `measured` (per kernel: ends, sweep, noise), `paper`,
        `warnings`, `provenance`.
    """
    before = this_machine()
    done = compare_builders(
        list(KERNELS.values()), folder=folder, cpu=cpu, budget_s=budget_s, seed=seed, on_progress=on_progress
    )
    by_kernel = dict(zip(KERNELS, done, strict=True))
    found = {
        "clock": "real",
        "budget_s": budget_s,
        "seed": seed,
        "cpu": cpu,
        "kernels": {kernel: _rows(compared) for kernel, compared in by_kernel.items()},
        "measured": {kernel: _measured(compared) for kernel, compared in by_kernel.items()},
        "paper": paper_rows(),
        "warnings": [*load_warnings(before), *_busy(by_kernel)],
        "provenance": provenance.provenance(seed=seed, machine=before),
    }
    _write(folder, found, by_kernel)
    return found


def lines(found: dict[str, Any]) -> list[str]:
    """The table for the terminal, with what its columns mean."""
    text = [
        f"GBBP, Table 1 on this machine, processor {found['cpu']}, budget {units.show_duration(found['budget_s'])}",
        *EXPLAINED,
        HEAD,
    ]
    for kernel, rows in found["kernels"].items():
        part = found["measured"][kernel]
        for method, row in rows.items():
            text.append(
                f"{kernel:<14}{method:<9}{row['experimental_s']:>8.2f} s{row['speedup_over_grid']:>9.1f}"
                f"{row['speedup_with_ends']:>8.1f}{row['speedup_in_single_runs']:>7.1f}{row['points']:>8}"
                f"{row['mean_error_percent']:>7.1f} %{row['max_error_percent']:>7.1f} %"
            )
        noise = part["noise_floor"]
        text += [
            paper_line(kernel, found["paper"]),
            f"{'':<14}{len(part['held_out'])} held-out sizes, noise {_shown(noise)}",
            f"{'':<14}b = {part['largest']:.3g} elements, {part['largest_reason']}; took {part['ends_cost_s']:.2g} s",
        ]
    return [*text, *(f"warning: {line}" for line in found["warnings"])]


def noise_floor(samples: Sequence[Sequence[float]]) -> dict[str, float]:
    """How far a single run's speed lies from the median of the other runs at its size, in percent, mean and greatest.

    Sizes with one sample only tell nothing and are left out.
    """
    off = [
        100 * abs(float(np.median(np.delete(row, k))) / row[k] - 1)
        for row in samples
        if len(row) > 1
        for k in range(len(row))
    ]
    return {"mean_percent": float(np.mean(off)), "max_percent": float(np.max(off))} if off else {}


def load_warnings(machine: Machine) -> list[str]:
    """A line where others use the machine, as it was looked at."""
    load = machine.load_average[0]
    if load <= BUSY_LOAD:
        return []
    return [f"busy machine: load average {load:.2f} on {len(machine.cores)} cores before the run, best run when idle"]


def _shown(noise: dict[str, float]) -> str:
    if not noise:
        return "unknown: one run each"
    return f"{noise['mean_percent']:.1f} % on average, {noise['max_percent']:.1f} % at most"


def _rows(compared: Compared) -> dict[str, dict[str, Any]]:
    rows = score(compared.built, compared.held_out_sizes, compared.held_out_speeds)
    once = {method: sum(point.ideal_s for point in compared.built[method].points) for method in METHODS}
    ends_s, grid_s = compared.ends.cost_s, rows["grid"]["experimental_s"]
    for method, row in rows.items():
        row["speedup_with_ends"] = (grid_s + ends_s) / (row["experimental_s"] + ends_s)
        row["single_runs_s"] = once[method]
        row["speedup_in_single_runs"] = once["grid"] / once[method]
        row["expected_error"] = compared.built[method].expected_error
    return rows


def _measured(compared: Compared) -> dict[str, Any]:
    cpu_s = [[sample.cpu_s for sample in point.samples] for point in compared.held_out]
    sweep = [
        {"size_elements": point.size, "volume": point.volume, "cpu_s": row, "speed": point.speed}
        for point, row in zip(compared.held_out, cpu_s, strict=True)
    ]
    return {
        "smallest": compared.smallest,
        "largest": compared.largest,
        "largest_reason": compared.ends.largest_reason,
        "largest_is_memory_limit": compared.ends.largest_is_memory_limit,
        "ends_cost_s": compared.ends.cost_s,
        "noise_floor": noise_floor(cpu_s),
        "held_out": sweep,
        "held_out_dropped": compared.dropped,
    }


def _busy(by_kernel: dict[str, Compared]) -> list[str]:
    """One line per kernel whose runs had to wait or were often interrupted."""
    found = []
    for kernel, compared in by_kernel.items():
        points: list[Measurement] = [*compared.held_out, *(p for own in compared.points.values() for p in own)]
        cpu_s, wall_s = (
            sum(point.inner * getattr(sample, name) for point in points for sample in point.samples)
            for name in ("cpu_s", "wall_s")
        )
        switches = sum(sample.involuntary_switches for point in points for sample in point.samples)
        if (lost := 1 - cpu_s / wall_s) > LOST_SHARE:
            found.append(
                f"busy machine: the runs of {kernel} waited {lost:.0%} of their time, {switches} involuntary switches "
                f"in {cpu_s:.3g} CPU seconds: times and speedups are those of a shared processor"
            )
    return found


def _write(folder: Path, found: dict[str, Any], by_kernel: dict[str, Compared]) -> None:
    """The document with all bands and points, and a figure per kernel."""
    bands = {
        kernel: {method: built.to_dict() for method, built in compared.built.items()}
        for kernel, compared in by_kernel.items()
    }
    files.write_json(folder / DOCUMENT, {"format": 1, "kind": "gbbp comparison", **found, "bands": bands})
    for kernel, compared in by_kernel.items():
        drawn = {
            f"{method}: {row['points']} points, {row['experimental_s']:.3g} s, mean error "
            f"{row['mean_error_percent']:.1f} %": (compared.built[method].band, bands[kernel][method]["points"])
            for method, row in found["kernels"][kernel].items()
        }
        title = f"{kernel} on {found['provenance']['machine']['cpu_model']}"
        sampled = compared.held_out_sizes, compared.held_out_speeds
        plots.builders(drawn, title=title, held_out=sampled).save(folder / f"{kernel}.png")
