"""The simulated runs of an explanation: all on the same draws, each once, counted, and no more than allowed."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from advisor.advise.objectives import Objective, statistic
from advisor.advise.ranking import Gain, gain
from simulator import Configuration, RunSet, Scenario, intervals
from simulator.experiments.sweep import run_or_recall

Floats = NDArray[np.float64]
MOST_REPLICATIONS = 40
"""Replications that questions are asked with; the recommendation's own figures have all of its."""
EFFORT = 50_000_000
"""Computations that all runs of an explanation may take; large scenarios get fewer replications and fewer rows."""
LOADED = 3
"""A computation under a load takes the engine about so many times as long."""
PREPARED = 2
"""To prepare a configuration takes about as long as so many replications of it without load."""
QUESTIONS = 100
"""What the effort is planned for: changed scenarios, each with a search for what is best there."""
TRIES = 4
"""Configurations that such a search looks at, at the least."""
MOVES = 4 * 12
"""Configurations that a round of moves takes, four times over."""
FEWEST = 2
"""Replications of a search, at the least, where anything is drawn."""


class OutOfRuns(Exception):  # noqa: N818 - no fault: what is left out is listed
    """The next simulation would pass the limit."""


@dataclass(frozen=True)
class Seen:
    """A configuration and what its runs in the first replications showed."""

    configuration: Configuration
    makespans_s: Floats
    """(replication,)."""
    computed: Floats
    """When each process ends computing, a mean; (process,)."""
    busy: Floats
    """How long each computes; as `computed`."""

    @property
    def pes(self) -> frozenset[int]:
        """PEs whose processes have units."""
        return pes_of(self.configuration)


def pes_of(configuration: Configuration) -> frozenset[int]:
    """The PEs whose processes have units."""
    pairs = zip(configuration.placement, configuration.partition, strict=True)
    return frozenset(pe for pe, units in pairs if units)


class Simulations:
    """Runs scenarios and counts: one configuration in one replication is one run; what is known is not run again."""

    def __init__(
        self,
        *,
        limit: int,
        replications: int,
        seed: int,
        objective: Objective = "mean",
        truths: int | None = None,
        level: float = intervals.LEVEL,
    ) -> None:
        self.limit, self.spent, self.effort = limit, 0, 0
        self.replications, self.seed = min(replications, MOST_REPLICATIONS), seed
        self.objective = objective
        self.truths, self.level = truths, level
        """How many truths all replications share, None where nothing is doubted; how often intervals hold."""
        self._until = EFFORT
        self._known: dict[int, tuple[Scenario, dict[object, Seen]]] = {}

    def reserve(self, share: float) -> None:
        """From now on so much of the whole effort may be spent, whatever was before."""
        self._until = self.effort + int(share * EFFORT)

    @contextmanager
    def portion(self, share: float) -> Iterator[None]:
        """Meanwhile only so much of the effort that is left may be spent."""
        before = self._until
        self._until = self.effort + int(share * max(0, before - self.effort))
        try:
            yield
        finally:
            self._until = before

    def planned(self, scenario: Scenario, processes: int) -> tuple[int, int, int]:
        """Replications to search with, replications to tell, and rounds of moves of a search, for so many processes."""
        each = EFFORT // (QUESTIONS * max(1, _effort(scenario, processes)))
        if self.objective != "mean":
            return self.replications, self.replications, each // (MOVES * self.replications)
        few = int(np.clip(each // TRIES, min(FEWEST, self.replications), self.replications))
        return few, int(np.clip(each, few, self.replications)), each // (MOVES * few)

    def remember(self, scenario: Scenario, configuration: Configuration, runs: RunSet, row: int) -> None:
        """Take runs that were made before, in the first replications by the same seed."""
        seen = _seen(configuration, runs, row)
        self._of(scenario)[_key(configuration)] = seen

    def known(self, scenario: Scenario) -> list[Seen]:
        """All configurations that were simulated in a scenario."""
        return list(self._of(scenario).values())

    def all_of(self, scenario: Scenario, configuration: Configuration) -> Seen:
        """All replications of a configuration that was simulated."""
        return self._of(scenario)[_key(configuration)]

    def seen(
        self, scenario: Scenario, configurations: Sequence[Configuration], replications: int, *, forced: bool = False
    ) -> list[Seen]:
        """What configurations show in the first replications, at least so many; those that are missing are run.

        Parameters
        ----------
        forced
            Whether the limits do not hold.

        Raises
        ------
        OutOfRuns
            If there are not enough left.
        """
        known = self._of(scenario)
        distinct = {_key(one): one for one in configurations}
        had = {key: known[key].makespans_s.size if key in known else 0 for key in distinct}
        missing = {key: one for key, one in distinct.items() if had[key] < replications}
        needed = sum(replications - had[key] for key in missing)
        effort = sum(
            _prepared(scenario, len(one.partition)) + _effort(scenario, len(one.partition)) * (replications - had[key])
            for key, one in missing.items()
        )
        if not forced and (self.spent + needed > self.limit or self.effort + effort > self._until):
            raise OutOfRuns
        self.spent, self.effort = self.spent + needed, self.effort + effort
        for first in sorted({had[key] for key in missing}):
            batch = {key: one for key, one in missing.items() if had[key] == first}
            named = tuple(replace(one, name=f"{place}") for place, one in enumerate(batch.values()))
            asked = scenario.with_configurations(named)
            runs = run_or_recall(asked, replications=replications - first, seed=self.seed, first_replication=first)
            for row, (key, one) in enumerate(batch.items()):
                found = _seen(one, runs, row)
                known[key] = found if first == 0 else _joined(known[key], found)
        return [_first(known[_key(one)], replications) for one in configurations]

    def logged(self, scenario: Scenario, configuration: Configuration, replications: int) -> RunSet:
        """Runs with the log of their operations; see `seen`.

        Raises
        ------
        OutOfRuns
            If there are not enough left.
        """
        replications = min(self.replications, replications)
        effort = replications * _effort(scenario, len(configuration.partition))
        if self.spent + replications > self.limit or self.effort + effort > self._until:
            raise OutOfRuns
        self.spent, self.effort = self.spent + replications, self.effort + effort
        asked = scenario.with_configurations((configuration,))
        return run_or_recall(asked, replications=replications, seed=self.seed, log_replications=replications)

    def makespans_s(self, scenario: Scenario, configuration: Configuration) -> Floats:
        """Of one configuration; (replication,)."""
        return self.seen(scenario, [configuration], self.replications)[0].makespans_s

    def value_s(self, makespans_s: Floats) -> float:
        """The objective."""
        return float(statistic(makespans_s, self.objective, self._truths_of(makespans_s.size)))

    def gain(self, then_s: Floats, now_s: Floats, *, deterministic: bool) -> Gain:
        """How many times longer the first makespans are than the others, both in the first replications."""
        known: dict[str, Any] = {"truths": self._truths_of(now_s.size), "level": self.level, "seed": self.seed}
        return gain(then_s, now_s, self.objective, deterministic=deterministic, **known)

    def _truths_of(self, replications: int) -> NDArray[np.int64] | None:
        """Number of the truth of each of the first replications."""
        return None if self.truths is None else np.arange(replications) % self.truths

    def _of(self, scenario: Scenario) -> dict[object, Seen]:
        return self._known.setdefault(id(scenario), (scenario, {}))[1]  # it is kept, so its id stays its own


def same(one: Configuration, other: Configuration) -> bool:
    """Whether two configurations differ by their names only."""
    return _key(one) == _key(other)


def _prepared(scenario: Scenario, processes: int) -> int:
    return PREPARED * processes * scenario.application.work.rounds(processes)


def _effort(scenario: Scenario, processes: int) -> int:
    loaded = any(pe.load is not None for pe in scenario.platform.pes)
    return processes * scenario.application.work.rounds(processes) * (LOADED if loaded else 1)


def _key(configuration: Configuration) -> object:
    return configuration.partition, configuration.placement


def _seen(configuration: Configuration, runs: RunSet, row: int) -> Seen:
    ends = (np.asarray(table[row].mean(axis=0), dtype=np.float64) for table in (runs.computed_ticks, runs.busy_ticks))
    return Seen(configuration, np.asarray(runs.makespan_s[row]), *ends)


def _joined(one: Seen, more: Seen) -> Seen:
    return replace(one, makespans_s=np.concatenate((one.makespans_s, more.makespans_s)))


def _first(seen: Seen, replications: int) -> Seen:
    return replace(seen, makespans_s=seen.makespans_s[:replications])
