"""Load traces as CSV: `time_s` and columns of values below a header (traces/README.md specifies the files)."""

import dataclasses
import datetime
import json
import math
import re
import warnings
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from simulator.base import files
from simulator.base.arrays import Floats
from simulator.base.documents import Data, read_format
from simulator.base.errors import TraceError
from simulator.base.shipped import locate
from simulator.base.units import parse_zoned, to_number
from simulator.models.load import AfterEnd, LoadTrace

TITLE = "# Apportion load trace, recorded"
WRITER = "apportion calibrate load"
_HEAD_LINES = 1000
_IDENTITY = ("host", "system", "cpu_model", "cores", "memory_bytes")
TRACE_COLUMNS = ("load", "available")
"""Columns that a trace is read from by itself; any other must be asked for by name."""
LONG_GAP = 10.0
"""A step this many times the usual one is a gap that the reader warns of, in a trace of equal steps."""
_FORMULA = re.compile(r"([,;\t])(?=[=+@-])")
"""Where a spreadsheet would take part of a comment for a formula."""
MOSTLY = 0.9
"""Share of equal steps from which a trace counts as one of equal steps with gaps."""
ABOUT = 0.01
"""Relative difference up to which steps are equal to a reader who asks where the last one ends."""


@dataclass(frozen=True)
class RecordingHead:
    """What a recording says about itself in its comment lines."""

    start: str
    """Instant of `time_s` 0, ISO 8601 with the machine's zone."""
    interval_s: float
    machine: Mapping[str, Any]
    """The recorded machine, as `Machine.to_dict` tells it."""
    meanings: Mapping[str, str]
    """Column name -> its meaning with unit."""

    def __post_init__(self) -> None:
        _ = self.start_instant  # refused where it is none

    @property
    def start_instant(self) -> datetime.datetime:
        """The start as a point in time."""
        return parse_zoned(self.start, field="start")

    def to_dict(self) -> Data:
        """Plain data for JSON."""
        return dataclasses.asdict(self) | {"format": 1}

    def text(self) -> str:
        """The comment lines and the header line that open the file."""
        lines = [TITLE, f"# head: {json.dumps(self.to_dict() | {'meanings': None})}"]
        lines += [f"# {column}: {meaning}" for column, meaning in self.meanings.items()]
        return "\n".join([*lines, ",".join(self.meanings), ""])

    def same_machine(self, other: "RecordingHead") -> tuple[str, ...]:
        """What differs between the machines of two recordings; empty if they are the same."""
        mine, others = (json.loads(json.dumps(dict(head.machine))) for head in (self, other))
        return tuple(
            f"machine.{name} is {others.get(name)!r} in the file and {mine.get(name)!r} here"
            for name in _IDENTITY
            if mine.get(name) != others.get(name)
        )


def read_head(path: Path) -> RecordingHead:
    """Read the head of a recording."""
    comments: dict[str, str] = {}
    columns: list[str] = []
    with files.open_lines(path) as lines:
        for _, raw in zip(range(_HEAD_LINES), iter(lambda: lines.readline(2**20), b""), strict=False):
            line = raw.decode("utf-8", errors="replace").strip()
            if not line.startswith("#"):
                columns = line.split(",")
                break
            name, _, text = line[1:].strip().partition(": ")
            comments[name] = text
    said = files.parse_json(comments["head"], f"{path}:1") if "head" in comments else None
    if not isinstance(said, dict):
        raise TraceError(f"{path}:1: this is not the head of a recording; name a file that `{WRITER}` began")
    said |= {"meanings": {column: comments.get(column) for column in columns}}
    return read_format(RecordingHead, said, f"{path}:1", newest=1, writer=WRITER)


class TraceWarning(UserWarning):
    """A trace that was read, but not as it lies in the file; the text says how."""


@dataclass(frozen=True)
class TraceTable:
    """Every column of a trace file."""

    times_s: Floats
    columns: Mapping[str, Floats]
    """Column name -> values at `times_s`."""
    lines: tuple[int, ...]
    """Line of the file that each row stands in."""
    start_instant: datetime.datetime | None = None
    """The instant of `time_s` 0 with its zone, if the file says it."""
    end_s: float | None = None
    """Where the last row's stay ends, if the file says it."""

    def only(self, path: Path, column: str | None) -> str:
        """The column to read a trace from: the one asked for, or the only one that is `load` or `available`."""
        known = [name for name in TRACE_COLUMNS if name in self.columns]
        if column is None and len(known) == 1:
            return known[0]
        if column is None or column not in self.columns:
            found = "the column is not stated" if column is None else f"there is no column {column!r}"
            raise TraceError(f"{path}: {found}; name one of {', '.join(self.columns)}")
        return column


def read_table(path: Path) -> TraceTable:
    """Read every column of a trace file, exactly as it lies there, and warn of what was left out.

    TraceError
        Naming file, line and field, if the file is no trace.
    ScenarioError
        If it is larger than what is read at once, with its size.
    """
    text = files.read_text(path)
    every = [(number, line) for number, line in enumerate(text.splitlines(), start=1) if line.strip()]
    lines = [(number, line) for number, line in every if not line.startswith("#")]
    if not lines:
        raise TraceError(f"{path}: there is no header; begin with 'time_s,load' or 'time_s,available'")
    names = _header(path, *lines[0])
    rows = lines[1:]
    if rows and not text.endswith("\n") and (text.startswith(TITLE) or _is_torn(path, *rows[-1], names)):
        warnings.warn(f"{path}:{rows[-1][0]}: a torn last line left out", TraceWarning, stacklevel=2)
        rows = rows[:-1]
    cells = [_row(path, number, line, names) for number, line in rows]
    if len(cells) < 2:
        raise TraceError(f"{path}: the number of rows is {len(cells)}; give at least 2")
    table = np.array(cells, dtype=np.float64).T
    numbers = tuple(number for number, _ in rows)
    _check_times(path, table[0], numbers)
    start, end_s = _stated(path, [(number, line) for number, line in every if line.startswith("#")], table[0])
    return TraceTable(table[0], dict(zip(names[1:], table[1:], strict=True)), numbers, start, end_s)


def read_trace(path: str | Path, *, after_end: AfterEnd = "cycle", column: str | None = None) -> LoadTrace:
    """Read a load trace; time starts at the first row.

    It ends where a comment `# end: SECONDS` says; else the last row of a recording holds for its interval, and that of
    any other file as long as the one before it (`LoadTrace.end_assumed` where steps are too unequal to tell).

    >>> read_trace("on-off-1-2").end_s
    120.0

    Raises TraceError, ScenarioError as in `read_table`; also if the column is not there.

    `path`: the file; a text may also be the name of a shipped one, see `shipped.locate`.
    `after_end`: what holds after the last sample.
    `column`: which column to read; by default `load` or `available`, whichever is there.
    """
    path = locate(path) if isinstance(path, str) else path
    table = read_table(path)
    values = table.columns[table.only(path, column)]
    origin_s = float(table.times_s[0])
    times = table.times_s - origin_s
    end_s = float(times[-1] + (times[-1] - times[-2])) if table.end_s is None else table.end_s - origin_s
    start = None
    with suppress(OverflowError):  # a first time that no calendar holds
        start = table.start_instant and table.start_instant + datetime.timedelta(seconds=origin_s)
    assumed = table.end_s is None and not _tell_the_last(np.diff(times))
    return LoadTrace(times, values, end_s, after_end, start, assumed)


def trace_column(path: Path) -> str:
    """Which of `load` and `available` a trace file states: the second goes with the rule `given`."""
    with files.open_lines(path) as lines:
        for number, raw in enumerate(iter(lambda: lines.readline(2**16), b""), start=1):
            line = raw.decode("utf-8-sig", errors="replace")
            if line.strip() and not line.startswith("#"):
                known = [name for name in TRACE_COLUMNS if name in _header(path, number, line)]
                return known[0] if known else ""
    raise TraceError(f"{path}: there is no header; begin with 'time_s,load' or 'time_s,available'")


def trace_text(trace: LoadTrace, *, column: str = "load", comment: str = "") -> str:
    """Write a trace as CSV text, with comment lines on what it is; rules and what follows its end are the scenario's.

    When it began is written where that is known, and its end where the rows do not tell it.
    """
    harmless = _FORMULA.sub(r"\1'", comment)
    lines = [f"# {line}\n" for line in harmless.splitlines()]
    if trace.start_instant is not None:
        lines.append(f"# start: {trace.start_instant.isoformat()}\n")
    steps = trace.durations_s
    if trace.times_s.size > 1 and not (_tell_the_last(steps[:-1]) and steps[-1] == steps[-2]):
        lines.append(f"# end: {trace.end_s!r}\n")
    rows = zip(trace.times_s.tolist(), trace.values.tolist(), strict=True)
    return "".join([*lines, files.csv_lines([("time_s", column), *rows])])


def _header(path: Path, number: int, line: str) -> list[str]:
    names = [cell.strip() for cell in line.split(",")]
    known = sum(name in TRACE_COLUMNS for name in names)
    if names[0] != "time_s" or len(names) < 2 or not known or not all(names) or len(set(names)) < len(names):
        raise TraceError(
            f"{path}:{number}: the header is {line.strip()[:80]!r}; "
            "give 'time_s,load' or 'time_s,available', with further columns of other names"
        )
    return names


def _is_torn(path: Path, number: int, line: str, names: list[str]) -> bool:
    try:
        _row(path, number, line, names)
    except TraceError:
        return True
    return False


def _row(path: Path, number: int, line: str, names: list[str]) -> list[float]:
    cells = line.split(",")
    if len(cells) != len(names):
        raise TraceError(f"{path}:{number}: the line has {len(cells)} columns; give {len(names)} as in the header")
    numbers = []
    for name, cell in zip(names, cells, strict=True):
        value = to_number(cell)
        if value is None or not math.isfinite(value) or (value < 0 and name != "time_s"):
            allowed = "a finite number" if name == "time_s" else "a finite number of at least 0"
            raise TraceError(f"{path}:{number}: {name} is {cell.strip()[:40]!r}; give {allowed}")
        numbers.append(value)
    return numbers


def _stated(
    path: Path, comments: list[tuple[int, str]], times_s: Floats
) -> tuple[datetime.datetime | None, float | None]:
    """When time 0 was and where the last row's stay ends, as comments say; None where none does."""
    found: dict[str, tuple[int, str]] = {}
    for number, line in comments:
        name, colon, text = line[1:].strip().partition(":")
        if colon and name in ("start", "end"):
            if name in found:
                raise TraceError(f"{path}:{number}: {name} is said in line {found[name][0]} too; leave one of them out")
            found[name] = number, text.strip()
    start, end_s = None, None
    if "start" in found:
        number, text = found["start"]
        start = parse_zoned(text, field=f"{path}:{number}: start")
    if "end" in found:
        number, text = found["end"]
        end_s = to_number(text)
        if end_s is None or not times_s[-1] < end_s < math.inf:
            after = f"a time after that of the last row ({times_s[-1]:.12g})"
            raise TraceError(f"{path}:{number}: end: {text[:40]!r} is not {after}; write its seconds, as in time_s")
    if not comments or not comments[0][1].startswith(TITLE):
        return start, end_s
    head = read_head(path)
    start = start or head.start_instant
    if end_s is None:
        usual = abs(times_s[-1] - times_s[-2] - head.interval_s) <= ABOUT * head.interval_s
        end_s = float(times_s[-1] + (times_s[-1] - times_s[-2] if usual else head.interval_s))
    return start, end_s


def _tell_the_last(steps_s: Floats) -> bool:
    """Whether steps are equal enough to tell that the last row holds as long as the one before it."""
    usual = np.median(steps_s)
    like = np.abs(steps_s - usual) <= ABOUT * usual
    return bool(like[-1] and np.mean(like) > MOSTLY)


def _check_times(path: Path, times_s: Floats, lines: tuple[int, ...]) -> None:
    steps = np.diff(times_s)
    disorder = np.flatnonzero(steps <= 0)
    if disorder.size:
        row = int(disorder[0]) + 1
        raise TraceError(
            f"{path}:{lines[row]}: time_s is {times_s[row]:.12g}; "
            f"give more than the line before ({times_s[row - 1]:.12g})"
        )
    usual = np.median(steps)
    is_regular = np.mean(np.abs(steps - usual) <= 1e-6 * usual) > MOSTLY
    gaps = np.flatnonzero(steps > LONG_GAP * usual)
    if gaps.size and is_regular:
        row = int(gaps[np.argmax(steps[gaps])]) + 1
        counted = "a gap" if gaps.size == 1 else f"{gaps.size} gaps"
        warnings.warn(
            f"{path}:{lines[row]}: time_s has {counted}, the longest {steps[row - 1]:g} s; "
            "the value before a gap holds throughout it",
            TraceWarning,
            stacklevel=3,
        )
