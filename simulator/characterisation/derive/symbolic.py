"""Loop counts as formulas of the parameters, where bounds are polynomials of parameters and outer loops' counters."""

import ast
import operator
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import sympy

from simulator.characterisation.derive.arguments import Arguments, Values
from simulator.characterisation.derive.source import argument_names
from simulator.characterisation.derive.steps import Block, Choice, Repeat, Rest, leaves

Polynomial: TypeAlias = Any
"""Of sympy: expanded, with exact coefficients."""
MAX_TOTAL_DEGREE = 8
"""No sum is formed beyond this degree."""
_Loop: TypeAlias = tuple[str, Polynomial, Polynomial]
"""Counter, its first value, and the value before which it ends; counters that fall are turned round."""
_VARIABLE = sympy.Dummy()
_OPERATORS: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
}


def degree(polynomial: Polynomial) -> int:
    """Largest sum of powers."""
    return int(sympy.total_degree(polynomial))


def names_in(polynomial: Polynomial) -> set[str]:
    """Names that occur."""
    return {symbol.name for symbol in polynomial.free_symbols}


def sum_over(polynomial: Polynomial, name: str, first: Polynomial, end: Polynomial) -> Polynomial:
    """Sum over a name from `first` to before `end`, as Faulhaber's formulas give it."""
    symbol, total = sympy.Symbol(name), sympy.Integer(0)
    for (power,), factor in sympy.Poly(polynomial, symbol).terms():
        power_sum = sympy.bernoulli(power + 1, symbol) / (power + 1)
        total += factor * (power_sum.subs(symbol, end) - power_sum.subs(symbol, first))
    return sympy.expand(total)


def text_of(count: Polynomial) -> str:
    """The formula language's text, of a quotient too: a common denominator taken out."""
    return str(sympy.together(count))


def loop_counts(function: ast.FunctionDef, block: Block, arguments: Arguments) -> dict[int, str]:
    """Counter of a loop's body -> its mean count per entry of the block around it, as a formula's text.

    Nothing is found for loops that may be left early, or whose bounds are no polynomials: they are profiled. What is
    found is a guess as far as conditions around the loop go; the profile tells whether it holds.
    """
    reader = _Reader(function, _known_arguments(function, arguments))
    found: dict[int, str] = {}
    _visit(block, sympy.Integer(1), (), reader, found)
    return found


def recognised(values: Sequence[float], points: Sequence[Values]) -> Polynomial | None:
    """The polynomial of one parameter, of degree 1 or 2, that gives these values exactly; a constant if they agree."""
    if len(set(values)) == 1:
        return sympy.Rational(values[0])
    for name in points[0]:
        at = [point[name] for point in points]
        ends = [at.index(min(at)), at.index(max(at))]
        for power in (1, 2) if at[ends[0]] != at[ends[1]] else ():
            raised = [sympy.Rational(x) ** power for x in at]
            line = sympy.interpolate([(raised[end], values[end]) for end in ends], _VARIABLE)
            if all(line.subs(_VARIABLE, x) == value for x, value in zip(raised, values, strict=True)):
                return line.subs(_VARIABLE, sympy.Symbol(name) ** power)
    names = [name for name in points[0] if any(point[name] != points[0][name] for point in points)]
    for one, two in ((one, two) for one in names for two in names if one < two):
        if all(value == point[one] * point[two] for value, point in zip(values, points, strict=True)):
            return sympy.Symbol(one) * sympy.Symbol(two)
    return None


def working_set(arguments: Arguments) -> str | None:
    """Bytes of all arrays that are arguments, a formula's text; None without arrays, or where no formula is found."""
    made = [arguments.make(point) for point in arguments.points]
    total = sympy.Integer(0)
    for values in zip(*made, strict=True):
        if isinstance(values[0], np.ndarray):
            held = recognised([value.nbytes for value in values], arguments.points)
            if held is None:
                return None
            total += held
    return text_of(total) if total else None


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
                return sympy.Integer(value)
            case ast.Name(id=name):
                return self._name(name, loops)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                inner = self.read(operand, loops)
                return None if inner is None else -inner
            case ast.BinOp(left=left, op=op, right=right):
                return _combined(type(op), self.read(left, loops), self.read(right, loops))
            case ast.Attribute(value=ast.Name(), attr="size"):
                return self._known.get(ast.unparse(node))
            case ast.Subscript(value=ast.Attribute(value=ast.Name(), attr="shape")):
                return self._known.get(ast.unparse(node))
            case ast.Call(func=ast.Name(id="len"), args=[ast.Name(id=name)]):
                return self._known.get(f"{name}.shape[0]")
        return None

    def _name(self, name: str, loops: Sequence[str]) -> Polynomial | None:
        if name in loops:
            return sympy.Symbol(_counter(name))
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


def _combined(op: type[ast.operator], left: Polynomial | None, right: Polynomial | None) -> Polynomial | None:
    if left is None or right is None or op not in _OPERATORS:
        return None
    if op is ast.Mult and degree(left) + degree(right) > MAX_TOTAL_DEGREE:
        return None
    return sympy.expand(_OPERATORS[op](left, right))


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
    own = {_counter(name) for name in names} & names_in(count)
    if stride != 1:
        if not own:
            found[step.body.counter] = f"ceil(({text_of(count)})/{stride})"
        return None, loops
    inside = (*loops, (step.node.target.id, first, end))
    if not own:
        found[step.body.counter] = text_of(count)
    if total is None:
        return None, inside
    entered = sympy.Integer(1)
    for name, begin, before in reversed(inside):
        entered = sum_over(entered, _counter(name), begin, before)
        if degree(entered) > MAX_TOTAL_DEGREE:
            return None, inside
    if own:
        found[step.body.counter] = text_of(sympy.cancel(entered / total))
    return entered, inside


def _bounds(node: ast.expr, reader: _Reader, loops: Sequence[str]) -> tuple[Polynomial, Polynomial, int] | None:
    """First value, the value before which the loop ends, and the step upwards."""
    if isinstance(node, ast.Name):
        length = reader.read(ast.Call(ast.Name("len", ast.Load()), [node], []), loops)
        return None if length is None else (sympy.Integer(0), length, 1)
    if not isinstance(node, ast.Call):
        return None
    parts = [reader.read(part, loops) for part in node.args]
    if len(parts) == 1:
        parts.insert(0, sympy.Integer(0))
    begin, end, step = parts[0], parts[1], parts[2] if len(parts) > 2 else sympy.Integer(1)
    if begin is None or end is None or step is None or not step.is_Integer or not step:
        return None
    stride = int(step)
    if stride > 0:
        return begin, end, stride
    return end + 1, begin + 1, -stride
