"""The jobs of an MPI rank that runs Apex-MAP by one-sided reads.

Every rank owns an equal block of M words, for each M a power of two, and gets stretches from the rank that owns them,
its own from its own memory.
"""

import atexit
import time
from typing import Any

import numpy as np
from mpi4py import MPI

from simulator.base.randomness import stream
from simulator.calibration.apex.plan import Cell, block_of, room_for
from simulator.calibration.bench.worker import Jobs
from simulator.calibration.kernels import apex_access as access
from simulator.calibration.kernels.sized import WORD_BYTES

Piece = tuple[int, int, int, int]
"""Owner, place in its window, place in our buffer, words."""
_WARM = 16
"""Pieces got before the clock starts."""


class OneSided:
    """The window of a rank and the stretches that it reads.

    Parameters
    ----------
    words
        The largest M.
    """

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
        atexit.register(self._free)
        self._world.Barrier()

    def draw(self, cell: dict[str, Any], stretches: int, key: list[int]) -> dict[str, Any]:
        """Draw the starts of a visit, and find out who owns what."""
        drawn = self._cell = Cell(**cell)
        uniform = stream(key[0], "apexmap", *key[1:]).random(stretches)
        self._starts = access.place_starts(uniform, drawn.m_words, drawn.length, drawn.alpha)
        self._into = np.zeros(stretches * drawn.length)
        self._pieces = [
            piece for k, start in enumerate(self._starts.tolist()) for piece in self._split(start, k * drawn.length)
        ]
        return {}

    def read(self, **_how: int) -> dict[str, Any]:
        """Wall seconds per word of reading what was drawn, all ranks at the same time; the sum is checked.

        Each access is waited for with all others, at the end; what a call costs from Python is part of the time.
        """
        self._world.Barrier()
        self._get(self._pieces[:_WARM])
        self._world.Barrier()
        begin = time.perf_counter()
        self._get(self._pieces)
        spent_s = time.perf_counter() - begin
        if self._into.sum() != access.expected_sum(self._starts, self._cell.length):
            raise ValueError("a sum of words is wrong")
        return {"word_s": spent_s / self._into.size, "switches": 0}

    def _get(self, pieces: list[Piece]) -> None:
        into = self._into
        for owner, place, to, count in pieces:
            if owner == self._rank:
                into[to : to + count] = self._own[place : place + count]
            else:
                self._window.Get([into[to : to + count], MPI.DOUBLE], owner, [place, count, MPI.DOUBLE])
        self._window.Flush_all()

    def _split(self, start: int, to: int) -> list[Piece]:
        """A stretch by owner."""
        found: list[Piece] = []
        cell, left = self._cell, self._cell.length
        while left:
            owner = ((start + 1) * self._ranks - 1) // cell.m_words
            first, size, place = block_of(cell.m_words, owner, self._ranks)
            count = min(left, first + size - start)
            found.append((owner, place + start - first, to, count))
            start, to, left = start + count, to + count, left - count
        return found

    def _free(self) -> None:
        self._window.Unlock_all()
        self._window.Free()


def jobs(words: str) -> Jobs:
    """The jobs of one rank."""
    reader = OneSided(int(words))
    return {"wait": dict, "draw": reader.draw, "read": reader.read}
