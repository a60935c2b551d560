"""A user's function as source: what it reaches in its file, what of that cannot be analysed, what is kept."""

import ast
import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from simulator.base import files
from simulator.base.errors import ScenarioError, meant

MAX_SOURCE_BYTES = 2**20
"""Longest file that is analysed."""
_STATEMENTS: tuple[type[ast.stmt], ...] = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.For, ast.While, ast.If)
_STATEMENTS += (ast.Return, ast.Break, ast.Continue, ast.Pass, ast.Expr)
_EXPRESSIONS: tuple[type[ast.expr], ...] = (ast.Constant, ast.Name, ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare)
_EXPRESSIONS += (ast.IfExp, ast.Subscript, ast.Attribute, ast.Call, ast.Tuple)
_BUILTINS = {"abs", "min", "max", "int", "float", "bool", "len", "range", "round", "pow", "divmod"}
_ATTRIBUTES = {"shape", "size", "ndim", "real", "imag"}
_WHOLE = {"dot", "matmul", "sum", "zeros", "empty", "ones", "full", "arange", "linspace", "array", "copy", "sort"}


@dataclass(frozen=True)
class Source:
    """Functions of one file that an analysis covers."""

    path: Path
    entry: str
    functions: dict[str, ast.FunctionDef]
    """By name: the entry first, then those that it reaches."""
    kept: tuple[ast.stmt, ...]
    """Statements of the module that the functions need: imports, constants, and themselves."""
    text: str
    """The file with every other line blank, so that line numbers stay."""
    warnings: tuple[str, ...]

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of the entry's arguments."""
        return argument_names(self.functions[self.entry])


def argument_names(function: ast.FunctionDef) -> tuple[str, ...]:
    """Names of a function's arguments, in order."""
    return tuple(argument.arg for argument in (*function.args.posonlyargs, *function.args.args))


def locate(target: Path | Callable[..., Any], function: str | None = None) -> tuple[Path, str]:
    """File and name of a function: given as such, or as a function object."""
    if isinstance(target, Path):
        if function is None:
            raise ScenarioError(f"{target} names no function; write FILE.py:FUNCTION")
        return target, function
    plain = getattr(target, "py_func", target)
    path = inspect.getsourcefile(plain)
    if path is None:
        raise ScenarioError(f"{plain.__name__} has no source file; give a function of a file")
    return Path(path), plain.__name__


def read_source(path: Path, entry: str) -> Source:
    """Read a file, find what a function reaches in it, and refuse what cannot be analysed."""
    text = files.read_bytes(path, limit_bytes=MAX_SOURCE_BYTES).decode("utf-8-sig", errors="replace")
    return source_of(text, path, entry)


def source_of(text: str, path: Path, entry: str) -> Source:
    """The same of a text, as if it stood in a file."""
    try:
        module = ast.parse(text, str(path))
    except (SyntaxError, ValueError, RecursionError) as error:
        line = getattr(error, "lineno", None) or 1
        raise ScenarioError(f"{path}:{line}: this is not Python: {getattr(error, 'msg', error)}") from error
    homes = _homes(module)
    functions = _reached(path, entry, homes)
    faults = [fault for function in functions.values() for fault in _faults(path, function, homes)]
    if faults:
        raise ScenarioError(list(dict.fromkeys(faults)))
    kept = _needed(module, functions, homes)
    dropped = [name for name, function in functions.items() if function.decorator_list]
    warnings = [f"{path}:{functions[name].lineno}: decorators of {name} are left out" for name in dropped]
    return Source(path, entry, functions, kept, _blanked(text, kept), tuple(warnings))


def _homes(module: ast.Module) -> dict[str, ast.stmt]:
    """Name -> the statement of the module that makes it, the last one if several."""
    homes: dict[str, ast.stmt] = {}
    for statement in module.body:
        match statement:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                homes[name] = statement
            case ast.Import(names=names) | ast.ImportFrom(names=names):
                homes |= {alias.asname or alias.name.split(".")[0]: statement for alias in names}
            case ast.Assign(targets=targets):
                homes |= {node.id: statement for one in targets for node in ast.walk(one) if isinstance(node, ast.Name)}
            case ast.AnnAssign(target=ast.Name(id=name)):
                homes[name] = statement
    return homes


def _reached(path: Path, entry: str, homes: dict[str, ast.stmt]) -> dict[str, ast.FunctionDef]:
    """The entry and what it calls in its file, in order of first call."""
    if not isinstance(homes.get(entry), ast.FunctionDef):
        known = ", ".join(name for name, home in homes.items() if isinstance(home, ast.FunctionDef)) or "none"
        raise ScenarioError(f"{path} has no function {entry!r}, only {known}{meant(entry, homes)}")
    found: dict[str, ast.FunctionDef] = {}

    def visit(name: str, above: tuple[str, ...]) -> None:
        home = homes[name]
        if name in above:
            raise ScenarioError(f"{path}:{home.lineno}: {name} calls itself; recursion cannot be analysed")
        if isinstance(home, ast.FunctionDef):
            found.setdefault(name, home)
            for called in _called(home):
                if isinstance(homes.get(called), ast.FunctionDef):
                    visit(called, (*above, name))

    visit(entry, ())
    return found


def _called(function: ast.FunctionDef) -> Iterator[str]:
    for node in ast.walk(function):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            yield node.func.id


def _faults(path: Path, function: ast.FunctionDef, homes: dict[str, ast.stmt]) -> Iterator[str]:
    """A line for each thing that cannot be analysed."""
    arguments = function.args
    if arguments.vararg or arguments.kwarg or arguments.kwonlyargs or arguments.defaults:
        yield f"{path}:{function.lineno}: give {function.name} plain arguments without defaults"
    for statement in function.body:
        for node in ast.walk(statement):
            what = _fault(node, homes)
            if what:
                yield f"{path}:{getattr(node, 'lineno', statement.lineno)}: {what}"


def _fault(node: ast.AST, homes: dict[str, ast.stmt]) -> str | None:  # noqa: PLR0911 - a case per kind of node
    """What is wrong with one node of the tree, None if nothing."""
    match node:
        case ast.For(orelse=[_, *_]) | ast.While(orelse=[_, *_]):
            return "a loop with else cannot be analysed"
        case ast.For(target=target) if not isinstance(target, ast.Name):
            return "a loop sets several names; let it set one"
        case ast.For(iter=ast.Call(func=ast.Name(id=name))) if name != "range":
            return f"a loop runs over {name}(); let it run over range() or a one-dimensional array"
        case ast.Call(keywords=[_, *_]):
            return "a call names its arguments; give them by position"
        case ast.Call(func=function):
            return _call_fault(function, homes)
        case ast.Attribute(value=ast.Name(id=name), attr=attribute):
            known = isinstance(homes.get(name), ast.Import | ast.ImportFrom) or attribute in _ATTRIBUTES
            return None if known else f".{attribute} cannot be analysed, only {', '.join(sorted(_ATTRIBUTES))}"
        case ast.Slice():
            return "a slice of an array cannot be analysed; loop over its elements"
        case ast.MatMult():
            return "a product of whole arrays (@) cannot be analysed; loop over their elements"
        case ast.Constant(value=str() | bytes()):
            return None  # a docstring; Numba refuses other uses
    if isinstance(node, ast.stmt) and not isinstance(node, _STATEMENTS):
        return f"{_word(node)} cannot be analysed, only assignments, for, while, if, break, continue and return"
    if isinstance(node, ast.expr) and not isinstance(node, _EXPRESSIONS):
        return f"{_word(node)} cannot be analysed, only arithmetic, comparisons, calls and elements of arrays"
    return None


def _call_fault(function: ast.expr, homes: dict[str, ast.stmt]) -> str | None:
    match function:
        case ast.Name(id=name):
            home = homes.get(name)
            if isinstance(home, ast.FunctionDef) or (home is None and name in _BUILTINS):
                return None
            if isinstance(home, ast.ImportFrom) and home.module in {"math", "numpy"} and name not in _WHOLE:
                return None
            known = f"functions of this file, of math and {', '.join(sorted(_BUILTINS))}"
            return f"a call of {name} cannot be analysed, only {known}"
        case ast.Attribute(value=ast.Name(id=name), attr=attribute):
            if isinstance(homes.get(name), ast.Import) and attribute not in _WHOLE:
                return None
            return (
                f"a call of {name}.{attribute} works on whole arrays and cannot be analysed; loop over their elements"
            )
    return "a call of an expression cannot be analysed; call a function by its name"


def _word(node: ast.AST) -> str:
    """`list comprehension` of `ListComp` and the like."""
    words = {"ListComp": "list comprehension", "GeneratorExp": "generator", "JoinedStr": "f-string"}
    words |= {"FunctionDef": "inner function", "AsyncFunctionDef": "async function", "ImportFrom": "import"}
    name = type(node).__name__
    return words.get(name, name.lower())


def _needed(
    module: ast.Module, functions: dict[str, ast.FunctionDef], homes: dict[str, ast.stmt]
) -> tuple[ast.stmt, ...]:
    """Statements of the module that the functions' names lead to, in order."""
    found: set[ast.stmt] = set(functions.values())
    waiting: list[ast.stmt] = list(functions.values())
    while waiting:
        statement = waiting.pop()
        parts = [*statement.args.args, *statement.body] if isinstance(statement, ast.FunctionDef) else [statement]
        returns = [statement.returns] if isinstance(statement, ast.FunctionDef) and statement.returns else []
        names = {node.id for part in (*parts, *returns) for node in ast.walk(part) if isinstance(node, ast.Name)}
        for name in names & homes.keys():
            if homes[name] not in found:
                found.add(homes[name])
                waiting.append(homes[name])
    future = [part for part in module.body if isinstance(part, ast.ImportFrom) and part.module == "__future__"]
    return tuple(part for part in module.body if part in found or part in future)


def _blanked(text: str, kept: tuple[ast.stmt, ...]) -> str:
    """The text with only the kept statements' lines, decorators left out."""
    lines = text.replace("\r\n", "\n").split("\n")  # as the parser counts lines, not at form feeds
    wanted = {line for part in kept for line in range(part.lineno, (part.end_lineno or part.lineno) + 1)}
    return "\n".join(line if number in wanted else "" for number, line in enumerate(lines, 1)).rstrip() + "\n"
