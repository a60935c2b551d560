"""JSON Schemas of scenario, platform and graph files, for editors; a file that extends another may leave out fields."""

import json
from collections.abc import Callable
from functools import cache
from typing import Any

from simulator.base.errors import ScenarioError, meant
from simulator.base.form import Form, Schema
from simulator.scenario_file.forms import PlatformFileForm, ScenarioForm
from simulator.scenario_file.segs import SegForm

KINDS: dict[str, tuple[type[Form], str]] = {
    "scenario": (ScenarioForm, "Scenario of Apportion"),
    "platform": (PlatformFileForm, "Platform of Apportion"),
    "seg": (SegForm, "Software execution graphs of Apportion"),
}
"""Kind of file -> its form, and what the schema is called."""
_PART = "Part"
_HEAD = "https://json-schema.org/draft/2020-12/schema"


@cache
def scenario_schema(kind: str = "scenario") -> str:
    """The JSON Schema of scenario files, for editors; or of other kinds of files.

    Raises ScenarioError for any other.

    `kind`: `scenario`, `platform` (a platform alone) or `seg` (software execution graphs).
    """
    if kind not in KINDS:
        raise ScenarioError(f"--schema: there is no schema of {kind!r}; take {', '.join(KINDS)}{meant(kind, KINDS)}")
    form, title = KINDS[kind]
    schema = _everywhere(form.model_json_schema(), _untitled)
    definitions = schema.pop("$defs", {})
    if "extends" not in form.model_fields:
        document = {"$schema": _HEAD, **schema, "title": title, "$defs": definitions}
        return json.dumps(document, indent=1) + "\n"
    parts = {f"{name}{_PART}": _part(definition) for name, definition in definitions.items()}
    whole, part = form.__name__, f"{form.__name__}{_PART}"
    definitions |= {whole: schema, part: _part(schema) | {"required": ["format", "extends"]}} | parts
    document = {
        "$schema": _HEAD,
        "title": title,
        "description": schema["description"],
        "type": "object",
        "if": {"required": ["extends"]},
        "then": {"$ref": f"#/$defs/{part}"},
        "else": {"$ref": f"#/$defs/{whole}"},
        "$defs": definitions,
    }
    return json.dumps(document, indent=1) + "\n"


def _untitled(schema: Schema) -> Schema:
    """A schema without what pydantic makes of a field's name."""
    return {key: value for key, value in schema.items() if key != "title" or not isinstance(value, str)}


def _part(schema: Schema) -> Schema:
    """What a file that extends another may say of something: any of its fields, and null in place of one."""
    part: Schema = _everywhere(schema, _loosened)
    return part


def _or_null(schema: Schema) -> Schema:
    kept = {key: schema[key] for key in ("description", "default") if key in schema}
    return kept | {"anyOf": [{key: value for key, value in schema.items() if key not in kept}, {"type": "null"}]}


def _loosened(schema: Schema) -> Schema:
    """A schema that asks for no field and takes null for each; of alternatives, several may hold then."""
    loose = {key: value for key, value in schema.items() if key not in ("required", "discriminator", "not")}
    alternatives = [option for option in loose.pop("oneOf", ()) if set(option) - {"required"}]
    if alternatives:
        loose["anyOf"] = alternatives
    if "$ref" in loose:
        loose["$ref"] += _PART
    if "properties" in loose:
        loose["properties"] = {name: _or_null(field) for name, field in loose["properties"].items()}
    if isinstance(loose.get("additionalProperties"), dict):
        loose["additionalProperties"] = _or_null(loose["additionalProperties"])
    return loose


def _everywhere(value: Any, change: Callable[[Schema], Schema]) -> Any:
    """A schema with every schema in it changed, the innermost ones first, but conditions."""
    if isinstance(value, list):
        return [_everywhere(entry, change) for entry in value]
    if not isinstance(value, dict):
        return value
    inner = {
        key: {name: _everywhere(field, change) for name, field in below.items()}
        if key == "properties"
        else below
        if key == "if"
        else _everywhere(below, change)
        for key, below in value.items()
    }
    return change(inner)
