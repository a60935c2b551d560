"""Import of `collectl -P` tables (`-scC`): busy percent of one processor or all, or the load average."""

import re
from pathlib import Path

from simulator.base.errors import TraceError
from simulator.load_traces.importers.source import (
    ImportOptions,
    Measure,
    Rows,
    Source,
    choose_measure,
    read_lines,
    unused,
)

_COLUMNS: dict[Measure, str] = {"busy-percent": "Totl%", "load": "L-Avg1"}


def read(path: Path, options: ImportOptions) -> Source:
    """Rows of one column; times are local without a zone. What collectl prints before its header is passed over."""
    header: list[str] = []
    separator: str | None = None
    measure: Measure = "load"
    column = ""
    rows = Rows(path, "Date Time", options.value_column or "value")

    def parse(place: int, line: str) -> None:
        nonlocal separator, measure, column
        if line.startswith("#Date"):
            separator = None if line[5] == " " else line[5]
            header[:] = line[1:].split(separator)
            measure, column = _column(path, header, options)
            return
        if not header or line.startswith("#"):
            return
        cells = line.split(separator)
        row = rows.by_name(place, cells, header)
        date = re.fullmatch(r"(\d{4})(\d\d)(\d\d)", cells[0])
        if date is None:
            raise rows.fault(place, f"Date is {cells[0][:40]!r}; give YYYYMMDD")
        moment = rows.instant(place, "Date Time", f"{'-'.join(date.groups())} {cells[1]}")
        rows.add(place, moment, rows.number(place, column, row[column]))

    read_lines(path, parse, by_tool=True)
    if not header:
        raise TraceError(f"{path}: there is no header; give a line that begins with '#Date'")
    return rows.source(measure, *unused(header, "Date", "Time", column))


def _column(path: Path, header: list[str], options: ImportOptions) -> tuple[Measure, str]:
    """What to read and the column where it stands."""
    group = "[CPU]" if options.cpu in (None, "all") else f"[CPU:{options.cpu}]"
    if options.value_column is not None:
        if options.value_column not in header:
            raise TraceError(f"{path}: value-column is {options.value_column!r}; give one of {', '.join(header)}")
        if options.cpu is not None:
            raise TraceError(
                f"{path}: cpu: no effect with a named column, which is of one processor or of all; leave it out"
            )
        if options.measures is None:
            raise TraceError(f"{path}: measures: nothing stated, what {options.value_column} measures must be stated")
        return options.measures, options.value_column
    offered = tuple(measure for measure, name in _COLUMNS.items() if group + name in header)
    if not offered:
        cpus = re.findall(r"\[CPU:(\d+)\]Totl%", " ".join(header))
        raise TraceError(f"{path}: cpu is {options.cpu or 'all'!r}; give one of {', '.join(['all', *cpus])}")
    measure = choose_measure(path, options.measures, offered)
    return measure, group + _COLUMNS[measure]
