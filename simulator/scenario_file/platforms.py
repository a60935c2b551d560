"""From what a scenario file says of PEs and nodes to a `Platform`; alike PEs share their models."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace

import numpy as np

from simulator.base.errors import ScenarioError
from simulator.load_traces import trace_column
from simulator.models.load import LoadTrace
from simulator.models.memory.levels import SWAP
from simulator.models.neighbours import KernelUses, SharingDomain
from simulator.models.resource import HardwareModel
from simulator.models.speed import SpeedBand, SpeedSurface
from simulator.platform.foreign import read_simgrid
from simulator.platform.networks import Link, Network
from simulator.platform.nodes import PE, Load, Node, Platform, plain_name
from simulator.scenario_file.domain_forms import DomainsModelForm
from simulator.scenario_file.domains import PEsOf, load_demands, sharing, told_by_domains
from simulator.scenario_file.faults import Faults
from simulator.scenario_file.forms import NodesForm, PlatformForm, SimgridForm
from simulator.scenario_file.memory_levels import (
    KnownMemory,
    Levels,
    Measured,
    known_of,
    levels_of,
    on_other_levels,
    predicted_speed,
    swap_of,
    use_of,
    uses_of_model,
)
from simulator.scenario_file.named_files import NamedFiles
from simulator.scenario_file.names import MAX_NAMES, counted, first_name, how_many
from simulator.scenario_file.network_forms import StarForm, TreeForm
from simulator.scenario_file.networks import LinkSource, Maker, check_links, link_maker, make_network, message_model
from simulator.scenario_file.node_forms import (
    BandForm,
    FunctionForm,
    LoadForm,
    ModelForm,
    NodeForm,
    PEForm,
    PredictedForm,
    ResourcePEForm,
    SurfaceForm,
    TraceForm,
)
from simulator.scenario_file.scenario import Extrapolation
from simulator.scenario_file.yaml_text import Document, PlacedError

NODE = "{node}"


@dataclass
class _Parts:
    """What has been read of a platform so far."""

    pes: list[PE] = field(default_factory=list)
    nodes: dict[str, Node | None] = field(default_factory=dict)
    domains: list[SharingDomain] = field(default_factory=list)
    makers: dict[str, Maker] = field(default_factory=dict)
    pe_names: set[str] = field(default_factory=set)
    notes: list[str] = field(default_factory=list)
    extrapolations: list[Extrapolation] = field(default_factory=list)
    columns: float | None = None
    """Of the panels that the application computes: its order n; None without one."""


@dataclass(frozen=True)
class MadePlatform:
    """A platform, and what is to be known of its speeds."""

    platform: Platform
    notes: tuple[str, ...] = ()
    extrapolations: tuple[Extrapolation, ...] = ()


def make_platform(form: PlatformForm, document: Document, named: NamedFiles, *, measured: Measured) -> MadePlatform:
    """The platform of a scenario file.

    Parameters
    ----------
    measured
        The application, whose kernel's speeds those of a platform file of SimGrid are; and levels that speeds were
        measured on where others are set.
    """
    kernel = measured.application.kernel
    if isinstance(form, SimgridForm):
        with document.at("platform", "simgrid"):
            path = named.path(form.simgrid)
            imported = read_simgrid(path, kernel=kernel, contention=form.contention, eager_bytes=form.eager)
        for file in imported.files:
            inside = file.is_relative_to(named.folder)
            named.used[file.relative_to(named.folder).as_posix() if inside else str(file)] = file
        return MadePlatform(imported.platform, imported.notes)
    parts = _Parts(columns=_columns(measured))
    source = LinkSource(document, named, form.network is not None and form.network.contention == "fair")
    _check_number(form, document)
    faults = Faults(document)
    for place, node in enumerate(form.nodes):
        with faults.at("platform", "nodes", place):
            _add(node, source, place=place, parts=parts, measured=measured)
    if faults.lines:
        check_links(form, source, faults)
    faults.tell()
    with document.at("platform"):
        network = _network(form, source, parts)
        nodes = tuple(node for node in parts.nodes.values() if node is not None)
        platform = Platform(tuple(parts.pes), network, nodes, tuple(parts.domains))
    return MadePlatform(platform, tuple(dict.fromkeys(parts.notes)), tuple(parts.extrapolations))


def _check_number(form: NodesForm, document: Document) -> None:
    """Refuse more PEs than a platform may have before any of them is made."""
    pes = 0
    for place, node in enumerate(form.nodes):
        with suppress(ScenarioError):  # what is wrong with a name is said where it is used
            pes += how_many(node.name, node.count) * sum(how_many(pe.name, pe.count) for pe in node.pes)
        if pes > MAX_NAMES:
            with document.at("platform", "nodes", place):
                raise ScenarioError(f"{pes} PEs up to here found, at most {MAX_NAMES} allowed")


def _network(form: NodesForm, source: LinkSource, parts: _Parts) -> Network:
    if parts.makers and not isinstance(form.network, StarForm | TreeForm):
        place = next(place for place, node in enumerate(form.nodes) if node.link is not None)
        with source.at("platform", "nodes", place, "link"):
            raise ScenarioError("a link of its own found, allowed with the topologies star and tree")
    if form.network is not None:
        return make_network(form.network, source, list(parts.nodes), parts.makers)
    if form.link is None:
        raise ScenarioError("either link or network allowed")
    return Network.uniform(message_model(form.link, source, "platform", "link"))


def _add(form: NodeForm, source: LinkSource, *, place: int, parts: _Parts, measured: Measured) -> None:
    """The nodes of one entry with their PEs."""
    document, named = source.document, source.named
    here = ("platform", "nodes", place)
    with document.at(*here, "count" if form.count is not None else "name"):
        names = counted(form.name, form.count)
    with document.at(*here, "name"):
        for name in names:
            if name in parts.nodes:
                raise ScenarioError(f"node {name!r} named twice found, each name once allowed")
    maker = None if form.link is None else link_maker(form.link, source, *here, "link")
    disk = None if form.disk is None else Link("disk", form.disk.latency, form.disk.bandwidth, shared=True)
    levels = levels_of(form, document, named, here=here)
    has_more = form.memory is not None or disk is not None or levels or form.host is not None
    has_more = has_more or form.price is not None or bool(form.uses) or isinstance(form.domains, DomainsModelForm)
    swap_bytes, swap_times = swap_of(form, document, here=here)
    memory = form.memory is not None or bool(levels and levels[-1].name == SWAP)
    known = replace(measured.memory.get(place, known_of(form, levels, named)), now=levels)
    kinds = _kinds(form, document, named, here=here, known=known, memory=memory, parts=parts)
    if place in measured.memory:
        kinds = [
            _on_these_levels(
                kind, document, measured, here=(*here, "pes", number), levels=levels, parts=parts, node=form.name
            )
            for number, kind in enumerate(kinds)
        ]
    for number, kind in enumerate(kinds):
        with document.at(*here, "pes", number, "name"):
            if len(names) > 1 and any(NODE not in name for name in kind.names):
                found = f"{form.pes[number].name!r} found for PEs of {len(names)} nodes"
                raise ScenarioError(f"{found}, a name with {NODE} in it allowed")
    pes = PEsOf([pe for kind in kinds for pe in kind.names], [kind.cores for kind in kinds for _ in kind.names], names)
    shared = sharing(form, pes, document, named, here=here, levels=levels)
    band = next((kind.speeds[kernel] for kind in kinds if (kernel := measured.application.kernel) in kind.speeds), None)
    derived = {
        kernel: taken
        for kernel, taken in uses_of_model(known, measured.application, band).items()
        if kernel not in shared.uses
    }
    parts.notes += [*shared.notes, *_told_of(derived, form)]
    if shared.domains:
        parts.notes += _slowed_twice(form, named)
    levels = told_by_domains(levels, shared.domains)
    uses = derived | shared.uses
    for name in names:
        host = _host(form, name)
        node = Node(name, form.memory, swap_bytes, disk, levels, host, swap_times, form.price, uses)
        parts.domains += [kind.of(name, len(parts.pes)) for kind in shared.domains]
        parts.nodes[name] = node if has_more else None
        if maker is not None:
            parts.makers[name] = maker
        for number, kind in enumerate(kinds):
            for pe_name in kind.names:
                full = pe_name.replace(NODE, name)
                if full in parts.pe_names:
                    with document.at(*here, "pes", number, "name"):
                        raise ScenarioError(f"PE {full}: named twice found, each name once allowed")
                parts.pe_names.add(full)
                rest = kind.cpu, kind.cores, *kind.rates, kind.slice_s, kind.resource
                parts.pes.append(PE(full, name, kind.speeds, kind.load, *rest))


def _told_of(derived: Mapping[str, KernelUses], form: NodeForm) -> list[str]:
    """A line for each kernel whose uses follow from a memory model."""
    said = "what its memory model says, not measured beside neighbours"
    return [
        f"{kernel} on {form.name}: what it loses where {', '.join(taken.demands)} is shared: {said}"
        for kernel, taken in derived.items()
    ]


def _slowed_twice(form: NodeForm, named: NamedFiles) -> list[str]:
    """A line for each kernel whose speed was measured beside the neighbours that domains tell of."""
    found = {
        kernel: speed.model
        for pe in form.pes
        for kernel, speed in pe.speeds.items()
        if isinstance(speed, ModelForm) and speed.model in named.together
    }
    return [
        f"speed of {kernel} on {form.name}: {model} was measured on all cores at once and the node has domains, so "
        "neighbours count twice; measure it without --together"
        for kernel, model in found.items()
    ]


def _host(form: NodeForm, name: str) -> str | None:
    return None if form.host is None else form.host.replace(NODE, name)


@dataclass(frozen=True)
class _Kind:
    """What PEs that are alike share."""

    names: list[str]
    speeds: dict[str, SpeedBand]
    load: Load | None
    cpu: int | None
    cores: int
    rates: tuple[float | None, float | None]
    """Cost per second, and power."""
    slice_s: float
    pattern: str
    """Their names as the file writes them."""
    predicted: frozenset[str]
    """Kernels whose speeds are predicted."""
    resource: HardwareModel | None


def _kinds(
    form: NodeForm,
    document: Document,
    named: NamedFiles,
    *,
    here: tuple[str | int, ...],
    known: KnownMemory,
    memory: bool,
    parts: _Parts,
) -> list[_Kind]:
    """The kinds of a node's PEs; those without a load of their own have the node's."""
    kinds, faults = [], Faults(document)
    shared = None if form.load is None else _load(form.load, named, faults, here=(*here, "load"))
    for number, pe in enumerate(form.pes):
        at = (*here, "pes", number)
        with faults.at(*at):
            kind = _kind(pe, document, named, here=at, node=form.name, known=known, memory=memory, parts=parts)
            kind = replace(kind, speeds=_with_sources(kind.speeds, pe, form))
            kinds.append(kind if pe.load is not None else replace(kind, load=shared))
    faults.tell()
    return kinds


def _kind(
    form: PEForm,
    document: Document,
    named: NamedFiles,
    *,
    here: tuple[str | int, ...],
    node: str,
    known: KnownMemory,
    memory: bool,
    parts: _Parts,
) -> _Kind:
    with document.at(*here, "count" if form.count is not None else "name"):
        names = counted(form.name, form.count)
    speeds, faults = {}, Faults(document)
    for kernel, speed in form.speeds.items():
        with faults.at(*here, "speeds", kernel):
            if isinstance(speed, PredictedForm):
                pes = form.name.replace(NODE, node)
                speeds[kernel], note = predicted_speed(speed.predicted, known, kernel=kernel, pes=pes)
                parts.notes.append(note)
            else:
                band = _sliced(_speed(speed, named), kernel, form, parts, node=node)
                speeds[kernel] = _within_memory(band, kernel, form, parts, node=node, known=memory)
    load = None
    if form.load is not None:
        load = _load(form.load, named, faults, here=(*here, "load"))
    rates, resource = (form.cost, form.power), None
    if isinstance(form, ResourcePEForm):
        with faults.at(*here, "resource"):
            resource = _resource(form, named)
    faults.tell()
    return _Kind(names, speeds, load, form.cpu, form.cores, rates, form.slice, form.name, _predicted(form), resource)


def _with_sources(speeds: Mapping[str, SpeedBand], form: PEForm, node: NodeForm) -> dict[str, SpeedBand]:
    """Speeds with what PEs share their doubt by: a model's file, or the entry that says it, by its first PE."""
    entry = first_name(form.name, form.count).replace(NODE, first_name(node.name, node.count))
    found = {}
    for kernel, band in speeds.items():
        said = form.speeds[kernel]
        source = said.model if isinstance(said, ModelForm) else plain_name(entry)
        own = isinstance(said, BandForm) and said.source is not None
        found[kernel] = replace(band, source=source) if band.wide and not (band.source or own) else band
    return found


def _resource(form: ResourcePEForm, named: NamedFiles) -> HardwareModel:
    return (
        named.resource_model(form.resource)
        if isinstance(form.resource, str)
        else HardwareModel.from_dict(form.resource)
    )


def _within_memory(band: SpeedBand, kernel: str, form: PEForm, parts: _Parts, *, node: str, known: bool) -> SpeedBand:
    """A band without the cut (0, 0) at the end of memory, where that is known and pages instead."""
    if not known or band.mid[-1] > 0:
        return band
    pes = form.name.replace(NODE, node)
    said = f"constant beyond {band.sizes[-2]:g} elements: memory of the node stands for the speed 0 at its end"
    parts.notes.append(f"speed of {kernel} on {pes}: {said}")
    low, mid, high = band.low[:-1], band.mid[:-1], band.high[:-1]
    return replace(band, sizes=band.sizes[:-1], low=low, mid=mid, high=high, surface=None)


def _predicted(form: PEForm) -> frozenset[str]:
    return frozenset(kernel for kernel, speed in form.speeds.items() if isinstance(speed, PredictedForm))


def _on_these_levels(
    kind: _Kind,
    document: Document,
    measured: Measured,
    *,
    here: tuple[str | int, ...],
    levels: Levels,
    parts: _Parts,
    node: str,
) -> _Kind:
    """Measured speeds taken to levels that the command line sets; what it sets as a speed stays."""
    kernel, place = measured.application.kernel, here[2]
    on, use = measured.memory[int(place)], use_of(measured.application)
    band = kind.speeds.get(kernel)
    if band is None or kernel in kind.predicted or document.setting((*here, "speeds", kernel)) is not None:
        return kind
    set_by = ", --set ".join(document.settings_at((*here[:3], "levels")))
    try:
        found = on_other_levels(band, on, levels, use, node=node, pes=kind.pattern.replace(NODE, node), kernel=kernel)
    except ScenarioError as error:
        raise PlacedError([f"--set {set_by}: {line}" for line in error.lines]) from None
    if found is None:
        return kind
    found = replace(found, band=replace(found.band, source=band.source))
    parts.extrapolations.append(found)
    others = [name for name in kind.speeds if name != kernel and name not in kind.predicted]
    if others:
        parts.notes.append(f"speeds of {', '.join(others)} on {found.pes}: left out, measured on other levels")
    kept = {name: speed for name, speed in kind.speeds.items() if name in kind.predicted}
    return replace(kind, speeds={**kept, kernel: found.band})


def _speed(
    form: BandForm | FunctionForm | SurfaceForm | ModelForm | float, named: NamedFiles
) -> SpeedBand | SpeedSurface:
    if isinstance(form, float):
        return SpeedBand.constant(form)
    if isinstance(form, BandForm):
        return replace(SpeedBand.from_dict(form.model_dump(exclude={"source"})), source=form.source or "")
    if isinstance(form, SurfaceForm):
        return SpeedSurface.from_dict(form.model_dump())
    if isinstance(form, FunctionForm):
        speeds = np.array(form.speeds, dtype=np.float64)
        return SpeedBand(np.array(form.sizes, dtype=np.float64), speeds, speeds, speeds)
    return named.speed(form.model)


def _columns(measured: Measured) -> float | None:
    """The order n of the application, if it has one."""
    n = measured.application.parameters.get("n")
    return float(n) if isinstance(n, int | float) and not isinstance(n, bool) and n > 0 else None


def _sliced(speed: SpeedBand | SpeedSurface, kernel: str, form: PEForm, parts: _Parts, *, node: str) -> SpeedBand:
    """The band at the application's columns; a note where nothing was measured on either side of them."""
    if isinstance(speed, SpeedBand):
        return speed
    if parts.columns is None:
        raise ScenarioError("speeds by columns found, allowed with an application whose parameters say n, its columns")
    if not speed.columns[0] <= parts.columns <= speed.columns[-1]:
        nearest = speed.columns[0] if parts.columns < speed.columns[0] else speed.columns[-1]
        pes = form.name.replace(NODE, node)
        said = f"measured on {nearest:g} columns, the application has {parts.columns:g}: taken as they are there"
        parts.notes.append(f"speeds of {kernel} on {pes}: {said}")
    return speed.at(parts.columns)


def _load(form: LoadForm, named: NamedFiles, faults: Faults, *, here: tuple[str | int, ...]) -> Load | None:
    """A load; None after a fault was noted."""
    with faults.at(*here, "trace"):
        trace, recorded = _trace(form, named), form.recorded
        if recorded is None:
            recorded = not isinstance(form.trace, TraceForm)
        rule, said = form.rule or "fair", form.rule is not None
        if not isinstance(form.trace, TraceForm) and trace_column(named.path(form.trace)) == "available":
            rule, said = form.rule or "given", True
        made = Load(trace, rule, demands=load_demands(form.demands), recorded=recorded, rule_known=said)
        if form.start in ("drawn", "own"):
            return replace(made, own=form.start == "own")
        with faults.at(*here, "start"):
            start_s = 0.0 if isinstance(form.start, str) else trace.offset_s(form.start)
            return replace(made, drawn=False, start_s=start_s)
    return None


def _trace(form: LoadForm, named: NamedFiles) -> LoadTrace:
    if isinstance(form.trace, TraceForm):
        if form.rule is None and not form.recorded:
            raise ScenarioError("rule: a load that is written out needs its rule; write fair, idle or given")
        times_s, values = np.array(form.trace.times_s, np.float64), np.array(form.trace.values, np.float64)
        return LoadTrace(times_s, values, form.trace.end_s, form.after_end, form.trace.start)
    trace = named.trace(form.trace, form.after_end)
    column = trace_column(named.path(form.trace))
    if form.rule is not None and (column == "available") != (form.rule == "given"):
        allowed = "given" if column == "available" else "fair or idle"
        raise ScenarioError(f"{form.trace}: column {column!r} with the rule {form.rule!r} found, {allowed} allowed")
    return trace
