"""What importers share: what a user may state, the rows a source gives, lines read with faults named."""

import array
import datetime
import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from simulator.base import files
from simulator.base.errors import TraceError
from simulator.base.units import to_number
from simulator.load_traces.csv_file import TraceWarning

Measure = Literal["load", "busy", "busy-percent", "available", "available-percent"]
"""What a source's numbers are: mean runnable processes; busy share of the processors; the share left to us."""
_MAX_LINE_BYTES = 2**20


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
    """`label=value` that picks one of several series."""
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


@dataclass(frozen=True)
class Rows:
    """Rows as they are read, each checked when it is added."""

    path: Path
    time_field: str
    value_field: str
    times_s: "array.array[float]" = field(default_factory=lambda: array.array("d"))
    values: "array.array[float]" = field(default_factory=lambda: array.array("d"))

    def add(self, place: int | str, time_s: float, value: float) -> None:
        """Take in a row that stands at a line or record."""
        if not math.isfinite(time_s) or (self.times_s and time_s <= self.times_s[-1]):
            allowed = f"more than {self.times_s[-1]:.12g}, as before" if self.times_s else "a finite number"
            raise TraceError(f"{self.path}:{place}: {self.time_field} is {time_s:.12g}; give {allowed}")
        if not math.isfinite(value) or value < 0:
            raise TraceError(
                f"{self.path}:{place}: {self.value_field} is {value:g}; give a finite number of at least 0"
            )
        self.times_s.append(time_s)
        self.values.append(value)

    def source(self, measures: Measure, *notes: str) -> Source:
        """These rows as a source."""
        return Source(self.times_s, self.values, measures, notes)


def read_lines(path: Path, parse: Callable[[int, str], None], *, by_tool: bool = False) -> None:
    """Hand each line that is not blank to `parse`, streamed; a torn last line is left out with a warning.

    `parse`: takes line number and text.
    `by_tool`: whether a tool writes such files and ends every line: then a last line without its end is torn, even if
    it can be read. Otherwise only one that `parse` refuses is.

    TraceError
        What `parse` raises, and for a line that is too long or no UTF-8 text.
    """
    for number, line, whole in _lines(path):
        try:
            if whole or not by_tool:
                parse(number, line)
                continue
        except TraceError:
            if whole:
                raise
        warnings.warn(f"{path}:{number}: a torn last line left out", TraceWarning, stacklevel=2)


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


def by_name(path: Path, place: int, cells: Sequence[str], header: Sequence[str]) -> dict[str, str]:
    """The cells of a line by the names in the header; of several columns of a name the first."""
    if len(cells) != len(header):
        raise TraceError(f"{path}:{place}: the line has {len(cells)} columns; give {len(header)} as in the header")
    return dict(zip(reversed(header), reversed(cells), strict=True))


def number(path: Path, place: int | str, name: str, text: object) -> float:
    """A finite number as a file states it.

    TraceError
        Naming file, place and field.
    """
    try:
        value = to_number(text) if isinstance(text, str) else float(text)  # type: ignore[arg-type]  # seen below
    except (OverflowError, TypeError):
        value = None
    if value is None or not math.isfinite(value) or isinstance(text, bool):
        raise TraceError(f"{path}:{place}: {name} is {str(text)[:40]!r}; give a finite number")
    return value


def instant(path: Path, place: int | str, name: str, text: str) -> float:
    """Seconds since 1970 of a date and time; one without a zone is taken as UTC, since only differences are kept.

    TraceError
        Naming file, place and field.
    """
    try:
        found = datetime.datetime.fromisoformat(text.strip().removesuffix(" UTC"))
    except ValueError as error:
        raise TraceError(f"{path}:{place}: {name} is {text[:40]!r}; give YYYY-MM-DD HH:MM:SS") from error
    return (found if found.tzinfo else found.replace(tzinfo=datetime.UTC)).timestamp()


def choose_measure(path: Path, stated: Measure | None, offered: tuple[Measure, ...]) -> Measure:
    """The measure to take from a source that holds `offered`; with more than one the user must say which."""
    if stated is None and len(offered) == 1:
        return offered[0]
    if stated is None or stated not in offered:
        found = "nothing is stated" if stated is None else f"{stated!r} is stated"
        raise TraceError(f"{path}: measures: {found}; this file has {', '.join(offered) or 'none'}, state one")
    return stated
