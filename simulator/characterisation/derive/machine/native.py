"""Calling compiled code with counters in this process as Numba calls its functions, and reading the counters."""

import ctypes
import ctypes.util
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

RESULT_BYTES = 4096
"""Room for what a function returns."""


class CodeFailedError(Exception):
    """Code with counters that could not be made, or did not run as the function does."""


def counts_of_intermediate(text: str, symbol: str, counters: int, counts: str) -> "Counted":
    """Compile a module with counters in a global array."""
    module = _parsed(text)
    engine = _engine(module)
    address = engine.get_global_value_address(counts)
    counter_type = ctypes.c_int64 * max(1, counters)
    array = np.ctypeslib.as_array(counter_type.from_address(address))
    return Counted(engine, engine.get_function_address(symbol), array)


def counts_of_assembly(text: str, symbol: str, array: NDArray[np.int64]) -> "Counted":
    """Assemble a text whose counters are the array's elements."""
    engine = assembled(text)
    return Counted(engine, address_of(engine, symbol), array)


def assembled(text: str, *, processor: tuple[str, str] | None = None) -> Any:
    """An engine with an assembly text in memory, for a processor's name and features (by default this one's)."""
    import llvmlite.binding as llvm

    escaped = text.replace("\\", "\\5C").replace('"', "\\22")
    lines = "\n".join(f'module asm "{line}"' for line in escaped.splitlines())
    return _engine(_parsed(f'target triple = "{llvm.get_process_triple()}"\n{lines}\n'), processor)


def address_of(engine: Any, symbol: str) -> int:
    """Where a symbol lies."""
    address = engine.get_function_address(symbol)
    if not address:
        raise CodeFailedError(f"{symbol} not found in the assembled code")
    return int(address)


def add_library_functions(names: Sequence[str]) -> None:
    """Let code be linked to these functions of the C and the mathematical library; others end the process if called.

    One that is missing would leave the addresses of all of them open.
    """
    import llvmlite.binding as llvm

    libraries = [ctypes.CDLL(None), *(ctypes.CDLL(found) for found in [ctypes.util.find_library("m")] if found)]
    for name in names:
        functions = (getattr(library, name, None) for library in libraries)
        function = next((one for one in functions if one is not None), libraries[0].abort)
        llvm.add_symbol(name, ctypes.cast(function, ctypes.c_void_p).value)


def this_processor() -> tuple[str, str]:
    """Name and features, as LLVM calls them, of the processor that Numba compiles for: this one unless it is set."""
    import llvmlite.binding as llvm
    from numba.core import config

    name, features = config.CPU_NAME, config.CPU_FEATURES  # type: ignore[attr-defined]
    here = llvm.get_host_cpu_features().flatten()
    return name or llvm.get_host_cpu_name(), here if features is None else features


class Counted:
    """Code in memory, with its counters."""

    def __init__(self, engine: Any, address: int, array: NDArray[np.int64]) -> None:
        self._engine, self._address, self._array = engine, address, array

    def run(self, arguments: Sequence[Any]) -> list[int]:
        """Entries of each block in one call."""
        self._array[:] = 0
        call_native(self._address, arguments)
        return [int(count) for count in self._array]


def call_native(address: int, arguments: Sequence[Any]) -> None:
    """Call a function as Numba calls its own: place of the result, place of an exception, arguments in pieces."""
    types: list[Any] = []
    values: list[Any] = []
    for argument in arguments:
        for kind, value in _pieces(argument):
            types.append(kind)
            values.append(value)
    prototype: Callable[..., Any] = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, *types)
    result, failure = ctypes.create_string_buffer(RESULT_BYTES), ctypes.c_void_p()
    status = prototype(address)(ctypes.addressof(result), ctypes.addressof(failure), *values)
    if status not in {0, -2}:  # -2: it returned None
        raise CodeFailedError(f"the code with counters ended with status {status}")


def switch(engine: Any, symbol: str) -> None:
    """Call a function without arguments and result."""
    ctypes.CFUNCTYPE(None)(address_of(engine, symbol))()


def _pieces(argument: Any) -> list[tuple[Any, Any]]:
    """C types and values that one argument becomes."""
    if isinstance(argument, np.ndarray):
        whole = [argument.size, argument.itemsize, argument.ctypes.data, *argument.shape, *argument.strides]
        types = [ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p, *[ctypes.c_int64] * (2 * argument.ndim)]
        owner = [(ctypes.c_void_p, None)] * 2
        return [*owner, *zip(types, whole, strict=True)]
    if isinstance(argument, bool):
        return [(ctypes.c_int8, int(argument))]
    return [(ctypes.c_int64, argument)] if isinstance(argument, int) else [(ctypes.c_double, float(argument))]


def _parsed(text: str) -> Any:
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    llvm.initialize_native_asmparser()
    try:
        module = llvm.parse_assembly(text)
        module.verify()
    except RuntimeError as error:
        raise CodeFailedError(str(error).splitlines()[0]) from error
    return module


def _engine(module: Any, processor: tuple[str, str] | None = None) -> Any:
    import llvmlite.binding as llvm

    cpu, features = processor or this_processor()
    target = llvm.Target.from_default_triple()
    machine = target.create_target_machine(cpu=cpu, features=features, opt=1, jit=True)
    engine = llvm.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    return engine
