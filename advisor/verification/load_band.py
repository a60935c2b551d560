"""Load bands put to the test: a known competitor, its load recorded, the band that follows, and fresh runs."""

import itertools
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from simulator import LoadTrace, ScenarioError, documents, intervals, provenance, randomness, read_trace, this_machine
from simulator.calibration import SIZED_KERNELS, Competitor, RealSource, record_load, save_speed_model
from simulator.calibration.bands import BuiltBand, CutRule, beside_load, build

ASKED = 0.9
"""Share of fresh speeds that the band must hold."""
LEVEL = 0.9
"""Of the interval of that share: so many runs show it only so well."""
TOLERANCE = 0.02
"""How far the load recorded may lie off the competitor's before others must have had a part in it."""
BUDGET_S = 60.0
"""What building the band may take, without some runs at its upper end."""
ABOVE, SAMPLES = 1.25, 8
"""The band ends at runs so many times as long as the longest checked, with time for so many samples there."""


@dataclass(frozen=True)
class LoadBandPlan:
    """What is checked, and how long one looks."""

    kernel: str
    cpu: int
    """Processor that competitor and kernel share."""
    load: float = 0.4
    """Share of the time for which the competitor is there, above 0 and below 1."""
    period_s: float = 1.0
    """One time on and off."""
    interval_s: float = 0.1
    """Of the recording."""
    history_s: float = 60.0
    """How long the load is recorded; all of it counts."""
    durations_s: tuple[float, ...] = (0.1, 0.5, 2.0)
    """Times of the runs on an idle PE; the sizes follow from them."""
    runs: int = 30
    """Fresh runs of each size."""
    seed: int = 0
    """Of the pauses between runs."""

    def __post_init__(self) -> None:
        if not 0 < self.load < 1:
            raise ScenarioError(f"load is {self.load:g}; give a share above 0 and below 1")
        if self.kernel not in SIZED_KERNELS:
            known = ", ".join(sorted(SIZED_KERNELS))
            raise ScenarioError(f"kernel: there is no {self.kernel!r} of several sizes; name one of {known}")
        here = {number for core in this_machine().cores for number in (core.cpu, *core.siblings)}
        if self.cpu not in here:
            raise ScenarioError(
                f"--cpu: {self.cpu} is no processor here; write one of {', '.join(map(str, sorted(here)))}"
            )
        times = (self.period_s, *self.durations_s)
        if not self.durations_s or not all(0 < value < math.inf for value in times) or self.runs < 1:
            raise ScenarioError("load check: give durations and a period above 0, and at least one run")

    @property
    def window(self) -> int:
        """Samples of the longest run that the competitor can make of the largest size: twice its time."""
        return math.ceil(2 * max(self.durations_s) / self.interval_s)

    def trace(self) -> LoadTrace:
        """The competitor's load, one process on and off; it repeats."""
        return LoadTrace(np.array([0.0, self.load * self.period_s]), np.array([1.0, 0.0]), self.period_s)


@dataclass(frozen=True)
class SizeChecked(documents.Record):
    """Fresh runs of one size, and the band."""

    DERIVED = ("inside", "runs", "relative_width")

    size_elements: float
    ideal_s: float
    low: float
    mid: float
    high: float
    speeds: tuple[float, ...]
    """Volume per wall second of each fresh run."""

    @property
    def inside(self) -> int:
        """How many of them lie in the band."""
        return sum(self.low <= speed <= self.high for speed in self.speeds)

    @property
    def runs(self) -> int:
        """How many there are."""
        return len(self.speeds)

    @property
    def relative_width(self) -> float:
        """Width of the band there, as a share of its middle."""
        return (self.high - self.low) / self.mid


@dataclass(frozen=True)
class LoadBandCheck:
    """The result of `check_load_band`."""

    plan: LoadBandPlan
    recorded_load: float
    """Mean busy share of the processor while the competitor was alone on it."""
    sizes: tuple[SizeChecked, ...]
    mean_relative_width: float
    """Of the whole band, over the logarithm of the size."""
    built: BuiltBand

    @property
    def share_inside(self) -> float:
        """Share of all fresh speeds that lie in the band."""
        return sum(size.inside for size in self.sizes) / sum(len(size.speeds) for size in self.sizes)

    @property
    def share_interval(self) -> tuple[float, float]:
        """90 % interval of the share that such a band holds in the long run (Clopper-Pearson)."""
        return intervals.of_share(sum(size.inside for size in self.sizes), sum(len(size.speeds) for size in self.sizes))

    @property
    def held(self) -> bool:
        """Whether the runs are compatible, at every size, with a band that holds 90 % of the speeds.

        The intervals of all sizes hold together with 90 %: a true band of 90 % keeps 27 of 30 at each of three sizes in
        a quarter of all checks only.
        """
        level = 1 - (1 - LEVEL) / len(self.sizes)
        return all(intervals.of_share(size.inside, len(size.speeds), level=level)[1] >= ASKED for size in self.sizes)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What to know before the check is trusted, one line each."""
        strangers = abs(self.recorded_load - self.plan.load) > TOLERANCE
        line = (
            f"load: {self.recorded_load:.1%} recorded on processor {self.plan.cpu} where the competitor makes "
            f"{self.plan.load:.0%}: other work runs there; end it or choose another --cpu"
        )
        return (*([line] if strangers else []), *self.built.warnings)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "format": 1,
            "kind": "load check",
            "plan": asdict(self.plan) | {"durations_s": list(self.plan.durations_s), "window": self.plan.window},
            "recorded_load": self.recorded_load,
            "share_inside": self.share_inside,
            "share_interval": list(self.share_interval),
            "mean_relative_width": self.mean_relative_width,
            "held": self.held,
            "sizes": [size.to_dict() for size in self.sizes],
            "warnings": list(self.warnings),
            "provenance": provenance.provenance(seed=self.plan.seed, machine=this_machine()),
        }


def check_load_band(
    plan: LoadBandPlan, folder: Path, on_stage: Callable[[str], None] = lambda _: None
) -> LoadBandCheck:
    """Record a competitor's load, build the band that it predicts, and see whether fresh runs keep to it.

    The competitor stays throughout. While it is alone on its processor the recorder sees its load exactly as a busy
    share; the kernel then shares the processor with it under the rule `fair`.

    Raises ScenarioError if an option is out of range; CalibrationError if a process fails.

    `plan`: what is checked.
    `folder`: where `load.csv` (the recording) and `model.json` (the band) go.
    `on_stage`: called with what begins.
    """
    path, column = folder / "load.csv", f"busy_cpu{plan.cpu}"
    with Competitor(plan.cpu, plan.trace()) as competitor, competitor.replay(0.0):
        on_stage(f"recording the competitor's load for {plan.history_s:g} s")
        record_load(path, interval_s=plan.interval_s, duration_s=plan.history_s, per_core=True, overwrite=True)
        trace = read_trace(path, column=column)
        rule = CutRule.under_load(trace, window=plan.window, history=None, availability="fair")
        on_stage("building the band")
        with _source(plan) as source:
            budget_s = BUDGET_S + 2 * SAMPLES * ABOVE * max(plan.durations_s)
            built = beside_load(build(source, rule=rule, budget_s=budget_s, verify_largest=True), drift=0.0)
            save_speed_model(built, folder / "model.json")
            sizes = tuple(_check_sizes(plan, source, built, on_stage))
    return LoadBandCheck(plan, trace.mean(), sizes, _mean_width(built), built)


def _source(plan: LoadBandPlan) -> RealSource:
    """Real runs up to a size that takes a little longer than the longest duration, with time for several samples."""
    longest_s, kernel = ABOVE * max(plan.durations_s), SIZED_KERNELS[plan.kernel]
    # the short run that predicts b may meet nothing but the competitor, and others, and take several times its time
    with RealSource.of_kernel(plan.kernel, cpu=plan.cpu, time_cap_s=4 * longest_s) as source:
        speed = source.measure(source.largest).speed
        sizes = np.geomspace(source.smallest, source.largest, 200)
    fitting = [size for size in sizes if kernel.volume(kernel.n_of(size)) <= longest_s * speed]
    return RealSource.of_kernel(plan.kernel, cpu=plan.cpu, time_cap_s=SAMPLES * longest_s, max_size=max(fitting))


def _check_sizes(
    plan: LoadBandPlan, source: RealSource, built: BuiltBand, on_stage: Callable[[str], None]
) -> Iterator[SizeChecked]:
    """Fresh runs, each after a pause of random length, so that they begin anywhere in the competitor's period."""
    pauses = randomness.stream(plan.seed, "load check, pauses")
    for duration_s in plan.durations_s:
        on_stage(f"{plan.runs} fresh runs that take {duration_s:g} s on an idle PE")
        size, speeds = _size_of(built, duration_s), []
        for point, usage in itertools.islice(source.fresh_runs(size), plan.runs):
            speeds.append(point.volume / usage.wall_s)
            time.sleep(pauses.uniform(0, plan.period_s))
        cut = built.band.cut(point.size)
        yield SizeChecked(point.size, point.ideal_s, cut.low, cut.mid, cut.high, tuple(speeds))


def _size_of(built: BuiltBand, ideal_s: float) -> float:
    """The size whose run takes so long on an idle PE, by the points measured; the nearest end beyond them."""
    rows = sorted((point.ideal_s, point.size) for point in built.points)
    times, sizes = np.log(np.array(rows).T)
    return float(np.exp(np.interp(np.log(ideal_s), times, sizes)))


def _mean_width(built: BuiltBand) -> float:
    band = built.band
    sizes = np.geomspace(band.sizes[0], band.sizes[-1], 200)
    low, mid, high = (band.speed(sizes, position=position) for position in (0.0, 0.5, 1.0))
    return float(np.mean((high - low) / mid))
