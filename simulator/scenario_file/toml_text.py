"""TOML as plain data, with the line and column of every field as YAML nodes have them."""

import re
import tomllib
from bisect import bisect_right
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from simulator.base import units
from simulator.base.errors import ScenarioError
from simulator.programs.configuration import MOST_CONFIGURATIONS

_PLACE = re.compile(r"(.*) \(at line (\d+), column (\d+)\)", re.DOTALL)
_END = re.compile(r"(.*) \(at end of document\)", re.DOTALL)
_SPACE = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_KEY = re.compile(r"""(?:[ \t]*(?:[A-Za-z0-9_-]+|"(?:[^"\\]|\\.)*"|'[^']*')[ \t]*(?:\.|(?=[]=])))+""")
_STRING = re.compile(
    r'"""(?:[^"\\]++|\\.|"(?!""))*+"{3,5}|' r"'''.*?'{3,5}|" r'"(?:[^"\\]++|\\.)*+"|' r"'[^']*'", re.DOTALL
)
_TEXTS = re.compile(_STRING.pattern + r"|#[^\n]*", re.DOTALL)
_A_NAME = r"(?:[A-Za-z0-9_-]++|\"\")"
_CONFIGURATION = re.compile(rf"^[ \t]*\[?[ \t]*configurations[ \t]*\.[ \t]*{_A_NAME}[ \t]*[\]=]", re.MULTILINE)
_OTHER = re.compile(r"[^,\]}#\n]+")

Where = tuple[str | int, ...]


def toml_nodes(text: str, path: Path, *, most: int, deepest: int) -> tuple[dict[str, Any], yaml.Node]:
    """What a text says, and where each part of it stands.

    Parameters
    ----------
    most, deepest
        Values and levels that are taken.

    Raises
    ------
    ScenarioError
        If it is no TOML, or more than that.
    """
    _check_size(text, path, most=most, deepest=deepest)
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ScenarioError(f"{path}:{_fault(str(error), text)}, TOML allowed") from None
    except RecursionError:
        raise ScenarioError(f"{path}:1:1: more than {deepest} levels found, fewer allowed") from None
    except ValueError as error:  # an integer of more digits than Python reads
        raise ScenarioError(f"{path}:1:1: {str(error).split(';')[0]}, TOML allowed") from None
    scan = _Scan(text)
    places = scan.places() if text.count("\n") <= most else {}
    return data, _Nodes(str(path), scan, places, most, deepest).node(data, ())


def _check_size(text: str, path: Path, *, most: int, deepest: int) -> None:
    """Refuse, before TOML's reader takes the square of their number, dotted names in a row; and too many values."""
    bare = _TEXTS.sub(lambda found: '""' + "\n" * found[0].count("\n"), text)
    deep = re.search(rf"(?<![A-Za-z0-9_-]){_A_NAME}(?:[ \t]*\.[ \t]*{_A_NAME}){{{deepest}}}", bare)
    if deep is not None:
        raise ScenarioError(f"{_line(path, bare, deep)}: more than {deepest} levels found, fewer allowed")
    long = re.search(rf"(?<![0-9A-Fa-f_])[0-9A-Fa-f_]{{{units.MOST_LETTERS + 1}}}", bare)
    if long is not None:
        found = f"a number of more than {units.MOST_LETTERS} letters found"
        raise ScenarioError(f"{_line(path, bare, long)}: {found}, at most so many allowed")
    if len(_CONFIGURATION.findall(bare)) > MOST_CONFIGURATIONS:
        raise ScenarioError(f"{path}:1:1: more than {MOST_CONFIGURATIONS} configurations found, fewer allowed")
    if max(bare.count(","), bare.count("=")) > most:  # each follows a value, or comes before one
        raise ScenarioError(f"{path}:1:1: more than {most} values found, fewer allowed in TOML")


def _line(path: Path, text: str, found: re.Match[str]) -> str:
    return f"{path}:{text.count(chr(10), 0, found.start()) + 1}:1"


def _fault(said: str, text: str) -> str:
    """Place and reason of what TOML's reader says."""
    if found := _PLACE.fullmatch(said):
        return f"{found[2]}:{found[3]}: {found[1]}"
    lines = text.split("\n")
    found = _END.fullmatch(said)
    return f"{len(lines)}:{len(lines[-1]) + 1}: {found[1] if found else said}"


@dataclass
class _Scan:
    """A text that is TOML, gone through for the places of its keys and entries."""

    text: str
    found: dict[Where, int] = field(default_factory=dict)
    entries: dict[Where, int] = field(default_factory=dict)
    """Tables so far of each list of tables."""

    def places(self) -> dict[Where, int]:
        """Where each key and entry begins, by the way to it."""
        at = self._space(0)
        table: Where = ()
        while at < len(self.text):
            if self.text.startswith("[", at):
                is_list = self.text.startswith("[[", at)
                begin, at = at, at + 1 + is_list
                names, at = self._key(at)
                table = self._table(names, begin, is_list=is_list)
                at += 1 + is_list
            else:
                at = self._pair(at, table)
            at = self._space(at)
        return self.found

    def line_and_column(self, at: int) -> tuple[int, int]:
        """Both from 0 on."""
        line = bisect_right(self._starts, at) - 1
        return line, at - self._starts[line]

    def __post_init__(self) -> None:
        self._starts = [0, *(match.end() for match in re.finditer("\n", self.text))]

    def _space(self, at: int) -> int:
        match = _SPACE.match(self.text, at)
        return match.end() if match else at

    def _key(self, at: int) -> tuple[list[str], int]:
        """The names of a dotted key, and where it ends."""
        match = _KEY.match(self.text, at)
        if match is None:
            raise AssertionError(f"{self.text[at : at + 40]!r} is no key, though TOML's reader took it")
        names: list[str] = []
        data = tomllib.loads(f"{match.group()} = 0")
        while isinstance(data, dict):
            (name, data), *_ = data.items()
            names.append(name)
        return names, match.end()

    def _table(self, names: list[str], begin: int, *, is_list: bool) -> Where:
        where: Where = ()
        for number, name in enumerate(names):
            where = (*where, name)
            self.found.setdefault(where, begin)
            if is_list and number == len(names) - 1:
                self.entries[where] = self.entries.get(where, -1) + 1
            if where in self.entries:
                where = (*where, self.entries[where])
                self.found.setdefault(where, begin)
        return where

    def _pair(self, at: int, table: Where) -> int:
        """A key with its value; where it ends."""
        names, end = self._key(at)
        where = table
        for name in names:
            where = (*where, name)
            self.found.setdefault(where, at)
        return self._value(self._space(end + 1), where)

    def _value(self, at: int, where: Where) -> int:
        if match := _STRING.match(self.text, at):
            return match.end()
        first = self.text[at : at + 1]
        if first not in ("[", "{"):
            match = _OTHER.match(self.text, at)
            return match.end() if match else len(self.text)
        number, at = 0, self._space(at + 1)
        while at < len(self.text) and self.text[at] not in "]}":
            if first == "[":
                self.found[*where, number] = at
                at, number = self._value(at, (*where, number)), number + 1
            else:
                at = self._pair(at, where)
            at = self._space(at)
            if self.text.startswith(",", at):
                at = self._space(at + 1)
        return at + 1


@dataclass
class _Nodes:
    """Nodes of data, with marks."""

    name: str
    scan: _Scan
    places: dict[Where, int]
    most: int
    deepest: int
    made: int = 0

    def node(self, data: Any, where: Where, above: int = 0) -> yaml.Node:
        """The node of what stands somewhere; what has no place of its own is placed as what holds it."""
        at = self.places.get(where, above)
        mark = self._mark(at)
        self.made += 1
        if self.made > self.most or len(where) > self.deepest:
            found = f"{self.most} values" if self.made > self.most else f"{self.deepest} levels"
            raise ScenarioError(
                f"{self.name}:{mark.line + 1}:{mark.column + 1}: more than {found} found, fewer allowed"
            )
        if isinstance(data, dict):
            pairs = []
            for key, value in data.items():
                child = self.node(value, (*where, key), at)
                pairs.append((yaml.ScalarNode("tag:yaml.org,2002:str", key, child.start_mark, mark), child))
            return yaml.MappingNode("tag:yaml.org,2002:map", pairs, mark, mark)
        if isinstance(data, list):
            entries = [self.node(value, (*where, number), at) for number, value in enumerate(data)]
            return yaml.SequenceNode("tag:yaml.org,2002:seq", entries, mark, mark)
        return yaml.ScalarNode("tag:yaml.org,2002:str", str(data), mark, mark)

    def _mark(self, at: int) -> yaml.Mark:
        line, column = self.scan.line_and_column(at)
        return yaml.Mark(self.name, at, line, column, None, 0)
