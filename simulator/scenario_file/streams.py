"""Reading a stream of jobs from a file of any kind that is known, by what stands in it."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Final

from simulator.base import files
from simulator.base.errors import ScenarioError
from simulator.programs.streams.batsim import parse_batsim
from simulator.programs.streams.cleaning import clean
from simulator.programs.streams.sacct import NEEDED, parse_sacct
from simulator.programs.streams.stream import Stream
from simulator.programs.streams.swf import read_swf
from simulator.scenario_file.job_list import parse_job_list, parse_job_table

__all__ = ["read_stream"]

_HEAD_BYTES: Final = 2**16
_MOST_BYTES: Final = 2**30
"""Largest text that is read at once; logs in the Standard Workload Format are read block by block."""
_JOB = re.compile(r"[-+.0-9]+[ \t]+[-+.0-9]+[ \t]")
_KINDS: Final = (
    "a log in the Standard Workload Format, what `sacct --parsable2` prints, a workload of Batsim in JSON, "
    "or a list of jobs of applications in YAML or CSV"
)


def read_stream(path: str | Path, *, cleaning: str = "strong", machine_processors: int | None = None) -> Stream:
    """The jobs of a file: a log of a batch system, a workload of Batsim, or a list of jobs of our own applications.

    What the file is follows from what stands in it; it may be packed with gzip.

    Parameters
    ----------
    path
        The file.
    cleaning
        How logs are cleaned: `strong`, `pyss` or `none`, see `clean`. Workloads and lists are taken as they are.
    machine_processors
        Size of the machine, in place of what the file says.

    Raises
    ------
    ScenarioError
        For a file of no such kind, and for faults in it: one line each, with their places.
    """
    path = Path(path)
    with files.open_lines(path) as stream:
        head = stream.read(_HEAD_BYTES)
    if b"\x00" in head:
        raise ScenarioError(f"{path}: the file holds bytes and no text; name {_KINDS}")
    text = head.decode("utf-8-sig", errors="replace")
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    if not lines:
        raise ScenarioError(f"{path}: the file is empty; name {_KINDS}")
    if lines[0].startswith(";") or _JOB.match(lines[0] + " "):
        return clean(read_swf(path), cleaning, machine_processors=machine_processors)
    if "|" in lines[0] and any(name in lines[0].split("|") for name in NEEDED):
        return clean(parse_sacct(_text(path), path), cleaning, machine_processors=machine_processors)
    if lines[0].startswith("{") and (b'"profiles"' in head or '"profiles"' in _text(path)):
        return parse_batsim(_text(path), path, machine_processors=machine_processors)
    return _own(path, lines)(_text(path), path)


def _own(path: Path, lines: list[str]) -> Callable[[str, Path], Stream]:
    """What reads a list of our own jobs that begins with these lines."""
    said = [line for line in lines if not line.startswith("#")]
    if said and re.search(r"(^|[,;\t])\s*\"?application\"?\s*([,;\t]|$)", said[0]):
        return parse_job_table
    if any(re.match(r"[\"']?(format|jobs)[\"']?\s*[:=]|\[\[jobs\]\]|\{", line) for line in said):
        return parse_job_list
    raise ScenarioError(f"{path}: the file holds no stream of jobs; name {_KINDS}")


def _text(path: Path) -> str:
    """All of a file as text."""
    with files.open_lines(path) as stream:
        data = stream.read(_MOST_BYTES + 1)
    if len(data) > _MOST_BYTES:
        raise ScenarioError(f"{path}: the file has more than {_MOST_BYTES // 2**30} GiB; split it")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ScenarioError(
            f"{path}:{line}: byte {data[error.start]:#04x} is no text in UTF-8; save it as that"
        ) from error
