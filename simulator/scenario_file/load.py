"""Scenario files: YAML (1.2 rules), JSON or TOML -> checked form -> frozen `Scenario`, and back to YAML."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from simulator.base.document import Document, read_value
from simulator.base.errors import ScenarioError, meant
from simulator.base.faults import validated
from simulator.base.names import counted
from simulator.base.shipped import locate
from simulator.platform.domains import DomainsModelForm
from simulator.platform.loads import LoadForm
from simulator.platform.named_files import NamedFiles
from simulator.platform.nodes import Platform
from simulator.scenario_file.changes import with_changes
from simulator.scenario_file.dump import dump_scenario
from simulator.scenario_file.extending import read_extended
from simulator.scenario_file.extrapolation import Measured, measured_on
from simulator.scenario_file.forms import ApplicationForm, NodesForm, PlatformFileForm, ScenarioForm
from simulator.scenario_file.memory import LevelsModelForm, level_data
from simulator.scenario_file.platforms import make_platform
from simulator.scenario_file.resolve import resolve
from simulator.scenario_file.scenario import Change, Scenario
from simulator.scenario_file.schemas import KINDS, file_schema

__all__ = [
    "Template",
    "dump_scenario",
    "load_either",
    "load_platform",
    "load_scenario",
    "read_template",
    "resolved_text",
    "scenario_schema",
    "template_of",
]


@dataclass(frozen=True)
class Template:
    """A scenario file and the files that it names, read once for many scenarios that differ by changes."""

    document: Document
    form: ScenarioForm
    named: NamedFiles

    @classmethod
    def of_data(cls, data: Any, path: Path, paths: Mapping[str, Path]) -> "Template":
        """What a file at `path` held, without the file; and where the files lie now that it names."""
        document = Document(path, data, None)
        return cls(document, validated(ScenarioForm, document), NamedFiles(path.parent, dict(paths)))

    def divided_equally(self) -> "Template":
        """The same with one configuration, equal shares, in place of its own."""
        data = {**self.document.data, "configurations": {"equal": {"partition": "equal"}}}
        document = replace(self.document, data=data)
        return Template(document, validated(ScenarioForm, document), self.named)

    def changed(self, changes: Sequence[str]) -> tuple[Any, tuple[Change, ...]]:
        """What the file would hold with some changes, and what these are; see `load_scenario`."""
        document, made = with_changes(self.document, changes, expand=partial(_written_out, self.named))
        return document.data, made

    def scenario(self, changes: Sequence[str] = (), *, oversized: bool = False) -> Scenario:
        """The scenario with some changes, without the hashes of what it was read from; see `load_scenario`."""
        return self._made(changes, oversized=oversized)[0]

    def _made(self, changes: Sequence[str], *, oversized: bool = False) -> tuple[Scenario, ScenarioForm]:
        document, form, measured = self.document, self.form, Measured({}, self.form.application)
        made: tuple[Change, ...] = ()
        if changes:
            document, made = with_changes(document, changes, expand=partial(_written_out, self.named))
            form = validated(ScenarioForm, document)
            measured = measured_on(self.form, self.document, document, self.named)
        scenario = resolve(form, document, self.named, measured=measured, oversized=oversized)
        return replace(scenario, changes=made, notes=(*scenario.notes, *_told(scenario, made))), form


def load_scenario(path: str | Path, *, changes: Sequence[str] = (), oversized: bool = False) -> Scenario:
    """Read a scenario file; a path in it is relative to the file.

    >>> load_scenario("two-cores").application.name
    'matmul'

    Parameters
    ----------
    path
        The file, or the name of a shipped one; see `shipped.locate`.
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
    return _scenario(read_extended(locate(path)), changes, oversized=oversized)[0]


def load_platform(path: str | Path) -> Platform:
    """Read the platform of a scenario file, or of a file that holds nothing but `format` and `platform`.

    Raises
    ------
    ScenarioError
        As `load_scenario`.
    """
    document = read_extended(locate(path))
    if isinstance(document.data, dict) and "application" in document.data:
        return _scenario(document, (), oversized=True)[0].platform
    return _platform(document)


def load_either(path: str | Path, *, changes: Sequence[str] = ()) -> Scenario | Platform:
    """Read a scenario file, or one that holds nothing but `format` and `platform`.

    Raises
    ------
    ScenarioError
        As `load_scenario`.
    """
    document = read_extended(locate(path))
    return _platform(document) if _is_platform(document) and not changes else _scenario(document, changes)[0]


def _is_platform(document: Document) -> bool:
    """Whether a file says nothing of what runs: a scenario that lacks its application says something else of it."""
    beyond = set(ScenarioForm.model_fields) - set(PlatformFileForm.model_fields)
    return isinstance(document.data, dict) and "platform" in document.data and not beyond & set(document.data)


def _platform(document: Document) -> Platform:
    form = validated(PlatformFileForm, document)
    nothing = ApplicationForm(name="hpl", kernel="dgemm", parameters={})
    return make_platform(form.platform, document, _named_by(document), measured=Measured({}, nothing)).platform


def resolved_text(path: str | Path, *, changes: Sequence[str] = ()) -> str:
    """The explicit form of a scenario file: every default written out, models in place of the files that hold them.

    Load traces and run-time models stay files, by their whole paths: the text means the same in any folder.

    Raises
    ------
    ScenarioError
        As `load_scenario`.
    """
    document = read_extended(locate(path))
    scenario, form = _scenario(document, changes)
    folder = document.path.parent.absolute()
    traces = {pe: _whole(folder, name) for pe, name in _trace_files(form).items()}
    model = form.application.model
    return dump_scenario(scenario, traces=traces, model=None if model is None else _whole(folder, model))


def _whole(folder: Path, name: str) -> str:
    return os.path.normpath(folder / name)


def scenario_schema(kind: str = "scenario") -> str:
    """The JSON Schema of scenario files, for editors; or of other kinds of files.

    Parameters
    ----------
    kind
        `scenario`, `platform` (a platform alone) or `seg` (software execution graphs).

    Raises
    ------
    ScenarioError
        For any other.
    """
    if kind not in KINDS:
        raise ScenarioError(f"--schema: {kind!r} found, one of {', '.join(KINDS)} allowed{meant(kind, KINDS)}")
    return file_schema(kind)


def read_template(path: str | Path) -> Template:
    """Read a scenario file for many scenarios; see `load_scenario`."""
    return _template(read_extended(locate(path)))


def template_of(scenario: Scenario) -> Template:
    """A scenario as what `dump_scenario` would write of it, for many scenarios that differ by changes.

    Raises
    ------
    ScenarioError
        As `dump_scenario`.
    """
    return Template.of_data(read_value(dump_scenario(scenario)), Path("<scenario>"), {})


def _template(document: Document) -> Template:
    return Template(document, validated(ScenarioForm, document), _named_by(document))


def _named_by(document: Document) -> NamedFiles:
    return NamedFiles(document.path.parent, {document.path.name: document.path, **document.bases})


def _scenario(document: Document, changes: Sequence[str], *, oversized: bool = False) -> tuple[Scenario, ScenarioForm]:
    template = _template(document)
    scenario, form = template._made(changes, oversized=oversized)  # noqa: SLF001 - of this file
    return replace(scenario, inputs=template.named.hashes()), form


def _written_out(named: NamedFiles, field: str, entry: Any) -> dict[str, Any]:
    """Fields of a node that come of a model, written out so that a part of one can be set."""
    if field == "levels":
        return {"levels": [level_data(one) for one in LevelsModelForm.model_validate(entry["levels"]).levels(named)]}
    told = DomainsModelForm.model_validate(entry["domains"]).written_out(named)
    return {"domains": told["domains"], "uses": {**told.get("uses", {}), **(entry.get("uses") or {})}}


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
        name.replace("{node}", node): load.trace
        for entry in form.platform.nodes
        for pe in entry.pes
        if isinstance(load := pe.load or entry.load, LoadForm) and isinstance(load.trace, str)
        for node in counted(entry.name, entry.count)
        for name in counted(pe.name, pe.count)
    }
