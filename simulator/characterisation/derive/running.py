"""Starting the child process that compiles and runs the analysed functions, and what it answers."""

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from simulator.base import files
from simulator.base.errors import ScenarioError
from simulator.characterisation.derive import child
from simulator.characterisation.derive.arguments import Arguments
from simulator.characterisation.derive.machine.code import Code, CodeBlock
from simulator.characterisation.derive.source import Source
from simulator.characterisation.derive.steps import PASS, Counted
from simulator.models.resource import Method

COMPILE_LIMIT_S = 300.0
"""Longest that a child may take beside the runs themselves."""


@dataclass(frozen=True)
class Answer:
    """What the child found."""

    kinds: Mapping[str, Mapping[str, str]]
    """Function -> name -> kind, module constants among them."""
    results: Mapping[str, str]
    """Function -> kind of its result."""
    versions: Mapping[str, int]
    """Function -> how many types of arguments it was compiled for."""
    counts: tuple[tuple[int, ...], ...]
    """By point: how often each block was entered."""
    code: Mapping[Method, Code]
    """Intermediate and machine code, as far as asked for and found."""
    warnings: tuple[str, ...]
    """Why code was not found."""


def ask(
    source: Source,
    counted: Counted,
    arguments: Arguments,
    *,
    limit_s: float,
    wants: Sequence[Method] = (),
    here: bool = False,
) -> Answer:
    """Compile the functions and run them at the points, in a child process; or here, functions of ours that surely end.

    Raises
    ------
    ScenarioError
        If Numba cannot compile them, a run does not end within `limit_s` seconds, or it fails.
    """
    with answered(source, counted, arguments, limit_s=limit_s, wants=wants, here=here) as (_, answer):
        return answer


@contextlib.contextmanager
def answered(
    source: Source,
    counted: Counted,
    arguments: Arguments,
    *,
    limit_s: float,
    wants: Sequence[Method] = (),
    here: bool = False,
) -> Iterator[tuple[Path, Answer]]:
    """The folder that the child worked in, while it is there, and its answer; see `ask`."""
    with tempfile.TemporaryDirectory(prefix="apportion-") as name:
        folder = Path(name)
        files.write_text(folder / f"{child.PLAIN}.py", source.text)
        files.write_text(folder / f"{child.COUNTING}.py", counted.text)
        points = [_stored(folder, arguments.make(point), number) for number, point in enumerate(arguments.points)]
        request = {
            "beside": str(source.path.resolve().parent),
            "entry": source.entry,
            "functions": list(source.functions),
            "pass": PASS,
            "counters": counted.counters,
            "points": points,
            "limit_s": limit_s,
            "wants": list(wants),
        }
        files.write_json(folder / child.REQUEST, request)
        place = f"{source.path}: {source.entry}"
        if here:
            _run_here(folder)
        else:
            _run(folder, place, arguments, limit_s=limit_s)
        yield folder, _answer(files.read_json(folder / child.ANSWER), place, source)


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
        child.main(folder)
    finally:
        sys.path[:] = before


def environment() -> dict[str, str]:
    """What a child process needs to import what this one does."""
    return dict(os.environ) | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}


def _run(folder: Path, place: str, arguments: Arguments, *, limit_s: float) -> None:
    command = [sys.executable, "-m", child.__name__, str(folder)]
    limit = COMPILE_LIMIT_S + limit_s * len(arguments.points)
    try:
        done = subprocess.run(command, env=environment(), capture_output=True, text=True, check=False, timeout=limit)
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
        last = (done.stderr.strip().splitlines() or ["no reason told"])[-1]
        raise ScenarioError(f"{place}: a profiled run failed: {last}")


def _answer(found: Mapping[str, Any], place: str, source: Source) -> Answer:
    if "refused" in found:
        raise ScenarioError(f"{place}: Numba cannot compile it: {found['refused']}")
    if "failed" in found:
        raise ScenarioError(f"{place}: its file cannot be imported: {found['failed']}")
    kinds = {name: found["constants"] | found["kinds"][name]["names"] for name in source.functions}
    return Answer(
        kinds,
        {name: found["kinds"][name]["result"] for name in source.functions},
        {name: found["kinds"][name]["versions"] for name in source.functions},
        tuple(tuple(counts) for counts in found["counts"]),
        {method: _code(part) for method, part in found["code"].items() if "failed" not in part},
        tuple(f"{method}: {part['failed']}" for method, part in found["code"].items() if "failed" in part),
    )


def _code(found: Mapping[str, Any]) -> Code:
    blocks = tuple(CodeBlock(block["name"], block["uses"], block["instructions"]) for block in found["blocks"])
    return Code(blocks, tuple(tuple(counts) for counts in found["counts"]), tuple(found["outside"]))
