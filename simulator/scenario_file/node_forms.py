"""What a scenario file may say of nodes, PEs, their speeds, loads and memory."""

import datetime
from collections.abc import Mapping
from contextlib import suppress
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Literal, cast

from pydantic import Discriminator, Field, PlainValidator, Tag
from pydantic_core import PydanticCustomError

from simulator.base import units
from simulator.base.errors import ScenarioError, meant
from simulator.models.load import AfterEnd, AvailabilityRule
from simulator.scenario_file.domain_forms import AnyDomainForm, DomainsModelForm, KernelUsesForm, LoadDemandsForm
from simulator.scenario_file.doubt_forms import DoubtForm, NoiseForm
from simulator.scenario_file.form import LAUNCHED, FileName, Form, Instant, Latency, Name, Payload, Power, Size, Speed
from simulator.scenario_file.names import MAX_NAMES
from simulator.scenario_file.network_forms import DiskForm, LinkForm

Host = Annotated[str, Field(pattern=LAUNCHED)]
"""What launchers reach a node by; `{node}` stands for its name."""
LoadStart = Literal["drawn", "own", "zero"] | float | datetime.time | datetime.datetime
"""Where a load starts in its trace: by a draw, at zero, after so many seconds, or at a time of day."""


class BandForm(Form):
    """A speed band: speeds in units of volume per second over problem sizes in elements; constant beyond the ends."""

    sizes: list[float]
    """Elements stored and processed, ascending."""
    low: list[float]
    """Lowest speed at each size, in units of volume per second; straight lines between."""
    mid: list[float]
    """Middle speed at each size."""
    high: list[float]
    """Highest speed at each size."""
    doubt: DoubtForm | None = None
    """What is not known of the middle speed; without it and without noise the whole band is doubt."""
    noise: NoiseForm | None = None
    """How one run differs from the next."""
    source: str | None = None
    """What all PEs that name it share most of their doubt by, `""` for each PE alone; by default PEs of one entry."""


class FunctionForm(Form):
    """A speed function: one speed over problem sizes; constant beyond the ends."""

    sizes: list[float]
    """Elements stored and processed, ascending."""
    speeds: list[float]
    """Speed at each size, in units of volume per second; straight lines between."""


class SurfaceForm(Form):
    """Speed bands by number of columns: the application's n says which holds, or between which two it lies."""

    columns: list[float]
    """Columns of the panels that were measured, ascending."""
    bands: list[BandForm]
    """The band over problem size of each."""


class ModelForm(Form):
    """A speed model."""

    model: FileName
    """The file, which `apportion calibrate speed` wrote."""


class MemoryUseForm(Form):
    """How a kernel uses memory (Apex-MAP)."""

    accesses_per_unit: Annotated[float, Field(ge=0)]
    """Words per unit of volume."""
    alpha: Annotated[float, Field(gt=0, le=1)]
    """1: every place as likely as any other; towards 0: the same places again."""
    run_words: Annotated[float, Field(ge=1)] = 1.0
    """L, consecutive words of one access."""
    footprint_share: Annotated[float, Field(gt=0, le=1)] = 1.0
    """The part of what a process holds that these accesses go through."""
    written_per_unit: Annotated[float, Field(ge=0)] = 0.0
    """Words written without being read, each of which is two of the accesses: its line is fetched before and written
    back later. Looked at where a memory model says what swept words take."""


class PredictionForm(Form):
    """A speed that nobody measured: it follows from the node's memory levels."""

    flop_rate: Speed
    """The speed with all data in the nearest level, such as `4Gflop/s`."""
    memory: MemoryUseForm | None = None
    """How the kernel uses memory; known of `triad` and `matmul`."""
    half_width: Annotated[float, Field(gt=0, lt=1)] = 0.5
    """Half the width of the band, as a share of its middle."""


class PredictedForm(Form):
    """A predicted speed."""

    predicted: PredictionForm
    """What it is predicted from."""


def _speed_kind(value: Any) -> str:
    if not isinstance(value, dict):
        return "<constant>"
    if "predicted" in value:
        return "<predicted>"
    if "model" in value:
        return "<model>"
    if "columns" in value or "bands" in value:
        return "<surface>"
    return "<function>" if "speeds" in value else "<band>"


SpeedForm = Annotated[
    Annotated[Speed, Tag("<constant>")]
    | Annotated[BandForm, Tag("<band>")]
    | Annotated[FunctionForm, Tag("<function>")]
    | Annotated[SurfaceForm, Tag("<surface>")]
    | Annotated[ModelForm, Tag("<model>")]
    | Annotated[PredictedForm, Tag("<predicted>")],
    Discriminator(_speed_kind),
]


STARTS = ("drawn", "own", "zero")
"""Names of where a load starts."""


def _start(value: Any) -> LoadStart:
    if value in STARTS:
        return cast("LoadStart", value)
    text = value if isinstance(value, str) else ""
    with suppress(ScenarioError):
        return units.parse_duration(text, field="", positive=False)
    for kind in (datetime.time, datetime.datetime):
        with suppress(ValueError):
            if ":" in text:
                return kind.fromisoformat(text)
    told = f"is no start: write {', '.join(STARTS)}, an offset such as 6h, or a time of day such as '14:00'"
    raise PydanticCustomError("sentence", f"{told}{meant(value, STARTS)}")


class TraceForm(Form):
    """A load trace written out: each value holds up to the next time, the last one up to the end."""

    times_s: list[float]
    """Seconds, ascending from 0."""
    values: list[float]
    """Load (rules `fair`, `idle`) or availability (`given`) from each time on."""
    end_s: float
    """Seconds at which the trace ends."""
    start: Instant | None = None
    """The instant of its time 0 with its zone (`2026-11-21T08:00+01:00`), for loads that start at a time of day."""


class LoadForm(Form):
    """A load trace and the rule by which it shares the PE."""

    trace: Annotated[
        Annotated[FileName, Tag("<file>")] | Annotated[TraceForm, Tag("<inline>")],
        Discriminator(lambda value: "<inline>" if isinstance(value, dict) else "<file>"),
    ]
    """A file as `traces/README.md` specifies, or `{times_s, values, end_s}`: each value holds up to the next time."""
    rule: AvailabilityRule | None = None
    """`fair`: equal shares for all; `idle`: we take what is idle; `given`: the trace states our share, as a file of
    availabilities does. If left out, of a file of loads: some truths have `fair`, others `idle`."""
    after_end: AfterEnd = "cycle"
    """What follows the trace's end: `cycle`, from the start again; `hold`, the last value; `error`."""
    start: Annotated[LoadStart, PlainValidator(_start, json_schema_input_type=str)] = "drawn"
    """Where in the trace a replication starts: `drawn`, anew for each, and once for all PEs of a node that have the
    same recording; `own`, drawn for each PE by itself; `zero`, at its start; an offset into it (`6h`); or a time of
    day (`"14:00"`) or date and time, of a trace that says when it began, in the zone of the trace."""
    recorded: bool | None = None
    """Whether the trace is a record, a sample of what the load is like: then each truth has blocks of it in another
    order, if its start is drawn. If left out, a file is one and a trace written out is not."""
    demands: LoadDemandsForm | None = None
    """What a load of 1 takes of the node's `domains`: `{memory: 5GB/s, L3: 10MiB}`; nothing if left out."""


class PEForm(Form):
    """One PE, or several alike."""

    name: Name = "{node}"
    """Once in the file; `{node}` stands for the node's name. Several PEs by range or `count`, as for nodes."""
    count: int | None = Field(default=None, ge=1, le=MAX_NAMES)
    """How many alike, if `name` has no range."""
    cpu: int | None = Field(default=None, lt=2**31)
    """The logical processor it was measured on, if any."""
    cores: int = Field(default=1, ge=1, le=MAX_NAMES)
    """How many processes run side by side at full speed. More share them."""
    speeds: dict[Name, SpeedForm]
    """By kernel: a constant speed (`2 Gflop/s`, or `units/s` for other volumes); or `sizes` (elements stored and
    processed, ascending) with `speeds`; or a speed band: `sizes`, `low`, `mid`, `high` (volume per second; straight
    lines between, constant beyond); or `{model: FILE.json}`, which `apportion calibrate speed` wrote; or
    `{predicted: {flop_rate, [memory], [half_width]}}`, see Memory."""
    load: LoadForm | None = None
    """Who competes for the PE; if left out, who competes for each PE of the node, else nobody."""
    cost: Annotated[float, Field(ge=0)] | None = None
    """What a second of the PE costs (`0.02`, in any unit of yours); for `apportion advise --pareto`."""
    power: Power | None = None
    """What it draws while a run has it (`150W`); for `apportion advise --pareto`."""
    slice: Latency = Field(default=0.0, json_schema_extra={"default": "0s"})
    """Time slice of its scheduler, such as `4ms`; `0s`: none. A process that waited for a message gets the PE after a
    slice of each competitor (rule `fair`) and, if the program polls, of each other process of ours there: so much
    longer takes each message to it."""


class ResourcePEForm(PEForm):
    """A PE of which it is known what operations cost: a resource model, as its file or written out."""

    speeds: dict[Name, SpeedForm] = Field(default={})
    """By kernel, as for other PEs; can be left out where operations have costs."""
    resource: Annotated[
        Annotated[FileName, Tag("<file>")] | Annotated[dict[str, Any], Tag("<inline>")],
        Discriminator(lambda value: "<inline>" if isinstance(value, dict) else "<file>"),
    ]
    """What operations cost there, for the application `seg`: a file, or the model written out, see Software execution
    graphs. `speeds` can then be left out."""


AnyPEForm = Annotated[
    Annotated[PEForm, Tag("<pe>")] | Annotated[ResourcePEForm, Tag("<resource>")],
    Discriminator(lambda value: "<resource>" if isinstance(value, dict) and "resource" in value else "<pe>"),
]


class LevelForm(Form):
    """A memory level of a node's PEs."""

    name: Name
    """What the level is called, such as `L2`; a last level `swap` lies behind RAM."""
    capacity: Payload | None = None
    """Bytes, such as `32MiB`; none for the last level, and only for that."""
    latency: Latency
    """Time until the first word of a run is there."""
    gap: Latency
    """Time of each further word of a run."""
    shared: bool = False
    """Whether the PEs of a node share it."""


class LevelsModelForm(Form):
    """Levels of a memory model."""

    model: FileName
    """The file, which `apportion calibrate memory` wrote."""
    shared: list[Name] = Field(default=[])
    """Levels that the node's PEs share, beside `RAM` and those that the system reported as shared."""


class SwapForm(Form):
    """Swap with its times."""

    size: Size | None = None
    """Bytes; without end if not said."""
    latency: Latency
    """Time until a page is there."""
    gap: Latency
    """Time of each further word."""


class NodeForm(Form):
    """A machine that holds PEs, or several alike."""

    ELSEWHERE: ClassVar[Mapping[str, str]] = MappingProxyType(
        {key: f"it with the node's PEs, pes: [{{{key}: ...}}]" for key in ("cores", "speeds", "resource")}
    )

    name: Name
    """Of the node; `"fast[01-08]"` are the eight nodes fast01 to fast08."""
    count: int | None = Field(default=None, ge=0, le=MAX_NAMES)
    """How many, if `name` has no range: `{name: slow, count: 12}` are slow01 to slow12."""
    host: Host | None = None
    """What launchers reach it by, in files that `advise` writes; its name if not said; `{node}` stands for the name."""
    memory: Size | None = None
    """RAM, such as `16GiB`: processes that need more page, see Memory."""
    price: Annotated[float, Field(ge=0)] | None = None
    """What an hour of the node costs (`2.50`, in any unit of yours), whatever part of it is used; for `apportion
    advise --objective cost`."""
    swap: (
        Annotated[
            Annotated[Size, Tag("<size>")] | Annotated[SwapForm, Tag("<times>")],
            Discriminator(lambda value: "<times>" if isinstance(value, dict) else "<size>"),
        ]
        | None
    ) = None
    """A size or `{latency, gap, [size]}`. Not looked at without `memory`."""
    levels: Annotated[
        Annotated[list[LevelForm], Field(max_length=16), Tag("<list>")] | Annotated[LevelsModelForm, Tag("<model>")],
        Discriminator(lambda value: "<model>" if isinstance(value, dict) else "<list>"),
    ] = Field(default=[])
    """Memory levels from the nearest on, see the next table. Or `{model: memory.json, [shared: [L3]]}`, which
    `apportion calibrate memory` wrote: a level is called by the cache of about its capacity that the system reported,
    else `level1` ..., the last one `RAM`; shared is what the system reported as shared, `RAM`, and what `shared`
    lists."""
    domains: Annotated[
        Annotated[list[AnyDomainForm], Field(max_length=MAX_NAMES), Tag("<list>")]
        | Annotated[DomainsModelForm, Tag("<model>")],
        Discriminator(lambda value: "<model>" if isinstance(value, dict) else "<list>"),
    ] = Field(default=[])
    """What PEs share, so that neighbours slow each other down: `{kind: memory, each: 4, capacity: 20GB/s}`, `{kind:
    cache, level: L3}`, `{kind: clock, shares: [1, 1, 0.97]}`, `{kind: core, each: 2, shares: [1, 0.6]}`; see Sharing
    domains. Or `{model: neighbours.json}`, which `apportion calibrate neighbours` wrote, with the uses in it."""
    uses: dict[Name, KernelUsesForm] = Field(default={})
    """By kernel, what it takes of them where it runs alone, and how much of its time hangs on that:
    `{triad: {memory: {demand: 12GB/s, sensitivity: 0.9}, L3: {demand: 20MiB, sensitivity: 0.4}}}`."""
    disk: DiskForm | None = None
    """`latency` and `bandwidth` of what I/O passes; shared by reads and writes."""
    link: LinkForm | None = None
    """Of this node, where it is not the network's `link` (topologies `star` and `tree`)."""
    load: LoadForm | None = None
    """The load of each of its PEs that has none of its own, fields as `pes[].load`: they all meet the same one at the
    same time. A load of 1 is a competitor on every PE; what is recorded of a whole machine belongs to one PE with
    `cores`."""
    pes: list[AnyPEForm] = Field(min_length=1)
    """The node's PEs."""
