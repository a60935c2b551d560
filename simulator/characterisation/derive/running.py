"""Compiling and running the analysed functions, in a process of their own or here, and what is found by that."""

import importlib.util
import os
import platform
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from simulator.base import files
from simulator.base.errors import ScenarioError
from simulator.characterisation.derive.arguments import Arguments
from simulator.characterisation.derive.constructs import ORDER, Kinds, join
from simulator.characterisation.derive.machine import assembly, intermediate
from simulator.characterisation.derive.machine.code import (
    Code,
    CodeBlock,
    CodeFailedError,
    Counting,
    assembled,
    call,
    engine_of,
)
from simulator.characterisation.derive.source import Source
from simulator.characterisation.derive.steps import PASS, Counted
from simulator.models.resource import Method

COMPILE_LIMIT_S = 300.0
"""Longest that a child may take in addition to the runs themselves."""
REQUEST, ANSWER = "request.json", "answer.json"
PLAIN, COUNTING = "apportion_plain", "apportion_counting"


@dataclass(frozen=True)
class Answer:
    """What the child found."""

    kinds: Mapping[str, Kinds]
    """Function -> kinds of its names, module constants among them."""
    versions: Mapping[str, int]
    """Function -> how many types of arguments it was compiled for."""
    counts: tuple[tuple[int, ...], ...]
    """By point: how often each block was entered."""
    code: Mapping[Method, Code]
    """Intermediate and machine code, as far as asked for and found."""
    warnings: tuple[str, ...]


def ask(
    source: Source,
    counted: Counted,
    arguments: Arguments,
    *,
    limit_s: float,
    wants: Sequence[Method] = (),
    here: bool = False,
) -> Answer:
    """Compile the functions and run them at the points, in a child process; or `here`, if they surely end."""
    with tempfile.TemporaryDirectory(prefix="apportion-") as name:
        folder = Path(name)
        files.write_text(folder / f"{PLAIN}.py", source.text)
        files.write_text(folder / f"{COUNTING}.py", counted.text)
        points = [_stored(folder, arguments.make(point), number) for number, point in enumerate(arguments.points)]
        request = {
            "folder": str(source.path.resolve().parent),
            "entry": source.entry,
            "functions": list(source.functions),
            "counters": counted.counters,
            "points": points,
            "limit_s": limit_s,
            "wants": list(wants),
        }
        files.write_json(folder / REQUEST, request)
        place = f"{source.path}: {source.entry}"
        if here:
            _run_here(folder)
        else:
            _run(folder, place, arguments, limit_s=limit_s)
        return _read(files.read_json(folder / ANSWER), place, source)


def _stored(folder: Path, arguments: Sequence[Any], point: int) -> list[Any]:
    """Arguments for the request; arrays go to files."""
    found: list[Any] = []
    for place, value in enumerate(arguments):
        if isinstance(value, np.ndarray):
            np.save(folder / f"{point}-{place}.npy", value)
            found.append(f"{point}-{place}.npy")
        else:
            found.append(value.item() if isinstance(value, np.generic) else value)
    return found


def _run_here(folder: Path) -> None:
    """The child's work in this process: it saves starting one and loading the compiler."""
    before = list(sys.path)
    try:
        main(folder)
    finally:
        sys.path[:] = before


def _run(folder: Path, place: str, arguments: Arguments, *, limit_s: float) -> None:
    command = [sys.executable, "-m", __name__, str(folder)]
    environment = dict(os.environ) | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    limit = COMPILE_LIMIT_S + limit_s * len(arguments.points)
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=limit)
    except subprocess.TimeoutExpired as error:
        raise ScenarioError(f"{place}: not compiled and run within {limit:g} s") from error
    if done.returncode == -signal.SIGALRM:
        raise ScenarioError(
            f"{place}: a profiled run took longer than {limit_s:g} s: a loop that does not end, or a size too large"
        )
    if done.returncode < 0:
        what = signal.Signals(-done.returncode).name
        raise ScenarioError(f"{place}: a profiled run ended by {what}: an index outside its array, or no memory left")
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise ScenarioError(f"{place}: a profiled run failed: {last}")


def _read(found: Mapping[str, Any], place: str, source: Source) -> Answer:
    if "refused" in found:
        raise ScenarioError(f"{place}: Numba cannot compile it: {found['refused']}")
    if "failed" in found:
        raise ScenarioError(f"{place}: its file cannot be imported: {found['failed']}")
    results = {name: found["kinds"][name]["result"] for name in source.functions}
    return Answer(
        {name: Kinds(found["constants"] | found["kinds"][name]["names"], results) for name in source.functions},
        {name: found["kinds"][name]["versions"] for name in source.functions},
        tuple(tuple(counts) for counts in found["counts"]),
        {
            method: Code(tuple(CodeBlock(**block) for block in part["blocks"]), part["counts"], part["outside"])
            for method, part in found["code"].items()
            if "failed" not in part
        },
        tuple(f"{method}: {part['failed']}" for method, part in found["code"].items() if "failed" in part),
    )


# What the process does.


def main(folder: Path) -> None:
    """Answer the request in a folder."""
    request = files.read_json(folder / REQUEST)
    sys.path.insert(0, request["folder"])
    files.write_json(folder / ANSWER, _answer(folder, request))


def load(path: Path, *, folder: Path | None = None) -> ModuleType:
    """Import a module from a file, with another folder to import from."""
    if folder is not None and str(folder) not in sys.path:
        sys.path.append(str(folder))
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


def _answer(folder: Path, request: Mapping[str, Any]) -> dict[str, object]:
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


def _code(method: str, entry: Any, folder: Path, request: Mapping[str, Any]) -> dict[str, object]:
    """Blocks of intermediate or machine code, and how often each is entered, by point."""
    types = entry.signatures[0]
    symbol = entry.overloads[types].fndesc.llvm_func_name
    try:
        text, put_counters, compiled = _forms(method, entry, types)
        array = np.zeros(text.count("\n") + 1, dtype=np.int64)
        counting = put_counters(text, array.ctypes.data)
        engine = compiled(counting.text)
        counts = []
        for point in request["points"]:
            array[:] = 0
            with_limit(request["limit_s"], partial(call, engine, symbol, arguments_of(folder, point)))
            counts.append(array[: len(counting.blocks)].tolist())
    except CodeFailedError as error:
        return {"failed": str(error)}
    return {"blocks": [asdict(block) for block in counting.blocks], "counts": counts, "outside": counting.outside}


def _forms(method: str, entry: Any, types: Any) -> tuple[str, Callable[[str, int], Counting], Callable[[str], Any]]:
    """A compiled function's code, what puts counters into it, and what makes an engine of that."""
    if method == "intcc":
        return entry.inspect_llvm(types), intermediate.put_counters, engine_of
    if platform.machine() not in {"x86_64", "AMD64"}:
        raise CodeFailedError(f"machine code is counted on x86_64 only, and this is {platform.machine()}")
    return entry.inspect_asm(types), assembly.put_counters, assembled


def _counts(folder: Path, request: Mapping[str, Any]) -> list[list[int]]:
    """How often each block is entered, by point."""
    module = load(folder / f"{COUNTING}.py")
    compile_functions(module, [*request["functions"], PASS])
    entry = getattr(module, request["entry"])
    found = []
    for point in request["points"]:
        counts = np.zeros(request["counters"], dtype=np.int64)
        arguments = (*arguments_of(folder, point), counts)
        entry.compile(signature(arguments))
        with_limit(request["limit_s"], partial(entry, *arguments))
        found.append(counts.tolist())
    return found


def with_limit(limit_s: float, action: Callable[[], Any]) -> Any:
    """Call, and let the system end this process when it takes longer: compiled loops heed nothing else."""
    signal.setitimer(signal.ITIMER_REAL, limit_s)
    try:
        return action()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def _kinds(function: Any) -> dict[str, object]:
    """Kind of each name of a compiled function, and of its result."""
    names: dict[str, str] = {}
    result = "other"
    versions = list(function.overloads.values())
    for compiled in versions:
        result = _kind(compiled.signature.return_type)
        for name, kind in compiled.type_annotation.typemap.items():
            plain, found = name.split(".")[0], _kind(kind)
            if not name.startswith(("$", "arg.")):
                earlier = names.get(plain, "")
                names[plain] = join(earlier, found) if earlier in ORDER and found in ORDER else found
    return {"names": names, "result": result, "versions": len(versions)}


def _kind(kind: Any) -> str:
    from numba import types

    if isinstance(kind, types.Array):
        return f"array:{_kind(kind.dtype)}:{kind.ndim}"
    kinds = ((types.Boolean, "bool"), (types.Integer, "int"), (types.Float, "float"), (types.Complex, "complex"))
    plain = getattr(kind, "literal_type", kind)
    return next((name for known, name in kinds if isinstance(plain, known)), "other")


def _first_line(error: Exception) -> str:
    """What Numba says, without its frame of words and the colours that it has where colorama is installed."""
    text = re.sub(r"\x1b\[[\d;]*m", "", str(error))
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    plain = [line for line in lines if not line.startswith(("Failed in nopython", "During:", "File ", "[1]", "-"))]
    places = [
        line.partition('"')[2].partition('"')[2].lstrip(", ").partition(":")[0] for line in lines if "File " in line
    ]
    where = f"{places[0]}: " if places and places[0].startswith("line") else ""
    return f"{where}{(plain or lines or ['no reason given'])[0]}"


if __name__ == "__main__":
    main(Path(sys.argv[1]))
