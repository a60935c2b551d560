"""What a kernel of one parameter is: its problem size, its volume, its memory, and a run that can be repeated."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from simulator.base.errors import ScenarioError, meant

_K = TypeVar("_K")

LARGEST_N = 2**40
"""No parameter is looked for beyond it."""
WORD_BYTES = 8
"""An element is a number of this many bytes: a float64, an int64, or a half of a complex number."""


@dataclass(frozen=True)
class Prepared:
    """A kernel whose operands are allocated, filled and touched."""

    run: Callable[[], NDArray[Any]]
    """Runs once; gives the result, in the operands' own memory."""
    reset: Callable[[], None] | None = None
    """Makes operands that a run overwrote again; never timed. None where a run leaves its operands as they were."""


@dataclass(frozen=True)
class SizedKernel:
    """A kernel with one parameter n."""

    name: str
    meaning: str
    """What it does and what n is, one line."""
    size: Callable[[int], int]
    """Elements stored and processed; strictly increasing in n."""
    volume: Callable[[int], float]
    """Volume of computation of one run; what is counted stands in the kernel's module."""
    prepare: Callable[[int], Prepared]
    memory_bytes: Callable[[int], int] | None = None
    """Bytes of the operands; None where every element of the size is stored."""
    snap: Callable[[int], int] = int
    columns: int | None = None
    """Of its panels, where its parameter is their rows."""
    depth: int | None = None
    """Of the panels that it multiplies, where it adds their product."""
    least: int = 1

    def bytes_of(self, n: int) -> int:
        """Bytes that the operands take."""
        return WORD_BYTES * self.size(n) if self.memory_bytes is None else self.memory_bytes(n)

    def n_of(self, size: float) -> int:
        """The n, at least 1, whose problem size is nearest."""
        below = largest_within(self.size, size)
        found = {self.snap(max(1, below)), self.snap(below + 1)}
        return min(found, key=lambda n: (abs(self.size(n) - size), n))


def named(name: str, kernels: Mapping[str, _K]) -> _K:
    """The one of these kernels that has the name."""
    if name not in kernels:
        raise ScenarioError(f"there is no kernel {name!r}, only {', '.join(sorted(kernels))}{meant(name, kernels)}")
    return kernels[name]


@cache
def compiled(function: Callable[..., Any], signature: str | None = None, *, fastmath: bool = False) -> Any:
    """A plain function compiled by Numba once in a process: for these types, or for those that it is called with."""
    import numba

    return numba.njit(signature, fastmath=fastmath)(function)


def touched(shape: int | tuple[int, ...], dtype: type = np.float64) -> NDArray[Any]:
    """Zeros for results, every page of them there: pages of `np.zeros` are made in the first run, and timed with it."""
    return np.full(shape, 0, dtype=dtype)


def largest_within(measure: Callable[[int], float], limit: float) -> int:
    """The largest n from 1 to `LARGEST_N` with `measure(n) <= limit`, 0 if there is none; `measure` never falls."""
    if measure(1) > limit:
        return 0
    low, high = 1, 2
    while high < LARGEST_N and measure(high) <= limit:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if measure(middle) <= limit else (low, middle)
    return low
