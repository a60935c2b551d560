"""Arguments of an analysed function: numbers, and arrays described as `float64[n,n]`, at any parameters."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from simulator.base import formula, units
from simulator.base.errors import ScenarioError
from simulator.base.given import check_once
from simulator.base.randomness import stream

Values: TypeAlias = Mapping[str, float]
"""Parameter -> value."""
TYPES = ("float64", "float32", "int64", "int32", "int16", "int8", "uint64", "uint32", "uint16", "uint8", "complex128")
FILLS = ("random", "zeros", "ones", "range", "definite")
"""Seeded (floats from 0 to 1, ints from 0 to 2^31 or what the type holds), 0, 1, 0 1 2 ..., or 1 / (1 + |i - j|), which
is a positive definite matrix."""
MAX_ELEMENTS = 2**28
"""Largest array."""

_ARRAY = re.compile(r"\s*(?P<type>\w+)\s*\[(?P<dimensions>[^\[\]]*)\]\s*(?::\s*(?P<fill>\w+))?\s*")
_SMALLEST = 8
"""No parameter is made smaller than this for a profiled run, unless it is given so."""
_LANES = 32
"""Most iterations that a compiled loop does at once on usual processors."""
_RESTS = (3, 22, 9, 28)
"""Remainders of the profiled sizes by that: those by 4, 8 and 16 differ too, so leftover loops can be distinguished."""


@dataclass(frozen=True)
class Arguments:
    """How a function is called at given values of its parameters."""

    parameters: Values
    make: Callable[[Values], tuple[Any, ...]]
    """Arguments in the function's order, the same ones each time."""
    points: tuple[Values, ...]
    """Values at which the function is run to count."""


def parse_arguments(texts: Sequence[str], place: str) -> dict[str, float | str]:
    """Read `n=1000`, `x=0.5` and `a=float64[n,n]:random`; a text may hold several, with spaces between."""
    found: dict[str, float | str] = {}
    for text in " ".join(texts).split():
        name, mark, value = text.partition("=")
        if not mark or not name.isidentifier():
            raise ScenarioError(f"{place}: {text!r} is no argument; write NAME=NUMBER or NAME=TYPE[SIZE,...]")
        read = value if _ARRAY.fullmatch(value) else _number(value)
        if read is None:
            raise ScenarioError(f"{place}: {name} is {value!r}; give a number or TYPE[SIZE,...]")
        check_once(name, found, where=place)
        found[name] = read
    return found


def from_mapping(given: Mapping[str, float | str], order: Sequence[str], *, seed: int = 1) -> Arguments:
    """Arguments from numbers and descriptions of arrays; numbers that are no argument name sizes."""
    missing = [name for name in order if name not in given]
    if missing:
        raise ScenarioError(f"arguments: {', '.join(missing)} missing; add NAME=NUMBER or NAME=TYPE[SIZE,...]")
    numbers = {name: value for name, value in given.items() if not isinstance(value, str)}
    arrays = {name: _described(name, value, tuple(numbers)) for name, value in given.items() if isinstance(value, str)}
    stray = [name for name in arrays if name not in order]
    if stray:
        raise ScenarioError(f"arguments: {', '.join(stray)} given, but the function takes {', '.join(order) or 'none'}")

    def make(values: Values) -> tuple[Any, ...]:
        whole = {name: _like(number, values[name]) for name, number in numbers.items()}
        return tuple(arrays[name].make(whole, seed) if name in arrays else whole[name] for name in order)

    return Arguments(dict(numbers), make, _points(numbers))


def of_sizes(make: Callable[[int], tuple[Any, ...]], n: int, *, points: Sequence[int]) -> Arguments:
    """Arguments that one parameter `n` gives, as kernels of ours have them; counted at the points."""
    return Arguments({"n": n}, lambda values: make(int(values["n"])), tuple({"n": point} for point in points))


def _like(number: float, value: float) -> float:
    """The value as an int where the number given was one."""
    return round(value) if isinstance(number, int) else float(value)


def _number(text: str) -> float | None:
    whole = units.to_whole(text.removeprefix("-"))
    return units.to_number(text) if whole is None else -whole if text.startswith("-") else whole


@dataclass(frozen=True)
class _Array:
    """A described array."""

    name: str
    type: str
    dimensions: tuple[int | formula.Formula, ...]
    fill: str

    def make(self, values: Values, seed: int) -> NDArray[Any]:
        shape = tuple(self._length(one, values) for one in self.dimensions)
        elements = int(np.prod([float(length) for length in shape]))
        if elements > MAX_ELEMENTS:
            raise ScenarioError(f"arguments: {self.name} has {elements} elements; give at most {MAX_ELEMENTS}")
        return _filled(shape, np.dtype(self.type), self.fill, (seed, self.name))

    def _length(self, length: "int | formula.Formula", values: Values) -> int:
        found = length if isinstance(length, int) else round(float(length.evaluate(values)))
        if found < 1:
            raise ScenarioError(f"arguments: {self.name} has length {found}; give 1 or more")
        return found


def _described(name: str, text: str, numbers: Sequence[str]) -> _Array:
    match = _ARRAY.fullmatch(text)
    if match is None or match["type"] not in TYPES or (match["fill"] or FILLS[0]) not in FILLS:
        form = f"TYPE[SIZE,...]:FILL with TYPE {', '.join(TYPES)} and FILL {', '.join(FILLS)}"
        raise ScenarioError(f"arguments: {name} is {text!r}; give {form}")
    lengths: list[int | formula.Formula] = []
    for part in match["dimensions"].split(","):
        whole = units.to_whole(part.strip())
        place = f"arguments: {name}"
        lengths.append(whole if whole is not None else formula.parse(part.strip(), names=numbers, place=place))
    return _Array(name, match["type"], tuple(lengths), match["fill"] or FILLS[0])


def _filled(shape: tuple[int, ...], kind: np.dtype[Any], fill: str, key: tuple[int, str]) -> NDArray[Any]:
    if fill in {"zeros", "ones"}:
        return np.full(shape, float(fill == "ones")).astype(kind)
    if fill == "range":
        return np.arange(int(np.prod(shape))).reshape(shape).astype(kind)
    if fill == "definite":
        row, column = np.ogrid[0 : shape[0], 0 : shape[-1]]
        return np.asarray(1.0 / (1.0 + np.abs(row - column)) if len(shape) > 1 else np.ones(shape)).astype(kind)
    draws = stream(key[0], "characterisation", key[1])
    if kind.kind in "fc":
        return np.asarray(draws.random(shape)).astype(kind)
    return draws.integers(0, min(2**31, int(np.iinfo(kind).max)), shape).astype(kind)


def _points(numbers: Mapping[str, float]) -> tuple[Values, ...]:
    """The values asked for, and smaller ones: all whole numbers together, then each alone where there are several."""
    whole = [name for name, value in numbers.items() if isinstance(value, int) and value > _SMALLEST]
    sizes = [{name: _smaller(int(numbers[name]), step) for name in whole} for step in range(1, 5)]
    points = [dict(numbers), *(dict(numbers) | size for size in sizes)]
    if len(whole) > 1:
        points += [
            dict(sizes[1]) | {name: numbers[name] for name in numbers if name not in whole} | {one: sizes[2][one]}
            for one in whole
        ]
    unique = {tuple(sorted(point.items())): point for point in points}
    return tuple(reversed(unique.values()))


def _smaller(value: int, step: int) -> int:
    """A power of two stays one; other numbers get remainders of every kind, so that unrolled loops show."""
    if value & (value - 1) == 0:
        return max(_SMALLEST, value >> step)
    size = int(value / (1 + 0.6 * step))
    return max(_SMALLEST, size + step) if size < 4 * _LANES else size + (_RESTS[step - 1] - size) % _LANES
