"""The program of the child process: compile the analysed functions, run them counting, write what was found."""

import importlib.util
import platform
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from simulator.base import files
from simulator.characterisation.derive.machine import assembly, intermediate, native
from simulator.characterisation.derive.machine.code import Counting

REQUEST, ANSWER = "request.json", "answer.json"
ASSEMBLY, PROCESSOR = "code.s", "processor.json"
PLAIN, COUNTING = "apportion_plain", "apportion_counting"


def main(folder: Path) -> None:
    """Answer the request in a folder."""
    request = files.read_json(folder / REQUEST)
    sys.path.insert(0, request["beside"])
    files.write_json(folder / ANSWER, _answer(folder, request))


def load(path: Path, *, beside: Path | None = None) -> ModuleType:
    """Import a module from a file, with another folder to import from."""
    if beside is not None and str(beside) not in sys.path:
        sys.path.append(str(beside))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is no module")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def compile_functions(module: ModuleType, names: Sequence[str]) -> None:
    """Put compiled functions in place of a module's plain ones; they are compiled when first called."""
    import numba

    for name in names:
        setattr(module, name, numba.njit(getattr(module, name)))


def signature(arguments: Sequence[Any]) -> tuple[Any, ...]:
    """Numba's types of arguments."""
    import numba

    return tuple(numba.typeof(value) for value in arguments)  # type: ignore[no-untyped-call]


def arguments_of(folder: Path, point: Sequence[Any]) -> tuple[Any, ...]:
    """Arguments as the request holds them: numbers, and names of arrays' files."""
    return tuple(np.load(folder / value) if isinstance(value, str) else value for value in point)


def _answer(folder: Path, request: Mapping[str, Any]) -> dict[str, Any]:
    from numba.core.errors import NumbaError

    try:
        module = load(folder / f"{PLAIN}.py")
        compile_functions(module, request["functions"])
        entry = getattr(module, request["entry"])
        entry.compile(signature(arguments_of(folder, request["points"][0])))
    except NumbaError as error:
        return {"refused": _first_line(error)}
    except (ImportError, AttributeError, NameError, TypeError, ValueError) as error:
        return {"failed": f"{type(error).__name__}: {error}"}
    found = {name: _kinds(getattr(module, name)) for name in request["functions"]}
    plain = {name: value for name, value in vars(module).items() if isinstance(value, int | float | np.ndarray)}
    constants = {name: _kind(kind) for name, kind in zip(plain, signature(list(plain.values())), strict=True)}
    code = {method: _code(method, entry, folder, request) for method in request["wants"]}
    return {"kinds": found, "constants": constants, "counts": _counts(folder, request), "code": code}


def _code(method: str, entry: Any, folder: Path, request: Mapping[str, Any]) -> dict[str, Any]:
    """Blocks of intermediate or machine code, and how often each is entered, by point."""
    try:
        counting, code = _counting_code(method, entry, folder)
        counts = []
        for point in request["points"]:
            arguments = arguments_of(folder, point)
            counts.append(with_limit(request["limit_s"], lambda arguments=arguments: code.run(arguments)))
    except native.CodeFailedError as error:
        return {"failed": str(error)}
    blocks = [block.to_dict() for block in counting.blocks]
    return {"blocks": blocks, "counts": counts, "outside": counting.outside}


def _counting_code(method: str, entry: Any, folder: Path) -> tuple[Counting, native.Counted]:
    types = entry.signatures[0]
    symbol = entry.overloads[types].fndesc.llvm_func_name
    if method == "intcc":
        counting = intermediate.put_counters(entry.inspect_llvm(types))
        return counting, native.counts_of_intermediate(counting.text, symbol, len(counting.blocks), intermediate.COUNTS)
    if platform.machine() not in {"x86_64", "AMD64"}:
        raise native.CodeFailedError(f"{platform.machine()} found, counting machine code needs x86_64")
    text = entry.inspect_asm(types)
    files.write_text(folder / ASSEMBLY, text)
    files.write_json(folder / PROCESSOR, {"symbol": symbol, "processor": native.this_processor()})
    array = np.zeros(text.count("\n") + 1, dtype=np.int64)
    counting = assembly.put_counters(text, array.ctypes.data)
    return counting, native.counts_of_assembly(counting.text, symbol, array[: len(counting.blocks)])


def _counts(folder: Path, request: Mapping[str, Any]) -> list[list[int]]:
    """How often each block is entered, by point."""
    module = load(folder / f"{COUNTING}.py")
    compile_functions(module, [*request["functions"], request["pass"]])
    entry = getattr(module, request["entry"])
    found = []
    for point in request["points"]:
        counts = np.zeros(request["counters"], dtype=np.int64)
        arguments = (*arguments_of(folder, point), counts)
        entry.compile(signature(arguments))
        with_limit(request["limit_s"], lambda arguments=arguments: entry(*arguments))
        found.append(counts.tolist())
    return found


def with_limit(limit_s: float, call: Any) -> Any:
    """Call, and let the system end this process when it takes longer: compiled loops heed nothing else."""
    signal.setitimer(signal.ITIMER_REAL, limit_s)
    try:
        return call()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def _kinds(function: Any) -> dict[str, Any]:
    """Kind of each name of a compiled function, and of its result."""
    names: dict[str, str] = {}
    result = "other"
    versions = list(function.overloads.values())
    for compiled in versions:
        result = _kind(compiled.signature.return_type)
        for name, kind in compiled.type_annotation.typemap.items():
            plain = name.split(".")[0]
            if not name.startswith(("$", "arg.")):
                names[plain] = _wider(names.get(plain), _kind(kind))
    return {"names": names, "result": result, "versions": len(versions)}


def _kind(kind: Any) -> str:
    from numba import types

    if isinstance(kind, types.Array):
        return f"array:{_kind(kind.dtype)}:{kind.ndim}"
    kinds = ((types.Boolean, "bool"), (types.Integer, "int"), (types.Float, "float"), (types.Complex, "complex"))
    plain = getattr(kind, "literal_type", kind)
    return next((name for known, name in kinds if isinstance(plain, known)), "other")


def _wider(one: str | None, other: str) -> str:
    order = ("bool", "int", "float", "complex")
    if one is None or one not in order or other not in order:
        return other
    return max(one, other, key=order.index)


def _first_line(error: Exception) -> str:
    """What Numba says, without its frame of words."""
    text = str(error)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    plain = [line for line in lines if not line.startswith(("Failed in nopython", "During:", "File ", "[1]", "-"))]
    places = [
        line.partition('"')[2].partition('"')[2].lstrip(", ").partition(":")[0] for line in lines if "File " in line
    ]
    where = f"{places[0]}: " if places and places[0].startswith("line") else ""
    return f"{where}{(plain or lines or ['no reason told'])[0]}"


if __name__ == "__main__":
    main(Path(sys.argv[1]))
