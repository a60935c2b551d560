"""Files that extend others, and the rules by which the fields of both become one file: by the JSON Schema."""

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from simulator.base import files
from simulator.base.errors import ScenarioError
from simulator.base.faults import validated
from simulator.base.form import IS_FILE
from simulator.base.yaml_document import MAX_BYTES, Document, document_of
from simulator.scenario_file.forms import BaseForm, HeadForm, ScenarioForm

Schema = Mapping[str, Any]
EXTENDS = "extends"
MOST_FILES = 16
"""Most files in a row."""


@dataclass(frozen=True)
class Shape:
    """A place in a file: the schemas, one of which holds what stands there; none where nothing is known of it."""

    schemas: tuple[Schema, ...]
    definitions: Mapping[str, Schema]

    @classmethod
    def of_file(cls, schema: Schema) -> "Shape":
        """The top level of files with a schema."""
        return cls(tuple(_flat(schema, schema.get("$defs", {}))), schema.get("$defs", {}))

    @property
    def names_file(self) -> bool:
        """Whether a text here is the name of a file."""
        return any(schema.get(IS_FILE) for schema in self.schemas)

    def field(self, key: object) -> "Shape":
        """What stands below a key of a mapping."""
        found = [schema.get("properties", {}).get(key, _others(schema)) for schema in self._mappings]
        return self._below([schema for schema in found if isinstance(schema, dict)])

    def entry(self) -> "Shape":
        """An entry of a list."""
        return self._below([schema["items"] for schema in self.schemas if "items" in schema])

    def one_holds(self, keys: Collection[object]) -> bool:
        """Whether there is a kind of mapping here that may have all of these keys, or nothing is known of it."""
        return not self._mappings or any(
            isinstance(_others(schema), dict) or set(keys) <= set(schema.get("properties", {}))
            for schema in self._mappings
        )

    def rivals(self, key: object) -> set[str]:
        """Keys that stand in the place of this one, never together with it."""
        groups = [
            {name for choice in schema.get("oneOf", ()) for name in choice.get("required", ())}
            | set(schema.get("not", {}).get("required", ()))
            for schema in self._mappings
        ]
        return {name for group in groups if key in group for name in group if name != key}

    def entry_names(self, entries: Sequence[object]) -> list[str | None]:
        """What the entries of a list are called, None where such entries have no names."""
        fields = [schema.get("properties", {}).get("name") for schema in self.entry()._mappings]  # noqa: SLF001
        if not fields or not all(fields):
            return [None] * len(entries)
        usual = fields[0].get("default")
        names = [entry.get("name", usual) if isinstance(entry, dict) else None for entry in entries]
        return [name if isinstance(name, str) else None for name in names]

    @property
    def _mappings(self) -> list[Schema]:
        return [schema for schema in self.schemas if schema.get("type") == "object"]

    def _below(self, schemas: list[Schema]) -> "Shape":
        return Shape(tuple(part for schema in schemas for part in _flat(schema, self.definitions)), self.definitions)


def _others(schema: Schema) -> Any:
    """The schema of fields whose names are free; we have no forms with several kinds of them."""
    for below in schema.get("patternProperties", {}).values():
        return below
    return schema.get("additionalProperties")


def _flat(schema: Schema, definitions: Mapping[str, Schema]) -> Iterator[Schema]:
    """The schemas that one with references and alternatives stands for."""
    if "$ref" in schema:
        yield from _flat(definitions[schema["$ref"].rpartition("/")[2]], definitions)
        return
    parts = [part for key in ("anyOf", "oneOf") for part in schema.get(key, ()) if set(part) != {"required"}]
    if not parts:
        yield schema
    for part in parts:
        yield from _flat(part, definitions)


class Part(NamedTuple):
    """Something in a file: what it is, and where it stands."""

    data: Any
    node: yaml.Node


@cache
def _top() -> Shape:
    return Shape.of_file(ScenarioForm.model_json_schema())


def read_extended(path: Path) -> Document:
    """Read a file as its ending says, and the files that it extends; `extends` is in the document no more."""
    return _extended(document_of(files.read_text(path, limit_bytes=MAX_BYTES), path), (path,))


def _extended(document: Document, chain: tuple[Path, ...]) -> Document:
    """A document with what it extends."""
    if not isinstance(document.data, dict) or document.data.get(EXTENDS) is None or document.root is None:
        return document
    name = str(validated(HeadForm, document).extends)
    base = _base(document, name, chain)
    part = _less(Part(base.data, _root(base)), "format")
    folder = Path(name).parent
    if str(folder) != ".":
        part = Part(_rebased(part.data, _top(), folder, document.path.parent), part.node)
    data, node = _merged(part, _less(Part(document.data, document.root), EXTENDS), _top())
    bases = {name: base.path} | {
        _short(folder / other, document.path.parent): where for other, where in base.bases.items()
    }
    return replace(document, data=data, root=node, bases=bases)


def _base(document: Document, name: str, chain: tuple[Path, ...]) -> Document:
    """The document that another one extends, with what it extends itself."""
    path = document.path.parent / name
    with document.at(EXTENDS):
        seen = [other.resolve() for other in chain]
        if path.resolve() in seen:
            circle = " -> ".join(str(other) for other in (*chain[seen.index(path.resolve()) :], path))
            raise ScenarioError(f"{circle} leads back to itself; extend another file")
        if len(chain) >= MOST_FILES:
            raise ScenarioError(f"{name!r} comes after {MOST_FILES} files in a row, the most that are read")
        text = files.read_text(path, limit_bytes=MAX_BYTES)
    base = document_of(text, path)
    if not isinstance(base.data, dict):
        raise ScenarioError(f"{base.place(())}: the file has no fields; write fields with names")
    validated(BaseForm, base)
    return _extended(base, (*chain, path))


def _root(document: Document) -> yaml.Node:
    if document.root is None:
        raise AssertionError(f"{document.path}: no nodes of what was read")
    return document.root


# How two files become one


def _merged(base: Part, ours: Part, shape: Shape) -> Part:
    """What stands somewhere in a file that extends another: ours over the base's."""
    if isinstance(base.data, dict) and isinstance(ours.data, dict):
        return _merged_mappings(base, ours, shape)
    if isinstance(base.data, list) and isinstance(ours.data, list):
        return _merged_lists(base, ours, shape)
    return ours


def _merged_mappings(base: Part, ours: Part, shape: Shape) -> Part:
    """Key by key, null removing one; ours alone, if the two are things of different kinds."""
    kept = [key for key in base.data if ours.data.get(key, base) is not None]
    replaced = {other for key, value in ours.data.items() if value is not None for other in shape.rivals(key)}
    kept = [key for key in kept if key in ours.data or key not in replaced]
    said = {key for key, value in ours.data.items() if value is not None}
    if not shape.one_holds({*kept, *said}) and shape.one_holds(said) and shape.one_holds(kept):
        return ours
    data, pairs = {}, []
    base_pairs, our_pairs = _by_key(base), _by_key(ours)
    for key in kept:
        name, node = base_pairs[key]
        data[key] = base.data[key]
        if key in ours.data:
            name, our_node = our_pairs[key]
            data[key], node = _merged(Part(data[key], node), Part(ours.data[key], our_node), shape.field(key))
        pairs.append((name, node))
    for key, value in ours.data.items():
        if key not in base.data:
            data[key] = value
            pairs.append(our_pairs[key])
    return Part(data, _mapping(ours.node, pairs))


def _merged_lists(base: Part, ours: Part, shape: Shape) -> Part:
    """Entries by their names, new ones behind; ours alone, if not all have names."""
    names = [shape.entry_names(part.data) for part in (base, ours)]
    if None in names[0] or None in names[1] or not names[0] or not names[1]:
        return ours
    data, nodes = list(base.data), list(base.node.value)
    places = {name: place for place, name in reversed(list(enumerate(names[0])))}
    for entry, node, name in zip(ours.data, ours.node.value, names[1], strict=True):
        place = places.pop(name, None)
        if place is None:
            data.append(entry)
            nodes.append(node)
        else:
            data[place], nodes[place] = _merged(Part(data[place], nodes[place]), Part(entry, node), shape.entry())
    return Part(data, yaml.SequenceNode(ours.node.tag, nodes, ours.node.start_mark, ours.node.end_mark))


def _less(part: Part, key: str) -> Part:
    """A mapping without one of its keys."""
    left = {name: value for name, value in part.data.items() if name != key}
    return Part(left, _mapping(part.node, [pair for name, pair in _by_key(part).items() if name != key]))


def _rebased(data: Any, shape: Shape, folder: Path, ours: Path) -> Any:
    """What a base holds, with files named from the folder of the file that extends it."""
    if isinstance(data, dict):
        return {key: _rebased(value, shape.field(key), folder, ours) for key, value in data.items()}
    if isinstance(data, list):
        below = shape.entry()
        return [_rebased(entry, below, folder, ours) for entry in data]
    return _short(folder / data, ours) if isinstance(data, str) and shape.names_file else data


def _short(path: Path, ours: Path) -> str:
    """A path without detours, unless links make them lead elsewhere."""
    short = Path(os.path.normpath(path))
    return str(short if (ours / short).resolve() == (ours / path).resolve() else path)


# Nodes together with data


def _by_key(part: Part) -> dict[Any, tuple[yaml.Node, yaml.Node]]:
    """The nodes of each key of a mapping: both are in the same order."""
    return dict(zip(part.data, part.node.value, strict=True))


def _mapping(like: yaml.Node, pairs: list[tuple[yaml.Node, yaml.Node]]) -> yaml.MappingNode:
    return yaml.MappingNode(like.tag, pairs, like.start_mark, like.end_mark)
