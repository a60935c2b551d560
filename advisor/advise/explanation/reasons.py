"""Why an advice is as it is: which PE limits, who waits for whom, what each thing costs, what other PEs would bring."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from advisor.advise.explanation import changes
from advisor.advise.explanation.optimum import alternatives, best_of, best_within, evenly, one_each, pes_of
from advisor.advise.explanation.simulations import Simulations
from advisor.advise.ranking import gain
from advisor.advise.recommendation import Recommendation
from advisor.advise.simulated import kinds_of
from simulator import Configuration, Scenario, ScenarioError, critical_path, ties, waits_by_pe

_One = TypeVar("_One")
LOGGED = 10
"""Replications whose operations are looked at one by one."""
MOST_LOGGED = 64
"""Processes up to which that is so; beyond, one replication is."""
MOST_OTHERS = 8
"""Kinds of PEs to add or to take away, at most."""


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
    """`messages`, `load`, `problem size`, `shared memory` or `paging`."""
    makespan_s: float
    """Mean without it."""
    share: float
    """Part of the makespan that the same configuration saves, with its 95 % interval, if replications tell one."""
    low: float | None
    high: float | None
    divided_anew: float
    """Part of the makespan that is saved if the work is divided anew."""


@dataclass(frozen=True)
class Other:
    """The makespan with one PE more or less, the work divided anew."""

    change: str
    """`with` or `without`."""
    pe: str
    makespan_s: float
    longer: float
    """So much longer than the recommended configuration, as a share."""


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

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return asdict(self)


def reasons(scenario: Scenario, recommendation: Recommendation, simulations: Simulations) -> Reasons:
    """Look at the recommended configuration's runs, and at what it takes without messages, load, and so on.

    Raises
    ------
    OutOfRuns
        If the runs allowed do not suffice.
    """
    chosen = recommendation.configuration
    used = np.flatnonzero(np.array(chosen.partition) > 0)
    row = recommendation.runs.configurations.index(chosen.name)
    path, messages, waits = _followed(scenario, chosen, simulations)
    last = _last(scenario, chosen, recommendation.runs.computed_ticks[row])
    limits = [Limit(name, path[name], last[name]) for name in last]
    parts = recommendation.runs.breakdown(chosen.name)
    sums = [sum(parts[process][key] for process in used) for key in ("busy_s", "waiting_s", "idle_s")]
    shares = [value / sum(sums) for value in sums]
    return Reasons(
        _largest(limits, [one.path_share for one in limits], [one.computes_last for one in limits]),
        messages,
        shares[0],
        shares[1],
        shares[2],
        _largest(waits, [wait.seconds for wait in waits]),
        _costs(scenario, chosen, simulations),
    )


def _followed(
    scenario: Scenario, chosen: Configuration, simulations: Simulations
) -> tuple[dict[str, float], float, list[Wait]]:
    """Parts of critical paths by PE, the part without computing, and who waits for whom; means over replications."""
    count = LOGGED if len(chosen.partition) <= MOST_LOGGED else 1
    runs = simulations.runs(scenario, (chosen,), logged=count)
    replications = runs.makespan_ticks.shape[1]
    asked = scenario.with_configurations((chosen,))
    path: dict[str, float] = defaultdict(float)
    waits: dict[tuple[str, str], float] = defaultdict(float)
    for replication in range(replications):
        makespan = int(runs.makespan_ticks[0, replication])
        for step in critical_path(asked, runs, 0, replication):
            if step.operation.operation == "compute":
                path[step.operation.pe] += (step.to_ticks - step.from_ticks) / makespan / replications
        for pair, seconds in waits_by_pe(asked, runs, 0, replication).items():
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


def _costs(scenario: Scenario, chosen: Configuration, simulations: Simulations) -> tuple[Cost, ...]:
    now = simulations.makespans_s(scenario, chosen)
    found = []
    for of, changed in _without(scenario, chosen):
        then = simulations.makespans_s(changed, chosen)
        longer = gain(then, now, deterministic=scenario.deterministic and changed.deterministic)
        _, least, most = longer.change
        low, high = (None if end is None else -end for end in (most, least))
        best = best_of(changed, simulations, [chosen, *alternatives(changed, chosen)])
        anew = 1 - best.mean_s / float(now.mean())
        found.append(Cost(of, float(then.mean()), 1 - longer.mean, low, high, anew))
    return _largest(found, [cost.divided_anew for cost in found])


def _without(scenario: Scenario, chosen: Configuration) -> Iterator[tuple[str, Scenario]]:
    pes = scenario.platform.pes
    yield "messages", changes.with_free_messages(scenario)
    if any(pe.load is not None for pe in pes):
        yield "load", changes.with_load(scenario, 0.0)
    if any(pe.speed_of(scenario.application.kernel).sizes.size > 1 for pe in pes):
        yield "problem size", changes.at_best_size(scenario)
    if scenario.application.memory is not None and any(node.levels for node in scenario.platform.nodes):
        yield "shared memory", changes.without_sharing(scenario)
    if scenario.with_configurations((chosen,)).pages:
        yield "paging", changes.without_paging(scenario)


def others(scenario: Scenario, recommendation: Recommendation, simulations: Simulations) -> tuple[Other, ...]:
    """What one PE more, or one of those used less, would make of the makespan: one PE of each kind.

    Raises
    ------
    OutOfRuns
        If the runs allowed do not suffice.
    """
    chosen = recommendation.configuration
    used, now_s = pes_of(chosen), float(simulations.makespans_s(scenario, chosen).mean())
    found: list[Other] = []
    for kind in kinds_of(scenario):
        more = [pe for pe in kind.pes if pe not in used]
        less = [pe for pe in kind.pes if pe in used]
        for change, pes in (("with", more[:1]), ("without", less[-1:])):
            left = used.union(pes) if change == "with" else used.difference(pes)
            if pes and left and len(found) < MOST_OTHERS:
                then_s = _makespan_s(scenario, chosen, sorted(left), simulations)
                if then_s is not None:
                    name = scenario.platform.pes[pes[0]].name
                    found.append(Other(change, name, then_s, then_s / now_s - 1))
    return tuple(found)


def _makespan_s(
    scenario: Scenario, chosen: Configuration, pes: Sequence[int], simulations: Simulations
) -> float | None:
    try:
        if one_each(chosen):
            return best_within(scenario, simulations, pes, like=chosen).mean_s
        kept = tuple(pe for pe in chosen.placement if pe in pes)
        placement = (*kept, *(pe for pe in pes if pe not in kept))
        return float(simulations.makespans_s(scenario, evenly(scenario, placement)).mean())
    except ScenarioError:  # too few units, or no memory
        return None
