"""A real process that runs Apex-MAP: `python -m simulator.calibration.apex.reader PARENT CPU RANK RANKS WORDS FD`.

It owns an equal block of a global address space of M words, for every M up to WORDS, and reads all of it: in a segment
that the ranks share under the file descriptor FD, or, alone, in memory of its own (FD -1). It reads one JSON command
per line on standard input and answers each with one JSON line on standard output.
"""

import json
import mmap
import os
import sys
import time
from typing import Any

import numpy as np

from simulator.base.randomness import stream
from simulator.calibration.bench import lifeline
from simulator.calibration.bench.usage import Usage
from simulator.calibration.kernels import apexmap as access
from simulator.calibration.kernels.sized import WORD_BYTES

_BLOCK = 1024
"""Starts drawn at once: temporary arrays stay small, so that they push little out of caches."""
_WARM_SHARE = 0.25
"""Stretches read before the clock starts, as a share of those timed."""
_CALLS = 200
_FACTOR = 2.0
"""Sums of whole numbers and of twice as much are exact in any order."""


class MemoryReader:
    """The words, as this process sees them, and the starts of the visit that is prepared.

    Alone, memory of M words is the first M. The ranks share memory of their own for each M, a power of two: the words
    from M to 2 M - 1, so that every rank owns and touches first an equal block of each.
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

    def obey(self, command: dict[str, Any]) -> dict[str, Any]:
        """Carry out one command of the driver."""
        match command["do"]:
            case "wait":
                return {}
            case "draw":
                return self._draw(**command["cell"], stretches=command["stretches"], key=command["key"])
            case "sweep":
                return self._sweep(command["m_words"], times=command["times"])
            case "read":
                return self._visit(command["length"], repeats=command["repeats"], warm_words=command["warm_words"])
        raise ValueError(command["do"])

    def _draw(self, *, m_words: int, alpha: float, length: int, stretches: int, key: list[int]) -> dict[str, Any]:
        """Draw the starts of a visit, those for warming up too."""
        generator = stream(key[0], "apexmap", *key[1:])
        warm = max(1, int(_WARM_SHARE * stretches))
        at = np.empty(warm + stretches, dtype=np.int64)
        for first in range(0, at.size, _BLOCK):
            uniform = generator.random(min(_BLOCK, at.size - first))
            at[first : first + uniform.size] = access.place_starts(uniform, m_words, length, alpha)
        self._warm, self._starts, self._words = at[:warm], at[warm:], self._memory(m_words)
        return {}

    def _visit(self, length: int, *, repeats: int, warm_words: int) -> dict[str, Any]:
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

    def _sweep(self, m_words: int, *, times: int) -> dict[str, Any]:
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


def main() -> None:
    """Serve the driver until it closes standard input."""
    parent, cpu, rank, ranks, words, shared = map(int, sys.argv[1:])
    lifeline.die_with_parent(parent)
    os.sched_setaffinity(0, {cpu})
    served = MemoryReader(words, rank=rank, ranks=ranks, shared=shared)
    for line in sys.stdin:
        sys.stdout.write(json.dumps(served.obey(json.loads(line))) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
