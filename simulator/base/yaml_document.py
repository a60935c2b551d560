"""YAML of 1.2 rules (JSON too), with the line and column of every field, and TOML as plain data; sizes are bounded."""

import io
import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from yaml.composer import Composer
from yaml.constructor import SafeConstructor
from yaml.resolver import Resolver

from simulator.base import files, units
from simulator.base.errors import ApportionError, ScenarioError, on_one_line

MAX_BYTES = 16 * 2**20
"""Largest file: 500,000 values of 32 letters."""
MAX_WRITTEN = 500_000
"""Most YAML nodes that a file writes: they take a second or two and some 250 MB to read."""
MAX_NODES = 2_000_000
"""Most YAML nodes after aliases are expanded, which cost no reading, but each is checked."""
MAX_TOML = 150_000
"""Most values of a TOML file, whose reader is written in Python and takes three times as long for each."""
MAX_DEPTH = 50
"""Most levels: each is a call in a call."""
_TOO_DEEP = f"this lies more than {MAX_DEPTH} levels deep; write fewer levels"
MOST_CONFIGURATIONS = 10_000
"""Most configurations of a scenario, refused while the file is read: a sweep (`apportion whatif`) is for more."""

_LONGEST_KEY = 60
_VALUE = "value"
"""What marks call a text that is no file."""
_PLACE = re.compile(rf"^{_VALUE}:[0-9]+:[0-9]+: ")
_SURROGATES = re.compile(r"(?<!\\)\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}")
"""One character beyond the first 65,536 as JSON may write it, and YAML may not."""

Field = Sequence[str | int]
"""Keys and places from the top of a file down to a field."""
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
# libyaml cuts the text five times as fast; its own composer runs out of stack on deep files, so that one is not used.
_PARTS: tuple[type, ...] = (
    (yaml.CSafeLoader.__bases__[0],)
    if yaml.__with_libyaml__
    else (yaml.reader.Reader, yaml.scanner.Scanner, yaml.parser.Parser)
)
_TOML_PLACE = re.compile(r"(.*) \(at line (\d+), column (\d+)\)", re.DOTALL)
_TOML_END = re.compile(r"(.*) \(at end of document\)", re.DOTALL)
_TEXTS = re.compile(
    r'"""(?:[^"\\]++|\\.|"(?!""))*+"{3,5}|' r"'''.*?'{3,5}|" r'"(?:[^"\\]++|\\.)*+"|' r"'[^']*'|#[^\n]*", re.DOTALL
)
_A_NAME = r"(?:[A-Za-z0-9_-]++|\"\")"
_CONFIGURATION = re.compile(rf"^[ \t]*\[?[ \t]*configurations[ \t]*\.[ \t]*{_A_NAME}[ \t]*[\]=]", re.MULTILINE)


class PlacedError(ScenarioError):
    """Lines that say already where in the file they belong."""


@dataclass(frozen=True)
class Document:
    """What a file holds, and where."""

    path: Path
    data: Any
    root: yaml.Node | None
    """Where everything stands; its marks name the file. None for what was read elsewhere."""
    bases: Mapping[str, Path] = field(default_factory=dict)
    """The files that this one extends, by their names from its folder."""
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
                return ".".join([f"--set {text}", *_names(field[len(given) :])])
        mark = self._mark(field)
        place = str(self.path) if mark is None else _shown(mark)
        return f"{place}: {'.'.join(_names(field)) or 'top level'}"

    def line(self, field: Field) -> int:
        """The line of a field, as far down as it is there, counted from 0."""
        mark = self._mark(field)
        return 0 if mark is None else int(mark.line)

    def _mark(self, field: Field) -> yaml.Mark | None:
        node = self.root
        mark = None if node is None else node.start_mark
        for part in field:
            child = _child(node, part)
            if child is None:
                break
            mark, node = child
        return mark

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
            if colon and first not in data and (top := first.partition("."))[0] in data:  # as `read` joins
                first, rest = top[0], f"{top[2]}: {rest}"
            if not colon or first not in data:
                break
            field, line = [*field, first], rest
        if field:
            line = line.removeprefix(f"{field[-1]}: ")
        return f"{self.place(field)}: {line}"


def read_document(path: Path) -> Document:
    """Read a file as its ending says: TOML, or else YAML, of which JSON is a part."""
    return document_of(files.read_text(path, limit_bytes=MAX_BYTES), path)


def document_of(text: str, path: Path) -> Document:
    """What the text of a file says; see `read_document`."""
    if path.suffix == ".toml":
        return Document(path, *_read_toml(text, path))
    if path.suffix == ".json":
        text = _SURROGATES.sub(lambda pair: json.loads(f'"{pair[0]}"'), text)
    try:
        data, node = _read(text, str(path))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        place, problem = f"{path}:1:1" if mark is None else _shown(mark), str(error.problem)
        if "nesting depth" in problem:
            raise ScenarioError(f"{place}: {_TOO_DEEP}") from None
        if problem.startswith("but found"):
            problem = f"{error.context} {problem}"
        elif mark is not None and "character that" in problem:  # which one, libyaml does not say
            found = text[mark.index : mark.index + 1]
            problem = problem.replace("character that", f"character {found!r} that")
        raise ScenarioError(f"{place}: this is no YAML: {problem}") from None
    except yaml.reader.ReaderError as error:
        before = text[: error.position]
        place = f"{path}:{before.count(chr(10)) + 1}:{len(before) - before.rfind(chr(10))}"
        raise ScenarioError(
            f"{place}: the character {error.character:#06x} cannot stand in YAML; take it out"
        ) from None
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise ScenarioError(f"{path}:1:1: this is no YAML: {str(error).splitlines()[0]}") from None
    if node is None:
        raise ScenarioError(f"{path}:1:1: the file is empty; write a scenario")
    return Document(path, data, node)


def read_value(text: str) -> Any:
    """One value written in YAML on a line of its own, such as `8GiB`, `4`, `[a, b]` or `{latency: 1us}`."""
    try:
        data, node = _read(text, _VALUE)
    except ScenarioError as error:
        raise ScenarioError([_PLACE.sub("", line) for line in error.lines]) from None
    except (yaml.YAMLError, RecursionError, ValueError):
        raise ScenarioError(f"{text!r} is no value in YAML; write one such as 8GiB or [a, b]") from None
    if node is None:
        raise ScenarioError("the value is missing; write one")
    return data


def _read(text: str, name: str) -> tuple[Any, yaml.Node | None]:
    """A text's one value and where its parts stand; no node in a text without any."""
    loader = _Loader(_Named(text, name))
    try:
        node = loader.get_single_node()
        if node is None:
            return None, None
        _count(node, {})
        return loader.construct_document(node), node
    finally:
        loader.dispose()


def _shown(mark: yaml.Mark) -> str:
    """`FILE:LINE:COL`; what was read from TOML is known by its key alone."""
    return mark.name if mark.line < 0 else f"{mark.name}:{mark.line + 1}:{mark.column + 1}"


def _names(field: Field) -> list[str]:
    """The keys of a field, each on a line and no longer than can be read."""
    texts = [on_one_line(str(part)) for part in field]
    return [text if len(text) <= _LONGEST_KEY else f"{text[: _LONGEST_KEY - 3]}..." for text in texts]


def _child(node: yaml.Node | None, part: str | int) -> tuple[yaml.Mark, yaml.Node] | None:
    """Where a key or an entry stands, and the node below it."""
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if isinstance(key, yaml.ScalarNode) and key.value == str(part):
                return key.start_mark, value
    if isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
        return node.value[part].start_mark, node.value[part]
    return None


class _Named(io.StringIO):
    """A text with the name that marks are to call it by."""

    def __init__(self, text: str, name: str) -> None:
        super().__init__(text)
        self.name = name


class _Loader(Composer, *_PARTS, SafeConstructor, Resolver):  # type: ignore[misc]
    """YAML 1.2 scalars, no duplicate keys, bounded while it is read."""

    yaml_implicit_resolvers: dict[str, list[Any]] = {}  # noqa: RUF012 - PyYAML's own protocol
    yaml_constructors = {  # noqa: RUF012 - likewise; no dates, no sets, nothing else of YAML 1.1
        tag: make
        for tag, make in SafeConstructor.yaml_constructors.items()
        if tag is None or tag.rpartition(":")[2] in ("null", "bool", "int", "float", "str", "seq", "map")
    }

    def __init__(self, stream: io.StringIO) -> None:
        _PARTS[0].__init__(self, stream)  # type: ignore[misc]
        for part in (*_PARTS[1:], Composer, SafeConstructor, Resolver):
            part.__init__(self)  # type: ignore[misc]
        self.written = self.depth = self.configurations = 0
        self.field = ""

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        self.written += 1
        self.depth += 1
        if self.depth == 2 and isinstance(index, yaml.ScalarNode):
            self.field = index.value
        elif self.depth == 3 and index is None and self.field == "configurations":  # a key
            self.configurations += 1
            if self.configurations > MOST_CONFIGURATIONS:
                self._refuse(f"there are more than {MOST_CONFIGURATIONS} configurations; write fewer")
        if self.depth > MAX_DEPTH + 1:
            self._refuse(_TOO_DEEP)
        if self.written > MAX_WRITTEN:
            self._refuse(f"the file has more than {MAX_WRITTEN} values; write fewer")
        node: yaml.Node | None = super().compose_node(parent, index)
        self.depth -= 1
        return node

    def _refuse(self, text: str) -> None:
        raise ScenarioError(f"{_shown(self.peek_event().start_mark)}: {text}")

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:  # noqa: FBT001, FBT002
        try:
            return super().construct_object(node, deep)
        except (ValueError, LookupError):
            raise yaml.constructor.ConstructorError(
                None, None, f"{node.value[:20]!r} is no {node.tag.rpartition(':')[2]}", node.start_mark
            ) from None

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:  # noqa: FBT001, FBT002
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise yaml.constructor.ConstructorError(None, None, "this key is no text", key.start_mark)
        found: dict[Any, Any] = super().construct_mapping(node, deep)
        if len(found) < len(node.value):
            seen = set()
            for key, _ in node.value:
                read = self.construct_object(key)
                if read in seen:
                    raise yaml.constructor.ConstructorError(
                        None, None, f"the key {key.value!r} comes twice", key.start_mark
                    )
                seen.add(read)
        return found


for _tag, (_pattern, _first) in _SCALARS.items():
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(f"^(?:{_pattern})$"), [*_first, ""])


def _digits(node: yaml.ScalarNode) -> str:
    """The text of a number that is short enough to be read."""
    text = str(node.value)
    if len(text) > units.MOST_LETTERS:
        found = f"this number has {len(text)} letters; write at most {units.MOST_LETTERS}"
        raise ScenarioError(f"{_shown(node.start_mark)}: {found}")
    return text


def _integer(_loader: yaml.SafeLoader, node: yaml.ScalarNode) -> int:
    text = _digits(node)
    return int(text, 0) if text[:2] in ("0x", "0o") else int(text)


def _float(loader: yaml.SafeLoader, node: yaml.ScalarNode) -> float:
    _digits(node)
    return loader.construct_yaml_float(node)


_Loader.add_constructor("tag:yaml.org,2002:int", _integer)
_Loader.add_constructor("tag:yaml.org,2002:float", _float)


def _count(node: yaml.Node, sizes: dict[int, int], depth: int = 0) -> int:
    """Nodes below one, aliases expanded; refuses what would grow without bound."""
    if depth > MAX_DEPTH:
        raise ScenarioError(f"{_shown(node.start_mark)}: {_TOO_DEEP}")
    if id(node) not in sizes:
        children = [] if isinstance(node, yaml.ScalarNode) else node.value
        flat = [part for child in children for part in (child if isinstance(child, tuple) else (child,))]
        sizes[id(node)] = 1 + sum(_count(part, sizes, depth + 1) for part in flat)
        if sizes[id(node)] > MAX_NODES:
            raise ScenarioError(f"{_shown(node.start_mark)}: this has more than {MAX_NODES} values; write fewer")
    return sizes[id(node)]


# TOML: its reader gives no places, so that a fault is known by the path of its key.


def _read_toml(text: str, path: Path) -> tuple[dict[str, Any], yaml.Node]:
    """What a text says, and nodes of it, which know their file alone."""
    _check_size(text, path)
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ScenarioError(f"{path}:{_fault(str(error), text)}") from None
    except RecursionError:
        raise ScenarioError(f"{path}:1:1: the file has more than {MAX_DEPTH} levels; write fewer") from None
    except ValueError as error:  # an integer of more digits than Python reads
        raise ScenarioError(f"{path}:1:1: this is no TOML: {str(error).split(';')[0]}") from None
    node = _node_of(data, yaml.Mark(str(path), 0, -1, -1, None, 0))
    if _count(node, {}) > MAX_TOML:
        raise ScenarioError(
            f"{path}: the file has more than {MAX_TOML} values, the most that are read of TOML; write fewer"
        )
    return data, node


def _node_of(data: Any, mark: yaml.Mark) -> yaml.Node:
    """The node of plain data, all at one place."""
    if isinstance(data, dict):
        pairs = [(yaml.ScalarNode("tag:yaml.org,2002:str", key, mark), _node_of(data[key], mark)) for key in data]
        return yaml.MappingNode("tag:yaml.org,2002:map", pairs, mark, mark)
    if isinstance(data, list):
        return yaml.SequenceNode("tag:yaml.org,2002:seq", [_node_of(value, mark) for value in data], mark, mark)
    return yaml.ScalarNode("tag:yaml.org,2002:str", str(data), mark, mark)


def _check_size(text: str, path: Path) -> None:
    """Refuse, before TOML's reader takes the square of their number, dotted names in a row; and too many values."""
    bare = _TEXTS.sub(lambda found: '""' + "\n" * found[0].count("\n"), text)
    deep = re.search(rf"(?<![A-Za-z0-9_-]){_A_NAME}(?:[ \t]*\.[ \t]*{_A_NAME}){{{MAX_DEPTH}}}", bare)
    if deep is not None:
        raise ScenarioError(f"{_line(path, bare, deep)}: this key has more than {MAX_DEPTH} levels; write fewer")
    long = re.search(rf"(?<![0-9A-Fa-f_])[0-9A-Fa-f_]{{{units.MOST_LETTERS + 1}}}", bare)
    if long is not None:
        found = f"a number has more than {units.MOST_LETTERS} letters; write fewer"
        raise ScenarioError(f"{_line(path, bare, long)}: {found}")
    if len(_CONFIGURATION.findall(bare)) > MOST_CONFIGURATIONS:
        raise ScenarioError(f"{path}:1:1: there are more than {MOST_CONFIGURATIONS} configurations; write fewer")
    if max(bare.count(","), bare.count("=")) > MAX_TOML:  # each follows a value, or comes before one
        raise ScenarioError(
            f"{path}: the file has more than {MAX_TOML} values, the most that are read of TOML; write fewer"
        )


def _line(path: Path, text: str, found: re.Match[str]) -> str:
    return f"{path}:{text.count(chr(10), 0, found.start()) + 1}:1"


def _fault(said: str, text: str) -> str:
    """Place and reason of what TOML's reader says."""
    if found := _TOML_PLACE.fullmatch(said):
        return f"{found[2]}:{found[3]}: this is no TOML: {found[1]}"
    lines = text.split("\n")
    found = _TOML_END.fullmatch(said)
    return f"{len(lines)}:{len(lines[-1]) + 1}: this is no TOML: {found[1] if found else said}"


# Writing


def yaml_text(document: Mapping[str, Any] | list[Any]) -> str:
    """Plain data as YAML, in the order given, short lists on one line."""
    return str(yaml.dump(document, Dumper=_Dumper, sort_keys=False, default_flow_style=None, width=120))


class _Dumper(yaml.SafeDumper):
    """Without anchors: what is shared is written where it stands."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - PyYAML's own protocol
        return True


for _tag, (_pattern, _first) in _SCALARS.items():  # texts that these rules would read as something else are quoted
    _Dumper.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(f"^(?:{_pattern})$"), [*_first, ""])
