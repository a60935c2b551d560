"""`--accept` for messages that stand in tests: literals that assertions compare with what is said now.

A plugin of `conftest.py`. An assertion `said == expected`, `expected in said` or `raises(..., match=expected)` that
fails names two strings; the literal of the test that is the old one, plain or with `{values}`, becomes the new one;
where the test has none, that of its file.
Whatever differs but for words (exit codes, numbers of lines) is left as it is. A test shows one failure at a time: run
until nothing is rewritten, then read every changed line.
"""

import ast
import difflib
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

PATH = re.compile(r"(?:/[\w.+-]+){2,}/?")
"""What differs from run to run and stands in no literal."""
REFUSED = re.compile(r"Regex pattern did not match\.\s+Expected regex: (.*)\s+Actual message: (.*)", re.DOTALL)
Place = tuple[Path, str]
"""A file, and the name of the test's function."""
Fault = tuple[Place, str, str, str]
"""Where, how the strings are compared (`==`, `in` or `match`), the one expected, the one said."""
Span = tuple[tuple[int, int], tuple[int, int]]
"""Line and column of the first letter, and behind the last."""


class Accept:
    """Collects what assertions of strings expect and what is said, and rewrites literals when all tests have run."""

    def __init__(self) -> None:
        self.compared: list[tuple[str, Any, Any]] = []
        self.faults: dict[Fault, None] = {}
        self.lines: list[str] = []

    def pytest_runtest_call(self) -> None:
        self.compared.clear()

    def pytest_assertrepr_compare(self, op: str, left: object, right: object) -> None:
        self.compared.append((op, left, right))

    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> None:
        if call.when != "call" or call.excinfo is None or not call.excinfo.errisinstance((AssertionError,)):
            return
        place = item.path, item.name.partition("[")[0]
        if refused := REFUSED.search(str(call.excinfo.value)):
            self.faults[place, "match", _read(refused[1]), _read(refused[2])] = None
        elif self.compared:
            op, left, right = self.compared[-1]
            pairs = [(left, right)] if op == "in" else _pairs(right, left) if op == "==" else []
            for expected, said in pairs:
                if isinstance(expected, str) and isinstance(said, str) and expected and said:
                    self.faults[place, op, expected, said] = None

    def pytest_sessionfinish(self) -> None:
        for fault in self.faults:
            (path, name), _, expected, _ = fault
            done = rewrite(*fault)
            self.lines.append(f"{'rewritten' if done else 'left as it is'}: {path.name}: {name}: {expected!r:.150}")

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        terminalreporter.write("".join(f"{line}\n" for line in self.lines))


def _read(shown: str) -> str:
    """The string of which this is the `repr`, raw or not."""
    try:
        return str(ast.literal_eval(shown.strip()))
    except (SyntaxError, ValueError):
        return shown.strip()


def _pairs(expected: Any, said: Any) -> Iterator[tuple[str, str]]:
    """Strings that differ in two things of one shape; none where anything else differs too."""
    if isinstance(expected, tuple) and expected and isinstance(expected[0], int) and expected[0] != 2:
        return  # a command that is not refused
    if isinstance(expected, list | tuple) and type(expected) is type(said) and len(expected) == len(said):
        found = [(one, other) for one, other in zip(expected, said, strict=True) if one != other]
        if all(isinstance(part, str) for pair in found for part in pair):
            yield from found
    elif isinstance(expected, str) and isinstance(said, str):
        yield expected, said


def rewrite(place: Place, op: str, expected: str, said: str) -> bool:
    """Rewrite the literals that are the string expected; whether there is one."""
    path, name = place
    data = path.read_bytes()
    tree = ast.parse(data)
    own = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name == name]
    changes = dict(_changes(own, op, expected, said)) or dict(_changes([tree], op, expected, said))
    starts = [0, *(match.end() for match in re.finditer(rb"\n", data))]
    for begin, end in sorted(changes, reverse=True):
        first, last = (starts[line - 1] + column for line, column in (begin, end))
        data = data[:first] + changes[begin, end].encode() + data[last:]
    path.write_bytes(data)
    return bool(changes)


def _changes(trees: Sequence[ast.AST], op: str, expected: str, said: str) -> Iterator[tuple[Span, str]]:
    """Where literals are what is expected, and what stands there now."""
    found = [node for tree in trees for node in ast.walk(tree)]
    parts = {id(part) for node in found if isinstance(node, ast.JoinedStr) for part in ast.walk(node)}
    for node in found:
        text = ""
        if isinstance(node, ast.JoinedStr):
            text = _formatted(node, op, expected, said)
        elif isinstance(node, ast.Constant) and node.value == expected and id(node) not in parts:
            text = _plain(op, expected, said)
        if text:
            yield ((node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset)), text


def _plain(op: str, expected: str, said: str) -> str:
    """The literal for what is said; empty where that holds a path, which differs from run to run."""
    new = said if op == "==" else _fragment(expected, said)
    if PATH.search(new) and not PATH.search(expected):
        return ""
    return _literal(re.escape(new).replace(r"\ ", " "), raw=True) if op == "match" else _literal(new)


def _formatted(node: ast.JoinedStr, op: str, expected: str, said: str) -> str:
    """A literal with `{values}` that gives what is said, where this one gives what is expected; empty where not."""
    pattern = "".join(re.escape(str(part.value)) if isinstance(part, ast.Constant) else "(.+?)" for part in node.values)
    match = re.fullmatch(pattern, expected, re.DOTALL)
    if match is None or not any(isinstance(part, ast.Constant) for part in node.values):
        return ""
    new = said if op == "==" else _fragment(expected, said)
    values = [part for part in node.values if isinstance(part, ast.FormattedValue)]
    new = new.replace("{", "{{").replace("}", "}}")
    for value, text in sorted(zip(values, match.groups(), strict=True), key=lambda pair: -len(pair[1])):
        if text not in new:
            return ""
        new = new.replace(text, f"\0{values.index(value)}\0", 1)
    text = _literal(new)
    for number, value in enumerate(values):
        text = text.replace(f"\\x00{number}\\x00", ast.unparse(ast.JoinedStr([value]))[2:-1])
    return f"f{text}"


def _fragment(expected: str, said: str) -> str:
    """The line of what is said that is most like what was expected in it, from behind its path on."""
    lines = [line.removeprefix("error: ") for line in said.splitlines()]
    line = max(lines, key=lambda line: difflib.SequenceMatcher(None, expected, line).ratio(), default=said)
    if PATH.search(expected):
        return line
    rest = PATH.split(line)[-1]
    return rest if expected.startswith(":") else rest.lstrip(": ")


def _literal(text: str, *, raw: bool = False) -> str:
    """A string in quotes as `ruff format` likes it."""
    if raw and "\\" in text and '"' not in text:
        return f'r"{text}"'
    shown = repr(text)
    return shown if '"' in text else '"' + shown[1:-1].replace("\\'", "'") + '"'
