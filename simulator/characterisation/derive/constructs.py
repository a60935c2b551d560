"""What a function's source holds: kinds of its values, and constructs that high-level characterisation counts."""

import ast
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

ORDER = ("bool", "int", "float", "complex")
_FLOAT_FUNCTIONS = {"int", "len", "round", "bool", "floor", "ceil", "trunc"}
"""Functions whose result is an int; those of `math` else give a float."""
_ARITHMETIC = {
    ast.Add: "add",
    ast.Sub: "add",
    ast.Mult: "multiply",
    ast.Div: "divide",
    ast.FloorDiv: "divide",
    ast.Mod: "modulo",
    ast.LShift: "bit",
    ast.RShift: "bit",
    ast.BitAnd: "bit",
    ast.BitOr: "bit",
    ast.BitXor: "bit",
}
_FUNCTIONS = {
    "sqrt": "float_sqrt",
    **dict.fromkeys(("exp", "exp2", "expm1", "log", "log2", "log10", "log1p"), "float_exp"),
    **dict.fromkeys(("sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh"), "float_sin"),
    **dict.fromkeys(("arcsin", "arccos", "arctan", "arctan2", "erf", "erfc", "gamma", "lgamma", "hypot"), "float_sin"),
    "cbrt": "float_exp",
    "pow": "float_power",
    "fmod": "float_modulo",
    "len": "shape",
    **dict.fromkeys(("floor", "ceil", "trunc", "int", "float", "round", "bool"), "convert"),
    **dict.fromkeys(("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"), "convert"),
    **dict.fromkeys(("float32", "float64"), "convert"),
    **dict.fromkeys(("isnan", "isinf", "isfinite"), "float_compare"),
}
_PLACES = ("1d", "2d", "nd")
LARGEST_PRODUCT = 16
"""Powers up to it are products."""
PRINCIPAL: Mapping[str, str] = {
    "float_add": "add",
    "float_negate": "add",
    "float_multiply": "multiply",
    "float_compare": "comparison",
    "float_choose": "comparison",
    "float_divide": "divide",
    "float_modulo": "divide",
    "float_sqrt": "sqrt",
    "float_exp": "exp",
    "float_power": "exp",
    "float_sin": "sin",
}
"""The principal operation that a construct is; integers have none (processor-characterisation, table 1)."""


@dataclass(frozen=True)
class Kinds:
    """Kinds of one function's names: `bool`, `int`, `float`, `complex`, `array:KIND:DIMENSIONS` or `other`."""

    names: Mapping[str, str]
    results: Mapping[str, str]
    """Function of the same file -> kind of its result."""

    def of(self, node: ast.expr) -> str:  # noqa: PLR0911 - a case per kind of node
        """Kind of an expression."""
        match node:
            case ast.Constant(value=value):
                return type(value).__name__ if type(value).__name__ in ORDER else "other"
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
    ranks = [ORDER.index(kind) for kind in (one, other) if kind in ORDER]
    return ORDER[max(ranks)] if ranks else "other"


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


def principal(counts: Mapping[str, float]) -> dict[str, float]:
    """Principal operations among constructs."""
    found: dict[str, float] = {}
    for construct, count in counts.items():
        if construct in PRINCIPAL and count:
            found[PRINCIPAL[construct]] = found.get(PRINCIPAL[construct], 0.0) + count
    return found


@dataclass(frozen=True)
class Counting:
    """How the constructs of one function are counted: `choose` is min, max or abs; `jump` is break or continue."""

    kinds: Kinds
    functions: Collection[str]

    def statements(self, statements: Iterable[ast.stmt], apart: Collection[ast.AST] = ()) -> Counter[str]:
        """Constructs of straight code, each expression in `apart` left out."""
        return Counter(name for statement in statements for name in self._statement(statement, apart))

    def expression(self, node: ast.expr, apart: Collection[ast.AST] = ()) -> Counter[str]:
        """Constructs of one expression, each part in `apart` left out."""
        return Counter(self._expression(node, apart))

    def _statement(self, node: ast.stmt, apart: Collection[ast.AST]) -> Iterator[str]:
        match node:
            case ast.Assign(value=value) | ast.AnnAssign(value=ast.expr() as value):
                for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                    yield from self._assign(target, value, apart)
                yield from self._expression(value, apart)
            case ast.AugAssign(target=target, op=op, value=value):
                yield from self._operation(op, target, value)
                yield from self._expression(value, apart)
                if isinstance(target, ast.Subscript):
                    yield self._element(target, "load")
                yield from self._assign(target, target, apart)
            case ast.Return(value=value):
                yield "return"
                if value is not None:
                    yield from self._expression(value, apart)
            case ast.Expr(value=value) if not isinstance(value, ast.Constant):
                yield from self._expression(value, apart)
            case ast.Break() | ast.Continue():
                yield "jump"

    def _assign(self, target: ast.expr, value: ast.expr, apart: Collection[ast.AST]) -> Iterator[str]:
        match target:
            case ast.Tuple(elts=parts):
                values = value.elts if isinstance(value, ast.Tuple) else [value] * len(parts)
                for part, one in zip(parts, values, strict=False):
                    yield from self._assign(part, one, apart)
            case ast.Subscript(slice=index):
                yield from self._expression(index, apart)
                yield self._element(target, "store")
            case _:
                kind = self.kinds.of(target)
                yield "array_assign" if is_array(kind) else f"{_number(kind)}_assign"

    def _expression(self, node: ast.expr, apart: Collection[ast.AST]) -> Iterator[str]:
        if node not in apart:
            yield from self._node(node)
            for part in ast.iter_child_nodes(node):
                if isinstance(part, ast.expr):
                    yield from self._expression(part, apart)

    def _node(self, node: ast.expr) -> Iterator[str]:
        match node:
            case ast.BinOp(left=left, op=op, right=right):
                yield from self._operation(op, left, right)
            case ast.UnaryOp(op=ast.USub(), operand=operand) if not isinstance(operand, ast.Constant):
                yield f"{_number(self.kinds.of(operand))}_negate"
            case ast.UnaryOp(op=ast.Not()):
                yield "logic"
            case ast.UnaryOp(op=ast.Invert()):
                yield "int_bit"
            case ast.BoolOp(values=[_, *others]):
                yield from ["logic"] * len(others)
            case ast.Compare(left=left, comparators=others):
                for one, other in zip([left, *others], others, strict=False):
                    yield f"{_number(join(self.kinds.of(one), self.kinds.of(other)))}_compare"
            case ast.IfExp():
                yield "branch"
            case ast.Subscript(value=value) if is_array(self.kinds.of(value)):
                yield self._element(node, "load")
            case ast.Attribute(attr="shape" | "size"):
                yield "shape"
            case ast.Call():
                yield from self._call(node)

    def _operation(self, op: ast.operator, left: ast.expr, right: ast.expr) -> Iterator[str]:
        kinds = self.kinds.of(left), self.kinds.of(right)
        kind = "float" if isinstance(op, ast.Div) else _number(join(*kinds))
        if isinstance(op, ast.Pow):
            yield from _power(kind, right)
            return
        yield f"{kind}_{_ARITHMETIC[type(op)]}"
        for one, part in zip(kinds, (left, right), strict=True):
            if kind == "float" and _number(one) == "int" and not isinstance(part, ast.Constant):
                yield "convert"

    def _element(self, node: ast.Subscript, what: str) -> str:
        indices = len(node.slice.elts) if isinstance(node.slice, ast.Tuple) else 1
        return f"{_number(element(self.kinds.of(node.value)))}_{what}_{_PLACES[min(indices, 3) - 1]}"

    def _call(self, node: ast.Call) -> Iterator[str]:
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if isinstance(node.func, ast.Name) and name in self.functions:
            yield "call"
        elif name in {"min", "max", "abs", "fabs", "fmin", "fmax", "copysign"}:
            yield from [f"{_number(self.kinds.of(node))}_choose"] * max(1, len(node.args) - 1)
        elif name == "divmod":
            yield f"{_number(self.kinds.of(node.args[0]))}_divide"
        elif name in _FUNCTIONS:
            yield _FUNCTIONS[name]


def _power(kind: str, exponent: ast.expr) -> list[str]:
    """A small whole constant exponent is done by multiplying, as compilers do."""
    match exponent:
        case ast.Constant(value=int(number)) if 0 <= number <= LARGEST_PRODUCT:
            return [f"{kind}_multiply"] * (number.bit_length() - 2 + number.bit_count())
    return [f"{kind}_power"]


def _number(kind: str) -> str:
    """`float` for what has a fraction, `int` for the rest."""
    return "float" if kind in {"float", "complex"} else "int"
