"""A farm on real ranks: each takes the next chunk of units from a pool whenever it is free.

The pool is no process: it is the position in an open file that all ranks share, which the system moves on for one rank
at a time (POSIX 2.9.7, for regular files). A unit is one or more runs of the kernel, all of the same size.
"""

import os
import time
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from simulator.calibration.bench.usage import Usage
from simulator.calibration.kernels.plain import PLAIN, is_right
from simulator.calibration.kernels.table import SIZED_KERNELS
from simulator.calibration.ranks.programs.part import Part, RealProgram, Room, Seat, Stopwatch, Told


class Hand:
    """One rank of a farm."""

    def __init__(self, seat: Seat, room: Room) -> None:
        parameters, kernel = seat.program.parameters, SIZED_KERNELS[seat.program.kernel]
        n = kernel.n_of(parameters["size"])
        self._seat, self._count, self._chunk = seat, int(parameters["units"]), int(parameters.get("chunk", 1))
        self._runs = round(parameters["volume"] / kernel.volume(n))
        self._prepared = room.once("unit", lambda: kernel.prepare(n))
        if not room.once("right", lambda: is_right(kernel.name, n, self._prepared.run())):
            raise ValueError(f"kernel {kernel.name}: what it answers for n = {n} is wrong")
        self._told: Told = {}

    def ready(self) -> None:
        """Put the pool back to the first unit; every rank does so before any begins."""
        os.lseek(self._seat.pool, 0, os.SEEK_SET)

    def run(self) -> Usage:
        """Take chunks until nothing is left."""
        watch, pulls, pull_s, done, places = Stopwatch(), 0, 0.0, 0, 0
        while True:
            before = time.perf_counter()
            first = os.lseek(self._seat.pool, self._chunk, os.SEEK_CUR) - self._chunk
            pull_s += time.perf_counter() - before
            pulls += 1
            if first >= self._count:
                break
            taken = min(self._chunk, self._count - first)
            watch.timed(partial(self._repeat, taken * self._runs))
            done += taken
            places += first
        self._told = {"pulls": pulls, "pull_s": pull_s, "units": done, "places": places}
        return watch.total

    def check(self) -> Told:
        """What it did, for `agree`; its results were compared with plain NumPy's when the rank was made."""
        return self._told

    def _repeat(self, runs: int) -> None:
        for _ in range(runs):
            self._prepared.run()


def part(seat: Seat, room: Room) -> Part:
    """One rank of the farm."""
    return Hand(seat, room)


def fault(kernel_name: str, parameters: Mapping[str, Any]) -> str | None:
    """Why it cannot really run; None if it can."""
    if kernel_name not in PLAIN:
        return f"farm really runs with the kernels {', '.join(sorted(PLAIN))}, not with {kernel_name!r}"
    kernel, size, volume = SIZED_KERNELS[kernel_name], parameters["size"], parameters["volume"]
    n = kernel.n_of(size)
    runs = volume / kernel.volume(n)
    if kernel.size(n) == size and round(runs) >= 1 and abs(runs - round(runs)) <= 1e-6 * runs:
        return None
    nearest = f"the nearest run is n = {n}: `size: {kernel.size(n)}`, `volume: {kernel.volume(n):.17g}` or a multiple"
    return f"a farm's unit of size {size} and volume {volume:g} is no run of {kernel_name}; {nearest}"


def agree(program: RealProgram, told: Sequence[Told]) -> str | None:
    """What is wrong with the chunks that all ranks took together; None if each unit was done once."""
    units, chunk = int(program.parameters["units"]), int(program.parameters.get("chunk", 1))
    done, places = (sum(one[name] for one in told) for name in ("units", "places"))
    if (done, places) == (units, sum(range(0, units, chunk))):
        return None
    return f"the farm has {units} units, of which the ranks did {done:.0f}"
