"""Import of any CSV table with a header: the user names the value column and says what it measures."""

import csv
from pathlib import Path

from simulator.base.errors import TraceError
from simulator.base.units import to_number
from simulator.load_traces.importers.source import ImportOptions, Machines, Rows, Source, read_lines, unused

_UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6}


def read(path: Path, options: ImportOptions) -> Source:
    """Rows of a table; times are numbers in the stated unit, or dates; each value holds until the next row."""
    if options.measures is None:
        raise TraceError(
            f"{path}: measures: nothing stated; a table does not tell what it measures, so it must be stated"
        )
    if options.time_unit is not None and options.time_unit not in _UNITS:
        raise TraceError(f"{path}: time-unit is {options.time_unit!r}; give one of {', '.join(_UNITS)}")
    scale = _UNITS[options.time_unit or "s"]
    header: list[str] = []
    used: list[str] = []
    label = (options.series or "").partition("=")[0]
    groups: dict[str, Machines] = {}
    rows = Rows(path, "time", options.value_column or "value")

    def parse(place: int, line: str) -> None:
        if line.startswith("#"):
            return
        cells = [cell.strip() for cell in next(csv.reader([line]))]
        if not header:
            header.extend(cells)
            used.extend(_columns(path, place, cells, options))
            return
        row = rows.by_name(place, cells, header)
        texts = [name for name in header if name not in used and (name == label or to_number(row[name]) is None)]
        for name in texts:
            groups.setdefault(name, Machines(path, name, options.series if name == label else None))
        if all(groups[name].takes(row[name]) for name in sorted(texts, key=label.__ne__)):
            time, value = (row[name] for name in used)
            dated = "-" in time[1:] and ":" in time
            seconds = scale * rows.number(place, used[0], time) if not dated else rows.instant(place, used[0], time)
            rows.add(place, seconds, rows.number(place, used[1], value))

    read_lines(path, parse)
    for group in groups.values():
        group.check()
    return rows.source(options.measures, *unused(header, *used, label))


def _columns(path: Path, place: int, header: list[str], options: ImportOptions) -> tuple[str, str]:
    """The columns of times and values; without names only a table of two columns is clear."""
    label = options.series and options.series.partition("=")[0]
    for option, name in (
        ("time-column", options.time_column),
        ("value-column", options.value_column),
        ("series", label),
    ):
        if name is not None and name not in header:
            raise TraceError(f"{path}:{place}: {option} is {name!r}; give one of {', '.join(header)}")
    time = options.time_column or header[0]
    if options.value_column is None and len(header) != 2:
        raise TraceError(f"{path}:{place}: value-column is not stated; give one of {', '.join(header)}")
    return time, options.value_column or header[header[0] == time]
