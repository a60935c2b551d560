"""Whether data fits a JSON Schema, as far as ours go: an oracle that shares nothing with the forms."""

import math
import re
from collections.abc import Iterator
from typing import Any

_TYPES = {
    "object": dict,
    "array": list,
    "string": str,
    "boolean": bool,
    "null": type(None),
    "number": (int, float),
    "integer": int,
}
_KNOWN = {
    *("$defs", "$ref", "$schema", "title", "description", "default", "discriminator", "x-file"),
    *("type", "enum", "const", "properties", "required", "additionalProperties", "propertyNames"),
    *("minProperties", "maxProperties"),
    *("items", "minItems", "maxItems", "minLength", "pattern", "minimum", "maximum", "exclusiveMinimum"),
    *("exclusiveMaximum", "anyOf", "oneOf", "allOf", "not", "if", "then", "else", "patternProperties"),
}


def faults(data: Any, schema: dict[str, Any], root: dict[str, Any], at: str = "") -> Iterator[str]:
    """A line for each thing that does not fit."""
    assert set(schema) <= _KNOWN, set(schema) - _KNOWN
    if "$ref" in schema:
        yield from faults(data, root["$defs"][schema["$ref"].rpartition("/")[2]], root, at)
    if "type" in schema and not _is(data, schema["type"]):
        yield f"{at}: {data!r:.60} is no {schema['type']}"
        return
    if data not in schema.get("enum", [data]) or data != schema.get("const", data):
        yield f"{at}: {data!r} is not what is allowed"
    yield from _alternatives(data, schema, root, at)
    if isinstance(data, dict):
        yield from _mapping(data, schema, root, at)
    elif isinstance(data, list):
        if not schema.get("minItems", 0) <= len(data) <= schema.get("maxItems", math.inf):
            yield f"{at}: {len(data)} entries"
        for number, entry in enumerate(data):
            yield from faults(entry, schema.get("items", {}), root, f"{at}.{number}")
    else:
        yield from _scalar(data, schema, at)


def _scalar(data: Any, schema: dict[str, Any], at: str) -> Iterator[str]:
    if isinstance(data, str):
        if len(data) < schema.get("minLength", 0) or not re.search(schema.get("pattern", ""), data):
            yield f"{at}: {data!r} is too short or not of the pattern"
    elif isinstance(data, int | float) and not isinstance(data, bool):
        if not schema.get("minimum", -math.inf) <= data <= schema.get("maximum", math.inf):
            yield f"{at}: {data} is out of bounds"
        if not schema.get("exclusiveMinimum", -math.inf) < data < schema.get("exclusiveMaximum", math.inf):
            yield f"{at}: {data} is out of bounds"


def _is(data: Any, kind: str) -> bool:
    if isinstance(data, bool):
        return kind == "boolean"
    return isinstance(data, _TYPES[kind])


def _fits(data: Any, schema: dict[str, Any], root: dict[str, Any]) -> bool:
    return not any(faults(data, schema, root))


def _alternatives(data: Any, schema: dict[str, Any], root: dict[str, Any], at: str) -> Iterator[str]:
    for one in schema.get("allOf", ()):
        yield from faults(data, one, root, at)
    if "anyOf" in schema and not any(_fits(data, one, root) for one in schema["anyOf"]):
        yield f"{at}: {data!r:.80} fits none"
    if "oneOf" in schema:
        fitting = sum(_fits(data, one, root) for one in schema["oneOf"])
        if fitting != 1:
            yield f"{at}: {data!r:.80} fits {fitting}"
    if "not" in schema and _fits(data, schema["not"], root):
        yield f"{at}: {data!r:.80} fits what it must not"
    if "if" in schema:
        branch = "then" if _fits(data, schema["if"], root) else "else"
        yield from faults(data, schema.get(branch, {}), root, at)


def _mapping(data: dict[str, Any], schema: dict[str, Any], root: dict[str, Any], at: str) -> Iterator[str]:
    if not schema.get("minProperties", 0) <= len(data) <= schema.get("maxProperties", math.inf):
        yield f"{at}: {len(data)} fields"
    for name in schema.get("required", ()):
        if name not in data:
            yield f"{at}: {name} missing"
    fields, others = schema.get("properties", {}), schema.get("additionalProperties", True)
    patterns = schema.get("patternProperties", {})
    for key, value in data.items():
        yield from faults(key, schema.get("propertyNames", {}), root, f"{at}.{key}")
        matching = [below for pattern, below in patterns.items() if re.search(pattern, key)]
        if key in fields:
            yield from faults(value, fields[key], root, f"{at}.{key}")
        elif matching:
            for below in matching:
                yield from faults(value, below, root, f"{at}.{key}")
        elif others is False:
            yield f"{at}: {key} unknown"
        elif isinstance(others, dict):
            yield from faults(value, others, root, f"{at}.{key}")
