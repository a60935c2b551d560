"""Blocks of intermediate or machine code, and running the version of the code that counts how often each is entered."""

import ctypes
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

RESULT_BYTES = 4096
"""Room for what a function returns."""
UNFORESEEN = "unforeseen"
"""Operation: the rarer way out of a conditional branch, which the processor may not foresee."""
WRAPPERS = ("_ZN7cpython", "cfunc.", "NRT_", "nrt_")
"""Names of functions that only pass arguments on begin so."""
MATH = (
    "exp",
    "log",
    "pow",
    "sin",
    "cos",
    "tan",
    "atan",
    "asin",
    "acos",
    "sqrt",
    "cbrt",
    "erf",
    "hypot",
    "fmod",
    "gamma",
)
"""Names of the mathematical library's functions begin so, after a prefix that LLVM or Numba may give them."""


class CodeFailedError(Exception):
    """Code with counters that could not be made, or did not run as the function does."""


@dataclass(frozen=True)
class CodeBlock:
    """Instructions that are entered together."""

    uses: Mapping[str, float]
    """Operation -> how often one entry uses it; of machine code also `cycles`, see `assembly.cycles_of`."""
    instructions: int


@dataclass(frozen=True)
class Counting:
    """Code with counters."""

    text: str
    blocks: tuple[CodeBlock, ...]
    outside: tuple[str, ...]
    """Functions called whose own instructions are not in the code."""


@dataclass(frozen=True)
class Code:
    """Blocks of code, how often each was entered in each profiled run, and functions called outside them."""

    blocks: tuple[CodeBlock, ...]
    counts: tuple[tuple[int, ...], ...]
    outside: tuple[str, ...]


def is_math(name: str) -> bool:
    """Whether a function is one of the mathematical library."""
    return name.removeprefix("numba_").removeprefix("npy_").lstrip("_").startswith(MATH)


def with_unforeseen(code: Code) -> Code:
    """The code with how often each conditional branch goes its rarer way, in the largest profiled run.

    The block behind a branch is entered when it falls through: as often as that, or more often if others lead there.
    """
    counts = code.counts[-1]
    blocks = list(code.blocks)
    for number, block in enumerate(blocks[:-1]):
        if block.uses.get("branch") and counts[number]:
            through = min(1.0, counts[number + 1] / counts[number])
            blocks[number] = replace(block, uses={**block.uses, UNFORESEEN: min(through, 1 - through)})
    return replace(code, blocks=tuple(blocks))


def assembled(text: str) -> Any:
    """An engine with an assembly text in memory."""
    import llvmlite.binding as llvm

    escaped = text.replace("\\", "\\5C").replace('"', "\\22")
    lines = "\n".join(f'module asm "{line}"' for line in escaped.splitlines())
    return engine_of(f'target triple = "{llvm.get_process_triple()}"\n{lines}\n')


def engine_of(text: str) -> Any:
    """An engine with an intermediate text in memory, compiled for the processor that Numba compiles for."""
    import llvmlite.binding as llvm
    from numba.core import config

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    llvm.initialize_native_asmparser()
    try:
        module = llvm.parse_assembly(text)
        module.verify()
    except RuntimeError as error:
        raise CodeFailedError(str(error).splitlines()[0]) from error
    name, features = config.CPU_NAME, config.CPU_FEATURES  # type: ignore[attr-defined]
    machine = llvm.Target.from_default_triple().create_target_machine(
        cpu=name or llvm.get_host_cpu_name(),
        features=llvm.get_host_cpu_features().flatten() if features is None else features,
        opt=1,
        jit=True,
    )
    engine = llvm.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    return engine


def call(engine: Any, symbol: str, arguments: Sequence[Any]) -> None:
    """Call a function as Numba calls its own: place of the result, place of an exception, arguments in pieces."""
    address = engine.get_function_address(symbol)
    if not address:
        raise CodeFailedError(f"{symbol} is not in the assembled code")
    pieces = [piece for argument in arguments for piece in _pieces(argument)]
    types = [ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, *(kind for kind, _ in pieces)]
    result, failure = ctypes.create_string_buffer(RESULT_BYTES), ctypes.c_void_p()
    places = ctypes.addressof(result), ctypes.addressof(failure)
    status = ctypes.CFUNCTYPE(*types)(address)(*places, *(value for _, value in pieces))
    if status not in {0, -2}:  # -2: it returned None
        raise CodeFailedError(f"the code with counters ended with status {status}")


def _pieces(argument: Any) -> list[tuple[Any, Any]]:
    """C types and values that one argument becomes."""
    if isinstance(argument, np.ndarray):
        whole = [argument.size, argument.itemsize, argument.ctypes.data, *argument.shape, *argument.strides]
        types = [ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p, *[ctypes.c_int64] * (2 * argument.ndim)]
        return [(ctypes.c_void_p, None)] * 2 + list(zip(types, whole, strict=True))
    if isinstance(argument, bool):
        return [(ctypes.c_int8, int(argument))]
    return [(ctypes.c_int64, argument)] if isinstance(argument, int) else [(ctypes.c_double, float(argument))]
