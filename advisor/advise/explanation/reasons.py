"""Why an advice is as it is: which PE limits, who waits for whom, and what each thing costs."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from advisor.advise import changes
from advisor.advise.explanation.neighbours import Other
from advisor.advise.explanation.questions import Questions
from simulator import (
    Configuration,
    Meeting,
    RunSet,
    Scenario,
    capacity_of,
    critical_path,
    documents,
    domain_meetings,
    ties,
    waits_by_pe,
)

_One = TypeVar("_One")
LEAST_LOST = 0.005
"""A domain in which each keeps more than 1 less this does not bind."""
LOGGED = 10
"""Replications whose operations are looked at one by one."""
MOST_LOGGED, MOST_STEPS = 64, 100_000
"""Processes, and rounds of all of them, up to which that is so; beyond, one replication is."""
UNKNOWN = "calls whose site is not known"
MOST_CALLS, MOST_TALKS = 8, 8


@dataclass(frozen=True)
class Call:
    """A call site."""

    site: str
    share: float
    """Part of the makespan that a rank spends there, messages and waiting for others, in the mean."""


@dataclass(frozen=True)
class Talk:
    """Two ranks that send each other messages."""

    ranks: tuple[int, int]
    sent_bytes: float
    """Both ways."""
    site: str
    """The call that sends most of it."""
    nodes: tuple[str, ...]
    """Where they are advised to be: one node, or two."""


@dataclass(frozen=True)
class Told:
    """What is to be known of the calls of a recorded program."""

    calls: tuple[Call, ...]
    """Those that take most first."""
    talks: tuple[Talk, ...]
    """Those that send most first."""


@dataclass(frozen=True)
class Limit:
    """How far one PE decides the makespan."""

    pe: str
    path_share: float
    """Its computations' part of the critical path, a mean over replications."""
    computes_last: float
    """Share of replications in which it is the last to end computing; ties count in parts."""


@dataclass(frozen=True)
class Wait:
    """How long processes of one PE wait for those of another to be ready, messages not counted, in the mean."""

    pe: str
    waits_for: str
    seconds: float


@dataclass(frozen=True)
class Cost:
    """What the recommended configuration would save without one thing, on the same draws."""

    of: str
    """`messages`, `load`, `problem size`, `neighbours`, `shared memory` or `paging`."""
    makespan_s: float
    """Mean without it."""
    share: float
    """Part of the makespan that the same configuration saves, with its 95 % interval, if replications tell one."""
    low: float | None
    high: float | None
    divided_anew: float
    """Part of the makespan that is saved if the work is redivided."""


@dataclass(frozen=True)
class Binding:
    """A sharing domain, and others that are asked for as much of the same, while all its processes compute."""

    domain: str
    kind: str
    pes: tuple[str, ...]
    processes: int
    """That compute on these PEs."""
    asked: float
    """Bytes per second of memory, bytes of a cache, or how many compute; mean background load counted."""
    capacity: float | None
    """What there is; None of a core or a clock."""
    kept: float
    """Smallest share of its lone speed that one of them keeps there."""
    alike: int
    """Further domains of which all this holds."""


@dataclass(frozen=True)
class Reasons:
    """Why the recommended configuration takes as long as it does, and why with these PEs."""

    limits: tuple[Limit, ...]
    """PEs that have units, the one that limits most first."""
    path_messages: float
    """Part of the critical path that no computation takes."""
    computing: float
    """Part of the used PEs' process-seconds that goes into computing, into waiting and messages, and after the end."""
    waiting: float
    idle: float
    waits: tuple[Wait, ...]
    """Longest first."""
    costs: tuple[Cost, ...]
    """Largest first."""
    others: tuple[Other, ...] = ()
    sharing: tuple[Binding, ...] = ()
    """Sharing domains that bind, those in which least is kept first."""
    told: Told | None = field(default=None, metadata=documents.SPARE)
    """Of a recorded program."""


def reasons(asked: Questions) -> Reasons:
    """Look at the recommended configuration's runs, and at what it takes without messages, load, and so on.

    Raises OutOfBudgetError if no more may be asked.
    """
    scenario, chosen, runs = asked.scenario, asked.made.configuration, asked.made.runs
    used = np.flatnonzero(np.array(chosen.partition) > 0)
    logged = _logged(asked)
    path, messages, waits = _followed(asked, logged)
    last = _last(scenario, chosen, runs.computed_ticks[runs.configurations.index(chosen.name)])
    limits = [Limit(name, path[name], last[name]) for name in last]
    parts = runs.breakdown(chosen.name)
    sums = [sum(parts[process][key] for process in used) for key in ("busy_s", "waiting_s", "idle_s")]
    computing, waiting, idle = (value / sum(sums) for value in sums)
    return Reasons(
        _largest(limits, [one.path_share for one in limits], [one.computes_last for one in limits]),
        messages,
        computing,
        waiting,
        idle,
        _largest(waits, [wait.seconds for wait in waits]),
        _costs(asked),
        sharing=bindings(scenario, chosen),
        told=told(scenario, chosen, logged),
    )


def _logged(asked: Questions) -> RunSet:
    """Runs of the advice with the log of their operations: some, or one where there are many operations."""
    processes = len(asked.made.configuration.partition)
    steps = processes * asked.scenario.application.work.rounds(processes)
    return asked.logged(LOGGED if processes <= MOST_LOGGED and steps <= MOST_STEPS else 1)


def _followed(asked: Questions, runs: RunSet) -> tuple[dict[str, float], float, list[Wait]]:
    """Parts of critical paths by PE, the part without computing, and who waits for whom; means over replications."""
    chosen = asked.made.configuration
    replications = runs.makespan_ticks.shape[1]
    scenario = asked.scenario.with_configurations((chosen,))
    path: dict[str, float] = defaultdict(float)
    waits: dict[tuple[str, str], float] = defaultdict(float)
    for replication in range(replications):
        makespan = int(runs.makespan_ticks[0, replication])
        for step in critical_path(scenario, runs, 0, replication):
            if step.operation.operation == "compute":
                path[step.operation.pe] += (step.to_ticks - step.from_ticks) / makespan / replications
        for pair, seconds in waits_by_pe(scenario, runs, 0, replication).items():
            waits[pair] += seconds / replications
    messages = max(0.0, 1 - sum(path.values()))
    return path, messages, [Wait(*pair, seconds) for pair, seconds in waits.items()]


def _largest(found: Sequence[_One], *keys: Sequence[float]) -> tuple[_One, ...]:
    """Those with the largest first key first, of equal ones those with the largest second; equals in their order."""
    return tuple(found[place] for place in ties.in_order(*(-np.array(key) for key in keys)))


def _last(scenario: Scenario, chosen: Configuration, ended: NDArray[np.int64]) -> dict[str, float]:
    """Share of replications in which each PE with units computes last; `ended` is (replication, process)."""
    latest = ended == ended.max(axis=1, keepdims=True)
    shares = (latest / latest.sum(axis=1, keepdims=True)).mean(axis=0)
    found: dict[str, float] = {}
    for process, (pe, units) in enumerate(zip(chosen.placement, chosen.partition, strict=True)):
        if units:
            name = scenario.platform.pes[pe].name
            found[name] = found.get(name, 0.0) + float(shares[process])
    return found


def _costs(asked: Questions) -> tuple[Cost, ...]:
    now, found = asked.now, []
    for of, changed in _without(asked.scenario, asked.chosen):
        judge = asked.judge(changed)
        certain = asked.scenario.deterministic and changed.deterministic
        longer = asked.gain(asked.kept(judge), asked.kept(now), deterministic=certain)
        _, least, most = longer.change
        low, high = (None if end is None else -end for end in (most, least))
        again = 1 - judge.value(judge.best or asked.chosen) / now.value(asked.chosen)
        found.append(Cost(of, judge.value(asked.chosen), 1 - longer.mean, low, high, again))
    return _largest(found, [cost.divided_anew for cost in found])


def _without(scenario: Scenario, chosen: Configuration) -> Iterator[tuple[str, Scenario]]:
    pes = scenario.platform.pes
    yield "messages", changes.with_free_messages(scenario)
    if any(pe.load is not None for pe in pes):
        yield "load", changes.with_load(scenario, 0.0)
    if any(pe.speed_of(scenario.application.kernel).sizes.size > 1 for pe in pes):
        yield "problem size", changes.at_best_size(scenario)
    if scenario.platform.domains:
        yield "neighbours", changes.without_domains(scenario)
    if scenario.application.memory is not None and any(node.levels for node in scenario.platform.nodes):
        yield "shared memory", changes.without_sharing(scenario)
    if scenario.with_configurations((chosen,)).pages:
        yield "paging", changes.without_paging(scenario)


def bindings(scenario: Scenario, configuration: Configuration) -> tuple[Binding, ...]:
    """The domains in which the processes with units keep least, first."""
    met = domain_meetings(scenario, configuration)
    bound = [one for one in met if one.least < 1 - LEAST_LOST]
    found: dict[tuple[object, ...], list[Meeting]] = {}
    for place in ties.in_order([one.least for one in bound]).tolist():
        one = bound[place]
        found.setdefault(_rounded(one), []).append(one)
    return tuple(_binding(scenario, same) for same in found.values())


def _rounded(one: Meeting) -> tuple[object, ...]:
    return one.domain.level, one.domain.law, len(one.processes), f"{one.asked:.3g}", f"{one.least:.3f}"


def _binding(scenario: Scenario, same: Sequence[Meeting]) -> Binding:
    first = same[0]
    names = tuple(scenario.platform.pes[pe].name for pe in first.domain.pes)
    capacity, count = capacity_of(first.domain), len(first.processes)
    return Binding(
        first.domain.name, first.domain.kind, names, count, first.asked, capacity, first.least, len(same) - 1
    )


def told(scenario: Scenario, chosen: Configuration, logged: RunSet) -> Told | None:
    """What the log of an advised configuration says of calls; None for what is no recorded program."""
    if scenario.application.recorded is None:
        return None
    return Told(tuple(_calls(scenario, logged)), tuple(_talks(scenario, chosen)))


def _calls(scenario: Scenario, logged: RunSet) -> Iterable[Call]:
    work, spent = scenario.application.recorded, defaultdict[str, float](float)
    for (_, replication), log in logged.logs.items():
        makespan = int(logged.makespan_ticks[0, replication]) * len(logged.logs)
        for one in log:
            if work is not None and one.operation not in {"compute", "delay"}:
                site = work.site_of(one.process, one.index) or UNKNOWN
                spent[site] += (one.end_ticks - one.start_ticks) / makespan / work.units
    return sorted((Call(*one) for one in spent.items()), key=lambda one: -one.share)[:MOST_CALLS]


def _talks(scenario: Scenario, chosen: Configuration) -> Iterable[Talk]:
    work, platform = scenario.application.recorded, scenario.platform
    if work is None:
        return
    columns, action = work.expansion.columns, work.expansion.action
    rows = np.flatnonzero((columns.partner >= 0) & (columns.amount > 0))
    ends = np.sort([columns.process[rows], columns.partner[rows]], axis=0).T
    pairs, pair = np.unique(ends, axis=0, return_inverse=True)
    pair, site = pair.reshape(-1), work.recording.site[action[rows]]
    sent = np.bincount(pair, columns.amount[rows], len(pairs))
    for place in np.argsort(-sent, kind="stable")[:MOST_TALKS].tolist():
        mine = pair == place
        most = int(np.argmax(np.bincount(site[mine] + 1, columns.amount[rows[mine]]))) - 1
        nodes = [platform.pes[chosen.placement[rank]].node for rank in pairs[place].tolist()]
        name = work.recording.described.sites[most] if most >= 0 else UNKNOWN
        one, other = pairs[place].tolist()
        yield Talk((one, other), float(sent[place]), name, tuple(dict.fromkeys(nodes)))
