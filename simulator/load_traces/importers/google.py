"""Import of Google's cluster trace of 2011 (task_usage): the CPU rates of all tasks on a machine, added up."""

import array
from pathlib import Path

import numpy as np

from simulator.base.arrays import Floats
from simulator.base.errors import TraceError
from simulator.load_traces.importers.source import ImportOptions, Source, number, read_lines

_FIELDS = 20
_START, _END, _MACHINE, _RATE = 0, 1, 4, 5
_US = 1e-6
_DIGITS = 6
_SHOWN = 8


def read(path: Path, options: ImportOptions) -> Source:
    """Busy share of a machine, exact at every border of a sample; the file, without a header, may be packed (`.gz`).

    Only the rows of the machine are held. `series` names it, `machine=NUMBER`, where the file has several.
    """
    tasks = _Tasks(path, options.series)
    read_lines(path, tasks.line)
    if not tasks.starts or (tasks.others and options.series is None):
        found = "nothing is stated" if options.series is None else f"there is no {options.series!r}"
        here = [tasks.machine, *tasks.others] if tasks.starts else list(tasks.others)
        known = ", ".join(f"machine={name}" for name in here) or "one that has rows"
        raise TraceError(f"{path}: series: {found}; give one machine, such as {known}")
    times, rates = _summed(*(np.frombuffer(column) for column in (tasks.starts, tasks.ends, tasks.rates)))
    notes = (
        f"machine {tasks.machine}, {len(tasks.starts)} samples of its tasks, from {times[0]:g} s of the trace",
        "a rate of 1 is all cores of the trace's largest machine: a smaller one is full below 1",
    )
    return Source(array.array("d", times[:-1]), array.array("d", rates), "busy", notes, float(times[-1]))


class _Tasks:
    """Samples of one machine as they are read."""

    def __init__(self, path: Path, series: str | None) -> None:
        self._path = path
        label, mark, name = (series or "").partition("=")
        if series is not None and (label != "machine" or not mark or not name):
            raise TraceError(f"{path}: series is {series!r}; give machine=NUMBER")
        self.machine = name or None
        """The one asked for, or the first one."""
        self.others: dict[str, None] = {}
        self.starts, self.ends, self.rates = (array.array("d") for _ in range(3))

    def line(self, place: int, line: str) -> None:
        """Take in a row."""
        cells = line.split(",")
        if len(cells) not in {_FIELDS - 1, _FIELDS}:  # the trace's first version had no sampled rate
            raise TraceError(f"{self._path}:{place}: the line has {len(cells)} columns; give {_FIELDS}")
        name = cells[_MACHINE]
        self.machine = self.machine or name
        if name != self.machine:
            if len(self.others) < _SHOWN:
                self.others[name] = None
            return
        begin, end = (number(self._path, place, what, cells[at]) for what, at in (("start", _START), ("end", _END)))
        rate = number(self._path, place, "CPU rate", cells[_RATE])
        if not 0 <= begin < end or rate < 0:
            allowed = "give a start before the end and a rate of at least 0"
            raise TraceError(f"{self._path}:{place}: sample: {begin:g} to {end:g} us at {rate:g}; {allowed}")
        self.starts.append(begin * _US)
        self.ends.append(end * _US)
        self.rates.append(rate)


def _summed(starts: Floats, ends: Floats, rates: Floats) -> tuple[Floats, Floats]:
    """Borders of samples, and the sum of the rates from each of them to the next; the last stay in two halves."""
    events = np.round(np.concatenate((starts, ends)), _DIGITS)
    knots, place = np.unique(events, return_inverse=True)
    change = np.bincount(place, weights=np.concatenate((rates, -rates)), minlength=knots.size)
    levels = np.maximum(0.0, np.round(np.cumsum(change)[:-1], 12))
    half = (knots[-2] + knots[-1]) / 2  # so a CSV trace ends where the samples do
    return np.concatenate((knots[:-1], [half], knots[-1:])), np.append(levels, levels[-1])
