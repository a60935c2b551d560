"""Sharing domains (cores, caches, memory channels, clocks) and who uses them: what a file says, and what is written."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from pydantic import ConfigDict, Discriminator, Field, Tag, TypeAdapter, model_validator

from simulator.base.documents import Data
from simulator.base.errors import ScenarioError, meant, some_names
from simulator.base.faults import Faults
from simulator.base.form import Amount, FileName, Form, Name, Taken, TakenRate, text_or_list
from simulator.base.form import Bandwidth as BandwidthField
from simulator.base.names import MAX_NAMES, expanded, in_few
from simulator.base.units import write_bandwidth, write_size
from simulator.models.doubt import Doubt, doubt_data
from simulator.models.memory.levels import MemoryLevel
from simulator.models.neighbours import (
    KINDS,
    MOST_SOFTNESS,
    Bandwidth,
    KernelUses,
    Kind,
    Law,
    Occupancy,
    ShareTable,
    SharingDomain,
)
from simulator.platform.doubt_forms import DoubtForm
from simulator.platform.named_files import Site

if TYPE_CHECKING:
    from simulator.models.neighbours_file import NeighboursModel

NODE = "{node}"
Place = tuple[str | int, ...]
Levels = tuple[MemoryLevel, ...]


_Share = Annotated[float, Field(ge=0, le=1)]
_Growth = Annotated[float, Field(ge=0)]
_OneOrList = Discriminator(lambda value: "<list>" if isinstance(value, list) else "<one>")
_PE = Annotated[
    Annotated[int, Field(ge=0, lt=MAX_NAMES), Tag("<place>")] | Annotated[str, Tag("<name>")],
    Discriminator(lambda value: "<place>" if isinstance(value, int) else "<name>"),
]


class DomainForm(Form):
    """What some PEs of a node share; all of them, if neither `each` nor `pes` is said."""

    model_config = ConfigDict(json_schema_extra={"not": {"required": ["each", "pes"]}})

    name: Name | None = None
    """What results call it, with the node's name after it, and numbers where `each` makes several; by default its kind
    or its cache's level: `memory 2 of node1`. `{node}` stands for the node's name, which then does not follow."""
    each: Annotated[int, Field(ge=1, le=MAX_NAMES)] | None = None
    """So many cores in the order of the node's PEs make one domain, the next so many another; the last one has what is
    left. A PE counts with its `cores`."""
    pes: (
        Annotated[
            Annotated[list[_PE], Field(min_length=1), Tag("<list>")] | Annotated[str, Tag("<text>")],
            Discriminator(text_or_list),
        ]
        | None
    ) = None
    """In place of `each`: the names of the PEs, all of this node, ranges and `{node}` as in their names; or their
    places among the node's PEs, from 0."""
    doubt: DoubtForm | None = None
    """What is not known of what neighbours cost there: of the time lost, over what the domain says."""

    @property
    def level_name(self) -> str:
        """What uses call it."""
        kind: str = getattr(self, "kind")  # noqa: B009 - each kind has its own
        return kind

    def law(self, levels: Levels) -> Law:
        """What those inside keep of their speeds, on a node with these levels."""
        raise NotImplementedError

    @model_validator(mode="after")
    def _whose_one_way(self) -> "DomainForm":
        if self.each is not None and self.pes is not None:
            raise ValueError("give each or pes, not both")
        return self


class MemoryDomainForm(DomainForm):
    """A memory channel, or all channels of a NUMA node."""

    kind: Literal["memory"]
    """`memory`."""
    capacity: BandwidthField
    """What it delivers to all together, such as `80GB/s`."""
    lone: BandwidthField | None = None
    """What one PE gets of it at most; the capacity if not said."""
    softness: Annotated[float, Field(gt=0, le=MOST_SOFTNESS)] = 4.0
    """How early queues form: a large one, only where more is asked for than it delivers; a small one, before."""

    def law(self, levels: Levels) -> Law:  # noqa: ARG002 - no cache
        """A bandwidth that all share."""
        return Bandwidth(self.capacity, self.softness, self.lone)


class CacheDomainForm(DomainForm):
    """A cache that several PEs share; where it does, the level's `shared` is not looked at."""

    kind: Literal["cache"]
    """`cache`."""
    level: Name
    """Such as `L3`: uses name it so, and so may one of the node's `levels`."""
    capacity: Amount | None = None
    """Bytes, such as `32MiB`; by default what the node's level of this name has."""

    @property
    def level_name(self) -> str:
        """The cache's."""
        return self.level

    def law(self, levels: Levels) -> Law:
        """Bytes that all share."""
        if self.level in KINDS:
            raise ScenarioError(f"level: {self.level!r} is a kind of domain; give the name of a cache, such as L3")
        named = {level.name: level.capacity_bytes for level in levels[:-1]}
        capacity = named.get(self.level) if self.capacity is None else self.capacity
        if capacity is not None:
            return Occupancy(capacity)
        has = f"levels {some_names(list(named))}" if named else "no levels with a capacity"
        wrong = f"it is missing, and the node has {has}; write the capacity of {self.level}, such as 32MiB"
        raise ScenarioError(f"capacity: {wrong}{meant(self.level, named)}")


class ClockDomainForm(DomainForm):
    """PEs with one clock, or one budget of power."""

    kind: Literal["clock"]
    """`clock`."""
    shares: list[float] = Field(min_length=1, max_length=MAX_NAMES)
    """What each keeps of its lone speed when one computes (1), two, three and so on; the last holds for more."""

    def law(self, levels: Levels) -> Law:  # noqa: ARG002 - no cache
        """A share for each number of those that compute."""
        return ShareTable(tuple(self.shares))


class CoreDomainForm(ClockDomainForm):
    """Hardware threads of one core, where they are PEs of their own."""

    kind: Literal["core"]  # type: ignore[assignment]
    """`core`."""


AnyDomainForm = Annotated[
    MemoryDomainForm | CacheDomainForm | ClockDomainForm | CoreDomainForm, Field(discriminator="kind")
]
_ENTRIES = TypeAdapter(list[AnyDomainForm])
DOMAIN_FORMS: tuple[type[DomainForm], ...] = (MemoryDomainForm, CacheDomainForm, ClockDomainForm, CoreDomainForm)
"""Kinds of domains, in the order of the reference."""


class DomainsModelForm(Form):
    """Domains that were measured, and what kernels use of them."""

    model: FileName
    """The file, which `apportion calibrate neighbours` wrote."""


class MemoryDemandForm(Form):
    """What a kernel takes of memory where it runs alone, and how much of its time hangs on it."""

    demand: Annotated[
        Annotated[TakenRate, Tag("<one>")] | Annotated[list[TakenRate], Tag("<list>")],
        _OneOrList,
    ]
    """Such as `12GB/s`; a list with `sizes`."""
    sensitivity: Annotated[Annotated[_Share, Tag("<one>")] | Annotated[list[_Share], Tag("<list>")], _OneOrList] = 1.0
    """The part of its time that it waits for memory, 0 to 1; a list with `sizes`."""


class CacheDemandForm(Form):
    """What a kernel would hold of a cache where it runs alone, and how much of its time hangs on it."""

    demand: Annotated[Annotated[Taken, Tag("<one>")] | Annotated[list[Taken], Tag("<list>")], _OneOrList]
    """Such as `20MiB`; a list with `sizes`."""
    sensitivity: Annotated[Annotated[_Growth, Tag("<one>")] | Annotated[list[_Growth], Tag("<list>")], _OneOrList]
    """What its time grows by, as a share of it, if it had nothing of the cache; a list with `sizes`."""


class KernelUsesForm(Form):
    """What a kernel takes of memory and of caches, these by their levels' names."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, CacheDemandForm]

    sizes: list[Annotated[float, Field(gt=0)]] | None = Field(default=None, min_length=1)
    """Elements stored and processed, ascending, where demands and sensitivities are lists; straight lines over the
    logarithm between them, constant beyond the ends."""
    memory: MemoryDemandForm | None = None
    """`{demand, [sensitivity]}` of memory."""

    def uses(self) -> KernelUses:
        """What it uses, over sizes or the same at each."""
        sizes = [1.0] if self.sizes is None else self.sizes
        if any(after <= before for before, after in pairwise(sizes)):
            raise ScenarioError("sizes: they do not ascend; sort them")
        entries = {**({} if self.memory is None else {"memory": self.memory}), **(self.__pydantic_extra__ or {})}
        columns: dict[str, list[Any]] = {"demand": [], "sensitivity": []}
        for level, use in entries.items():
            if level in KINDS and level != "memory":
                raise ScenarioError(f"{level}: of a {level} every PE uses all; name memory or a cache")
            for name, column in columns.items():
                value = getattr(use, name)
                if isinstance(value, list) and len(value) != len(sizes):
                    counted = (
                        f"it has {len(value)} values for {len(sizes)} sizes"
                        if self.sizes
                        else "it is a list without sizes"
                    )
                    raise ScenarioError(f"{level}: {name}: {counted}; write one value for each of sizes")
                column.append(np.array(value if isinstance(value, list) else [value] * len(sizes), dtype=np.float64))
        demands, sensitivities = (dict(zip(entries, column, strict=True)) for column in columns.values())
        return KernelUses(np.array(sizes, dtype=np.float64), demands, sensitivities)


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
        doubt_data(model.doubt) | entry.to_dict() | ({"pes": list(places)} if entry.pes else {})
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
    """What a node's PEs share, and what kernels use of it: of a model, unless the file says it itself.

    `domains`, `uses`: as the node's entry says them.
    `levels`: of the node: a cache without a capacity has that of its level.
    """
    faults, notes, found = site.faults(), tuple[str, ...](), dict[str, KernelUses]()
    if isinstance(domains, DomainsModelForm):
        with site.at(*here, "domains"):
            model = site.named.neighbours(domains.model)
        notes = tuple(f"{domains.model}: {line}" for line in unlike_pes(model.pe_count, sum(pes.cores)))
        domains, found = _ENTRIES.validate_python(domains_of(model)), uses_of(model)
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
    return data | _law_data(domain) | doubt_data(domain.doubt)


def _law_data(domain: SharingDomain) -> Data:
    law = domain.law
    if isinstance(law, Bandwidth):
        lone = {} if law.lone is None else {"lone": write_bandwidth(law.lone)}
        return {"capacity": write_bandwidth(law.capacity), **lone, "softness": law.softness}
    if isinstance(law, Occupancy):
        return {"capacity": write_size(law.capacity)}
    return {"shares": list(law.shares)}


def uses_data(uses: Mapping[str, KernelUses]) -> Data:
    """What kernels use: numbers, or lists with sizes."""
    return {kernel: _kernel_data(used) for kernel, used in uses.items()}


def _kernel_data(uses: KernelUses) -> Data:
    is_constant = uses.sizes.size == 1 and uses.sizes[0] == 1
    data: Data = {} if is_constant else {"sizes": uses.sizes.tolist()}
    for level in uses.demands:
        demands = [_taken(level, value) for value in uses.demands[level].tolist()]
        felt = uses.sensitivities[level].tolist()
        data[level] = {
            "demand": demands[0] if is_constant else demands,
            "sensitivity": felt[0] if is_constant else felt,
        }
    return data


def demands_data(demands: Mapping[str, float]) -> Data:
    """What a load of 1 takes."""
    return {level: _taken(level, value) for level, value in demands.items()}


def _taken(level: str, value: float) -> str:
    return write_bandwidth(value) if level == "memory" else write_size(value)
