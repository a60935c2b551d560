"""Nodes, their PEs and speeds: what a scenario file says of them, and what is written back."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from types import MappingProxyType
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Discriminator, Field, Tag

from simulator.base.documents import Data
from simulator.base.errors import ScenarioError
from simulator.base.form import LAUNCHED, FileName, Form, Latency, Name, Power, Size, Speed
from simulator.base.names import MAX_NAMES, compact
from simulator.base.units import write_duration, write_power, write_size, write_speed
from simulator.models.doubt_forms import DoubtForm, NoiseForm
from simulator.models.memory.levels import SWAP, SwapTimes
from simulator.models.neighbours_forms import AnyDomainForm, KernelUsesForm, uses_data
from simulator.models.resource import HardwareModel
from simulator.models.speed import SpeedBand, SpeedSurface
from simulator.platform.domains import NODE, DomainsModelForm
from simulator.platform.gpus import GpuKeysForm
from simulator.platform.named_files import NamedFiles, Site
from simulator.platform.networks.link import DiskForm, Link, LinkForm
from simulator.platform.nodes import PE, LoadForm, Node, QuotaForm
from simulator.scenario_file.memory import (
    KnownMemory,
    LevelForm,
    Levels,
    LevelsModelForm,
    PredictedForm,
    SwapForm,
    level_data,
)

Place = tuple[str | int, ...]
Host = Annotated[str, Field(pattern=LAUNCHED)]
"""What launchers reach a node by; `{node}` stands for its name."""


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

    def speed(self, named: NamedFiles) -> SpeedBand:  # noqa: ARG002 - names no file
        """The band."""
        sizes, low, mid, high = (np.array(column, np.float64) for column in (self.sizes, self.low, self.mid, self.high))
        doubt = None if self.doubt is None else self.doubt.doubt()
        noise = None if self.noise is None else self.noise.noise()
        return SpeedBand(sizes, low, mid, high, doubt=doubt, noise=noise, source=self.source or "")


class FunctionForm(Form):
    """A speed function: one speed over problem sizes; constant beyond the ends."""

    sizes: list[float]
    """Elements stored and processed, ascending."""
    speeds: list[float]
    """Speed at each size, in units of volume per second; straight lines between."""

    def speed(self, named: NamedFiles) -> SpeedBand:  # noqa: ARG002 - names no file
        """A band without width."""
        speeds = np.array(self.speeds, dtype=np.float64)
        return SpeedBand(np.array(self.sizes, dtype=np.float64), speeds, speeds, speeds)


class SurfaceForm(Form):
    """Speed bands by number of columns: the application's n says which holds, or between which two it lies."""

    columns: list[float]
    """Columns of the panels that were measured, ascending."""
    bands: list[BandForm]
    """The band over problem size of each."""

    def speed(self, named: NamedFiles) -> SpeedSurface:
        """The surface."""
        return SpeedSurface(tuple(self.columns), tuple(band.speed(named) for band in self.bands))


class ModelForm(Form):
    """A speed model."""

    model: FileName
    """The file, which `apportion calibrate speed` wrote."""

    def speed(self, named: NamedFiles) -> SpeedBand | SpeedSurface:
        """What the file holds."""
        return named.speed(self.model)


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


def speed_data(band: SpeedBand) -> Any:
    """A speed band, the surface that it is a slice of, or the one speed that it is."""
    if band.surface is not None:
        return band.surface.to_dict()
    if band.sizes.size == 1 and band.sizes[0] == 1 and band.low[0] == band.high[0] and not band.stated:
        return write_speed(float(band.mid[0]))
    return band.to_dict() | ({"source": band.source} if band.doubtful else {})


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
    longer takes each message to it. Under the rule `turns` computations alternate with competitors by it instead."""
    quota: QuotaForm | None = None
    """What its control group grants our processes, as `docker --cpus` or a batch system sets it: `{cpu: 0.37, period:
    100ms}`. Availability that was measured under it holds it already: divide that by `cpu` first."""


class ResourcePEForm(PEForm):
    """A PE of which it is known what operations cost: a resource model, as its file or written out."""

    speeds: dict[Name, SpeedForm] = Field(default={})
    """By kernel, as for other PEs; can be left out where operations have costs."""
    resource: Annotated[
        Annotated[FileName, Tag("<file>")] | Annotated[Data, Tag("<inline>")],
        Discriminator(lambda value: "<inline>" if isinstance(value, dict) else "<file>"),
    ]
    """What operations cost there, for the application `seg`: a file, or the model written out, see Software execution
    graphs. `speeds` can then be left out."""

    def resource_model(self, named: NamedFiles) -> HardwareModel:
        """What operations cost there."""
        if isinstance(self.resource, str):
            return named.resource_model(self.resource)
        return HardwareModel.from_dict(self.resource)


class GpuForm(PEForm, GpuKeysForm):
    """A GPU: a PE with memory of its own, whose process occupies a core of the host, and what moves to it and back."""


def _pe_kind(value: Any) -> str:
    if isinstance(value, dict) and "kind" in value:
        return "<gpu>"
    return "<resource>" if isinstance(value, dict) and "resource" in value else "<pe>"


AnyPEForm = Annotated[
    Annotated[PEForm, Tag("<pe>")] | Annotated[ResourcePEForm, Tag("<resource>")] | Annotated[GpuForm, Tag("<gpu>")],
    Discriminator(_pe_kind),
]


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

    def known_memory(self, site: Site, *, here: Place) -> KnownMemory:
        """What is known of its memory: levels, the nearest first, and the model that they are from if any."""
        if isinstance(self.levels, LevelsModelForm):
            with site.at(*here, "levels"):
                return KnownMemory(self.levels.levels(site.named), site.named.memory(self.levels.model)[0])
        last = len(self.levels) - 1
        for number, level in enumerate(self.levels):
            with site.at(*here, "levels", number):
                if (level.capacity is None) != (number == last):
                    has = "the last level has no limit; leave it out" if number == last else "it is missing; add it"
                    raise ScenarioError(f"capacity: {has}")
        levels = tuple(level.level() for level in self.levels)
        if levels and levels[-1].name == SWAP:
            self._check_swap_level(levels, site, here=here)
        return KnownMemory(levels)

    def _check_swap_level(self, levels: Levels, site: Site, *, here: Place) -> None:
        """A capacity of RAM, and times of swap, stand in one place."""
        with site.at(*here, "levels", len(levels) - 1):
            if len(levels) == 1:
                raise ScenarioError("swap stands alone; write the level of RAM before it")
        with site.at(*here, "swap"):
            if isinstance(self.swap, SwapForm):
                raise ScenarioError("there is a level swap, which has latency and gap; write them in one place")
        with site.at(*here, "memory"):
            ram = levels[-2]
            if self.memory is not None and self.memory != ram.capacity_bytes:
                found = f"it is {self.memory} bytes, and level {ram.name} has {ram.capacity_bytes:.0f}"
                raise ScenarioError(f"{found}; write the same, or no memory where there is a level swap")

    def swap_space(self, site: Site, *, here: Place) -> tuple[int | None, SwapTimes | None]:
        """Bytes of swap and its times, as far as they are said."""
        with site.at(*here, "swap"):
            if self.memory is None and self.swap:
                raise ScenarioError("the node says no memory; write memory and swap, or neither")
        return (self.swap.size, self.swap.times()) if isinstance(self.swap, SwapForm) else (self.swap, None)


def node_entry(
    node: Node,
    name: str | None = None,
    *,
    domains: Sequence[Data] | Data = (),
    uses: Data | None = None,
    link: Link | None = None,
    pes: Sequence[Data] = (),
) -> Data:
    """An entry of `platform.nodes`; what is not known is left out.

    `domains`, `uses`, `pes`: as the entry says them.
    """
    known = node.memory_bytes is not None and node.swap_bytes is not None
    swap: Data | str | None = write_size(node.swap_bytes or 0) if known else None
    if node.swap_times is not None:
        held = {} if swap is None else {"size": swap}
        times = node.swap_times
        swap = {**held, "latency": write_duration(times.latency_s), "gap": write_duration(times.gap_s)}
    entry = {
        "name": name,
        "host": None if node.host is None else node.host.replace(node.name, NODE),
        "memory": None if node.memory_bytes is None else write_size(node.memory_bytes),
        "price": node.price_per_hour,
        "swap": swap,
        "levels": [level_data(level) for level in node.levels] or None,
        "domains": domains or None,
        "uses": uses or None,
        "disk": None if node.disk is None else replace(node.disk, shared=False).to_data(),
        "link": None if link is None else link.to_data(),
        "pes": list(pes) or None,
    }
    return {key: value for key, value in entry.items() if value is not None}


def node_data(
    node: Node, pes: Sequence[PE], link: Link | None, traces: Mapping[str, str], domains: Sequence[Data]
) -> tuple[Any, Data]:
    """What makes nodes alike, and the entry without its name."""
    body = node_entry(node, domains=list(domains), uses=uses_data(node.uses), link=link)
    entries, key = [], []

    def alike_by(pe: PE) -> tuple[Any, ...]:
        own = pe.cpu, pe.cores, pe.cost_per_s, pe.power_w, pe.slice_s, pe.quota, pe.gpu, traces.get(pe.name)
        return id(pe.speeds), id(pe.load), id(pe.resource), *own

    for alike, group in groupby(pes, key=alike_by):
        members = list(group)
        pattern = compact([pe.name for pe in members]) if len(members) > 1 else None
        named = [(pattern, members[0])] if pattern else [(pe.name, pe) for pe in members]
        for name, pe in named:
            if pattern is None and compact([name]) is None:
                raise ScenarioError(f"platform: the name of PE {name!r} has a range in brackets; take another one")
            template = name.replace(node.name, NODE)
            entries.append({"name": template} | _pe_data(pe, node.name, traces.get(pe.name)))
            key.append((template, *alike))
    return (repr(body), tuple(key)), body | {"pes": entries}


def _pe_data(pe: PE, node: str, trace: str | None) -> Data:
    gpu = None if pe.gpu is None else replace(pe.gpu, host=pe.gpu.host.replace(node, NODE))
    entry: Data = {
        **({} if gpu is None else gpu.to_data()),
        "cpu": pe.cpu,
        "cores": None if pe.cores == 1 else pe.cores,
        "cost": pe.cost_per_s,
        "power": None if pe.power_w is None else write_power(pe.power_w),
        "slice": write_duration(pe.slice_s) if pe.slice_s else None,
        "quota": None if pe.quota is None else pe.quota.to_data(),
        "resource": None if pe.resource is None else pe.resource.to_dict(),
        "speeds": {kernel: speed_data(band) for kernel, band in pe.speeds.items()},
        "load": None if pe.load is None else pe.load.to_data(trace),
    }
    return {key: value for key, value in entry.items() if value is not None}
