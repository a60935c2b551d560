"""What a sweep of Apex-MAP measures: its cells (M, alpha, L), and how much is read on one visit to a cell."""

import math
from dataclasses import dataclass

from simulator.base import units
from simulator.base.errors import ScenarioError
from simulator.base.machine import Machine, memory_available_bytes, require_linux
from simulator.calibration.kernels.sized import WORD_BYTES

ALPHAS = (0.001, 0.01, 0.1, 0.25, 0.5, 1.0)
LENGTHS = (1, 4, 16, 64, 256, 1024, 4096)
MEMORY_SHARE = 0.25
"""Share of the memory available that the largest M takes by default."""
FIRST_WORDS = 2**10
"""Smallest M: 8 KiB, within any first-level cache."""
MOST_PASSES = 60

_STRETCHES = 2**13
_MOST_READ = 2**18
"""Words read on one visit, unless the fewest stretches are more."""
_FEWEST = 64


@dataclass(frozen=True)
class Cell:
    """One setting of Apex-MAP."""

    m_words: int
    alpha: float
    length: int
    """L in words."""

    @property
    def stretches(self) -> int:
        """Starts drawn for one visit: at most 64 KiB of them, each read once, in a row.

        Such a stream takes one cache line for every eight stretches, that is, for at least as many lines of the words.
        """
        return max(_FEWEST, min(_STRETCHES, _MOST_READ // self.length))

    @property
    def repeats(self) -> int:
        """How often the same starts are read in a row: only where they already cover all of M."""
        return 8 if self.m_words <= self.stretches * self.length <= 4 * _STRETCHES else 1


@dataclass(frozen=True)
class SweepPlan:
    """A whole sweep."""

    m_words: tuple[int, ...]
    cpu: int
    seed: int = 0
    alphas: tuple[float, ...] = ALPHAS
    lengths: tuple[int, ...] = LENGTHS

    @property
    def cells(self) -> tuple[Cell, ...]:
        """Every M with every alpha and every L that fits into it."""
        return tuple(
            Cell(m, alpha, length)
            for m in self.m_words
            for alpha in self.alphas
            for length in self.lengths
            if length <= m
        )

    @property
    def subject(self) -> dict[str, object]:
        """What must be the same for measurements to stand side by side, as plain data."""
        return {
            "M": f"{self.m_words[0]} to {self.m_words[-1]} words",
            "alpha": list(self.alphas),
            "L": list(self.lengths),
            "cpu": self.cpu,
            "seed": self.seed,
        }


def make_sweep(
    machine: Machine,
    *,
    max_memory: str | None = None,
    cpu: int | None = None,
    seed: int = 0,
) -> SweepPlan:
    """A sweep with M doubled from 8 KiB up to `max_memory`, in powers of two.

    `max_memory` is a size such as `2GiB` or a share of the memory available, by default a quarter; `cpu` by default the
    last core, so that the first one is left to others.
    """
    require_linux()
    available = memory_available_bytes()
    most = _memory_bytes(max_memory, available)
    faults = [
        *_memory_faults(most, available),
        *_cpu_faults(machine, cpu),
    ]
    if faults:
        raise ScenarioError(faults)
    largest = int(math.log2(most / WORD_BYTES))
    words = tuple(2**k for k in range(int(math.log2(FIRST_WORDS)), largest + 1))
    return SweepPlan(words, machine.cores[-1].cpu if cpu is None else cpu, seed)


def _memory_faults(most: float, available: int) -> list[str]:
    least = 4 * FIRST_WORDS * WORD_BYTES
    if least <= most <= available:
        return []
    bounds = f"{units.show_size(least)} to the {units.show_size(available)} available"
    return [f"--max-memory is {units.show_size(most)}; give {bounds}"]


def _cpu_faults(machine: Machine, cpu: int | None) -> list[str]:
    allowed = sorted({number for core in machine.cores for number in (core.cpu, *core.siblings)})
    if cpu is None or cpu in allowed:
        return []
    return [f"--cpu is {cpu}; name one of {', '.join(map(str, allowed))}"]


def _memory_bytes(text: str | None, available: int) -> float:
    if text is None:
        return MEMORY_SHARE * available
    if text.endswith("%"):
        return units.parse(text, units.SHARE, field="--max-memory") * available
    return units.parse(text, units.SIZE, field="--max-memory")
