"""Import of Google's cluster trace of 2011 (task_usage): the CPU rates of all tasks on a machine, added up."""

import array
import datetime
from pathlib import Path

import numpy as np

from simulator.base.errors import TraceError
from simulator.load_traces.importers.source import ImportOptions, Machines, Rows, Source, read_lines, stacked

_FIELDS = 20
_START, _END, _MACHINE, _RATE = 0, 1, 4, 5
_TASK = slice(2, 4)
_US = 1e-6
_DIGITS = 6
_BEGIN = datetime.datetime(2011, 5, 1, 18, 50, tzinfo=datetime.timezone(datetime.timedelta(hours=-4)))
"""The trace's time 0, 600 s before its first sample, in the zone of its data centre."""


def read(path: Path, options: ImportOptions) -> Source:
    """Busy share of a machine, exact at every border of a sample; the file, without a header, may be packed (`.gz`).

    Only the rows of the machine are held. `series` names it, `machine=NUMBER`, where the file has several.
    """
    tasks = _Tasks(path, Machines(path, "machine", options.series))
    read_lines(path, tasks.line)
    tasks.machines.check()
    if not tasks.starts:
        raise TraceError(f"{path}: the number of rows is 0; give at least 2")
    starts, ends, amounts = (np.frombuffer(column) for column in (tasks.starts, tasks.ends, tasks.rates))
    times, rates = stacked(starts, ends, amounts, _DIGITS)
    notes = (
        f"machine {tasks.machines.chosen}, {len(tasks.starts)} samples of its tasks, from {times[0]:g} s of the trace",
        "a rate of 1 is all cores of the trace's largest machine: a smaller one is full below 1",
    )
    start = _BEGIN + datetime.timedelta(seconds=float(times[0]))
    return Source(array.array("d", times[:-1]), array.array("d", rates[:-1]), "busy", notes, float(times[-1]), start)


class _Tasks:
    """Samples of one machine as they are read."""

    def __init__(self, path: Path, machines: Machines) -> None:
        self._rows, self.machines = Rows(path), machines
        self._seen: set[tuple[str, ...]] = set()
        self.starts, self.ends, self.rates = (array.array("d") for _ in range(3))

    def line(self, place: int, line: str) -> None:
        """Take in a row."""
        cells = line.split(",")
        if len(cells) not in {_FIELDS - 1, _FIELDS}:  # the trace's first version had no sampled rate
            raise self._rows.fault(place, f"the line has {len(cells)} columns; give {_FIELDS}")
        if not self.machines.takes(cells[_MACHINE]):
            return
        task = (cells[_START], *cells[_TASK])
        if task in self._seen:
            raise self._rows.fault(place, f"a sample of task {'/'.join(task[1:])} comes twice; leave one out")
        self._seen.add(task)
        begin, end = (self._rows.number(place, what, cells[at]) for what, at in (("start", _START), ("end", _END)))
        rate = self._rows.number(place, "CPU rate", cells[_RATE])
        if not 0 <= begin < end or rate < 0:
            allowed = "give a start before the end and a rate of at least 0"
            raise self._rows.fault(place, f"sample: {begin:g} to {end:g} us at {rate:g}; {allowed}")
        self.starts.append(begin * _US)
        self.ends.append(end * _US)
        self.rates.append(rate)
