"""The jobs of a process that runs Apex-MAP in memory of its own."""

import mmap
import time
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from simulator.base.randomness import stream
from simulator.calibration.bench.usage import Done, Usage
from simulator.calibration.bench.worker import Jobs
from simulator.calibration.kernels import apexmap as access
from simulator.calibration.kernels.sized import WORD_BYTES

_BLOCK = 1024
"""Starts drawn at once: temporary arrays stay small, so that they push little out of caches."""
_WARM_SHARE = 0.25
"""Stretches read before the clock starts, as a share of those timed."""
_CALLS = 200
_FACTOR = 2.0
"""Sums of whole numbers and of twice as much are exact in any order."""


@dataclass(frozen=True)
class Read:
    """What a visit took."""

    word_s: float
    """CPU seconds per word."""
    switches: int
    """How often the process lost its PE."""


@dataclass(frozen=True)
class Swept:
    """What a vector loop takes."""

    read_s: float
    """CPU seconds of a word that is read."""
    pair_s: float
    """Of a pair of words, one read and one written."""


class MemoryReader:
    """The words of the largest M, of which the first are those of a smaller one, and the starts of the next visit."""

    def __init__(self, words: int) -> None:
        memory = mmap.mmap(-1, words * WORD_BYTES, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        if hasattr(mmap, "MADV_HUGEPAGE"):  # as NumPy asks for its own large arrays
            memory.madvise(mmap.MADV_HUGEPAGE)
        self._all: access.Words = np.frombuffer(memory, dtype=np.float64)
        access.fill(self._all)
        self._words = self._all[:1]
        self._read = access.reader()
        self._starts = np.zeros(0, dtype=np.int64)
        self._warm = self._starts
        self._calls_s: dict[int, float] = {}

    def draw(self, cell: Mapping[str, float], stretches: int, key: list[int]) -> Done:
        """Draw the starts of a visit, those for warming up too."""
        m_words, alpha, length = int(cell["m_words"]), cell["alpha"], int(cell["length"])
        generator = stream(key[0], "apexmap", *key[1:])
        warm = max(1, int(_WARM_SHARE * stretches))
        at = np.empty(warm + stretches, dtype=np.int64)
        for first in range(0, at.size, _BLOCK):
            uniform = generator.random(min(_BLOCK, at.size - first))
            at[first : first + uniform.size] = access.place_starts(uniform, m_words, length, alpha)
        self._warm, self._starts, self._words = at[:warm], at[warm:], self._all[:m_words]
        return Done()

    def read(self, length: int, repeats: int, warm_words: int) -> Read:
        """Bring caches to their steady state, then read what was drawn; the sum is checked.

        The words most likely asked for, the first, are read last before the warm-up, from the end to the beginning.
        """
        for end in range(warm_words, 0, -(2**15)):
            self._words[max(0, end - 2**15) : end].sum()
        calls_s = self._cost_of_calls(repeats)
        self._read(self._words, self._warm, length)
        before = Usage.now()
        cpu_s, total = self._timed(self._starts, length, repeats)
        used = Usage.now() - before
        if total != access.expected_sum(self._starts, length):
            raise ValueError(f"a sum of {total:g} words is wrong")
        count = repeats * self._starts.size * length
        spent_s = max(cpu_s - calls_s, 0.1 * cpu_s)
        return Read(spent_s / count, used.involuntary_switches)

    def sweep(self, m_words: int, times: int) -> Swept:
        """Read M words from end to end, then write half of them from the other half; sums are checked.

        Each is done so often, after once that is not timed. What Apex-MAP reads is not there any more afterwards.
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
        return Swept(read_s / (m_words * times), pair_s / (m_words // 2 * times))

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


def jobs(words: str) -> Jobs:
    """The jobs of a process with so many words at most."""
    reader = MemoryReader(int(words))
    return {"wait": Done, "draw": reader.draw, "sweep": reader.sweep, "read": reader.read}
