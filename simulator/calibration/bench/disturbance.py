"""Which samples other programs disturbed, and what a calibration beside them may be off by.

CPU seconds do not count the time that others hold the processor, but they do count what others leave behind: colder
caches, a lower clock, a slower memory. A sample is therefore judged by what was taken from it, not by its speed.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from simulator.base.machine import busy_seconds
from simulator.calibration.bench.usage import Usage

DISTURBED = 0.03
"""Share of its wall time from which on what others took of a sample counts."""
LEAST_CLEAN = 3
"""Undisturbed samples that say more than all samples together."""


def taken_share(sample: Usage) -> float:
    """Share of a sample's wall time in which other programs held its processor; 0 where it waited by itself.

    A sample that waits by its own will (a command that reads a file) has voluntary switches and no involuntary ones.
    """
    if sample.wall_s <= 0 or not sample.involuntary_switches:
        return 0.0
    return max(0.0, 1 - sample.cpu_s / sample.wall_s)


def is_disturbed(sample: Usage) -> bool:
    """Whether other programs took more than a few per cent of it."""
    return taken_share(sample) > DISTURBED


def clean_samples(samples: Sequence[Usage]) -> tuple[Usage, ...]:
    """The undisturbed samples; all of them where too few are."""
    found = tuple(sample for sample in samples if not is_disturbed(sample))
    return found if len(found) >= min(LEAST_CLEAN, len(samples)) else tuple(samples)


def may_be_off(samples: Sequence[Usage]) -> float:
    """By which share the true speed may lie above the median of these samples, 0 where enough of them are clean.

    Two figures say so, and the larger one counts: how far the fastest sample is above the median, for the fastest met
    least of the others; and a third of what the others took, for what they leave in caches slows what follows them. (A
    program that took 20 % of a core by turns of 2 ms cost dgemm 2 % of its speed in CPU time beside that.)
    """
    if not samples or not all_disturbed(samples):
        return 0.0
    speeds = 1 / np.array([sample.cpu_s for sample in samples])
    spread = float(np.max(speeds) / np.median(speeds) - 1)
    return max(spread, float(np.median([taken_share(sample) for sample in samples])) / 3)


def all_disturbed(samples: Sequence[Usage]) -> bool:
    """Whether too few samples are clean to leave the others out."""
    count = sum(not is_disturbed(sample) for sample in samples)
    return count < min(LEAST_CLEAN, len(samples))


@dataclass(frozen=True)
class Others:
    """What all processors of the machine did for others since an instant, the host's time included."""

    begun: dict[int, float]

    @classmethod
    def since_now(cls) -> Self:
        """From this instant on."""
        return cls(busy_seconds())

    def seconds(self, ours_s: float) -> float:
        """CPU seconds since then that were not ours, over all processors; the system counts them by hundredths."""
        now = busy_seconds()
        return max(0.0, sum(now[cpu] - was for cpu, was in self.begun.items() if cpu in now) - ours_s)


def shares_taken(samples: Sequence[Usage]) -> NDArray[np.float64]:
    """`taken_share` of each."""
    return np.array([taken_share(sample) for sample in samples])
