"""Import of any CSV table with a header: the user names the value column and says what it measures."""

import csv
from pathlib import Path

from simulator.base.errors import TraceError
from simulator.load_traces.importers.source import ImportOptions, Rows, Source, by_name, instant, number, read_lines

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
    time_at = value_at = 0
    rows = Rows(path, "time", options.value_column or "value")

    def parse(place: int, line: str) -> None:
        nonlocal time_at, value_at
        if line.startswith("#"):
            return
        cells = [cell.strip() for cell in next(csv.reader([line]))]
        if not header:
            header.extend(cells)
            time_at, value_at = _columns(path, place, cells, options)
            return
        by_name(path, place, cells, header)
        time = cells[time_at]
        dated = "-" in time[1:] and ":" in time
        seconds = (
            instant(path, place, header[time_at], time) if dated else scale * number(path, place, header[time_at], time)
        )
        rows.add(place, seconds, number(path, place, header[value_at], cells[value_at]))

    read_lines(path, parse)
    return rows.source(options.measures)


def _columns(path: Path, place: int, header: list[str], options: ImportOptions) -> tuple[int, int]:
    """Where time and value stand; without names only a table of two columns is clear."""
    for option, name in (("time-column", options.time_column), ("value-column", options.value_column)):
        if name is not None and name not in header:
            raise TraceError(f"{path}:{place}: {option} is {name!r}; give one of {', '.join(header)}")
    time_at = header.index(options.time_column) if options.time_column else 0
    if options.value_column is not None:
        return time_at, header.index(options.value_column)
    if len(header) != 2:
        raise TraceError(f"{path}:{place}: value-column is not stated; give one of {', '.join(header)}")
    return time_at, 1 - time_at
