"""Kinds of values: what each name and expression of a function holds, from the types that Numba found for its names."""

import ast
from collections.abc import Mapping
from dataclasses import dataclass

_ORDER = ("bool", "int", "float", "complex")
_FLOAT_FUNCTIONS = {"int", "len", "round", "bool", "floor", "ceil", "trunc"}
"""Functions whose result is an int; those of `math` else give a float."""


@dataclass(frozen=True)
class Kinds:
    """Kinds of one function's names: `bool`, `int`, `float`, `complex`, `array:KIND:DIMENSIONS` or `other`."""

    names: Mapping[str, str]
    """Local and global names."""
    results: Mapping[str, str]
    """Function of the same file -> kind of its result."""

    def of(self, node: ast.expr) -> str:  # noqa: PLR0911 - a case per kind of node
        """Kind of an expression."""
        match node:
            case ast.Constant(value=value):
                return type(value).__name__ if type(value).__name__ in _ORDER else "other"
            case ast.Name(id=name):
                return self.names.get(name, "other")
            case ast.BinOp(left=left, op=op, right=right):
                kind = join(self.of(left), self.of(right))
                return join(kind, "float") if isinstance(op, ast.Div) else join(kind, "int")
            case ast.UnaryOp(op=op, operand=operand):
                return "bool" if isinstance(op, ast.Not) else join(self.of(operand), "int")
            case ast.Compare():
                return "bool"
            case ast.BoolOp(values=[first, *others]):
                kind = self.of(first)
                for other in others:
                    kind = join(kind, self.of(other))
                return kind
            case ast.IfExp(body=body, orelse=orelse):
                return join(self.of(body), self.of(orelse))
            case ast.Subscript(value=value):
                kind = self.of(value)
                return element(kind) if is_array(kind) else "int"
            case ast.Attribute(attr=name):
                return "int" if name in {"shape", "size", "ndim"} else "float"
            case ast.Call(func=function, args=arguments):
                return self._result(function, arguments)
        return "other"

    def _result(self, function: ast.expr, arguments: list[ast.expr]) -> str:
        name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
        if isinstance(function, ast.Name) and name in self.results:
            return self.results[name]
        if name in {"min", "max", "abs", "pow"}:
            kind = "int"
            for argument in arguments:
                kind = join(kind, self.of(argument))
            return kind
        return "int" if name in _FLOAT_FUNCTIONS or name.startswith(("int", "uint")) else "float"


def is_array(kind: str) -> bool:
    """Whether it is an array."""
    return kind.startswith("array:")


def element(kind: str) -> str:
    """Kind of an array's elements; other kinds as they are."""
    return kind.split(":")[1] if is_array(kind) else kind


def dimensions(kind: str) -> int:
    """How many dimensions an array has."""
    return int(kind.split(":")[2]) if is_array(kind) else 0


def join(one: str, other: str) -> str:
    """Kind of an operation's result; an array if either is one."""
    if is_array(one) or is_array(other):
        return one if is_array(one) else other
    ranks = [_ORDER.index(kind) for kind in (one, other) if kind in _ORDER]
    return _ORDER[max(ranks)] if ranks else "other"


def whole_array_operations(function: ast.FunctionDef, kinds: Kinds) -> list[ast.expr]:
    """Operations, comparisons and calls of functions that are given arrays, the file's own and `len` apart."""

    def parts(node: ast.AST) -> list[ast.expr]:
        match node:
            case ast.BinOp(left=left, right=right):
                return [left, right]
            case ast.Compare(left=left, comparators=others):
                return [left, *others]
            case ast.UnaryOp(operand=operand):
                return [operand]
            case ast.Call(func=ast.Name(id=name)) if name == "len" or name in kinds.results:
                return []
            case ast.Call(args=arguments):
                return arguments
        return []

    return [
        node
        for node in ast.walk(function)
        if isinstance(node, ast.expr) and any(map(is_array, map(kinds.of, parts(node))))
    ]
