"""Import of Bitbrains traces (Grid Workloads Archive T-12): CPU usage of a virtual machine."""

from dataclasses import replace
from pathlib import Path

from simulator.load_traces.importers.source import ImportOptions, Rows, Source, read_lines, unused

_USAGE = "CPU usage [%]"
_TIME = "Timestamp [ms]"
_CORES = "CPU cores"
_MILLISECONDS_FROM = 1e11
"""Unix times above this are milliseconds, below seconds: the header says ms, but rows hold seconds."""


def read(path: Path, _options: ImportOptions) -> Source:
    """CPU usage over time, the unit of time follows from its magnitude."""
    header: list[str] = []
    unit = "seconds"
    cores: float | None = None
    rows = Rows(path, _TIME, _USAGE, unix=True)

    def parse(place: int, line: str) -> None:
        nonlocal unit, cores
        cells = [cell.strip() for cell in line.split(";")]
        if not header:
            header.extend(cells)
            missing = [name for name in (_TIME, _USAGE, _CORES) if name not in cells]
            if missing:
                raise rows.fault(place, f"the header has no {missing[0]!r}; give Bitbrains' columns")
            return
        row = rows.by_name(place, cells, header)
        stamp, own = rows.number(place, _TIME, row[_TIME]), rows.number(place, _CORES, row[_CORES])
        if own < 1 or own % 1 or cores not in (None, own):
            wanted = "a whole number of at least 1" if cores is None else f"{cores:g} as in the rows before"
            raise rows.fault(place, f"{_CORES} is {row[_CORES]!r}; give {wanted}")
        cores = own
        if stamp >= _MILLISECONDS_FROM:
            stamp, unit = stamp / 1000.0, "milliseconds"
        rows.add(place, stamp, rows.number(place, _USAGE, row[_USAGE]))

    read_lines(path, parse, by_tool=True)
    notes = (f"times read as {unit}, by their magnitude", *unused(header, _TIME, _USAGE, _CORES))
    found = rows.source("busy-percent", *notes)
    return replace(found, cores=int(cores or 1))
