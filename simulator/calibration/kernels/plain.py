"""What kernels must answer, by plain NumPy: a check of their results that shares no code with them but the operands."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simulator.calibration.kernels import apexmap, fft, operands, stencil, triad

Answer = NDArray[Any]
CLOSE = 1e-9
"""Largest relative difference that rounding explains."""


def is_right(name: str, n: int, found: Answer) -> bool:
    """Whether a kernel's result for n is what plain NumPy finds; `name` is one of `PLAIN`."""
    return bool(np.allclose(found, PLAIN[name](n), rtol=CLOSE, atol=CLOSE))


def averaged(old: Answer) -> Answer:
    """One iteration of the five-point stencil, in a border of constant value."""
    field = np.pad(old, 1, constant_values=stencil.BORDER)
    neighbours = field[:-2, 1:-1] + field[2:, 1:-1] + field[1:-1, :-2] + field[1:-1, 2:]
    return np.asarray(stencil.WEIGHT * (old + neighbours))


def _product(n: int) -> Answer:
    return np.asarray(np.einsum("ik,kj->ij", operands.left(n, n), operands.right(n)))


def _integral(n: int) -> Answer:
    return np.array([np.mean(4 / (1 + ((np.arange(n) + 0.5) / n) ** 2))])


def _words_read(n: int) -> Answer:
    places = apexmap.draw_starts(n)[:, np.newaxis] + np.arange(min(apexmap.LENGTH, n))
    return np.array([np.sum(places % 13)], dtype=np.float64)


PLAIN: dict[str, Callable[[int], Answer]] = {
    "matmul": _product,
    "dgemm": _product,
    "fft": lambda n: np.asarray(np.fft.fft(fft.signal(n))),
    "integration": _integral,
    "triad": lambda n: np.arange(n) + triad.FACTOR * 2.0,
    "apexmap": _words_read,
    "stencil": lambda n: averaged(stencil.start(n, n)),
}
"""Kernel that leaves its operands as they are -> its result for n."""
