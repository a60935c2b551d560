"""Load traces on disk: CSV with a header `time_s,load` or `time_s,available` (traces/README.md specifies the files)."""

import csv
import io
from pathlib import Path

import numpy as np

from simulator import files
from simulator.errors import TraceError
from simulator.models.load import AfterEnd, LoadTrace

__all__ = ["read_trace", "trace_text"]

COLUMNS = ("load", "available")


def read_trace(path: Path, *, after_end: AfterEnd = "cycle") -> LoadTrace:
    """Read a load trace; the last value holds as long as the one before it.

    Raises
    ------
    TraceError
        Naming file, line and field, if the file is no trace.
    """
    lines = [
        (number, line)
        for number, line in enumerate(files.read_text(path).splitlines(), start=1)
        if line.strip() and not line.startswith("#")
    ]
    header = [cell.strip() for cell in lines[0][1].split(",")] if lines else []
    if len(header) != 2 or header[0] != "time_s" or header[1] not in COLUMNS:
        raise TraceError(f"{path}: header: {','.join(header)!r} found, 'time_s,load' or 'time_s,available' allowed")
    rows = [_row(path, number, line, header[1]) for number, line in lines[1:]]
    if len(rows) < 2:
        raise TraceError(f"{path}: rows: {len(rows)} found, at least 2 allowed")
    times, values = np.array(rows, dtype=np.float64).T
    disorder = np.flatnonzero(np.diff(times) <= 0)
    if disorder.size:
        line = lines[1:][disorder[0] + 1][0]
        raise TraceError(f"{path}:{line}: time_s: {times[disorder[0] + 1]:g} found, more than the line before allowed")
    times = times - times[0]
    return LoadTrace(times, values, float(times[-1] + (times[-1] - times[-2])), after_end)


def trace_text(trace: LoadTrace, *, column: str = "load", comment: str = "") -> str:
    """Write a trace as CSV text, with a comment line on what it is; ends and rules are the scenario's."""
    out = io.StringIO()
    if comment:
        out.write("".join(f"# {line}\n" for line in comment.splitlines()))
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["time_s", column])
    writer.writerows(
        (repr(float(time)), repr(float(value))) for time, value in zip(trace.times_s, trace.values, strict=True)
    )
    return out.getvalue()


def _row(path: Path, number: int, line: str, column: str) -> tuple[float, float]:
    cells = line.split(",")
    if len(cells) != 2:
        raise TraceError(f"{path}:{number}: {len(cells)} columns found, 2 allowed")
    numbers = []
    for name, cell in zip(("time_s", column), cells, strict=True):
        try:
            value = float(cell)
        except ValueError:
            value = float("nan")
        if not np.isfinite(value) or (name != "time_s" and value < 0):
            raise TraceError(f"{path}:{number}: {name}: {cell.strip()!r} found, a finite number of at least 0 allowed")
        numbers.append(value)
    return numbers[0], numbers[1]
