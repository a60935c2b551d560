"""Recommendation: which configuration, what it is predicted to take, and how it compares with the naive strategies."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from advisor.advise.baselines import baselines, core_baselines
from advisor.advise.bound import lower_bound_s, sizes
from advisor.advise.joint import one_step_from, search_jointly
from advisor.advise.objectives import Objective, check_objective, statistic
from advisor.advise.partition import by_times, refined
from advisor.advise.partition.by_times import Times
from advisor.advise.ranking import Gain, Ranked, Ranking, gain, rank
from advisor.advise.search import SEARCH_FIRST, SOUGHT, Confirmation, search_allocation
from advisor.advise.simulated import configuration_of, kinds_of, mean_share, process_times
from advisor.advise.strategies import (
    EQUAL_WORK,
    Strategies,
    most_processes,
    renamed,
    strategies,
    usual_vary,
    within_memory,
    without_uneven,
)
from simulator import Configuration, RunSet, Scenario, ScenarioError, describe, notebook, ties, units
from simulator.experiments.sweep import run_or_recall

if TYPE_CHECKING:
    import pandas as pd

VARIED = ("partition", "allocation")
BUDGET = 300
"""Simulated runs that the search for an allocation may take."""
CANDIDATES = 4
"""Configurations that are compared at the least, for what memory that takes."""
AS_NOW = "as-now"
"""The configuration of a scenario that gains are counted from."""
MOST_STEPS = 12
"""Steps from the best candidate in a row, at most."""
MOST_CONFIRMED = 40_000
"""Rounds of all processes up to which the reference engine runs a configuration again: it takes its time."""


@dataclass(frozen=True)
class Recommendation:
    """The configuration with the least objective (the mean makespan) among all candidates, and how they compare."""

    configuration: Configuration
    runs: RunSet
    """All candidates on the same draws."""
    strategies: Strategies
    """What was compared, under which names."""
    varied: tuple[str, ...]
    ranking: Ranking
    """Of the candidates, by their place."""
    evaluations: int
    """Simulated runs in all, without those of the reference engine."""
    confirmations: tuple[Confirmation, ...]
    """The best candidates by the reference engine, on the same draws."""

    @property
    def candidates(self) -> tuple[Configuration, ...]:
        """All that were compared."""
        return self.strategies.candidates

    @property
    def objective(self) -> Objective:
        """What the recommended one has the least of."""
        return self.ranking.objective

    @property
    def predicted(self) -> dict[str, float | None]:
        """Mean makespan in seconds with its 95 % interval, median, 5 % and 95 % quantiles; see `describe`."""
        return describe(self.runs.of(self.configuration.name), deterministic=self.runs.deterministic)

    @cached_property
    def baselines(self) -> dict[str, Gain]:
        """By name, how many times longer each other candidate takes; candidates of several names have several."""
        best, how = self.runs.of(self.configuration.name), self._how_drawn
        found = {c.name: gain(self.runs.of(c.name), best, self.objective, **how) for c in self.candidates}
        return found | {name: found[same] for name, same in self.strategies.also.items()}

    @property
    def _how_drawn(self) -> dict[str, Any]:
        return {"seed": self.runs.seed, "deterministic": self.runs.deterministic}

    def to_dict(self) -> list[dict[str, Any]]:
        """One entry per name of a candidate, plain data for JSON and the report."""
        by_name = {candidate.name: candidate for candidate in self.candidates}
        places = {candidate.name: place for place, candidate in enumerate(self.candidates)}
        ranked = {entry.candidate: entry for entry in self.ranking.ranked}
        entries = []
        for name in (*by_name, *self.strategies.also):
            same = self.strategies.also.get(name, name)
            against, makespans, judged = self.baselines[name], self.runs.of(same), ranked[places[same]]
            entries.append(
                {
                    "name": name,
                    "same_as": None if same == name else same,
                    "partition": list(by_name[same].partition),
                    "placement": list(by_name[same].placement),
                    "predicted_makespan_s": describe(makespans, deterministic=self.runs.deterministic),
                    "objective_s": {"value": judged.value_s, "low": judged.low_s, "high": judged.high_s},
                    "gain_of_recommended": {"mean": against.mean, "low": against.low, "high": against.high},
                    "probability_recommended_faster": against.probability,
                }
            )
        return entries

    def ranked(self, top: int | None = None) -> list[dict[str, Any]]:
        """The best candidates by the objective, best first, plain data; all by default."""
        return [self._ranked(entry) for entry in self.ranking.ranked[:top]]

    def _ranked(self, entry: Ranked) -> dict[str, Any]:
        name, bound_s = self.candidates[entry.candidate].name, self.ranking.bound_s
        return {
            "name": name,
            "also": self.strategies.names_of(name),
            "value_s": entry.value_s,
            "low_s": entry.low_s,
            "high_s": entry.high_s,
            "runs": self.runs.makespan_ticks.shape[1],
            "p_best": entry.p_best,
            "p_within_1_percent": entry.p_near,
            "regret": None if bound_s is None else entry.value_s / bound_s - 1,
        }

    def __repr__(self) -> str:
        shown = f"{self.configuration.name} of {len(self.candidates)} candidates, {self.objective}"
        return f"Recommendation({shown} {units.show_duration(self.ranking.best.value_s)})"

    def to_dataframe(self) -> "pd.DataFrame":
        """The ranking, best first, a row per candidate: what `ranked` says, the units and the PEs, and the gain."""
        import pandas as pd

        return pd.DataFrame(_ranking_rows(self))

    def _repr_html_(self) -> str:
        return _ranking_page(self)


def recommend(
    scenario: Scenario,
    *,
    benchmark_speeds: Sequence[float] | None = None,
    replications: int | None = None,
    seed: int | None = None,
    vary: Sequence[str] | None = None,
    objective: Objective = "mean",
    budget: int = BUDGET,
    confirm: int = 1,
) -> Recommendation:
    """Find who should get how much: PEs, processes on each and units of each, compared on the same draws.

    Compared are what the searches find, the naive strategies, the scenario's own configurations, and what lies one step
    from the best of them: of all these the recommended one has the least objective.

    Parameters
    ----------
    scenario
        Its own configurations are candidates under their own names; `as-now` is what gains are counted from.
    benchmark_speeds
        Speed of each PE in one small benchmark, for the constant model; by default the middle of its band at the
        smallest size, as an idle PE would show it.
    replications, seed
        In place of the scenario's own.
    vary
        `partition`, `allocation` or both; by default all that the application allows.
    objective
        What is to be least.
    budget
        Simulated runs of the search for an allocation; all candidates then have all replications.
    confirm
        Replications that the reference engine runs of the two best, 0 for none.

    Raises
    ------
    ScenarioError
        If there is no such application or objective, parameters or model do not fit the application, something else
        shall vary, or memory and swap hold no candidate.
    """
    check_objective(objective)
    vary = usual_vary(scenario) if vary is None else vary
    if unknown := [name for name in vary if name not in VARIED]:
        raise ScenarioError(f"vary: {unknown[0]!r} cannot vary; name {' or '.join(VARIED)}")
    scenario = replace(
        scenario,
        replications=scenario.replications if replications is None else replications,
        seed=scenario.seed if seed is None else seed,
    )
    scenario.check_memory_needed(candidates=CANDIDATES)
    left_out = _without_allocations(scenario, vary)
    searched = [name for name in vary if name != "allocation" or not left_out]
    found, spent = _found(scenario, benchmark_speeds, searched, objective, budget)
    found, uneven = without_uneven(scenario, vary, found)
    compared, runs, tried = _compared(scenario, vary, objective, found, (*left_out, *uneven))
    spent += tried
    ranking = _ranking(scenario, runs, objective, lower_bound_s(scenario, vary))
    best, evaluations = compared.candidates[ranking.best.candidate], spent + runs.makespan_ticks.size
    made = Recommendation(best, runs, compared, tuple(vary), ranking, evaluations, ())
    return replace(made, confirmations=_confirmed(scenario, made, confirm)) if confirm else made


def adopted(scenario: Scenario, made: Recommendation, configuration: Configuration) -> Recommendation:
    """A recommendation with one more candidate: the best of all is recommended; the same where it is known already.

    Parameters
    ----------
    scenario
        With the seed and the replications of the recommendation.
    """
    known = made.strategies
    compared = strategies(scenario, [*known.candidates, configuration], left_out=known.left_out)
    names = tuple(one.name for one in compared.candidates)
    if names == made.runs.configurations:
        return made
    runs = run_or_recall(scenario.with_configurations(compared.candidates))
    ranking = _ranking(scenario, runs, made.objective, made.ranking.bound_s)
    best, spent = compared.candidates[ranking.best.candidate], made.evaluations + runs.makespan_ticks.shape[1]
    compared = replace(compared, also={**known.also, **compared.also})
    after = Recommendation(best, runs, compared, made.varied, ranking, spent, ())
    again = len(made.confirmations[0].reference_s) if made.confirmations else 0
    return replace(after, confirmations=_confirmed(scenario, after, again)) if again else after


def _found(
    scenario: Scenario,
    benchmark_speeds: Sequence[float] | None,
    vary: Sequence[str],
    objective: Objective,
    budget: int,
) -> tuple[list[Configuration], int]:
    """The baselines and what was found, and the simulated runs that it took."""
    found: list[Configuration] = []
    spent = 0
    if "partition" in vary:
        found, spent = _partitions(scenario, benchmark_speeds, objective)
        if scenario.application.name not in EQUAL_WORK:
            more, runs = search_jointly(scenario, objective=objective, most=_most(vary))
            found, spent = [*found, *more], spent + runs
    if "allocation" in vary:
        found += core_baselines(scenario)
        more, runs = _allocations(scenario, objective, budget)
        taken = {one.name for one in found} - {"fastest-pe", "fastest-kind"}
        names = {one.name for one in more}
        # without idle processes beside them, the PEs that a baseline takes are faster
        found = [one for one in found if one.name not in names or one.name in taken]
        found += [one for one in more if one.name not in taken]
        spent += runs
    return found, spent


def _most(vary: Sequence[str]) -> int | None:
    """Most processes on one PE in the joint search: its cores, or one where the allocation does not vary."""
    return None if "allocation" in vary else 1


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
    known = {one.name: (one.partition, one.placement) for one in found}
    same = {name for name, one in own.items() if known.get(name) == (one.partition, one.placement)}
    yielding = [renamed(one, f"naive-{one.name}") if one.name in own.keys() - same else one for one in found]
    return [*yielding, *(one for name, one in own.items() if name not in same)]


def _compared(
    scenario: Scenario,
    vary: Sequence[str],
    objective: Objective,
    found: Sequence[Configuration],
    left_out: Sequence[str],
) -> tuple[Strategies, RunSet, int]:
    """What was found, the scenario's own and what lies steps from the best, all simulated; the runs of the steps."""
    own, unfit = _own(scenario)
    found, left_out = _with_own(own, found), (*left_out, *unfit)
    compared = strategies(scenario, found, left_out=left_out)
    runs = run_or_recall(scenario.with_configurations(compared.candidates))
    if "partition" not in vary or scenario.application.name in EQUAL_WORK:
        return compared, runs, 0
    stepped, tried = _stepped(scenario, vary, objective, runs, compared.candidates)
    if stepped is None:
        return compared, runs, tried
    compared = strategies(scenario, [*found, stepped], left_out=left_out)
    return compared, run_or_recall(scenario.with_configurations(compared.candidates)), tried


def _stepped(
    scenario: Scenario,
    vary: Sequence[str],
    objective: Objective,
    runs: RunSet,
    candidates: Sequence[Configuration],
) -> tuple[Configuration | None, int]:
    """The end of a descent from the best candidate, one step at a time on the same draws; and the simulated runs."""
    values = statistic(runs.makespan_s, objective)
    place = ties.first_least(values)
    best, best_s, spent, moved = candidates[place], float(values[place]), 0, False
    for _ in range(MOST_STEPS):
        near = one_step_from(scenario, best, most=_most(vary))
        if not near:
            break
        tried = run_or_recall(scenario.with_configurations(tuple(near)))
        spent += tried.makespan_ticks.size
        values = statistic(tried.makespan_s, objective)
        place = ties.first_least(values)
        if not ties.is_less(float(values[place]), best_s):
            break
        best, best_s, moved = near[place], float(values[place]), True
    return (renamed(best, "stepped") if moved else None), spent


def _ranking(scenario: Scenario, runs: RunSet, objective: Objective, bound_s: float | None) -> Ranking:
    """All candidates, with all replications of each."""
    table = runs.makespan_s
    return rank(
        lambda places, numbers: table[np.ix_(places, numbers)],
        table.shape[0],
        runs=table.size,
        objective=objective,
        bound_s=bound_s,
        finalists=table.shape[0],
        seed=scenario.seed,
        deterministic=runs.deterministic,
    )


def _confirmed(scenario: Scenario, made: Recommendation, replications: int) -> tuple[Confirmation, ...]:
    """The reference engine's makespans of the two best in the first replications."""
    best = [made.candidates[entry.candidate] for entry in made.ranking.ranked[:2]]
    rounds = scenario.application.work.rounds
    chosen = tuple(one for one in best if (count := len(one.partition)) * rounds(count) <= MOST_CONFIRMED)
    if not chosen:
        return ()
    count = min(replications, scenario.replications)
    again = run_or_recall(scenario.with_configurations(chosen), replications=count, engine="process").makespan_s
    return tuple(
        Confirmation(one.name, tuple(row.tolist()), tuple(made.runs.of(one.name)[:count].tolist()))
        for one, row in zip(chosen, again, strict=True)
    )


def _partitions(
    scenario: Scenario, benchmark_speeds: Sequence[float] | None, objective: Objective
) -> tuple[list[Configuration], int]:
    """The baselines, the functional partition, and what simulation makes of it; and the simulated runs."""
    work, rows = scenario.application.work, scenario.application.work.units
    bands = [pe.speed_of(scenario.application.kernel) for pe in scenario.platform.pes]
    if benchmark_speeds is None:
        benchmark_speeds = [float(band.mid[0]) for band in bands]
    everything = np.full(len(bands), rows, dtype=np.int64)
    sustained_speeds = 1 / model_times(scenario)(everything)
    found = baselines(
        rows,
        benchmark_speeds=benchmark_speeds,
        sustained_speeds=sustained_speeds.tolist(),
        peak_speeds=[float(band.mid.max()) for band in bands],
        kinds=[kind.pes for kind in kinds_of(scenario)],
    )
    found.append(Configuration.one_each("functional", _functional(scenario, sustained_speeds)))
    found = [replace(one, partition=work.fitting(one.partition)) for one in found]
    if scenario.lacking_bytes(found[-1]) > 0:
        limited = work.fitting(within_memory(scenario, model_times(scenario)))
        found.append(Configuration.one_each("within-memory", limited))
    if scenario.lacking_bytes(found[-1]) > 0:
        return found, 0
    better, spent = _refined(scenario, found[-1].partition, objective)
    return [*found, Configuration.one_each("refined", better)], spent


def _refined(scenario: Scenario, start: tuple[int, ...], objective: Objective) -> tuple[tuple[int, ...], int]:
    """A partition bettered by simulation in replications of its own, and how many runs that took."""
    work, spent = scenario.application.work, 0

    def simulated(partition: tuple[int, ...]) -> tuple[float, NDArray[np.float64]]:
        nonlocal spent
        one = Configuration.one_each("candidate", work.fitting(partition))
        if scenario.lacking_bytes(one) > 0:
            return math.inf, np.zeros(len(partition))
        runs = run_or_recall(scenario.with_configurations((one,)), first_replication=SEARCH_FIRST)
        spent += scenario.replications
        return float(statistic(runs.makespan_s[0], objective)), runs.computed_ticks[0].mean(axis=0) * runs.tick_s

    return work.fitting(refined(start, simulated)), spent


def _allocations(scenario: Scenario, objective: Objective, budget: int) -> tuple[list[Configuration], int]:
    """What the search for an allocation finds and the naive allocations, each name by itself, and the runs."""
    advice = search_allocation(scenario, most=most_processes(scenario), objective=objective, budget=budget, confirm=0)
    found = [renamed(one, name) for one in advice.candidates for name in one.name.split(", ") if name not in SOUGHT]
    own = {one.name: one for one in advice.candidates if one.name in SOUGHT}
    found += [renamed(own["model-optimum"], "model-optimum")] if "model-optimum" in own else []
    return [*found, renamed(own.get("search", advice.configuration), "allocation")], advice.evaluations


def _without_allocations(scenario: Scenario, vary: Sequence[str]) -> tuple[str, ...]:
    """Why no allocation is searched: the search knows no limits of memory; empty if it can be.

    Raises
    ------
    ScenarioError
        If nothing else varies.
    """
    if "allocation" not in vary or not scenario.platform.nodes:
        return ()
    for everywhere in core_baselines(scenario)[:1]:
        scenario.check_routes(everywhere)  # now, not after a search
    kinds = kinds_of(scenario, most=most_processes(scenario))
    whole = np.array([[kind.count, kind.most] for kind in kinds])
    missing = scenario.lacking_bytes(configuration_of(scenario, kinds, whole, "all"))
    if missing == 0:
        return ()
    found = f"allocation: {whole.prod(axis=1).sum()} processes on all PEs need {units.show_size(missing)} more than"
    if "partition" not in vary:
        raise ScenarioError(f"{found} memory and swap hold, and the search knows no such limit: partition allowed")
    return (f"{found} memory and swap hold: allocations are left out, the search knows no such limit",)


def mean_shares(scenario: Scenario) -> NDArray[np.float64]:
    """Mean share of each PE that its load leaves to one process; (PE,)."""
    return np.array([mean_share(pe) for pe in scenario.platform.pes])


def model_times(scenario: Scenario, pes: Sequence[int] | None = None) -> Times:
    """Seconds per process for its units, as `by_times` wants them; see `process_times`.

    Parameters
    ----------
    pes
        The PEs that take part, one process on each; all by default.
    """
    pes = range(len(scenario.platform.pes)) if pes is None else pes
    process_s = process_times(scenario, pes, led=scenario.application.work.has_master and pes[0] == 0)

    def times_s(counts: NDArray[np.int64]) -> NDArray[np.float64]:
        return np.array([process_s(process, count) if count else 0.0 for process, count in enumerate(counts.tolist())])

    return times_s


def functional_over(scenario: Scenario, pes: Sequence[int]) -> tuple[tuple[int, ...], float]:
    """The functional partition over some PEs, one process on each, and the seconds that the model says it takes."""
    times_s = model_times(scenario, pes)
    part = by_times(scenario.application.work.units, len(pes), times_s)
    return part, float(times_s(np.array(part)).max())


def _functional(scenario: Scenario, sustained_speeds: NDArray[np.float64]) -> tuple[int, ...]:
    """The functional partition; where more processes cost more in all, over the best number of the fastest PEs."""
    work, count = scenario.application.work, sustained_speeds.size
    fastest = ties.in_order(-sustained_speeds).tolist()
    found: list[tuple[float, tuple[int, ...]]] = []
    for size in sizes(count) if work.varies_with_processes else [count]:
        pes = sorted(fastest[:size])
        part, longest_s = functional_over(scenario, pes)
        whole = np.zeros(count, dtype=np.int64)
        whole[pes] = part
        found.append((longest_s, tuple(whole.tolist())))
    longest = ties.levels([longest_s for longest_s, _ in found]).tolist()
    return min((level, part) for level, (_, part) in zip(longest, found, strict=True))[1]


def _ranking_rows(made: Recommendation) -> list[dict[str, Any]]:
    """One row per candidate, best first; see `Recommendation.to_dataframe`."""
    by_name = {one.name: one for one in made.candidates}
    return [
        {
            **entry,
            "gain_of_recommended": made.baselines[entry["name"]].mean,
            "partition": by_name[entry["name"]].partition,
            "placement": by_name[entry["name"]].placement,
        }
        for entry in made.ranked()
    ]


def _ranking_page(made: Recommendation) -> str:
    """The best candidates with their chances, and where the middle nine tenths of their makespans lie."""
    shown = made.ranking.ranked[: notebook.MOST_ROWS]
    candidates = [made.candidates[one.candidate] for one in shown]
    spread = [describe(made.runs.of(one.name)) for one in candidates]
    rows = [
        {
            "configuration": ", ".join((one.name, *made.strategies.names_of(one.name))),
            "units": one.partition,
            f"{made.objective} makespan": units.show_duration(entry.value_s),
            "chance of being best": f"{entry.p_best:.0%}",
            "takes (times recommended)": f"{made.baselines[one.name].mean:.3f}",
        }
        for entry, one in zip(shown, candidates, strict=True)
    ]
    ends = [(one.name, s["p05"], s["median"], s["p95"]) for one, s in zip(candidates, spread, strict=True)]
    return notebook.page(
        f"Recommended: {made.configuration.name}",
        notebook.table(rows, count=len(made.ranking.ranked)),
        notebook.ranges(ends, unit="makespan (s)"),
        warnings=made.strategies.left_out,
    )
