"""PEs with their models, the nodes that hold them, their background loads, and the network between them."""

import datetime
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast, get_args

import numpy as np
from numpy.typing import ArrayLike
from pydantic import Discriminator, Field, PlainValidator, Tag
from pydantic_core import PydanticCustomError

from simulator.base import given, notebook, units
from simulator.base.arrays import Flags, Floats, Ints
from simulator.base.documents import Data
from simulator.base.errors import ScenarioError, meant, some_names
from simulator.base.form import Duration, FileName, Form, Instant, Name
from simulator.base.names import turns
from simulator.load_traces import trace_column
from simulator.models.load import HARDLY, AfterEnd, AvailabilityRule, Capacity, LoadTrace
from simulator.models.memory.levels import ASSUMED, SWAP, MemoryLevel, SwapTimes, levels_with_swap, swap_on_disk
from simulator.models.neighbours import BUSY, NO_USE, KernelUses, ShareTable, SharingDomain, Use
from simulator.models.network import MessageModel
from simulator.models.resource import HardwareModel
from simulator.models.speed import SpeedBand
from simulator.platform.domains import LoadDemandsForm, demands_data
from simulator.platform.gpus import Gpu, HostLinks, check_hosts
from simulator.platform.named_files import NamedFiles, Site
from simulator.platform.networks import Link, Network

if TYPE_CHECKING:
    import pandas as pd

LoadStart = Literal["drawn", "own", "zero"] | float | datetime.time | datetime.datetime
"""Where a load starts in its trace: by a draw, at zero, after so many seconds, or at a time of day."""
STARTS = ("drawn", "own", "zero")
"""Names of where a load starts."""
_ZEROS = re.compile(r"(?<!\d)0+(?=\d)")
A_LOAD = "a Load, such as busy('13:00', '18:00') or Load(read_trace('load.csv'), 'fair')"
SEVERAL_PES = "a list of PEs, or join what nodes(...) made by star, tree, mesh, torus, bus or uniform"


@dataclass(frozen=True)
class Load:
    """The background load of a PE: a trace, whose start each replication draws, and what it leaves to us."""

    trace: LoadTrace
    rule: AvailabilityRule
    drawn: bool = True
    """Whether each replication draws where in a trace that cycles it starts; otherwise all start at `start_s`."""
    start_s: float = 0.0
    """Where in the trace runs start that do not draw it, or whose trace does not cycle."""
    own: bool = False
    """Whether a PE draws for itself alone; otherwise PEs of a node that have the same recording start together."""
    recording: LoadTrace | None = None
    """What `trace` is a changed copy of, where it is one: who starts together stays the same."""
    demands: Mapping[str, float] = field(default_factory=dict)
    """What a load of 1 takes of each level: bytes per second of `memory`, bytes of a cache by its name."""
    recorded: bool = False
    """Whether the trace is a record: a sample of what the load is like, of which truths are drawn if starts are."""
    rule_known: bool = True
    """Whether the rule was said or measured; otherwise a truth has `fair` or `idle`."""
    presses: bool = True
    """Whether it is a competitor, which slows neighbours too; a state of the PE itself, such as its clock, is none."""

    def __post_init__(self) -> None:
        traced = "a LoadTrace, such as read_trace('load.csv')"
        given.check_is(self.trace, LoadTrace, where="load: trace", give=traced)
        given.check_choice(self.rule, get_args(AvailabilityRule), where="load: rule")

    @property
    def doubtful(self) -> bool:
        """Whether truths of it differ."""
        return not self.rule_known or (self.recorded and self.draws and self.trace.times_s.size > 1)

    @property
    def draws(self) -> bool:
        """Whether replications draw where it starts: a trace that does not cycle has one beginning."""
        return self.drawn and self.trace.after_end == "cycle"

    @property
    def there(self) -> Flags:
        """Whether it is there in each piece of its trace."""
        values = self.trace.values  # noqa: PD011 - of a trace
        return np.asarray((1 - values if self.rule == "given" else values) > HARDLY)

    def taken(self, *, processes: int, cores: int) -> Callable[[float], float]:
        """How long work takes under it, by its seconds on an idle PE, where all replications start alike."""
        capacity = Capacity.of(self.trace, self.rule, processes=processes, cores=cores)
        return lambda idle_s: capacity.finish(self.start_s, idle_s).item() - self.start_s

    def to_data(self, file: str | None) -> Data:
        """The load as a file writes it: with its trace, or the file that holds that."""
        trace, kept = self.trace, Data()
        written: Data = {"times_s": trace.times_s.tolist(), "values": trace.values.tolist()}  # noqa: PD011 - of a trace
        written["end_s"] = trace.end_s
        if trace.start_instant is not None:
            written["start"] = trace.start_instant.isoformat()
        if self.recorded != (file is not None):
            kept["recorded"] = self.recorded
        if self.demands:
            kept["demands"] = demands_data(self.demands)
        start = "own" if self.own else "drawn"
        if not self.drawn:
            start = "zero" if self.start_s == 0 else units.write_duration(self.start_s)
        rule = {"rule": self.rule} if self.rule_known else {}
        return {"trace": file or written, **rule, "after_end": trace.after_end, "start": start, **kept}


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
    wrong = f"is no start: write {', '.join(STARTS)}, an offset such as 6h, or a time of day such as '14:00'"
    raise PydanticCustomError("sentence", f"{wrong}{meant(value, STARTS)}")


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

    def trace(self, after_end: AfterEnd) -> LoadTrace:
        """The trace, which goes on so after its end."""
        times_s, values = np.array(self.times_s, np.float64), np.array(self.values, np.float64)
        return LoadTrace(times_s, values, self.end_s, after_end, self.start)


class LoadForm(Form):
    """A load trace and the rule by which it shares the PE."""

    trace: Annotated[
        Annotated[FileName, Tag("<file>")] | Annotated[TraceForm, Tag("<inline>")],
        Discriminator(lambda value: "<inline>" if isinstance(value, dict) else "<file>"),
    ]
    """A file as `traces/README.md` specifies, or `{times_s, values, end_s}`: each value holds up to the next time."""
    rule: AvailabilityRule | None = None
    """`fair`: equal shares for all; `idle`: we take what is idle; `given`: the trace states our share, as a file of
    availabilities does; `turns`: all take turns by the PE's `slice`. If left out, of a file of loads: some truths have
    `fair`, others `idle`."""
    after_end: AfterEnd = "cycle"
    """What follows the trace's end: `cycle`, from the start again; `hold`, the last value; `error`."""
    start: Annotated[LoadStart, PlainValidator(_start, json_schema_input_type=str)] = "drawn"
    """Where in the trace a replication starts: `drawn`, for each, and once for all PEs of a node that have the
    same recording; `own`, drawn for each PE by itself; `zero`, at its start; an offset into it (`6h`); or a time of
    day (`"14:00"`) or date and time, of a trace that says when it began, in the zone of the trace."""
    recorded: bool | None = None
    """Whether the trace is a record, a sample of what the load is like: then each truth has blocks of it in another
    order, if its start is drawn. If left out, a file is one and a trace written out is not."""
    demands: LoadDemandsForm | None = None
    """What a load of 1 takes of the node's `domains`: `{memory: 5GB/s, L3: 10MiB}`; nothing if left out."""

    def load(self, site: Site, *here: str | int) -> Load:
        """The load that it says."""
        with site.at(*here, "trace"):
            trace, rule, said = self._read(site.named)
            recorded = not isinstance(self.trace, TraceForm) if self.recorded is None else self.recorded
            demands = {} if self.demands is None else self.demands.demands()
            load = Load(trace, rule, demands=demands, recorded=recorded, rule_known=said)
        if self.start in ("drawn", "own"):
            return replace(load, own=self.start == "own")
        with site.at(*here, "start"):
            start_s = 0.0 if isinstance(self.start, str) else trace.offset_s(self.start)
        return replace(load, drawn=False, start_s=start_s)

    def _read(self, named: NamedFiles) -> tuple[LoadTrace, AvailabilityRule, bool]:
        """The trace, its rule, and whether anybody says the rule."""
        if isinstance(self.trace, TraceForm):
            if self.rule is None and not self.recorded:
                raise ScenarioError("rule: a load that is written out needs its rule; write fair, idle, given or turns")
            return self.trace.trace(self.after_end), self.rule or "fair", self.rule is not None
        trace, available = named.trace(self.trace, self.after_end), trace_column(named.path(self.trace)) == "available"
        if self.rule is not None and available != (self.rule == "given"):
            column, fitting = ("available", "given") if available else ("load", "fair, idle or turns")
            found = f"the rule {self.rule!r} does not fit its column {column!r}"
            raise ScenarioError(f"{self.trace}: {found}; write {fitting}")
        return trace, self.rule or ("given" if available else "fair"), available or self.rule is not None


def plain_name(name: str) -> str:
    """A name without leading zeros in its numbers, and so without the width of a `count`."""
    return _ZEROS.sub("", name)


@dataclass(frozen=True)
class Quota:
    """What the control group of a PE grants our processes: so much processor time in each period."""

    cpu: float
    """Seconds of processor time per second."""
    period_s: float = 0.1
    """As fast as the cores allow they use what it grants, then they stand until the period ends."""
    group: str = ""
    """PEs of a node that name the same group share one quota; without a name each PE has its own."""

    def __post_init__(self) -> None:
        for name, kind in (("cpu", units.SHARE), ("period_s", units.DURATION)):
            at = f"quota: {name.partition('_')[0]}"
            found = given.quantity(getattr(self, name), kind, where=at, example="Quota(0.37, '100ms')")
            object.__setattr__(self, name, found)

    def to_data(self) -> Data:
        """The quota as a file writes it."""
        named = {"group": self.group} if self.group else {}
        return {"cpu": self.cpu, "period": units.write_duration(self.period_s), **named}


class QuotaForm(Form):
    """The quota of a control group: so much processor time in each period."""

    cpu: Annotated[float, Field(gt=0)]
    """Seconds of processor time per second that it grants (`0.37`, or `2.5` for several PEs or cores)."""
    period: Duration = Field(default=0.1, json_schema_extra={"default": "100ms"})
    """Our processes use what it grants as fast as the cores allow and then stand until the period ends. Periods begin
    at a drawn time."""
    group: Name | None = None
    """PEs of a node that name the same group share one quota; without it each PE has its own."""

    def quota(self) -> Quota:
        """The quota that it says."""
        return Quota(self.cpu, self.period, self.group or "")


@dataclass(frozen=True)
class PE:
    """A schedulable processor."""

    name: str
    node: str
    speeds: Mapping[str, SpeedBand] = field(default_factory=dict)
    load: Load | None = None
    cpu: int | None = None
    """The logical processor it stands for, where it was measured."""
    cores: int = 1
    """Processes that it can run side by side, each at full speed."""
    cost_per_s: float | None = None
    """What a second of it costs, in a unit of the user's, if that is said."""
    power_w: float | None = None
    """Watts that it draws while a run has it, if that is said."""
    slice_s: float = 0.0
    """Time slice of its scheduler: a process that waited for a message gets the PE when the others had theirs."""
    resource: HardwareModel | None = None
    """What operations cost on it, for applications that are software execution graphs."""
    quota: Quota | None = None
    """Of its control group, if that has one."""
    gpu: Gpu | None = None
    """What makes it a GPU; None: it is none."""

    if TYPE_CHECKING:  # what a program may hand over becomes what the fields say

        def __init__(  # noqa: PLR0913, PLR0917 - its fields
            self,
            name: str,
            node: str,
            speeds: Mapping[str, SpeedBand | str | float] = ...,
            load: Load | None = None,
            cpu: int | None = None,
            cores: int = 1,
            cost_per_s: float | None = None,
            power_w: str | float | None = None,
            slice_s: str | float = 0.0,
            resource: HardwareModel | None = None,
            quota: Quota | None = None,
            gpu: Gpu | None = None,
        ) -> None: ...

    def __post_init__(self) -> None:
        given.check_name(self.name, where="platform: PE: name")
        where = f"platform: PE {self.name}"
        if not isinstance(self.node, str):
            given.check_name(self.node, where=f"{where}: node")
        object.__setattr__(self, "speeds", bands_of(self.speeds, where=where))
        if self.load is not None:
            given.check_is(self.load, Load, where=f"{where}: load", give=A_LOAD)
        if self.quota is not None:
            given.check_is(self.quota, Quota, where=f"{where}: quota", give="a Quota, such as Quota(0.37, 0.1)")
        if self.gpu is not None:
            given.check_is(self.gpu, Gpu, where=f"{where}: gpu", give="a Gpu, with its host core and its links")
        object.__setattr__(self, "cores", given.whole(self.cores, where=f"{where}: cores", least=1))
        for name, value, kind, example in (
            ("cost_per_s", self.cost_per_s, units.SHARE, "0.02"),
            ("power_w", self.power_w, units.POWER, "'150W' or a number of watts"),
            ("slice_s", self.slice_s, units.DURATION, "'10ms' or a number of seconds"),
        ):
            if value is not None:
                at = f"{where}: {name.partition('_')[0]}"
                object.__setattr__(self, name, given.quantity(value, kind, where=at, example=example, zero=True))
        if self.takes_turns and not self.slice_s:
            raise ScenarioError(
                f"{where}: slice: its load has the rule turns; say how long a time slice is, such as 4ms"
            )

    def copied(self, tail: str) -> "PE":
        """The same on a copy of its node, whose names end so."""
        gpu = None if self.gpu is None else replace(self.gpu, host=self.gpu.host + tail)
        return replace(self, name=self.name + tail, node=self.node + tail, gpu=gpu)

    @property
    def takes_turns(self) -> bool:
        """Whether its load and our processes alternate by time slices."""
        return self.load is not None and self.load.rule == "turns"

    def __repr__(self) -> str:
        kernels = ", ".join(sorted(self.speeds)) or "none"
        loaded = "" if self.load is None else ", load"
        return f"PE({self.name} of {self.node}, {self.cores} cores, kernels: {kernels}{loaded})"

    def drawn(self, kernel: str) -> tuple[str, ...]:
        """What each replication draws of it for a kernel: `speed` in a band of some width, `load` in its trace."""
        band = self.speeds.get(kernel)
        wide = band is not None and band.wide
        started = self.load is not None and self.load.draws
        return (*(("speed",) if wide else ()), *(("load",) if started else ()))

    def describe(self) -> Data:
        """A row of a table, plain data: name, node, cores, mean load, and per kernel the lowest and highest speed."""
        row: Data = {"pe": self.name, "node": self.node, "cores": self.cores}
        row["mean_load"] = None if self.load is None else self.load.trace.mean()
        for kernel, band in self.speeds.items():
            row |= {f"{kernel}_lowest": float(band.mid.min()), f"{kernel}_highest": float(band.mid.max())}
        return row

    def speed_of(self, kernel: str) -> SpeedBand:
        """The speed band of a kernel.

        Raises ScenarioError if none was measured here, with those that were.
        """
        if kernel not in self.speeds:
            raise ScenarioError(f"platform: {_no_speed((self,), kernel)}")
        return self.speeds[kernel]


def bands_of(speeds: object, *, where: str) -> Mapping[str, SpeedBand]:
    """Speeds by kernel, each a band, a text such as `3 Gflop/s`, or a number of units of volume per second.

    What holds bands only is given back as it is: PEs that are alike share one.
    """
    if not isinstance(speeds, Mapping):
        example = "speeds by kernel, such as {'stencil': '3 Gflop/s'}"
        raise ScenarioError(f"{where}: speeds: it is {given.shown(speeds)}; give {example}")
    if all(isinstance(speed, SpeedBand) for speed in speeds.values()):
        return speeds
    found: dict[str, SpeedBand] = {}
    for kernel, speed in speeds.items():
        here = f"{where}: speed of {kernel}"
        band = getattr(speed, "band", speed)  # of what was fitted
        if not isinstance(band, SpeedBand):
            example = "'3 Gflop/s', a number of units of volume per second, or a SpeedBand"
            band = SpeedBand.constant(given.quantity(speed, units.SPEED, where=here, example=example))
        found[kernel] = band
    return found


@dataclass(frozen=True)
class Node:
    """A machine that holds PEs, where more is known of it than its name."""

    name: str
    memory_bytes: int | None = None
    """Main memory for the processes on it; not looked at if None."""
    swap_bytes: int | None = None
    """What processes may have beyond memory; None: not said, and so without a limit."""
    disk: Link | None = None
    levels: tuple[MemoryLevel, ...] = ()
    """Memory levels of its PEs from the nearest on, the last one without a limit; none: nothing is known."""
    host: str | None = None
    """What launchers reach it by; its name if None."""
    swap_times: SwapTimes | None = None
    """Of the level past RAM; None: those of the disk, or assumed ones where it has no disk."""
    price_per_hour: float | None = None
    """What an hour of the node costs, whatever part of it is used, if that is said."""
    uses: Mapping[str, KernelUses] = field(default_factory=dict)
    """By kernel: what it takes of the node's caches and memory, where that was measured or said."""

    if TYPE_CHECKING:  # what a program may hand over becomes what the fields say

        def __init__(  # noqa: PLR0913, PLR0917 - its fields
            self,
            name: str,
            memory_bytes: str | float | None = None,
            swap_bytes: str | float | None = None,
            disk: Link | None = None,
            levels: tuple[MemoryLevel, ...] = (),
            host: str | None = None,
            swap_times: SwapTimes | None = None,
            price_per_hour: float | None = None,
            uses: Mapping[str, KernelUses] = ...,
        ) -> None: ...

    def __post_init__(self) -> None:
        given.check_name(self.name, where="platform: node: name")
        for name, zero in (("memory_bytes", False), ("swap_bytes", True)):
            value = getattr(self, name)
            if value is not None and not isinstance(value, int):
                at = f"platform: node {self.name}: {name.removesuffix('_bytes')}"
                found = given.quantity(value, units.SIZE, where=at, example="'64 GiB' or a number of bytes", zero=zero)
                object.__setattr__(self, name, int(found))

    @property
    def paging_levels(self) -> tuple[MemoryLevel, ...]:
        """The levels with memory's capacity and swap behind it, where that is known."""
        return levels_with_swap(self.levels, self._swap[0], memory_bytes=self.memory_bytes)

    @property
    def swap_is_from(self) -> str:
        """Where the times of swap come from."""
        return self._swap[1]

    @property
    def _swap(self) -> tuple[SwapTimes, str]:
        if self.levels and self.levels[-1].name == SWAP:
            return SwapTimes(self.levels[-1].latency_s, self.levels[-1].gap_s), "given"
        if self.swap_times is not None:
            return self.swap_times, "given"
        if self.disk is not None:
            return swap_on_disk(self.disk.latency_s, self.disk.bandwidth_bytes_per_s), "taken from the disk"
        return ASSUMED, "assumed"

    @property
    def memory_limit_bytes(self) -> float:
        """Footprints beyond which processes page; infinite if not known."""
        if self.memory_bytes is not None:
            return self.memory_bytes
        return self.levels[-2].capacity_bytes if len(self.levels) > 1 and self.levels[-1].name == SWAP else math.inf


@dataclass(frozen=True)
class Platform:
    """PEs in index order, and the network that joins their nodes."""

    pes: tuple[PE, ...]
    network: Network
    nodes: tuple[Node, ...] = ()
    """Those of which more is known than their name."""
    domains: tuple[SharingDomain, ...] = ()
    """What PEs share besides shared levels of nodes; a PE is in one domain of a kind, of caches in one of a level."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "pes", given.several(self.pes, where="platform: pes", give=SEVERAL_PES))
        for pe in self.pes:
            if not isinstance(pe, PE):
                raise ScenarioError(f"platform: pes: one of them is {given.shown(pe)}; give {SEVERAL_PES}")
        joining = "a Network, or join the nodes by star, tree, mesh, torus, bus or uniform"
        given.check_is(self.network, Network, where="platform: network", give=joining)
        self._check_domains()
        self._check_quotas()
        if any(pe.gpu is not None for pe in self.pes):
            _ = self.gpu_hosts, self.host_links
        names = [pe.name for pe in self.pes]
        if not names:
            raise ScenarioError("platform: it has no PEs; give at least one")
        repeated = [name for name, times in Counter(names).items() if times > 1]
        for name in sorted(repeated):
            raise ScenarioError(f"platform: two PEs are called {name}; give each its own name")
        unknown = sorted({node.name for node in self.nodes} - set(self.node_names))
        if unknown:
            raise ScenarioError(f"platform: node {unknown[0]} has no PEs; give it at least one")

        joined = None if self.network.topology is None else self.network.topology.node_count
        if joined is not None and joined != len(self.node_names):
            found = f"platform: network: it joins {joined} nodes and {len(self.node_names)} have PEs"
            raise ScenarioError(f"{found}; give as many of each")

    def of_nodes(self, nodes: Sequence[int]) -> "Platform":
        """Some of its nodes with their PEs, links and domains; one that comes again is a copy, named `NAME-copy1`.

        Raises ScenarioError if the network does not say how copies would be joined.

        `nodes`: node numbers, in the order in which they are to be.
        """
        tails = [f"-copy{turn}" if turn else "" for turn in turns(nodes)]
        pes, known, domains = list[PE](), list[Node](), list[SharingDomain]()
        for number, tail in zip(nodes, tails, strict=True):
            name = self.node_names[number]
            places = {place: len(pes) + at for at, place in enumerate(np.flatnonzero(self.node_of == number).tolist())}
            pes += [self.pes[place].copied(tail) for place in places]
            known += [replace(node, name=name + tail) for node in self.nodes if node.name == name]
            domains += [
                replace(domain, name=domain.name + tail, pes=tuple(places[place] for place in domain.pes))
                for domain in self.domains
                if domain.pes[0] in places
            ]
        names = [self.node_names[number] + tail for number, tail in zip(nodes, tails, strict=True)]
        return Platform(tuple(pes), self.network.of_nodes(nodes, names), tuple(known), tuple(domains))

    def _check_domains(self) -> None:
        found: dict[tuple[int, str], str] = {}
        for domain in self.domains:
            for pe in domain.pes:
                other = found.setdefault((pe, domain.level), domain.name)
                if other != domain.name:
                    what = f"a cache {domain.level}" if domain.kind == "cache" else f"a {domain.kind}"
                    where = f"platform: PE {self.pes[pe].name} is in two domains of {what}, {other} and {domain.name}"
                    raise ScenarioError(f"{where}; leave it out of one of them")

    def _check_quotas(self) -> None:
        for quota, pes in self._control_groups:
            for pe in pes:
                if self.pes[pe].quota != quota:
                    where = f"platform: PEs {self.pes[pes[0]].name} and {self.pes[pe].name} share the quota of group"
                    raise ScenarioError(f"{where} {quota.group} and say unlike ones; write the same for both")

    @cached_property
    def _as_gpus(self) -> list[tuple[str, str, Gpu | None]]:
        return [(pe.name, pe.node, pe.gpu) for pe in self.pes]

    @cached_property
    def gpu_hosts(self) -> Mapping[int, int]:
        """The PE that each GPU's process occupies, by the GPU."""
        return check_hosts(self._as_gpus)

    @cached_property
    def at_once(self) -> tuple[int, ...]:
        """The PEs that may all run at once: without those whose core a GPU's process occupies."""
        hosts = set(self.gpu_hosts.values())
        return tuple(pe for pe in range(len(self.pes)) if pe not in hosts)

    @cached_property
    def host_links(self) -> HostLinks:
        """What data move over to GPUs and back."""
        return HostLinks.of(self._as_gpus)

    @cached_property
    def speeds_of_links(self) -> Floats:
        """Bytes per second of all that data move over: each link's directions, disks of nodes (0: none), host links."""
        links = [link.bandwidth_bytes_per_s for link in self.network.links for _ in range(2)]
        disks = [0.0 if node.disk is None else node.disk.bandwidth_bytes_per_s for node in self.known_nodes]
        return np.array([*links, *disks, *(link.bandwidth_bytes_per_s for link in self.host_links.links)])

    @cached_property
    def quotas(self) -> tuple[tuple[Quota, tuple[int, ...]], ...]:
        """The quota of each control group that grants less than its PEs have, and these PEs in index order."""
        return tuple(one for one in self._control_groups if one[0].cpu < sum(self.pes[pe].cores for pe in one[1]))

    @cached_property
    def _control_groups(self) -> tuple[tuple[Quota, tuple[int, ...]], ...]:
        found: dict[tuple[str, str], list[int]] = {}
        for place, pe in enumerate(self.pes):
            if pe.quota is not None:
                key = (pe.node, pe.quota.group) if pe.quota.group else (pe.node, f"\n{place}")
                found.setdefault(key, []).append(place)
        return tuple((quota, tuple(pes)) for pes in found.values() if (quota := self.pes[pes[0]].quota) is not None)

    @classmethod
    def uniform(cls, pes: tuple[PE, ...], link: MessageModel) -> "Platform":
        """PEs any two of which exchange messages in the same time."""
        return cls(pes, Network.uniform(link))

    def __repr__(self) -> str:
        cores, nodes, network = sum(pe.cores for pe in self.pes), len(self.node_names), self.network
        joined = "uniform" if network.topology is None else type(network.topology).__name__.lower()
        held = f"{len(self.pes)} PEs with {cores} cores on {nodes} nodes"
        return f"Platform({held}, {joined}, contention {network.contention})"

    def _repr_html_(self) -> str:
        known = {node.name: node for node in self.nodes}
        memory = {name: known[name].memory_bytes for name in known}
        rows = []
        for pe in self.pes[: notebook.MOST_ROWS]:
            size = memory.get(pe.node)
            rows.append({**pe.describe(), "memory of node": None if size is None else units.show_size(size)})
        columns = {name: None for row in rows for name in row}
        table = notebook.table([columns | row for row in rows], count=len(self.pes))
        if self.network.topology is None:
            example = np.array([1.0, 2.0**20])
            times = self.network.uniform_model.time_s(example)
            joined = ", ".join(
                f"{units.show_size(size)} in {units.show_duration(float(time))}"
                for size, time in zip(example, times, strict=True)
            )
        else:
            joined = f"{type(self.network.topology).__name__.lower()}, {len(self.network.links)} links"
        shown = {"nodes": len(self.node_names), "network": joined, "contention": self.network.contention}
        return notebook.page(f"Platform of {len(self.pes)} PEs", notebook.facts(shown), table)

    def to_dataframe(self) -> "pd.DataFrame":
        """One row per PE: name, node, cores, mean load, and per kernel the lowest and highest middle speed."""
        import pandas as pd

        return pd.DataFrame([pe.describe() for pe in self.pes])

    def without_speed(self, kernel: str, pes: Iterable[int] | None = None) -> str:
        """PEs that have no speed of a kernel, as one sentence with those that they have; empty if all have one.

        `pes`: those that are asked about; all by default.
        """
        asked = range(len(self.pes)) if pes is None else sorted(set(pes))
        lacking = [self.pes[pe] for pe in asked if kernel not in self.pes[pe].speeds]
        return _no_speed(lacking, kernel) if lacking else ""

    @cached_property
    def draw_names(self) -> tuple[str, ...]:
        """What each PE's draws are keyed by: its name without leading zeros, and so without the width of a `count`.

        `slow7` of nine and `slow07` of twelve draw the same. No two PEs draw alike: where names differ in zeros only,
        the shortest one is keyed so, the others by their whole names.
        """
        plain = [plain_name(pe.name) for pe in self.pes]
        owners: dict[str, str] = {}
        for name, pe in sorted(zip(plain, self.pes, strict=True), key=lambda pair: (len(pair[1].name), pair[1].name)):
            owners.setdefault(name, pe.name)
        return tuple(name if owners[name] == pe.name else pe.name for name, pe in zip(plain, self.pes, strict=True))

    @cached_property
    def load_clocks(self) -> tuple[int, ...]:
        """The PE by whose name each PE draws where its load starts; (PE,).

        One clock for PEs of a node whose loads are the same recording: the first of them draws for all. Any other PE
        draws for itself.
        """
        clocks, loaded = list(range(len(self.pes))), dict[str, list[tuple[int, LoadTrace]]]()
        for place, pe in enumerate(self.pes):
            if pe.load is not None and pe.node and not pe.load.own:
                loaded.setdefault(pe.node, []).append((place, pe.load.recording or pe.load.trace))
        for together in loaded.values():
            one = len({id(trace) for _, trace in together}) == 1  # no hash of a long trace is needed then
            first: dict[bytes, int] = {}
            for place, trace in together:
                clocks[place] = first.setdefault(b"" if one else trace.content, place)
        return tuple(clocks)

    @cached_property
    def node_names(self) -> tuple[str, ...]:
        """Nodes in the order in which PEs name them; a network's node numbers count here."""
        return tuple(dict.fromkeys(pe.node for pe in self.pes))

    @cached_property
    def node_of(self) -> Ints:
        """Node number of each PE; (PE,)."""
        numbers = {name: number for number, name in enumerate(self.node_names)}
        return np.array([numbers[pe.node] for pe in self.pes], dtype=np.int64)

    def message_s(self, source: int, destination: int, size_bytes: ArrayLike) -> Floats:
        """Seconds of messages from one PE to another that meet no others; of the shape of `size_bytes`.

        Raises ScenarioError if nothing joins them.
        """
        sizes, ends = np.asarray(size_bytes, dtype=np.float64), self.node_of[[source, destination]]
        if ends[0] == ends[1]:
            return self.network.within.time_s(sizes)
        if self.network.topology is None:
            return self.network.uniform_model.time_s(sizes)
        routes = self.network.routes(ends[:1], ends[1:])
        flat = sizes.reshape(-1)
        return self.network.times_s(routes, np.zeros(flat.size, dtype=np.int64), flat).reshape(sizes.shape)

    @cached_property
    def memory_limits_bytes(self) -> Floats:
        """Footprints beyond which the processes of each node page; infinite where that is not known; (node,)."""
        known = {node.name: node.memory_limit_bytes for node in self.nodes}
        return np.array([known.get(name, math.inf) for name in self.node_names])

    @cached_property
    def load_samples(self) -> int:
        """Samples of the traces of all loads, each load counted once."""
        loads = {id(pe.load): pe.load for pe in self.pes if pe.load is not None}.values()
        return sum(load.trace.times_s.size for load in loads)

    @cached_property
    def known_nodes(self) -> tuple[Node, ...]:
        """One node per node number."""
        known = {node.name: node for node in self.nodes}
        return tuple(known.get(name) or Node(name) for name in self.node_names)


def _no_speed(pes: Sequence[PE], kernel: str) -> str:
    names = [pe.name for pe in pes]
    known = sorted({name for pe in pes for name in pe.speeds})
    who = f"PE {names[0]} has" if len(names) == 1 else f"PEs {some_names(names)} have"
    there = f"only of {some_names(known)}" if known else "and of no other kernel"
    return f"{who} no speed of kernel {kernel!r}, {there}{meant(kernel, known)}"


@dataclass(frozen=True)
class Meeting:
    """Processes that meet in a domain."""

    domain: SharingDomain
    processes: tuple[int, ...]
    asked: float
    """What they and the mean background load ask for together: bytes per second, bytes, or how many compute."""
    kept: Floats
    """The share of its lone speed that each keeps in this domain; of the length of `processes`."""

    @property
    def least(self) -> float:
        """The smallest share."""
        return float(self.kept.min())


def meetings(platform: Platform, kernel: str, placement: Sequence[int], sizes: Sequence[float]) -> tuple[Meeting, ...]:
    """The domains on whose PEs processes compute, by what nodes' `uses` say of the kernel."""
    if not platform.domains:
        return ()
    on: dict[int, list[int]] = {}
    for process, pe in enumerate(placement):
        on.setdefault(pe, []).append(process)
    nodes = platform.known_nodes
    found = []
    for domain in platform.domains:
        here = tuple(process for pe in domain.pes for process in on.get(pe, ()))
        if not here:
            continue
        counted = isinstance(domain.law, ShareTable)
        uses = nodes[platform.node_of[domain.pes[0]]].uses.get(kernel)
        if counted:
            each = [BUSY] * len(here)
        elif uses is None:
            each = [NO_USE] * len(here)
        else:
            known: dict[float, Use] = {}
            each = [known.setdefault(size, uses.at(domain.level, size)) for size in (sizes[one] for one in here)]
        asked = sum(use.demand for use in each) + taken_by_loads(platform, domain)
        shares = {use: float(domain.truly(domain.law.kept(use, max(0.0, asked - use.demand)))) for use in set(each)}
        found.append(Meeting(domain, here, asked, np.array([shares[use] for use in each])))
    return tuple(found)


def kept_shares(platform: Platform, kernel: str, placement: Sequence[int], sizes: Sequence[float]) -> Floats:
    """The share of its lone speed that each process keeps if all compute at once; (process,). See `meetings`."""
    kept = np.ones(len(placement))
    for meeting in meetings(platform, kernel, placement, sizes):
        kept[list(meeting.processes)] *= meeting.kept
    return kept


def capacity_of(domain: SharingDomain) -> float | None:
    """What a domain delivers or holds; None of a core or a clock."""
    law = domain.law
    return None if isinstance(law, ShareTable) else float(law.capacity)


def taken_by_loads(platform: Platform, domain: SharingDomain) -> float:
    """What the mean background load of a domain's PEs takes there."""
    total, counted = 0.0, isinstance(domain.law, ShareTable)
    for place in domain.pes:
        load = platform.pes[place].load
        if load is not None:
            mean = load.trace.mean() if load.rule != "given" else platform.pes[place].cores * (1 - load.trace.mean())
            total += mean * (1.0 if counted else load.demands.get(domain.level, 0.0))
    return total
