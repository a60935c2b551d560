"""The user's cost formulas: a small grammar of our own, split into summands, evaluated over arrays; no eval."""

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from simulator.base.arrays import Floats
from simulator.base.errors import FormulaError, meant

MAX_CHARACTERS = 2_000
"""Longest formula."""
MAX_DEPTH = 40
"""Deepest nesting of parentheses, powers and signs."""

_UNARY: dict[str, Callable[[Any], Any]] = {
    "log": np.log,
    "log2": np.log2,
    "log10": np.log10,
    "sqrt": np.sqrt,
    "cbrt": np.cbrt,
    "exp": np.exp,
    "abs": np.abs,
    "ceil": np.ceil,
    "floor": np.floor,
}
_VARIADIC: dict[str, Callable[[Any, Any], Any]] = {"min": np.minimum, "max": np.maximum}
FUNCTIONS = (*_UNARY, *_VARIADIC)
"""Names of the functions; `min` and `max` take two arguments or more, the others one."""

_TOKEN = re.compile(
    r"[ \t\r\n]*(?:(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)(?![\w.])"
    r"|(?P<name>[^\W\d]\w*)|(?P<mark>\*\*|[-+*/(),]))"
)

_Tree: TypeAlias = tuple[Any, ...]
"""A node: its kind, then for a number its value, for a name the name, for a call the function and its arguments, for a
power base and exponent, for a sum pairs of sign and node, for a product pairs of the exponent's sign and node."""


@dataclass(frozen=True)
class Term:
    """One top-level summand: the regressor that gets a coefficient of its own."""

    text: str
    """The summand as written, with its sign if that is a minus."""
    names: tuple[str, ...]
    """Parameters that it depends on; none for a constant."""
    _sign: int
    _tree: _Tree

    def evaluate(self, values: Mapping[str, ArrayLike]) -> Floats:
        """Value of the summand for each row.

        `values`: name -> array of shape (n,) or one number.
        """
        return self._evaluate(_floats(values, self.names))

    def _evaluate(self, values: Mapping[str, Floats]) -> Floats:
        with np.errstate(all="ignore"):
            found = self._sign * np.asarray(_evaluate(self._tree, values), dtype=np.float64)
        if not np.isfinite(found).all():
            _refuse_row(self, values, found)
        return found


@dataclass(frozen=True)
class Formula:
    """A cost formula as its user wrote it."""

    text: str
    terms: tuple[Term, ...]
    """Top-level summands in the order written; identical ones are merged into the first."""
    names: tuple[str, ...]
    """Parameters in the order of first use."""
    _repeats: tuple[int, ...]

    @property
    def is_sum(self) -> bool:
        """Whether it needs parentheses as a factor."""
        return sum(self._repeats) > 1 or self.text.lstrip().startswith(("-", "+"))

    def columns(self, values: Mapping[str, ArrayLike]) -> Floats:
        """Value of each summand for each row, shape (n, terms); see `Term.evaluate` for errors."""
        floats = _floats(values, self.names)
        rows = max((value.size for value in floats.values()), default=1)
        found = np.empty((rows, len(self.terms)))
        for k, term in enumerate(self.terms):
            found[:, k] = term._evaluate(floats)  # noqa: SLF001 - a formula and its terms are one thing
        return found

    def evaluate(self, values: Mapping[str, ArrayLike]) -> Floats:
        """Value of the whole formula with every coefficient 1, shape (n,) or () as the values are."""
        total: Any = 0.0
        for term, count in zip(self.terms, self._repeats, strict=True):
            total = total + count * term.evaluate(values)
        return np.asarray(total, dtype=np.float64)


def parse(
    text: str, *, names: Collection[str] | None = None, place: str = "formula", constant: bool = False
) -> Formula:
    """Parse a cost formula such as `N**3/(3*P*Q) + N*log(P)`.

    The grammar has numbers, names, `+ - * / **`, parentheses and the functions `FUNCTIONS`. Each top-level summand is
    one term as written: products are not multiplied out and a sum in parentheses is one term. Summands that differ only
    in the order of factors or addends are identical (EQUATIONS.md section 2).
    """
    if len(text) > MAX_CHARACTERS:
        raise FormulaError(f"{place}: the formula has {len(text)} characters; write at most {MAX_CHARACTERS}")
    parser = _Parser(text, place, names)
    summands = parser.whole()
    merged: dict[_Tree, tuple[Term, int]] = {}
    for sign, tree, piece in summands:
        term = Term(piece if sign > 0 else f"-{piece}", tuple(dict.fromkeys(_names(tree))), sign, tree)
        key = (sign, _canonical(tree))
        first, count = merged.get(key, (term, 0))
        merged[key] = (first, count + 1)
    used = tuple(dict.fromkeys(name for term, _ in merged.values() for name in term.names))
    if not used and not constant:
        raise FormulaError(f"{place}: {text!r} names no parameter; name at least one")
    return Formula(text, tuple(term for term, _ in merged.values()), used, tuple(count for _, count in merged.values()))


class _Parser:
    """Recursive descent over the tokens of one formula."""

    def __init__(self, text: str, place: str, names: Collection[str] | None) -> None:
        self._text, self._place, self._allowed = text, place, names
        self._tokens = list(self._scan())
        self._at = 0
        self._depth = 0

    def whole(self) -> list[tuple[int, _Tree, str]]:
        """Signed top-level summands, each with its text."""
        summands = []
        sign = -1 if self._take("+", "-") == "-" else 1
        while True:
            begin = self._tokens[self._at][2]
            tree = self._product()
            end = self._tokens[self._at - 1][3]
            summands.append((sign, tree, self._text[begin:end]))
            mark = self._take("+", "-")
            if mark is None:
                break
            sign = -1 if mark == "-" else 1
        if self._peek()[0] != "end":
            self._fail("an operator or the end")
        return summands

    def _sum(self) -> _Tree:
        parts = [(-1 if self._take("+", "-") == "-" else 1, self._product())]
        while (mark := self._take("+", "-")) is not None:
            parts.append((-1 if mark == "-" else 1, self._product()))
        return parts[0][1] if len(parts) == 1 and parts[0][0] == 1 else ("sum", tuple(parts))

    def _product(self) -> _Tree:
        parts = [(1, self._signed())]
        while (mark := self._take("*", "/")) is not None:
            parts.append((1 if mark == "*" else -1, self._signed()))
        return parts[0][1] if len(parts) == 1 else ("product", tuple(parts))

    def _signed(self) -> _Tree:
        self._enter()
        mark = self._take("+", "-")
        if mark is None:
            tree = self._power()
        else:
            tree = self._signed()
            tree = ("sum", ((-1, tree),)) if mark == "-" else tree
        self._depth -= 1
        return tree

    def _power(self) -> _Tree:
        base = self._atom()
        return ("power", base, self._signed()) if self._take("**") else base  # the exponent binds to the right

    def _atom(self) -> _Tree:
        kind, piece, _, _ = self._peek()
        if kind == "number":
            self._at += 1
            value = float(piece)
            if not np.isfinite(value):
                raise FormulaError(f"{self._place}: the number {piece} is too large; write one below 1.8e308")
            return ("number", value)
        if kind == "name":
            self._at += 1
            return self._call(piece) if self._take("(") else self._name(piece)
        if self._take("("):
            self._enter()
            tree = self._sum()
            self._close()
            self._depth -= 1
            return tree
        return self._fail("a number, a name or an opening parenthesis")

    def _name(self, name: str) -> _Tree:
        if self._allowed is not None and name not in self._allowed:
            known = f"take {', '.join(sorted(self._allowed))}" if self._allowed else "there are none"
            raise FormulaError(f"{self._place}: the name {name!r} is unknown here; {known}{meant(name, self._allowed)}")
        return ("name", name)

    def _call(self, name: str) -> _Tree:
        if name not in FUNCTIONS:
            raise FormulaError(
                f"{self._place}: the function {name!r} is unknown; take {', '.join(FUNCTIONS)}{meant(name, FUNCTIONS)}"
            )
        arguments = [self._sum()]
        while self._take(","):
            arguments.append(self._sum())
        self._close()
        few = name in _VARIADIC
        if (len(arguments) > 1) != few:
            wanted = "two or more" if few else "one"
            raise FormulaError(f"{self._place}: {name} is given {len(arguments)} arguments; give {wanted}")
        return ("call", name, tuple(arguments))

    def _scan(self) -> Iterator[tuple[str, str, int, int]]:
        at = 0
        while self._text[at:].strip(" \t\r\n"):
            match = _TOKEN.match(self._text, at)
            if match is None or match.lastgroup is None:
                blank = len(self._text[at:]) - len(self._text[at:].lstrip(" \t\r\n"))
                found = self._text[at + blank]
                hint = "; write ** for powers" if found == "^" else ""
                raise FormulaError(
                    f"{self._place}: the character {found!r} at {at + blank + 1} cannot stand in a formula; "
                    f"take numbers, names and + - * / ** ( ) ,{hint}"
                )
            yield match.lastgroup, match[match.lastgroup], match.start(match.lastgroup), match.end()
            at = match.end()
        yield "end", "the end", len(self._text), len(self._text)

    def _peek(self) -> tuple[str, str, int, int]:
        return self._tokens[self._at]

    def _take(self, *marks: str) -> str | None:
        kind, piece, _, _ = self._peek()
        if kind != "mark" or piece not in marks:
            return None
        self._at += 1
        return piece

    def _close(self) -> None:
        if not self._take(")"):
            self._fail("a closing parenthesis")

    def _enter(self) -> None:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise FormulaError(f"{self._place}: the formula has more than {MAX_DEPTH} nested levels; write fewer")

    def _fail(self, wanted: str) -> NoReturn:
        _, piece, begin, _ = self._peek()
        raise FormulaError(f"{self._place}: {piece!r} at {begin + 1} is out of place; write {wanted} there")


def _evaluate(tree: _Tree, values: Mapping[str, Any]) -> Any:
    match tree:
        case ("number", value):
            return value
        case ("name", name):
            return values[name]
        case ("power", base, exponent):
            return np.power(_evaluate(base, values), _evaluate(exponent, values), dtype=np.float64)
        case ("sum", parts):
            total = 0.0
            for sign, part in parts:
                total = total + sign * _evaluate(part, values)
            return total
        case ("product", parts):
            total = 1.0
            for sign, part in parts:
                total = total * _evaluate(part, values) if sign > 0 else np.divide(total, _evaluate(part, values))
            return total
        case ("call", name, arguments):
            found = [_evaluate(argument, values) for argument in arguments]
            return _UNARY[name](found[0]) if name in _UNARY else _fold(_VARIADIC[name], found)
    raise AssertionError(tree)


def _fold(function: Callable[[Any, Any], Any], found: list[Any]) -> Any:
    total = found[0]
    for value in found[1:]:
        total = function(total, value)
    return total


def _names(tree: _Tree) -> Iterator[str]:
    match tree:
        case ("name", name):
            yield name
        case ("power", base, exponent):
            yield from _names(base)
            yield from _names(exponent)
        case ("sum", parts) | ("product", parts):
            for _, part in parts:
                yield from _names(part)
        case ("call", _, arguments):
            for argument in arguments:
                yield from _names(argument)


def _canonical(tree: _Tree) -> _Tree:
    """The same for trees that differ only in the order of addends or factors, or in nested products and sums."""
    match tree:
        case ("power", base, exponent):
            return ("power", _canonical(base), _canonical(exponent))
        case ("sum" | "product" as kind, parts):
            flat: list[tuple[int, _Tree]] = []
            for sign, part in parts:
                inner = _canonical(part)
                flat += [(sign * s, p) for s, p in inner[1]] if inner[0] == kind else [(sign, inner)]
            return (kind, tuple(sorted(flat, key=repr)))
        case ("call", name, arguments):
            return ("call", name, tuple(_canonical(argument) for argument in arguments))
    return tree


def _floats(values: Mapping[str, ArrayLike], names: tuple[str, ...]) -> dict[str, Floats]:
    missing = [name for name in names if name not in values]
    if missing:
        raise FormulaError(f"values: {', '.join(missing)} missing; given are {', '.join(sorted(values)) or 'none'}")
    return {name: np.asarray(values[name], dtype=np.float64) for name in names}


def _refuse_row(term: Term, values: Mapping[str, ArrayLike], found: Floats) -> NoReturn:
    row = int(np.argmin(np.isfinite(np.atleast_1d(found))))
    at = ", ".join(
        f"{name} = {np.atleast_1d(np.broadcast_to(np.asarray(values[name], dtype=float), found.shape))[row]:g}"
        for name in term.names
    )
    shown = np.atleast_1d(found)[row]
    raise FormulaError(f"formula: term {term.text}: it is {shown:g} at {at}; give values that make it finite")
