"""From what a scenario file says of sharing domains and uses to those of a platform."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from simulator.base.errors import ScenarioError, meant, some_names
from simulator.models.doubt import Doubt
from simulator.models.memory.levels import MemoryLevel
from simulator.models.neighbours import KINDS, Bandwidth, KernelUses, Kind, Law, Occupancy, ShareTable, SharingDomain
from simulator.scenario_file.domain_forms import (
    AnyDomainForm,
    CacheDomainForm,
    DomainsModelForm,
    KernelUsesForm,
    LoadDemandsForm,
    MemoryDomainForm,
    NeighboursForm,
)
from simulator.scenario_file.faults import Faults
from simulator.scenario_file.named_files import NamedFiles
from simulator.scenario_file.names import expanded
from simulator.scenario_file.node_forms import NodeForm
from simulator.scenario_file.yaml_text import Document

NODE = "{node}"
Place = tuple[str | int, ...]
Levels = tuple[MemoryLevel, ...]


@dataclass(frozen=True)
class DomainKind:
    """A domain of each of some alike nodes."""

    kind: Kind
    name: str
    """With `{node}` in it."""
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
    """By kernel."""
    notes: tuple[str, ...] = ()
    """What is to be known of it."""


def sharing(
    form: NodeForm, pes: PEsOf, document: Document, named: NamedFiles, *, here: Place, levels: Levels
) -> Sharing:
    """What a node's PEs share, and what kernels use of it: of a model, unless the file says it itself.

    Parameters
    ----------
    here
        Where the node's entry stands.
    levels
        Of the node: a cache without a capacity has that of its level.

    Raises
    ------
    ScenarioError
        With all that is wrong with it.
    """
    faults, domains, told, notes = Faults(document), form.domains, form.uses, tuple[str, ...]()
    if isinstance(domains, DomainsModelForm):
        with document.at(*here, "domains"):
            measured = named.neighbours(domains.model)
        notes = unlike_pes(measured, sum(pes.cores), domains.model)
        domains, told = measured.domains, {**measured.uses, **told}
    shared = _domain_kinds(domains, pes, levels, here=(*here, "domains"), faults=faults)
    uses = {}
    for kernel, use in told.items():
        with faults.at(*here, "uses", kernel):
            uses[kernel] = kernel_uses(use)
    faults.tell()
    return Sharing(tuple(shared), uses, notes)


def unlike_pes(measured: NeighboursForm, cores: int | None, source: str) -> tuple[str, ...]:
    """A line where a model was measured on fewer or more PEs than a node has."""
    if measured.pe_count is None or cores is None or measured.pe_count == cores:
        return ()
    return (f"{source}: neighbours were measured on {measured.pe_count} PEs, and the node has {cores}",)


def told_by_domains(levels: Levels, shared: Sequence[DomainKind]) -> Levels:
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
            law, doubt = _law(form, levels), None if form.doubt is None else form.doubt.doubt()
            for members in _members(form, pes):
                _check_not_twice(form, members, number, pes, taken)
                found.append((form, members, law, doubt))
    labels = [_label(form) for form, *_ in found]
    times, seen, kinds = Counter(labels), Counter[str](), []
    for (form, members, law, doubt), label in zip(found, labels, strict=True):
        seen[label] += 1
        name = f"{label} {seen[label]}" if times[label] > 1 else label
        name = name if NODE in name else f"{name} of {NODE}"
        kinds.append(DomainKind(form.kind, name, _level(form), members, law, doubt))
    for name, times_named in Counter(kind.name for kind in kinds).items():
        if times_named > 1:
            with faults.at(*here):
                raise ScenarioError(f"{name.replace(NODE, pes.node)!r} named twice found, each name once allowed")
    return kinds


def _label(form: AnyDomainForm) -> str:
    return form.name or _level(form)


def _level(form: AnyDomainForm) -> str:
    return form.level if isinstance(form, CacheDomainForm) else form.kind


def _law(form: AnyDomainForm, levels: Levels) -> Law:
    if isinstance(form, MemoryDomainForm):
        return Bandwidth(form.capacity, form.softness, form.lone)
    if not isinstance(form, CacheDomainForm):
        return ShareTable(tuple(form.shares))
    if form.level in KINDS:
        raise ScenarioError(f"level: {form.level!r} found, the name of a cache such as L3 allowed")
    if form.capacity is not None:
        return Occupancy(form.capacity)
    for level in levels[:-1]:
        if level.name == form.level:
            return Occupancy(level.capacity_bytes)
    names = [level.name for level in levels[:-1]]
    has = f"levels {some_names(names)}" if names else "no levels with a capacity"
    told = f"none found, and the node has {has}: write the capacity of {form.level}, such as 32MiB"
    raise ScenarioError(f"capacity: {told}{meant(form.level, names)}")


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
            told = f"each: {form.each} splits the {cores} cores of PE {shown} between domains"
            raise ScenarioError(f"{told}: write them as PEs of one core each, or a number that keeps them together")
        for group in range(int(first[-1]) + 1):
            yield tuple(np.flatnonzero(first == group).tolist())


def _named(wanted: str | Sequence[str | int], pes: PEsOf) -> tuple[int, ...]:
    """The places of PEs that are named or numbered, each once."""
    written = [wanted] if isinstance(wanted, str) else list(wanted)
    for name in written:
        if len(pes.nodes) > 1 and isinstance(name, str) and NODE not in name:
            raise ScenarioError(
                f"pes: {name!r} found for PEs of {len(pes.nodes)} nodes, a name with {NODE} in it allowed"
            )
    names = [name.replace(NODE, pes.node) for name in pes.names]
    places = {name: place for place, name in enumerate(names)}
    found: list[int] = []
    for name in _each_name(written, names, pes.node):
        if name not in places:
            told = f"pes: {name!r} found, PEs of node {pes.node} alone allowed: a domain lies within one node"
            raise ScenarioError(f"{told}{meant(name, places)}")
        if places[name] in found:
            raise ScenarioError(f"pes: {name!r} named twice found, each once allowed")
        found.append(places[name])
    return tuple(sorted(found))


def _each_name(written: Sequence[str | int], names: Sequence[str], node: str) -> Iterator[str]:
    for one in written:
        if isinstance(one, str):
            yield from expanded(one.replace(NODE, node))
        elif one < len(names):
            yield names[one]
        else:
            raise ScenarioError(f"pes: place {one} found, 0 to {len(names) - 1} allowed")


def _check_not_twice(
    form: AnyDomainForm, members: Sequence[int], number: int, pes: PEsOf, taken: dict[tuple[int, str], int]
) -> None:
    """Refuse a PE in two domains of a kind, of one level for caches."""
    level = _level(form)
    for place in members:
        other = taken.setdefault((place, level), number)
        if other != number:
            what = f"caches {level}" if isinstance(form, CacheDomainForm) else f"domains of kind {level}"
            who = pes.names[place].replace(NODE, pes.node)
            raise ScenarioError(f"PE {who} is in two {what}, this one and domains.{other}: leave it out of one of them")


def kernel_uses(form: KernelUsesForm) -> KernelUses:
    """What a kernel uses, over sizes or the same at each.

    Raises
    ------
    ScenarioError
        If lists are not as long as sizes, or these do not ascend.
    """
    sizes = [1.0] if form.sizes is None else form.sizes
    if any(after <= before for before, after in pairwise(sizes)):
        raise ScenarioError("sizes: ascending sizes allowed")
    told = {**({} if form.memory is None else {"memory": form.memory}), **(form.__pydantic_extra__ or {})}
    columns: dict[str, list[Any]] = {"demand": [], "sensitivity": []}
    for level, use in told.items():
        if level in KINDS and level != "memory":
            raise ScenarioError(f"{level}: memory or the name of a cache allowed: of a {level} every PE uses all")
        for name, column in columns.items():
            value = getattr(use, name)
            if isinstance(value, list) and len(value) != len(sizes):
                counted = f"{len(value)} values for {len(sizes)} sizes" if form.sizes else "a list without sizes"
                raise ScenarioError(f"{level}: {name}: {counted} found, one value for each of sizes allowed")
            column.append(np.array(value if isinstance(value, list) else [value] * len(sizes), dtype=np.float64))
    demands, sensitivities = (dict(zip(told, column, strict=True)) for column in columns.values())
    return KernelUses(np.array(sizes, dtype=np.float64), demands, sensitivities)


def load_demands(form: LoadDemandsForm | None) -> dict[str, float]:
    """What a load of 1 takes of each level."""
    if form is None:
        return {}
    told = {"memory": form.memory, **(form.__pydantic_extra__ or {})}
    return {level: float(value) for level, value in told.items() if value}
