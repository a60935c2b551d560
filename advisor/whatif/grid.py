"""The points of a what-if as a grid: fields with their stops in order, and which point is where."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simulator import ScenarioError, documents, units
from simulator.experiments.sweep import Plan, Point

_KINDS = (units.DURATION, units.SIZE, units.BANDWIDTH, units.SPEED, units.POWER, units.SHARE)


@dataclass(frozen=True)
class Stop:
    """One value of a field."""

    text: str
    """The value, and in brackets how it was asked for if that differs: `2Gbit/s (x2)`."""
    value: float | None
    """As a number in SI units, where all stops of the field are numbers of one kind."""
    as_is: bool
    """Whether it is what the scenario has there."""


@dataclass(frozen=True)
class Field(documents.Record):
    """What is varied by itself: a field of the scenario, or several that go side by side."""

    DERIVED = ("name",)

    paths: tuple[str, ...]
    stops: tuple[Stop, ...]
    """Ascending where they are numbers, else as they were asked for."""

    @property
    def name(self) -> str:
        """Its path, or all of them."""
        return " with ".join(self.paths)

    @property
    def numeric(self) -> bool:
        """Whether all stops are numbers."""
        return all(stop.value is not None for stop in self.stops)


@dataclass(frozen=True)
class Grid:
    """Fields and the points at all combinations of their stops."""

    fields: tuple[Field, ...]
    places: NDArray[np.int64] = field(metadata=documents.named("points"))
    """The number of each point; (stop of the first field, of the second, ...)."""


def grid_of(plan: Plan, before: Mapping[str, Any]) -> Grid:
    """The grid of a plan; points side by side (`--zip`) are one field of all paths.

    A single field has the base among its stops, whether it was asked for or not.

    `before`: what the scenario has at each path, None where that is not known.
    """
    points, paths = plan.points[1:], tuple(before)
    alike = all(len(point.changes) == len(paths) for point in points)
    asked = [dict.fromkeys(point.changes[place] for point in points) for place in range(len(paths) if alike else 0)]
    if len(paths) > 1 and alike and int(np.prod([len(found) for found in asked])) == len(points):
        fields, ranks = [], []
        for place, path in enumerate(paths):
            firsts = {point.changes[place]: point for point in reversed(points)}
            field, order = _field(before, (path,), [firsts[text] for text in asked[place]])
            fields.append(field)
            ranks.append({list(asked[place])[old]: new for new, old in enumerate(order)})
        places = np.zeros([len(field.stops) for field in fields], dtype=np.int64)
        for number, point in enumerate(points, start=1):
            places[tuple(rank[text] for rank, text in zip(ranks, point.changes, strict=True))] = number
        return Grid(tuple(fields), places)
    there = any(not differing(point.values, before) for point in points)
    silent = None in before.values()  # a default that no stop can name
    numbers = list(range(1 if there or silent else 0, len(plan.points)))
    field, order = _field(before, paths, [plan.points[number] for number in numbers])
    return Grid((field,), np.array([numbers[place] for place in order], dtype=np.int64))


def _field(present: Mapping[str, Any], paths: tuple[str, ...], points: Sequence[Point]) -> tuple[Field, list[int]]:
    """A field whose stops are those of some points, and the order that they are in."""
    before = {path: present[path] for path in paths}
    values = [{path: point.values.get(path, before[path]) for path in paths} for point in points]
    asked = [dict(zip(point.values, point.changes, strict=True)) for point in points]
    numbers: list[float | None] = [None] * len(points)
    if len(paths) == 1:
        numbers = numbers_of([one[paths[0]] for one in values])
    order = list(range(len(points)))
    if None not in numbers:
        order.sort(key=lambda place: numbers[place] or 0.0)
    texts = [
        ", ".join(_text(path, value, of.get(path)) for path, value in one.items() if path in of or not of)
        for one, of in zip(values, asked, strict=True)
    ]
    stops = [Stop(texts[place], numbers[place], not differing(values[place], before)) for place in order]
    return Field(paths, tuple(stops)), order


def _text(path: str, value: Any, asked: str | None) -> str:
    said = shown(value)
    given = said if asked is None else asked.removeprefix(f"{path}=")
    same = given.replace(" ", "") == said.replace(" ", "")
    return said if same or not isinstance(value, str | int | float) else f"{said} ({given})"


def differing(values: Mapping[str, Any], before: Mapping[str, Any]) -> list[str]:
    """Paths where values are not what the scenario has; `10Gbit/s` and `10 Gbit/s` are the same."""
    return [path for path, value in values.items() if not _same(value, before[path])]


def _same(value: Any, other: Any) -> bool:
    if value == other:
        return True
    found = numbers_of([value, other])
    return found[0] is not None and found[0] == found[1]


def shown(value: Any) -> str:
    """A value as people write it."""
    if isinstance(value, bool) or value is None or not isinstance(value, str | int | float):
        return json.dumps(value)
    return f"{value:.6g}" if isinstance(value, float) else value if isinstance(value, str) else str(value)


def numbers_of(values: Sequence[Any]) -> list[float | None]:
    """The values in SI units, if all are numbers, or quantities of one kind; else None for each."""
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
        return [float(value) for value in values]
    for kind in _KINDS:
        found = [_quantity(value, kind) for value in values]
        if None not in found:
            return found
    return [None] * len(values)


def _quantity(value: Any, kind: dict[str, Decimal]) -> float | None:
    if not isinstance(value, str):
        return None
    try:
        return units.parse(value, kind, field="")
    except ScenarioError:
        return None
