"""Questions about an advice: what it takes in a changed scenario, and the best that a short search finds there.

The search is that of the advice, with less to spend: it begins with what was advised and what came next in the record.
"""

from dataclasses import replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from advisor.advise.judge import Judge
from advisor.advise.objectives import over_runs
from advisor.advise.proposers import processes, shares
from advisor.advise.ranking import Gain, gain
from advisor.advise.recommendation import Asked, Recommendation, asked_again
from advisor.advise.search import SEARCH_FIRST, improve
from advisor.advise.space import Placement, Space, whole_units
from advisor.advise.spending import OutOfBudgetError
from advisor.advise.strategies import TIE
from simulator import Configuration, RunSet, Scenario, ScenarioError, ties

Floats = NDArray[np.float64]
FEWEST, MOST = 8, 24
"""Draws that a question is asked on, where there are so many replications."""
QUESTION, ALL = 500_000, 50_000_000
"""Computations of processes that the search of one question may simulate, and after which nothing more is asked."""
SHARE = 1 / 4
"""Of a question's computations, for one configuration on all draws."""
NEAR = 2
"""Further configurations of the record that a question begins with."""
PROPOSERS = shares.levelled, processes.steps
TURNS, WIDTH = 4, 1
"""Of a question's search, at most; configurations to go on from, and placements of a turn."""
COMPARED = 3
"""Of the configurations that seem better, the best that are compared in all replications."""


class Questions:
    """Asks about a recommendation, each changed scenario once, everything on the same draws, and counts.

    `most_runs`: simulated runs after which nothing more is asked.
    """

    def __init__(self, scenario: Scenario, made: Recommendation, *, most_runs: int) -> None:
        self.made, self.most_runs = made, most_runs
        self._asked = asked_again(scenario, made, made.objective)
        self.scenario = self._asked.scenario
        self.chosen = self.space.without_idle(made.configuration)
        self._better: list[tuple[float, Configuration]] = []
        self._effort = 0.0

    @cached_property
    def space(self) -> Space:
        """What the search of the advice varied, in the scenario as it is."""
        return self._asked.space

    @property
    def runs(self) -> int:
        """Simulated so far."""
        return self._asked.spending.runs

    @cached_property
    def draws(self) -> int:
        """How many each question is asked on."""
        if self.scenario.deterministic:
            return 1
        steps = len(self.chosen.placement) * self.scenario.application.work.rounds(len(self.chosen.placement))
        return min(int(np.clip(SHARE * QUESTION / max(1, steps), FEWEST, MOST)), self.scenario.replications)

    @property
    def better(self) -> list[Configuration]:
        """What seems to be better than the advice by more than a tie, as the scenario is; the best first."""
        order = ties.in_order([value for value, _ in self._better])[:COMPARED]
        return [self._better[place][1] for place in order.tolist()]

    @cached_property
    def now(self) -> Judge:
        """Of the scenario as it is; see `judge`."""
        judge = self.judge(self.scenario)
        self._note(judge, judge.value(self.chosen))
        return judge

    def judge(self, changed: Scenario) -> Judge:
        """Of a changed scenario, with what a short search tried: the advice among it, if memory holds it.

        Raises OutOfBudgetError if no more may be asked; ScenarioError if memory and swap hold nothing of what was
        tried.
        """
        judge = self._fresh(changed)
        known = [one.configuration for one in self.made.record]
        near = list(dict.fromkeys(one.placement for one in known if one.placement != self.chosen.placement))[:NEAR]
        placements = [self.chosen.placement, *near]
        starts = [self.chosen, *self._scaled(judge.space), *(judge.space.divided(one) for one in placements)]
        judge.of([one for one in starts if self._asked.allowed(one)])
        if judge.best is None:
            raise ScenarioError(
                "application: none of the configurations that were tried can run: make it larger or smaller, "
                "or give the nodes more memory or swap"
            )
        improve(
            judge.space,
            judge,
            allowed=self._asked.allowed,
            proposers=() if self.space.by_rank else PROPOSERS,
            turns=TURNS,
        )
        if np.isfinite(judge.value(self.chosen)):
            judge.settle(self.chosen)
        self._effort += judge.spent
        return judge

    def kept(self, judge: Judge) -> Floats:
        """What the advice takes there, in seconds; (draw,).

        Raises ScenarioError if memory and swap do not hold it.
        """
        if not np.isfinite(judge.value(self.chosen)):
            raise ScenarioError("memory and swap do not hold what is advised")
        return judge.makespans_s(self.chosen)

    def best_over(self, *placements: Placement, given: tuple[Configuration, ...] = ()) -> Floats | None:
        """The best that is found for exactly these processes, or of some configurations; None if memory holds none.

        Raises OutOfBudgetError if no more may be asked.
        """
        now = self.now.value(self.chosen)
        judge = self._fresh(self.scenario)
        starts = [judge.space.divided(placement) for placement in placements]
        if self.space.unequal:
            starts += processes.in_proportion(judge.space, self.chosen, list(placements))
        judge.of([one for one in (*starts, *given) if self._asked.allowed(one)])
        if placements:
            improve(
                judge.space,
                judge,
                allowed=lambda one: one.placement in placements,
                proposers=(shares.levelled,),
                turns=TURNS,
            )
        self._effort += judge.spent
        if judge.best is None:
            return None
        self._note(judge, now)
        return judge.makespans_s(judge.best)

    def regret(self, judge: Judge) -> float:
        """How much longer the advice takes than the best found, as a share."""
        best = judge.best
        return 0.0 if best is None else max(0.0, judge.value(self.chosen) / judge.value(best) - 1)

    def gain(self, then_s: Floats, now_s: Floats, *, deterministic: bool) -> Gain:
        """How many times longer the first makespans are than the others, on the same draws; one is of all draws."""
        then_s, now_s = np.broadcast_arrays(then_s, now_s)
        truths, made = self.now.truths, self.made
        known = {"truths": truths if truths is None or truths.size == now_s.size else None}
        over = over_runs(made.objective)
        return gain(then_s, now_s, over, level=made.level, seed=made.runs.seed, deterministic=deterministic, **known)

    def logged(self, replications: int) -> RunSet:
        """Runs of the advice with the log of their operations."""
        asked = replace(self.scenario, strata=self.draws).with_configurations((self.made.configuration,))
        count = min(self.draws, replications)
        how = {"replications": count, "first_replication": SEARCH_FIRST, "log_replications": count}
        return self._asked.spending.simulate(asked, **how)

    def _scaled(self, space: Space) -> list[Configuration]:
        """The advice with units times what the model makes of each process there: what simulation taught is kept."""
        placement = self.chosen.placement
        now, then = (np.array(one.divided(placement).partition) for one in (self.space, space))
        if not space.unequal or now.size != then.size or now.size != len(self.chosen.partition):
            return []
        wanted = np.array(self.chosen.partition) * then / np.maximum(now, 1)
        return [space.configured(placement, tuple(whole_units(wanted, space.units).tolist()), grid=self.chosen.grid)]

    def _note(self, judge: Judge, now: float) -> None:
        """Keep the best of a judge if it is better than the advice."""
        best = judge.best
        if best is not None and ties.is_less(value := judge.value(best), (1 - TIE) * now):
            self._better.append((value, best))

    def _fresh(self, scenario: Scenario) -> Judge:
        """A judge that has seen nothing."""
        if self.runs >= self.most_runs or self._effort > ALL:
            raise OutOfBudgetError("explanation")
        asked: Asked = replace(self._asked, scenario=replace(scenario, strata=self.draws))
        return Judge(asked.space, asked.spending, draws=self.draws, first=SEARCH_FIRST, effort=QUESTION, width=WIDTH)
