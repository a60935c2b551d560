"""Recommendation: which configuration, what it is predicted to take, and how it compares with the naive strategies."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from advisor import wording
from advisor.advise.alike import run_alike
from advisor.advise.baselines import (
    allocation_baselines,
    baselines,
    core_baselines,
    loaded_baselines,
    node_kinds,
    rank_baselines,
)
from advisor.advise.bound import lower_bound_s
from advisor.advise.judge import FEW, Judge, Tried
from advisor.advise.objectives import Objective, check_objective, over_runs, rates_of, statistic
from advisor.advise.ranking import Gain, Ranked, Ranking, gain, rank
from advisor.advise.ready import check_ready
from advisor.advise.scheduling import (
    FARM,
    PAYS,
    Scheduling,
    axes_of,
    dynamic_candidates,
    movable,
    tried_rules,
    under,
)
from advisor.advise.search import SEARCH_FIRST, improve, search
from advisor.advise.space import NAME, Space, over_all
from advisor.advise.spending import OutOfBudgetError, Spending, Tell
from advisor.advise.strategies import (
    EQUAL_WORK,
    TIE,
    Strategies,
    advisable,
    most_processes,
    renamed,
    simplest,
    strategies,
    tied,
    unused,
    usual_vary,
    without_uneven,
)
from advisor.results import (
    NO_TIMES,
    Candidate,
    Compared,
    Confirmed,
    Described,
    Drawn,
    Ends,
    Strategy,
    application_of,
)
from advisor.results import Objective as Judged
from simulator import (
    AS_NOW,
    Configuration,
    RunSet,
    Scenario,
    ScenarioError,
    gathered_shares,
    in_time,
    intervals,
    meant,
    notebook,
    partitions,
    plots,
    reaching,
    shares_of,
    ties,
    units,
)
from simulator.experiments.sweep import run_or_recall
from simulator.programs.applications import NOUNS

if TYPE_CHECKING:
    import pandas as pd

VARIED = ("partition", "allocation", "scheduling")
REFERENCES = (AS_NOW, "one-per-core", "equal", "block")
"""What gains are counted from: the first of these that was compared."""
MOST_CONFIRMED = 8_000
"""Rounds of all processes up to which the reference engine runs a configuration again: it takes its time."""
CONFIRMING_S = 2.0
"""Seconds that have to be left for that."""
FOUND = 3
"""Configurations of different placements that a search hands on, at most."""
NEAR = 1.02
"""What is this many times as bad as the best that was found is not handed on."""
MOST_DRAWS = 24
"""Replications that a configuration is judged by in the search."""
OPERATIONS = 4_000_000
"""Computations that one simulated configuration may take, so that large scenarios are judged by fewer replications."""
BASELINES_UNTIL, SEARCH_UNTIL, STEPS_UNTIL = 0.3, 0.6, 0.95
"""Shares of a budget after which these stages end."""
COMPARING = 0.6
"""Share of the time that is left for the comparison of candidates; the rest is for steps from the best."""
ONE_CANDIDATE = 4.0
"""Times what the first candidate took on few draws that a budget has to be."""


@dataclass(frozen=True)
class Recommendation:
    """The simplest configuration of those that tie for the least objective (mean makespan), and how they compare."""

    runs: RunSet
    """All candidates on the same draws."""
    strategies: Strategies
    """What was compared, under which names."""
    varied: tuple[str, ...]
    ranking: Ranking
    """Of the candidates, by their place."""
    evaluations: int
    """Simulated runs in all, without those of the reference engine."""
    most: int | None
    """Most processes on one PE that may be advised; its cores if None. Others are compared, but ranked last."""
    ties: tuple[str, ...]
    """Names of the candidates that are expected to lose at most 1 % to the best one, best first; the advised one is the
    simplest of them, or the best if that is more uncertain."""
    scenario: Scenario
    """What it is for."""
    level: float
    """How often its stated intervals hold."""
    record: tuple[Tried, ...]
    """All that the search tried, on draws of its own; the best first."""
    confirmations: tuple[Confirmed, ...] = ()
    """The best candidates by the reference engine, on the same draws."""
    scheduling: Scheduling | None = None
    """Whether units should move while the program runs; None where that was not asked."""

    @property
    def configuration(self) -> Configuration:
        """The recommended one."""
        return self.candidates[self.ranking.best.candidate]

    @cached_property
    def rates(self) -> list[float]:
        """What a second of each candidate counts for: 1 where the objective is a time; see `rates_of`."""
        return [float(rate) for rate in rates_of(self.scenario, self.candidates, self.objective)]

    @property
    def candidates(self) -> tuple[Configuration, ...]:
        """All that were compared."""
        return self.strategies.candidates

    @property
    def objective(self) -> Objective:
        """What shall be least."""
        return self.ranking.objective

    @property
    def predicted(self) -> Described:
        """Mean makespan in seconds with its interval, median and where one run lies; see `simulator.describe`."""
        return self.described(self.configuration.name)

    def described(self, name: str) -> Described:
        """The same of any candidate."""
        return Described.of(self.runs.described(name, level=self.level))

    @cached_property
    def baselines(self) -> dict[str, Gain]:
        """By name, how many times longer each other candidate takes; candidates of several names have several."""
        judged = {
            one.name: rate * self.runs.of(one.name) for one, rate in zip(self.candidates, self.rates, strict=True)
        }
        best, over = judged[self.configuration.name], over_runs(self.objective)
        found = {name: self.gain(values, best) for name, values in judged.items()}
        if self.runs.reach_s is not None and over == "mean":
            reach = dict(zip(judged, np.multiply(self.rates, self.runs.reach_s), strict=True))
            found = {name: one.reaching(reach[name] / reach[self.configuration.name]) for name, one in found.items()}
        return found | {name: found[same] for name, same in self.strategies.also.items()}

    def gain(self, values: NDArray[np.float64], best: NDArray[np.float64]) -> Gain:
        """How many times longer the first take than the others, on the draws of its runs; (replication,) each."""
        runs, over = self.runs, over_runs(self.objective)
        how = partial(gain, truths=runs.truths, level=self.level, seed=runs.seed, deterministic=runs.deterministic)
        return how(values, best, over)

    def _compared(self) -> tuple[Strategy, ...]:
        """One entry per name of a candidate."""
        places = {candidate.name: place for place, candidate in enumerate(self.candidates)}
        ranked = {entry.candidate: entry for entry in self.ranking.ranked}
        found = []
        for name in (*places, *self.strategies.also):
            same = self.strategies.also.get(name, name)
            one, against, judged = self.candidates[places[same]], self.baselines[name], ranked[places[same]]
            found.append(
                Strategy(
                    name=name,
                    same_as=None if same == name else same,
                    partition=one.partition,
                    placement=one.placement,
                    grid=one.grid,
                    predicted=self.described(same),
                    objective=Judged(judged.value_s, judged.low_s, judged.high_s),
                    gain=Ends(against.mean, against.low, against.high),
                    probability=against.probability,
                )
            )
        return tuple(found)

    def _ranked(self) -> tuple[Candidate, ...]:
        """The candidates by the objective, best first."""
        bound_s, count = self.ranking.bound_s, self.runs.makespan_ticks.shape[1]
        names = [self.candidates[entry.candidate].name for entry in self.ranking.ranked]
        return tuple(
            Candidate(
                name=name,
                also=tuple(self.strategies.names_of(name)),
                mean=entry.value_s,
                low=entry.low_s,
                high=entry.high_s,
                runs=count,
                p_best=entry.p_best,
                p_within_1_percent=entry.p_near,
                expected_loss=entry.expected_loss,
                regret=None if bound_s is None else entry.value_s / bound_s - 1,
            )
            for name, entry in zip(names, self.ranking.ranked, strict=True)
        )

    @property
    def reference(self) -> str:
        """What gains are counted from: `as-now`, else a process per core with equal units, else equal units."""
        named = self.baselines
        return next((name for name in REFERENCES if name in named), self.candidates[0].name)

    @cached_property
    def compared(self) -> Compared:
        """All candidates on the same draws: what the words of an answer are made of, and what documents say."""
        return Compared(
            application=application_of(self.scenario),
            pes=tuple(pe.name for pe in self.scenario.platform.pes),
            kinds=node_kinds(self.scenario),
            recommended=self.configuration.name,
            reference=self.reference,
            baselines=self._compared(),
            objective=self.objective,
            ranking=self._ranked(),
            ties=self.ties,
            expected_loss=self.ranking.best.expected_loss,
            regret=self.ranking.regret,
            evaluations=self.evaluations,
            confirmed=self.confirmations,
            drawn=Drawn.of(self.runs, self.level),
        )

    @property
    def _judged(self) -> str:
        """The objective of the recommended one with its interval."""
        best, objective = self.ranking.best, self.objective
        unit = wording.objective_unit(objective)
        return f"{objective} {units.show_interval(best.value_s, best.low_s, best.high_s, unit=unit)}"

    def __repr__(self) -> str:
        return f"Recommendation({self.configuration.name} of {len(self.candidates)} candidates, {self._judged})"

    def __str__(self) -> str:
        """The answer in a sentence, and what it is predicted to take."""
        one = f"{wording.objective_text(self.objective)}: {self._judged}, {self.configuration.name}"
        before = next((one for one in self.compared.baselines if one.name == self.reference), None)
        now = "" if before is None else f"; {before.name}: {wording.with_interval(before.predicted)}"
        return "\n".join([wording.answer(self.compared), f"Predicted {one}{now if self.objective == 'mean' else ''}."])

    def to_dataframe(self) -> "pd.DataFrame":
        """The ranking, best first, a row per candidate with its units, its PEs and the gain."""
        import pandas as pd

        by_name, frame = {one.name: one for one in self.candidates}, pd.DataFrame(self.compared.to_dict()["ranking"])
        frame["gain_of_recommended"] = [self.baselines[name].mean for name in frame["name"]]
        frame["partition"] = [by_name[name].partition for name in frame["name"]]
        frame["placement"] = [by_name[name].placement for name in frame["name"]]
        return frame

    def _repr_html_(self) -> str:
        return _ranking_page(self)


def recommend(  # noqa: PLR0913 - all by name
    scenario: Scenario,
    *,
    replications: int | None = None,
    seed: int | None = None,
    vary: Sequence[str] | None = None,
    objective: Objective = "mean",
    runs: int | None = None,
    budget_s: float | None = None,
    oversubscribe: bool = False,
    confirm: int = 1,
    level: float = intervals.LEVEL,
    tell: Tell | None = None,
) -> Recommendation:
    """Find who should get how much: PEs, processes on each and units of each, compared on the same draws.

    Compared are what the search finds, the naive strategies and the scenario's own configurations. The simplest is
    recommended that loses at most 1 % to the best in expectation: the fewest PEs, then processes, equal units, ...

    Raises ScenarioError if there is no such application or objective, parameters or model do not fit the application,
    something else shall vary, memory and swap hold no candidate, or the budget does not allow one.

    `scenario`: its own configurations are candidates under their own names; `as-now` is what gains are counted from.
    `replications`, `seed`: in place of the scenario's own.
    `vary`: of `partition`, `allocation`, `scheduling` (units may move while it runs); by default the first two, if
    allowed.
    `objective`: what is to be least.
    `runs`, `budget_s`: simulated runs that the search may take; seconds for all of it, which may leave candidates fewer
    replications: the same seed need not give the same advice.
    `oversubscribe`: allow more processes than cores on a PE, where shares can be unequal; see `most_processes`.
    `confirm`, `tell`: replications that the reference engine runs of the two best, 0 for none; a callback for how far
    the search is.
    `level`: how often stated intervals hold.
    """
    check_objective(objective)
    vary = usual_vary(scenario, oversubscribe=oversubscribe) if vary is None else vary
    strata = scenario.strata or max(replications or 1, scenario.replications)  # fewer replications are some of its own
    scenario = replace(scenario.with_draws(replications, seed), strata=strata)
    spending = Spending(runs=runs, time_s=budget_s, tell=tell)
    asked = Asked(scenario, tuple(vary), objective, spending, oversubscribe=oversubscribe, level=level)
    asked.check()
    with in_time(budget_s):
        made = _scheduled(asked, _made(asked, *_found(asked)))
    if not confirm or spending.left_s < CONFIRMING_S:
        return made
    return replace(made, confirmations=_confirmed(scenario, made, confirm))


def _made(
    asked: "Asked", found: Sequence[Configuration], left_out: Sequence[str], record: tuple[Tried, ...]
) -> Recommendation:
    """The best of what was found and of what lies steps from it."""
    scenario, objective = asked.scenario, asked.objective
    compared, table = _compared(asked, found, left_out)
    table = reaching(scenario.with_configurations(compared.candidates), table)
    bound_s = None if objective in NO_TIMES else lower_bound_s(scenario, most=asked.most)
    rank = partial(_ranking, bound_s=bound_s, most=asked.most, level=asked.level)
    ranking, near = rank(scenario, objective, compared.candidates, table)
    spent = asked.spending.runs
    return Recommendation(table, compared, asked.vary, ranking, spent, asked.most, near, scenario, asked.level, record)


@dataclass(frozen=True)
class Asked:
    """What is searched, for what, and what that may take."""

    scenario: Scenario
    vary: tuple[str, ...]
    objective: Objective
    spending: Spending
    oversubscribe: bool
    level: float

    def check(self) -> None:
        """Whether it can be asked."""
        for name in self.vary:
            if name not in VARIED:
                raise ScenarioError(f"vary: {name!r} cannot vary; name {' or '.join(VARIED)}{meant(name, VARIED)}")
        if self.scenario.application.work.by_rank and set(self.vary) != {"allocation"}:
            why = "each rank does what it did when it was recorded: only where it runs can vary"
            raise ScenarioError(f"vary: {why}; leave it out, or say allocation")
        rates_of(self.scenario, (), self.objective)
        check_ready(self.scenario)

    @property
    def most(self) -> int | None:
        """Most processes on one PE: its cores (None), one where the allocation does not vary, or more if allowed."""
        return most_processes(self.scenario, self.vary, oversubscribe=self.oversubscribe)

    @property
    def shared_unequally(self) -> bool:
        """Whether processes may have unequal units."""
        equal = self.scenario.application.name in EQUAL_WORK and "allocation" in self.vary
        return "partition" in self.vary and not equal

    @property
    def space(self) -> Space:
        """What is searched."""
        return Space(self.scenario, self.most, self.shared_unequally, self.objective)

    def judge(self) -> Judge:
        """Of what is searched: few draws that the comparison does not have."""
        scenario = self.scenario
        work = scenario.application.work
        processes = work.units if work.by_rank else sum(pe.cores for pe in scenario.platform.pes)
        steps = processes * work.rounds(processes)
        draws = min(int(np.clip(OPERATIONS // max(1, steps), 4, MOST_DRAWS)), scenario.replications)
        space = replace(self.space, scenario=replace(scenario, strata=draws))
        return Judge(space, self.spending, draws=draws, first=SEARCH_FIRST)

    def allowed(self, one: Configuration) -> bool:
        """Whether a configuration may be advised, as far as the number of its processes on a PE goes."""
        return advisable(self.scenario, one, self.most)


def _found(asked: Asked) -> tuple[list[Configuration], tuple[str, ...], tuple[Tried, ...]]:
    """The baselines, the scenario's own configurations and what was found; a line for each left out; the record."""
    scenario, vary, spending, judge = asked.scenario, asked.vary, asked.spending, asked.judge()
    by_rank = judge.space.by_rank
    found = core_baselines(scenario) if "allocation" in vary and not by_rank else []
    if by_rank:
        found = rank_baselines(judge.space)
    elif "partition" in vary:
        found = [*baselines(scenario, judge.space.kinds), *found]
    elif "allocation" in vary:
        found += allocation_baselines(scenario, judge.space.kinds)
    found += [] if by_rank else loaded_baselines(scenario, found, cores="allocation" in vary)
    own, unfit = _own(scenario)
    with spending.stage("baselines", until=BASELINES_UNTIL):
        for one in [*own, *found]:  # the first one whatever it takes
            if advisable(scenario, one, asked.most):
                judge.of([judge.space.without_idle(judge.space.in_order(one))])
    _check_budget(spending)
    with spending.stage("search", until=SEARCH_UNTIL):
        if "partition" in vary:
            found += _by_functional(asked)
        search(judge.space, judge, [*own, *found], allowed=asked.allowed)
    found += _best_found(asked, judge)
    found, uneven = without_uneven(scenario, vary, found)
    named = sorted(_with_own(own, found), key=lambda one: by_rank and one.name != AS_NOW)  # as it is, block or not
    return named, (*uneven, *unfit), judge.record


def asked_again(scenario: Scenario, made: Recommendation, objective: Objective) -> Asked:
    """What a recommendation was asked for, on the draws of its runs, for an objective."""
    whole = replace(made.runs.drawn(scenario), replications=made.runs.makespan_ticks.shape[1])
    oversubscribe = made.most is not None and made.most > 1
    return Asked(whole, made.varied, objective, Spending(), oversubscribe=oversubscribe, level=made.level)


def record_of(scenario: Scenario, made: Recommendation, objective: Objective) -> tuple[Tried, ...]:
    """All that a search for another objective tries, which begins with what was compared; the best first."""
    asked = asked_again(scenario, made, objective)
    judge = asked.judge()
    search(judge.space, judge, made.candidates, allowed=asked.allowed)
    return judge.record


def _scheduled(asked: "Asked", made: Recommendation) -> Recommendation:
    """With candidates whose units move while the program runs, and when these pay, where that is asked."""
    if "scheduling" not in asked.vary:
        return made
    if asked.scenario.application.name == FARM:
        return _with_rules(asked, made)
    scenario, fixed = asked.scenario, [one for one in made.candidates if one.repartition is None]
    places = {entry.candidate: place for place, entry in enumerate(made.ranking.ranked)}
    static = min(fixed, key=lambda one: places[made.candidates.index(one)])
    equal = [one for one in fixed if one.name == "equal"]
    best_first = sorted(fixed, key=lambda one: places[made.candidates.index(one)])
    found = dynamic_candidates(scenario, [*best_first, *(equal or best_first[:1])])
    after = adopted(scenario, made, *found)
    places = {entry.candidate: place for place, entry in enumerate(after.ranking.ranked)}
    dynamic = min(found, key=lambda one: places[after.candidates.index(one)])
    moves = [len(one) - 1 for one in after.runs.partitions[dynamic.name]]
    runs_s = after.runs.of(static.name), after.runs.of(dynamic.name)
    ahead = after.gain(*runs_s)
    judged = Scheduling(
        static.name,
        dynamic.name,
        str(dynamic.repartition),
        float(np.mean(moves)),
        pays=after.configuration.repartition is not None,
        predicted_s=float(runs_s[1].mean()),
        gain=ahead.mean,
        gain_low=ahead.low,
        gain_high=ahead.high,
        axes=tuple(axes_of((scenario, fixed), (scenario, [dynamic]), asked.spending)),
    )
    return replace(after, scheduling=judged)


def _with_rules(asked: "Asked", made: Recommendation) -> Recommendation:
    """With the best chunk rule of a farm beside its best static partition, both by all draws."""
    scenario = asked.scenario
    fixed = under(scenario, {"rule": "static"})
    best = recommend(fixed, vary=("partition",), objective=made.objective, confirm=0, level=made.level)
    tried = tried_rules(scenario, made.configuration)
    dynamic = under(scenario, tried[0].parameters)
    own = run_or_recall(dynamic.with_configurations((made.configuration,))).makespan_s[0]
    ahead = made.gain(best.runs.of(best.configuration.name), own)
    judged = Scheduling(
        ", ".join(map(str, best.configuration.partition)),
        tried[0].name,
        ", ".join(f"{key}: {value}" for key, value in tried[0].parameters.items()),
        None,
        pays=ahead.mean > 1 + PAYS and (ahead.low is None or ahead.low > 1),
        predicted_s=float(own.mean()),
        gain=ahead.mean,
        gain_low=ahead.low,
        gain_high=ahead.high,
        axes=tuple(axes_of((fixed, best.candidates), (dynamic, [made.configuration]), asked.spending)),
        rules=tuple(tried),
        now_s=float(made.runs.of(made.configuration.name).mean()),
    )
    return replace(made, scheduling=judged)


def adopted(scenario: Scenario, made: Recommendation, *configurations: Configuration) -> Recommendation:
    """A recommendation with more candidates, judged again; the same where they are known already.

    `scenario`: with the seed and the replications of the recommendation.
    """
    known = made.strategies
    compared = strategies(scenario, [*known.candidates, *configurations], left_out=known.left_out)
    names = tuple(one.name for one in compared.candidates)
    if names == made.runs.configurations:
        return made
    shown = scenario.with_configurations(compared.candidates)
    runs, simulated = run_alike(shown, scenario.replications)
    runs = reaching(shown, runs)
    rank = partial(_ranking, bound_s=made.ranking.bound_s, most=made.most, level=made.level)
    ranking, near = rank(scenario, made.objective, compared.candidates, runs)
    compared = replace(compared, also={**known.also, **compared.also})
    changed: dict[str, Any] = {"runs": runs, "strategies": compared, "ranking": ranking, "ties": near}
    changed |= {"evaluations": made.evaluations + simulated, "scenario": scenario}
    after = replace(made, confirmations=(), scheduling=None, **changed)
    again = len(made.confirmations[0].reference_s) if made.confirmations else 0
    return replace(after, confirmations=_confirmed(scenario, after, again)) if again else after


def _best_found(asked: Asked, judge: Judge) -> list[Configuration]:
    """The best configurations of the record, one of a placement; as partitions over all PEs where they can be.

    Besides, the simplest of those that tie, and the best whose units can move, where that is asked.
    """
    best = judge.best_placed(FOUND, near=NEAR)
    best += [one for one in judge.simplest(within=TIE) if one not in best]
    if "scheduling" in asked.vary and asked.scenario.application.name != FARM:
        ranked = (seen.configuration for _, seen in judge.ranked())
        best += [one for one in islice(filter(partial(movable, asked.scenario), ranked), 1) if one not in best]
    plain = [_in_file_order(judge, one) for one in best]
    named = [renamed(one, f"{NAME}-{number}" if number else NAME) for number, one in enumerate(plain)]
    return [over_all(judge.scenario, one) for one in named if asked.allowed(one)]


def _in_file_order(judge: Judge, configuration: Configuration) -> Configuration:
    """The same with ranks in the order of the file, if that is as good: it is what launchers do by themselves."""
    ranks = sorted(range(len(configuration.placement)), key=configuration.placement.__getitem__)
    if configuration.grid is not None or ranks == list(range(len(ranks))):
        return configuration
    placement, parts = configuration.placement, configuration.partition
    plain = replace(
        configuration, placement=tuple(placement[r] for r in ranks), partition=tuple(parts[r] for r in ranks)
    )
    try:
        (value,) = judge.of([plain])
    except OutOfBudgetError:
        return configuration
    return configuration if ties.is_less(judge.value(configuration), value) else plain


def _check_budget(spending: Spending) -> None:
    """Whether there is time left for what has to be simulated in any case."""
    if spending.left_s <= 0:
        taken_s = (spending.time_s or 0.0) - spending.left_s
        needed = units.write_duration(math.ceil(ONE_CANDIDATE * taken_s * 10) / 10)
        given = units.show_duration(spending.time_s or 0.0)
        raise ScenarioError(f"budget: {given} is too little to simulate one candidate; give at least {needed}")


def _own(scenario: Scenario) -> tuple[list[Configuration], list[str]]:
    """The scenario's own configurations, and a line for each that the application cannot run; `as-now` has to fit."""
    fit, unfit = [], []
    for one in scenario.configurations:
        try:
            scenario.program(one)
        except ScenarioError as error:
            if one.name == AS_NOW:
                raise
            unfit.append(f"{error.lines[0]}; it is left out")
        else:
            fit.append(one)
    return fit, unfit


def _with_own(configurations: Sequence[Configuration], found: Sequence[Configuration]) -> list[Configuration]:
    """What was found, and the scenario's own configurations under their names: a strategy of the same name yields."""
    own = {one.name: one for one in configurations}
    known = {one.name: one for one in found}
    same = {name for name, one in own.items() if known.get(name) == one}
    yielding = [renamed(one, f"naive-{one.name}") if one.name in own.keys() - same else one for one in found]
    return [*yielding, *(one for name, one in own.items() if name not in same)]


def _compared(asked: Asked, found: Sequence[Configuration], left_out: Sequence[str]) -> tuple[Strategies, RunSet]:
    """What was found and what lies steps from the best, all simulated on the same draws."""
    scenario, spending = asked.scenario, asked.spending
    compared = strategies(scenario, found, left_out=left_out)
    count = scenario.replications
    with spending.stage("comparison"):
        if spending.timed:
            count = _affordable(asked, compared.candidates)
        table, simulated = run_alike(scenario.with_configurations(compared.candidates), count)
    spending.runs += simulated
    if count < scenario.replications and not scenario.deterministic:
        cut = f"the budget allowed {count} of {scenario.replications} replications of each candidate"
        left_out = (*left_out, cut)
    again = asked.shared_unequally and not scenario.deterministic  # else the search has seen these draws
    stepped = _stepped(asked, table, compared.candidates) if again else None
    if spending.cut:
        left_out = (*left_out, f"the budget ended the {' and the '.join(spending.cut)}; a better answer may exist")
    made = strategies(scenario, found if stepped is None else [*found, stepped], left_out=left_out)
    if stepped is None or stepped not in made.candidates:
        return made, table
    alone, simulated = run_alike(scenario.with_configurations((stepped,)), count)
    spending.runs += simulated
    if alone.tick_s != table.tick_s:  # a long run needs longer ticks
        return made, run_or_recall(scenario.with_configurations(made.candidates), replications=count)
    return made, table.together(alone)


def _affordable(asked: Asked, candidates: Sequence[Configuration]) -> int:
    """Replications of all candidates that what is left of the time allows; at least one."""
    few, begun_s = min(FEW, asked.scenario.replications), asked.spending.left_s
    run_or_recall(asked.scenario.with_configurations(tuple(candidates)), replications=few)
    each_s = (begun_s - asked.spending.left_s) / few
    return int(np.clip(COMPARING * asked.spending.left_s / max(each_s, 1e-9), 1, asked.scenario.replications))


def _stepped(asked: Asked, table: RunSet, candidates: Sequence[Configuration]) -> Configuration | None:
    """What the search makes of the best candidate on the draws of the comparison; None where it is the best."""
    judge = Judge(asked.space, asked.spending, draws=table.makespan_ticks.shape[1])
    for one in candidates:
        if asked.allowed(one):
            judge.know(one, table)
    start = judge.best
    with asked.spending.stage("steps", until=STEPS_UNTIL):
        improve(judge.space, judge, allowed=asked.allowed)
    best = judge.best
    if best is None or best == start:
        return None
    name = unused("stepped", (one.name for one in candidates))  # the user's own may have it from an advice of before
    return over_all(asked.scenario, renamed(best, name))


def _ranking(
    scenario: Scenario,
    objective: Objective,
    candidates: Sequence[Configuration],
    runs: RunSet,
    *,
    bound_s: float | None,
    most: int | None,
    level: float,
) -> tuple[Ranking, tuple[str, ...]]:
    """All candidates, with all replications of each; and the names of those that tie for the best, best first.

    The simplest of those is the first one. Candidates that may not be advised are last and have no chance.
    """
    per_s = rates_of(scenario, candidates, objective)
    table = per_s[:, np.newaxis] * runs.makespan_s
    may = np.array([advisable(scenario, one, most) for one in candidates])
    places, others = np.flatnonzero(may | ~may.any()), np.flatnonzero(~may & may.any())
    found = rank(
        table[places],
        objective=over_runs(objective),
        bound_s=bound_s,
        seed=scenario.seed,
        deterministic=runs.deterministic,
        truths=runs.truths,
        level=level,
        reach=None if runs.reach_s is None else (per_s * runs.reach_s)[places],
    )
    ranked = [replace(entry, candidate=int(places[entry.candidate])) for entry in found.ranked]
    values = [entry.value_s for entry in ranked]
    moving = [candidates[entry.candidate].repartition is not None for entry in ranked]
    near = tied(values, [entry.expected_loss for entry in ranked], moving)
    mine = [candidates[ranked[place].candidate] for place in near]
    first = simplest(mine, [values[place] for place in near], stay=scenario.application.work.by_rank)
    ranked.insert(0, ranked.pop(near[first]))
    far = statistic(table[others], objective, runs.truths)
    ranked += [
        Ranked(int(others[place]), float(far[place]), None, None, table.shape[1], None, None)
        for place in ties.in_order(far).tolist()
    ]
    return replace(found, objective=objective, ranked=tuple(ranked)), tuple(one.name for one in mine)


def _confirmed(scenario: Scenario, made: Recommendation, replications: int) -> tuple[Confirmed, ...]:
    """The reference engine's makespans of the two best in the first replications."""
    best = [made.candidates[entry.candidate] for entry in made.ranking.ranked[:2]]
    rounds = scenario.application.work.rounds
    chosen = tuple(one for one in best if (count := len(one.partition)) * rounds(count) <= MOST_CONFIRMED)
    if not chosen:
        return ()
    count = min(replications, scenario.replications)
    asked = scenario.with_configurations(chosen)
    reference = run_or_recall(asked, replications=count, engine="process").makespan_s.tolist()
    screened = run_or_recall(asked, replications=count, engine=made.runs.engine).makespan_s.tolist()
    return tuple(
        Confirmed(one.name, tuple(known), tuple(seen), made.runs.engine, agrees=_agree(known, seen))
        for one, known, seen in zip(chosen, reference, screened, strict=True)
    )


def _agree(known_s: Sequence[float], seen_s: Sequence[float]) -> bool:
    """Whether makespans are the same but for the length of a tick."""
    return bool(np.allclose(known_s, seen_s, rtol=1e-9, atol=0))


def _by_functional(asked: Asked) -> list[Configuration]:
    """The functional partition, and one that memory holds where it does not hold that."""
    scenario = asked.scenario
    functional = partitions.on_each("functional", "functional", scenario)
    limited = asked.space.within_memory(functional)
    return [functional] if limited is functional else [functional, renamed(limited, "within-memory")]


def _shown(value: float, objective: Objective) -> str:
    return f"{value:.4g} {NO_TIMES[objective]}" if objective in NO_TIMES else units.show_duration(value)


def makespans_of(made: Recommendation) -> plots.Drawing:
    """The predicted makespans of the best candidates."""
    shown = [made.candidates[one.candidate] for one in made.ranking.ranked[: notebook.MOST_ROWS]]
    rows = [plots.Makespan.of(one.name, made.described(one.name)) for one in shown]
    return plots.makespans(rows, made.configuration.name, level=made.level)


def _shares(made: Recommendation, scenario: Scenario) -> plots.Drawing:
    """Who gets how much, as pages show it; see `advisor.report.picture`."""
    reference = made.reference
    named = {one.name: one for one in made.candidates}
    before, best = named[made.strategies.also.get(reference, reference)], made.configuration
    shares, of = gathered_shares(shares_of(scenario, before if before != best else None, best))
    unit = NOUNS.get(scenario.application.name, "units")
    return plots.shares(shares, unit=unit, of=of, names=(reference.replace("as-now", "as now"), "advised"))


def _ranking_page(made: Recommendation) -> str:
    """The best candidates with what they may lose, and where the middle nine tenths of their makespans lie."""
    shown = made.ranking.ranked[: notebook.MOST_ROWS]
    candidates = [made.candidates[one.candidate] for one in shown]
    rows = [
        {
            "configuration": ", ".join((one.name, *made.strategies.names_of(one.name))),
            "units": one.partition,
            str(made.objective): _shown(entry.value_s, made.objective),
            "expected loss to the best of those compared": "-"
            if entry.expected_loss is None
            else f"{entry.expected_loss:.1%}",
            "takes (times recommended)": f"{made.baselines[one.name].mean:.3f}",
        }
        for entry, one in zip(shown, candidates, strict=True)
    ]
    return notebook.page(
        f"Recommended: {made.configuration.name}",
        _shares(made, made.scenario).svg(),
        makespans_of(made).svg(),
        notebook.table(rows, count=len(made.ranking.ranked)),
        warnings=made.strategies.left_out,
    )
