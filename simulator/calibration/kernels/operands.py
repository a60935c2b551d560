"""Operands of matrix kernels: values that any process can make again, so that products can be checked."""

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]


def left(n: int, rows: int, *, first: int = 0) -> Matrix:
    """Rows `first` to `first + rows` of A: entries 1/4 to 5/4, different in every row and column of 11."""
    return _repeated(n, rows, first, period=11, steps=(7, 3))


def right(n: int, rows: int | None = None, *, first: int = 0) -> Matrix:
    """Rows `first` to `first + rows` of B, all of it without `rows`; likewise, of 13."""
    return _repeated(n, n if rows is None else rows, first, period=13, steps=(5, 2))


def _repeated(n: int, rows: int, first: int, *, period: int, steps: tuple[int, int]) -> Matrix:
    """Rows of a matrix whose rows recur: `(row * steps[0] + column * steps[1]) % period / period + 1/4`."""
    row, column = np.ogrid[0 : min(period, rows), 0:n]
    block = (((first + row) * steps[0] + column * steps[1]) % period) / period + 0.25
    return np.asarray(np.resize(block, (rows, n))) if rows > period else np.asarray(block)
