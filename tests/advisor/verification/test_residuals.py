"""Where predictions and runs part, on made-up runs of which every part is known."""

import numpy as np
import pytest

from advisor.verification.interleaved import Verification
from advisor.verification.residuals import bias_of, residuals
from simulator import Configuration, run
from simulator.calibration.bench.usage import Usage
from tests.support.platforms import pe, scenario, trace


def made(load=None, replications=1):
    """60 units of a matmul on one PE; how long it takes is what `run` says."""
    one = scenario([pe("p", load=load)], 60, replications=replications)
    return one.with_configurations((Configuration.one_each("c0", (60,)),))


def measured(cpu_s, wall_s, makespan_s):
    return Verification({"c0": np.array([makespan_s] * 3)}, ((Usage(cpu_s, wall_s),),) * 3)


def of(asked, cpu, wall, whole):
    """The residual where the real run computes, waits and lasts so many times what was predicted."""
    runs = run(asked)
    nominal_s = float(run(made()).busy_ticks[0].sum()) * runs.tick_s
    loaded_s = float(np.median(runs.busy_ticks[0].sum(axis=1))) * runs.tick_s
    makespan_s = float(np.median(runs.of("c0")))
    found = residuals(asked, runs, measured(cpu * nominal_s, wall * loaded_s, whole * makespan_s))
    return found["c0"]


def test_the_parts_add_up_to_the_error_and_name_their_cause():
    slow = of(made(), 0.8, 0.8, 0.8)  # really faster, and alone: only computing was wrong
    assert slow.compute_percent == pytest.approx(25.0)
    assert (slow.load_percent, slow.rest_percent) == pytest.approx((0.0, 0.0), abs=1e-6)
    assert slow.speed_ratio == pytest.approx(1.25)


def test_a_load_that_left_more_is_told_from_a_faster_pe():
    loaded = made(trace([0.0], [1.0], 1.0))
    found = of(loaded, 1.0, 0.8, 0.8)  # the same CPU seconds, in less wall time
    assert found.compute_percent == pytest.approx(0.0, abs=1e-6)
    assert found.load_percent == pytest.approx(25.0)


def test_messages_that_took_longer_are_the_rest():
    found = of(made(), 1.0, 1.0, 1.25)
    assert found.rest_percent == pytest.approx(-20.0)
    assert found.compute_percent == pytest.approx(0.0, abs=1e-6)


def test_a_bias_is_of_one_sign_and_larger_than_chance():
    assert bias_of([5.0, -5.0], {}) is None
    assert bias_of([1.0, 2.0], {}) is None
    assert bias_of([], {}) is None
    told = bias_of([10.0, 20.0], {"c0": of(made(), 0.8, 0.8, 0.8)})
    assert told is not None
    assert (told.part, told.percent) == ("compute", 15.0)
    assert "another shape" in told.cause


def test_a_clock_is_suspected_where_all_computing_differs_alike():
    alike = {f"c{number}": of(made(), cpu, cpu, cpu) for number, cpu in enumerate((0.80, 0.81, 0.82))}
    told = bias_of([20.0, 22.0, 24.0], alike)
    assert told is not None
    assert "clock" in told.cause
    assert "23% faster" in told.cause


def test_other_programs_are_suspected_where_a_pe_without_load_lost_time():
    told = bias_of([-20.0, -20.0], {"c0": of(made(), 1.0, 1.25, 1.25)})
    assert told is not None
    assert (told.part, "no load on" in told.cause) == ("load", True)
    loaded = of(made(trace([0.0], [1.0], 1.0)), 1.0, 1.25, 1.25)
    told = bias_of([-20.0, -20.0], {"c0": loaded})
    assert told is not None
    assert "another share" in told.cause


def test_neighbours_are_suspected_where_one_alone_is_right():
    from dataclasses import replace

    alone = replace(of(made(), 1.0, 1.0, 1.0), processes=1)
    both = replace(of(made(), 1.25, 1.25, 1.25), processes=2)
    told = bias_of([-1.0, -20.0], {"c0": alone, "c1": both})
    assert told is not None
    assert "neighbours" in told.cause


def test_nothing_is_told_of_runs_whose_cost_is_not_known():
    asked = made()
    assert residuals(asked, run(asked), Verification({"c0": np.ones(3)})) == {}
