"""The tables of fields in scenarios/README.md, and the shipped JSON Schemas: written from the forms.

`python -m tests.support.reference` writes them again; a test compares.
"""

import math
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import Any, get_args, get_origin

from simulator.base import files
from simulator.base.form import Form
from simulator.models.neighbours_forms import (
    DOMAIN_FORMS,
    CacheDemandForm,
    DomainForm,
    KernelUsesForm,
    MemoryDemandForm,
)
from simulator.platform.domains import DomainsModelForm, LoadDemandsForm
from simulator.platform.gpus import BothWaysForm, GpuKeysForm
from simulator.platform.networks.link import LINK_KINDS, AnyLinkForm, FileForm
from simulator.platform.networks.network import NetworkForm
from simulator.platform.networks.topologies import TOPOLOGIES
from simulator.platform.nodes import LoadForm, TraceForm
from simulator.programs.applications import PARAMETERS, recorded
from simulator.programs.applications.parameters import Field
from simulator.scenario_file.forms import (
    AmountForm,
    ApplicationForm,
    ConfigurationForm,
    MovesForm,
    RecordedApplicationForm,
    ScenarioForm,
    SegApplicationForm,
    SimgridForm,
)
from simulator.scenario_file.memory import (
    LevelForm,
    LevelsModelForm,
    MemoryUseForm,
    PredictionForm,
    SwapForm,
)
from simulator.scenario_file.nodes import NodeForm, PEForm, ResourcePEForm
from simulator.scenario_file.schemas import KINDS, scenario_schema
from simulator.scenario_file.segs import (
    ArmForm,
    BranchForm,
    CallForm,
    GraphForm,
    GuessForm,
    LoopForm,
    ProcessForm,
    SegForm,
    SequenceForm,
)

Row = tuple[str, ...]
_BLOCK = re.compile(r"(<!-- table: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
_GRAPH_NODES = (ProcessForm, LoopForm, BranchForm, SequenceForm, CallForm)


def with_tables(text: str) -> str:
    """A text whose tables between `<!-- table: NAME -->` and `<!-- end -->` are those of the forms.

    Raises KeyError if there is no table of a name.
    """
    return _BLOCK.sub(lambda found: f"{found[1]}{_TABLES[found[2]]()}{found[3]}", text)


def table_names() -> list[str]:
    """What tables there are."""
    return list(_TABLES)


def _fields(*parts: tuple[str, type[Form], Collection[str]]) -> str:
    """The fields of forms: a prefix, the form, and which of its fields are left out."""
    rows = [
        (f"`{prefix}{field.alias or name}`", " ".join((field.description or "").split()), _default(form, name))
        for prefix, form, without in parts
        for name, field in form.model_fields.items()
        if name not in without
    ]
    return _table(("field", "meaning", "if left out"), rows)


def _default(form: type[Form], name: str) -> str:
    """What holds where a field is not there."""
    field = form.model_fields[name]
    if field.is_required():
        return "" if form is ResourcePEForm else "needed"  # a PE without a resource is one of the other form
    extra = field.json_schema_extra
    value = extra.get("default", field.default) if isinstance(extra, dict) else field.default
    if value is None or value in ([], {}):
        return ""
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def _names(form: type[Form], *, without: Sequence[str] = ()) -> str:
    """The fields of a form, in brackets those that may be left out."""
    shown = []
    for name, field in form.model_fields.items():
        if name not in without:
            text = f"`{field.alias or name}`"
            shown.append(text if field.is_required() else f"[{text}]")
    return ", ".join(shown)


def _links() -> str:
    """Kinds of links that are written by hand, and the file of a fitted model."""
    rows = [
        (_names(form, without=list(AnyLinkForm.model_fields)), " ".join((form.__doc__ or "").split()))
        for form in LINK_KINDS[: LINK_KINDS.index(FileForm) + 1]
    ]
    return _table(("fields of a link", "message time"), rows)


def _topologies() -> str:
    rows = []
    for form in TOPOLOGIES:
        routes = " ".join((form.model_fields["topology"].description or "").split())
        names = _names(form, without=["topology", *NetworkForm.model_fields])
        rows.append((f"`{form.kind_name()}`", names, routes[0].lower() + routes[1:].rstrip(".")))
    return _table(("topology", "fields", "routes"), rows)


def _topology_fields() -> Iterator[tuple[str, type[Form], Collection[str]]]:
    """The fields of topologies, each name once, and those of the entries of their lists; no link that is needed."""
    said = {"topology", *NetworkForm.model_fields}
    for form in TOPOLOGIES:
        fields = form.model_fields
        lists = {name: entry for name, field in fields.items() if (entry := _entry_of(field.annotation))}
        left_out = {*said, *lists, *(name for name in ("link",) if name in fields and fields[name].is_required())}
        yield "", form, left_out
        for name, entry in lists.items():
            yield f"{name}[].", entry, ()
        said |= set(fields) - left_out


def _entry_of(annotation: Any) -> type[Form] | None:
    """The form of a list's entries; None of what is no such list."""
    for part in (annotation, *get_args(annotation)):
        entry = get_args(part)[0] if get_origin(part) is list else None
        if isinstance(entry, type) and issubclass(entry, Form):
            return entry
    return None


def _parameters() -> str:
    """Parameters of the applications whose costs are counted."""
    applications: dict[Row, list[str]] = {}
    for application, fields in {**PARAMETERS, recorded.NAME: recorded.APPLICATION.parameters}.items():
        for name, field in fields.items():
            applications.setdefault((f"`{name}`", field.meaning, _usual(field)), []).append(f"`{application}`")
    rows = [(", ".join(names), *what) for what, names in applications.items()]
    return _table(("application", "parameter", "meaning", "if left out"), rows)


def _usual(field: Field) -> str:
    """What a parameter is where it is left out."""
    if field.default is None:
        return "needed"
    if isinstance(field.default, str):
        return f"`{field.default}`" if field.default else ""
    unit = "s" if field.schema == {"type": "string"} and field.default == 0 else ""
    return "" if math.isinf(field.default) else f"`{field.default:g}{unit}`"


def _graph_nodes() -> str:
    rows = []
    for form in _GRAPH_NODES:
        kind, *_ = form.model_fields
        rows.append((f"`{kind}`", _names(form, without=[kind]), " ".join((form.__doc__ or "").split())))
    return _table(("node", "fields", "what it is"), rows)


def _table(head: Row, rows: Sequence[Row]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n".replace("|  |", "| |") for line in lines)


_PES = "pes[]."
_TABLES: dict[str, Callable[[], str]] = {
    "scenario": lambda: _fields(("", ScenarioForm, ())),
    "nodes": lambda: _fields(
        ("", NodeForm, ("pes",)),
        (_PES, PEForm, ("load",)),
        (_PES, ResourcePEForm, tuple(PEForm.model_fields)),
        (f"{_PES}load.", LoadForm, ()),
        (f"{_PES}load.trace.", TraceForm, ()),
    ),
    "gpus": lambda: _fields(
        (_PES, GpuKeysForm, ()),
        (f"{_PES}link.", BothWaysForm, ()),
        ("application.moves.", MovesForm, ()),
        ("application.moves.*.", AmountForm, ()),
    ),
    "levels": lambda: _fields(("levels[].", LevelForm, ()), ("levels.", LevelsModelForm, ()), ("swap.", SwapForm, ())),
    "domains": lambda: _fields(
        ("domains[].", DomainForm, ()),
        *(
            (f"domains[kind: {kind}].", form, ("kind", *DomainForm.model_fields))
            for form in DOMAIN_FORMS
            for kind in get_args(form.model_fields["kind"].annotation)
        ),
        ("domains.", DomainsModelForm, ()),
        ("uses.KERNEL.", KernelUsesForm, ("memory",)),
        ("uses.KERNEL.memory.", MemoryDemandForm, ()),
        ("uses.KERNEL.LEVEL.", CacheDemandForm, ()),
        (f"{_PES}load.demands.", LoadDemandsForm, ()),
    ),
    "memory": lambda: _fields(
        ("application.memory.", MemoryUseForm, ()), (f"{_PES}speeds.KERNEL.predicted.", PredictionForm, ())
    ),
    "links": _links,
    "network": lambda: _fields(("", NetworkForm, ())),
    "topologies": _topologies,
    "switches": lambda: _fields(*_topology_fields()),
    "simgrid": lambda: _fields(("", SimgridForm, ())),
    "configurations": lambda: _fields(("", ConfigurationForm, ())),
    "application": lambda: _fields(("", ApplicationForm, ())),
    "parameters": _parameters,
    "recorded": lambda: _fields(("", RecordedApplicationForm, ("name", "model", "parameters", "memory"))),
    "seg": lambda: _fields(("", SegApplicationForm, ("model", "memory"))),
    "graphs": lambda: _fields(
        ("", SegForm, ()),
        ("graphs.NAME.", GraphForm, ()),
        ("arms[].", ArmForm, ()),
        ("ruv.METHOD.OPERATION.", GuessForm, ()),
    ),
    "graph_nodes": _graph_nodes,
}


def main() -> None:
    """Write the tables and schemas of the checkout that this module lies in."""
    folder = Path(__file__).parents[2] / "scenarios"
    for kind in KINDS:
        files.write_text(folder / f"{kind}.schema.json", scenario_schema(kind))
    files.write_text(folder / "README.md", with_tables(files.read_text(folder / "README.md")))


if __name__ == "__main__":
    main()
