"""Sharing domains and what kernels use of them as files say them: forms to read, and data to write."""

from collections.abc import Mapping
from itertools import pairwise
from typing import Annotated, Any, Literal, TypeVar

import numpy as np
from pydantic import ConfigDict, Discriminator, Field, Tag, TypeAdapter, ValidationError, model_validator

from simulator.base.documents import Data, FormError
from simulator.base.errors import ScenarioError, meant, some_names
from simulator.base.form import Amount, Form, Name, Taken, TakenRate, text_or_list
from simulator.base.form import Bandwidth as BandwidthField
from simulator.base.names import MAX_NAMES
from simulator.base.units import write_bandwidth, write_size
from simulator.models.doubt_forms import DoubtForm
from simulator.models.memory.levels import MemoryLevel
from simulator.models.neighbours import (
    KINDS,
    MOST_SOFTNESS,
    Bandwidth,
    KernelUses,
    Law,
    Occupancy,
    ShareTable,
)

Levels = tuple[MemoryLevel, ...]
F = TypeVar("F")
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
DOMAIN_FORMS: tuple[type[DomainForm], ...] = (MemoryDomainForm, CacheDomainForm, ClockDomainForm, CoreDomainForm)
"""Kinds of domains, in the order of the reference."""


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


def law_data(law: Law) -> Data:
    """What an entry says of its law."""
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
        demands = [taken(level, value) for value in uses.demands[level].tolist()]
        felt = uses.sensitivities[level].tolist()
        data[level] = {
            "demand": demands[0] if is_constant else demands,
            "sensitivity": felt[0] if is_constant else felt,
        }
    return data


def taken(level: str, value: float) -> str:
    """A demand in words."""
    return write_bandwidth(value) if level == "memory" else write_size(value)


def understood(kind: TypeAdapter[F], said: object) -> F:
    """What a model's file says, in a form."""
    try:
        return kind.validate_python(said)
    except ValidationError as error:
        raise FormError((tuple(map(str, fault["loc"][-1:])), str(fault["msg"])) for fault in error.errors()) from None
