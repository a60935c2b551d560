"""What a message costs the processors at its ends and the memory channel: linear in its bytes."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from simulator.base import units
from simulator.base.documents import SPARE

COPIES = {"unix": 2, "pipe": 2, "tcp": 2}
"""Times that a message's bytes are copied on one machine: to the system at one end, from it at the other."""
PER_COPY = 2.0
"""Bytes through memory for each byte copied, where no cache holds them: read and written. Lines that are fetched before
they are written would make three."""


@dataclass(frozen=True)
class CpuCost:
    """CPU seconds at each end, the mean of the end that sends and the one that receives."""

    per_message_s: float
    per_byte_s: float

    def __post_init__(self) -> None:
        if not (0 <= self.per_message_s < np.inf and 0 <= self.per_byte_s < np.inf):
            raise ValueError("cpu: seconds of at least 0")

    def at(self, size_bytes: ArrayLike) -> np.ndarray:
        """CPU seconds at each end of messages of these sizes; of their shape."""
        return np.asarray(self.per_message_s + self.per_byte_s * np.asarray(size_bytes, dtype=np.float64))

    @property
    def shown(self) -> str:
        """The costs in words."""
        return f"{units.show_duration(self.per_message_s)} and {1e9 * self.per_byte_s:.3g} ns a byte"


@dataclass(frozen=True)
class MessageCost:
    """What messages over one medium cost."""

    cpu: CpuCost
    busy: CpuCost | None
    """The same while a computation is busy on the PE of each end; None where that was not measured."""
    memory_bytes_per_byte: float | None
    """Bytes through the memory channel for each byte of a large message; None where nothing is known."""

    @property
    def entries(self) -> "CostEntries":
        """As a network model's file says them."""
        source = "" if self.memory_bytes_per_byte is None else "copies, not measured"
        cpu = CpuEntry(self.cpu.per_message_s, self.cpu.per_byte_s, self.busy)
        return CostEntries(cpu, self.memory_bytes_per_byte, source)

    def lines(self) -> list[str]:
        """The costs for the terminal."""
        found = [f"CPU of a message at each end: {self.cpu.shown}"]
        if self.busy is not None:
            found.append(f"with a computation busy on its PE: {self.busy.shown}")
        if self.memory_bytes_per_byte is not None:
            found.append(f"memory channel: {self.memory_bytes_per_byte:g} bytes for each byte, by copies, not measured")
        return found


@dataclass(frozen=True)
class CpuEntry(CpuCost):
    """CPU seconds as a file says them."""

    beside_computation: CpuCost | None = field(default=None, metadata=SPARE)


@dataclass(frozen=True)
class CostEntries:
    """What a network model's file says of costs."""

    cpu: CpuEntry | None = field(default=None, metadata=SPARE)
    memory_bytes_per_byte: float | None = field(default=None, metadata=SPARE)
    memory_from: str = field(default="", metadata=SPARE)

    def __post_init__(self) -> None:
        if self.memory_bytes_per_byte is not None and not 0 <= self.memory_bytes_per_byte < np.inf:
            raise ValueError("memory_bytes_per_byte: at least 0")

    @property
    def cost(self) -> MessageCost | None:
        """The costs; None where the file says none."""
        if self.cpu is None:
            return None
        own = CpuCost(self.cpu.per_message_s, self.cpu.per_byte_s)
        return MessageCost(own, self.cpu.beside_computation, self.memory_bytes_per_byte)


def fit_cpu_cost(size_bytes: ArrayLike, cpu_s: ArrayLike) -> CpuCost:
    """Least squares of relative errors, neither cost below 0.

    `size_bytes`, `cpu_s`: sizes of messages and CPU seconds of one; (n,), at least two sizes.
    """
    from scipy.optimize import nnls

    size, seconds = np.asarray(size_bytes, dtype=np.float64), np.asarray(cpu_s, dtype=np.float64)
    columns = np.stack((np.ones_like(size), size), axis=-1) / seconds[:, np.newaxis]
    # Columns of like size: seconds of a message and of a byte are far apart.
    scale = np.sqrt(np.sum(columns**2, axis=0))
    found, _ = nnls(columns / scale, np.ones_like(size))
    per_message_s, per_byte_s = (found / scale).tolist()
    return CpuCost(per_message_s, per_byte_s)


def memory_bytes_per_byte(medium: str) -> float | None:
    """What copies of a medium ask of the memory channel, of messages that no cache holds."""
    return PER_COPY * COPIES[medium] if medium in COPIES else None
