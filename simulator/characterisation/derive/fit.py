"""Counts as formulas of the parameters, fitted to profiled runs with small candidates, the simplest that fits."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from simulator.base import formula, ties
from simulator.base.errors import FormulaError
from simulator.base.formula import Formula, Term
from simulator.characterisation.derive.arguments import Values
from simulator.models.choice import first_within

TOLERANCE = 0.01
"""Largest relative miss over the profiled runs of a formula that fits."""
EXACT = 1e-9

_Column: TypeAlias = NDArray[np.floating[Any]]
_Points: TypeAlias = tuple[tuple[tuple[str, float], ...], ...]


@dataclass(frozen=True)
class Fitted:
    """A formula and how far off it was."""

    text: str
    miss: float


def as_formula(text: str) -> Formula:
    """The formula of a text; a plain number gives one without names."""
    try:
        value = float(text)
    except ValueError:
        return formula.parse(text)
    return Formula(text, (Term(text, (), -1 if value < 0 else 1, ("number", abs(value))),), (), (1,))


def value_at(text: str, values: Values) -> float:
    """What a formula's text gives at values of the parameters."""
    return float(as_formula(text).evaluate(values))


def show(value: float) -> str:
    """A number for a formula's text; whole ones without a point."""
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else f"{value:.12g}"


def fit(observed: Sequence[float], points: Sequence[Values], *, terms: int = 3) -> Fitted:
    """The simplest candidate that fits within `TOLERANCE`; if none does, the one that misses least.

    Candidates are a constant, and for each parameter x that varies, with one or two coefficients: x, log2(x), their
    products, powers, roots and inverses; and sums and products of two parameters; at most so many terms.
    """
    y = np.array(observed, dtype=np.float64)
    if np.all(y == y[0]):
        return Fitted(show(float(y[0])), 0.0)
    key = tuple(tuple(point.items()) for point in points)
    single = [one for names in _candidates(points) if len(names) == 1 and (one := _fitted(names, y, key)) is not None]
    if (exact := first_within(single, _miss, EXACT)) is not None:
        return exact
    double = [
        one for names in _candidates(points) if 1 < len(names) <= terms and (one := _fitted(names, y, key)) is not None
    ]
    for found, tolerance in ((double, EXACT), (single, TOLERANCE), (double, TOLERANCE / 2)):
        if (near := first_within(found, _miss, tolerance)) is not None:
            return near
    flat = Fitted(show(float(y.mean())), float(np.max(np.abs(y - y.mean())) / np.max(np.abs(y))))
    return least([flat, *single, *double])


def _miss(one: Fitted) -> float:
    return one.miss


def least(found: Sequence[Fitted]) -> Fitted:
    """The one that misses least; of equal ones the first."""
    return found[ties.first_least([one.miss for one in found], floor=EXACT)]


def _candidates(points: Sequence[Values]) -> Iterator[tuple[str, ...]]:
    """Formulas whose sum, each with a coefficient, is tried; fewer than there are distinct points."""
    names = [name for name in points[0] if len({point[name] for point in points}) > 1]
    yield ("1",)
    single = []
    for x in names:
        single += [x, f"ceil(log2({x}))", f"log2({x})", f"{x}*ceil(log2({x}))", f"{x}*log2({x})", f"{x}**2", f"{x}**3"]
        single += [f"sqrt({x})", f"{x}/ceil(log2({x}))", f"{x}/log2({x})", f"1/{x}", f"log2({x})/{x}", f"1/sqrt({x})"]
        single += [f"1/log2({x})", f"log2(log2({x}))", f"{x}*log2(log2({x}))", f"{x}**1.5"]
        single += [f"ceil({x}/{step})" for step in (2, 4, 8, 16, 32)]
    yield from ((one,) for one in single)
    products = [f"{x}*{y}" for x in names for y in names if x < y]
    products += [f"{x}*{x}*{y}" for x in names for y in names if x != y] + [
        f"{x}/{y}" for x in names for y in names if x != y
    ]
    if len(names) > 2:
        products.append("*".join(names))
    yield from ((one,) for one in products)
    if len(points) > 2:
        yield from ((one, "1") for one in (*single, *products))
        yield from ((x, y) for x in names for y in names if x < y)
        for x in names:
            yield from ((f"{x}**2", x), (f"{x}*log2({x})", x), (f"{x}**3", f"{x}**2"), (x, f"log2({x})"))
            yield f"log2({x})/{x}", f"1/{x}"
    if len(points) > 3:
        yield from ((x, y, "1") for x in names for y in names if x < y)
        for x in names:
            yield f"{x}**2", x, "1"
            yield f"{x}**3", f"{x}**2", x


def _fitted(names: tuple[str, ...], y: _Column, points: _Points) -> Fitted | None:
    """Least squares of relative misses, None where a formula is not finite or the points do not determine one."""
    matrix = _matrix(names, points)
    if matrix is None:
        return None
    scale = np.where(y > 0, y, max(float(np.max(np.abs(y))), 1e-300))
    scaled = matrix / scale[:, None]
    if len(names) == 1:
        found: _Column = np.atleast_1d((y / scale) @ scaled / np.sum(scaled**2))
    else:
        found = np.linalg.lstsq(scaled, y / scale, rcond=None)[0]
    miss = float(np.max(np.abs(matrix @ found - y) / scale))
    return Fitted(_text(names, found), miss)


@lru_cache(maxsize=4096)
def _matrix(names: tuple[str, ...], points: _Points) -> _Column | None:
    """Value of each formula at each point, None where one is not finite or they do not differ enough."""
    values = {name: np.array([dict(point)[name] for point in points], dtype=np.float64) for name in dict(points[0])}
    columns = []
    for name in names:
        if name == "1":
            columns.append(np.ones(len(points)))
            continue
        try:
            columns.append(np.broadcast_to(formula.parse(name).evaluate(values), len(points)).astype(np.float64))
        except FormulaError:
            return None
    matrix = np.stack(columns, axis=1)
    scaled = matrix / np.max(np.abs(matrix), axis=0)
    distinct = len({tuple(row) for row in matrix.tolist()})
    enough = len(names) < distinct + (len(names) == 1) and np.linalg.matrix_rank(scaled) == len(names)
    return matrix if enough else None


def _text(names: tuple[str, ...], factors: _Column) -> str:
    pieces = []
    for name, factor in zip(names, factors.tolist(), strict=True):
        near = round(factor, 9) if abs(factor - round(factor, 9)) < EXACT * max(1.0, abs(factor)) else factor
        size = show(abs(near))
        piece = size if name == "1" else name if size == "1" else f"{size}*{name}"
        pieces.append(f"{'-' if near < 0 else '+'} {piece}")
    whole = " ".join(pieces).removeprefix("+ ")
    return f"-{whole[2:]}" if whole.startswith("- ") else whole
