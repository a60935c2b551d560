"""What importers share: what a user may state, the rows a source gives, lines read with faults named."""

import array
import datetime
import math
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np

from simulator.base import files
from simulator.base.arrays import Floats
from simulator.base.errors import TraceError, some_names
from simulator.base.units import to_number
from simulator.load_traces.csv_file import TraceWarning

Measure = Literal["load", "busy", "busy-percent", "available", "available-percent"]
"""What a source's numbers are: mean runnable processes; busy share of the processors; the share left to us."""
_MAX_LINE_BYTES = 2**20
_SHOWN = 8
_LATEST_S = 1e11
"""Seconds since 1970 of the last date that is taken for one (year 5138)."""


@dataclass(frozen=True)
class ImportOptions:
    """What the user states about a source; None where nothing was stated."""

    measures: Measure | None = None
    """What the numbers measure, where the format leaves it open."""
    time_column: str | None = None
    value_column: str | None = None
    time_unit: str | None = None
    """`s`, `ms` or `us`, for times that are plain numbers."""
    cpu: str | None = None
    """Number of one processor, or `all`."""
    series: str | None = None
    """`label=value` that picks one of several series or machines."""
    processors: int | None = None
    """Size of the machine that a job log is about."""
    start_s: float | None = None
    """Where the window of a job log begins, in seconds since its own time 0."""
    duration_s: float | None = None
    """Length of that window, or of a profile written out period by period."""


@dataclass(frozen=True)
class Source:
    """Rows of a foreign file: `values[k]` holds from `times_s[k]` to the next row."""

    times_s: "array.array[float]"
    values: "array.array[float]"
    measures: Measure
    notes: tuple[str, ...] = ()
    """What a reader of the imported trace must know."""
    end_s: float | None = None
    """Where the last value's stay ends, if the source tells."""
    start: datetime.datetime | None = None
    """Date and time of the first row, with its zone, if the source tells."""
    cores: int | None = None
    """Cores that a busy share is of, if the source tells."""


@dataclass
class Rows:
    """Rows of a file as they are read, each checked when it is added; a fault names file, place and field."""

    path: Path
    time_field: str = "time"
    value_field: str = "value"
    times_s: "array.array[float]" = field(default_factory=lambda: array.array("d"))
    values: "array.array[float]" = field(default_factory=lambda: array.array("d"))
    unix: bool = False
    """Whether times are seconds since 1970."""
    first: datetime.datetime | None = None
    """Of the first row, where rows have dates."""

    def add(self, place: int | str, time: float | datetime.datetime, value: float) -> None:
        """Take in a row that stands at a line or record, with its seconds or its date and time."""
        time_s = time if isinstance(time, float | int) else self._seconds(place, time)
        if not math.isfinite(time_s) or (self.times_s and time_s <= self.times_s[-1]):
            allowed = f"more than {self.times_s[-1]:.12g}, as before" if self.times_s else "a finite number"
            raise self.fault(place, f"{self.time_field} is {time_s:.12g}; give {allowed}")
        if not math.isfinite(value) or value < 0:
            raise self.fault(place, f"{self.value_field} is {value:g}; give a finite number of at least 0")
        self.times_s.append(time_s)
        self.values.append(value)

    def _seconds(self, place: int | str, moment: datetime.datetime) -> float:
        """Seconds since 1970; of times without a zone only differences count."""
        self.first = self.first or moment
        if (moment.tzinfo is None) != (self.first.tzinfo is None):
            named = "has" if moment.tzinfo else "lacks"
            found = f"{moment} {named} a zone, unlike the rows before"
            raise self.fault(place, f"{self.time_field}: {found}; give all times with a zone, or none")
        return (moment if moment.tzinfo else moment.replace(tzinfo=datetime.UTC)).timestamp()

    def fault(self, place: int | str, text: str) -> TraceError:
        """An error at a line or record."""
        return TraceError(f"{self.path}:{place}: {text}")

    def number(self, place: int | str, name: str, text: object) -> float:
        """A finite number as a file states it."""
        try:
            value = to_number(text) if isinstance(text, str) else float(text)  # type: ignore[arg-type]  # seen below
        except (OverflowError, TypeError):
            value = None
        if value is None or not math.isfinite(value) or isinstance(text, bool):
            raise self.fault(place, f"{name} is {str(text)[:40]!r}; give a finite number")
        return value

    def instant(self, place: int | str, name: str, text: str) -> datetime.datetime:
        """A date and time, with its zone if one is written."""
        written = text.strip()
        try:
            return datetime.datetime.fromisoformat(written.removesuffix(" UTC") + "Z" * written.endswith(" UTC"))
        except ValueError as error:
            raise self.fault(place, f"{name} is {text[:40]!r}; give YYYY-MM-DD HH:MM:SS") from error

    def by_name(self, place: int | str, cells: Sequence[str], header: Sequence[str]) -> dict[str, str]:
        """The cells of a line by the names in the header, each of which must be there once."""
        if len(cells) != len(header):
            raise self.fault(place, f"the line has {len(cells)} columns; give {len(header)} as in the header")
        row = dict(zip(header, cells, strict=True))
        if len(row) < len(cells):
            twice = next(name for number, name in enumerate(header) if name in header[:number])
            raise self.fault(place, f"the header has {twice!r} twice; leave one of the columns out")
        return row

    def source(self, measures: Measure, *notes: str) -> Source:
        """These rows as a source, with the date of their beginning where its zone is known."""
        if self.first is None or self.first.tzinfo is not None:
            start = since_1970(self.times_s[0]) if self.unix and self.times_s else self.first
            return Source(self.times_s, self.values, measures, notes, start=start)
        unknown = "times of the source's own clock, whose zone it does not tell: the date is not kept"
        return Source(self.times_s, self.values, measures, (*notes, unknown))


class Machines:
    """Which of the machines of a table is read: the one that `series` names, or the only one there is."""

    def __init__(self, path: Path, label: str, series: str | None) -> None:
        found, mark, self.chosen = (series or "").partition("=")
        if series is not None and not (found == label and mark and self.chosen):
            raise TraceError(f"{path}: series is {series!r}; give {label}=NAME")
        self._path, self._label, self._series = path, label, series
        self._seen: dict[str, None] = {}

    def takes(self, name: str) -> bool:
        """Whether rows of this machine are read."""
        self.chosen = self.chosen or name
        if len(self._seen) < _SHOWN or name == self.chosen:
            self._seen[name] = None
        return name == self.chosen

    def check(self) -> None:
        """Refuse a table of several machines none of which is named, and a name that it does not have."""
        if (len(self._seen) > 1 and self._series is None) or (self._series and self.chosen not in self._seen):
            found = "nothing is stated" if self._series is None else f"there is no {self._series!r}"
            known = ", ".join(f"{self._label}={name}" for name in self._seen) or "one that has rows"
            raise TraceError(f"{self._path}: series: {found}; give one {self._label}, such as {known}")


def read_lines(path: Path, parse: Callable[[int, str], None], *, by_tool: bool = False) -> None:
    """Hand each line that is not blank to `parse`, streamed; a torn last line is left out with a warning.

    `parse`: takes line number and text.
    `by_tool`: whether a tool writes such files and ends every line: then a last line without its end is torn, even if
    it can be read. Otherwise only one that `parse` refuses is.

    TraceError
        What `parse` raises, and for a line that is too long or no UTF-8 text.
    """
    for number, line, whole in _lines(path):
        said = "a torn last line left out"
        try:
            if whole or not by_tool:
                parse(number, line)
                said = "the last line has no end; it is read, though it may be torn"
        except TraceError:
            if whole:
                raise
        if not whole:
            warnings.warn(f"{path}:{number}: {said}", TraceWarning, stacklevel=2)


def _lines(path: Path) -> Iterator[tuple[int, str, bool]]:
    with files.open_lines(path) as stream:
        for number, raw in enumerate(iter(lambda: stream.readline(_MAX_LINE_BYTES), b""), start=1):
            if len(raw) == _MAX_LINE_BYTES:
                raise TraceError(f"{path}:{number}: the line has {len(raw)} bytes or more; give shorter ones")
            try:
                line = raw.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError as error:
                raise TraceError(f"{path}:{number}: the line is not UTF-8; give UTF-8 text") from error
            if line.strip():
                yield number, line.strip(), raw.endswith(b"\n")


def unused(header: Iterable[str], *used: str) -> tuple[str, ...]:
    """The columns that are left out, as a note; none where all are used."""
    names = [name for name in dict.fromkeys(header) if name not in used]
    return (f"columns not used: {some_names(names)}",) if names else ()


def since_1970(time_s: float) -> datetime.datetime | None:
    """The date of a number of seconds since 1970; None for numbers that are hardly meant so, from before 1973 on."""
    return datetime.datetime.fromtimestamp(time_s, datetime.UTC) if 1e8 < time_s < _LATEST_S else None


def stacked(starts: Floats, ends: Floats, amounts: Floats, digits: int) -> tuple[Floats, Floats]:
    """Where stays begin or end, rounded to so many digits, and the sum of what stays from there to the next."""
    knots, place = np.unique(np.round(np.concatenate((starts, ends)), digits), return_inverse=True)
    changes = np.bincount(place, weights=np.concatenate((amounts, -amounts)), minlength=knots.size)
    return np.asarray(knots, np.float64), np.asarray(np.maximum(0.0, np.round(np.cumsum(changes), 12)), np.float64)


def choose_measure(path: Path, stated: Measure | None, offered: tuple[Measure, ...]) -> Measure:
    """The measure to take from a source that holds `offered`; with more than one the user must say which."""
    if stated is None and len(offered) == 1:
        return offered[0]
    if stated is None or stated not in offered:
        found = "nothing is stated" if stated is None else f"{stated!r} is stated"
        raise TraceError(f"{path}: measures: {found}; this file has {', '.join(offered) or 'none'}, state one")
    return stated
