"""Load traces as CSV: `time_s` and columns of values below a header (traces/README.md specifies the files)."""

import math
import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from simulator.base import files
from simulator.base.errors import TraceError
from simulator.base.shipped import locate
from simulator.base.units import to_number
from simulator.load_traces.recording import TITLE
from simulator.models.load import AfterEnd, Floats, LoadTrace

TRACE_COLUMNS = ("load", "available")
"""Columns that a trace is read from by itself; any other must be asked for by name."""
LONG_GAP = 10.0
"""A step this many times the usual one is a gap that the reader warns of, in a trace of equal steps."""
_FORMULA = re.compile(r"([,;\t])(?=[=+@-])")
"""Where a spreadsheet would take part of a comment for a formula."""
MOSTLY = 0.9
"""Share of equal steps from which a trace counts as one of equal steps with gaps."""


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

    def only(self, path: Path, column: str | None) -> str:
        """The column to read a trace from: the one asked for, or the only one that is `load` or `available`."""
        known = [name for name in TRACE_COLUMNS if name in self.columns]
        if column is None and len(known) == 1:
            return known[0]
        if column is None or column not in self.columns:
            found = "no choice" if column is None else repr(column)
            raise TraceError(f"{path}: column: {found} found, one of {', '.join(self.columns)} allowed")
        return column


def read_table(path: Path) -> TraceTable:
    """Read every column of a trace file, exactly as it lies there, and warn of what was left out.

    Raises
    ------
    TraceError
        Naming file, line and field, if the file is no trace.
    ScenarioError
        If it is larger than what is read at once, with its size.
    """
    text = files.read_text(path)
    lines = [
        (number, line)
        for number, line in enumerate(text.splitlines(), start=1)
        if line.strip() and not line.startswith("#")
    ]
    if not lines:
        raise TraceError(f"{path}: header: '' found, 'time_s,load' or 'time_s,available' allowed")
    names = _header(path, *lines[0])
    rows = lines[1:]
    if rows and not text.endswith("\n") and (text.startswith(TITLE) or _is_torn(path, *rows[-1], names)):
        warnings.warn(f"{path}:{rows[-1][0]}: a torn last line left out", TraceWarning, stacklevel=2)
        rows = rows[:-1]
    cells = [_row(path, number, line, names) for number, line in rows]
    if len(cells) < 2:
        raise TraceError(f"{path}: rows: {len(cells)} found, at least 2 allowed")
    table = np.array(cells, dtype=np.float64).T
    numbers = tuple(number for number, _ in rows)
    _check_times(path, table[0], numbers)
    return TraceTable(table[0], dict(zip(names[1:], table[1:], strict=True)), numbers)


def read_trace(path: str | Path, *, after_end: AfterEnd = "cycle", column: str | None = None) -> LoadTrace:
    """Read a load trace; the last value holds as long as the one before it, and time starts at the first row.

    >>> read_trace("on-off-1-2").end_s
    120.0

    Parameters
    ----------
    path
        The file; a text may also be the name of a shipped one, see `shipped.locate`.
    after_end
        What holds after the last sample.
    column
        Which column to read; by default `load` or `available`, whichever is there.

    Raises
    ------
    TraceError, ScenarioError
        As in `read_table`; also if the column is not there.
    """
    path = locate(path) if isinstance(path, str) else path
    table = read_table(path)
    values = table.columns[table.only(path, column)]
    times = table.times_s - table.times_s[0]
    return LoadTrace(times, values, float(times[-1] + (times[-1] - times[-2])), after_end)


def trace_column(path: Path) -> str:
    """Which of `load` and `available` a trace file states: the second goes with the rule `given`."""
    with files.open_lines(path) as lines:
        for number, raw in enumerate(iter(lambda: lines.readline(2**16), b""), start=1):
            line = raw.decode("utf-8-sig", errors="replace")
            if line.strip() and not line.startswith("#"):
                known = [name for name in TRACE_COLUMNS if name in _header(path, number, line)]
                return known[0] if known else ""
    raise TraceError(f"{path}: header: '' found, 'time_s,load' or 'time_s,available' allowed")


def trace_text(trace: LoadTrace, *, column: str = "load", comment: str = "") -> str:
    """Write a trace as CSV text, with comment lines on what it is; ends and rules are the scenario's."""
    harmless = _FORMULA.sub(r"\1'", comment)
    lines = [f"# {line}\n" for line in harmless.splitlines()]
    rows = zip(trace.times_s.tolist(), trace.values.tolist(), strict=True)
    return "".join([*lines, files.csv_lines([("time_s", column), *rows])])


def _header(path: Path, number: int, line: str) -> list[str]:
    names = [cell.strip() for cell in line.split(",")]
    known = sum(name in TRACE_COLUMNS for name in names)
    if names[0] != "time_s" or len(names) < 2 or not known or not all(names) or len(set(names)) < len(names):
        raise TraceError(
            f"{path}:{number}: header: {line.strip()[:80]!r} found, "
            "'time_s,load' or 'time_s,available', with further columns of other names, allowed"
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
        raise TraceError(f"{path}:{number}: {len(cells)} columns found, {len(names)} as in the header allowed")
    numbers = []
    for name, cell in zip(names, cells, strict=True):
        value = to_number(cell)
        if value is None or not math.isfinite(value) or (value < 0 and name != "time_s"):
            allowed = "a finite number" if name == "time_s" else "a finite number of at least 0"
            raise TraceError(f"{path}:{number}: {name}: {cell.strip()[:40]!r} found, {allowed} allowed")
        numbers.append(value)
    return numbers


def _check_times(path: Path, times_s: Floats, lines: tuple[int, ...]) -> None:
    steps = np.diff(times_s)
    disorder = np.flatnonzero(steps <= 0)
    if disorder.size:
        row = int(disorder[0]) + 1
        raise TraceError(
            f"{path}:{lines[row]}: time_s: {times_s[row]:.12g} found, "
            f"more than the line before ({times_s[row - 1]:.12g}) allowed"
        )
    usual = np.median(steps)
    is_regular = np.mean(np.abs(steps - usual) <= 1e-6 * usual) > MOSTLY
    gaps = np.flatnonzero(steps > LONG_GAP * usual)
    if gaps.size and is_regular:
        row = int(gaps[np.argmax(steps[gaps])]) + 1
        warnings.warn(
            f"{path}:{lines[row]}: time_s: {gaps.size} gaps found, the longest {steps[row - 1]:g} s; "
            "the value before a gap holds throughout it",
            TraceWarning,
            stacklevel=3,
        )
