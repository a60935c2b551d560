"""The judge of a search, what a search may spend, and the objectives that are no times."""

from dataclasses import replace

import numpy as np
import pytest

from advisor import advice_of, recommend
from advisor.advise.judge import FEW, Judge
from advisor.advise.space import Space
from advisor.advise.spending import OutOfBudgetError, Spending
from simulator import Configuration, LinkModel, ScenarioError, run
from simulator.platform.nodes import Node, Platform
from tests.support.platforms import pe, scenario, trace

LINK = LinkModel.from_latency(1e-6, 1e12)


def loaded(replications=64):
    load = trace(np.arange(50) * 0.3, np.random.default_rng(4).integers(0, 4, 50), 15.0)
    return scenario([pe("a", 1e9), pe("b", 1e9, load)], 200, link=LINK, replications=replications, seed=3)


def splits():
    return [Configuration.one_each(f"{units}", (units, 200 - units)) for units in range(40, 200, 10)]


def test_the_best_is_simulated_on_all_draws_and_is_what_a_full_table_says():
    made = loaded()
    spending = Spending()
    judge = Judge(Space(made), spending, draws=64)
    values = judge.of(splits())
    table = run(made.with_configurations(tuple(splits()))).makespan_s.mean(axis=1)
    assert judge.best == splits()[int(np.argmin(table))]
    assert min(values) == pytest.approx(table.min(), rel=1e-12)
    assert spending.runs < 64 * len(values) / 2  # those far behind have few
    assert spending.runs >= FEW * len(values)


def test_values_from_few_draws_are_made_comparable_by_the_ratio_to_the_best():
    """A load that all configurations feel alike must not make one of few draws look better than it is."""
    made = loaded()
    judge = Judge(Space(made), Spending(), draws=64)
    values = judge.of(splits())
    table = run(made.with_configurations(tuple(splits()))).makespan_s.mean(axis=1)
    assert np.max(np.abs(values / table - 1)) < 0.25


def test_behind_in_the_mean_is_more_than_two_standard_errors():
    judge = Judge(Space(loaded()), Spending(), draws=64)
    assert not judge._like.any()  # no states yet that draws could have in common
    apart = np.array([-0.1, 0.0, 0.1])
    error = np.std(apart, ddof=1) / np.sqrt(3)
    assert judge._far(2.1 * error + apart)
    assert not judge._far(1.9 * error + apart)


def test_a_stage_ends_with_its_runs_and_says_so():
    made = loaded()
    told = []
    spending = Spending(runs=30, tell=told.append)
    judge = Judge(Space(made), spending, draws=16)
    with spending.stage("search"):
        for one in splits():
            judge.of([one])
    assert spending.cut == ["search"]
    assert 30 <= spending.runs < 60
    assert [progress.runs for progress in told] == sorted(progress.runs for progress in told)
    assert told[0].best is None
    assert told[-1].best is not None
    with pytest.raises(OutOfBudgetError):
        judge.of([Configuration.one_each("new", (111, 89))])


def test_time_gives_fewer_replications_and_a_line_that_says_so():
    found = recommend(loaded(replications=1_000_000), budget_s=2.0, confirm=0)
    replications = found.runs.makespan_ticks.shape[1]
    assert 1 <= replications < 1_000_000
    assert any(f"the budget allowed {replications} of 1000000" in line for line in found.strategies.left_out)
    assert found.ranking.best.value_s == min(entry.value_s for entry in found.ranking.ranked)


def test_time_that_is_too_little_for_one_candidate_is_refused_with_what_is_needed():
    with pytest.raises(ScenarioError, match=r"budget: 1 us is too little to simulate one candidate; give at least"):
        recommend(loaded(), budget_s=1e-6)


def priced(prices=(3.0, 0.5), **more):
    """Two nodes of a PE each, 2 and 1 Gflop/s, without messages that take time."""
    pes = [replace(pe(name, speed), node=name, **more) for name, speed in (("fast", 2e9), ("slow", 1e9))]
    made = scenario(pes, 600, link=LINK)
    nodes = tuple(Node(one.node, price_per_hour=price) for one, price in zip(pes, prices, strict=True))
    return replace(made, platform=Platform(made.platform.pes, made.platform.network, nodes))


def test_the_cheapest_run_is_on_the_node_with_the_least_price_per_work():
    """Alone, slow costs 0.5 an hour for 2 n^3 / 1e9 s, fast 3 an hour for half as long; both more than slow."""
    found = recommend(priced(), objective="cost", runs=60)
    assert found.configuration.partition == (0, 600) or found.configuration.placement == (1,)
    assert found.ranking.best.value_s == pytest.approx(0.5 / 3600 * 2 * 600**3 / 1e9, rel=0.01)
    assert found.baselines["fastest-pe"].mean == pytest.approx(3.0, rel=0.01)
    assert "value" in found.compared.to_dict()["ranking"][0]
    assert "objective" in found.compared.to_dict()["baselines"][0]


def test_energy_is_power_times_time_of_the_pes_that_take_part():
    made = priced(power_w=100.0)
    found = recommend(made, objective="energy", runs=60)
    work = 2 * 600**3
    assert found.ranking.best.value_s == pytest.approx(100 * work / 2e9, rel=0.01)  # fast alone
    assert found.baselines["equal"].mean == pytest.approx(200 * (work / 2) / 1e9 / (100 * work / 2e9), rel=0.01)


def test_a_cost_that_nobody_says_is_refused():
    with pytest.raises(ScenarioError, match=r"objective: no cost of anything is known; say `price: 2.50`"):
        recommend(scenario([pe("a"), pe("b")], 60), objective="cost")
    with pytest.raises(ScenarioError, match="PE slow has no cost, others have one"):
        recommend(priced((3.0, None)), objective="cost")


def test_more_processes_than_cores_only_where_asked_for():
    """Under a fair load of one, two processes get two thirds of the PE, one gets half."""
    busy = trace([0.0], [1.0], 1.0)
    made = scenario([pe("a", 1e9, busy), pe("b", 1e9)], 200, link=LINK)
    plain = recommend(made, runs=60)
    assert len(set(plain.configuration.placement)) == len(plain.configuration.placement)
    more = recommend(made, oversubscribe=True, runs=60)
    assert more.configuration.placement.count(0) > 1
    assert more.predicted.mean < plain.predicted.mean


def test_own_configurations_with_more_processes_than_cores_are_compared_but_not_advised():
    busy = trace([0.0], [1.0], 1.0)
    made = scenario([pe("a", 1e9, busy), pe("b", 1e9)], 200, link=LINK)
    own = Configuration("crowded", (40, 40, 120), (0, 0, 1))
    found = recommend(made.with_configurations((own,)), runs=60)
    assert found.configuration.name != "crowded"
    assert found.baselines["crowded"].mean < 1
    assert found.compared.ranking[-1].name == "crowded"
    lines = advice_of(made, found).warnings
    assert any("crowded is predicted to be better" in line and "--oversubscribe" in line for line in lines)
    now = recommend(made.with_configurations((replace(own, name="as-now"),)), runs=60)
    assert now.configuration.name == "as-now"
    assert any("at the expense of other programs" in line for line in advice_of(made, now).warnings)
