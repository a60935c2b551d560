"""One MPI rank that runs Apex-MAP by one-sided reads: `python -m simulator.calibration.apex.mpi_reader WORDS CPUS`.

Rank 0 reads one JSON command per line on standard input, hands it to all, and answers with one JSON line. Every rank
owns an equal block of M words, for each M a power of two up to WORDS, and gets stretches from the rank that owns them,
its own from its own memory.
"""

import json
import os
import sys
import time
from typing import Any

import numpy as np
from mpi4py import MPI

from simulator.base.randomness import stream
from simulator.calibration.apex.plan import Cell, block_of, room_for
from simulator.calibration.kernels import apexmap as access
from simulator.calibration.kernels.sized import WORD_BYTES

Piece = tuple[int, int, int, int]
"""Owner, place in its window, place in our buffer, words."""
_WARM = 16
"""Pieces got before the clock starts."""


class OneSided:
    """The window of a rank and the stretches that it reads."""

    def __init__(self, words: int) -> None:
        self._world = MPI.COMM_WORLD
        self._rank, self._ranks = self._world.Get_rank(), self._world.Get_size()
        room = room_for(words, self._ranks)
        self._window = MPI.Win.Allocate(room * WORD_BYTES, WORD_BYTES, comm=self._world)
        self._own: access.Words = np.frombuffer(self._window.tomemory(), dtype=np.float64)
        m_words = words
        while m_words:
            first, count, place = block_of(m_words, self._rank, self._ranks)
            access.fill(self._own[place : place + count], first=first)
            m_words //= 2
        self._window.Lock_all()
        self._world.Barrier()

    def visit(self, cell: Cell, stretches: int, key: list[int]) -> float:
        """Wall seconds per word of reading new stretches, all ranks at the same time; the sum is checked.

        Each access is waited for with all others, at the end; what a call costs from Python is part of the time.
        """
        generator = stream(key[0], "apexmap", *key[1:], self._rank)
        at = access.place_starts(generator.random(stretches), cell.m_words, cell.length, cell.alpha)
        into: access.Words = np.zeros(stretches * cell.length)
        pieces = [piece for k, start in enumerate(at.tolist()) for piece in self._pieces(cell, start, k * cell.length)]
        self._world.Barrier()
        self._get(pieces[:_WARM], into)
        self._world.Barrier()
        begin = time.perf_counter()
        self._get(pieces, into)
        spent_s = time.perf_counter() - begin
        if into.sum() != access.expected_sum(at, cell.length):
            raise ValueError("a sum of words is wrong")
        return spent_s / into.size

    def _get(self, pieces: list[Piece], into: access.Words) -> None:
        for owner, place, to, count in pieces:
            if owner == self._rank:
                into[to : to + count] = self._own[place : place + count]
            else:
                self._window.Get([into[to : to + count], MPI.DOUBLE], owner, [place, count, MPI.DOUBLE])
        self._window.Flush_all()

    def _pieces(self, cell: Cell, start: int, to: int) -> list[Piece]:
        """A stretch by owner."""
        found: list[Piece] = []
        left = cell.length
        while left:
            owner = ((start + 1) * self._ranks - 1) // cell.m_words
            first, size, place = block_of(cell.m_words, owner, self._ranks)
            count = min(left, first + size - start)
            found.append((owner, place + start - first, to, count))
            start, to, left = start + count, to + count, left - count
        return found

    def serve(self) -> None:
        """Carry out commands until the driver closes standard input."""
        while (command := self._next()) is not None:
            if command["do"] == "wait":
                answer: dict[str, Any] = {}
            else:
                word_s = self.visit(Cell(**command["cell"]), command["stretches"], command["key"])
                all_s = np.zeros(self._ranks)
                self._world.Gather(np.array([word_s]), all_s if self._rank == 0 else None)
                answer = {"word_s": all_s.tolist()}
            if self._rank == 0:
                sys.stdout.write(json.dumps(answer) + "\n")
                sys.stdout.flush()
        self._window.Unlock_all()
        self._window.Free()

    def _next(self) -> dict[str, Any] | None:
        """The next command, handed from rank 0 to all."""
        line = sys.stdin.readline().encode() if self._rank == 0 else b""
        size = np.array([len(line)])
        self._world.Bcast(size)
        text = np.frombuffer(line, dtype=np.uint8).copy() if self._rank == 0 else np.empty(size[0], dtype=np.uint8)
        self._world.Bcast(text)
        found: dict[str, Any] | None = json.loads(text.tobytes()) if size[0] else None
        return found


def main() -> None:
    """Pin this rank and serve."""
    cpus = [int(cpu) for cpu in sys.argv[2].split(",")]
    os.sched_setaffinity(0, {cpus[MPI.COMM_WORLD.Get_rank()]})
    OneSided(int(sys.argv[1])).serve()


if __name__ == "__main__":
    main()
