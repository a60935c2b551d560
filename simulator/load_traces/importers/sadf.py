"""Import of sysstat's `sadf -d FILE -- -u -P ALL` (or `-q`) and `sadf -j`: busy percent or load average."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from simulator.base import files
from simulator.base.errors import MALFORMED, TraceError
from simulator.base.units import to_whole
from simulator.load_traces.importers.source import (
    ImportOptions,
    Measure,
    Rows,
    Source,
    choose_measure,
    instant,
    number,
    read_lines,
)

_AVERAGE, _IDLE, _WAITING = "ldavg-1", "idle", "iowait"


def read(path: Path, options: ImportOptions) -> Source:
    """Rows of one processor or all; a busy percent is the mean over the interval that ends at its time stamp.

    Waiting for input or output counts as idle, as in our own recordings.
    """
    with files.open_lines(path) as stream:
        is_json = stream.read(64).lstrip().startswith(b"{")
    reader = _Reader(path, options)
    if is_json:
        for place, row in _json_rows(path):
            reader.take(place, row)
    else:
        read_lines(path, reader.line, by_tool=True)
    return reader.source()


class _Reader:
    """Turns rows of named cells into those of one measure of one processor."""

    def __init__(self, path: Path, options: ImportOptions) -> None:
        self._path, self._options = path, options
        self._cpu = {"all": "-1"}.get(options.cpu or "all", options.cpu)
        self._header: list[str] = []
        self._measure: Measure | None = None
        self._restarts = 0
        self._offered: set[Measure] = set()
        self._cpus: set[str] = set()
        self._rows = {name: Rows(path, "timestamp", options.value_column or name) for name in ("busy-percent", "load")}

    def line(self, place: int, line: str) -> None:
        """Take in a line of `sadf -d`: a header of one activity, a restart, or a row."""
        if line.startswith("#"):
            self._header = [name.lstrip("%") for name in line.lstrip("# ").split(";")]
            return
        cells = line.split(";")
        if len(cells) > 3 and cells[3].startswith("LINUX-RESTART"):
            self._restarts += 1
            return
        if not self._header:
            raise TraceError(
                f"{self._path}:{place}: there is no header before the first row; give a '# hostname;...' line"
            )
        if len(cells) != len(self._header):
            raise TraceError(
                f"{self._path}:{place}: the line has {len(cells)} columns; give {len(self._header)} as in the header"
            )
        self.take(place, dict(zip(self._header, cells, strict=True)))

    def take(self, place: int | str, row: Mapping[str, Any]) -> None:
        """Take in a row of named cells."""
        measure: Measure = "load" if _AVERAGE in row else "busy-percent"
        wanted = self._options.value_column or (_AVERAGE if measure == "load" else _IDLE)
        if wanted not in row:
            return
        if "CPU" in row:
            self._cpus.add(str(row["CPU"]))
            if str(row["CPU"]) != self._cpu:
                return
        self._offered.add(measure)
        stamp = str(row["timestamp"])
        time_s = instant(self._path, place, "timestamp", stamp) if (whole := to_whole(stamp)) is None else float(whole)
        value = number(self._path, place, wanted, row[wanted])
        if wanted == _IDLE:
            value = max(0.0, 100.0 - value - number(self._path, place, _WAITING, row.get(_WAITING, 0.0)))
            time_s -= number(self._path, place, "interval", row["interval"])
        self._rows[measure].add(place, time_s, value)

    def source(self) -> Source:
        """The rows of the measure that was stated, or of the only one there is."""
        if not self._offered and self._cpus:
            known = ", ".join("all" if cpu == "-1" else cpu for cpu in sorted(self._cpus))
            raise TraceError(f"{self._path}: cpu is {self._options.cpu or 'all'!r}; give one of {known}")
        offered = tuple(sorted(self._offered))
        measure = choose_measure(self._path, self._options.measures, offered)
        if measure == "load" and self._options.cpu is not None:
            raise TraceError(
                f"{self._path}: cpu: load counts the whole machine, so a processor has no effect; leave it out"
            )
        notes = [f"{self._restarts} restarts of the machine lie within"] if self._restarts else []
        return self._rows[measure].source(measure, *notes)


def _json_rows(path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Rows of `sadf -j` in the names of `sadf -d`."""
    document = files.read_json(path)
    try:
        hosts = document["sysstat"]["hosts"]
        for place, entry in enumerate(hosts[0]["statistics"]):
            if "timestamp" not in entry:
                continue
            stamp = entry["timestamp"]
            common = {"timestamp": f"{stamp['date']} {stamp['time']}", "interval": stamp["interval"]}
            for row in entry.get("cpu-load", ()):
                yield f"statistics[{place}]", {**row, **common, "CPU": "-1" if row["cpu"] == "all" else row["cpu"]}
            if "queue" in entry:
                yield f"statistics[{place}]", {**entry["queue"], **common}
    except MALFORMED as error:
        raise TraceError(f"{path}: sysstat.hosts[0].statistics: not as `sadf -j` writes it") from error
