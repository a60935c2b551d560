"""Load functions: the definition by brute force, updates against rebuilds, predicted loads."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from simulator.base.errors import TraceError
from simulator.models.load import LoadTrace
from simulator.models.load_functions import LoadFunctions, LoadWindow, build_load_functions

DEFINITION = 1e-12
LOADS = st.lists(st.floats(0, 60) | st.sampled_from([0.0, 1.0, 2.5]), min_size=2, max_size=40)


def trace_of(loads, step_s=1.0):
    loads = np.array(loads, dtype=float)
    return LoadTrace(np.arange(loads.size) * step_s, loads, loads.size * step_s)


def by_definition(loads, window):
    """Every mean of `j` neighbours, summed exactly."""
    from math import fsum

    least, greatest = [], []
    for length in range(1, min(window, len(loads)) + 1):
        means = [fsum(loads[start : start + length]) / length for start in range(len(loads) - length + 1)]
        least.append(min(means))
        greatest.append(max(means))
    return np.array(least), np.array(greatest)


@settings(deadline=None)
@given(LOADS, st.integers(1, 50), st.integers(1, 45))
def test_the_functions_equal_their_definition(loads, window, history):
    found = build_load_functions(trace_of(loads, 2.0), window=window, history=history)
    least, greatest = by_definition(loads[-history:], window)
    assert np.max(np.abs(found.l_min - least)) <= DEFINITION
    assert np.max(np.abs(found.l_max - greatest)) <= DEFINITION
    assert found.t_s.tolist() == [2.0 * (j + 1) for j in range(least.size)]


@settings(deadline=None, max_examples=60)
@given(LOADS, st.integers(1, 9), st.integers(1, 30))
def test_an_update_gives_the_very_numbers_of_a_rebuild(loads, window, history):
    tracker = LoadWindow(3.0, window=window, history=history)
    for count, load in enumerate(loads, start=1):
        tracker.update(load)
        rebuilt = build_load_functions(trace_of(loads[:count][-history:], 3.0), window=window)
        found = tracker.functions()
        assert np.array_equal(found.l_min, rebuilt.l_min)
        assert np.array_equal(found.l_max, rebuilt.l_max)
        assert np.array_equal(found.t_s, rebuilt.t_s)
    assert tracker.observations.tolist() == loads[-history:]


@pytest.mark.parametrize("direction", [1.0, -1.0])
def test_queues_widen_for_loads_that_only_rise_or_fall(direction):
    loads = 50.0 + direction * np.linspace(-40.0, 40.0, 700)
    tracker = LoadWindow(1.0, window=5, history=300)
    tracker.extend(loads)
    rebuilt = build_load_functions(trace_of(loads[-300:]), window=5)
    assert np.array_equal(tracker.functions().l_min, rebuilt.l_min)
    assert np.array_equal(tracker.functions().l_max, rebuilt.l_max)


@pytest.mark.parametrize("direction", [1.0, -1.0])
def test_queues_widen_in_the_middle_of_a_history(direction):
    noise = np.random.Generator(np.random.PCG64(8)).exponential(1.0, 100)
    loads = np.concatenate((20.0 + noise, 20.0 + direction * np.linspace(-15.0, 15.0, 60)))
    tracker = LoadWindow(1.0, window=4, history=40)
    for count, load in enumerate(loads, start=1):
        tracker.update(load)
        rebuilt = build_load_functions(trace_of(loads[max(0, count - 40) : count]), window=4)
        assert np.array_equal(tracker.functions().l_min, rebuilt.l_min)
        assert np.array_equal(tracker.functions().l_max, rebuilt.l_max)


def test_a_load_beyond_the_usual_peak_changes_the_step_not_the_result():
    loads = [0.5, 1e6, 3.0, 0.25, 7.0, 1e5]
    tracker = LoadWindow(1.0, window=3, history=4)
    for load in loads:
        tracker.update(load)
    least, greatest = by_definition(loads[-4:], 3)
    assert tracker.functions().l_min == pytest.approx(least, rel=1e-12)
    assert tracker.functions().l_max == pytest.approx(greatest, rel=1e-12)


@pytest.mark.parametrize("load", [-0.1, np.nan, np.inf])
def test_an_update_refuses_what_is_no_load(load):
    with pytest.raises(TraceError, match="finite and at least 0"):
        LoadWindow(1.0, window=2, history=4).update(load)


def test_irregular_traces_are_refused_and_can_be_resampled():
    trace = LoadTrace(np.array([0.0, 1.0, 4.0]), np.array([1.0, 2.0, 0.5]), 5.0)
    with pytest.raises(TraceError, match="steps between samples are 1 s to 3 s"):
        build_load_functions(trace, window=2)
    assert trace.resampled(2.5).values.tolist() == [1.6, 1.4]
    assert build_load_functions(trace.resampled(2.5), window=2).l_max == pytest.approx([1.6, 1.5])


def test_functions_are_constant_outside_their_points():
    functions = LoadFunctions(np.array([1.0, 2.0]), np.array([0.0, 0.2]), np.array([1.0, 0.5]))
    low, high = functions.at([0.1, 1.5, 9.0])
    assert low == pytest.approx([0.0, 0.1, 0.2])
    assert high == pytest.approx([1.0, 0.75, 0.5])
    assert functions.area_s == pytest.approx(0.65)


@settings(deadline=None)
@given(st.lists(st.floats(0, 1.6), min_size=1, max_size=12), st.floats(0.01, 30.0))
@example([0.0, 5e-324], 1.0)
def test_a_predicted_load_is_the_first_crossing(loads, ideal_s):
    curve = np.array(loads)
    functions = LoadFunctions(np.arange(1.0, curve.size + 1), curve, curve)
    found = float(functions.predict(ideal_s).time_max_s)
    grid = np.linspace(1e-4, min(found, 200.0) if np.isfinite(found) else 200.0, 20_001)
    progress = grid * (1 - functions.at(grid)[1])
    if not np.isfinite(found):
        assert curve[-1] >= 1
        assert np.max(progress) < ideal_s + 1e-9
        return
    assert found * (1 - float(functions.at(found)[1])) == pytest.approx(ideal_s, rel=1e-6)
    assert np.all(progress[grid < found * (1 - 1e-6)] < ideal_s * (1 + 1e-9))


def test_a_load_that_stays_at_one_leaves_no_speed():
    functions = LoadFunctions(np.array([1.0, 2.0]), np.array([0.0, 0.0]), np.array([1.5, 1.0]))
    run = functions.predict([5.0])
    assert (run.time_max_s[0], run.l_max[0]) == (np.inf, 1.0)
    assert (run.time_min_s[0], run.l_min[0]) == (5.0, 0.0)


def test_a_constant_load_is_predicted_in_closed_form():
    functions = LoadFunctions(np.array([1.0, 2.0, 3.0]), np.full(3, 0.1), np.full(3, 0.75))
    run = functions.predict([0.01, 1.0, 100.0])
    assert run.time_max_s == pytest.approx([0.04, 4.0, 400.0])
    assert run.l_max == pytest.approx([0.75] * 3)
    assert run.l_min == pytest.approx([0.1] * 3)
    with pytest.raises(TraceError, match="above 0"):
        functions.predict(0.0)
