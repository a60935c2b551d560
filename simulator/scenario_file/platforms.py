"""From what a file says of PEs and nodes to a Platform, with speeds taken to levels that the command line sets."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

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
from simulator.platform.domains import NODE, DomainsModelForm, PEsOf, Place, Sharing, sharing, with_sharers
from simulator.platform.foreign import read_simgrid
from simulator.platform.gpus import Gpu
from simulator.platform.named_files import Site
from simulator.platform.networks import Network
from simulator.platform.networks.link import AnyLinkForm, Maker
from simulator.platform.networks.network import WHERE
from simulator.platform.networks.topologies import TOPOLOGIES
from simulator.platform.nodes import PE, Load, Node, Platform, plain_name
from simulator.scenario_file.forms import ApplicationForm, NodesForm, PlatformForm, ScenarioForm, SimgridForm
from simulator.scenario_file.memory import KnownMemory, Levels, PredictedForm, level_differences
from simulator.scenario_file.nodes import BandForm, GpuForm, ModelForm, NodeForm, PEForm, ResourcePEForm
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
    platform: Platform | None = None
    """As the file has it, where changes may set other speeds than those that a program was recorded at."""


def measured_on(form: ScenarioForm, site: Site, changed: Document) -> Measured:
    """The levels that a file's speeds were measured on, where a change sets others."""
    nodes = form.platform.nodes if isinstance(form.platform, NodesForm) else []
    places = [(node, ("platform", "nodes", place)) for place, node in enumerate(nodes)]
    touched = [(node, here) for node, here in places if changed.settings_at((*here, "levels"))]
    return Measured({here[2]: node.known_memory(site, here=here) for node, here in touched}, form.application)


def uses_of_model(known: KnownMemory, application: ApplicationForm, band: SpeedBand | None) -> dict[str, KernelUses]:
    """What the application's kernel takes of shared caches by all that a model says; none where levels say it all."""
    use = use_of(application)
    if use is None or band is None or known.model is None or not known.model.knows_more(use):
        return {}
    here, there = resident_levels(known.now), resident_levels(known.levels)
    found = cache_uses(band, use, measured=there, changed=here, model=known.model)
    return {application.kernel: found} if found.demands else {}


def on_other_levels(
    band: SpeedBand, known: KnownMemory, use: MemoryUse | None, *, node: str, pes: str, kernel: str
) -> Extrapolation | None:
    """A measured band, taken to the levels of now by the memory model; None where they are the same."""
    before, after = resident_levels(known.levels), resident_levels(known.now)
    differences = tuple(level_differences(before, after))
    if not differences:
        return None
    if not before or not after:
        where = "the file has none, on which it was measured" if not before else "there are none"
        raise ScenarioError(f"levels: {where}; the speed of {kernel} on {pes} is taken from them to those set")
    if use is None:
        there = ", ".join(KERNEL_USES)
        why = f"the speed of {kernel} on {pes} is taken to other levels by it"
        advice = f"give accesses_per_unit, alpha, run_words (they are known of {there})"
        raise ScenarioError(f"application.memory is missing, and {why}; {advice}")
    result = rescaled(band, use, measured=before, changed=after, model=known.model)
    return Extrapolation(
        node=node,
        pes=pes,
        kernel=kernel,
        levels=differences,
        beyond_levels=known.beyond_levels(use),
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


def make_platform(form: PlatformForm, site: Site, measured: Measured) -> MadePlatform:
    """The platform of a scenario file."""
    if isinstance(form, SimgridForm):
        return _of_simgrid(form, site, measured.application.kernel)
    n = measured.application.parameters.get("n")
    has_order = isinstance(n, int | float) and not isinstance(n, bool) and n > 0
    parts = _Parts(columns=float(n) if has_order and n is not None else None)
    site = replace(site, latency_and_bandwidth=form.network is not None and form.network.contention == "fair")
    check_number(form, site.document)
    faults = site.faults()
    for place, node in enumerate(form.nodes):
        with faults.at("platform", "nodes", place):
            _Entry(node, place, site, measured, parts).add()
    if faults.lines:
        _check_links(form, site, faults)
    faults.tell()
    with site.at("platform"):
        network = _network(form, site, parts)
        nodes = tuple(node for node in parts.nodes.values() if node is not None)
        platform = Platform(tuple(parts.pes), network, nodes, tuple(parts.domains))
    lines = [f"speeds of {of} on {some_names(pes)}: {said}" for (of, said), pes in parts.other_columns.items()]
    return MadePlatform(platform, tuple(dict.fromkeys((*parts.notes, *lines))), tuple(parts.extrapolations))


def _of_simgrid(form: SimgridForm, site: Site, kernel: str) -> MadePlatform:
    """The platform of a file of SimGrid."""
    named = site.named
    with site.at("platform", "simgrid"):
        path = named.path(form.simgrid)
        imported = read_simgrid(path, kernel=kernel, contention=form.contention, eager_bytes=form.eager)
    for file in imported.files:
        inside = file.is_relative_to(named.folder)
        named.used[file.relative_to(named.folder).as_posix() if inside else str(file)] = file
    return MadePlatform(imported.platform, imported.notes)


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


@dataclass(frozen=True)
class _Kind:
    """What PEs that are alike share."""

    form: PEForm
    names: list[str]
    speeds: dict[str, SpeedBand]
    load: Load | None
    resource: HardwareModel | None
    gpu: Gpu | None = None

    def is_predicted(self, kernel: str) -> bool:
        """Whether nobody measured its speed of a kernel."""
        return isinstance(self.form.speeds[kernel], PredictedForm)

    def pe(self, name: str, node: str) -> PE:
        """One of them."""
        said = self.form
        quota = None if said.quota is None else said.quota.quota()
        gpu = None if self.gpu is None else replace(self.gpu, host=self.gpu.host.replace(NODE, node))
        rest = said.cpu, said.cores, said.cost, said.power, said.slice, self.resource, quota, gpu
        return PE(name, node, self.speeds, self.load, *rest)


@dataclass(frozen=True)
class _Entry:
    """An entry of `nodes`, whose nodes and PEs join those that there are."""

    form: NodeForm
    place: int
    site: Site
    measured: Measured
    parts: _Parts

    @property
    def here(self) -> Place:
        """Where it stands."""
        return "platform", "nodes", self.place

    def add(self) -> None:
        """Make the nodes with their PEs."""
        form, site, here, parts = self.form, self.site, self.here, self.parts
        with site.at(*here, "count" if form.count is not None else "name"):
            names = counted(form.name, form.count)
        with site.at(*here, "name"):
            for name in names:
                if name in parts.nodes:
                    raise ScenarioError(f"two nodes are called {name!r}; give each its own name")
        maker = None if form.link is None else form.link.maker(site, *here, "link")
        disk = None if form.disk is None else form.disk.disk()
        memory = form.known_memory(site, here=here)
        swap_bytes, swap_times = form.swap_space(site, here=here)
        known = replace(self.measured.memory.get(self.place, memory), now=memory.levels)
        kinds = self._kinds(known, nodes=len(names))
        shared = self._shared(kinds, names, known)
        levels = with_sharers(memory.levels, shared.domains)
        for name in names:
            host = None if form.host is None else form.host.replace(NODE, name)
            node = Node(name, form.memory, swap_bytes, disk, levels, host, swap_times, form.price, shared.uses)
            has_more = node != Node(name) or isinstance(form.domains, DomainsModelForm)
            parts.domains += [kind.of(name, len(parts.pes)) for kind in shared.domains]
            parts.nodes[name] = node if has_more else None
            if maker is not None:
                parts.makers[name] = maker
            self._add_pes(kinds, name)

    def _add_pes(self, kinds: Sequence[_Kind], node: str) -> None:
        for number, kind in enumerate(kinds):
            for name in (pattern.replace(NODE, node) for pattern in kind.names):
                if name in self.parts.pe_names:
                    with self.site.at(*self.here, "pes", number, "name"):
                        raise ScenarioError(f"two PEs are called {name}; give each its own name")
                self.parts.pe_names.add(name)
                self.parts.pes.append(kind.pe(name, node))

    def _kinds(self, known: KnownMemory, *, nodes: int) -> list[_Kind]:
        """The kinds of a node's PEs; those without a load of their own have the node's."""
        form, site, kinds, faults = self.form, self.site, list[_Kind](), self.site.faults()
        shared = None
        if form.load is not None:
            with faults.at(*self.here, "load"):
                shared = form.load.load(site, *self.here, "load")
        for number, pe in enumerate(form.pes):
            with faults.at(*self.here, "pes", number):
                kind = self._kind(pe, (*self.here, "pes", number), known)
                kinds.append(kind if pe.load is not None else replace(kind, load=shared))
        faults.tell()
        if self.place in self.measured.memory:
            kinds = [self._on_these_levels(kind, number, known) for number, kind in enumerate(kinds)]
        for number, kind in enumerate(kinds):
            with site.at(*self.here, "pes", number, "name"):
                if nodes > 1 and any(NODE not in name for name in kind.names):
                    raise ScenarioError(f"{kind.form.name!r} is one name for PEs of {nodes} nodes; write {NODE} in it")
        return kinds

    def _kind(self, pe: PEForm, here: Place, known: KnownMemory) -> _Kind:
        site, speeds, faults = self.site, dict[str, SpeedBand](), self.site.faults()
        with site.at(*here, "count" if pe.count is not None else "name"):
            names = counted(pe.name, pe.count)
        for kernel, said in pe.speeds.items():
            with faults.at(*here, "speeds", kernel):
                speeds[kernel] = self._speed(said, kernel, pe, known)
        load, resource = None, None
        if pe.load is not None:
            with faults.at(*here, "load"):
                load = pe.load.load(site, *here, "load")
        if isinstance(pe, ResourcePEForm):
            with faults.at(*here, "resource"):
                resource = pe.resource_model(site.named)
        gpu = None
        if isinstance(pe, GpuForm):
            with faults.at(*here):
                gpu = pe.gpu(site, *here)
        faults.tell()
        return _Kind(pe, names, speeds, load, resource, gpu)

    def _speed(self, said: Any, kernel: str, pe: PEForm, known: KnownMemory) -> SpeedBand:
        """A speed with what PEs share its doubt by: a model's file, or the entry that says it, by its first PE."""
        pes = pe.name.replace(NODE, self.form.name)
        if isinstance(said, PredictedForm):
            band, note = said.predicted.speed(known, kernel=kernel, pes=pes)
            self.parts.notes.append(note)
        else:
            found = SpeedBand.constant(said) if isinstance(said, float) else said.speed(self.site.named)
            band = self._within_memory(self._sliced(found, kernel, pes), kernel, pes, known.now)
        if not band.wide or band.source or (isinstance(said, BandForm) and said.source is not None):
            return band
        first = first_name(pe.name, pe.count).replace(NODE, first_name(self.form.name, self.form.count))
        return replace(band, source=said.model if isinstance(said, ModelForm) else plain_name(first))

    def _sliced(self, speed: SpeedBand | SpeedSurface, kernel: str, pes: str) -> SpeedBand:
        """The band at the application's columns; a note where nothing was measured on either side of them."""
        if isinstance(speed, SpeedBand):
            return speed
        columns, first, last = self.parts.columns, speed.columns[0], speed.columns[-1]
        if columns is None:
            raise ScenarioError(
                "these are speeds by columns, and the application has no n, its columns; give other speeds"
            )
        if not first <= columns <= last:
            nearest = first if columns < first else last
            said = f"measured on {nearest:g} columns, the application has {columns:g}: taken as they are there"
            self.parts.other_columns.setdefault((kernel, said), []).append(pes)
        return speed.at(columns)

    def _within_memory(self, band: SpeedBand, kernel: str, pes: str, levels: Levels) -> SpeedBand:
        """A band without the cut (0, 0) at the end of memory, where that is known and pages instead."""
        known = self.form.memory is not None or bool(levels and levels[-1].name == SWAP)
        if not known or band.mid[-1] > 0:
            return band
        said = f"constant beyond {band.sizes[-2]:g} elements: memory of the node stands for the speed 0 at its end"
        self.parts.notes.append(f"speed of {kernel} on {pes}: {said}")
        low, mid, high = band.low[:-1], band.mid[:-1], band.high[:-1]
        return replace(band, sizes=band.sizes[:-1], low=low, mid=mid, high=high, surface=None)

    def _on_these_levels(self, kind: _Kind, number: int, known: KnownMemory) -> _Kind:
        """Measured speeds taken to levels that the command line sets; what it sets as a speed stays."""
        document, parts, kernel = self.site.document, self.parts, self.measured.application.kernel
        band, at = kind.speeds.get(kernel), (*self.here, "pes", number, "speeds", kernel)
        if band is None or kind.is_predicted(kernel) or document.setting(at) is not None:
            return kind
        pes, use = kind.form.name.replace(NODE, self.form.name), use_of(self.measured.application)
        try:
            found = on_other_levels(band, known, use, node=self.form.name, pes=pes, kernel=kernel)
        except ScenarioError as error:
            set_by = ", --set ".join(document.settings_at((*self.here, "levels")))
            raise PlacedError([f"--set {set_by}: {line}" for line in error.lines]) from None
        if found is None:
            return kind
        found = replace(found, band=replace(found.band, source=band.source))
        parts.extrapolations.append(found)
        predicted = {name: speed for name, speed in kind.speeds.items() if kind.is_predicted(name)}
        others = [name for name in kind.speeds if name != kernel and name not in predicted]
        if others:
            parts.notes.append(f"speeds of {', '.join(others)} on {pes}: left out, measured on other levels")
        return replace(kind, speeds={**predicted, kernel: found.band})

    def _shared(self, kinds: Sequence[_Kind], names: Sequence[str], known: KnownMemory) -> Sharing:
        """What its PEs share, and what kernels use of it, the application's also by what the memory model says."""
        cores = [kind.form.cores for kind in kinds for _ in kind.names]
        pes = PEsOf([name for kind in kinds for name in kind.names], cores, names)
        shared = sharing(self.form.domains, self.form.uses, pes, self.site, here=self.here, levels=known.now)
        kernel = self.measured.application.kernel
        band = next((kind.speeds[kernel] for kind in kinds if kernel in kind.speeds), None)
        derived = {} if kernel in shared.uses else uses_of_model(known, self.measured.application, band)
        self.parts.notes += shared.notes
        for taken in derived.values():
            lost = f"what it loses where {', '.join(taken.demands)} is shared"
            said = "what its memory model says, not measured with neighbours"
            self.parts.notes.append(f"{kernel} on {self.form.name}: {lost}: {said}")
        if shared.domains:
            self.parts.notes += self._slowed_twice()
        return replace(shared, uses=derived | shared.uses)

    def _slowed_twice(self) -> list[str]:
        """A line for each kernel whose speed was measured with the neighbours that domains describe."""
        speeds = [(kernel, speed) for pe in self.form.pes for kernel, speed in pe.speeds.items()]
        found = {kernel: speed.model for kernel, speed in speeds if isinstance(speed, ModelForm)}
        return [
            f"speed of {kernel} on {self.form.name}: {model} was measured on all cores at once and the node has "
            "domains, so neighbours count twice; measure it without --together"
            for kernel, model in found.items()
            if model in self.site.named.together
        ]
