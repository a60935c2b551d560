"""What a stretch of a process cost, and how much memory it may take."""

import mmap
import resource
import time
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Usage:
    """Differences of the system's own accounting of this process."""

    cpu_s: float = 0.0
    """User and system CPU seconds (`getrusage`)."""
    wall_s: float = 0.0
    voluntary_switches: int = 0
    involuntary_switches: int = 0
    """Times the system took the PE away."""

    @classmethod
    def now(cls) -> "Usage":
        """Totals of this process so far."""
        own = resource.getrusage(resource.RUSAGE_SELF)
        return cls(own.ru_utime + own.ru_stime, time.perf_counter(), own.ru_nvcsw, own.ru_nivcsw)

    def __sub__(self, earlier: "Usage") -> "Usage":
        return Usage(
            self.cpu_s - earlier.cpu_s,
            self.wall_s - earlier.wall_s,
            self.voluntary_switches - earlier.voluntary_switches,
            self.involuntary_switches - earlier.involuntary_switches,
        )

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            self.cpu_s + other.cpu_s,
            self.wall_s + other.wall_s,
            self.voluntary_switches + other.voluntary_switches,
            self.involuntary_switches + other.involuntary_switches,
        )

    def to_dict(self) -> dict[str, float]:
        """Plain data for JSON."""
        return asdict(self)


def limit_memory(count_bytes: int) -> dict[str, Any]:
    """Let this process and each of its future children take `count_bytes` of memory more than this one has now.

    A request beyond it fails at once (`RLIMIT_DATA`), so that nothing swaps and no other process is killed.
    """
    import psutil

    allowed = int(psutil.Process().memory_info().data) + count_bytes
    hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
    if hard != resource.RLIM_INFINITY:
        allowed = min(allowed, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (allowed, hard))
    return {}


def allocate(count_bytes: int) -> dict[str, Any]:
    """Whether the system grants so much memory; none of it is touched, and it is given back at once."""
    try:
        mmap.mmap(-1, max(1, count_bytes), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS).close()
    except (OSError, ValueError, OverflowError):
        return {"granted": False}
    return {"granted": True}
