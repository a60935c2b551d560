"""YAML of 1.2 rules (JSON too) and TOML as plain data, with the line and column of every field; sizes are bounded."""

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from simulator import files
from simulator.errors import ApportionError, ScenarioError

MAX_BYTES = 16 * 2**20
MAX_NODES = 2_000_000
"""Most YAML nodes after aliases are expanded."""
MAX_DEPTH = 50
_TOML_PLACE = re.compile(r"(.*) \(at line (\d+), column (\d+)\)", re.DOTALL)

Field = Sequence[str | int]
"""Keys and places from the top of a file down to a field."""


class PlacedError(ScenarioError):
    """Lines that say already where in the file they belong."""


@dataclass(frozen=True)
class Document:
    """What a file holds, and where."""

    path: Path
    data: Any
    root: yaml.Node | None
    """None for TOML, whose reader tells no places."""
    fields_set: Mapping[tuple[str | int, ...], str] = field(default_factory=dict)
    """Fields that the command line sets, and how it names them."""

    def setting(self, field: Field) -> str | None:
        """How the command line names the field that it sets, if that is this one or holds it."""
        found = [text for part, text in self.fields_set.items() if tuple(field[: len(part)]) == part]
        return found[-1] if found else None

    def settings_at(self, field: Field) -> list[str]:
        """How the command line names the fields that it sets in, at, or above a field."""
        whole = tuple(field)
        return [
            text for part, text in self.fields_set.items() if whole[: len(part)] == part or part[: len(whole)] == whole
        ]

    def place(self, field: Field) -> str:
        """`FILE:LINE:COL: FIELD`, as far down as the field is there; or what the command line names it."""
        for given, text in self.fields_set.items():
            if tuple(field[: len(given)]) == given:
                return ".".join((f"--set {text}", *map(str, field[len(given) :])))
        node, place = self.root, ""
        for part in field:
            child = _child(node, part)
            if child is None:
                break
            mark, node = child
            place = f":{mark.line + 1}:{mark.column + 1}"
        if not place and self.root is not None:
            place = f":{self.root.start_mark.line + 1}:{self.root.start_mark.column + 1}"
        return f"{self.path}{place}: {'.'.join(map(str, field)) or 'top level'}"

    def value(self, field: Field) -> Any:
        """What stands in a field; None if nothing does."""
        data = self.data
        for part in field:
            is_there = isinstance(data, list) and isinstance(part, int) and part < len(data)
            if not is_there and not (isinstance(data, dict) and part in data):
                return None
            data = data[part]
        return data

    @contextmanager
    def at(self, *field: str | int) -> Iterator[None]:
        """Errors raised inside are of this field, or of the field below it that their line begins with."""
        try:
            yield
        except PlacedError:
            raise
        except ApportionError as error:
            raise PlacedError([self._placed(list(field), line) for line in error.lines]) from None

    def _placed(self, field: list[str | int], line: str) -> str:
        head = f"{field[0]}: " if field else ""
        line = line.removeprefix(head)
        if len(field) == 2 and field[0] == "configurations":
            line = line.removeprefix(f"configuration {field[1]}: ")
        while isinstance(data := self.value(field), dict):
            first, colon, rest = line.partition(": ")
            if not colon or first not in data:
                break
            field, line = [*field, first], rest
        if field:
            line = line.removeprefix(f"{field[-1]}: ")
        return f"{self.place(field)}: {line}"


def read_document(path: Path) -> Document:
    """Read a file as its ending says: TOML, or else YAML, of which JSON is a part.

    Raises
    ------
    ScenarioError
        With file, line and column, if it cannot be read or is too large once its aliases are expanded.
    """
    text = files.read_text(path, limit_bytes=MAX_BYTES)
    if path.suffix == ".toml":
        try:
            return Document(path, tomllib.loads(text), None)
        except tomllib.TOMLDecodeError as error:
            found = _TOML_PLACE.fullmatch(str(error))
            place, said = (f":{found[2]}:{found[3]}", found[1]) if found else ("", str(error))
            raise ScenarioError(f"{path}{place}: {said}, TOML allowed") from None
        except RecursionError:
            raise ScenarioError(f"{path}: more levels than can be read found, fewer allowed") from None
    loader = _Loader(text)
    try:
        node = loader.get_single_node()
        if node is None:
            raise ScenarioError(f"{path}: an empty file found, a scenario allowed")
        _count(node, {}, 0, path)
        return Document(path, loader.construct_document(node), node)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        place = f":{mark.line + 1}:{mark.column + 1}" if mark else ""
        raise ScenarioError(f"{path}{place}: {error.problem}, YAML allowed") from None
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise ScenarioError(f"{path}: {str(error).splitlines()[0]}, YAML allowed") from None
    finally:
        loader.dispose()


def read_value(text: str) -> Any:
    """One value written in YAML on a line of its own, such as `8GiB`, `4`, `[a, b]` or `{latency: 1us}`.

    Raises
    ------
    ScenarioError
        If it is none.
    """
    loader = _Loader(text)
    try:
        node = loader.get_single_node()
        if node is None:
            raise ScenarioError("nothing found, a value allowed")
        _count(node, {}, 0, Path("value"))
        return loader.construct_document(node)
    except (yaml.YAMLError, RecursionError, ValueError):
        raise ScenarioError(f"{text!r} found, a value in YAML allowed") from None
    finally:
        loader.dispose()


def _child(node: yaml.Node | None, part: str | int) -> tuple[yaml.Mark, yaml.Node] | None:
    """Where a key or an entry stands, and the node below it."""
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if isinstance(key, yaml.ScalarNode) and key.value == str(part):
                return key.start_mark, value
    if isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
        return node.value[part].start_mark, node.value[part]
    return None


# The core schema of YAML 1.2: `1e9` is a number, `12:30`, `NO` and `010`-like surprises of 1.1 are not.
_SCALARS = {
    "null": (r"~|null|Null|NULL|", "~nN"),
    "bool": (r"true|True|TRUE|false|False|FALSE", "tTfF"),
    "int": (r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+", "-+0123456789"),
    "float": (
        r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)",
        "-+.0123456789",
    ),
}


class _Loader(yaml.SafeLoader):
    """YAML 1.2 scalars, no duplicate keys."""

    yaml_implicit_resolvers: dict[str, list[Any]] = {}  # noqa: RUF012 - PyYAML's own protocol

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:  # noqa: FBT001, FBT002
        seen = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise yaml.constructor.ConstructorError(None, None, "a key that is no text", key.start_mark)
            if key.value in seen:
                raise yaml.constructor.ConstructorError(None, None, f"key {key.value!r} twice", key.start_mark)
            seen.add(key.value)
        return super().construct_mapping(node, deep)


for _tag, (_pattern, _first) in _SCALARS.items():
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(f"^(?:{_pattern})$"), [*_first, ""])


def _integer(_loader: yaml.SafeLoader, node: yaml.ScalarNode) -> int:
    text = node.value
    return int(text, 0) if text[:2] in ("0x", "0o") else int(text)


_Loader.add_constructor("tag:yaml.org,2002:int", _integer)


def _count(node: yaml.Node, sizes: dict[int, int], depth: int, path: Path) -> int:
    """Nodes below one, aliases expanded; refuses what would grow without bound."""
    place = f"{path}:{node.start_mark.line + 1}:{node.start_mark.column + 1}"
    if depth > MAX_DEPTH:
        raise ScenarioError(f"{place}: more than {MAX_DEPTH} levels found, fewer allowed")
    if id(node) not in sizes:
        children = [] if isinstance(node, yaml.ScalarNode) else node.value
        flat = [part for child in children for part in (child if isinstance(child, tuple) else (child,))]
        sizes[id(node)] = 1 + sum(_count(part, sizes, depth + 1, path) for part in flat)
        if sizes[id(node)] > MAX_NODES:
            raise ScenarioError(f"{place}: more than {MAX_NODES} values found, fewer allowed")
    return sizes[id(node)]
