"""The jobs of one of one or two real processes of a parallel kernel: the steps and messages of its template."""

import itertools
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simulator.calibration.bench.worker import Jobs
from simulator.calibration.kernels import operands
from simulator.calibration.kernels.integration import integrate
from simulator.calibration.kernels.matmul import loops
from simulator.calibration.kernels.merge_sort import merge_sort
from simulator.calibration.kernels.sized import compiled
from simulator.calibration.pingpong.ends import Channel, StreamChannel
from simulator.characterisation.parallel.table import keep_part, numbers, shares


@dataclass(frozen=True)
class Body:
    """A process's part, ready to run."""

    run: Callable[[], None]
    right: Callable[[], bool]
    """Whether the last run's result is right."""
    reset: Callable[[], None] = lambda: None
    """Makes spoiled data again, before each run and not timed."""


Maker = Callable[[int, int, Channel | None], Body]
"""Size n, place among the processes, the other process if there is one."""


def integration(n: int, place: int, other: Channel | None) -> Body:
    """Own midpoints, then the sum of both."""
    first, last = _own(n, place, other)
    part, theirs = np.zeros(1), np.zeros(1)
    sums = compiled(integrate)

    def run() -> None:
        theirs[0], part[0] = 0.0, sums(n, first, last)
        if other is not None:
            other.exchange(_bytes(part), _bytes(theirs), 1)
        part[0] += theirs[0]

    return Body(run, lambda: abs(float(part[0]) - np.pi) < 1e-9)


def sort(n: int, place: int, other: Channel | None) -> Body:
    """Own numbers sorted, exchanged for the other's, and the lower or the upper part of both kept."""
    first, last = _own(n, place, other)
    everything = numbers(n)
    own, buffer = np.zeros((2, last - first), dtype=np.int64)
    theirs, kept = np.zeros(n - own.size, dtype=np.int64), np.zeros_like(own)
    sorts, merges = compiled(merge_sort), compiled(keep_part)

    def run() -> None:
        local = buffer if sorts(own, buffer) else own
        if other is None:
            kept[:] = local
            return
        other.exchange(_bytes(local), _bytes(theirs), 1)
        merges(local, theirs, kept, place == 1)

    def reset() -> None:
        own[:] = everything[first:last]

    return Body(run, lambda: bool(np.array_equal(kept, np.sort(everything)[first:last])), reset)


def matmul(n: int, place: int, other: Channel | None) -> Body:
    """Own rows of A by a block of columns of B at a time, which its owner sends to the other."""
    first, last = _own(n, place, other)
    edges = [0, n] if other is None else [0, shares(n, 2)[0], n]
    a = operands.left(n, last - first, first=first)
    right = operands.right(n)
    blocks = [np.ascontiguousarray(right[:, start:end]) for start, end in itertools.pairwise(edges)]
    held = [block if owner == place else np.ones_like(block) for owner, block in enumerate(blocks)]
    found = [np.ones((last - first, block.shape[1])) for block in blocks]
    multiplies = compiled(loops)

    def run() -> None:
        for owner, block in enumerate(held):
            if other is not None:
                (other.send if owner == place else other.receive)(_bytes(block))
            multiplies(a, block, found[owner])

    return Body(run, lambda: bool(np.allclose(np.hstack(found), a @ right, rtol=1e-9)))


def _own(n: int, place: int, other: Channel | None) -> tuple[int, int]:
    """First unit of a process's own, and the one past its last."""
    edges = np.cumsum([0, *shares(n, 1 if other is None else 2)])
    return int(edges[place]), int(edges[place + 1])


def _bytes(values: NDArray[Any]) -> memoryview:
    return values.data.cast("B")


BODIES: dict[str, Maker] = {"integration": integration, "sort": sort, "matmul": matmul}


class Process:
    """One process, and the bodies that it made ready."""

    def __init__(self, place: int, number: int) -> None:
        self._place, self._other = place, StreamChannel(number, number)
        self._bodies: dict[tuple[str, int, int], Body] = {}

    def run(self, kernel: str, n: int, processes: int) -> dict[str, Any]:
        """One run: both begin when both are ready; one clock serves all processes of a machine."""
        other, key = self._other if processes > 1 else None, (kernel, n, processes)
        if key not in self._bodies:
            self._bodies[key] = BODIES[kernel](n, self._place, other)
        body = self._bodies[key]
        body.reset()
        if other is not None:
            other.exchange(memoryview(b"x"), memoryview(bytearray(1)), 1)
        start = time.perf_counter()
        body.run()
        end = time.perf_counter()
        return {"start": start, "end": end, "right": body.right()}


def jobs(place: str, number: str) -> Jobs:
    """The process at a place, with a socket to the other one."""
    return {"run": Process(int(place), int(number)).run}
