"""Foreign load data into load traces, one file per format; what a source measures is stated, never guessed."""

from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import get_args

import numpy as np

from simulator.base.errors import ScenarioError, TraceError
from simulator.load_traces.importers import (
    bitbrains,
    collectl,
    csv_table,
    dinda,
    google,
    prometheus,
    sadf,
    simgrid,
    swf,
)
from simulator.load_traces.importers.simgrid import read_profile
from simulator.load_traces.importers.source import ImportOptions, Measure, Source
from simulator.models.load import LoadTrace

__all__ = ["FORMATS", "MEASURES", "ImportOptions", "Imported", "import_trace", "read_profile"]

MEASURES: tuple[Measure, ...] = get_args(Measure)
"""What a source's numbers can be."""

_READERS: dict[str, tuple[Callable[[Path, ImportOptions], Source], tuple[str, ...]]] = {
    "csv": (csv_table.read, ("measures", "time_column", "value_column", "time_unit", "series")),
    "sadf": (sadf.read, ("measures", "value_column", "cpu", "series")),
    "collectl": (collectl.read, ("measures", "value_column", "cpu")),
    "prometheus": (prometheus.read, ("measures", "series")),
    "simgrid": (simgrid.read, ("duration_s",)),
    "dinda": (dinda.read, ()),
    "bitbrains": (bitbrains.read, ()),
    "google": (google.read, ("series",)),
    "swf": (swf.read, ("processors", "start_s", "duration_s")),
}
"""Format -> its reader and the options that it knows."""

FORMATS = tuple(_READERS)
"""Formats that `import_trace` reads."""


@dataclass(frozen=True)
class Imported:
    """A trace from a foreign file and what must be known about it."""

    trace: LoadTrace
    column: str
    """`load` or `available`: what the values are."""
    notes: tuple[str, ...]


def import_trace(
    path: str | Path, kind: str, *, options: ImportOptions | None = None, cores: int | None = None
) -> Imported:
    """Read foreign load data as a load trace.

    `kind`: one of `FORMATS`.
    `options`: what the user states about the source.
    `cores`: cores of the PE that the trace is for: a busy share becomes that many times its value as load. By default
    those that the file tells of, else 1.

    TraceError
        Naming file, place and field.
    ScenarioError
        For an unknown format or an option that it does not know.
    """
    path = Path(path)
    options = options or ImportOptions()
    if kind not in _READERS:
        raise ScenarioError(f"import: from is {kind!r}; give one of {', '.join(FORMATS)}")
    read, known = _READERS[kind]
    stated = [option.name for option in fields(options) if getattr(options, option.name) is not None]
    unknown = [
        f"import: {name.removesuffix('_s').replace('_', '-')}: not for {kind}" for name in stated if name not in known
    ]
    if unknown:
        raise ScenarioError(unknown)
    source = read(path, options)
    if len(source.times_s) < (2 if source.end_s is None else 1):
        raise TraceError(f"{path}: the number of rows is {len(source.times_s)}; give at least 2")
    if cores not in (None, 1) and not source.measures.startswith("busy"):
        raise TraceError(f"{path}: cores: no effect on {source.measures}, only a busy share hangs on it; leave it out")
    if cores is not None and source.cores not in (None, cores):
        raise TraceError(f"{path}: cores: {cores} stated, but the file says {source.cores}; leave it out")
    return _imported(path, source, cores or source.cores or 1)


def _imported(path: Path, source: Source, cores: int) -> Imported:
    times, values = np.frombuffer(source.times_s), np.frombuffer(source.values)
    per_unit = 0.01 if source.measures.endswith("-percent") else 1.0
    if source.measures.startswith("busy"):
        _refuse_above(path, values, source.measures, 1.02 / per_unit)  # counters overshoot by their last digit
        column, values = "load", np.minimum(values * per_unit, 1.0) * cores
        meaning = f"busy share of the source times {cores} cores: running processes, those that waited are not seen"
    elif source.measures.startswith("available"):
        column, values, meaning = "available", values * per_unit, "share of a PE left to us"
    else:
        column, meaning = "load", "mean runnable processes as the source states them"
    end_s = source.end_s if source.end_s is not None else 2 * times[-1] - times[-2]
    if len(times) == 1:  # in two halves: trace files have two rows at least
        times, values = np.array([times[0], (times[0] + end_s) / 2]), np.repeat(values, 2)
    trace = LoadTrace(times - times[0], values, float(end_s - times[0]), start_instant=source.start)
    return Imported(trace, column, (f"{column}: {meaning}", *source.notes))


def _refuse_above(path: Path, values: np.ndarray, measures: str, most: float) -> None:
    worst = int(np.argmax(values))
    if values[worst] > most:
        raise TraceError(f"{path}: row {worst + 1}: {measures} is {values[worst]:g}; give at most {round(most)}")
