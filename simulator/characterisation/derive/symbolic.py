"""Loop counts as formulas of the parameters, where bounds are polynomials of parameters and outer loops' counters."""

import ast
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import comb, lcm
from typing import Any, TypeAlias

import numpy as np

from simulator.characterisation.derive.arguments import Arguments, Values
from simulator.characterisation.derive.source import argument_names
from simulator.characterisation.derive.steps import Block, Choice, Repeat, Rest, leaves

# Polynomials of several names with exact coefficients: sums over ranges, exact division, their formulas.


_Term: TypeAlias = tuple[tuple[str, int], ...]
"""Names with their powers, by name; () is the constant."""


@dataclass(frozen=True)
class Polynomial:
    """A sum of products of powers."""

    terms: Mapping[_Term, Fraction]

    def __add__(self, other: "Polynomial") -> "Polynomial":
        found = dict(self.terms)
        for term, factor in other.terms.items():
            found[term] = found.get(term, Fraction(0)) + factor
        return Polynomial({term: factor for term, factor in found.items() if factor})

    def __neg__(self) -> "Polynomial":
        return Polynomial({term: -factor for term, factor in self.terms.items()})

    def __sub__(self, other: "Polynomial") -> "Polynomial":
        return self + -other

    def __mul__(self, other: "Polynomial") -> "Polynomial":
        found: dict[_Term, Fraction] = {}
        for one, factor in self.terms.items():
            for two, by in other.terms.items():
                term = _product(one, two)
                found[term] = found.get(term, Fraction(0)) + factor * by
        return Polynomial({term: factor for term, factor in found.items() if factor})

    @property
    def names(self) -> set[str]:
        """Names that occur."""
        return {name for term in self.terms for name, _ in term}

    @property
    def degree(self) -> int:
        """Largest sum of powers."""
        return max((sum(power for _, power in term) for term in self.terms), default=0)

    def put(self, name: str, value: "Polynomial") -> "Polynomial":
        """The polynomial with another one in place of a name."""
        found = NOTHING
        for term, factor in self.terms.items():
            piece = Polynomial({tuple(part for part in term if part[0] != name): factor})
            for _ in range(dict(term).get(name, 0)):
                piece *= value
            found += piece
        return found

    def total(self, name: str, first: "Polynomial", end: "Polynomial") -> "Polynomial":
        """Sum over `name` from `first` to before `end`, as Faulhaber's formulas give it."""
        found = NOTHING
        for term, factor in self.terms.items():
            rest = Polynomial({tuple(part for part in term if part[0] != name): factor})
            power = _power_sum(dict(term).get(name, 0))
            found += rest * (power.put("", end) - power.put("", first))
        return found

    def divide(self, by: "Polynomial") -> "Polynomial | None":
        """The exact quotient, None where there is a remainder."""
        rest, quotient = self, NOTHING
        names = sorted(self.names | by.names)

        def order(term: _Term) -> tuple[int, ...]:
            powers = dict(term)
            return sum(powers.values()), *(powers.get(name, 0) for name in names)

        lead = max(by.terms, key=order, default=None)
        while rest.terms and lead is not None:
            term = max(rest.terms, key=order)
            power = _quotient(term, lead)
            if power is None:
                return None
            step = Polynomial({power: rest.terms[term] / by.terms[lead]})
            quotient, rest = quotient + step, rest - step * by
        return quotient if lead is not None else None

    def text(self) -> str:
        """The formula language's text: the common denominator taken out."""
        if not self.terms:
            return "0"
        scale = lcm(*(factor.denominator for factor in self.terms.values()))
        pieces = [_shown(term, int(factor * scale)) for term, factor in sorted(self.terms.items(), key=_rank)]
        whole = " ".join(pieces).removeprefix("+ ")
        whole = f"-{whole[2:]}" if whole.startswith("- ") else whole
        if scale == 1:
            return whole
        return f"({whole})/{scale}" if len(pieces) > 1 else f"{whole}/{scale}"


NOTHING = Polynomial({})
ONE = Polynomial({(): Fraction(1)})


def constant(value: float | Fraction) -> Polynomial:
    """A number."""
    return Polynomial({(): Fraction(value)} if value else {})


def variable(name: str) -> Polynomial:
    """A name."""
    return Polynomial({((name, 1),): Fraction(1)})


def _product(one: _Term, two: _Term) -> _Term:
    powers = dict(one)
    for name, power in two:
        powers[name] = powers.get(name, 0) + power
    return tuple(sorted(powers.items()))


def _quotient(term: _Term, by: _Term) -> _Term | None:
    powers = dict(term)
    for name, power in by:
        powers[name] = powers.get(name, 0) - power
    if min(powers.values(), default=0) < 0:
        return None
    return tuple(sorted((name, power) for name, power in powers.items() if power))


def _power_sum(power: int) -> Polynomial:
    """Sum of k^power for k from 0 to before the name "", by Bernoulli numbers."""
    found = NOTHING
    for place, number in enumerate(_bernoulli(power)):
        exponent = power + 1 - place
        found += Polynomial({(("", exponent),): Fraction(comb(power + 1, place)) * number / (power + 1)})
    return found


def _bernoulli(highest: int) -> list[Fraction]:
    numbers = [Fraction(1)]
    for m in range(1, highest + 1):
        numbers.append(-sum((comb(m + 1, k) * numbers[k] for k in range(m)), Fraction(0)) / (m + 1))
    return numbers


def _shown(term: _Term, factor: int) -> str:
    """`- 3*n**2*m` of one term with a whole factor."""
    powers = [name if power == 1 else f"{name}**{power}" for name, power in term]
    size = [str(abs(factor))] if abs(factor) != 1 or not powers else []
    return f"{'-' if factor < 0 else '+'} {'*'.join([*size, *powers])}"


def _rank(item: tuple[_Term, Fraction]) -> tuple[int, _Term]:
    """High powers first."""
    return -sum(power for _, power in item[0]), item[0]


MAX_TOTAL_DEGREE = 8
"""No sum is formed beyond this degree."""

_Loop: TypeAlias = tuple[str, Polynomial, Polynomial]
"""Counter, its first value, and the value before which it ends; counters that fall are turned round."""


def loop_counts(function: ast.FunctionDef, block: Block, arguments: Arguments) -> dict[int, str]:
    """Counter of a loop's body -> its mean count per entry of the block around it, as a formula's text.

    Nothing is found for loops that may be left early, or whose bounds are no polynomials: they are profiled. What is
    found is a guess as far as conditions around the loop go; the profile tells whether it holds.
    """
    reader = _Reader(function, _known_arguments(function, arguments))
    found: dict[int, str] = {}
    _visit(block, ONE, (), reader, found)
    return found


def recognised(values: Sequence[float], points: Sequence[Values]) -> Polynomial | None:
    """The polynomial of one parameter, of degree 1 or 2, that gives these values exactly; a constant if they agree."""
    if len(set(values)) == 1:
        return constant(values[0])
    for name in points[0]:
        at = [Fraction(point[name]) for point in points]
        for power in (1, 2):
            line = _line([x**power for x in at], [Fraction(value) for value in values])
            if line is not None:
                scaled = constant(1)
                for _ in range(power):
                    scaled *= variable(name)
                return scaled * constant(line[0]) + constant(line[1])
    names = [name for name in points[0] if any(point[name] != points[0][name] for point in points)]
    for one, two in ((one, two) for one in names for two in names if one < two):
        if all(value == point[one] * point[two] for value, point in zip(values, points, strict=True)):
            return variable(one) * variable(two)
    return None


def working_set(arguments: Arguments) -> str | None:
    """Bytes of all arrays that are arguments, a formula's text; None without arrays, or where no formula is found."""
    made = [arguments.make(point) for point in arguments.points]
    total = constant(0)
    for values in zip(*made, strict=True):
        if isinstance(values[0], np.ndarray):
            held = recognised([value.nbytes for value in values], arguments.points)
            if held is None:
                return None
            total += held
    return total.text() if total.terms else None


def _line(x: Sequence[Fraction], y: Sequence[Fraction]) -> tuple[Fraction, Fraction] | None:
    """Slope and intercept of the line through all points, None where there is none."""
    ends = min(x), max(x)
    if ends[0] == ends[1]:
        return None
    low, high = y[x.index(ends[0])], y[x.index(ends[1])]
    slope = (high - low) / (ends[1] - ends[0])
    intercept = low - slope * ends[0]
    fits = all(slope * a + intercept == b for a, b in zip(x, y, strict=True))
    return (slope, intercept) if fits else None


def _known_arguments(function: ast.FunctionDef, arguments: Arguments) -> dict[str, Polynomial]:
    """`n`, `a.shape[0]` and `a.size` -> polynomial of the parameters."""
    made = [arguments.make(point) for point in arguments.points]
    found: dict[str, Polynomial] = {}

    def learn(name: str, values: Sequence[Any]) -> None:
        polynomial = recognised([int(value) for value in values], arguments.points)
        if polynomial is not None:
            found[name] = polynomial

    for name, values in zip(argument_names(function), zip(*made, strict=True), strict=True):
        if isinstance(values[0], np.ndarray):
            learn(f"{name}.size", [value.size for value in values])
            for place in range(values[0].ndim):
                learn(f"{name}.shape[{place}]", [value.shape[place] for value in values])
        elif all(isinstance(value, int | np.integer) for value in values):
            learn(name, values)
    return found


class _Reader:
    """Reads expressions as polynomials of parameters and of the counters of loops around them."""

    def __init__(self, function: ast.FunctionDef, known: Mapping[str, Polynomial]) -> None:
        stored = Counter(
            node.id for node in ast.walk(function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        )
        self._known = {name: value for name, value in known.items() if not stored[name.partition(".")[0]]}
        self._once: dict[str, ast.expr] = {}
        for node in ast.walk(function):
            if isinstance(node, ast.Assign) and len(node.targets) == 1:
                for target, value in _pairs(node.targets[0], node.value):
                    if stored[target] == 1:
                        self._once[target] = value

    def read(self, node: ast.expr, loops: Sequence[str]) -> Polynomial | None:  # noqa: PLR0911 - a case per kind
        """The polynomial of an expression, None where it is none."""
        match node:
            case ast.Constant(value=int(value)):
                return constant(value)
            case ast.Name(id=name):
                return self._name(name, loops)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                inner = self.read(operand, loops)
                return None if inner is None else -inner
            case ast.BinOp(left=left, op=op, right=right):
                return _combined(op, self.read(left, loops), self.read(right, loops))
            case ast.Attribute(value=ast.Name(), attr="size"):
                return self._known.get(ast.unparse(node))
            case ast.Subscript(value=ast.Attribute(value=ast.Name(), attr="shape")):
                return self._known.get(ast.unparse(node))
            case ast.Call(func=ast.Name(id="len"), args=[ast.Name(id=name)]):
                return self._known.get(f"{name}.shape[0]")
        return None

    def _name(self, name: str, loops: Sequence[str]) -> Polynomial | None:
        if name in loops:
            return variable(_counter(name))
        if name in self._known:
            return self._known[name]
        value = self._once.get(name)
        if value is None or any(isinstance(part, ast.Name) and part.id == name for part in ast.walk(value)):
            return None
        return self.read(value, loops)


def _counter(name: str) -> str:
    """A loop's counter, which may be named as a parameter is."""
    return f"{name} of a loop"


def _pairs(target: ast.expr, value: ast.expr) -> list[tuple[str, ast.expr]]:
    """Name and value of each part of an assignment."""
    match target, value:
        case ast.Name(id=name), _:
            return [(name, value)]
        case ast.Tuple(elts=names), ast.Tuple(elts=values):
            return [pair for one, part in zip(names, values, strict=False) for pair in _pairs(one, part)]
        case ast.Tuple(elts=names), ast.Attribute(attr="shape"):
            parts = [ast.Subscript(value, ast.Constant(place), ast.Load()) for place in range(len(names))]
            return [pair for one, part in zip(names, parts, strict=True) for pair in _pairs(one, part)]
    return []


def _combined(op: ast.operator, left: Polynomial | None, right: Polynomial | None) -> Polynomial | None:
    if left is None or right is None:
        return None
    match op:
        case ast.Add():
            return left + right
        case ast.Sub():
            return left - right
        case ast.Mult():
            return left * right if left.degree + right.degree <= MAX_TOTAL_DEGREE else None
    return None


def _visit(
    block: Block, total: Polynomial | None, loops: tuple[_Loop, ...], reader: _Reader, found: dict[int, str]
) -> None:
    """Note the loops of a block that is entered `total` times in all, inside these loops."""
    for step in block.steps:
        match step:
            case Repeat(body=body):
                inner = _repeat(step, total, loops, reader, found)
                _visit(body, inner[0], inner[1], reader, found)
            case Choice(then=then, otherwise=otherwise):
                for part in (then, otherwise):
                    if part is not None:
                        _visit(part, None, loops, reader, found)
            case Rest(block=rest):
                _visit(rest, None, loops, reader, found)


def _repeat(
    step: Repeat, total: Polynomial | None, loops: tuple[_Loop, ...], reader: _Reader, found: dict[int, str]
) -> tuple[Polynomial | None, tuple[_Loop, ...]]:
    """Note one loop's mean count; how often its body is entered in all, and the loops around that."""
    names = [name for name, _, _ in loops]
    bounds = None if leaves(step.node) or isinstance(step.node, ast.While) else _bounds(step.node.iter, reader, names)
    if bounds is None or not isinstance(step.node, ast.For) or not isinstance(step.node.target, ast.Name):
        return None, loops
    first, end, stride = bounds
    count = end - first
    own = {_counter(name) for name in names} & count.names
    if stride != 1:
        if not own:
            found[step.body.counter] = f"ceil(({count.text()})/{stride})"
        return None, loops
    inside = (*loops, (step.node.target.id, first, end))
    if not own:
        found[step.body.counter] = count.text()
    if total is None:
        return None, inside
    entered = ONE
    for name, begin, before in reversed(inside):
        entered = entered.total(_counter(name), begin, before)
        if entered.degree > MAX_TOTAL_DEGREE:
            return None, inside
    mean = entered.divide(total)
    if own:
        found[step.body.counter] = f"({entered.text()})/({total.text()})" if mean is None else mean.text()
    return entered, inside


def _bounds(node: ast.expr, reader: _Reader, loops: Sequence[str]) -> tuple[Polynomial, Polynomial, int] | None:
    """First value, the value before which the loop ends, and the step upwards."""
    if isinstance(node, ast.Name):
        length = reader.read(ast.Call(ast.Name("len", ast.Load()), [node], []), loops)
        return None if length is None else (constant(0), length, 1)
    if not isinstance(node, ast.Call):
        return None
    parts = [reader.read(part, loops) for part in node.args]
    if len(parts) == 1:
        parts.insert(0, constant(0))
    begin, end, step = parts[0], parts[1], parts[2] if len(parts) > 2 else ONE
    if begin is None or end is None or step is None or step.degree > 0 or not step.terms:
        return None
    stride = int(step.terms[()])
    if stride > 0:
        return begin, end, stride
    return end + ONE, begin + ONE, -stride
