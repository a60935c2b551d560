"""Scenario files: YAML (1.2 rules), JSON or TOML -> checked form -> frozen `Scenario`, and back to YAML."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from simulator.errors import ScenarioError
from simulator.scenario import Scenario
from simulator.scenario_file.dump import dump_scenario
from simulator.scenario_file.forms import LoadForm, NodesForm, ScenarioForm
from simulator.scenario_file.named_files import NamedFiles
from simulator.scenario_file.names import counted
from simulator.scenario_file.resolve import resolve
from simulator.scenario_file.yaml_text import Document, read_document

__all__ = ["dump_scenario", "load_scenario", "resolved_text", "scenario_schema"]


def load_scenario(path: str | Path) -> Scenario:
    """Read a scenario file; a path in it is relative to the file.

    Raises
    ------
    ScenarioError
        With one line per fault, each naming file, line, column and field.
    """
    return _read(Path(path))[0]


def resolved_text(path: str | Path) -> str:
    """The explicit form of a scenario file: every default written out, models in place of the files that hold them.

    Load traces and run-time models stay files, named as the scenario names them; what it is loaded from is YAML again.

    Raises
    ------
    ScenarioError
        As `load_scenario`.
    """
    scenario, form = _read(Path(path))
    return dump_scenario(scenario, traces=_trace_files(form), model=form.application.model)


def scenario_schema() -> str:
    """The JSON Schema of scenario files, for editors."""
    schema = ScenarioForm.model_json_schema()
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Scenario of Apportion"}
    return json.dumps(head | {key: value for key, value in schema.items() if key != "title"}, indent=1) + "\n"


def _read(path: Path) -> tuple[Scenario, ScenarioForm]:
    document = read_document(path)
    try:
        form = ScenarioForm.model_validate(document.data)
    except ValidationError as error:
        raise ScenarioError([_fault(document, dict(fault)) for fault in error.errors()]) from None
    named = NamedFiles(path.parent, {path.name: path})
    return replace(resolve(form, document, named), inputs=named.hashes()), form


def _trace_files(form: ScenarioForm) -> dict[str, str]:
    """The trace file of each PE whose load is one."""
    if not isinstance(form.platform, NodesForm):
        return {}
    return {
        name.replace("{node}", node): pe.load.trace
        for entry in form.platform.nodes
        for pe in entry.pes
        if isinstance(pe.load, LoadForm) and isinstance(pe.load.trace, str)
        for node in counted(entry.name, entry.count)
        for name in counted(pe.name, pe.count)
    }


def _fault(document: Document, fault: dict[str, Any]) -> str:
    """A fault of the form at its place, as one line."""
    field = _field(document, list(fault["loc"]), is_missing=fault["type"] == "missing")
    place = document.place(field)
    if fault["type"] == "missing":
        return f"{place}: missing"
    message = str(fault["msg"])
    message = message[0].lower() + message[1:]
    if fault["type"] in ("unknown_key", "no_topology") or (
        fault["type"] == "value_error" and isinstance(fault["input"], dict)
    ):
        return f"{place}: {message}"
    found = repr(fault["input"])
    shown = found if len(found) <= 60 else f"{found[:57]}..."
    return f"{place}: {shown} found, {message}"


def _field(document: Document, loc: list[str | int], *, is_missing: bool) -> list[str | int]:
    """A fault's place without the names of alternatives, which are in no file."""
    field: list[str | int] = []
    for number, part in enumerate(loc):
        found = document.value(field)
        is_there = part in found if isinstance(found, dict) else isinstance(found, list) and isinstance(part, int)
        if is_there or (is_missing and number == len(loc) - 1):
            field.append(part)
    return field
