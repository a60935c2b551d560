"""Apex-MAP: n words, read in stretches of L from starts drawn with locality alpha; as many words read as there are.

Size: the n words and one start per stretch. Volume: words read, L per start (apex-map-memory-models, section 2).
"""

import numpy as np

from simulator.calibration.kernels.apex_access import Starts, Words, fill, place_starts, reader
from simulator.calibration.kernels.sized import Prepared, SizedKernel

LENGTH = 16
"""L: words read from each start (at most n)."""
ALPHA = 0.25
"""Temporal locality: 1 draws starts evenly, towards 0 they crowd at the beginning."""
_GOLDEN = 0.6180339887498949


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
