"""Results of other programs as tables of ours: one list of formats, each known by what its text holds."""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from simulator.base import files
from simulator.base.errors import ScenarioError
from simulator.base.tables import MAX_BYTES, parse_table
from simulator.models.foreign.hpl import HPL, read_hpl
from simulator.models.foreign.memories import LMBENCH, STREAM, read_lmbench, read_stream
from simulator.models.foreign.messages import IMB, OSU, read_imb, read_osu
from simulator.models.foreign.printed import Printed
from simulator.models.foreign.speeds import SPEEDS, read_speeds

__all__ = ["FORMATS", "MEMORY", "MESSAGES", "RUNS", "SPEED", "Format", "Printed", "format_in", "format_of", "read_as"]


@dataclass(frozen=True)
class Format:
    """What a program prints."""

    name: str
    gives: str
    """What its numbers are for, as a message names it."""
    known_by: re.Pattern[str]
    """A line of it that no other has."""
    read: Callable[[str, str], Printed]
    """Of a text, and of its place for messages."""


MESSAGES, RUNS, MEMORY = "message times (`calibrate network`)", "runs (`fit`)", "memory times (`calibrate memory`)"
SPEED = "speeds (`calibrate speed`)"
FORMATS = (
    Format("OSU micro-benchmarks", MESSAGES, OSU, read_osu),
    Format("Intel MPI Benchmarks", MESSAGES, IMB, read_imb),
    Format("HPL", RUNS, HPL, read_hpl),
    Format("STREAM", MEMORY, STREAM, read_stream),
    Format("lmbench", MEMORY, LMBENCH, read_lmbench),
    Format("n,GFLOPS", SPEED, SPEEDS, read_speeds),
)


def format_of(text: str) -> Format | None:
    """The format of a text; None for tables of ours and what is not known."""
    return next((one for one in FORMATS if one.known_by.search(text)), None)


def format_in(path: Path) -> Format | None:
    """That of a file; None also of one that is no text."""
    try:
        return format_of(files.read_text(path, limit_bytes=MAX_BYTES))
    except ScenarioError:
        return None


def read_as(path: str | Path, gives: str) -> Printed:
    """The table in a file: one of ours, or the results of a program that give it."""
    text = files.read_text(Path(path), limit_bytes=MAX_BYTES)
    found = format_of(text)
    if found is None:
        return Printed(parse_table(text, place=str(path)))
    if found.gives != gives:
        raise ScenarioError(f"{path}: this is an output of {found.name}, which gives {found.gives}, not {gives}")
    printed = found.read(text, str(path))
    cut = () if text.endswith("\n") else (f"the last line of {path} does not end: it may be cut",)
    return replace(printed, notes=(*printed.notes, *cut))
