"""Apex-MAP: words read in stretches from starts drawn with locality; the compiled loops, and a kernel of one parameter.

Words have sums that are known, and starts are drawn beforehand. They do not depend on what is read, so that the
processor may have several accesses under way: the latency seen is that of independent accesses. The words of a stretch
are added one by one, in order, as a C compiler leaves that loop: time grows by the same for every further word, and
never falls below that of an addition. The size of the kernel is its n words and one start per stretch, its volume the
words read, L per start (apex-map-memory-models, section 2).
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simulator.calibration.kernels.sized import Prepared, SizedKernel, compiled

Starts = NDArray[np.int64]
Words = NDArray[np.float64]
Reader = Callable[[Words, Starts, int], float]

LENGTH = 16
"""L of the kernel: words read from each start (at most n)."""
ALPHA = 0.25
"""Its temporal locality: 1 draws starts evenly, towards 0 they crowd at the beginning."""
_GOLDEN = 0.6180339887498949
PERIOD = 13
"""Word k holds k modulo this."""
_TILE = np.tile(np.arange(PERIOD, dtype=np.float64), 4096)


def place_starts(uniform: NDArray[np.floating[Any]], words: int, length: int, alpha: float) -> Starts:
    """Starts `floor((M-L+1) * u^(1/alpha))` (apex-map-memory-models; EQUATIONS section 5); shape of `uniform`."""
    return np.asarray(np.floor((words - length + 1) * uniform ** (1 / alpha)), dtype=np.int64)


def fill(words: Words, *, first: int = 0) -> None:
    """Make word k of the array `(first + k)` modulo 13; every page is touched."""
    for at in range(0, words.size, _TILE.size - PERIOD):
        piece = words[at : at + _TILE.size - PERIOD]
        shift = (first + at) % PERIOD
        piece[:] = _TILE[shift : shift + piece.size]


def expected_sum(starts: Starts, length: int) -> float:
    """What reading these stretches of filled words adds up to, exactly."""
    return float(np.sum(_sum_before(starts + length) - _sum_before(starts)))


def _sum_before(k: Starts) -> Starts:
    """Sum of the words before word k."""
    whole, rest = np.divmod(k, PERIOD)
    return np.asarray(whole * (PERIOD * (PERIOD - 1) // 2) + rest * (rest - 1) // 2)


def reader() -> Reader:
    """The compiled loop `read(words, starts, length) -> sum`, made at the first call in a process.

    The sum is returned, so that no read can be left out, and no start is known when the loop is compiled.
    """
    read: Reader = compiled(_read, "float64(float64[::1], int64[::1], int64)")
    return read


def sweepers() -> tuple[Callable[[Words, int], float], Callable[[Words, int, float], None]]:
    """Vector loops over all words, again and again: `read(words, times) -> sum`, and `scale(words, times, factor)`.

    The second one writes the first half of the words times a factor to the second half: nearly all stores go with
    loads, and alone they take longer than there. Additions go in any order, so that the compiler makes vectors of them.
    """
    read = compiled(_read_all, "float64(float64[::1], int64)", fastmath=True)
    return read, compiled(_scale_half, "void(float64[::1], int64, float64)")


def _read_all(words: Words, times: int) -> float:
    total = 0.0
    for _ in range(times):
        part = 0.0
        for k in range(words.size):
            part += words[k]
        total += part
    return total


def _scale_half(words: Words, times: int, factor: float) -> None:
    half = words.size // 2
    source, target = words[:half], words[half:]
    for _ in range(times):
        for k in range(half):
            target[k] = factor * source[k]


def _read(words: Words, at: Starts, length: int) -> float:
    total = 0.0
    for start in at:
        for k in range(start, start + length):
            total += words[k]
    return total


def starts(n: int) -> int:
    """How many stretches a run reads: enough for n words."""
    return max(1, n // LENGTH)


def volume(n: int) -> float:
    """Words read."""
    return float(starts(n) * min(LENGTH, n))


def draw_starts(n: int) -> Starts:
    """Starts `floor((n-L+1) * u^(1/alpha))`, with u the golden ratio's multiples modulo 1: the same anywhere."""
    found = np.empty(starts(n), dtype=np.int64)
    for first in range(0, found.size, 2**16):
        k = np.arange(first + 1, min(found.size, first + 2**16) + 1)
        found[first : first + k.size] = place_starts(k * _GOLDEN % 1.0, n, min(LENGTH, n), ALPHA)
    return found


def prepare(n: int) -> Prepared:
    """Words 0 to 12 over and over, the starts, and room for the sum."""
    read = reader()
    words, at, total = np.empty(n), draw_starts(n), np.zeros(1)
    fill(words)

    def run() -> Words:
        total[0] = read(words, at, min(LENGTH, n))
        return total

    return Prepared(run)


KERNEL = SizedKernel(
    "apexmap",
    f"Apex-MAP on n words, L = {LENGTH}, alpha = {ALPHA}",
    lambda n: n + starts(n),
    volume,
    prepare,
)
