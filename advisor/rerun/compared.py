"""Results of a command that was run twice, compared: files where it simulates, figures where it measures."""

import csv
import io
import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from advisor.report.cluster import ClusterResult
from advisor.report.pages import read_answer
from advisor.rerun.kept import LIMIT_BYTES, Record
from advisor.results import ANSWER_FILES
from advisor.verification.check import Verified, VerifiedConfiguration
from simulator import files

VOLATILE = frozenset(
    {
        *("provenance", "rerun", "written", "spent", "points", "sweep", "seconds"),
        *("setting", "output", "folder", "report", "made"),
    }
)
"""Entries at the top of a document that say when, where and how long, not what was found."""
ENGINES = frozenset(("engine", "screened_by"))
"""Entries that name an engine: which one a command takes depends on what is compiled, and their answers are equal."""
NO_RESULTS = frozenset(("report.html",))
"""Pages: all that they show is in the documents."""
VERSIONED = "hash"
"""Column of a table that names the version of the sources too."""
MOST_DIFFERENCES = 1000
"""Of those that a document lists."""
EQUAL = 1e-9
"""Relative size to which numbers are equal: processors sum in other orders, and their logarithms end in other bits."""
_NUMBER = re.compile(r"[+-]?(?:\d+\.\d*|\.\d+|\d+(?=[eE]))(?:[eE][+-]?\d+)?")
"""With a point or an exponent: a whole number is equal or is not."""


@dataclass(frozen=True)
class Difference:
    """One place where results differ."""

    place: str
    before: str
    after: str
    ratio: float | None

    @property
    def counts(self) -> bool:
        """Whether it is more than the last digits of a number."""
        return self.ratio is None or abs(self.ratio - 1) > EQUAL


@dataclass(frozen=True)
class Figure:
    """One thing that was measured twice."""

    name: str
    before: float
    after: float
    ratio: float
    low: float
    """Between here and `high` it was stated to lie, or seen before."""
    high: float
    within: bool


def differing_files(record: Record, again: Path) -> tuple[tuple[str, ...], tuple[Difference, ...]]:
    """Names of the files that were compared, and where they differ; of a measured command none."""
    if record.rule.measured:
        return (), ()
    names = sorted(path.name for path in record.folder.iterdir() if path.is_file() and _is_result(path.name))
    found: list[Difference] = []
    for name in names:
        before, after = record.folder / name, again / name
        if not after.is_file():
            found.append(Difference(name, "there", "missing", None))
            continue
        found += _differences(before, after, (record.output, str(again)))
    extra = sorted(path.name for path in again.iterdir() if path.is_file() and path.name not in names)
    found += [Difference(name, "missing", "there", None) for name in extra if _is_result(name)]
    return tuple(names), tuple(found)


def _is_result(name: str) -> bool:
    return name not in NO_RESULTS and not name.startswith((".", "search-")) and not name.endswith(".partial")


def _differences(before: Path, after: Path, outputs: tuple[str, str]) -> Iterator[Difference]:
    """Of two files; where they lie is not part of them."""
    old, new = (files.read_bytes(path, limit_bytes=LIMIT_BYTES) for path in (before, after))
    if old == new:
        return
    if before.suffix == ".json":
        yield from _in_data(_lasting(before), _lasting(after), before.name)
    elif before.suffix == ".csv":
        yield from _in_tables(old.decode(), new.decode(), before.name)
    else:
        own, other = (data.decode(errors="replace") for data in (old, new))
        sizes = f"{len(old)} bytes", f"{len(new)} other bytes"
        yield from _in_texts(own.replace(outputs[0], "OUT"), other.replace(outputs[1], "OUT"), before.name, sizes)


def _in_texts(before: str, after: str, place: str, shown: tuple[str, str]) -> Iterator[Difference]:
    """Where the numbers of two texts differ, if nothing else does; else what is to be shown of them."""
    if _NUMBER.split(before) != _NUMBER.split(after):
        yield Difference(place, *shown, _ratio(before, after))
        return
    for old, new in zip(_NUMBER.findall(before), _NUMBER.findall(after), strict=True):
        if old != new:
            yield Difference(place, old, new, _ratio(old, new))


def _lasting(path: Path) -> Any:
    """A document without what says when, where and how long."""
    document = files.read_json(path, limit_bytes=LIMIT_BYTES)
    if not isinstance(document, dict):
        return document
    return {key: value for key, value in document.items() if key not in VOLATILE}


def _in_data(before: Any, after: Any, place: str) -> Iterator[Difference]:
    """Where plain data differ; texts that are paths may."""
    if isinstance(before, dict) and isinstance(after, dict):
        for key in [key for key in {**before, **after} if key not in ENGINES]:
            inside = f"{place}.{key}" if ":" in place else f"{place}: {key}"
            yield from _in_data(before.get(key), after.get(key), inside)
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for number, (old, new) in enumerate(zip(before, after, strict=True)):
            yield from _in_data(old, new, f"{place}.{number}")
    elif isinstance(before, str) and isinstance(after, str):
        if before != after and not _are_paths(before, after):
            yield from _in_texts(before, after, place, (_shown(before), _shown(after)))
    elif before != after:
        yield Difference(place, _shown(before), _shown(after), _ratio(before, after))


def _are_paths(before: object, after: object) -> bool:
    """Whether two texts are paths; one in the working folder has no slash, and the name of the other."""
    if not isinstance(before, str) or not isinstance(after, str):
        return False
    slashes = ("/" in before) + ("/" in after)
    return slashes == 2 or (slashes == 1 and Path(before).name == Path(after).name)


def _in_tables(before: str, after: str, name: str) -> Iterator[Difference]:
    """Where the cells of two tables differ, the column apart that says the version."""
    old, new = (list(csv.reader(io.StringIO(text))) for text in (before, after))
    if len(old) != len(new) or old[:1] != new[:1]:
        yield Difference(name, f"{len(old)} rows", f"{len(new)} rows", None)
        return
    for number, (row, other) in enumerate(zip(old, new, strict=True)):
        for column, (cell, now) in enumerate(zip(row, other, strict=False)):
            if cell != now and old[0][column] != VERSIONED:
                yield from _in_texts(cell, now, f"{name}: row {number}, {old[0][column]}", (cell, now))


def _shown(value: object) -> str:
    text = str(value)
    return text if len(text) <= 40 else f"{text[:37]}..."


def _ratio(before: object, after: object) -> float | None:
    """The one over the other; None where they are not two numbers above or below 0."""
    try:
        old, new = float(str(before)), float(str(after))
    except ValueError:
        return None
    return new / old if old and math.isfinite(old) and math.isfinite(new) else None


# What was measured


def measured_figures(record: Record, again: Path) -> tuple[Figure, ...]:
    """Figures of both answers of a command that measures, by name; those that only one has are left out."""
    name = ANSWER_FILES[record.command]
    old, new = (dict(_figures(_answer(folder / name, record.command))) for folder in (record.folder, again))
    found = []
    for what, (value, low, high) in old.items():
        if what in new and value:
            now = new[what][0]
            found.append(Figure(what, value, now, now / value, low, high, low <= now <= high))
    return tuple(found)


def _answer(path: Path, command: str) -> Verified | ClusterResult:
    document = files.read_json(path, limit_bytes=LIMIT_BYTES)
    with files.understood(path, f"apportion {command}"):
        found: Verified | ClusterResult = read_answer(document, path)
    return found


_Read = Iterator[tuple[str, tuple[float, float, float]]]
"""Name, value, and where it was stated to lie or seen."""


def _figures(answer: Verified | ClusterResult) -> _Read:
    if isinstance(answer, Verified):
        yield from _configurations(answer.configurations)
        return
    for kernel in answer.kernels:
        for point in kernel.points:
            name = f"{kernel.name} on {kernel.pe} at {point.size_elements:g} elements, /s"
            yield name, (point.speed.mid, point.speed.low, point.speed.high)
    for one in answer.compared.baselines if answer.load is None else ():
        said = one.predicted
        if one.name not in {"equal", answer.compared.recommended}:
            continue
        if said.low is not None and said.high is not None:
            yield f"predicted makespan {one.name}, s", (said.mean, said.low, said.high)
    yield from _configurations(answer.verification)


def _configurations(entries: Iterable[VerifiedConfiguration]) -> _Read:
    """Measured medians, and the range of one run that was predicted, widened by the runs that were seen."""
    for one in entries:
        if seen := (*one.measured_s, *(one.predicted_range_s or ())):
            yield f"measured median of {one.name}, s", (one.measured_median_s, min(seen), max(seen))
