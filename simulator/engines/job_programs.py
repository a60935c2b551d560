"""Jobs that are runs of applications: the places that a platform has for them, and their ends, really simulated.

All jobs that have started are one program: each waits until its start and then does what its application does, on the
PEs that it got, under their loads, with the others on links and in sharing domains. What starts later changes
nothing that ended before, so the first end is final and the next decision is taken then.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from simulator.base.arrays import Ints
from simulator.base.errors import ScenarioError
from simulator.engines.costs.jobs import JOB_TICK_S
from simulator.engines.costs.ticks import rounded
from simulator.engines.run import Engine, run
from simulator.models.load import availability
from simulator.platform.nodes import PE, Platform
from simulator.programs.assembly import assemble
from simulator.programs.columns import Columns, Kind
from simulator.programs.configuration import Configuration
from simulator.programs.program import Program
from simulator.programs.streams.stream import Stream
from simulator.scenario_file.scenario import Application, Scenario
from simulator.scheduling.places import Cluster

__all__ = ["JobPrograms", "Started", "cluster_of", "job_scenario", "places_of", "with_equal_parts"]


@dataclass(frozen=True)
class Started:
    """A job that runs or ran."""

    job: int
    start: int
    places: tuple[int, ...]


def places_of(platform: Platform) -> Ints:
    """The PE of each place for a process: a PE with several cores has as many places; (place,)."""
    return np.repeat(np.arange(len(platform.pes)), [pe.cores for pe in platform.pes])


def cluster_of(scenario: Scenario) -> Cluster:
    """A scenario's platform as decisions know it: places of mean speed under their loads, with their parts of memory.

    The speed is that of the application's kernel at its largest known problem size.
    """
    platform, kernel = scenario.platform, scenario.application.kernel
    speed = np.array([_mean_speed(pe, kernel) for pe in platform.pes])
    of_place = places_of(platform)
    node_of = np.asarray(platform.node_of)[of_place]
    shares = np.bincount(node_of)[node_of]
    memory = np.asarray(platform.memory_limits_bytes, dtype=np.float64)[node_of] / shares
    cores = (core for pe in platform.pes for core in range(pe.cores))
    names = tuple(f"{platform.pes[pe].name}.{core}" for pe, core in zip(of_place, cores, strict=True))
    return Cluster(speed.max() / speed[of_place], memory, names)


def _mean_speed(pe: PE, kernel: str) -> float:
    """Speed of a core of a PE for one process under its mean load, rounded so that PEs alike are of one class."""
    speed = float(pe.speed_of(kernel).mid[-1])
    if pe.load is None:
        return speed
    shares = availability(pe.load.trace.values, pe.load.rule, cores=pe.cores)
    return float(f"{speed * float(np.average(shares, weights=pe.load.trace.durations_s)):.6g}")


def job_scenario(scenario: Scenario, stream: Stream, application: int) -> Scenario:
    """The scenario of one of a stream's applications: its platform, kernel and draws with other work."""
    asked = stream.applications[application]
    made = Application(asked.name, scenario.application.kernel, asked.parameters, memory=scenario.application.memory)
    return replace(scenario, application=made, configurations=())


def with_equal_parts(scenario: Scenario, name: str, places: Sequence[int], of_place: Ints) -> Configuration:
    """A configuration with parts of the work on some places as equal as the application can use them.

    The first processes get one unit more.
    """
    work = scenario.application.work
    share, rest = divmod(work.units, len(places))
    parts = work.fitting(tuple(share + (process < rest) for process in range(len(places))))
    return Configuration(name, parts, tuple(of_place[list(places)].tolist()))


@dataclass(frozen=True, eq=False)
class JobPrograms:
    """The ends of jobs in one replication of a scenario."""

    scenario: Scenario
    """Platform, kernel, loads and seed; its own application and configurations are not looked at."""
    stream: Stream
    replication: int = 0
    engine: Engine = "auto"
    _columns: dict[tuple[int, int], Columns] = field(default_factory=dict, repr=False)
    _alone: dict[tuple[int, int], int] = field(default_factory=dict, repr=False)
    """End of each job by start, where jobs do not meet."""
    _engines: set[str] = field(default_factory=set, repr=False)
    """Those that simulated so far: `auto` may go over from one to the other."""

    def __post_init__(self) -> None:
        if self.scenario.platform.quotas:
            raise ScenarioError("platform: jobs cannot be simulated as programs under quotas of PEs; leave these out")
        if np.any(self.stream.application < 0):
            job = self.stream.ids[int(np.argmax(self.stream.application < 0))]
            raise ScenarioError(
                f"stream {self.stream.name}: job {job} is a duration; only runs of applications can be simulated"
            )

    @property
    def done_by(self) -> str:
        """The engines that simulated."""
        return " and ".join(sorted(self._engines, reverse=True)) or str(self.engine)

    @cached_property
    def meet(self) -> bool:
        """Whether jobs can slow each other down: on links, in sharing domains, or on PEs of several cores under loads.

        Without a load each place of such a PE has a core of its own; a load shares all cores with all processes.
        """
        platform = self.scenario.platform
        loaded = any(pe.cores > 1 and pe.load is not None for pe in platform.pes)
        return platform.network.contention != "none" or bool(platform.domains) or loaded

    @cached_property
    def _of_place(self) -> Ints:
        return places_of(self.scenario.platform)

    @cached_property
    def _bare(self) -> Scenario:
        """The scenario without limits of memory: processes that never meet would page together."""
        nodes = tuple(replace(node, memory_bytes=None, swap_bytes=None) for node in self.scenario.platform.nodes)
        platform = replace(self.scenario.platform, nodes=nodes)
        whole = max(self.scenario.replications, self.replication + 1)
        return replace(self.scenario, platform=platform, replications=whole)

    def ends(self, started: Sequence[Started], ended: Mapping[int, int]) -> dict[int, int]:
        """The end of each job that has started and not ended, if nothing else starts; by job, in ticks of the stream.

        `started`: in the order of their starts.
        `ended`: ends that are known, by job.
        """
        if not self.meet:
            for one in started:
                if one.job not in ended and (one.job, one.start) not in self._alone:
                    self._alone[one.job, one.start] = self._simulated([one])[one.job]
            return {one.job: self._alone[one.job, one.start] for one in started if one.job not in ended}
        found = self._simulated(_connected(started, ended))
        return {job: end for job, end in found.items() if job not in ended}

    def _simulated(self, started: Sequence[Started]) -> dict[int, int]:
        """Run what has started as one program."""
        columns = together([self._of(one) for one in started], [one.start * JOB_TICK_S for one in started])
        count = columns.processes
        program = Program(((),) * count, tuple(columns.footprints_bytes.tolist()), columns.polls, assembled=columns)
        pes = [pe for one in started for pe in self._of_place[list(one.places)].tolist()]
        kernel = self.scenario.application.kernel
        application = replace(Application.of_program(program, kernel=kernel), memory=self.scenario.application.memory)
        configuration = Configuration("jobs", (1,) * count, tuple(pes))
        scenario = replace(self._bare, application=application, configurations=(configuration,))
        runs = run(scenario, replications=1, first_replication=self.replication, engine=self.engine)
        self._engines.add(runs.engine)
        ticks, first = runs.finish_ticks[0][0], 0
        ends = {}
        per_tick = round(JOB_TICK_S / runs.tick_s)
        began = rounded(np.array([one.start * JOB_TICK_S for one in started]), runs.tick_s).tolist()
        for one, begin in zip(started, began, strict=True):
            # seconds hold no late start to the tick: what it was off by is no part of the job's time
            last = int(ticks[first : first + len(one.places)].max()) - (begin - one.start * per_tick)
            ends[one.job] = max(one.start + 1, -(-last // per_tick))
            first += len(one.places)
        return ends

    def _of(self, one: Started) -> Columns:
        """What a job's processes do."""
        key = int(self.stream.application[one.job]), len(one.places)
        if key not in self._columns:
            scenario = job_scenario(self._bare, self.stream, key[0])
            try:
                program = scenario.program(with_equal_parts(scenario, "job", one.places, self._of_place))
            except ScenarioError as error:
                raise ScenarioError([f"job {self.stream.ids[one.job]}: {line}" for line in error.lines]) from None
            if program.doubt is not None or program.noise is not None:
                name = self.stream.applications[key[0]].name
                raise ScenarioError(f"job {self.stream.ids[one.job]}: {name} is known by its times only; predict it")
            self._columns[key] = _without_draws(assemble(program))
        return self._columns[key]


def _connected(started: Sequence[Started], ended: Mapping[int, int]) -> list[Started]:
    """The jobs that can have met those that still run, or met one that did."""
    begin = min((one.start for one in started if one.job not in ended), default=0)
    for one in reversed(started):
        if one.job in ended and ended[one.job] > begin:
            begin = min(begin, one.start)
    return [one for one in started if one.job not in ended or ended[one.job] > begin]


def together(parts: Sequence[Columns], starts_s: Sequence[float]) -> Columns:
    """Several programs as one, each of whose processes first waits until a time."""
    delayed = [_delayed(columns, start_s) for columns, start_s in zip(parts, starts_s, strict=True)]
    before = dict.fromkeys(("process", "row", "barrier", "farm", "table", "custom"), 0)
    found: list[Columns] = []
    for columns in delayed:
        found.append(_moved(columns, before))
        before["process"] += columns.processes
        before["row"] += columns.kind.size
        before["barrier"] += columns.barriers.size
        before["farm"] += columns.farms.size
        before["table"] += len(columns.farm_tables)
        before["custom"] += len(columns.customs)
    names = ("kind", "index", "partner", "source", "tag", "amount", "size", "barriers", "farms", "footprints_bytes")
    joined: dict[str, Any] = {name: np.concatenate([getattr(columns, name) for columns in found]) for name in names}
    first = np.concatenate([columns.first[:-1] for columns in found] + [found[-1].first[-1:]])
    tables = tuple(table for columns in found for table in columns.farm_tables)
    return Columns(first=first, farm_tables=tables, customs=(), polls=any(columns.polls for columns in found), **joined)


def _without_draws(columns: Columns) -> Columns:
    """Columns whose farms' units are the same in each run: jobs have no draws of their own."""
    if any(table.spread is not None for table in columns.farm_tables):
        raise ScenarioError("stream: a farm with a distribution; jobs draw no units, leave the distribution out")
    return columns


def _delayed(columns: Columns, start_s: float) -> Columns:
    """With an operation before each process's first one that waits until a time."""
    at = columns.first[:-1]
    new = dict.fromkeys(("index", "tag", "size"), 0.0) | dict.fromkeys(("partner", "source"), -1.0)
    new |= {"kind": float(Kind.WAIT_UNTIL), "amount": start_s}
    made: dict[str, Any] = {name: np.insert(getattr(columns, name), at, value) for name, value in new.items()}
    return replace(columns, first=columns.first + np.arange(columns.first.size), **made)


def _moved(columns: Columns, before: Mapping[str, int]) -> Columns:
    """With numbers of processes, barriers and farms that follow those of other programs."""
    shift = np.where(columns.sends | columns.receives, before["process"], 0)
    shift += np.where(columns.kind == Kind.BARRIER, before["barrier"], 0)
    shift += np.where(columns.kind == Kind.FARM, before["farm"], 0)
    partner = np.where(columns.partner >= 0, columns.partner + shift, columns.partner).astype(np.int32)
    receives_too = columns.kind == Kind.EXCHANGE
    source = np.where(receives_too, columns.source + before["process"], columns.source).astype(np.int32)
    tables = tuple(
        replace(table, processes=tuple(process + before["process"] for process in table.processes))
        for table in columns.farm_tables
    )
    return replace(
        columns,
        first=columns.first + before["row"],
        partner=partner,
        source=source,
        farms=(columns.farms + before["table"]).astype(np.int32),
        farm_tables=tables,
    )
