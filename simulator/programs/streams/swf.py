"""The Standard Workload Format 2.2: logs of jobs with 18 fields on a line, as archives keep them."""

import codecs
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Final

import numpy as np

from simulator.base import files
from simulator.base.arrays import Floats, Ints
from simulator.base.errors import ScenarioError, meant
from simulator.base.units import to_number
from simulator.programs.streams.cleaning import FIELDS, MOST_FAULTS, MOST_SECONDS, RawJobs, stream_name, tell

_FURTHER: Final = "{} further fields of each job are not used; the format has 18"
_BLOCK_BYTES: Final = 2**24
"""Read at once, so that a log may be larger than memory holds as text."""
_MOST_BYTES: Final = 4 * 2**30
"""Largest log, unpacked: 40 million jobs."""
_TIMES: Final = ("submission time", "wait time", "run time", "requested time")
_REAL: Final = (*_TIMES, "CPU time", "used memory", "requested memory", "think time")
"""Fields that may hold decimals."""
_MOST_WHOLE: Final = 2.0**53
_MOST_NAMED: Final = 100_000
"""Largest number that a name is kept for."""
_HEADER = re.compile(r";\s*([A-Za-z]+)\s*:\s*(.*)")
_COUNT = re.compile(r"[0-9]{1,15}|[0-9]{1,3}(?:,[0-9]{3}){1,4}")
_UNKNOWN: Final = frozenset(("", "-1", "unknown", "?"))
_ONCE: Final = frozenset(
    ("Version", "MaxJobs", "MaxRecords", "UnixStartTime", "TimeZone", "TimeZoneString", "MaxNodes", "MaxProcs")
)
"""Keys that a header has once."""
_OTHERS: Final = (
    *("Computer", "Installation", "Acknowledge", "Information", "Conversion", "Preemption", "StartTime", "EndTime"),
    *("MaxRuntime", "MaxMemory", "AllowOveruse", "MaxQueues", "Queues", "MaxPartitions", "Partitions", "Note", "Notes"),
)
"""Further keys of the format, of which nothing is needed here."""
_NAMED: Final = {
    "User": "user",
    "Group": "group",
    "Executable": "executable",
    "Queue": "queue",
    "Partition": "partition",
}
"""Keys that give a number a name, and the field that holds such numbers."""


def read_swf(path: Path, machine_processors: int | None = None) -> RawJobs:
    """The jobs of a log as they stand in the file, plain or packed with gzip.

    Notes
    -----
    S. J. Chapin et al., "Benchmarks and standards for the evaluation of parallel job schedulers", JSSPP 1999; version
    2.2 of the format as the Parallel Workloads Archive defines it.
    """
    header, faults, parts, places = _Header(str(path)), list[str](), list[Floats](), list[Ints]()
    wide = len(FIELDS)
    with files.open_lines(path) as stream:
        for first, block in _blocks(stream, path):
            narrow, width = _without_more(header.taken_from(block, first))
            wide = max(wide, width)
            values, lines = _jobs(narrow, path, first, faults)
            if lines.size:
                parts.append(values)
                places.append(lines)
            if len(header.faults) + len(faults) > MOST_FAULTS:
                break
    tell(str(path), [*header.faults, *faults])
    if not parts:
        raise ScenarioError(f"{path}: there is no job in this file; name a log with a line of 18 numbers per job")
    columns, lines = np.concatenate(parts), np.concatenate(places)
    tell(str(path), list(_out_of_range(path, columns, lines)))
    return RawJobs(
        place=str(path),
        name=stream_name(path),
        ids=columns[:, 0].astype(np.int64),
        columns=columns,
        lines=lines,
        machine_processors=header.processors if machine_processors is None else machine_processors,
        start_unix_s=header.start_unix_s,
        names=header.named(),
        notes=(*header.notes(), *([_FURTHER.format(wide - len(FIELDS))] if wide > len(FIELDS) else [])),
    )


@dataclass
class _Header:
    """Comment lines of a log as they are read."""

    place: str
    values: dict[str, str] = field(default_factory=dict)
    names: dict[str, dict[int, str]] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)

    @property
    def processors(self) -> int | None:
        """Of the machine: its processors, or else its nodes."""
        sizes = (self._number(key) for key in ("MaxProcs", "MaxNodes"))
        return next((size for size in sizes if size is not None and size > 0), None)

    @property
    def start_unix_s(self) -> float | None:
        """What second 0 of the log is."""
        found = self._number("UnixStartTime")
        return float(found) if found is not None and found > 0 else None

    def _number(self, key: str) -> int | None:
        text = self.values.get(key, "")
        if text.lower() in _UNKNOWN:
            return None
        if not _COUNT.fullmatch(text):
            raise ScenarioError(f"{self.place}: {key}: {text[:40]!r} is no whole number; write one, such as 1024")
        return int(text.replace(",", ""))

    def notes(self) -> tuple[str, ...]:
        """Keys that are nearly those of the format."""
        known = (*_ONCE, *_NAMED, *_OTHERS)
        unknown = [(key, meant(key, known)) for key in self.values if key not in known]
        return tuple(f"{key} in the header is not known{close}" for key, close in unknown if close)

    def named(self) -> dict[str, tuple[str, ...]]:
        """By field: the name of each number, empty for those that have none."""
        return {
            column: tuple(given.get(number, "") for number in range(max(given) + 1))
            for column, given in self.names.items()
        }

    def taken_from(self, block: bytes, first: int) -> bytes:
        """A block of lines with its comments read and blanked out."""
        rest, at, number, counted = bytearray(block), 0, first, 0
        while (mark := block.find(b";", at)) >= 0:
            start, end = block.rfind(b"\n", 0, mark) + 1, block.find(b"\n", mark)
            at = len(block) if end < 0 else end
            if block[start:mark].strip():  # inside a job's line, where it is no number
                continue
            number += block.count(b"\n", counted, start)
            counted = start
            self._line(number, block[mark:at].decode(errors="replace"))
            rest[start:at] = b" " * (at - start)
        return bytes(rest)

    def _line(self, number: int, text: str) -> None:
        match = _HEADER.match(text)
        if match is None:
            return
        key, value = match[1], match[2].strip()
        if key in _NAMED:
            numbered = re.match(r"([0-9]{1,6}):?\s+(\S.*)", value)
            if numbered and int(numbered[1]) <= _MOST_NAMED:
                self.names.setdefault(_NAMED[key], {}).setdefault(int(numbered[1]), numbered[2].strip())
        elif key in _ONCE and key in self.values:
            advice = "a log has one header; split the file where another one begins"
            self.faults.append(f"{self.place}:{number}: {key} comes again, and {advice}")
        else:
            self.values.setdefault(key, value)


def _blocks(stream: Iterable[bytes] | IO[bytes], path: Path) -> Iterator[tuple[int, bytes]]:
    """Whole lines, many at a time, with the number of the first."""
    number, rest, total = 1, b"", 0
    while data := stream.read(_BLOCK_BYTES):  # type: ignore[union-attr]
        total += len(data)
        if total > _MOST_BYTES:
            raise ScenarioError(f"{path}: the log has more than {_MOST_BYTES // 2**30} GiB; split it")
        data = data.removeprefix(codecs.BOM_UTF8) if total == len(data) else data
        whole, newline, after = data.rpartition(b"\n")
        if newline:
            block = rest + whole + newline
            yield number, block
            number, rest = number + block.count(b"\n"), after
        else:
            rest += data
            if len(rest) > _BLOCK_BYTES:
                raise ScenarioError(
                    f"{path}:{number}: a line has more than {_BLOCK_BYTES} bytes; it is no job of a log"
                )
    if rest.strip():
        yield number, rest


def _cells(block: bytes) -> tuple[Ints, Ints, Ints]:
    """Where each cell of a block begins, where each line ends, and the cells of each line."""
    letters = np.frombuffer(block, dtype=np.uint8)
    blank = (letters == ord(" ")) | ((letters >= ord("\t")) & (letters <= ord("\r")))
    starts = np.flatnonzero(~blank & np.concatenate(([True], blank[:-1])))
    ends = np.append(np.flatnonzero(letters == ord("\n")), letters.size)
    return starts, ends, np.diff(np.searchsorted(starts, ends), prepend=0)


def _without_more(block: bytes) -> tuple[bytes, int]:
    """A block without the further fields that all its lines have, as some simulators write; how many fields it had."""
    starts, ends, counts = _cells(block)
    jobs = counts > 0
    wide = int(counts.max(initial=0))
    several = jobs.sum() > 1 and len(FIELDS) < wide < 2 * len(FIELDS)  # else a line may hold two jobs, or be torn
    if not several or b";" in block or np.any(counts[jobs] != wide):
        return block, len(FIELDS)
    edges = np.zeros(len(block) + 1, dtype=np.int64)
    edges[starts.reshape(-1, wide)[:, len(FIELDS)]] += 1
    edges[ends[jobs]] -= 1
    letters = np.frombuffer(block, dtype=np.uint8)
    return np.where(np.cumsum(edges[:-1]) > 0, np.uint8(ord(" ")), letters).tobytes(), wide


def _jobs(block: bytes, path: Path, first: int, faults: list[str]) -> tuple[Floats, Ints]:
    """The numbers of a block without comments, (job, 18), and each job's line; what is wrong is added to `faults`."""
    starts, _, counts = _cells(block)
    if not starts.size:
        return np.empty((0, len(FIELDS))), np.empty(0, dtype=np.int64)
    if np.all((counts == 0) | (counts == len(FIELDS))):
        try:
            values = np.fromstring(block.decode("ascii"), sep=" ")
        except ValueError:
            values = np.empty(0)
        if values.size == starts.size and np.isfinite(values).all():
            return values.reshape(-1, len(FIELDS)), np.flatnonzero(counts) + first
    faults += _faults_of(block, path, first)
    return np.empty((0, len(FIELDS))), np.empty(0, dtype=np.int64)


def _faults_of(block: bytes, path: Path, first: int) -> list[str]:
    """The first lines of a block that are no jobs, where one at least is none."""
    found: list[str] = []
    for number, line in enumerate(block.split(b"\n"), start=first):
        cells = line.split()
        if cells and len(cells) != len(FIELDS):
            wrong = f"{len(cells)} fields and a job has {len(FIELDS)}; add or cut what differs from the format 2.2"
            found.append(f"{path}:{number}: the line has {wrong}")
            cells = []
        for name, cell in zip(FIELDS, cells, strict=False):
            text = cell.decode(errors="replace")
            value = to_number(text)
            if value is None or not np.isfinite(value) or not text.isprintable():
                found.append(f"{path}:{number}: {name}: {text[:40]!r} is no number; write -1 where it is not known")
        if len(found) > MOST_FAULTS:
            break
    return found or [f"{path}:{first}: this line or one below it holds what is no number; mend it"]


def _out_of_range(path: Path, columns: Floats, lines: Ints) -> Iterator[str]:
    """What no job can have, whatever the cleaning: parts where only whole numbers count, and numbers without sense."""
    for at, name in enumerate(FIELDS):
        values, most = columns[:, at], MOST_SECONDS if name in _TIMES else _MOST_WHOLE
        for k in np.flatnonzero(np.abs(values) > most)[: MOST_FAULTS + 1]:
            yield f"{path}:{lines[k]}: {name}: {values[k]:.15g} is beyond {most:.0f}; write -1 where it is not known"
        if name not in _REAL:
            for k in np.flatnonzero(values != np.floor(values))[: MOST_FAULTS + 1]:
                yield f"{path}:{lines[k]}: {name}: {values[k]:.15g} is no whole number; write one"
