"""What may stand where in a file, read off its JSON Schema: which texts name files, which fields fit together."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from simulator.base.form import IS_FILE

Schema = Mapping[str, Any]


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

    def beside(self, key: object) -> set[str]:
        """Keys that stand in the place of this one, never beside it."""
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
