"""The jobs of a process that runs Apex-MAP: in memory of its own, in a segment shared with others, or over MPI."""

import atexit
import mmap
import time
from typing import Any

import numpy as np

from simulator.base.randomness import stream
from simulator.calibration.bench.usage import Usage
from simulator.calibration.bench.worker import Jobs
from simulator.calibration.kernels import apexmap as access
from simulator.calibration.kernels.sized import WORD_BYTES

_BLOCK = 1024
"""Starts drawn at once: temporary arrays stay small, so that they push little out of caches."""
_WARM_SHARE = 0.25
"""Stretches read before the clock starts, as a share of those timed."""
_CALLS = 200
_MPI_WARM = 16
"""Pieces got by MPI before the clock starts."""
_FACTOR = 2.0
"""Sums of whole numbers and of twice as much are exact in any order."""

Piece = tuple[int, int, int, int]
"""Owner, place in its window, place in our buffer, words."""


class MemoryReader:
    """The words, as this process sees them, and the starts of the visit that is prepared.

    Alone, memory of M words is the first M. The ranks share memory of their own for each M, a power of two: the words
    from M to 2 M - 1, so that every rank owns and touches first an equal block of each.

    Parameters
    ----------
    words
        The largest M.
    shared
        File descriptor of the segment; below 0 for a process alone.
    """

    def __init__(self, words: int, *, rank: int, ranks: int, shared: int) -> None:
        size = words * WORD_BYTES * (2 if shared >= 0 else 1)
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
        memory = mmap.mmap(shared, size) if shared >= 0 else mmap.mmap(-1, size, flags=flags)
        if hasattr(mmap, "MADV_HUGEPAGE"):  # as NumPy asks for its own large arrays
            memory.madvise(mmap.MADV_HUGEPAGE)
        self._all: access.Words = np.frombuffer(memory, dtype=np.float64)
        self._alone = shared < 0
        m_words = words
        while m_words:
            first, last = rank * m_words // ranks, (rank + 1) * m_words // ranks
            access.fill(self._memory(m_words)[first:last], first=first)
            m_words = 0 if self._alone else m_words // 2
        self._words = self._memory(1)
        self._read = access.reader()
        self._starts = np.zeros(0, dtype=np.int64)
        self._warm = self._starts
        self._calls_s: dict[int, float] = {}

    def _memory(self, m_words: int) -> access.Words:
        """The memory of M words."""
        return self._all[:m_words] if self._alone else self._all[m_words : 2 * m_words]

    def draw(self, cell: dict[str, Any], stretches: int, key: list[int]) -> dict[str, Any]:
        """Draw the starts of a visit, those for warming up too."""
        m_words, alpha, length = cell["m_words"], cell["alpha"], cell["length"]
        generator = stream(key[0], "apexmap", *key[1:])
        warm = max(1, int(_WARM_SHARE * stretches))
        at = np.empty(warm + stretches, dtype=np.int64)
        for first in range(0, at.size, _BLOCK):
            uniform = generator.random(min(_BLOCK, at.size - first))
            at[first : first + uniform.size] = access.place_starts(uniform, m_words, length, alpha)
        self._warm, self._starts, self._words = at[:warm], at[warm:], self._memory(m_words)
        return {}

    def read(self, length: int, repeats: int, warm_words: int) -> dict[str, Any]:
        """Bring caches to their steady state, then read what was drawn; the sum is checked.

        The words most likely asked for, the first, are read last before the warm-up, from the end to the beginning.
        """
        for end in range(warm_words, 0, -(2**15)):
            self._words[max(0, end - 2**15) : end].sum()
        calls_s = self._cost_of_calls(repeats)
        self._read(self._words, self._warm, length)
        before, wall = Usage.now(), time.perf_counter()
        cpu_s, total = self._timed(self._starts, length, repeats)
        wall_s, used = time.perf_counter() - wall, Usage.now() - before
        if total != access.expected_sum(self._starts, length):
            raise ValueError(f"a sum of {total:g} words is wrong")
        count = repeats * self._starts.size * length
        spent_s = max(cpu_s - calls_s, 0.1 * cpu_s)
        return {"word_s": spent_s / count, "wall_word_s": wall_s / count, "switches": used.involuntary_switches}

    def sweep(self, m_words: int, times: int) -> dict[str, Any]:
        """Read M words from end to end, then write half of them from the other half; sums are checked.

        Each is done so often, after once that is not timed. What Apex-MAP reads is not there any more afterwards.

        Returns
        -------
        dict
            Seconds of a word that is read, and of a pair of words, one read and one written.
        """
        words, (read, scale) = self._all[:m_words], access.sweepers()
        expected = read(words, 1)
        begin = time.process_time()
        total = read(words, times)
        read_s = time.process_time() - begin
        half = read(words[: m_words // 2], 1)
        scale(words, 1, _FACTOR)
        begin = time.process_time()
        scale(words, times, _FACTOR)
        pair_s = time.process_time() - begin
        if total != times * expected or read(words, 1) != (1 + _FACTOR) * half:
            raise ValueError(f"a sum of {m_words} words is wrong")
        access.fill(words)
        return {"read_s": read_s / (m_words * times), "pair_s": pair_s / (m_words // 2 * times)}

    def _timed(self, at: access.Starts, length: int, repeats: int) -> tuple[float, float]:
        """CPU seconds of reading stretches `repeats` times, and the last sum."""
        total, begin = 0.0, time.process_time()
        for _ in range(repeats):
            total = self._read(self._words, at, length)
        return time.process_time() - begin, total

    def _cost_of_calls(self, repeats: int) -> float:
        """CPU seconds of the clock and of starting the loop `repeats` times with nothing to read."""
        if repeats not in self._calls_s:
            nothing = self._starts[:0]
            cost = [self._timed(nothing, 1, repeats)[0] for _ in range(_CALLS)]
            self._calls_s[repeats] = float(np.median(cost))
        return self._calls_s[repeats]


class OneSided:
    """The window of an MPI rank and the stretches that it reads by one-sided reads.

    Every rank owns an equal block of M words, for each M a power of two, and gets stretches from the rank that owns
    them, its own from its own memory.

    Parameters
    ----------
    mpi
        The module `mpi4py.MPI`.
    words
        The largest M.
    """

    def __init__(self, mpi: Any, words: int) -> None:
        self._world, self._double = mpi.COMM_WORLD, mpi.DOUBLE
        self._rank, self._ranks = self._world.Get_rank(), self._world.Get_size()
        room = room_for(words, self._ranks)
        self._window = mpi.Win.Allocate(room * WORD_BYTES, WORD_BYTES, comm=self._world)
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
        self._m_words, self._length = cell["m_words"], cell["length"]
        uniform = stream(key[0], "apexmap", *key[1:]).random(stretches)
        self._starts = access.place_starts(uniform, self._m_words, self._length, cell["alpha"])
        self._into = np.zeros(stretches * self._length)
        self._pieces = [
            piece for k, start in enumerate(self._starts.tolist()) for piece in self._split(start, k * self._length)
        ]
        return {}

    def read(self, **_how: int) -> dict[str, Any]:
        """Wall seconds per word of reading what was drawn, all ranks at the same time; the sum is checked.

        Each access is waited for with all others, at the end; what a call costs from Python is part of the time.
        """
        self._world.Barrier()
        self._get(self._pieces[:_MPI_WARM])
        self._world.Barrier()
        begin = time.perf_counter()
        self._get(self._pieces)
        spent_s = time.perf_counter() - begin
        if self._into.sum() != access.expected_sum(self._starts, self._length):
            raise ValueError("a sum of words is wrong")
        return {"word_s": spent_s / self._into.size, "switches": 0}

    def _get(self, pieces: list[Piece]) -> None:
        into = self._into
        for owner, place, to, count in pieces:
            if owner == self._rank:
                into[to : to + count] = self._own[place : place + count]
            else:
                self._window.Get([into[to : to + count], self._double], owner, [place, count, self._double])
        self._window.Flush_all()

    def _split(self, start: int, to: int) -> list[Piece]:
        """A stretch by owner."""
        found: list[Piece] = []
        left = self._length
        while left:
            owner = ((start + 1) * self._ranks - 1) // self._m_words
            first, size, place = block_of(self._m_words, owner, self._ranks)
            count = min(left, first + size - start)
            found.append((owner, place + start - first, to, count))
            start, to, left = start + count, to + count, left - count
        return found

    def _free(self) -> None:
        self._window.Unlock_all()
        self._window.Free()


def block_of(m_words: int, rank: int, ranks: int) -> tuple[int, int, int]:
    """A rank's block of M words, M a power of two: its first word, how many, and where they lie in the rank's memory.

    Blocks of all M up to the largest lie one after the other.
    """
    first, last = rank * m_words // ranks, (rank + 1) * m_words // ranks
    return first, last - first, m_words // ranks + m_words.bit_length()


def room_for(m_words: int, ranks: int) -> int:
    """Words of memory that a rank needs for its blocks of all M up to the largest."""
    return block_of(2 * m_words, 0, ranks)[2]


def jobs(words: str, rank: str, ranks: str, shared: str) -> Jobs:
    """The jobs of one of so many ranks; with `mpi` in the place of the segment, of an MPI rank."""
    if shared == "mpi":
        from mpi4py import MPI

        one_sided = OneSided(MPI, int(words))
        return {"wait": dict, "draw": one_sided.draw, "read": one_sided.read}
    reader = MemoryReader(int(words), rank=int(rank), ranks=int(ranks), shared=int(shared))
    return {"wait": dict, "draw": reader.draw, "sweep": reader.sweep, "read": reader.read}
