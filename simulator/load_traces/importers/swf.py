"""Import of job logs in the Standard Workload Format 2.2: the running jobs of a window become load."""

import array
from pathlib import Path

import numpy as np

from simulator.base.arrays import Floats
from simulator.base.errors import TraceError
from simulator.base.units import to_whole
from simulator.load_traces.importers.source import ImportOptions, Source, number, read_lines

_FIELDS = 18
_SUBMIT, _WAIT, _RUN, _PROCESSORS, _REQUESTED = 1, 2, 3, 4, 7
_UNKNOWN = -1
_DIGITS = 9
"""Of seconds: a job that begins when another ends must not overlap with it because 0.1 + 0.2 is more than 0.3."""


def read(path: Path, options: ImportOptions) -> Source:
    """Busy share of the machine over a window, exact at every start and end of a job.

    Jobs whose start, run time or processors are unknown (-1) are left out and counted in a note.
    """
    log = _Log(path)
    read_lines(path, log.line, by_tool=True)
    size = options.processors if options.processors is not None else log.header_size
    if size is None or size < 1:
        raise TraceError(f"{path}: processors are not stated, and the header has no MaxProcs; state at least 1")
    if not log.starts:
        raise TraceError(f"{path}: no job has a known start, run time and processors; give at least one")
    starts, runs, counts = (np.frombuffer(column) for column in (log.starts, log.runs, log.processors))
    begin = options.start_s or 0.0
    ends = np.round(starts + runs, _DIGITS)
    end = begin + options.duration_s if options.duration_s is not None else float(np.max(ends))
    times, busy = _running(np.round(starts, _DIGITS), ends, counts, begin, end)
    if float(np.max(busy)) > size:
        raise TraceError(
            f"{path}: processors: {size} stated, but the jobs of the window use up to {np.max(busy):g} at once"
        )
    notes = (
        f"{len(log.starts)} jobs, {log.left_out} left out (start, run time or processors unknown, or no run)",
        f"busy processors of {size}, from {begin:g} s to {end:g} s of the log",
    )
    return Source(array.array("d", times), array.array("d", busy / size), "busy", notes, end)


class _Log:
    """Jobs of a log as they are read."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.header_size: int | None = None
        self.left_out = 0
        self.starts, self.runs, self.processors = (array.array("d") for _ in range(3))

    def line(self, place: int, line: str) -> None:
        """Take in a header comment or a job; the first line may be either."""
        if line.startswith(";"):
            name, _, value = line.lstrip("; ").partition(":")
            if name.strip() == "MaxProcs":
                self.header_size = to_whole(value.strip()) or self.header_size
            return
        cells = line.split()
        if len(cells) != _FIELDS:
            raise TraceError(f"{self._path}:{place}: the line has {len(cells)} fields; give {_FIELDS}")
        names = {_SUBMIT: "submit", _WAIT: "wait", _RUN: "run", _PROCESSORS: "processors", _REQUESTED: "requested"}
        job = {at: number(self._path, place, name, cells[at]) for at, name in names.items()}
        count = job[_PROCESSORS] if job[_PROCESSORS] != _UNKNOWN else job[_REQUESTED]
        for at, name in names.items():
            if job[at] < 0 and job[at] != _UNKNOWN:
                raise TraceError(f"{self._path}:{place}: {name} is {job[at]:g}; give at least 0, or -1 for unknown")
        if _UNKNOWN in (job[_SUBMIT], job[_WAIT]) or job[_RUN] <= 0 or count <= 0:
            self.left_out += 1
            return
        self.starts.append(job[_SUBMIT] + job[_WAIT])
        self.runs.append(job[_RUN])
        self.processors.append(count)


def _running(starts: Floats, ends: Floats, counts: Floats, begin_s: float, end_s: float) -> tuple[Floats, Floats]:
    """Processors in use over a window: times from 0 and the level from each of them on."""
    events = np.concatenate((starts, ends))
    changes = np.concatenate((counts, -counts))
    order = np.argsort(events, kind="stable")
    knots, first = np.unique(events[order], return_index=True)
    levels = np.cumsum(np.add.reduceat(changes[order], first))
    before = int(np.searchsorted(knots, begin_s, side="right"))
    inside = (knots > begin_s) & (knots < end_s)
    level_at_start = levels[before - 1] if before else 0.0
    times = np.concatenate(([0.0], knots[inside] - begin_s, [end_s - begin_s]))
    values = np.concatenate(([level_at_start], levels[inside]))
    half = (times[-2] + times[-1]) / 2  # the last stay in two halves: so a CSV trace ends where the window does
    return np.append(times[:-1], half), np.append(values, values[-1])
