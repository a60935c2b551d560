"""What a machine is made of: cores of what kinds, caches and who shares them, memory; as a system or a file tells."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

INSTRUCTION, MEMORY_SIDE = "instruction", "memory-side"


@dataclass(frozen=True)
class Core:
    """A physical core that this process may use."""

    cpu: int
    """Number of the logical processor that stands for it, as the system counts."""
    siblings: tuple[int, ...]
    """The other logical processors of the same core (SMT); they are no PEs of their own."""
    kind: str = ""
    """Which cores it is like, such as `P` or `E`; empty where all are alike."""


@dataclass(frozen=True)
class CacheUnit:
    """One cache and who shares it."""

    level: int
    kind: str
    """`data`, `instruction`, `unified`, or `memory-side`."""
    size_bytes: int
    cpus: tuple[int, ...]
    """The logical processors that share it, as the system counts."""


@dataclass(frozen=True)
class MemoryUnit:
    """A NUMA node."""

    number: int
    memory_bytes: int | None
    cpus: tuple[int, ...]
    """None of them: memory without processors of its own."""


@dataclass(frozen=True)
class SharedCache:
    """The caches of one level and size, counted over the PEs."""

    level: int
    kind: str
    size_bytes: int
    instances: int
    """How many of them the PEs have."""
    most_pes: int
    """PEs that share one, where most do."""

    @property
    def name(self) -> str:
        """`L1`, `L2` and so on."""
        return f"L{self.level}"


@dataclass(frozen=True)
class Topology:
    """A machine's parts, as far as they are told."""

    source: str
    """Who told: `this machine`, or a file."""
    host: str | None
    cpu_model: str | None
    cores: tuple[Core, ...]
    """Distinct physical cores that may be used, in the order of the system or the file."""
    caches: tuple[CacheUnit, ...]
    packages: tuple[tuple[int, ...], ...]
    """The logical processors of each package."""
    numa: tuple[MemoryUnit, ...]
    memory_bytes: int | None
    """Main memory that processes may take, limits of control groups counted."""
    swap_bytes: int | None = None
    quota_cores: float | None = None
    """CPU seconds per second that a control group grants, None without a quota."""
    warnings: tuple[str, ...] = field(default=())
    """What to know before this is trusted."""

    @property
    def pes(self) -> tuple[Core, ...]:
        """The cores that can run at once: within affinity and quota, at least one."""
        granted = len(self.cores) if self.quota_cores is None else int(self.quota_cores)
        return self.cores[: max(1, granted)]

    @property
    def pe_count(self) -> int:
        """How many PEs there are."""
        return len(self.pes)

    def shared_caches(self, *, instructions: bool = False) -> tuple[SharedCache, ...]:
        """Caches of the PEs, the nearest first, those of one level, kind and size counted together."""
        return tuple(_counted(self.caches, self.pes, instructions=instructions))

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        shared = [asdict(cache) for cache in self.shared_caches(instructions=True)]
        return asdict(self) | {"pe_count": self.pe_count, "shared_caches": shared}


def _counted(caches: Sequence[CacheUnit], pes: Sequence[Core], *, instructions: bool) -> list[SharedCache]:
    wanted = {core.cpu for core in pes}
    alike: dict[tuple[int, str, int], list[int]] = {}
    for cache in caches:
        users = len(wanted & set(cache.cpus))
        if users and cache.kind != MEMORY_SIDE and (instructions or cache.kind != INSTRUCTION):
            alike.setdefault((cache.level, cache.kind, cache.size_bytes), []).append(users)
    return [SharedCache(*key, instances=len(users), most_pes=max(users)) for key, users in sorted(alike.items())]
