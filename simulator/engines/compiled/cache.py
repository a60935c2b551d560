"""Kernels: functions that Numba compiles for the types that their annotations name, when they are first used."""

import threading
from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar, cast, get_type_hints

import numba
import numpy as np
from numba import types
from numpy.typing import NDArray

from simulator.engines.compiled.place import cache_folder, has_code, on_compile

_TYPES = {
    type(None): types.void,
    int: types.int64,
    float: types.float64,
    bool: types.boolean,
    NDArray[np.int64]: types.int64[::1],
    NDArray[np.int32]: types.int32[::1],
    NDArray[np.int8]: types.int8[::1],
    NDArray[np.bool_]: types.boolean[::1],
    NDArray[np.float64]: types.float64[::1],
}
_OPTIONS = {"nogil": True, "error_model": "numpy", "_nrt": False}
"""Without reference counts, which cost ten times the work: kernels allocate nothing, their arrays come from Python."""
_LOCK = threading.Lock()
_F = TypeVar("_F", bound=Callable[..., Any])


def callee(function: _F) -> _F:
    """A function that kernels call; it is compiled into each of them."""
    options = _OPTIONS | {"forceinline": True, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    return cast("_F", numba.njit(**options)(function))


def subroutine(function: _F) -> _F:
    """A function that kernels call in many places; a copy in each would take long to compile."""
    options = _OPTIONS | {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    return cast("_F", numba.njit(**options)(function))


@cache
def compiled(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel as machine code for the types that its annotations name, from the cache or compiled now."""
    hints = get_type_hints(kernel)
    returned = hints.pop("return")
    signature = numba_type(returned)(*(numba_type(hint) for hint in hints.values()))
    with _LOCK:
        folder = cache_folder()
        if not has_code(kernel.__name__):
            for tell in on_compile:
                tell(kernel.__name__)
        before = numba.config.CACHE_DIR
        numba.config.CACHE_DIR = "" if folder is None else str(folder)
        try:
            return numba.njit(signature, cache=folder is not None, **_OPTIONS)(kernel)
        finally:
            numba.config.CACHE_DIR = before


def numba_type(hint: Any) -> Any:
    """The type of an annotation: a number, an array, or a named tuple of them."""
    if hint in _TYPES:
        return _TYPES[hint]
    parts = [numba_type(part) for part in get_type_hints(hint).values()]
    alike = all(part == parts[0] for part in parts)
    return types.NamedUniTuple(parts[0], len(parts), hint) if alike else types.NamedTuple(parts, hint)
