"""What workers answer: that they are done, or what a stretch cost: CPU and wall seconds, and how often it waited."""

import resource
import time
from dataclasses import astuple, dataclass
from operator import add, sub


@dataclass(frozen=True)
class Done:
    """The answer to a command that asks for nothing."""


@dataclass(frozen=True)
class Usage:
    """Differences of the system's own accounting of this process."""

    cpu_s: float = 0.0
    """User and system CPU seconds (`getrusage`)."""
    wall_s: float = 0.0
    voluntary_switches: int = 0
    involuntary_switches: int = 0

    @classmethod
    def now(cls) -> "Usage":
        """Totals of this process so far."""
        own = resource.getrusage(resource.RUSAGE_SELF)
        return cls(own.ru_utime + own.ru_stime, time.perf_counter(), own.ru_nvcsw, own.ru_nivcsw)

    def __sub__(self, earlier: "Usage") -> "Usage":
        return Usage(*map(sub, astuple(self), astuple(earlier)))

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(*map(add, astuple(self), astuple(other)))
