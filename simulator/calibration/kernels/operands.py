"""Operands of matrix kernels: values that any process can make again, so that products can be checked."""

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]


def left(n: int, rows: int, *, first: int = 0) -> Matrix:
    """Rows `first` to `first + rows` of A: entries 1/4 to 5/4, different in every row and column."""
    row, column = np.ogrid[first : first + rows, 0:n]
    return np.asarray(((row * 7 + column * 3) % 11) / 11 + 0.25)


def right(n: int, rows: int | None = None, *, first: int = 0) -> Matrix:
    """Rows `first` to `first + rows` of B, all of it without `rows`; likewise."""
    row, column = np.ogrid[first : first + (n if rows is None else rows), 0:n]
    return np.asarray(((row * 5 + column * 2) % 13) / 13 + 0.25)
