"""The largest problem size b: what can be allocated, what the user allows, or what fits the time for one point."""

import math
import time
from dataclasses import asdict, dataclass
from typing import Any

from simulator.base import units
from simulator.base.errors import ScenarioError
from simulator.calibration.bench.measurement import one_of
from simulator.calibration.kernels.sized import LARGEST_N, largest_within
from simulator.calibration.speed.runners import Runner
from simulator.calibration.speed.sampling import Effort, inner_runs
from simulator.calibration.speed.subjects import Subject, largest_taken

_PROBED_SHARE = 0.1
"""The time is predicted from a run that takes at least this share of the cap."""
_GROWTH = 0.5
"""A time that grows by less than this share of what the volume grows by is still that of a program's start."""
_LARGEST_STEP = 30.0
"""By how much the volume grows at most from one probe to the next."""
_MOST_PROBES = 100
"""After so many probes the last one speaks for itself: n can only creep up where the volume leaps with each n."""


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

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return asdict(self)


def find_ends(runner: Runner, subject: Subject, *, smallest_n: int, room: Room, effort: Effort) -> Ends:
    """Find the largest size, memory by allocation alone, time by short runs at growing sizes.

    Raises
    ------
    ScenarioError
        If it is not above the smallest.
    CalibrationError
        If a run fails.
    """
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
            f"{subject.label}: largest size {subject.size(max(1, largest)):g} ({reason}) found, "
            f"above the smallest, {subject.size(smallest_n):g}, allowed"
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
        told = once_s >= _PROBED_SHARE * cap_s and (grows or once_s >= cap_s / 2)
        probes += 1
        if told or n >= largest or probes >= _MOST_PROBES:
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
