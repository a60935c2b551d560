"""Import of job logs in the Standard Workload Format 2.2: the running jobs of a window become load."""

import array
import datetime
from contextlib import suppress
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np

from simulator.base.arrays import Floats
from simulator.base.errors import TraceError, some_names
from simulator.base.units import to_number, to_whole
from simulator.load_traces.importers.source import ImportOptions, Rows, Source, read_lines, since_1970, stacked

_FIELDS = 18
_JOB, _SUBMIT, _WAIT, _RUN, _PROCESSORS, _REQUESTED, _PARTITION = 0, 1, 2, 3, 4, 7, 15
_HEADER = ("MaxProcs", "UnixStartTime", "TimeZoneString")
_UNKNOWN = -1
_DIGITS = 9
"""Of seconds: a job that begins when another ends must not overlap with it because 0.1 + 0.2 is more than 0.3."""


def read(path: Path, options: ImportOptions) -> Source:
    """Busy share of the machine over a window, exact at every start and end of a job.

    Jobs whose start, run time or processors are unknown (-1) are left out and counted in a note.
    """
    log = _Log(path)
    read_lines(path, log.line, by_tool=True)
    size = options.processors if options.processors is not None else log.whole("MaxProcs")
    if size is None or size < 1:
        raise TraceError(f"{path}: processors are not stated, and the header has no MaxProcs; state at least 1")
    if not log.starts:
        raise TraceError(f"{path}: no job has a known start, run time and processors; give at least one")
    starts, runs, counts = (np.frombuffer(column) for column in (log.starts, log.runs, log.processors))
    begin = options.start_s or 0.0
    last = round(float(np.max(starts + runs)), _DIGITS)
    end = begin + options.duration_s if options.duration_s is not None else last
    if end <= begin:
        raise TraceError(f"{path}: start: the last job ends at {last:g} s; give a time before that")
    times, busy = _running(starts, starts + runs, counts, begin, end)
    if float(np.max(busy)) > size:
        raise TraceError(
            f"{path}: processors: {size} stated, but the jobs of the window use up to {np.max(busy):g} at once"
        )
    notes: tuple[str, ...] = (
        f"{len(log.starts)} jobs, {log.left_out} left out (start, run time or processors unknown, or no run)",
        f"busy processors of {size}, from {begin:g} s to {end:g} s of the log",
    )
    if len(log.partitions) > 1:
        notes = (*notes, f"{len(log.partitions)} partitions are added up: {some_names(sorted(log.partitions))}")
    return Source(array.array("d", times), array.array("d", busy / size), "busy", notes, end, log.start(begin))


class _Log:
    """Jobs of a log as they are read."""

    def __init__(self, path: Path) -> None:
        self._rows = Rows(path)
        self._header: dict[str, tuple[int, str]] = {}
        self._jobs: set[str] = set()
        self.partitions: set[str] = set()
        self.left_out = 0
        self.starts, self.runs, self.processors = (array.array("d") for _ in range(3))

    def whole(self, name: str) -> int | None:
        """A number of the header; None where it is not there."""
        place, text = self._header.get(name, (0, ""))
        if text and to_whole(text) is None:
            raise self._rows.fault(place, f"{name} is {text[:40]!r}; give a whole number")
        return to_whole(text)

    def start(self, begin_s: float) -> datetime.datetime | None:
        """The date of an instant of the log, in the zone of the header if it has one, else in UTC."""
        unix = self.whole("UnixStartTime")
        moment = None if unix is None else since_1970(unix + begin_s)
        with suppress(ValueError, OSError):  # a zone that this system does not know
            return moment and moment.astimezone(ZoneInfo(self._header.get("TimeZoneString", (0, "UTC"))[1]))
        return moment

    def line(self, place: int, line: str) -> None:
        """Take in a header comment or a job; the first line may be either."""
        if line.startswith(";"):
            name, _, value = line.lstrip("; \t").partition(":")
            if name.strip() in _HEADER:
                if name.strip() in self._header:
                    raise self._rows.fault(place, f"{name.strip()} comes twice; leave one out")
                self._header[name.strip()] = place, value.strip()
            return
        cells = line.split()
        if len(cells) != _FIELDS:
            raise self._rows.fault(place, f"the line has {len(cells)} fields; give {_FIELDS}")
        wrong = next((at for at, cell in enumerate(cells) if to_number(cell) is None), None)
        if wrong is not None:
            raise self._rows.fault(place, f"field {wrong + 1} is {cells[wrong][:40]!r}; give a number")
        if cells[_JOB] in self._jobs:
            raise self._rows.fault(place, f"job {cells[_JOB]} comes twice; give each its own number")
        self._jobs.add(cells[_JOB])
        self.partitions.add(cells[_PARTITION])
        names = {_SUBMIT: "submit", _WAIT: "wait", _RUN: "run", _PROCESSORS: "processors", _REQUESTED: "requested"}
        job = {at: self._rows.number(place, name, cells[at]) for at, name in names.items()}
        count = job[_PROCESSORS] if job[_PROCESSORS] != _UNKNOWN else job[_REQUESTED]
        for at, name in names.items():
            if job[at] < 0 and job[at] != _UNKNOWN:
                raise self._rows.fault(place, f"{name} is {job[at]:g}; give at least 0, or -1 for unknown")
        if _UNKNOWN in (job[_SUBMIT], job[_WAIT]) or job[_RUN] <= 0 or count <= 0:
            self.left_out += 1
            return
        self.starts.append(job[_SUBMIT] + job[_WAIT])
        self.runs.append(job[_RUN])
        self.processors.append(count)


def _running(starts: Floats, ends: Floats, counts: Floats, begin_s: float, end_s: float) -> tuple[Floats, Floats]:
    """Processors in use over a window: its begin and the changes within, and the level from each of them on."""
    knots, levels = stacked(starts, ends, counts, _DIGITS)
    before = int(np.searchsorted(knots, begin_s, side="right"))
    inside = (knots > begin_s) & (knots < end_s)
    return np.append(begin_s, knots[inside]), np.append(levels[before - 1] if before else 0.0, levels[inside])
