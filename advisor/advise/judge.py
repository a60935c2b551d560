"""The judge of a search: what simulation says of configurations, on common draws, few for those that are far behind.

All are simulated on the first few draws. Those that may still be better than the best so far, by the paired difference
on what both have seen, go on to more draws, until the least of all has been simulated on all of them.
"""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from advisor.advise.objectives import Objective, rates_of, statistic
from advisor.advise.simulated import runs_as
from advisor.advise.spending import Spending
from simulator import Configuration, RunSet, Scenario, ties

Floats = NDArray[np.float64]
Key = tuple[tuple[int, ...], tuple[int, ...], tuple[int, int] | None]

FEW = 4
"""Draws on which every configuration is simulated."""
MANY, MOST = 16, 64
"""Draws of the next stages; after `MANY` at most `FINALISTS` go on."""
FINALISTS = 2
DOUBT = 2.0
"""Standard errors of a paired difference up to which a configuration may still be the better one."""


class Judge:
    """What simulation says of configurations, each asked once.

    Parameters
    ----------
    scenario
        Its own configurations are not looked at.
    draws
        Replications that the best ones are judged by.
    first
        Number of the first one.
    """

    def __init__(
        self, scenario: Scenario, objective: Objective, spending: Spending, *, draws: int, first: int = 0
    ) -> None:
        self.scenario, self.objective, self.spending = scenario, objective, spending
        draws = 1 if scenario.deterministic else draws
        self.draws, self._first = draws, first
        self._rungs = [rung for rung in (FEW, MANY, MOST) if rung < draws] + [draws]
        self._seen: dict[Key, Floats] = {}
        """What each draw costs of the objective."""
        self._ends: dict[Key, Floats] = {}
        self._truths: NDArray[np.int64] | None = None
        """Of each draw, of as many as were simulated; None where nothing is doubted."""
        self._best: Configuration | None = None
        self._taken: dict[int, bool] = {}

    def takes(self, processes: int) -> bool:
        """Whether the application runs as so many processes."""
        if processes not in self._taken:
            self._taken[processes] = runs_as(self.scenario, processes)
        return self._taken[processes]

    @property
    def best(self) -> Configuration | None:
        """The one with the least objective of all that were asked for; None before memory held one."""
        return self._best

    def of(self, configurations: Sequence[Configuration]) -> list[tuple[float, Floats]]:
        """The objective of each (infinite without memory), and the mean ends of its processes' computing.

        Raises
        ------
        OutOfBudgetError
            If no more may be spent; what was simulated is kept.
        """
        asked = {_key(one): one for one in configurations}
        fresh = [one for key, one in asked.items() if key not in self._seen]
        held = [one for one in fresh if self.scenario.lacking_bytes(one) <= 0]
        self._simulate(held, self._rungs[0])
        if held and self._best is None:
            self._settle(held)
        for rung in self._rungs[1:]:
            open_ones = [one for one in held if self._seen[_key(one)].size < rung and self._in_question(one)]
            if rung > MANY:
                order = ties.in_order([self.value(one) for one in open_ones])[:FINALISTS].tolist()
                open_ones = [open_ones[place] for place in order]
            self._simulate(open_ones, rung)
        self._settle(held)
        nothing = np.zeros(0)
        return [(self.value(one), self._ends.get(_key(one), nothing)) for one in configurations]

    def know(self, configuration: Configuration, runs: RunSet, name: str) -> None:
        """Take over what was simulated on the same draws, all of them."""
        place = runs.configurations.index(name)
        rate = float(rates_of(self.scenario, [configuration], self.objective)[0])
        self._truths = None if runs.truths is None else runs.truths[: self.draws]
        self._seen[_key(configuration)] = rate * runs.makespan_s[place, : self.draws]
        self._ends[_key(configuration)] = runs.computed_ticks[place].mean(axis=0) * runs.tick_s
        self._settle([configuration])

    def value(self, configuration: Configuration) -> float:
        """The objective, from few draws by the ratio to the best on these; infinite for what was not simulated."""
        seen = self._seen.get(_key(configuration))
        if seen is None:
            return math.inf
        own = float(self._statistic(seen))
        if seen.size == self.draws or self._best is None:
            return own
        whole = self._seen[_key(self._best)]
        part = float(self._statistic(whole[: seen.size]))
        return own * float(self._statistic(whole)) / part if part > 0 else own

    def _statistic(self, seen: Floats) -> Floats:
        """The objective of a configuration's first draws."""
        return statistic(seen, self.objective, None if self._truths is None else self._truths[: seen.size])

    def _in_question(self, configuration: Configuration) -> bool:
        seen = self._seen[_key(configuration)]
        if self._best is None or seen.size < 2:
            return True
        behind = seen - self._seen[_key(self._best)][: seen.size]
        return bool(behind.mean() <= DOUBT * behind.std(ddof=1) / math.sqrt(seen.size))

    def _settle(self, configurations: Sequence[Configuration]) -> None:
        """Simulate on all draws what is ahead of the best on those that both have seen; it may be the best itself."""
        known = [one for one in configurations if _key(one) in self._seen]
        if self._best is None and known:
            first = known[ties.first_least([float(self._statistic(self._seen[_key(one)])) for one in known])]
            self._simulate([first], self.draws)
            self._best = first
        while ahead := [(self._ahead(one), place) for place, one in enumerate(known) if self._ahead(one) > 0]:
            one = known[max(ahead, key=lambda entry: entry[0])[1]]
            if self._seen[_key(one)].size == self.draws:
                self._best = one
            self._simulate([one], self.draws)
        if self._best is not None:
            self.spending.found(self._best.name, self.value(self._best))

    def _ahead(self, configuration: Configuration) -> float:
        """How much less it has than the best on what both have seen, as a share; 0 where it has not."""
        if self._best is None:
            return 0.0
        seen = self._seen[_key(configuration)]
        own, best = (self._statistic(one) for one in (seen, self._seen[_key(self._best)][: seen.size]))
        return 1 - float(own / best) if ties.is_less(float(own), float(best)) else 0.0

    def _simulate(self, configurations: Sequence[Configuration], draws: int) -> None:
        """Simulate some that have seen equally many draws on so many."""
        batches = [[one] for one in configurations] if self.spending.timed else [list(configurations)]
        for batch in batches:
            for done in sorted({self._done(one) for one in batch}):
                self._more([one for one in batch if self._done(one) == done], done, draws)

    def _done(self, configuration: Configuration) -> int:
        return self._seen[_key(configuration)].size if _key(configuration) in self._seen else 0

    def _more(self, configurations: Sequence[Configuration], done: int, draws: int) -> None:
        if draws <= done:
            return
        named = tuple(replace(one, name=f"team {n}") for n, one in enumerate(configurations))
        asked = self.scenario.with_configurations(named)
        runs = self.spending.simulate(asked, replications=draws - done, first_replication=self._first + done)
        values = rates_of(self.scenario, configurations, self.objective)[:, np.newaxis] * runs.makespan_s
        if runs.truths is not None and (self._truths is None or self._truths.size < draws):
            known = np.zeros(0, np.int64) if self._truths is None else self._truths[:done]
            self._truths = np.concatenate((known, runs.truths))
        for one, row, computed in zip(configurations, values, runs.computed_ticks, strict=True):
            ends = computed.mean(axis=0) * runs.tick_s
            before = self._seen.get(_key(one), np.zeros(0))
            self._seen[_key(one)] = np.concatenate((before, row))
            self._ends[_key(one)] = ((done * self._ends[_key(one)]) if done else 0.0) / draws + ends * (
                1 - done / draws
            )


def _key(configuration: Configuration) -> Key:
    return configuration.partition, configuration.placement, configuration.grid
