"""Operands of matrix kernels: values that any process can make again, so that products can be checked."""

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]
_RIGHT_PERIOD = 13
"""After so many rows those of B recur."""


def left(n: int, rows: int, *, first: int = 0) -> Matrix:
    """Rows `first` to `first + rows` of A: entries 1/4 to 5/4, different in every row and column of 11."""
    return _repeated(n, rows, first, period=11, steps=(7, 3))


def right(n: int, rows: int | None = None, *, first: int = 0) -> Matrix:
    """Rows `first` to `first + rows` of B, all of it without `rows`; likewise, of 13."""
    return _repeated(n, n if rows is None else rows, first, period=_RIGHT_PERIOD, steps=(5, 2))


def product_row(n: int, row: int) -> NDArray[np.float64]:
    """A row of A B, without all of B: rows of B recur, so entries of A that meet the same one are added first."""
    entries, distinct = left(n, 1, first=row)[0], min(_RIGHT_PERIOD, n)
    sums = [entries[place::_RIGHT_PERIOD].sum() for place in range(distinct)]
    return np.asarray(np.array(sums) @ right(n, distinct))


def _repeated(n: int, rows: int, first: int, *, period: int, steps: tuple[int, int]) -> Matrix:
    """Rows of a matrix whose rows recur: `(row * steps[0] + column * steps[1]) % period / period + 1/4`."""
    row, column = np.ogrid[0 : min(period, rows), 0:n]
    block = (((first + row) * steps[0] + column * steps[1]) % period) / period + 0.25
    return np.asarray(np.resize(block, (rows, n))) if rows > period else np.asarray(block)
