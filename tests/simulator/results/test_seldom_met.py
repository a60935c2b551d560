"""Intervals of means under loads that are seldom there: they reach to what three replications under them would show."""

from dataclasses import replace

import apportion
import numpy as np
import pytest

from advisor import recommend
from simulator import Configuration, LinkModel, LoadTrace, Platform, reaching, run
from simulator.programs.program import Compute, Program
from simulator.scenario_file.scenario import Application, Scenario
from tests.support import platforms

END_S = 1e6
"""Of the trace. A run alone takes 1 s, beside one competitor 2 s."""


def beside(share, stretches, *, replications=200, seed=0):
    """A computation on a PE that a load shares for a part of the time, in so many stretches that are not regular."""
    whole_s = END_S / stretches
    begins = np.arange(stretches) * whole_s + np.random.default_rng(stretches).uniform(0.0, 0.9, stretches) * whole_s
    times = np.concatenate(([0.0], np.stack((begins, begins + share * whole_s), axis=1).reshape(-1)))
    load = LoadTrace(times, np.append(0.0, np.tile([1.0, 0.0], stretches)), END_S)
    program = Program(((Compute(1e9, 1.0),),), (0,))
    pes = (platforms.pe("a", 1e9, load=load),)
    platform = Platform.uniform(pes, LinkModel.from_latency(1e-6, 1e12))
    application = Application.of_program(program, kernel="dgemm")
    return Scenario(platform, application, (Configuration("one", (1,), (0,)),), replications, seed)


@pytest.mark.parametrize("engine", ["process", "compiled"])
def test_a_mean_reaches_to_what_three_runs_under_a_load_that_none_met_would_make_it(engine):
    scenario = next(
        one for seed in range(40) if np.ptp(run(one := beside(0.002, 20, seed=seed), engine=engine).makespan_s) < 1e-6
    )
    runs = run(scenario, engine=engine)
    assert runs.described("one") == pytest.approx({**runs.described("one"), "low": 1.0, "high": 1.0})
    found = reaching(scenario, runs)
    assert found.described("one") == pytest.approx(
        {"mean": 1.0, "low": 1.0, "high": 1 + 3 / 200, "median": 1.0, "run_low": 1.0, "run_high": 1.0}
    )
    assert found.summary() == [{"name": "one", **found.described("one")}]
    assert apportion.simulate(scenario, engine=engine).summary() == found.summary()


def test_what_was_met_counts_and_what_is_met_often_enough_stays():
    for seed in range(6):
        scenario = beside(0.01, 20, seed=seed)
        runs = run(scenario, engine="compiled")
        met = int(np.sum(runs.makespan_s > 1.001))
        high = reaching(scenario, runs).described("one")["high"]
        assert high == pytest.approx(max(runs.described("one")["high"], 1 + max(met, 3) / 200), rel=1e-5)
    assert reaching(beside(0.02, 20), run(beside(0.02, 20))).reach_s is None
    two = (beside(0.1, 20, replications=2, seed=seed) for seed in range(1000))
    scenario, runs = next((one, runs) for one in two if (runs := run(one)).makespan_s.min() > 1.9)
    assert reaching(scenario, runs).reach_s == pytest.approx(2.0), "both runs met it, and none is left to compare"
    fixed = beside(0.001, 1, replications=1)
    assert reaching(fixed, run(fixed)).reach_s is None


def test_an_advice_says_the_same_interval_of_what_it_ranks():
    made = next(
        one
        for seed in range(40)
        if np.ptp((one := recommend(matmul(seed), confirm=0)).runs.of(one.configuration.name)) < 1e-3
    )
    best = made.ranking.best
    assert (best.low_s, best.high_s) == (made.predicted.low, made.predicted.high)
    assert best.high_s > 1.01 * best.low_s


def test_a_gain_reaches_to_what_a_load_would_make_of_it_that_no_draw_met():
    loaded = beside(0.002, 20).platform.pes
    pes = (*loaded, platforms.pe("b", 1e9))
    sides = (Configuration("loaded", (800, 0), (0, 1)), Configuration("idle", (0, 800), (0, 1)))
    for seed in range(40):
        scenario = replace(platforms.scenario(pes, 800, (400, 400), seed=seed), replications=200, configurations=sides)
        made = recommend(scenario, vary=(), confirm=0)
        if np.ptp(made.runs.of("loaded")) < 1e-3:
            break
    idle = next(one for one in made.ranking.ranked if made.candidates[one.candidate].name == "idle")
    found = replace(made, ranking=replace(made.ranking, ranked=(idle,))).baselines["loaded"]
    plain_s, seldom_s = made.runs.of("loaded").mean(), made.runs.reach_s[made.runs.configurations.index("loaded")]
    assert seldom_s > 1.01 * plain_s
    assert found.high == pytest.approx(seldom_s / made.runs.of("idle").mean())
    assert found.low == pytest.approx(plain_s / made.runs.of("idle").mean())


def matmul(seed):
    pes = beside(0.002, 20).platform.pes
    return replace(platforms.scenario(pes, 800, (800,), seed=seed), replications=200)


@pytest.mark.slow
@pytest.mark.parametrize("stretches", [1, 20])
@pytest.mark.parametrize("share", [0.01, 0.05])
def test_intervals_of_means_hold_under_loads_that_are_seldom_there(share, stretches):
    """90 % intervals of 200 replications, by 200 seeds: at least 88 %, less two standard errors of a proportion."""
    held = 0
    for seed in range(200):
        scenario = beside(share, stretches, seed=seed)
        found = reaching(scenario, run(scenario, engine="compiled")).described("one")
        held += found["low"] <= 1 + share <= found["high"]
    assert held / 200 >= 0.88 - 2 * np.sqrt(0.88 * 0.12 / 200)
