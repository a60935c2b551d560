"""Many hosts measured at once: what each is and how fast, what its PEs leave us, and messages between pairs of them."""

import contextlib
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from threading import Barrier, BrokenBarrierError, Lock
from typing import Any, TypeVar

import numpy as np

from simulator.base import files, units
from simulator.base.documents import read_keys, to_dict
from simulator.base.errors import MALFORMED, ApportionError, CalibrationError, ScenarioError
from simulator.base.machine import measuring_elsewhere
from simulator.base.randomness import stream
from simulator.calibration.bands.levels import SHARING
from simulator.calibration.bench.campaign import no_progress
from simulator.calibration.bench.group import Group, measuring_at
from simulator.calibration.bench.journal import IDENTITY, Entry, Journal, plain
from simulator.calibration.bench.usage import Done, Usage
from simulator.calibration.hosts.door import new_token
from simulator.calibration.hosts.host import About, Host, HostError, printable
from simulator.calibration.kernels.table import panel_kernel, sized_kernel
from simulator.calibration.neighbours.campaign import (
    fit_neighbour_visits,
    measure_neighbour_visits,
    neighbours_wishes,
)
from simulator.calibration.pingpong.campaign import Plan, measure_sizes, open_store
from simulator.calibration.pingpong.pairs import Pair
from simulator.calibration.speed.real_source import RealSource
from simulator.calibration.speed.solo import Runs
from simulator.calibration.speed.speeds import fit_speed
from simulator.models.doubt import DRIFT
from simulator.models.speed import SpeedBand

KIND, FORMAT = "cluster", 2
LEAST_BUDGET_S = 20.0
LINKS, TOGETHER = 0.3, 0.1
"""Shares of the budget: messages between hosts; all PEs at once."""
NEIGHBOURS, WITHIN = 0.35, 0.05
"""Of what is left, on a host of several PEs: what they lose to each other; messages between them."""
LEAST_SPEED_S = 4.0
"""Seconds for points of a speed at least, once processes have started: on a busy PE too they hold more than two."""
MOST_TOGETHER_S = 20.0
SLICE_S = 0.25
"""How long a sample of what a PE leaves us lasts."""
PROBE, PROBE_N = "dgemm", 96
"""What runs meanwhile: it fits the nearest cache, so that other PEs take nothing from it but their share of the PE."""
PANELS = 0.06
"""Share of the budget: panels of the kernel that is asked for, on all PEs of all hosts at once."""
PARTS = (0.5, 1.0, 2.0)
"""Rows of these panels, over those of an equal part."""
SAME_SPEED = 0.03
"""A host differs by less from one second to the next."""
FIRST_N, FIRST_RUNS = 512, 4
"""Order of the matrices, and runs, that give a first idea of a speed: some tenths of a second."""
WAIT_S = 30.0
"""How long a host waits for the others, so that all begin at once."""
MOST_ROUNDS = 31
"""Rounds of disjoint pairs: all pairs of 32 hosts; of more a sample."""
SIZES = (1, 256, 4096, 2**15, 2**17, 2**19, 2**21, 2**23, 2**25)
"""Bytes of messages, the largest ones as far as the budget goes."""
SURE, PROBED_ROUNDS, SAMPLED = 2**19, 3, 12.0
"""Messages up to this size are always measured, and tell what larger ones cost; messages that a size takes at least."""

MOST_CORES = 64
"""PEs of a host that are measured: of more so many, spread evenly, each of which stands for those next to it."""
SLACK_S = 30.0
"""What a host may take for a stage beyond the whole budget, until it is left out."""
MOST_APART = 2
"""Hosts that a host may fail to exchange messages with until no more are tried, if it does so with none."""
LEAST_PAIR_S, LEAST_WITHIN_S, SAMPLE_SHARE = 10.0, 40.0, 0.25
"""How long an exchange of messages may take at least until it is given up: between hosts, of which one may be out of
reach, and within one, where only a busy machine can be the cause. Or a share of the time for the pair: of twelve."""

FAULTS = (ApportionError, *MALFORMED, OSError, RecursionError, MemoryError)
"""What a host's answers may come to: no time, no number, no end."""
MESSAGES = "messages between hosts"
"""In the place of a host, where its times are to be measured again."""

T = TypeVar("T")
Document = dict[str, Any]
"""A model as its file holds it, which joins take."""
Progress = Callable[[str, str, float], None]
"""Called with a host, what is measured there, and the share of the whole that is done."""
_WITHOUT = (
    "its speeds are those of all PEs at once",
    "what runs of the command on its PEs lose to each other is not known",
)
"""Of a kernel, of a command."""


@dataclass(frozen=True)
class ClusterPlan:
    """What is to be measured on every host."""

    kernel: str | None = "dgemm"
    columns: int | None = None
    """Measure panels of so many columns, as an application of that order computes."""
    command: str | None = None
    """In the place of a kernel: a command line with `{n}`, whose size and volume are n."""
    max_size: float | None = None
    budget_s: float = 120.0
    seed: int = 0
    spared: float = 0.0
    """Share of the budget that is for something else."""
    drift: float = DRIFT
    """Standard deviation of what a host changes by until its speeds are used."""
    learnt: float = 1.0

    @property
    def subject(self) -> Mapping[str, object]:
        """What makes two measurements the same."""
        return {"kernel": self.kernel, "columns": self.columns, "command": self.command, "max_size": self.max_size}

    def check(self) -> None:
        """Refuse a budget that is too small before any host is reached."""
        if self.budget_s < LEAST_BUDGET_S:
            given = units.show_duration(self.budget_s)
            raise ScenarioError(f"--budget: {given} of measuring is too short; give {2 * LEAST_BUDGET_S:g}s or more")

    @property
    def name(self) -> str:
        """What the speeds are of."""
        return self.kernel or "command"

    def missing(self, about: About) -> str:
        """What a host lacks for this, as a sentence; empty if it lacks nothing."""
        if self.kernel != "stencil" or about.numba:
            return ""
        return "Numba is not there, and the stencil is compiled with it; install it there, or take another --kernel"


@dataclass(frozen=True)
class Available:
    """What a PE left us while all PEs of all hosts were at work, over time."""

    cpu: int
    times_s: tuple[float, ...]
    share: tuple[float, ...]
    """CPU seconds over wall seconds."""

    @property
    def mean(self) -> float:
        """Over all slices."""
        return float(np.mean(self.share))


@dataclass(frozen=True)
class AtWork:
    """What the PEs of a host did while all PEs of all hosts were at work."""

    available: tuple[Available, ...]
    at_work_s: Mapping[str, float]
    """CPU seconds of a panel, by its rows."""


@dataclass(frozen=True)
class MeasuredHost:
    """What is known of a host."""

    name: str
    about: About
    speed: Document
    neighbours: Document | None
    within_s: Mapping[int, tuple[float, ...]]
    """Seconds one way between two of its PEs, by bytes; empty where it has one."""
    available: tuple[Available, ...] = ()
    at_work_s: Mapping[int, float] = field(default_factory=dict)
    """CPU seconds of a panel while all PEs of all hosts compute such panels, by its rows; empty where unknown."""
    notes: tuple[str, ...] = ()
    others: Mapping[str, Document] = field(default_factory=dict)
    """Documents of speed of a PE of each further kind of core, by kind."""

    def kept(self, plan: ClusterPlan) -> dict[int, float]:
        """The share of its speed that it keeps while all hosts compute, by rows of a panel; empty where it keeps all.

        Hosts that share a cache or a memory, as containers and virtual machines do, lose speed to each other.
        """
        if not self.at_work_s:
            return {}
        kernel, band = panel_kernel(str(plan.kernel), plan.columns or 0), SpeedBand.from_dict(self.speed["model"])
        found = {
            rows: kernel.volume(rows) / seconds / float(band.speed(kernel.size(rows)))
            for rows, seconds in sorted(self.at_work_s.items())
        }
        return found if max(abs(share - 1) for share in found.values()) > SAME_SPEED else {}

    def at_work(self, plan: ClusterPlan, cpu: int | None = None) -> Document:
        """The document of the speed of a PE, by default the first, while all hosts compute."""
        kept, speed = self.kept(plan), self.others.get(kinds_of_cores(self.about).get(cpu, ""), self.speed)
        if not kept:
            return speed
        kernel = panel_kernel(str(plan.kernel), plan.columns or 0)
        band = SpeedBand.from_dict(speed["model"]).scaled(list(kept.values()), [kernel.size(rows) for rows in kept])
        return speed | {"model": band.to_dict()}


@dataclass(frozen=True)
class MeasuredPair:
    """Message times between two hosts."""

    hosts: tuple[str, str]
    samples_s: Mapping[int, tuple[float, ...]]
    """Seconds one way, by bytes."""

    def median_s(self) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        """Sizes, and the median of each."""
        sizes = sorted(self.samples_s)
        return np.array(sizes, dtype=np.float64), np.array([np.median(self.samples_s[size]) for size in sizes])


@dataclass(frozen=True)
class MeasuredCluster:
    """What was measured of all hosts that held out."""

    hosts: tuple[MeasuredHost, ...]
    pairs: tuple[MeasuredPair, ...]
    lost: Mapping[str, str]
    """Host -> why it is left out."""
    reused: int
    spent_s: float


@dataclass
class _KeptHost:
    """What is kept of a host: what the machine was, and what each finished stage made, as plain data."""

    identity: object
    stages: dict[str, object] = field(default_factory=dict)


class _Kept:
    """Finished pieces, in the journal and at hand."""

    def __init__(self, folder: Path, plan: ClusterPlan) -> None:
        self.hosts = dict[str, _KeptHost]()
        self.pairs = dict[tuple[str, str], dict[int, tuple[float, ...]]]()
        self._lock = Lock()
        path, what, belongs = folder / "cluster.jsonl", "measurements of hosts", {"subject": plan.subject}
        self.journal = Journal(path, kind=KIND, version=FORMAT, what=what, take=self._take, belongs=belongs)
        self.reused = len(self.pairs)

    def stage(self, host: Host, about: About, stage: str, measure: Callable[[], T], kind: type[T]) -> T:
        """What a stage gave, measured if it was not."""
        kept = self.hosts.setdefault(host.name, _KeptHost(identity_of(about)))
        if stage not in kept.stages:
            made = to_dict(measure())
            with self._lock:
                kept.stages[stage] = made
                entry = {"host": host.name, "identity": kept.identity, "stage": stage, "made": made}
                self.journal.keep(entry)
        else:
            self.reused += 1
        found: T = read_keys({"made": kept.stages[stage]}, made=kind)["made"]
        return found

    def forget(self, what: str) -> None:
        """Forget what was measured of a host, or all messages."""
        self._forget(what)
        self.journal.keep({"forget": what})

    def check(self, about: Mapping[str, About], folder: Path) -> None:
        """Refuse measurements of hosts that were other machines then."""
        for name, one in about.items():
            if name in self.hosts and self.hosts[name].identity != identity_of(one):
                raise ScenarioError(f"{folder} holds measurements of another machine called {name}; name a new folder")

    def whole(self, stage: str, hosts: Sequence[Host]) -> None:
        """Forget a stage that all hosts do at once unless all of them have finished it."""
        kept = [self.hosts[host.name].stages for host in hosts if host.name in self.hosts]
        if len(kept) < len(hosts) or not all(stage in stages for stages in kept):
            for stages in kept:
                stages.pop(stage, None)

    def keep_pair(self, pair: tuple[str, str], samples_s: Mapping[int, Sequence[float]]) -> None:
        """Remember a pair."""
        with self._lock:
            self.pairs[pair] = {size: tuple(row) for size, row in samples_s.items()}
            self.journal.keep({"pair": pair, "samples_s": {str(size): row for size, row in samples_s.items()}})

    def _forget(self, what: str) -> None:
        if what == MESSAGES:
            self.pairs.clear()
        self.hosts.pop(what, None)

    def _take(self, entry: Entry) -> None:
        if "forget" in entry:
            self._forget(read_keys(entry, forget=str)["forget"])
        elif "pair" in entry:
            found = read_keys(entry, pair=tuple[str, str], samples_s=dict[str, tuple[float, ...]])
            self.pairs[found["pair"]] = {int(size): row for size, row in found["samples_s"].items()}
        else:
            found = read_keys(entry, host=str, identity=Any, stage=str, made=Any)
            self.hosts.setdefault(found["host"], _KeptHost(found["identity"])).stages[found["stage"]] = found["made"]


def identity_of(about: About) -> Mapping[str, object]:
    """What must be the same of a host for its measurements to stand side by side."""
    machine = about.machine.to_dict()
    return plain({part: machine[part] for part in IDENTITY})


def reach_hosts(hosts: Sequence[Host], lost: dict[str, str], on_progress: Progress) -> dict[str, About]:
    """Reach all hosts at once; those that cannot be, and further names of one machine, are `lost`."""
    found: dict[str, About] = {}

    def reach(host: Host) -> None:
        on_progress(host.name, "reached", 0.0)
        try:
            found[host.name] = host.reach()
        except HostError as error:
            lost[host.name] = error.reason
            on_progress(host.name, f"left out: {error.reason}", 0.0)

    _all_at_once(hosts, reach)
    first: dict[tuple[str, str], str] = {}
    for host in hosts:
        if (about := found.get(host.name)) is None:
            continue
        other = first.setdefault(about.identity, host.name)
        if other != host.name:
            lost[host.name] = f"it is the same machine as {other} (host name {about.machine.host!r}); name it once"
            found.pop(host.name)
            host.close()
    return {host.name: found[host.name] for host in hosts if host.name in found}


def sampled(about: About) -> About:
    """The host with the PEs of it that are measured."""
    machine, topology = about.machine, about.topology
    if machine.pe_count <= MOST_CORES:
        return about
    order = sorted(range(machine.pe_count), key=lambda place: (topology.cores[place].kind, place))
    taken = {order[number * len(order) // MOST_CORES] for number in range(MOST_CORES)}
    cores, theirs = (tuple(part.cores[place] for place in sorted(taken)) for part in (machine, topology))
    return replace(about, machine=replace(machine, cores=cores), topology=replace(topology, cores=theirs))


def _whole(host: MeasuredHost, about: About) -> MeasuredHost:
    """A host with all its PEs: those that were not measured are as the nearest one of their kind that was."""
    if about.machine.pe_count == len(host.available):
        return replace(host, about=about)
    kinds = kinds_of_cores(about)
    place = {core.cpu: number for number, core in enumerate(about.machine.cores)}
    alike: dict[str, list[Available]] = {}
    for one in host.available:
        alike.setdefault(kinds[one.cpu], []).append(one)
    available = tuple(
        replace(min(alike.get(kinds[cpu], host.available), key=lambda one: abs(place[one.cpu] - place[cpu])), cpu=cpu)
        for cpu in about.machine.pe_cpus
    )
    note = (
        f"{host.name}: {len(host.available)} of its {len(available)} PEs were measured, spread evenly; each of the "
        "others is taken to be as the nearest one, and what all of them lose to each other at once is not known"
    )
    return replace(host, about=about, available=available, notes=(*host.notes, note))


def measure_cluster(
    hosts: Sequence[Host],
    about: Mapping[str, About],
    plan: ClusterPlan,
    *,
    folder: Path,
    lost: dict[str, str],
    on_progress: Progress,
    again: str | None = None,
    beside: Callable[[], AbstractContextManager[None]] = contextlib.nullcontext,
) -> MeasuredCluster:
    """Measure all hosts, or go on with what was broken off.

    `lost` says of hosts why they are left out, and more are added; measurements of `again`, a host or `MESSAGES`, are
    forgotten first. What is on `beside` messages within a host, such as a load that the application will meet, begins
    and ends with them.
    """
    begin_s = time.monotonic()
    kept = _Kept(folder, plan)
    with kept.journal:
        if again is not None:
            kept.forget(again)
            for path in folder.glob(f"{_points_file(folder, again).stem}.*"):
                files.remove(path)
        about = _fit_for(plan, hosts, about, lost, on_progress)
        parts = {name: sampled(one) for name, one in about.items()}
        kept.check(parts, folder)
        alive = [host for host in hosts if host.name in parts]
        measured: dict[str, MeasuredHost] = {}
        alone = _Alone(plan, turns_of(about), folder, LINKS if len(alive) > 1 else 0.0, beside)

        def guarded(what: Callable[[Host], None], stage: str) -> Callable[[Host], None]:
            return lambda host: _guarded(host, what, stage, lost, on_progress)

        _all_at_once(alive, guarded(lambda host: _speeds(host, parts[host.name], alone, kept, measured), "speeds"))
        alive = [host for host in alive if host.name in measured]
        count = sum(about[host.name].machine.pe_count for host in alive)
        together = _Together(plan, count, Barrier(max(1, len(alive))))
        kept.whole("together", alive)
        _all_at_once(alive, guarded(lambda host: _together(host, together, kept, measured), "all PEs at once"))
        alive = [host for host in alive if not host.fault]
        _links(alive, parts, plan, kept, lost, on_progress)
        alive = [host for host in alive if not host.fault]
    pairs = _pairs(alive, kept, lost)
    held = tuple(_whole(measured[host.name], about[host.name]) for host in alive)
    return MeasuredCluster(held, pairs, lost, kept.reused, time.monotonic() - begin_s)


def _pairs(alive: Sequence[Host], kept: _Kept, lost: Mapping[str, str]) -> tuple[MeasuredPair, ...]:
    """What was measured between hosts that held out; a CalibrationError where none did."""
    if not alive:
        raise CalibrationError([f"{name}: {reason}" for name, reason in lost.items()])
    names = {host.name for host in alive}
    return tuple(MeasuredPair(pair, row) for pair, row in sorted(kept.pairs.items()) if names.issuperset(pair))


def _fit_for(
    plan: ClusterPlan, hosts: Sequence[Host], about: Mapping[str, About], lost: dict[str, str], on_progress: Progress
) -> dict[str, About]:
    """The hosts that have what is needed; the others are lost before anything is measured."""
    for host in hosts:
        if host.name in about and (fault := plan.missing(about[host.name])):
            lost[host.name] = fault
            on_progress(host.name, f"left out: {fault}", 0.0)
            host.close()
    return {name: one for name, one in about.items() if name not in lost}


def _all_at_once(items: Sequence[T], do: Callable[[T], None]) -> None:
    if not items:
        return
    pool = ThreadPoolExecutor(len(items))
    try:
        list(pool.map(do, items))
    finally:
        pool.shutdown(wait=False, cancel_futures=True)  # Ctrl-C waits for nobody: threads end when hosts are closed


def _guarded(host: Host, what: Callable[[Host], None], stage: str, lost: dict[str, str], on_progress: Progress) -> None:
    """Do something with a host; whatever fails there, only this host is left out."""
    on_progress(host.name, stage, 0.0)
    try:
        what(host)
    except FAULTS as error:
        lost[host.name] = host.fault or said_by(error).removeprefix(f"{host.name}: ")
        on_progress(host.name, f"left out: {lost[host.name]}", 0.0)
        host.close()


def said_by(error: BaseException) -> str:
    """One line of what a host's answers came to."""
    lines = getattr(error, "lines", None)
    return printable(lines[0]) if lines else "what it answered does not fit what it was asked"


@dataclass(frozen=True)
class Turn:
    """What hosts share that measure their speeds one after the other."""

    free: Lock
    count: int


def turns_of(about: Mapping[str, About]) -> dict[str, Turn]:
    """The turn that each host waits for.

    Hosts under one kernel that may use the same processors, such as containers, would measure each other's work.
    """
    alike: list[tuple[str, set[int], list[str]]] = []
    for name, one in about.items():
        cpus, names = {core.cpu for core in one.machine.cores}, [name]
        for group in [group for group in alike if one.boot and group[0] == one.boot and cpus & group[1]]:
            alike.remove(group)
            cpus, names = cpus | group[1], [*group[2], *names]
        alike.append((one.boot, cpus, names))
    turns = [(Turn(Lock(), len(names)), names) for _, _, names in alike]
    return {name: turn for turn, names in turns for name in names}


@dataclass(frozen=True)
class _Alone:
    """What each host does by itself, and what it knows of the others."""

    plan: ClusterPlan
    turns: Mapping[str, Turn]
    folder: Path
    links: float
    """Share of the budget that messages between hosts take."""
    beside: Callable[[], AbstractContextManager[None]]
    """What is on while messages within a host are measured."""

    def rest_s(self, host: Host) -> float:
        """Seconds for a host by itself."""
        rest = 1 - self.links - TOGETHER - PANELS - self.plan.spared
        return rest * self.plan.budget_s / self.turns[host.name].count


def _speeds(host: Host, about: About, asked: _Alone, kept: _Kept, measured: dict[str, MeasuredHost]) -> None:
    """The speed of one PE of each kind, and what PEs of the host lose to each other, when it is the host's turn."""
    cpus, plan, rest_s = about.machine.pe_cpus, asked.plan, asked.rest_s(host)
    several = len(cpus) > 1
    apart = several and bool(about.numba)  # the probes that stand for neighbours are compiled
    notes: list[str] = []
    if several and not apart:
        notes.append(f"{host.name}: Numba is not there, so that {_WITHOUT[plan.kernel is None]}")
    elsewhere = measuring_at(host), measuring_elsewhere(about.machine, about.topology)
    with asked.turns[host.name].free, host.done_within(plan.budget_s + SLACK_S), elsewhere[0], elsewhere[1]:
        first, *more = one_of_each_kind(about).items()
        budget_s = rest_s * (1 - NEIGHBOURS * apart - WITHIN * several) / (1 + len(more))

        def speed(stage: str, cpu: int, store: Path) -> Document:
            measure = partial(_speed, plan, cpu, budget_s, store, together=not apart)
            return kept.stage(host, about, stage, measure, Document)

        store = _points_file(asked.folder, host.name)
        found = speed("speed", first[1], store)
        others = {kind: speed(f"speed of {kind}", cpu, store.with_suffix(f".{cpu}.jsonl")) for kind, cpu in more}
        neighbours, within_s = None, dict[str, tuple[float, ...]]()
        if several:
            measure = partial(_within, host, cpus, WITHIN * rest_s, plan.seed)
            with asked.beside():
                within_s = kept.stage(host, about, "within", measure, dict[str, tuple[float, ...]])
        if apart:
            lost = partial(_neighbours, plan, cpus, NEIGHBOURS * rest_s)
            try:
                neighbours = kept.stage(host, about, "neighbours", lost, Document)
                notes += [f"{host.name}: {line}" for line in neighbours["warnings"] if SHARING in line]
            except ScenarioError as error:
                notes.append(f"{host.name}: what its PEs lose to each other is not known: {error.lines[0]}")
    times = {int(size): row for size, row in within_s.items()}
    measured[host.name] = MeasuredHost(host.name, about, found, neighbours, times, notes=tuple(notes), others=others)


def _speed(plan: ClusterPlan, cpu: int, budget_s: float, store: Path, *, together: bool) -> Document:
    cap_s, most = max(0.5, budget_s / 5), plan.max_size
    if plan.kernel is not None:
        wish = partial(RealSource.of_kernel, plan.kernel, columns=plan.columns, together=together)
    else:
        wish = partial(RealSource.of_command, str(plan.command), size="n", volume="n")
    source = wish(cpu=cpu, time_cap_s=cap_s, max_size=most, store=store)
    budget_s = max(budget_s, source.ends_s + LEAST_SPEED_S)
    built = fit_speed(source, budget_s=budget_s, drift=plan.drift, learnt=plan.learnt)
    return built.to_dict() | {"kernel": plan.name, "model": built.band.to_dict()}


def _neighbours(plan: ClusterPlan, cpus: Sequence[int], budget_s: float) -> Document:
    commands = [] if plan.command is None else [(plan.command, "n", "n")]
    kernels = () if plan.kernel is None else (plan.kernel,)
    wishes = neighbours_wishes(kernels=kernels, commands=commands, seed=plan.seed, cpus=cpus, small=True)
    return fit_neighbour_visits(measure_neighbour_visits(wishes, budget_s=budget_s), judge=False).to_dict()


@dataclass(frozen=True)
class _Together:
    """What all hosts do at once."""

    plan: ClusterPlan
    pes: int
    start: Barrier

    def rows(self, speed: Mapping[str, Any], seconds: float) -> list[int]:
        """Panels to run, by their rows: those within what a host's speed was measured at that take less than this."""
        if self.plan.kernel is None or self.plan.columns is None:
            return []
        kernel, band = panel_kernel(self.plan.kernel, self.plan.columns), SpeedBand.from_dict(speed["model"])
        wished = {max(kernel.least, round(part * self.plan.columns / self.pes)) for part in PARTS}
        sizes = {count: kernel.size(count) for count in sorted(wished)}
        return [
            count
            for count, size in sizes.items()
            if band.sizes[0] <= size <= band.sizes[-1] and kernel.volume(count) <= seconds * float(band.speed(size))
        ]

    def wait(self) -> None:
        """Wait for all hosts; one that does not come is waited for once."""
        with contextlib.suppress(BrokenBarrierError):
            self.start.wait(WAIT_S)


def _together(host: Host, asked: _Together, kept: _Kept, measured: dict[str, MeasuredHost]) -> None:
    """What all PEs leave us, and how fast panels of the kernel are, while those of all hosts are at work."""
    known, plan = measured[host.name], asked.plan
    cpus = known.about.machine.pe_cpus
    seconds, each_s = min(MOST_TOGETHER_S, TOGETHER * plan.budget_s), PANELS * plan.budget_s / len(PARTS)
    rows = asked.rows(known.speed, each_s) if known.neighbours is None else []

    def measure() -> AtWork:
        with Group("kernel", [(cpu, PROBE) for cpu in cpus], places=[host] * len(cpus)) as group:
            for count in rows[:1]:  # loops are compiled before the others begin
                group.ask_all(_panel(plan, count), Done)
            group.ask_all({"do": "prepare", "n": PROBE_N, "key": 0, "warm": True}, Done)
            asked.wait()
            begun, shares = time.monotonic(), list[tuple[float, list[float]]]()
            while not shares or time.monotonic() - begun < seconds:
                since = time.monotonic() - begun
                shares.append((since, [min(1.0, one.cpu_s / one.wall_s) for one in _slice(group, 0)]))
            at_work_s = {}
            for number, count in enumerate(rows, start=1):
                group.ask_all(_panel(plan, count), Done)
                at_work_s[str(count)] = _run_s(group, begun + seconds + number * each_s)
        times = [since for since, _ in shares]
        available = tuple(
            Available(cpu, tuple(times), tuple(row[place] for _, row in shares)) for place, cpu in enumerate(cpus)
        )
        return AtWork(available, at_work_s)

    try:
        with host.done_within(plan.budget_s + SLACK_S):
            made = kept.stage(host, known.about, "together", measure, AtWork)
    except BaseException:
        asked.start.abort()  # the others wait for nobody who is gone
        raise
    at_work_s = {int(count): value for count, value in made.at_work_s.items()}
    measured[host.name] = replace(known, available=made.available, at_work_s=at_work_s)


def _panel(plan: ClusterPlan, rows: int) -> dict[str, object]:
    name = panel_kernel(str(plan.kernel), plan.columns or 0).name
    return {"do": "prepare", "kernel": name, "n": rows, "key": 1, "warm": True}


def _slice(group: Group, key: int) -> list[Usage]:
    """What was used by some time of runs over and over."""
    group.ask_all({"do": "begin", "key": key}, Done)
    time.sleep(SLICE_S)
    return group.ask_all({"do": "stop"}, Usage)


def _run_s(group: Group, until_s: float) -> float:
    """CPU seconds of one run on one PE, while all PEs run, up to a moment."""
    found = list[float]()
    while not found or time.monotonic() < until_s:
        used = sum(one.cpu_s for one in _slice(group, 1))
        found.append(used / sum(answer.runs for answer in group.ask_all({"do": "runs"}, Runs)))
    median = float(np.median(found[len(found) > 2 :]))  # others may have begun a little later
    if not 0 < median < np.inf:
        raise CalibrationError(f"a run of the kernel took {median:g} CPU seconds, which is no time")
    return median


def kinds_of_cores(about: About) -> dict[int | None, str]:
    """The kind of each core, by its processor."""
    return {core.cpu: core.kind for core in about.topology.cores}


def one_of_each_kind(about: About) -> dict[str, int]:
    """The first PE of each kind of core: those that are alike share what is measured on it."""
    kinds, found = kinds_of_cores(about), dict[str, int]()
    for cpu in about.machine.pe_cpus:
        found.setdefault(kinds[cpu], cpu)
    return found


def first_speed(host: Host, about: About, kernel: str) -> float:
    """A first idea of a kernel's speed while all PEs of a host run it, in units of volume per second."""
    cpus, sized = sampled(about).machine.pe_cpus, sized_kernel(kernel)
    with Group("kernel", [(cpu, kernel) for cpu in cpus], places=[host] * len(cpus)) as group:
        group.ask_all({"do": "prepare", "n": FIRST_N, "warm": True}, Done)
        used = group.ask_all({"do": "sample", "inner": FIRST_RUNS}, Usage)
    return FIRST_RUNS * sized.volume(FIRST_N) / float(np.median([one.wall_s for one in used]))


def rounds_of(names: Sequence[str], *, seed: int) -> list[list[tuple[str, str]]]:
    """Rounds of disjoint pairs: all pairs of up to 32 names, each once (the circle method); of more some of them.

    Of more than 32, each name is in `MOST_ROUNDS` pairs or fewer, drawn at random without repeats.
    """
    if len(names) < 2:
        return []
    circle: list[str | None] = [*names, *([None] if len(names) % 2 else [])]
    if len(names) > MOST_ROUNDS + 1:
        circle = [circle[place] for place in stream(seed, "cluster", "pairs").permutation(len(circle))]
    count, found = len(circle), []
    for _ in range(min(count - 1, MOST_ROUNDS)):
        pairs = [(circle[place], circle[count - 1 - place]) for place in range(count // 2)]
        found.append([(one, other) for one, other in pairs if one is not None and other is not None])
        circle = [circle[0], circle[-1], *circle[1:-1]]
    return found


def _links(
    hosts: Sequence[Host],
    about: Mapping[str, About],
    plan: ClusterPlan,
    kept: _Kept,
    lost: dict[str, str],
    on_progress: Progress,
) -> None:
    """Message times, round by round; hosts that can talk to none of those that they were paired with are lost."""
    at = {host.name: host for host in hosts}
    rounds = rounds_of([host.name for host in hosts], seed=plan.seed)
    apart: dict[str, list[tuple[str, str]]] = {}
    for number, pairs in enumerate(rounds):
        share = LINKS * plan.budget_s / len(rounds)

        def measure(pair: tuple[str, str], share: float = share) -> None:
            one, other = (at[name] for name in pair)
            joined = {name for both in list(kept.pairs) for name in both}
            given_up = [name for name in pair if len(apart.get(name, ())) >= MOST_APART and name not in joined]
            if one.fault or other.fault or given_up or _in_order(pair) in kept.pairs:
                return
            try:
                kept.keep_pair(_in_order(pair), _pair(one, other, about, share, plan.seed))
            except FAULTS as error:
                for mine, its in (pair, pair[::-1]):
                    apart.setdefault(mine, []).append((its, said_by(error)))

        on_progress("", f"messages, round {number + 1} of {len(rounds)}", number / len(rounds))
        _all_at_once(pairs, measure)
    joined = {name for pair in kept.pairs for name in pair}
    for host in hosts:
        if host.fault and host.name not in lost:
            lost[host.name] = host.fault
        elif host.name not in joined and any(other is not host and not other.fault for other in hosts):
            other, why = apart.get(host.name, [("any other host", "no pair")])[0]
            lost[host.name] = f"it has no way to talk to {other} ({why}); let them reach each other by TCP"
            host.close()


def _pair(one: Host, other: Host, about: Mapping[str, About], budget_s: float, seed: int) -> dict[int, list[float]]:
    """Ping-pong between one worker on each of two hosts."""
    cpus = [about[host.name].machine.cores[0].cpu for host in (one, other)]
    with connection(one, other, about[one.name]) as numbers:
        return _ping_pong((one, other), cpus, numbers, budget_s, seed)


def _within(host: Host, cpus: Sequence[int], budget_s: float, seed: int) -> dict[str, tuple[float, ...]]:
    """Ping-pong between two workers of a host."""
    with channel_within(host) as numbers:
        made = _ping_pong((host, host), cpus[:2], numbers, budget_s, seed)
    return {str(size): tuple(row) for size, row in made.items()}


def _ping_pong(
    hosts: tuple[Host, Host], cpus: Sequence[int], numbers: tuple[int, int], budget_s: float, seed: int
) -> dict[int, list[float]]:
    """Seconds one way by bytes, over a channel that has these numbers at its ends."""
    rows = [(cpus[end], json.dumps({1 - end: (numbers[end], numbers[end])})) for end in (0, 1)]
    with Group("ping-pong", rows, inherited=[[number] for number in numbers], places=hosts) as group:
        least_s = LEAST_WITHIN_S if hosts[0] is hosts[1] else LEAST_PAIR_S
        pair = Pair(group, limit_s=max(least_s, SAMPLE_SHARE * budget_s))
        each_s = pair.sample_s(SURE, rounds=PROBED_ROUNDS, batches=1) / SURE
        sizes = [size for size in SIZES if size <= SURE or SAMPLED * size * each_s <= budget_s / 2]
        campaign = Plan(sizes, budget_s, seed, firm=False)
        store = open_store(None, campaign, subject={}, machine=None)
        return measure_sizes(campaign, pair.sample_s, store, on_progress=no_progress)


@contextlib.contextmanager
def channel_within(host: Host) -> Iterator[tuple[int, int]]:
    """A channel between two workers of a host; see `connection`."""
    answer = host.call("pair").get("numbers")
    numbers = [_number(host, {"number": number}, "number") for number in answer] if isinstance(answer, list) else []
    if len(numbers) != 2:
        host.refuse("it answered with no channel between two of its workers")
    try:
        yield numbers[0], numbers[1]
    finally:
        with contextlib.suppress(HostError):
            host.send({"do": "release", "numbers": numbers})


@contextlib.contextmanager
def connection(one: Host, other: Host, about: About) -> Iterator[tuple[int, int]]:
    """A TCP connection between two hosts, as the number that it has on each; workers may inherit it."""
    token, addresses = new_token(), [*about.addresses, one.name.rpartition("@")[2]]
    port = _number(one, one.call("listen"), "port")
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(one.call, "accept", token=token)
        try:
            there = _number(other, other.call("connect", addresses=addresses, port=port, token=token), "number")
        except CalibrationError:
            waiting.exception()  # it gives up soon
            raise
        numbers = _number(one, waiting.result(), "number"), there
    try:
        yield numbers
    finally:
        for host, number in zip((one, other), numbers, strict=True):
            with contextlib.suppress(HostError):
                host.send({"do": "release", "numbers": [number]})


def _in_order(pair: tuple[str, str]) -> tuple[str, str]:
    return min(pair), max(pair)


def _number(host: Host, answer: Mapping[str, Any], name: str) -> int:
    value = answer.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2**20:
        host.refuse(f"it answered what is no number where a {name} was asked for")
    return value


def _points_file(folder: Path, host: str) -> Path:
    """Where a host's points are, under a name with nothing in it that leads elsewhere."""
    name = "".join(one if one.isalnum() or one in "-_" else f"%{ord(one):x}" for one in host)
    return folder / f"points-{name}.jsonl"
