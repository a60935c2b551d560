"""From what a file says of PEs and nodes to a Platform, with speeds taken to levels that the command line sets."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace

from simulator.base import units
from simulator.base.errors import ScenarioError, some_names
from simulator.base.faults import Faults
from simulator.base.names import MAX_NAMES, counted, first_name, how_many
from simulator.base.yaml_document import Document, PlacedError
from simulator.models.memory.levels import SWAP, WORD_BYTES, MemoryUse, resident_levels
from simulator.models.neighbours import KernelUses, SharingDomain
from simulator.models.predicted_speed import KERNEL_USES, cache_uses, rescaled
from simulator.models.resource import HardwareModel
from simulator.models.speed import SpeedBand, SpeedSurface
from simulator.platform.domains import NODE, DomainsModelForm, PEsOf, sharing, with_sharers
from simulator.platform.foreign import read_simgrid
from simulator.platform.named_files import NamedFiles, Site
from simulator.platform.networks import Network
from simulator.platform.networks.link import AnyLinkForm, Maker
from simulator.platform.networks.network import WHERE
from simulator.platform.networks.topologies import TOPOLOGIES
from simulator.platform.nodes import PE, Load, Node, Platform, plain_name
from simulator.scenario_file.forms import ApplicationForm, NodesForm, PlatformForm, ScenarioForm, SimgridForm
from simulator.scenario_file.memory import KnownMemory, Levels, PredictedForm, level_differences
from simulator.scenario_file.nodes import BandForm, ModelForm, NodeForm, PEForm, ResourcePEForm
from simulator.scenario_file.scenario import Extrapolation


def use_of(form: ApplicationForm) -> MemoryUse | None:
    """How the application's kernel uses memory: as the file says, or as is known of a kernel of ours."""
    if form.memory is not None:
        return form.memory.use()
    return KERNEL_USES.get(form.kernel) if form.model is None else None


@dataclass(frozen=True)
class Measured:
    """What speeds were measured on, where the command line sets other levels."""

    memory: Mapping[int, KnownMemory]
    """Levels in the file by the place of a node's entry; only entries whose levels are set."""
    application: ApplicationForm


def measured_on(form: ScenarioForm, document: Document, changed: Document, named: NamedFiles) -> Measured:
    """The levels that a file's speeds were measured on."""
    if not isinstance(form.platform, NodesForm):
        return Measured({}, form.application)
    places = [("platform", "nodes", place, "levels") for place in range(len(form.platform.nodes))]
    touched = [place for place, field in enumerate(places) if changed.settings_at(field)]
    found = {}
    for place in touched:
        node = form.platform.nodes[place]
        found[place] = node.known_memory(document, named, here=("platform", "nodes", place))
    return Measured(found, form.application)


def uses_of_model(known: KnownMemory, application: ApplicationForm, band: SpeedBand | None) -> dict[str, KernelUses]:
    """What the application's kernel takes of shared caches by all that a model says; none where levels say it all."""
    use = use_of(application)
    if use is None or band is None or known.model is None or not known.model.knows_more(use):
        return {}
    here, there = resident_levels(known.now), resident_levels(known.levels)
    found = cache_uses(band, use, measured=there, changed=here, model=known.model)
    return {application.kernel: found} if found.demands else {}


def on_other_levels(
    band: SpeedBand, measured: KnownMemory, changed: Levels, use: MemoryUse | None, *, node: str, pes: str, kernel: str
) -> Extrapolation | None:
    """A measured band, taken to other levels by the memory model; None where they are the same."""
    before, after = resident_levels(measured.levels), resident_levels(changed)
    differences = tuple(level_differences(before, after))
    if not differences:
        return None
    if not before or not after:
        where = "the file has none, on which it was measured" if not before else "there are none"
        raise ScenarioError(f"levels: {where}; the speed of {kernel} on {pes} is taken from them to those set")
    if use is None:
        known = ", ".join(KERNEL_USES)
        why = f"the speed of {kernel} on {pes} is taken to other levels by it"
        advice = f"give accesses_per_unit, alpha, run_words (they are known of {known})"
        raise ScenarioError(f"application.memory is missing, and {why}; {advice}")
    result = rescaled(band, use, measured=before, changed=after, model=measured.model)
    return Extrapolation(
        node=node,
        pes=pes,
        kernel=kernel,
        levels=differences,
        beyond_levels=measured.beyond_levels(use),
        lowest_factor=float(result.factors.min()),
        highest_factor=float(result.factors.max()),
        compute_part_s=result.compute_part_s,
        compute_part_cut_off=result.cut_off,
        memory_share=float(result.memory_shares.max()),
        measured_elements=(float(band.sizes[0]), float(band.sizes[-1])) if band.sizes.size > 1 else None,
        needed_elements=0.0,
        band=result.band,
    )


def extrapolation_lines(found: Extrapolation) -> list[str]:
    """Lines that say how far a rescaled speed goes beyond what was measured."""
    factors = f"{found.lowest_factor:.3g} to {found.highest_factor:.3g}"
    head, share = f"speed of {found.kernel} on {found.pes}:", f"up to {found.memory_share:.0%} of the time in memory"
    changed = "; ".join(found.levels)
    model = "the memory model" + (f" ({found.beyond_levels})" if found.beyond_levels else "")
    lines = [f"{head} not measured with {changed}: the measured one times {factors} by {model}, {share}"]
    if found.compute_part_cut_off:
        lines.append(f"{head} by the memory model its accesses take longer than was measured in all: none is computing")
    if found.measured_elements is None:
        lines.append(f"{head} one speed for all sizes was given, not a measured band")
    elif found.needed_elements > found.measured_elements[1]:
        size = units.show_size(WORD_BYTES * found.needed_elements)
        beyond = found.needed_elements / found.measured_elements[1]
        lines.append(f"{head} {size} of data needed, {beyond:.3g} times the largest measured: constant beyond that")
    return lines


@dataclass
class _Parts:
    """What has been read of a platform so far."""

    pes: list[PE] = field(default_factory=list)
    nodes: dict[str, Node | None] = field(default_factory=dict)
    domains: list[SharingDomain] = field(default_factory=list)
    makers: dict[str, Maker] = field(default_factory=dict)
    pe_names: set[str] = field(default_factory=set)
    notes: list[str] = field(default_factory=list)
    other_columns: dict[tuple[str, str], list[str]] = field(default_factory=dict)
    """Kernel, and what is to be known of its speeds by columns -> the PEs."""
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

    `measured`: the application, whose kernel's speeds those of a platform file of SimGrid are; and levels that speeds
    were measured on where others are set.
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
    site = Site(document, named, form.network is not None and form.network.contention == "fair")
    check_number(form, document)
    faults = Faults(document)
    for place, node in enumerate(form.nodes):
        with faults.at("platform", "nodes", place):
            _add(node, site, place=place, parts=parts, measured=measured)
    if faults.lines:
        _check_links(form, site, faults)
    faults.tell()
    with document.at("platform"):
        network = _network(form, site, parts)
        nodes = tuple(node for node in parts.nodes.values() if node is not None)
        platform = Platform(tuple(parts.pes), network, nodes, tuple(parts.domains))
    lines = [f"speeds of {of} on {some_names(pes)}: {said}" for (of, said), pes in parts.other_columns.items()]
    return MadePlatform(platform, tuple(dict.fromkeys((*parts.notes, *lines))), tuple(parts.extrapolations))


def _check_links(form: NodesForm, site: Site, faults: Faults) -> None:
    """Note the faults of links that need no nodes, where a platform has none to go by."""
    if form.link is not None:
        with faults.at("platform", "link"):
            form.link.end_to_end(site, "platform", "link")
    for name in type(form.network).model_fields if form.network is not None else ():
        if isinstance(link := getattr(form.network, name), AnyLinkForm):
            with faults.at(*WHERE, name):
                link.maker(site, *WHERE, name)


def check_number(form: NodesForm, document: Document) -> None:
    """Refuse more PEs than a platform may have before any of them is made."""
    pes = 0
    for place, node in enumerate(form.nodes):
        with suppress(ScenarioError):  # what is wrong with a name is said where it is used
            pes += how_many(node.name, node.count) * sum(how_many(pe.name, pe.count) for pe in node.pes)
        if pes > MAX_NAMES:
            with document.at("platform", "nodes", place):
                raise ScenarioError(f"these are {pes} PEs up to here; give at most {MAX_NAMES}")


def _network(form: NodesForm, site: Site, parts: _Parts) -> Network:
    if parts.makers and not (form.network is not None and form.network.OWN_LINKS):
        place = next(place for place, node in enumerate(form.nodes) if node.link is not None)
        with site.at("platform", "nodes", place, "link"):
            able = " and ".join(kind.kind_name() for kind in TOPOLOGIES if kind.OWN_LINKS)
            raise ScenarioError(f"only the topologies {able} have links of nodes; leave it out")
    if form.network is not None:
        return form.network.network(replace(site, nodes=list(parts.nodes), own_links=parts.makers))
    if form.link is None:
        raise ScenarioError("give either link or network")
    return Network.uniform(form.link.end_to_end(site, "platform", "link"))


def _add(form: NodeForm, site: Site, *, place: int, parts: _Parts, measured: Measured) -> None:
    """The nodes of one entry with their PEs."""
    document, named = site.document, site.named
    here = ("platform", "nodes", place)
    with document.at(*here, "count" if form.count is not None else "name"):
        names = counted(form.name, form.count)
    with document.at(*here, "name"):
        for name in names:
            if name in parts.nodes:
                raise ScenarioError(f"two nodes are called {name!r}; give each its own name")
    maker = None if form.link is None else form.link.maker(site, *here, "link")
    disk = None if form.disk is None else form.disk.disk()
    memory_now = form.known_memory(document, named, here=here)
    levels = memory_now.levels
    swap_bytes, swap_times = form.swap_space(document, here=here)
    memory = form.memory is not None or bool(levels and levels[-1].name == SWAP)
    known = replace(measured.memory.get(place, memory_now), now=levels)
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
                found = f"{form.pes[number].name!r} is one name for PEs of {len(names)} nodes"
                raise ScenarioError(f"{found}; write {NODE} in it")
    pes = PEsOf([pe for kind in kinds for pe in kind.names], [kind.cores for kind in kinds for _ in kind.names], names)
    shared = sharing(form.domains, form.uses, pes, site, here=here, levels=levels)
    band = next((kind.speeds[kernel] for kind in kinds if (kernel := measured.application.kernel) in kind.speeds), None)
    derived = {
        kernel: taken
        for kernel, taken in uses_of_model(known, measured.application, band).items()
        if kernel not in shared.uses
    }
    parts.notes += [*shared.notes, *_derived_lines(derived, form)]
    if shared.domains:
        parts.notes += _slowed_twice(form, named)
    levels = with_sharers(levels, shared.domains)
    uses = derived | shared.uses
    for name in names:
        host = None if form.host is None else form.host.replace(NODE, name)
        node = Node(name, form.memory, swap_bytes, disk, levels, host, swap_times, form.price, uses)
        has_more = node != Node(name) or isinstance(form.domains, DomainsModelForm)
        parts.domains += [kind.of(name, len(parts.pes)) for kind in shared.domains]
        parts.nodes[name] = node if has_more else None
        if maker is not None:
            parts.makers[name] = maker
        for number, kind in enumerate(kinds):
            for pe_name in kind.names:
                full = pe_name.replace(NODE, name)
                if full in parts.pe_names:
                    with document.at(*here, "pes", number, "name"):
                        raise ScenarioError(f"two PEs are called {full}; give each its own name")
                parts.pe_names.add(full)
                rest = kind.cpu, kind.cores, *kind.rates, kind.slice_s, kind.resource
                parts.pes.append(PE(full, name, kind.speeds, kind.load, *rest))


def _derived_lines(derived: Mapping[str, KernelUses], form: NodeForm) -> list[str]:
    """A line for each kernel whose uses follow from a memory model."""
    said = "what its memory model says, not measured with neighbours"
    return [
        f"{kernel} on {form.name}: what it loses where {', '.join(taken.demands)} is shared: {said}"
        for kernel, taken in derived.items()
    ]


def _slowed_twice(form: NodeForm, named: NamedFiles) -> list[str]:
    """A line for each kernel whose speed was measured with the neighbours that domains describe."""
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


@dataclass(frozen=True)
class _Kind:
    """What PEs that are alike share."""

    names: list[str]
    speeds: dict[str, SpeedBand]
    load: Load | None
    cpu: int | None
    cores: int
    rates: tuple[float | None, float | None]
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
    shared = None if form.load is None else form.load.load(named, faults, here=(*here, "load"))
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
                speeds[kernel], note = speed.predicted.speed(known, kernel=kernel, pes=pes)
                parts.notes.append(note)
            else:
                found = SpeedBand.constant(speed) if isinstance(speed, float) else speed.speed(named)
                band = _sliced(found, kernel, form, parts, node=node)
                speeds[kernel] = _within_memory(band, kernel, form, parts, node=node, known=memory)
    load = None
    if form.load is not None:
        load = form.load.load(named, faults, here=(*here, "load"))
    rates, resource = (form.cost, form.power), None
    if isinstance(form, ResourcePEForm):
        with faults.at(*here, "resource"):
            resource = form.resource_model(named)
    faults.tell()
    predicted = frozenset(kernel for kernel, speed in form.speeds.items() if isinstance(speed, PredictedForm))
    return _Kind(names, speeds, load, form.cpu, form.cores, rates, form.slice, form.name, predicted, resource)


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


def _within_memory(band: SpeedBand, kernel: str, form: PEForm, parts: _Parts, *, node: str, known: bool) -> SpeedBand:
    """A band without the cut (0, 0) at the end of memory, where that is known and pages instead."""
    if not known or band.mid[-1] > 0:
        return band
    pes = form.name.replace(NODE, node)
    said = f"constant beyond {band.sizes[-2]:g} elements: memory of the node stands for the speed 0 at its end"
    parts.notes.append(f"speed of {kernel} on {pes}: {said}")
    low, mid, high = band.low[:-1], band.mid[:-1], band.high[:-1]
    return replace(band, sizes=band.sizes[:-1], low=low, mid=mid, high=high, surface=None)


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


def _columns(measured: Measured) -> float | None:
    """The order n of the application, if it has one."""
    n = measured.application.parameters.get("n")
    return float(n) if isinstance(n, int | float) and not isinstance(n, bool) and n > 0 else None


def _sliced(speed: SpeedBand | SpeedSurface, kernel: str, form: PEForm, parts: _Parts, *, node: str) -> SpeedBand:
    """The band at the application's columns; a note where nothing was measured on either side of them."""
    if isinstance(speed, SpeedBand):
        return speed
    if parts.columns is None:
        raise ScenarioError("these are speeds by columns, and the application has no n, its columns; give other speeds")
    if not speed.columns[0] <= parts.columns <= speed.columns[-1]:
        nearest = speed.columns[0] if parts.columns < speed.columns[0] else speed.columns[-1]
        said = f"measured on {nearest:g} columns, the application has {parts.columns:g}: taken as they are there"
        parts.other_columns.setdefault((kernel, said), []).append(form.name.replace(NODE, node))
    return speed.at(parts.columns)
