"""Scenario files: YAML (1.2 rules), JSON or TOML -> checked form -> frozen `Scenario`, and back to YAML."""

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from simulator.platform import Platform
from simulator.scenario import Change, Scenario
from simulator.scenario_file.changes import with_changes
from simulator.scenario_file.dump import dump_scenario
from simulator.scenario_file.faults import validated
from simulator.scenario_file.forms import (
    ApplicationForm,
    LevelsModelForm,
    LoadForm,
    NodesForm,
    PlatformFileForm,
    ScenarioForm,
)
from simulator.scenario_file.memory_levels import Measured, measured_on, written_out
from simulator.scenario_file.named_files import NamedFiles
from simulator.scenario_file.names import counted
from simulator.scenario_file.platforms import make_platform
from simulator.scenario_file.resolve import resolve
from simulator.scenario_file.yaml_text import read_document

__all__ = ["dump_scenario", "load_platform", "load_scenario", "resolved_text", "scenario_schema"]


def load_scenario(path: str | Path, *, changes: Sequence[str] = (), oversized: bool = False) -> Scenario:
    """Read a scenario file; a path in it is relative to the file.

    Parameters
    ----------
    changes
        `PATH=VALUE` to set in place of what the file says, or `PATH=x2`, `PATH=/2`; see scenarios/README.md. Where they
        set other memory levels, measured speeds are taken there by the memory model (`Scenario.extrapolations`).
    oversized
        Take configurations that memory and swap do not hold, where these are not what is asked about.

    Raises
    ------
    ScenarioError
        With one line per fault, each naming file, line, column and field.
    """
    return _read(Path(path), changes, oversized=oversized)[0]


def load_platform(path: str | Path) -> Platform:
    """Read the platform of a scenario file, or of a file that holds nothing but `format` and `platform`.

    Raises
    ------
    ScenarioError
        As `load_scenario`.
    """
    document = read_document(Path(path))
    if isinstance(document.data, dict) and "application" in document.data:
        return load_scenario(path, oversized=True).platform
    form = validated(PlatformFileForm, document)
    named = NamedFiles(Path(path).parent, {Path(path).name: Path(path)})
    nothing = ApplicationForm(name="hpl", kernel="dgemm", parameters={})
    return make_platform(form.platform, document, named, measured=Measured({}, nothing)).platform


def resolved_text(path: str | Path, *, changes: Sequence[str] = ()) -> str:
    """The explicit form of a scenario file: every default written out, models in place of the files that hold them.

    Load traces and run-time models stay files, named as the scenario names them; what it is loaded from is YAML again.

    Raises
    ------
    ScenarioError
        As `load_scenario`.
    """
    scenario, form = _read(Path(path), changes)
    return dump_scenario(scenario, traces=_trace_files(form), model=form.application.model)


def scenario_schema() -> str:
    """The JSON Schema of scenario files, for editors."""
    schema = ScenarioForm.model_json_schema()
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Scenario of Apportion"}
    return json.dumps(head | {key: value for key, value in schema.items() if key != "title"}, indent=1) + "\n"


def _read(path: Path, changes: Sequence[str], *, oversized: bool = False) -> tuple[Scenario, ScenarioForm]:
    document = read_document(path)
    form = validated(ScenarioForm, document)
    named = NamedFiles(path.parent, {path.name: path})
    measured = Measured({}, form.application)
    made: tuple[Change, ...] = ()
    if changes:
        base, base_form = document, form
        document, made = with_changes(base, changes, expand=partial(_levels, named))
        form = validated(ScenarioForm, document)
        measured = measured_on(base_form, base, document, named)
    scenario = resolve(form, document, named, measured=measured, oversized=oversized)
    notes = (*scenario.notes, *_told(scenario, made))
    return replace(scenario, inputs=named.hashes(), changes=made, notes=notes), form


def _levels(named: NamedFiles, value: Any) -> Any:
    """Levels that are a model, written out so that one of them can be set."""
    return written_out(LevelsModelForm.model_validate(value), named)


def _told(scenario: Scenario, changes: Sequence[Change]) -> list[str]:
    """What is to be known of changes beside speeds."""
    lines = []
    for change in changes:
        parts = change.path.split(".")
        if {"link", "network", "uplink", "backbone", "loopback"} & set(parts):
            lines.append(
                f"{change.path}: set to {change.after!r}: message times follow from this, not from measurement"
            )
        if parts[-1] in ("memory", "swap") and not scenario.pages:
            lines.append(f"{change.path}: set to {change.after!r}: no process needs more memory, so times stay")
    return lines


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
