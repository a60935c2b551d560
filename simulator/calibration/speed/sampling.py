"""One point: warm-up, inner repetition, samples until the median of the CPU time is known well enough or time is up."""

import datetime
import math
import time
from dataclasses import dataclass, replace

import numpy as np

from simulator.base import units
from simulator.base.arrays import Floats
from simulator.base.errors import CalibrationError, ScenarioError
from simulator.base.machine import load_average
from simulator.calibration.bench.measurement import (
    LEAST_SAMPLE_S,
    LEAST_SAMPLES,
    MOST_SAMPLES,
    PRECISION,
    Measurement,
    one_of,
)
from simulator.calibration.bench.usage import Usage
from simulator.calibration.kernels.sized import LARGEST_N, largest_within
from simulator.calibration.speed.subjects import Runner, Subject, largest_taken

_MOST_INNER = 10**6
_KEPT_WARM_UP = 1 / 3
"""A warm-up of more than this share of the time cap is kept as a sample: a second run may not fit."""

_SURELY_ENOUGH = 5.0
"""A warm-up this many times as long as a sample must last is no slow start of a run that is too short."""
_PROBED_SHARE = 0.1
"""The time is predicted from a run that takes at least this share of the cap."""
_GROWTH = 0.5
"""A time that grows by less than this share of what the volume grows by is still that of a program's start."""
_LARGEST_STEP = 30.0
"""By how much the volume grows at most from one probe to the next."""
_MOST_PROBES = 100
"""After so many probes the last one speaks for itself: n can only creep up where the volume leaps with each n."""


@dataclass(frozen=True)
class Effort:
    """How hard to look at one point."""

    time_cap_s: float
    """Wall seconds for one point, its preparation included; no sample starts that would pass it."""
    least_sample_s: float = LEAST_SAMPLE_S

    def cost_s(self, times_s: Floats) -> Floats:
        """Predicted seconds of points whose single runs take so long; any shape.

        Short runs are sampled as often as the interval of a median needs; of longer ones the time cap holds fewer, of
        those above half of it only one. What preparing a point costs in addition shows in the cheapest point measured.
        """
        sampled = np.maximum(times_s, self.least_sample_s) * LEAST_SAMPLES + times_s
        return np.asarray(np.where(times_s > self.time_cap_s / 2, times_s, np.minimum(sampled, self.time_cap_s)))

    @property
    def long_run_s(self) -> float:
        """From which wall seconds on a warm-up is kept."""
        return _KEPT_WARM_UP * self.time_cap_s


def sample_point(runner: Runner, subject: Subject, *, n: int, effort: Effort) -> Measurement:
    """Measure one point, all its samples in a row."""
    point = visit(runner, subject, n=n, effort=effort)
    while not point.ended_by:
        point = visit(runner, subject, n=n, effort=effort, known=point, prepared=True)
    return point


def visit(
    runner: Runner,
    subject: Subject,
    *,
    n: int,
    effort: Effort,
    known: Measurement | None = None,
    prepared: bool = False,
) -> Measurement:
    """One more sample of a point; in passes over many sizes, drift and bursts of load fall on all of them alike.

    `known` is the point so far, None at its first visit: that one warms up and finds how many runs make a sample.
    `prepared`: the runner's last work was this point, so that nothing needs to be made ready again.
    """
    begin = time.monotonic()
    if known is None:
        point = _first_visit(runner, subject, n=n, effort=effort)
    else:
        if not prepared:
            runner.prepare(n)
            if known.inner > 1:  # short runs feel cold caches; a long one warms up by itself
                runner.sample(1)
        sample = one_of(runner.sample(known.inner), known.inner)
        visits = (*known.visits[:-1], known.visits[-1] + 1) if prepared else (*known.visits, 1)
        if known.warm_up_kept and len(known.samples) == 1:  # it stood in for this one, which is no start of a run
            point = replace(known, samples=(sample,), visits=(1,), warm_up_kept=False)
        else:
            point = replace(known, samples=(*known.samples, sample), visits=visits)
    if point.samples[-1].cpu_s <= 0:
        raise CalibrationError(f"{subject.label}: n = {n}: no CPU time was seen; measure runs of a microsecond or more")
    point = replace(point, cost_s=(known.cost_s if known else 0.0) + time.monotonic() - begin)
    return replace(point, ended_by=_ended_by(point, effort))


def _first_visit(runner: Runner, subject: Subject, *, n: int, effort: Effort) -> Measurement:
    started = datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")
    load = load_average()[0]
    runner.prepare(n)
    warm = runner.sample(1)
    kept = warm.wall_s > effort.long_run_s
    inner, used = (1, warm) if kept else inner_runs(runner, warm.wall_s, effort.least_sample_s)
    sample = one_of(used or runner.sample(inner), inner)
    return Measurement(
        subject.size(n),
        subject.volume(n),
        (sample,),
        visits=(1,),
        n=n,
        inner=inner,
        warm_up_kept=kept,
        started=started,
        load_average=load,
    )


def _ended_by(point: Measurement, effort: Effort) -> str:
    """Why no further sample of a point is taken; empty while one is."""
    if point.half_interval <= PRECISION:
        return "precision"
    if len(point.samples) >= MOST_SAMPLES:
        return "most samples"
    return "time cap" if point.cost_s + point.inner * point.samples[-1].wall_s > effort.time_cap_s else ""


def inner_runs(runner: Runner, once_s: float, least_s: float) -> tuple[int, Usage | None]:
    """How many runs in a row last at least `least_s` seconds, found by running more and more, and what those cost.

    Nothing is run, and no cost given, where a warm-up of `once_s` seconds was so long that one run is surely enough.
    """
    if once_s >= _SURELY_ENOUGH * least_s:
        return 1, None
    inner = max(1, min(_MOST_INNER, math.ceil(least_s / max(once_s, 1e-9))))
    while True:  # the warm-up was slower than what follows
        used = runner.sample(inner)
        if used.wall_s >= 0.8 * least_s or inner == _MOST_INNER:
            return inner, used
        inner = min(_MOST_INNER, math.ceil(inner * min(100.0, 1.1 * least_s / max(used.wall_s, 1e-9))))


# The largest problem size b: what can be allocated, what the user allows, or what fits the time for one point.


@dataclass(frozen=True)
class Room:
    """What bounds problem sizes."""

    max_size: float | None
    """`--max-size` in elements."""
    memory_bytes: int
    """What may be taken: `memory_share` of the memory available when it was looked at."""
    memory_share: float


@dataclass(frozen=True)
class Ends:
    """The smallest and the largest size, and what bounds the largest."""

    smallest_n: int
    largest_n: int
    largest_is_memory_limit: bool
    largest_reason: str
    cost_s: float
    """Wall seconds that finding them took."""


def find_ends(runner: Runner, subject: Subject, *, smallest_n: int, room: Room, effort: Effort) -> Ends:
    """Find the largest size, memory by allocation alone, time by short runs at growing sizes."""
    begin = time.monotonic()
    largest, reason, by_memory = _allowed(subject, room)
    most = _allocatable(runner, subject, largest=largest, room=room)
    if most < largest:
        largest, by_memory = most, True
        share = f"{100 * room.memory_share:g} % of the memory available"
        reason = f"memory: the largest that can be allocated within {units.show_size(room.memory_bytes)}, {share}"
    if largest > smallest_n:
        fits = _within_time(runner, subject, smallest_n=smallest_n, largest=largest, effort=effort)
        if fits < largest:
            largest, by_memory = fits, False
            reason = f"time cap: the largest whose predicted run fits {effort.time_cap_s:g} s"
    if largest <= smallest_n or subject.size(largest) <= subject.size(smallest_n):
        raise ScenarioError(
            f"{subject.label}: the largest size is {subject.size(max(1, largest)):g} ({reason}); "
            f"it must be above the smallest, {subject.size(smallest_n):g}"
        )
    return Ends(smallest_n, largest, by_memory, reason, time.monotonic() - begin)


def _allowed(subject: Subject, room: Room) -> tuple[int, str, bool]:
    """The largest n that the user allows, or that is ever looked at."""
    if room.max_size is None:
        return LARGEST_N, f"parameter: n is never beyond {LARGEST_N}", False
    n = largest_within(subject.size, room.max_size)
    return largest_taken(subject, n), f"--max-size {room.max_size:g}", False


def _allocatable(runner: Runner, subject: Subject, *, largest: int, room: Room) -> int:
    """The largest n, up to `largest`, whose operands are granted within the room; nothing is touched."""
    if not subject.stored_bytes or largest < 1:
        return largest

    def refused(n: int) -> float:
        needed = subject.bytes_of(n)
        return float(needed > room.memory_bytes or not runner.can_allocate(needed))

    if not refused(largest):
        return largest
    return largest_taken(subject, min(largest, largest_within(refused, 0.5)))


def _within_time(runner: Runner, subject: Subject, *, smallest_n: int, largest: int, effort: Effort) -> int:
    """The largest n, up to `largest`, whose single run is predicted to fit the time cap."""
    cap_s, n = effort.time_cap_s, smallest_n
    before_s, before = 0.0, 0.0
    probes = 0
    while True:
        once_s = _once(runner, n, effort)
        volume = subject.volume(n)
        grows = before_s > 0 and once_s / before_s >= _GROWTH * volume / before
        known = once_s >= _PROBED_SHARE * cap_s and (grows or once_s >= cap_s / 2)
        probes += 1
        if known or n >= largest or probes >= _MOST_PROBES:
            break
        before_s, before = once_s, volume
        step = min(_LARGEST_STEP, max(2.0, 1.5 * _PROBED_SHARE * cap_s / once_s))
        following = min(largest, largest_within(subject.volume, step * volume))
        n = max(n + 1, largest_taken(subject, following)) if following < largest else largest
    if n >= largest and once_s <= cap_s:
        return largest
    return largest_taken(subject, min(largest, largest_within(subject.volume, volume * cap_s / once_s)))


def _once(runner: Runner, n: int, effort: Effort) -> float:
    """Wall seconds of one run after a warm-up; a warm-up that is long already speaks for itself."""
    runner.prepare(n)
    warm_s = runner.sample(1).wall_s
    if warm_s >= _PROBED_SHARE * effort.time_cap_s:
        return warm_s
    inner, used = inner_runs(runner, warm_s, min(effort.least_sample_s, _PROBED_SHARE * effort.time_cap_s))
    found = one_of(used or runner.sample(inner), inner).wall_s
    return found if math.isfinite(found) and found > 0 else warm_s
