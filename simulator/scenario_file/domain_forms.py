"""What a scenario file may say of what PEs share (cores, caches, memory channels, clocks) and of who uses it."""

from typing import Annotated, Literal

from pydantic import ConfigDict, Discriminator, Field, Tag, model_validator

from simulator.models.neighbours import MOST_SOFTNESS, Kind
from simulator.scenario_file.doubt_forms import DoubtForm
from simulator.scenario_file.form import Amount, Bandwidth, FileName, Form, Name, Taken, TakenRate
from simulator.scenario_file.names import MAX_NAMES
from simulator.scenario_file.network_forms import text_or_list


def _one_or_list(value: object) -> str:
    return "<list>" if isinstance(value, list) else "<one>"


_Share = Annotated[float, Field(ge=0, le=1)]
_Growth = Annotated[float, Field(ge=0)]
_OneOrList = Discriminator(_one_or_list)
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

    @model_validator(mode="after")
    def _whose_one_way(self) -> "DomainForm":
        if self.each is not None and self.pes is not None:
            raise ValueError("either each or pes allowed")
        return self


class MemoryDomainForm(DomainForm):
    """A memory channel, or all channels of a NUMA node."""

    kind: Literal["memory"]
    """`memory`."""
    capacity: Bandwidth
    """What it delivers to all together, such as `80GB/s`."""
    lone: Bandwidth | None = None
    """What one PE gets of it at most; the capacity if not said."""
    softness: Annotated[float, Field(gt=0, le=MOST_SOFTNESS)] = 4.0
    """How early queues form: a large one, only where more is asked for than it delivers; a small one, before."""


class CacheDomainForm(DomainForm):
    """A cache that several PEs share; where it does, the level's `shared` is not looked at."""

    kind: Literal["cache"]
    """`cache`."""
    level: Name
    """Such as `L3`: uses name it so, and so may one of the node's `levels`."""
    capacity: Amount | None = None
    """Bytes, such as `32MiB`; by default what the node's level of this name has."""


class ClockDomainForm(DomainForm):
    """PEs with one clock, or one budget of power."""

    kind: Literal["clock"]
    """`clock`."""
    shares: list[float] = Field(min_length=1, max_length=MAX_NAMES)
    """What each keeps of its lone speed when one computes (1), two, three and so on; the last holds for more."""


class CoreDomainForm(DomainForm):
    """Hardware threads of one core, where they are PEs of their own."""

    kind: Literal["core"]
    """`core`."""
    shares: list[float] = Field(min_length=1, max_length=MAX_NAMES)
    """What each keeps of its lone speed when one computes (1), two, three and so on; the last holds for more."""


AnyDomainForm = Annotated[
    MemoryDomainForm | CacheDomainForm | ClockDomainForm | CoreDomainForm, Field(discriminator="kind")
]
DOMAIN_FORMS: dict[Kind, type[DomainForm]] = {
    "memory": MemoryDomainForm,
    "cache": CacheDomainForm,
    "clock": ClockDomainForm,
    "core": CoreDomainForm,
}


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
    """Such as `12GB/s`; a list beside `sizes`."""
    sensitivity: Annotated[Annotated[_Share, Tag("<one>")] | Annotated[list[_Share], Tag("<list>")], _OneOrList] = 1.0
    """The part of its time that it waits for memory, 0 to 1; a list beside `sizes`."""


class CacheDemandForm(Form):
    """What a kernel would hold of a cache where it runs alone, and how much of its time hangs on it."""

    demand: Annotated[Annotated[Taken, Tag("<one>")] | Annotated[list[Taken], Tag("<list>")], _OneOrList]
    """Such as `20MiB`; a list beside `sizes`."""
    sensitivity: Annotated[Annotated[_Growth, Tag("<one>")] | Annotated[list[_Growth], Tag("<list>")], _OneOrList]
    """What its time grows by, as a share of it, if it had nothing of the cache; a list beside `sizes`."""


class KernelUsesForm(Form):
    """What a kernel takes of memory and of caches, these by their levels' names."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, CacheDemandForm]

    sizes: list[Annotated[float, Field(gt=0)]] | None = Field(default=None, min_length=1)
    """Elements stored and processed, ascending, where demands and sensitivities are lists; straight lines over the
    logarithm between them, constant beyond the ends."""
    memory: MemoryDemandForm | None = None
    """`{demand, [sensitivity]}` of memory."""


class LoadDemandsForm(Form):
    """What a load of 1 takes of memory and of caches, these by their levels' names."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, Taken]

    memory: TakenRate = Field(default=0.0, json_schema_extra={"default": "0 B/s"})
    """Of memory, such as `5GB/s`."""


class NeighboursForm(Form):
    """What a scenario takes of a model of neighbours."""

    domains: list[AnyDomainForm]
    """As a node's."""
    uses: dict[Name, KernelUsesForm] = Field(default={})
    """As a node's."""
    pe_count: int | None = Field(default=None, ge=1)
    """PEs that were measured."""
