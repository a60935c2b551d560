"""Farms under chunk rules: pools by hand, closed forms, theorems and the order of rules in the literature."""

import math

import numpy as np
import pytest

from simulator import run
from simulator.base.errors import ScenarioError
from simulator.engines.costs import lower
from simulator.models.network import LinkModel
from simulator.platform.nodes import Platform
from simulator.programs.applications import make_work
from simulator.programs.columns import RULES, SelfScheduling, UnitSpread
from simulator.programs.configuration import Configuration
from simulator.programs.program import Delay, Farm, Program
from simulator.scenario_file.scenario import Application, Scenario
from simulator.scenario_file.truths import draw
from tests.support.platforms import pe
from tests.support.rules import simulate

UNIT = {"volume": 1.0, "size": 1}
ENGINES = ("process", "compiled")


def scenario(parameters, processes, *, parts=None, replications=1, seed=0, speeds=None):
    pes = tuple(pe(f"pe{index}", speed) for index, speed in enumerate(speeds or [1.0] * processes))
    platform = Platform.uniform(pes, LinkModel.from_latency(1e-3, 1e3))
    configuration = Configuration.one_each("c", parts or (1,) * processes)
    return Scenario(platform, Application("farm", "dgemm", parameters), (configuration,), replications, seed)


def makespans(parameters, processes, *, engine="auto", **options):
    return run(scenario({**UNIT, **parameters}, processes, **options), engine=engine).makespan_s[0]


def ends(farm, processes=2):
    found = simulate([[farm] for _ in range(processes)])
    return found.finish_ticks[0][0].tolist()


# The pool by hand: ticks of 1 s, speeds of 1 per second


def test_a_pool_serves_one_request_at_a_time():
    """Served at 0, 2, 4, 6 with a unit, at 8 and 10 without; an answer comes 3 later, a unit takes 1."""
    assert ends(Farm(np.ones(4), 1.0, 1, 1.0, serve_s=2.0)) == [11, 13]
    assert ends(Farm(np.ones(4), 1.0, 1, 1.0)) == [5, 5]


def test_a_request_is_decided_when_it_is_served():
    """Ten units under gss: 5 to process 0 at 0, then at 4 half of the five that are left to process 1."""
    found = simulate([[Farm(np.ones(10), 1.0, 1, 1.0, None, SelfScheduling("gss"), 4.0)]] * 2)
    assert found.busy_ticks[0].tolist() == [[5 + 1, 3 + 1]]


def test_data_comes_with_a_chunk_but_not_to_the_process_where_the_pool_is():
    """Two bytes a unit, 1 s and 1 byte per second: 1 + 2 more for process 1, which gets one unit of three."""
    assert ends(Farm(np.full(3, 4.0), 1.0, 1, 1.0, unit_bytes=2.0)) == [11, 9]
    assert ends(Farm(np.full(3, 4.0), 1.0, 1, 1.0, (1, 0), unit_bytes=2.0)) == [9, 11]


def test_static_hands_each_process_its_own_units_once():
    """Parts 1 and 3 of 9, 1, 2, 3; the group names process 1 first."""
    farm = Farm(np.array([9.0, 1, 2, 3]), 1.0, 1, 1.0, (1, 0), SelfScheduling("static", parts=(1, 3)))
    found = simulate([[farm], [farm]])
    assert found.busy_ticks[0].tolist() == [[6, 9]]
    assert found.finish_ticks[0].tolist() == [[7, 10]]


# Applications


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("rule", RULES)
def test_each_rule_does_all_units_of_an_application(rule, engine):
    """Busy seconds are the volumes; processes three times as fast do most of them under all but static."""
    parameters = {**UNIT, "units": 60, "rule": rule, "profile": "falling", "slope": 0.5, "serve": "1ms"}
    made = run(scenario(parameters, 3, parts=(20, 20, 20), speeds=[3.0, 1.0, 1.0]), engine=engine)
    busy_s = made.busy_ticks[0][0] * made.tick_s
    assert (busy_s * [3, 1, 1]).sum() == pytest.approx(60, rel=1e-9)
    assert rule == "static" or busy_s.max() < 20


def test_profiles_rise_and_fall_around_the_mean():
    def volumes(**more):
        return make_work("farm", {**UNIT, "units": 5, **more}).volumes.tolist()

    assert volumes() == [1] * 5
    assert volumes(profile="rising", slope=0.5) == [0.5, 0.75, 1, 1.25, 1.5]
    assert volumes(profile="falling") == [2, 1.5, 1, 0.5, 0]


SPREADS = [("exponential", 1.0), ("gamma", 0.3), ("uniform", 0.5), ("lognormal", 0.7)]


@pytest.mark.parametrize(("distribution", "cv"), SPREADS)
def test_drawn_units_have_the_mean_and_deviation_asked_for(distribution, cv):
    """40,000 draws: within four standard errors of the mean, and 5 % of the deviation."""
    cv_given = {} if distribution == "exponential" else {"cv": cv}
    made = scenario({**UNIT, "units": 20_000, "distribution": distribution, **cv_given}, 1, replications=2)
    (costs,) = lower(made, draw(made), tick_s=1e-9)
    drawn = np.diff(costs.farm_ticks[0][0, :, 0], axis=1) * 1e-9
    assert drawn.mean() == pytest.approx(1, abs=4 * cv / 200)
    assert drawn.std() == pytest.approx(cv, rel=0.05)
    assert not np.any(drawn[0] == drawn[1])


def test_draws_are_of_the_replication_whatever_else_is_run():
    parameters = {"units": 30, "distribution": "exponential"}
    five = makespans(parameters, 3, replications=5, seed=4)
    assert len(set(five.tolist())) == 5
    assert makespans(parameters, 3, replications=2, seed=4).tolist() == five[:2].tolist()
    assert makespans(parameters, 3, replications=5, seed=4, engine="process").tolist() == five.tolist()
    assert makespans(parameters, 3, replications=5, seed=5).tolist() != five.tolist()


# Closed forms and theorems


def test_the_mean_makespan_of_self_scheduling_with_exponential_units_is_that_of_theory():
    """N units on P processes, one at a time: (N - P)/P until the last one begins, then H_P for the P that are left.

    Exponential times have no memory, so both are exact for N >= P. 4,000 runs, within four standard errors.
    """
    units, processes, runs = 40, 4, 4000
    found = makespans({"units": units, "distribution": "exponential"}, processes, replications=runs)
    expected = (units - processes) / processes + sum(1 / k for k in range(1, processes + 1))
    variance = (units - processes) / processes**2 + sum(1 / k**2 for k in range(1, processes + 1))
    assert found.mean() == pytest.approx(expected, abs=4 * math.sqrt(variance / runs))
    assert found.std() == pytest.approx(math.sqrt(variance), rel=0.05)


@pytest.mark.parametrize("units", [100, 997, 1000])
@pytest.mark.parametrize("processes", [2, 5, 8])
def test_under_gss_all_end_within_one_unit_whenever_they_begin(units, processes):
    """A theorem of Polychronopoulos and Kuck 1987, for units alike and no overhead."""
    starts = np.random.default_rng(units + processes).uniform(0, units / processes, processes)
    farm = Farm(np.ones(units), 1.0, 1, 0.0, None, SelfScheduling("gss"))
    rows = tuple((Delay(start), farm) for start in starts)
    made = scenario({**UNIT, "units": 1}, processes)
    made = Scenario(
        made.platform, Application.of_program(Program(rows, (0,) * processes), kernel="dgemm"), made.configurations, 1
    )
    last = run(made).computed_ticks[0][0] * 1e-12
    begun = last[last > 0]
    assert begun.max() - begun.min() <= 1 + 1e-9


# Bad input


FAULTS = [
    ({"rule": "gs"}, "rule: it is 'gs'; give one of static, ss, gss, tss, .*; did you mean gss?"),
    ({"rule": "gss", "chunk": 2}, "chunk: it belongs to rule ss, not to gss, which takes least; leave it out"),
    ({"rule": "tss", "first": 2, "last": 3}, "first: it is 2, less than last; give at least 3"),
    ({"cv": 2}, "cv: it belongs to distribution gamma, uniform or lognormal; leave it out"),
    ({"distribution": "uniform", "cv": 1}, "cv: it is 1; a uniform distribution above 0 has 0.577 at most"),
    ({"slope": 0.5}, "slope: it belongs to profile rising or falling; leave it out"),
    ({"profile": "rising", "slope": 2}, "slope: it is 2; give at most 1, where the least unit has no volume"),
    ({"rule": "gss", "least": 0}, "least: it is 0; give an integer of at least 1"),
    ({"serve": 3}, "serve: it is 3; give a time of at least 0 with its unit"),
]


@pytest.mark.parametrize(("parameters", "message"), FAULTS)
def test_parameters_that_do_not_belong_are_refused(parameters, message):
    with pytest.raises(ScenarioError, match=f"application: parameters: {message}"):
        make_work("farm", {**UNIT, "units": 4, **parameters})


WRONG = [
    ({"scheduling": SelfScheduling("gs")}, "'gs' is no rule; take static, .*; did you mean gss?"),
    ({"scheduling": SelfScheduling("static", parts=(3,))}, "the parts hand out 3 units and there are 2"),
    ({"scheduling": SelfScheduling("tss", first=1, last=2)}, "least is 1, first 1 and last 2; give"),
    ({"scheduling": SelfScheduling("fac", assumed_cv=-1)}, "assumed_cv is -1; give a finite number of at least 0"),
    ({"serve_s": -1.0}, "chunk is 1 and serve_s -1; give at least 1 and at least 0"),
    ({"spread": UnitSpread("gama")}, "'gama' is no distribution; take exponential, .*; did you mean gamma?"),
    ({"spread": UnitSpread("gamma", 0)}, "cv is 0; give a finite number above 0"),
]


@pytest.mark.parametrize(("fields", "message"), WRONG)
def test_operations_that_cannot_be_are_refused(fields, message):
    with pytest.raises(ScenarioError, match=f"program: farm: .*{message}"):
        simulate([[Farm(np.ones(2), 1.0, **fields)]])
