"""Kernels: functions that Numba compiles for the types that their annotations name, when they are first used."""

import hashlib
import inspect
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeVar, cast, get_type_hints

import numba
import numpy as np
from numba import types
from numba.core import caching, codegen, compiler, serialize, typeinfer
from numba.core.compiler_lock import global_compiler_lock
from numpy.typing import NDArray

from simulator.base import files
from simulator.base.errors import ApportionError
from simulator.engines.compiled.place import cache_folder, on_compile

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
_PARTS = set[str]()
"""Names of functions that kernels call."""
_F = TypeVar("_F", bound=Callable[..., Any])


def callee(function: _F) -> _F:
    """A function that kernels call; it is compiled into each of them."""
    return _part(function, forceinline=True)


def subroutine(function: _F) -> _F:
    """A function that kernels call in many places; a copy in each would take long to compile."""
    return _part(function)


def _part(function: _F, **options: bool) -> _F:
    _PARTS.add(function.__qualname__)
    made: Any = numba.njit(**_OPTIONS, **options, no_cpython_wrapper=True, no_cfunc_wrapper=True)(function)
    if made is not function:  # NUMBA_DISABLE_JIT; constants as arguments would each have a copy compiled for them
        template = made.get_call_template
        made.get_call_template = lambda args, kws: template([types.unliteral(arg) for arg in args], kws)
    return cast("_F", made)


class _Library(codegen.JITCodeLibrary):
    """A function's code. Parts are linked, optimised and become machine code once, with the kernel that calls them."""

    @property
    def codegen(self) -> Any:
        """What makes machine code; a part has none, and no place there for its environment."""
        return SimpleNamespace(set_env=lambda *_: None) if self.name in _PARTS else self._codegen

    def finalize(self) -> None:
        """A kernel links all parts that its parts call; a part stays as it is."""
        if self.name in _PARTS:
            self._finalized = True
            return
        self._linking_libraries = _all_called(self._linking_libraries)
        super().finalize()

    def get_pointer_to_function(self, name: str) -> int:
        """Where machine code lies; a part has none that Python could call."""
        return 0 if self.name in _PARTS else int(super().get_pointer_to_function(name))


def _all_called(libraries: list[Any]) -> list[Any]:
    """Libraries and those that they call, each once."""
    found = dict.fromkeys(libraries)
    for library in libraries:
        found |= dict.fromkeys(_all_called(library._linking_libraries))  # noqa: SLF001 - it has no other door
    return list(found)


@cache
def compiled(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel as machine code for the types that its annotations name, from the cache or compiled now."""
    hints = get_type_hints(kernel)
    returned = hints.pop("return")
    signature = numba_type(returned)(*(numba_type(hint) for hint in hints.values()))
    with _LOCK:
        made = numba.njit(**_OPTIONS)(kernel)
        if made is kernel:  # NUMBA_DISABLE_JIT
            return kernel
        made._cache = _Kept(kernel, cache_folder())  # noqa: SLF001 - Numba's own takes a damaged file for a whole one
        makes = made.targetctx.codegen()
        with global_compiler_lock, typeinfer.register_dispatcher(made):
            before, makes._library_class = makes._library_class, _Library  # noqa: SLF001 - it has no other door
            try:
                made.compile(signature)
            finally:
                makes._library_class = before  # noqa: SLF001
        made.disable_compile()
        return cast("Callable[..., Any]", made)


class _Kept(caching.NullCache):
    """A kernel's machine code on disk, as its dispatcher asks for it before it compiles and hands it in afterwards.

    One file for each kernel and signature, sealed by a hash of its name and content, and replaced as a whole. What is
    cut, damaged, copied from another file or cannot be read is no code: it is compiled, and the file is written again.
    What cannot be written is not kept.
    """

    def __init__(self, kernel: Callable[..., Any], folder: Path | None) -> None:
        self._kernel = kernel
        self._folder = folder

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The code for a signature; None, and the user is told, if it is to be compiled."""
        target_context.refresh()
        payload = self._whole(self._path(sig, target_context.codegen()))
        if payload is None:
            for tell in on_compile:
                tell(self._kernel.__name__)
            return None
        return compiler.CompileResult._rebuild(target_context, *serialize.loads(payload))  # noqa: SLF001 - sealed, ours

    def save_overload(self, sig: Any, cres: Any) -> None:
        """Keep what was compiled, unless it holds addresses of this process or there is no place for it."""
        path = self._path(sig, cres.library.codegen)
        if path is None or cres.lifted or cres.library.has_dynamic_globals:
            return
        payload = serialize.dumps(cres._reduce())  # noqa: SLF001 - as Numba's own cache does
        with suppress(ApportionError):
            files.write_bytes(path, _seal(path, payload) + payload, synced=False)

    def _path(self, signature: Any, codegen: Any) -> Path | None:
        """Where the code lies for a signature and a processor, of a kernel whose source is this one."""
        if self._folder is None:
            return None
        source = Path(inspect.getfile(self._kernel))
        told = (str(signature), codegen.magic_tuple(), files.digest(files.read_bytes(source)))
        name = f"{source.stem}.{self._kernel.__qualname__}-{self._kernel.__code__.co_firstlineno}"
        return self._folder / f"{name}.{hashlib.sha256(repr(told).encode()).hexdigest()[:16]}.nbc"

    @staticmethod
    def _whole(path: Path | None) -> bytes | None:
        """What lies behind the seal of a file; None if there is no file, or not as it was written."""
        if path is None or not path.exists():
            return None
        with suppress(ApportionError):
            sealed = files.read_bytes(path)
            seal, payload = sealed[: hashlib.sha256().digest_size], sealed[hashlib.sha256().digest_size :]
            return payload if _seal(path, payload) == seal else None
        return None


def _seal(path: Path, payload: bytes) -> bytes:
    """A hash of the code and of its place: a file copied over another, or from another cache, is no code."""
    return hashlib.sha256(f"{path.parent.name}/{path.name}\0".encode() + payload).digest()


def numba_type(hint: Any) -> Any:
    """The type of an annotation: a number, an array, or a named tuple of them."""
    if hint in _TYPES:
        return _TYPES[hint]
    parts = [numba_type(part) for part in get_type_hints(hint).values()]
    alike = all(part == parts[0] for part in parts)
    return types.NamedUniTuple(parts[0], len(parts), hint) if alike else types.NamedTuple(parts, hint)
