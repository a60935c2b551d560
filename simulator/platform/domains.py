"""Sharing domains (cores, caches, memory channels, clocks) and who uses them: what a file says, and what is written."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from pydantic import ConfigDict, Field, TypeAdapter

from simulator.base.documents import Data
from simulator.base.errors import ScenarioError, meant
from simulator.base.faults import Faults
from simulator.base.form import FileName, Form, Taken, TakenRate
from simulator.base.names import expanded, in_few
from simulator.base.units import write_bandwidth
from simulator.models.doubt import Doubt, doubt_data
from simulator.models.neighbours import Bandwidth, KernelUses, Kind, Law, ShareTable, SharingDomain
from simulator.models.neighbours_forms import (
    AnyDomainForm,
    CacheDomainForm,
    KernelUsesForm,
    Levels,
    law_data,
    taken,
)
from simulator.platform.named_files import Site

if TYPE_CHECKING:
    from simulator.models.neighbours_file import NeighboursModel

NODE = "{node}"
Place = tuple[str | int, ...]


class DomainsModelForm(Form):
    """Domains that were measured, and what kernels use of them."""

    model: FileName
    """The file, which `apportion calibrate neighbours` wrote."""


class LoadDemandsForm(Form):
    """What a load of 1 takes of memory and of caches, these by their levels' names."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, Taken]

    memory: TakenRate = Field(default=0.0, json_schema_extra={"default": "0 B/s"})
    """Of memory, such as `5GB/s`."""

    def demands(self) -> dict[str, float]:
        """What a load of 1 takes of each level."""
        entries = {"memory": self.memory, **(self.__pydantic_extra__ or {})}
        return {level: float(value) for level, value in entries.items() if value}


def domains_of(model: "NeighboursModel") -> list[Data]:
    """The domains of a model of neighbours as a node's entry says them, PEs by their places."""
    return [
        doubt_data(model.doubt) | dict(entry) | ({"pes": list(places)} if "pes" in entry else {})
        for entry, places in zip(model.domains, model.places, strict=True)
    ]


def uses_of(model: "NeighboursModel") -> dict[str, KernelUses]:
    """What kernels take of the levels of a model's domains, also where that is nothing."""
    levels, found = {domain.level for domain in model.sharing if not isinstance(domain.law, ShareTable)}, {}
    for kernel, uses in model.kernel_uses.items():
        nothing = {level: np.zeros(uses.sizes.size) for level in sorted(levels - set(uses.demands))}
        found[kernel] = KernelUses(uses.sizes, {**uses.demands, **nothing}, {**uses.sensitivities, **nothing})
    return found


@dataclass(frozen=True)
class DomainKind:
    """A domain of each of some alike nodes."""

    kind: Kind
    name: str
    level: str
    members: tuple[int, ...]
    """Places among the node's PEs, ascending."""
    law: Law
    doubt: Doubt | None = None

    def of(self, node: str, first: int) -> SharingDomain:
        """That of one node, whose first PE has a place in the platform."""
        pes = tuple(first + place for place in self.members)
        return SharingDomain(self.kind, self.name.replace(NODE, node), self.level, pes, self.law, self.doubt)


@dataclass(frozen=True)
class PEsOf:
    """The PEs of a node's entry."""

    names: Sequence[str]
    """In their order, with `{node}` in them where the file writes it."""
    cores: Sequence[int]
    nodes: Sequence[str]
    """The names of the nodes that the entry makes."""

    @property
    def node(self) -> str:
        """A node's name to tell of."""
        return self.nodes[0] if self.nodes else NODE


@dataclass(frozen=True)
class Sharing:
    """What the PEs of a node's entry share."""

    domains: tuple[DomainKind, ...]
    uses: dict[str, KernelUses]
    notes: tuple[str, ...] = ()


def sharing(
    domains: Sequence[AnyDomainForm] | DomainsModelForm,
    uses: Mapping[str, KernelUsesForm],
    pes: PEsOf,
    site: Site,
    *,
    here: Place,
    levels: Levels,
) -> Sharing:
    """What a node's PEs share, and what kernels use of it: of a model, unless the file says it itself."""
    faults, notes, found = site.faults(), tuple[str, ...](), dict[str, KernelUses]()
    if isinstance(domains, DomainsModelForm):
        with site.at(*here, "domains"):
            model = site.named.neighbours(domains.model)
        notes = tuple(f"{domains.model}: {line}" for line in unlike_pes(model.pe_count, sum(pes.cores)))
        domains, found = TypeAdapter(list[AnyDomainForm]).validate_python(domains_of(model)), uses_of(model)
    shared = _domain_kinds(domains, pes, levels, here=(*here, "domains"), faults=faults)
    for kernel, use in uses.items():
        with faults.at(*here, "uses", kernel):
            found[kernel] = use.uses()
            _check_lone(found[kernel], [law for one in shared if isinstance(law := one.law, Bandwidth)], use.sizes)
    faults.tell()
    return Sharing(tuple(shared), found, notes)


def _check_lone(uses: KernelUses, laws: Sequence[Bandwidth], sizes: Sequence[float] | None) -> None:
    """Refuse a demand that no PE can have by itself; one fitted over sizes may be up to twice what a stream gets."""
    most = float(uses.demands["memory"].max()) if "memory" in uses.demands else 0.0
    lone = min((law.lone for law in laws if law.lone is not None), default=most)
    if most > (1.0 if sizes is None else 2.0) * lone * (1 + 1e-9):
        wrong = f"demand: {write_bandwidth(most)} is more than the {write_bandwidth(lone)} that one PE gets alone"
        raise ScenarioError(f"memory: {wrong}; lower it, or raise lone")


def unlike_pes(measured: int, cores: int | None) -> tuple[str, ...]:
    """A line where a model was measured on fewer or more PEs than a node has."""
    known = cores is not None and measured != cores
    return (f"neighbours were measured on {measured} PEs, and the node has {cores}",) if known else ()


def with_sharers(levels: Levels, shared: Sequence[DomainKind]) -> Levels:
    """Levels, those not shared by the whole node of which domains say who shares them."""
    said = {kind.level for kind in shared if kind.kind == "cache"}
    return tuple(replace(level, shared=level.shared and level.name not in said) for level in levels)


def _domain_kinds(
    forms: Sequence[AnyDomainForm], pes: PEsOf, levels: Levels, *, here: Place, faults: Faults
) -> list[DomainKind]:
    """The domains of a node's entry; what is wrong is noted."""
    found: list[tuple[AnyDomainForm, tuple[int, ...], Law, Doubt | None]] = []
    taken: dict[tuple[int, str], int] = {}
    for number, form in enumerate(forms):
        with faults.at(*here, number):
            law, doubt = form.law(levels), None if form.doubt is None else form.doubt.doubt()
            for members in _members(form, pes):
                _check_not_twice(form, members, number, pes, taken)
                found.append((form, members, law, doubt))
    labels = [form.name or form.level_name for form, *_ in found]
    times, seen, kinds = Counter(labels), Counter[str](), []
    for (form, members, law, doubt), label in zip(found, labels, strict=True):
        seen[label] += 1
        name = f"{label} {seen[label]}" if times[label] > 1 else label
        name = name if NODE in name else f"{name} of {NODE}"
        kinds.append(DomainKind(form.kind, name, form.level_name, members, law, doubt))
    for name, times_named in Counter(kind.name for kind in kinds).items():
        if times_named > 1:
            with faults.at(*here):
                raise ScenarioError(f"two domains are called {name.replace(NODE, pes.node)!r}; give each its own name")
    return kinds


def _members(form: AnyDomainForm, pes: PEsOf) -> Iterator[tuple[int, ...]]:
    """The PEs of each domain that one entry makes."""
    if form.pes is not None:
        yield _named(form.pes, pes)
    elif form.each is None:
        yield tuple(range(len(pes.names)))
    else:
        ends = np.cumsum(pes.cores)
        first = (ends - np.array(pes.cores)) // form.each
        split = np.flatnonzero(first != (ends - 1) // form.each)
        if split.size:
            pe = int(split[0])
            shown, cores = pes.names[pe].replace(NODE, pes.node), pes.cores[pe]
            wrong = f"each: {form.each} splits the {cores} cores of PE {shown} between domains"
            raise ScenarioError(f"{wrong}: write them as PEs of one core each, or a number that keeps them together")
        for group in range(int(first[-1]) + 1):
            yield tuple(np.flatnonzero(first == group).tolist())


def _named(wanted: str | Sequence[str | int], pes: PEsOf) -> tuple[int, ...]:
    """The places of PEs that are named or numbered, each once."""
    written = [wanted] if isinstance(wanted, str) else list(wanted)
    for name in written:
        if len(pes.nodes) > 1 and isinstance(name, str) and NODE not in name:
            raise ScenarioError(f"pes: {name!r} is one name for PEs of {len(pes.nodes)} nodes; write {NODE} in it")
    names = [name.replace(NODE, pes.node) for name in pes.names]
    places = {name: place for place, name in enumerate(names)}
    found: list[int] = []
    for name in _each_name(written, names, pes.node):
        if name not in places:
            wrong = f"pes: {name!r} is no PE of node {pes.node}, and a domain lies within one node; name its PEs"
            raise ScenarioError(f"{wrong}{meant(name, places)}")
        if places[name] in found:
            raise ScenarioError(f"pes: {name!r} comes twice; name each PE once")
        found.append(places[name])
    return tuple(sorted(found))


def _each_name(written: Sequence[str | int], names: Sequence[str], node: str) -> Iterator[str]:
    for entry in written:
        if isinstance(entry, str):
            yield from expanded(entry.replace(NODE, node))
        elif entry < len(names):
            yield names[entry]
        else:
            raise ScenarioError(f"pes: there is no place {entry}; give 0 to {len(names) - 1}")


def _check_not_twice(
    form: AnyDomainForm, members: Sequence[int], number: int, pes: PEsOf, taken: dict[tuple[int, str], int]
) -> None:
    """Refuse a PE in two domains of a kind, of one level for caches."""
    level = form.level_name
    for place in members:
        other = taken.setdefault((place, level), number)
        if other != number:
            what = f"caches {level}" if isinstance(form, CacheDomainForm) else f"domains of kind {level}"
            who = pes.names[place].replace(NODE, pes.node)
            raise ScenarioError(f"PE {who} is in two {what}, this one and domains.{other}: leave it out of one of them")


def domain_data(domain: SharingDomain, node: str, names: Sequence[str]) -> Data:
    """A domain with `{node}` in place of its node's name, as it is read back."""
    name = domain.name.replace(node, NODE)
    if NODE not in name:
        found = f"platform: the name of domain {domain.name!r} lacks that of its node"
        raise ScenarioError(f"{found}; write {node} in it")
    data: Data = {"kind": domain.kind, "name": name}
    if domain.kind == "cache":
        data["level"] = domain.level
    data["pes"] = [written.replace(node, NODE) for written in in_few(names)]
    return data | law_data(domain.law) | doubt_data(domain.doubt)


def demands_data(demands: Mapping[str, float]) -> Data:
    """What a load of 1 takes."""
    return {level: taken(level, value) for level, value in demands.items()}
