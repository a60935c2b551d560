"""The judge of a search: what simulation says of configurations, on common draws, and the record of all of them.

All are simulated on a few draws that meet every state of every load, each of which counts for as many draws as are most
like it. A configuration that is behind the best on each of them, or by far in their mean, goes no further; the others
are simulated on all draws. Draws whose loads stay as they are during a run, alike in both, are simulated once.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from advisor.advise.alike import Alike, starts_s
from advisor.advise.objectives import over_runs, rate_of, rates, statistic
from advisor.advise.space import Space
from advisor.advise.spending import Spending
from advisor.advise.strategies import simplest
from advisor.advise.traffic import Traffic
from simulator import Configuration, LoadTrace, RunSet, ties

Floats = NDArray[np.float64]
Tables = tuple[Floats, Floats]
Key = tuple[tuple[int, ...], tuple[int, ...], tuple[int, int] | None]

FEW = 4
"""Draws on which every configuration is simulated, at the least."""
LEVELS = 10
"""States of a load: so many levels between the least and the greatest mean over a run."""
PATIENCE, WIDTH = 200, 24
"""Sets to begin with, and configurations of one proposer in one turn, at most."""
EFFORT = 40_000_000
"""Computations of processes that a search may simulate."""
BEGINNING, TURN = 1 / 5, 1 / 60
"""Parts of it for the sets to begin with, and for what a proposer adds in a turn."""
MORE = 3
"""Times as many draws as before, on which those are simulated that may still be the best."""
FEWEST_LIKE = 2
"""Draws more than states, from which on only the spread within states is doubt."""
LITTLE = 1e-4
"""Share by which it is not worth being better."""
FAR, ERRORS = 0.02, 2.0
"""Share (of the first draws), and standard errors more, by which a configuration is far behind in the mean."""
KEPT = 2**14
"""Ends of processes in all draws of a configuration up to which each of them is kept."""
FEWEST = 12, 5
"""Sets, and configurations of a turn, however large a scenario is."""


@dataclass(frozen=True)
class Seen:
    """What was simulated of a configuration."""

    configuration: Configuration
    values: Floats
    """What each draw costs of the objective, in the judge's order of draws."""
    ends: Floats
    """When each process ended computing, in seconds, in each draw that was simulated or in the mean; (row, process)."""
    busy: Floats
    """For how long it computed; as `ends`."""
    weights: Floats
    """Of how many draws each of these rows is; (row,)."""
    own: float = math.nan
    """The objective of these draws alone."""


@dataclass(frozen=True)
class Tried:
    """A configuration of the record."""

    configuration: Configuration
    value: float
    """Its objective on the search's draws; of what went early, from few of them."""
    seconds: float
    """Its makespan there, in the same statistic."""


class Judge:
    """What simulation says of configurations, each asked once.

    `space`: the scenario of the search; its replications are those that the best ones are judged by.
    `first`: number of the first replication.
    `effort`, `width`: computations of processes that it may simulate before it is tired; configurations that a proposer
    may add in a turn, at most.
    """

    def __init__(
        self,
        space: Space,
        spending: Spending,
        *,
        draws: int,
        first: int = 0,
        effort: float = EFFORT,
        width: int = WIDTH,
    ) -> None:
        self.space, self.scenario, self.spending = space, space.scenario, spending
        self.draws, self._first = 1 if self.scenario.deterministic else draws, first
        self._order: list[int] | None = None
        self._few = min(FEW, self.draws)
        self._like = np.zeros((self.draws, self.draws), np.int64)
        self._stand: dict[int, Floats] = {}
        self._alike = Alike(np.arange(self.draws), np.full(self.draws, np.inf))
        self._seen: dict[Key, Seen] = {}
        self._truths: NDArray[np.int64] | None = None
        self._best: Seen | None = None
        self._only: tuple[int, ...] | None = None
        self._of_best: tuple[Seen | None, dict[int, float]] = None, {}
        known = rates(self.scenario) if space.objective in {"cost", "energy"} else {}
        self._rates = known.get(space.objective)
        self._width = width
        self._most, self.spent = effort, 0.0
        """Computations that it may simulate, and that it has simulated."""

    # What was seen

    @cached_property
    def traffic(self) -> Traffic:
        """What ranks compute and tell each other, where units are ranks."""
        return Traffic(self.space)

    @property
    def record(self) -> tuple[Tried, ...]:
        """All that was simulated, the best first, of equals what was asked first."""
        return tuple(
            Tried(one.configuration, value, value / self.rate(one.configuration)) for value, one in self.ranked()
        )

    @property
    def best(self) -> Configuration | None:
        """The one with the least objective of all that were asked for; None before memory held one."""
        if self._only is not None:
            return next(iter(self.best_placed(1, near=math.inf)), None)
        return None if self._best is None else self._best.configuration

    @contextmanager
    def only(self, configuration: Configuration, *, effort: float) -> Iterator[None]:
        """While it lasts, what is best is so among configurations of the same processes on each PE.

        `effort`: computations that may be simulated in this time.
        """
        most = self._most
        self._only, self._most = _team(configuration), min(most, self.spent + effort)
        try:
            yield
        finally:
            self._only, self._most = None, most

    def value(self, configuration: Configuration) -> float:
        """The objective, from few draws by the ratio to the best on these; infinite for what was not simulated."""
        seen = self._seen.get(_key(configuration))
        return math.inf if seen is None else self._value(seen)

    def ends(self, configuration: Configuration) -> Floats:
        """Mean end of the computing of each process that takes part, in seconds."""
        seen = self.seen(configuration)
        return np.asarray(np.average(seen.ends, axis=0, weights=seen.weights))

    def seen(self, configuration: Configuration) -> Seen:
        """What was simulated of one that was."""
        return self._seen[_key(configuration)]

    def makespans_s(self, configuration: Configuration) -> Floats:
        """Of one that all draws were simulated of, in the order of the replications; (draw,)."""
        seen = self._seen[_key(configuration)].values
        return np.asarray(seen[np.argsort(self._order or [0])] / self.rate(configuration))

    @property
    def truths(self) -> NDArray[np.int64] | None:
        """Number of the truth of each of all draws, as `makespans_s`; None where nothing is doubted."""
        return None if self._truths is None else self._truths[np.argsort(self._order or [0])]

    def rate(self, configuration: Configuration) -> float:
        """What a second of a configuration counts for."""
        return 1.0 if self._rates is None else rate_of(self.scenario, configuration, self._rates)

    def best_placed(self, count: int, *, near: float, ordered: bool = True) -> list[Configuration]:
        """The best configurations of different placements and grids, at most `near` times as bad as the best.

        `ordered`: whether the order of ranks and the grid make placements different.
        """
        if self._best is None:
            return []
        limit = near * self._value(self._best)
        found: dict[object, Configuration] = {}
        for value, seen in self.ranked():
            if value > limit or len(found) >= count:
                break
            one, team = seen.configuration, _team(seen.configuration)
            if self._only in (None, team):
                found.setdefault((one.placement, one.grid) if ordered else team, one)
        return list(found.values())

    def simplest(self, *, within: float) -> list[Configuration]:
        """The simplest of all that are so near to the best, as a share; none before there is a best."""
        limit = math.inf if self._best is None else (1 + within) * self._value(self._best)
        near = [(value, seen) for value, seen in self.ranked() if value <= limit and self._best is not None]
        if not near:
            return []
        return [near[simplest([seen.configuration for _, seen in near], [value for value, _ in near])][1].configuration]

    def ranked(self) -> list[tuple[float, Seen]]:
        """All that was simulated with its objective, the best first, of equals what was asked first."""
        seen = list(self._seen.values())
        values = [self._value(one) for one in seen]
        return [(values[place], seen[place]) for place in ties.in_order(values).tolist()]

    @property
    def patience(self) -> int:
        """How many sets to begin with are simulated: fewer where one takes long."""
        return self.room(PATIENCE)

    def room(self, most: int) -> int:
        """The same where nobody tries more than so many."""
        return int(np.clip(BEGINNING * self._most / self._effort, FEWEST[0], most))

    @property
    def width(self) -> int:
        """How many configurations a proposer may add in a turn."""
        return min(self._width, int(np.clip(TURN * self._most / self._effort, FEWEST[1], WIDTH)))

    @property
    def tired(self) -> bool:
        """Whether it has simulated what a search may, however much time there is."""
        return self.spent > self._most

    @property
    def _effort(self) -> float:
        """Computations of one configuration on the first draws."""
        processes = sum(self.space.limit(pe) for pe in range(len(self.scenario.platform.pes)))
        processes = self.space.units if self.space.by_rank else processes
        return float(processes * self.scenario.application.work.rounds(processes) * self._few)

    # Simulation

    def of(self, configurations: Sequence[Configuration]) -> list[float]:
        """The objective of each; infinite without memory.

        Raises OutOfBudgetError if no more may be spent; what was simulated is kept.
        """
        fresh = {_key(one): one for one in configurations if _key(one) not in self._seen}
        held = [one for one in fresh.values() if self.scenario.lacking_bytes(one) <= 0]
        if held and self._order is None:
            self._arrange(self._usual_s(held[0]))
        self._simulate(held, self._few)
        if self._best is None and held:
            first = min((self._seen[_key(one)] for one in held), key=lambda seen: seen.own)
            self._simulate([first.configuration], self.draws)
            self._best = self._seen[_key(first.configuration)]
        for draws in self._stages[1:]:
            self._simulate([one for one in held if self._in_question(one)], draws)
        for one in held:
            seen = self._seen[_key(one)]
            if self._best is None or (
                seen.values.size == self.draws and ties.is_less(self._value(seen), self._value(self._best))
            ):
                self._best = seen
        if self._best is not None:
            self.spending.found(self._best.configuration.name, self._value(self._best))
        return [self.value(one) for one in configurations]

    def _in_question(self, configuration: Configuration) -> bool:
        """Whether it is not behind the best on each of its draws, nor, where means count, surely in all."""
        seen = self._seen[_key(configuration)].values
        if self._best is None or seen.size == self.draws:
            return False
        behind = seen / self._best.values[: seen.size] - 1
        return bool(np.any(behind <= 0) and not (self._of_means and self._far(behind)))

    @property
    def _of_means(self) -> bool:
        return over_runs(self.space.objective) == "mean"

    def _far(self, behind: Floats) -> bool:
        """Whether shares by which it is behind on some draws are much in the mean, for their spread."""
        weights = self._weights(behind.size)
        mean = np.average(behind, weights=weights)
        off, free = behind - mean, behind.size - 1
        _, states = np.unique(self._like[: behind.size, : behind.size], axis=0, return_inverse=True)
        states = np.ravel(states)
        within = behind - (np.bincount(states, behind) / np.bincount(states))[states]
        if behind.size - 1 - states.max() >= FEWEST_LIKE:  # what differs between states is known, but for their spread
            off, free = within, behind.size - 1 - int(states.max())
        error = np.sqrt(np.sum(off**2) / max(1, free) / behind.size)
        return bool(mean > (FAR if behind.size == self._few else -LITTLE) + ERRORS * error)

    @property
    def _stages(self) -> list[int]:
        """Numbers of draws after which configurations are judged: the first ones, ever more, all."""
        found = [self._few]
        while found[-1] * MORE < self.draws:
            found.append(found[-1] * MORE)
        return list(dict.fromkeys([*found, self.draws]))

    def _weights(self, draws: int) -> Floats:
        """How many draws each of the first ones stands for: those that meet most of the same states; (draw,)."""
        if draws not in self._stand:
            like = self._like[:, :draws]
            alike = like == like.max(axis=1, keepdims=True)
            self._stand[draws] = np.asarray((alike / alike.sum(axis=1, keepdims=True)).sum(axis=0))
        return self._stand[draws]

    def _value(self, seen: Seen) -> float:
        if seen.values.size == self.draws or self._best is None:
            return seen.own
        if self._of_best[0] is not self._best:
            self._of_best = self._best, {}
        parts, size = self._of_best[1], seen.values.size
        if size not in parts:
            parts[size] = float(self._statistic(self._best.values[:size]))
        return seen.own * self._best.own / parts[size] if parts[size] > 0 else seen.own

    def _statistic(self, values: Floats) -> Floats:
        """The objective of a configuration's first draws: of a mean, each counts as often as it stands for others."""
        if self._of_means and values.size < self.draws:
            return np.asarray(np.average(values, weights=self._weights(values.size)))
        truths = None if self._truths is None else self._truths[: values.size]
        return statistic(values, self.space.objective, truths)

    def _usual_s(self, configuration: Configuration) -> float | None:
        """About how long a run takes, where that is asked: where loads are drawn."""
        loaded = [pe.load is not None and pe.load.draws for pe in self.scenario.platform.pes]
        if self.draws <= FEW or not any(loaded):
            return None
        return float(self._runs([configuration], [0]).makespan_s[0, 0])

    def settle(self, configuration: Configuration) -> None:
        """Simulate one that memory holds on all draws, whatever is better.

        Raises OutOfBudgetError as `of` does.
        """
        self.of([configuration])
        self._simulate([configuration], self.draws)

    def know(self, configuration: Configuration, runs: RunSet) -> None:
        """Take over what was simulated on the same draws, all of them, without processes that do nothing."""
        place, one = runs.configurations.index(configuration.name), self.space.without_idle(configuration)
        if self._order is None:
            self._arrange(float(runs.makespan_s[place].mean()))
        order = np.array(self._order)
        self._truths = None if runs.truths is None else runs.truths[order]
        took_part = np.ones(len(configuration.placement), dtype=np.bool_)
        if len(one.placement) < took_part.size:
            took_part = np.array(configuration.partition) > 0
            took_part[0] |= self.space.led
        ends, busy = (
            np.asarray(ticks[place][:, took_part] * runs.tick_s) for ticks in (runs.computed_ticks, runs.busy_ticks)
        )
        values = self.rate(one) * runs.makespan_s[place, order]
        self._keep({_key(one): _with(_nothing(one), values, (ends, busy), np.ones(self.draws))})
        seen = self._seen[_key(one)]
        if self._best is None or ties.is_less(self._value(seen), self._value(self._best)):
            self._best = seen

    def _arrange(self, run_s: float | None) -> None:
        """Put the draws into an order whose first ones meet every state of every load of a run that takes so long."""
        self._order = list(range(self.draws))
        if run_s is None:
            return
        states = _States.seen(self.space, run_s, self.draws, self._first)
        self._order, covered = states.order()
        self._few = min(self.draws, max(FEW, covered))
        self._alike = Alike.of(self.scenario, states.starts_s[self._order], run_s)
        met = [states.of[number] for number in self._order]
        self._stand = {}
        self._like = np.array([[len(one & mine) for one in met] for mine in met], dtype=np.int64)

    def _simulate(self, configurations: Sequence[Configuration], draws: int) -> None:
        """Simulate some on so many draws, those that they have seen apart."""
        batches = [[one] for one in configurations] if self.spending.timed else [list(configurations)]
        for batch in batches:
            for done in sorted({self._done(one) for one in batch}):
                self._more([one for one in batch if self._done(one) == done], done, draws)

    def _done(self, configuration: Configuration) -> int:
        seen = self._seen.get(_key(configuration))
        return 0 if seen is None else seen.values.size

    def _more(self, configurations: Sequence[Configuration], done: int, draws: int) -> None:
        if draws <= done or not configurations or self._order is None:
            return
        first = self._alike.first
        fresh = done + np.flatnonzero(first[done:draws] == np.arange(done, draws))
        made, again = dict[Key, Seen](), dict[tuple[int, ...], list[Configuration]]()
        for one, seconds, tables in self._drawn(configurations, fresh.tolist()):
            before = self._seen.get(_key(one), _nothing(one))
            row = np.concatenate((before.values, np.full(self.draws - done, np.nan)))
            row[fresh] = self.rate(one) * seconds
            alike = row[first] <= self.rate(one) * self._alike.reach_s  # of those that were simulated or are now
            times = np.array([np.sum(alike & (first == at)) for at in fresh], dtype=np.float64)
            row = np.where(alike, row[first], row)[:draws]
            made[_key(one)] = _with(before, row, tables, times)
            if np.any(lacking := np.isnan(row)):
                again.setdefault(tuple(np.flatnonzero(lacking).tolist()), []).append(one)
        for places, those in again.items():
            for one, seconds, tables in self._drawn(those, places):
                row = made[_key(one)].values.copy()
                row[list(places)] = self.rate(one) * seconds
                made[_key(one)] = _with(made[_key(one)], row, tables, np.ones(len(places)))
        self._keep(made)

    def _keep(self, made: Mapping[Key, Seen]) -> None:
        self._seen |= {key: replace(one, own=float(self._statistic(one.values))) for key, one in made.items()}

    def _drawn(
        self, configurations: Sequence[Configuration], places: Sequence[int]
    ) -> Iterator[tuple[Configuration, Floats, Tables]]:
        """Each with its seconds and tables, see `Seen`, in the draws at some places of the order."""
        numbers = [self._order[place] for place in places] if self._order is not None else []
        ordered = any(one.repartition is not None for one in configurations)
        stretches = _consecutive(numbers) if ordered else [numbers] * bool(numbers)
        parts = [self._runs(configurations, stretch) for stretch in stretches]
        if parts and parts[0].truths is not None and (self._truths is None or self._truths.size <= places[-1]):
            known = np.zeros(0, np.int64) if self._truths is None else self._truths[: places[0]]
            self._truths = np.concatenate((known, *(part.truths for part in parts if part.truths is not None)))
        for number, one in enumerate(configurations):
            seconds = [part.makespan_s[number] for part in parts]
            none = np.zeros((0, len(one.placement)))
            ends = [part.computed_ticks[number] * part.tick_s for part in parts]
            busy = [part.busy_ticks[number] * part.tick_s for part in parts]
            tables = np.concatenate((none, *ends)), np.concatenate((none, *busy))
            yield one, np.concatenate((np.zeros(0), *seconds)), tables

    def _runs(self, configurations: Sequence[Configuration], numbers: Sequence[int]) -> RunSet:
        named = tuple(replace(one, name=f"team {n}") for n, one in enumerate(configurations))
        rounds = self.scenario.application.work.rounds
        self.spent += len(numbers) * sum(count * rounds(count) for count in (len(one.placement) for one in named))
        asked = self.scenario.with_configurations(named)
        first = min(numbers)
        how = {"replications": max(numbers) + 1 - first, "first_replication": self._first + first}
        if list(numbers) == list(range(first, first + len(numbers))):
            return self.spending.simulate(asked, **how)
        return self.spending.simulate(asked, **how, only=[number - first for number in numbers])


def _key(configuration: Configuration) -> Key:
    return configuration.partition, configuration.placement, configuration.grid


def _team(configuration: Configuration) -> tuple[int, ...]:
    """The PE of each process, whatever their order."""
    return tuple(sorted(configuration.placement))


def _nothing(configuration: Configuration) -> Seen:
    none = np.zeros((0, len(configuration.placement)))
    return Seen(configuration, np.zeros(0), none, none, np.zeros(0))


def _with(seen: Seen, values: Floats, tables: Tables, times: Floats) -> Seen:
    """With more draws: the tables of some, each for so many; means where all are too many to keep."""
    ends, busy = np.concatenate((seen.ends, tables[0])), np.concatenate((seen.busy, tables[1]))
    weights = np.concatenate((seen.weights, times))
    if ends.size > KEPT and weights.size > 1:
        ends, busy = (np.average(table, axis=0, weights=weights)[np.newaxis] for table in (ends, busy))
        weights = weights.sum(keepdims=True)
    return Seen(seen.configuration, values, ends, busy, weights)


def _consecutive(numbers: Sequence[int]) -> list[list[int]]:
    runs = groupby(enumerate(numbers), key=lambda pair: pair[1] - pair[0])
    return [[number for _, number in run] for _, run in runs]


@dataclass(frozen=True)
class _States:
    """The states of loads that draws meet."""

    of: tuple[frozenset[tuple[int, int]], ...]
    """The clock and level of each load; (draw,)."""
    off: Floats
    """How far a draw is from the usual one of its states, in levels; (draw,)."""
    starts_s: Floats
    """Where loads start; (draw, PE)."""

    @classmethod
    def seen(cls, space: Space, run_s: float, draws: int, first: int) -> "_States":
        """What a run of so many seconds meets in each draw."""
        scenario, platform = space.scenario, space.scenario.platform
        starts = starts_s(scenario, draws, first)
        states: list[set[tuple[int, int]]] = [set() for _ in range(draws)]
        off = np.zeros(draws)
        for clock in sorted(set(platform.load_clocks)):
            load = platform.pes[clock].load
            if load is not None and load.draws:
                means = _mean_levels(load.trace, starts[:, clock], run_s)
                levels = np.minimum(means, LEVELS - 1).astype(np.int64)
                for level in np.unique(levels).tolist():
                    off[levels == level] += np.abs(means[levels == level] - means[levels == level].mean())
                for number, level in enumerate(levels.tolist()):
                    states[number].add((clock, level))
        return cls(tuple(map(frozenset, states)), off, starts)

    def order(self) -> tuple[list[int], int]:
        """All draws, those first that meet every state between them, the usual ones of each; and how many these are."""
        order, left = list[int](), set[tuple[int, int]]().union(*self.of)
        while left:
            new = [len(mine & left) for mine in self.of]
            most = [number for number, count in enumerate(new) if count == max(new)]
            order.append(most[ties.first_least(self.off[most])])
            left -= self.of[order[-1]]
        return [*order, *(number for number in range(len(self.of)) if number not in order)], len(order)


def _mean_levels(trace: LoadTrace, starts_s: Floats, run_s: float) -> Floats:
    """The mean load over a run that begins at each of some times, as a level from 0 to `LEVELS`; (start,)."""
    knots = np.append(trace.times_s, trace.end_s)
    whole = np.concatenate(([0.0], np.cumsum(trace.values * trace.durations_s)))

    def until(times_s: Floats) -> Floats:
        turns, within = np.divmod(times_s, trace.end_s)
        return np.asarray(turns * whole[-1] + np.interp(within, knots, whole))

    means = (until(starts_s + run_s) - until(starts_s)) / run_s
    low, high = float(trace.values.min()), float(trace.values.max())
    return LEVELS * np.clip((means - low) / (high - low), 0, 1) if high > low else np.zeros(starts_s.size)
