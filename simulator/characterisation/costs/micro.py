"""What a micro-benchmark is: a small function that leans on few constructs, and the arguments that it is timed on.

Each does its operations many times in a loop; the loop's own cost is a construct among others, so that the joint
solution takes it off. Operations stand once in a chain, where each waits for the one before, and once apart, where a
processor may overlap or vectorise them: code of neither kind alone says what an operation costs in the other. Results
are returned or left in an argument, and depend on every operation, so that no compiler may drop one.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simulator.characterisation.costs.vectors import MICRO, STREAM
from simulator.models.memory.levels import WORD_BYTES

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Grid = NDArray[np.float64]

VECTOR = 1000
"""Elements of a vector: three of them fit the smallest first-level cache."""
STEPS = 5000
"""Steps of a loop without vectors."""
SIDE = 40
"""Rows and columns of a grid."""


@dataclass(frozen=True)
class Program:
    """A function at one size: what is counted and timed."""

    name: str
    """Sizes of one program share it."""
    function: Callable[..., Any]
    arguments: Callable[[], tuple[Any, ...]]
    overwrites: bool = False
    """Whether a run spoils its arguments for the next one."""
    role: str = MICRO
    n: int = 1
    """Size; words for a stream."""

    @property
    def label(self) -> str:
        """Name and size."""
        if self.role == STREAM:
            return f"read {WORD_BYTES * self.n} bytes"
        return self.name if self.role == MICRO else f"{self.name} {self.n}"


def floats(step: int = 7) -> Floats:
    """Numbers between 1/2 and 3/2, in no order."""
    return np.asarray(0.5 + (np.arange(VECTOR) * step % 997) / 997)


def ints(step: int = 7) -> Ints:
    """Whole numbers from 1 to 997, in no order."""
    return np.asarray(1 + np.arange(VECTOR) * step % 997)


def grid(step: int = 7) -> Grid:
    """A grid of numbers between 1/2 and 3/2."""
    return floats(step)[np.arange(SIDE * SIDE) % VECTOR].reshape(SIDE, SIDE)


def room() -> Floats:
    """A vector for results."""
    return np.zeros(VECTOR)


def int_room() -> Ints:
    """A vector for whole numbers."""
    return np.zeros(VECTOR, dtype=np.int64)
