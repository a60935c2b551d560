"""Import of sysstat's `sadf -d FILE -- -u -P ALL` (or `-q`) and `sadf -j`: busy percent or load average."""

import codecs
import datetime
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from simulator.base import files
from simulator.base.errors import MALFORMED, TraceError
from simulator.base.units import to_whole
from simulator.load_traces.importers.source import (
    ImportOptions,
    Machines,
    Measure,
    Rows,
    Source,
    choose_measure,
    read_lines,
    since_1970,
    unused,
)

_AVERAGE, _IDLE, _WAITING = "ldavg-1", "idle", "iowait"
_ALWAYS = ("hostname", "interval", "timestamp")
_BUSY = ("CPU", "cpu", _IDLE, _WAITING)


def read(path: Path, options: ImportOptions) -> Source:
    """Rows of one processor or all; a busy percent is the mean over the interval that ends at its time stamp.

    Waiting for input or output counts as idle, as in our own recordings.
    """
    with files.open_lines(path) as stream:
        is_json = stream.read(64).removeprefix(codecs.BOM_UTF8).lstrip().startswith(b"{")
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
        self._file, self._options = Rows(path), options
        self._machines = Machines(path, "hostname", options.series)
        self._cpu = {"all": "-1"}.get(options.cpu or "all", options.cpu)
        self._header: list[str] = []
        self._measure: Measure | None = None
        self._restarts = 0
        self._columns: dict[str, None] = {}
        self._offered: set[Measure] = set()
        self._cpus: set[str] = set()
        self._rows = {name: Rows(path, "timestamp", options.value_column or name) for name in ("busy-percent", "load")}

    def line(self, place: int, line: str) -> None:
        """Take in a line of `sadf -d`: a header of one activity, a restart, or a row."""
        if line.startswith("#"):
            names = [name.lstrip("%") for name in line.lstrip("# ").split(";")]
            self._header = names
            missing = next((name for name in _ALWAYS if name not in names), None)
            if missing is not None:
                raise self._file.fault(place, f"the header has no {missing!r}; give one of `sadf -d`")
            return
        cells = line.split(";")
        if len(cells) > 3 and cells[3].startswith("LINUX-RESTART"):
            self._restarts += 1
            return
        if not self._header:
            raise self._file.fault(place, "there is no header before the first row; give a '# hostname;...' line")
        self.take(place, self._file.by_name(place, cells, self._header))

    def take(self, place: int | str, row: Mapping[str, Any]) -> None:
        """Take in a row of named cells."""
        measure: Measure = "load" if _AVERAGE in row else "busy-percent"
        wanted = self._options.value_column or (_AVERAGE if measure == "load" else _IDLE)
        self._columns |= dict.fromkeys(row)
        if not self._machines.takes(str(row["hostname"])) or wanted not in row:
            return
        if wanted == _IDLE and _WAITING not in row:
            raise self._file.fault(place, "there is no %iowait beside %idle; give rows of `sadf -- -u`")
        if "CPU" in row:
            self._cpus.add(str(row["CPU"]))
            if str(row["CPU"]) != self._cpu:
                return
        self._offered.add(measure)
        stamp = str(row["timestamp"])
        whole = to_whole(stamp)
        moment = since_1970(whole or 0) or self._file.instant(place, "timestamp", stamp)
        value = self._file.number(place, wanted, row[wanted])
        if wanted == _IDLE:
            value = max(0.0, 100.0 - value - self._file.number(place, _WAITING, row[_WAITING]))
            moment -= datetime.timedelta(seconds=self._file.number(place, "interval", row["interval"]))
        self._rows[measure].add(place, moment, value)

    def source(self) -> Source:
        """The rows of the measure that was stated, or of the only one there is."""
        self._machines.check()
        if not self._offered and self._cpus:
            known = ", ".join("all" if cpu == "-1" else cpu for cpu in sorted(self._cpus))
            raise TraceError(f"{self._file.path}: cpu is {self._options.cpu or 'all'!r}; give one of {known}")
        offered = tuple(sorted(self._offered))
        measure = choose_measure(self._file.path, self._options.measures, offered)
        if measure == "load" and self._options.cpu is not None:
            raise TraceError(
                f"{self._file.path}: cpu: load counts the whole machine, so a processor has no effect; leave it out"
            )
        used = self._options.value_column or (_AVERAGE if measure == "load" else _IDLE)
        notes = unused(self._columns, *_ALWAYS, *_BUSY, used)
        restarts = (f"{self._restarts} restarts of the machine lie within",) if self._restarts else ()
        return self._rows[measure].source(measure, *notes, *restarts)


def _json_rows(path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Rows of `sadf -j` in the names of `sadf -d`."""
    document = files.read_json(path)
    try:
        for host in document["sysstat"]["hosts"]:
            for place, entry in enumerate(host["statistics"]):
                yield from ((f"statistics[{place}]", row) for row in _rows_of(entry, host["nodename"]))
    except MALFORMED as error:
        raise TraceError(f"{path}: sysstat.hosts[].statistics: not as `sadf -j` writes it") from error


def _rows_of(entry: Mapping[str, Any], host: str) -> Iterator[dict[str, Any]]:
    """The rows of one time; other activities are passed over, but their names are kept."""
    if "timestamp" not in entry:
        return
    stamp = entry["timestamp"]
    zone = "+00:00" if stamp.get("utc") == 1 else ""
    common = {"timestamp": f"{stamp['date']} {stamp['time']}{zone}", "interval": stamp["interval"], "hostname": host}
    for row in entry.get("cpu-load", ()):
        yield {**row, **common, _IDLE: row[_IDLE], "CPU": "-1" if row["cpu"] == "all" else row["cpu"]}
    if "queue" in entry:
        yield {**entry["queue"], **common, _AVERAGE: entry["queue"][_AVERAGE]}
    others = [name for name in entry if name not in ("timestamp", "cpu-load", "queue")]
    yield {**dict.fromkeys(others), **common}
