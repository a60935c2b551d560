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
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from simulator.base import files
from simulator.base.documents import read, to_dict
from simulator.base.errors import ScenarioError
from simulator.characterisation.derive.arguments import Arguments
from simulator.characterisation.derive.constructs import ORDER, Kinds, join
from simulator.characterisation.derive.machine import assembly, intermediate
from simulator.characterisation.derive.machine.code import (
    Code,
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
class Request:
    """What is compiled and run."""

    folder: str
    """Of the modules, plain and counting, and of arrays."""
    imports: str
    """Folder that they import from."""
    entry: str
    functions: Sequence[str]
    counters: int
    points: Sequence[Sequence[Any]]
    """Arguments of each run: numbers, and names of arrays' files."""
    limit_s: float
    wants: Sequence[Method]

    def arguments(self, point: Sequence[Any]) -> tuple[Any, ...]:
        """Arguments of a run, fresh ones: it may overwrite its arrays."""
        return tuple(np.load(f"{self.folder}/{value}") if isinstance(value, str) else value for value in point)


@dataclass(frozen=True)
class Answer:
    """What was found."""

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
        imports, functions = str(source.path.resolve().parent), list(source.functions)
        request = Request(name, imports, source.entry, functions, counted.counters, points, limit_s, list(wants))
        answer = _answer(request) if here else _of_child(request)
    if isinstance(answer, str):
        raise ScenarioError(f"{source.path}: {source.entry}: {answer}")
    return answer


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


def _of_child(request: Request) -> Answer | str:
    folder = Path(request.folder)
    files.write_json(folder / REQUEST, to_dict(request))
    code = f"from {__name__} import main; main({str(request.folder)!r})"
    environment = dict(os.environ) | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    limit, limit_s = COMPILE_LIMIT_S + request.limit_s * len(request.points), request.limit_s
    try:
        done = subprocess.run(
            [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False, timeout=limit
        )
    except subprocess.TimeoutExpired:
        return f"not compiled and run within {limit:g} s"
    if done.returncode == -signal.SIGALRM:
        return f"a profiled run took longer than {limit_s:g} s: a loop that does not end, or a size too large"
    if done.returncode < 0:
        what = signal.Signals(-done.returncode).name
        return f"a profiled run ended by {what}: an index outside its array, or no memory left"
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        return f"a profiled run failed: {last}"
    said = files.read_json(folder / ANSWER)
    return said if isinstance(said, str) else read(Answer, said)


# What the process does.


def main(folder: str) -> None:
    """Answer the request in a folder."""
    answer = _answer(Request(**files.read_json(Path(folder) / REQUEST)))
    files.write_json(Path(folder) / ANSWER, answer if isinstance(answer, str) else to_dict(answer))


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


def _answer(request: Request) -> Answer | str:
    """What was found, or why nothing was."""
    before = list(sys.path)
    sys.path.insert(0, request.imports)
    try:
        return _found(request)
    finally:
        sys.path[:] = before


def _found(request: Request) -> Answer | str:
    from numba.core.errors import NumbaError

    try:
        module = load(Path(request.folder, f"{PLAIN}.py"))
        compile_functions(module, request.functions)
        entry = getattr(module, request.entry)
        entry.compile(signature(request.arguments(request.points[0])))
    except NumbaError as error:
        return f"Numba cannot compile it: {_first_line(error)}"
    except (ImportError, AttributeError, NameError, TypeError, ValueError) as error:
        return f"its file cannot be imported: {type(error).__name__}: {error}"
    plain = {name: value for name, value in vars(module).items() if isinstance(value, int | float | np.ndarray)}
    constants = {name: _kind(kind) for name, kind in zip(plain, signature(list(plain.values())), strict=True)}
    found = {name: _kinds(getattr(module, name)) for name in request.functions}
    results = {name: result for name, (_, result, _) in found.items()}
    code, warnings = dict[Method, Code](), list[str]()
    for method in request.wants:
        try:
            code[method] = _code(method, entry, request)
        except CodeFailedError as error:
            warnings.append(f"{method}: {error}")
    return Answer(
        {name: Kinds(constants | names, results) for name, (names, _, _) in found.items()},
        {name: versions for name, (_, _, versions) in found.items()},
        _counts(request),
        code,
        tuple(warnings),
    )


def _code(method: str, entry: Any, request: Request) -> Code:
    """Blocks of intermediate or machine code, and how often each is entered, by point."""
    types = entry.signatures[0]
    symbol = entry.overloads[types].fndesc.llvm_func_name
    text, put_counters, compiled = _forms(method, entry, types)
    array = np.zeros(text.count("\n") + 1, dtype=np.int64)
    counting = put_counters(text, array.ctypes.data)
    engine = compiled(counting.text)
    counts = []
    for point in request.points:
        array[:] = 0
        with_limit(request.limit_s, partial(call, engine, symbol, request.arguments(point)))
        counts.append(tuple(array[: len(counting.blocks)].tolist()))
    return Code(counting.blocks, tuple(counts), counting.outside)


def _forms(method: str, entry: Any, types: Any) -> tuple[str, Callable[[str, int], Counting], Callable[[str], Any]]:
    """A compiled function's code, what puts counters into it, and what makes an engine of that."""
    if method == "intcc":
        return entry.inspect_llvm(types), intermediate.put_counters, engine_of
    if platform.machine() not in {"x86_64", "AMD64"}:
        raise CodeFailedError(f"machine code is counted on x86_64 only, and this is {platform.machine()}")
    return entry.inspect_asm(types), assembly.put_counters, assembled


def _counts(request: Request) -> tuple[tuple[int, ...], ...]:
    """How often each block is entered, by point."""
    module = load(Path(request.folder, f"{COUNTING}.py"))
    compile_functions(module, [*request.functions, PASS])
    entry = getattr(module, request.entry)
    found = []
    for point in request.points:
        counts = np.zeros(request.counters, dtype=np.int64)
        arguments = (*request.arguments(point), counts)
        entry.compile(signature(arguments))
        with_limit(request.limit_s, partial(entry, *arguments))
        found.append(tuple(counts.tolist()))
    return tuple(found)


def with_limit(limit_s: float, action: Callable[[], Any]) -> Any:
    """Call, and let the system end this process when it takes longer: compiled loops heed nothing else."""
    signal.setitimer(signal.ITIMER_REAL, limit_s)
    try:
        return action()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def _kinds(function: Any) -> tuple[dict[str, str], str, int]:
    """Kind of each name of a compiled function, of its result, and for how many types of arguments it was compiled."""
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
    return names, result, len(versions)


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
