"""BLAS and LAPACK on parts of a matrix, in place: SciPy's own routines, without the copies that its wrappers make.

Matrices are in columns (Fortran order); a part of rows and columns is one with the stride of the whole.
"""

import ctypes
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@cache
def _routine(module: str, name: str) -> Any:
    """A routine's address from the table that SciPy gives Cython code."""
    from scipy.linalg import cython_blas, cython_lapack

    capsule = {"blas": cython_blas, "lapack": cython_lapack}[module].__pyx_capi__[name]
    api = ctypes.pythonapi
    api.PyCapsule_GetName.restype, api.PyCapsule_GetName.argtypes = ctypes.c_char_p, [ctypes.py_object]
    api.PyCapsule_GetPointer.restype = ctypes.c_void_p
    api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    return ctypes.CFUNCTYPE(None)(api.PyCapsule_GetPointer(capsule, api.PyCapsule_GetName(capsule)))


def _call(module: str, name: str, *arguments: "bytes | int | float | NDArray[Any]") -> None:
    """Call a routine: Fortran takes everything by its address."""
    kept: list[Any] = []
    for argument in arguments:
        if isinstance(argument, np.ndarray):
            kept.append(ctypes.c_void_p(argument.ctypes.data))
        elif isinstance(argument, bytes):
            kept.append(ctypes.c_char_p(argument))
        else:
            own = ctypes.c_int(argument) if isinstance(argument, int) else ctypes.c_double(argument)
            kept.append(ctypes.byref(own))
    _routine(module, name)(*kept)


def _stride(part: Floats) -> int:
    """From one column to the next, in elements."""
    if part.strides[0] != part.itemsize or part.dtype != np.float64:
        raise ValueError("columns of float64 needed")
    return max(part.strides[1] // part.itemsize if part.shape[1] > 1 else part.shape[0], 1)


def factor(part: Floats, pivots: NDArray[np.int32]) -> None:
    """LU with partial pivoting in place; `pivots[i]` is the row that row i was swapped with, from 1 on."""
    info = np.zeros(1, dtype=np.int32)
    _call("lapack", "dgetrf", *part.shape, part, _stride(part), pivots, info)
    if info[0] < 0:
        raise ValueError(f"dgetrf: argument {-info[0]}")


def swap_rows(part: Floats, pivots: NDArray[np.int32]) -> None:
    """Swap rows as a factorisation did."""
    _call("lapack", "dlaswp", part.shape[1], part, _stride(part), 1, pivots.size, pivots, 1)


def solve_unit_lower(lower: Floats, right: Floats) -> None:
    """`right = L^-1 right`, with the unit lower triangle of the first argument."""
    m, n = right.shape
    _call("blas", "dtrsm", b"L", b"L", b"N", b"U", m, n, 1.0, lower, _stride(lower), right, _stride(right))


def solve_upper(upper: Floats, right: Floats) -> None:
    """`right = U^-1 right` of a vector, with the upper triangle of the first argument."""
    _call("blas", "dtrsv", b"U", b"N", b"N", right.size, upper, _stride(upper), right, 1)


def subtract_product(left: Floats, right: Floats, whole: Floats) -> None:
    """`whole -= left right`."""
    (m, k), n = left.shape, right.shape[1]
    strides = _stride(left), _stride(right), _stride(whole)
    _call("blas", "dgemm", b"N", b"N", m, n, k, -1.0, left, strides[0], right, strides[1], 1.0, whole, strides[2])
