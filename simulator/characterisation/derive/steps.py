"""A function's control structure with a counter for every block, and the source that counts entries."""

import ast
import copy
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

COUNTS = "apportion_counts"
PASS = "apportion_pass"  # noqa: S105 - a function's name
"""Names of the array of counters and of the function that adds to it, in the source that counts."""

_Node = TypeVar("_Node", bound=ast.AST)
_PASS_SOURCE = f"""def {PASS}({COUNTS}, place, value):
    {COUNTS}[place] += 1
    return value
"""


@dataclass(frozen=True)
class Piece:
    """A part of an expression that is not evaluated each time: what follows `and`, an arm of a conditional."""

    counter: int
    expression: ast.expr
    inner: tuple["Piece", ...]


@dataclass(frozen=True)
class Straight:
    """Statements without branches and loops."""

    statements: tuple[ast.stmt, ...]
    pieces: tuple[Piece, ...]


@dataclass(frozen=True)
class Block:
    """Steps that are entered together."""

    counter: int
    steps: tuple["Step", ...]


@dataclass(frozen=True)
class Repeat:
    """A loop."""

    node: ast.For | ast.While
    body: Block
    tests: int | None
    pieces: tuple[Piece, ...]


@dataclass(frozen=True)
class Choice:
    """An if."""

    node: ast.If
    then: Block
    otherwise: Block | None
    pieces: tuple[Piece, ...]


@dataclass(frozen=True)
class Rest:
    """What follows a step that may have left the block by break, continue or return."""

    block: Block


Step: TypeAlias = Straight | Repeat | Choice | Rest


@dataclass(frozen=True)
class Counted:
    """The structure of functions, and the module that counts."""

    functions: dict[str, Block]
    counters: int
    text: str


def count_blocks(kept: Sequence[ast.stmt], functions: Collection[str]) -> Counted:
    """Give every block of the named functions a counter, and write the module that counts them."""
    maker = _Maker(functions)
    found: dict[str, Block] = {}
    body: list[ast.stmt] = []
    for statement in kept:
        if isinstance(statement, ast.FunctionDef) and statement.name in functions:
            found[statement.name], counting = maker.function(statement)
            body.append(counting)
        else:
            body.append(statement)
    text = ast.unparse(ast.fix_missing_locations(ast.Module(body=body, type_ignores=[])))
    return Counted(found, maker.counters, f"{text}\n\n\n{_PASS_SOURCE}")


class _Maker:
    """Numbers blocks while it copies functions."""

    def __init__(self, functions: Collection[str]) -> None:
        self._functions = functions
        self.counters = 0

    def function(self, node: ast.FunctionDef) -> tuple[Block, ast.FunctionDef]:
        counting = copy.copy(node)
        counting.decorator_list = []
        counting.args = copy.deepcopy(node.args)
        counting.args.args.append(ast.arg(COUNTS))
        block, counting.body = self._block(node.body)
        return block, counting

    def _new(self) -> int:
        self.counters += 1
        return self.counters - 1

    def _block(self, statements: Sequence[ast.stmt]) -> tuple[Block, list[ast.stmt]]:
        counter = self._new()
        counting: list[ast.stmt] = [_tick(counter)]
        steps: list[Step] = []
        straight: list[ast.stmt] = []
        pieces: list[Piece] = []

        def close() -> None:
            if straight:
                steps.append(Straight(tuple(straight), tuple(pieces)))
            straight.clear()
            pieces.clear()

        for place, statement in enumerate(statements):
            if not isinstance(statement, ast.For | ast.While | ast.If):
                copied, found = self._apart(statement)
                straight.append(statement)
                pieces.extend(found)
                counting.append(copied)
                continue
            close()
            step, copied = self._choice(statement) if isinstance(statement, ast.If) else self._repeat(statement)
            steps.append(step)
            counting.append(copied)
            if _escapes(statement) and statements[place + 1 :]:
                rest, following = self._block(statements[place + 1 :])
                steps.append(Rest(rest))
                return Block(counter, tuple(steps)), counting + following
        close()
        return Block(counter, tuple(steps)), counting

    def _choice(self, node: ast.If) -> tuple[Choice, ast.If]:
        test, pieces = self._apart(node.test)
        then, counting = self._block(node.body)
        otherwise, counting_else = self._block(node.orelse) if node.orelse else (None, [])
        copied = ast.If(test=test, body=counting, orelse=counting_else)
        return Choice(node, then, otherwise, pieces), ast.copy_location(copied, node)

    def _repeat(self, node: ast.For | ast.While) -> tuple[Repeat, ast.stmt]:
        copied: ast.stmt
        tests = None
        if isinstance(node, ast.While):
            tests = self._new()
            test, pieces = self._apart(node.test)
            body, counting = self._block(node.body)
            copied = ast.While(test=_passing(tests, test), body=counting, orelse=[])
        else:
            over, pieces = self._apart(node.iter)
            body, counting = self._block(node.body)
            copied = ast.For(target=node.target, iter=over, body=counting, orelse=[])
        return Repeat(node, body, tests, pieces), ast.copy_location(copied, node)

    def _apart(self, node: _Node) -> tuple[_Node, tuple[Piece, ...]]:
        """A copy that counts, and the parts that are not evaluated each time."""
        pieces: list[Piece] = []
        return self._copy(node, pieces), tuple(pieces)

    def _copy(self, node: _Node, pieces: list[Piece]) -> _Node:
        conditional = _conditional(node)

        def copied(value: object) -> object:
            if not isinstance(value, ast.expr):
                return value
            return self._piece(value, pieces) if value in conditional else self._copy(value, pieces)

        found = copy.copy(node)
        for name, value in ast.iter_fields(node):
            setattr(found, name, [copied(one) for one in value] if isinstance(value, list) else copied(value))
        if isinstance(found, ast.Call) and isinstance(found.func, ast.Name) and found.func.id in self._functions:
            found.args.append(ast.Name(COUNTS, ast.Load()))
        return found

    def _piece(self, node: ast.expr, pieces: list[Piece]) -> ast.expr:
        counter = self._new()
        inner: list[Piece] = []
        copied = self._copy(node, inner)
        pieces.append(Piece(counter, node, tuple(inner)))
        return _passing(counter, copied)


def _conditional(node: ast.AST) -> list[ast.expr]:
    """Parts of an expression that are not evaluated each time it is."""
    match node:
        case ast.BoolOp(values=[_, *others]):
            return others
        case ast.IfExp(body=body, orelse=orelse):
            return [body, orelse]
    return []


def _tick(counter: int) -> ast.stmt:
    place = ast.Subscript(ast.Name(COUNTS, ast.Load()), ast.Constant(counter), ast.Store())
    return ast.AugAssign(place, ast.Add(), ast.Constant(1))


def _passing(counter: int, value: ast.expr) -> ast.expr:
    arguments = [ast.Name(COUNTS, ast.Load()), ast.Constant(counter), value]
    return ast.Call(ast.Name(PASS, ast.Load()), arguments, [])


def _escapes(node: ast.AST, *, looped: bool = False) -> bool:
    """Whether control may leave the enclosing block inside this statement; only a return leaves a loop around it."""
    if isinstance(node, ast.Return) or (isinstance(node, ast.Break | ast.Continue) and not looped):
        return True
    inside = looped or isinstance(node, ast.For | ast.While)
    return any(_escapes(part, looped=inside) for part in ast.iter_child_nodes(node))
