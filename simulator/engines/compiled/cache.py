"""Compiles the engine's kernels when they are first used, and keeps the result on disk where no stale one can be found.

Numba's own cache looks at one file: it gave wrong answers when a callee in another one was edited. So the folder is
named by a hash of all sources that end up in a kernel, of Numba's version and of the processor.
"""

import hashlib
import os
import platform
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast, get_type_hints

import llvmlite.binding
import numba
import numpy as np
from numba import types
from numpy.typing import NDArray

from simulator import files
from simulator.errors import ScenarioError

on_compile: list[Callable[[str], None]] = []
"""Called with a kernel's name before it is compiled anew, which takes seconds; what is on disk calls nobody."""

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
_SOURCES = ("engines/compiled/*.py", "costs/*.py", "columns.py", "program.py")
"""What kernels are made of, constants included; below `simulator/`."""
_OPTIONS = {"nogil": True, "error_model": "numpy", "_nrt": False}
"""Without reference counts, which cost ten times the work: kernels allocate nothing, their arrays come from Python."""
_LOCK = threading.Lock()
_F = TypeVar("_F", bound=Callable[..., Any])


def callee(function: _F) -> _F:
    """A function that kernels call; it is compiled into each of them."""
    return cast(_F, numba.njit(**_OPTIONS, forceinline=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)(function))


def subroutine(function: _F) -> _F:
    """A function that kernels call in many places; a copy in each would take long to compile."""
    return cast(_F, numba.njit(**_OPTIONS, no_cpython_wrapper=True, no_cfunc_wrapper=True)(function))


@cache
def compiled(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel as machine code for the types that its annotations name, from the cache or compiled now."""
    hints = get_type_hints(kernel)
    returned = hints.pop("return")
    signature = numba_type(returned)(*(numba_type(hint) for hint in hints.values()))
    with _LOCK:
        folder = cache_folder()
        if folder is None or not any(folder.rglob(f"*.{kernel.__name__}-*.nbc")):
            for tell in on_compile:
                tell(kernel.__name__)
        before = numba.config.CACHE_DIR
        numba.config.CACHE_DIR = "" if folder is None else str(folder)
        try:
            return numba.njit(signature, cache=folder is not None, **_OPTIONS)(kernel)  # type: ignore[no-any-return]
        finally:
            numba.config.CACHE_DIR = before


def is_cached(kernel: Callable[..., Any]) -> bool:
    """Whether `compiled` would find the kernel without compiling it."""
    folder = cache_folder()
    return folder is not None and any(folder.rglob(f"*.{kernel.__name__}-*.nbc"))


def numba_type(hint: Any) -> Any:
    """The type of an annotation: a number, an array, or a named tuple of them."""
    if hint in _TYPES:
        return _TYPES[hint]
    parts = [numba_type(part) for part in get_type_hints(hint).values()]
    alike = all(part == parts[0] for part in parts)
    return types.NamedUniTuple(parts[0], len(parts), hint) if alike else types.NamedTuple(parts, hint)


@cache
def cache_folder() -> Path | None:
    """Where this version's machine code for this processor is kept; None if nothing can be written there."""
    base = os.environ.get("XDG_CACHE_HOME") or ""
    root = Path(base) if Path(base).is_absolute() else Path.home() / ".cache"
    folder = root / "apportion" / "compiled" / fingerprint()
    with suppress(OSError, ScenarioError):
        files.make_folder(folder)
        return folder
    return None


def fingerprint() -> str:
    """Hash of all that decides the machine code."""
    found = hashlib.sha256()
    house = Path(__file__).parents[2]
    for pattern in _SOURCES:
        for path in sorted(house.glob(pattern)):
            found.update(path.relative_to(house).as_posix().encode() + b"\0" + files.read_bytes(path) + b"\0")
    processor = llvmlite.binding.get_host_cpu_name(), llvmlite.binding.get_host_cpu_features().flatten()
    versions = numba.__version__, llvmlite.__version__, np.__version__, platform.python_version()
    found.update("\n".join((*processor, *versions)).encode())
    return found.hexdigest()[:32]
