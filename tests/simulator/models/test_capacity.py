"""The capacity integral: the definition, its inverse, ends, several traces at once."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator.base.errors import TraceError
from simulator.models.load import Capacity, LoadTrace, availability

ROUND_TRIP = 1e-9
LOADS = st.lists(st.sampled_from([0.0, 0.25, 1.0, 1.5, 7.0]) | st.floats(0, 50), min_size=1, max_size=12)
STEPS = st.floats(0.01, 100.0)


def trace_of(loads, steps=None, after_end="cycle"):
    steps = np.ones(len(loads)) if steps is None else np.array(steps[: len(loads)], dtype=float)
    ends = np.cumsum(steps)
    return LoadTrace(np.concatenate(([0.0], ends[:-1])), np.array(loads, dtype=float), float(ends[-1]), after_end)


def integral_by_definition(trace, rule, t, *, processes=1, cores=1):
    """Sum of availability times duration, piece by piece, period by period."""
    total, start = 0.0, 0.0
    while start < t:
        for length, load in zip(trace.durations_s, trace.values, strict=True):
            share = float(availability(np.array(load), rule, processes=processes, cores=cores))
            total += share * min(length, max(0.0, t - start))
            start += length
        if trace.after_end == "hold":
            return total + share * max(0.0, t - start)
    return total


@settings(deadline=None)
@given(
    LOADS, st.lists(STEPS, min_size=12, max_size=12), st.sampled_from(["fair", "idle"]), st.integers(1, 4),
    st.sampled_from(["cycle", "hold"]), st.floats(0, 2000),
)  # fmt: skip
def test_the_integral_is_the_sum_of_its_pieces(loads, steps, rule, processes, after_end, t):
    trace = trace_of(loads, steps, after_end)
    capacity = Capacity.of(trace, rule, processes=processes, cores=2)
    expected = integral_by_definition(trace, rule, t, processes=processes, cores=2)
    assert capacity.integral(t) == pytest.approx(expected, rel=1e-9, abs=1e-9)


@settings(deadline=None)
@given(LOADS, st.lists(STEPS, min_size=12, max_size=12), st.sampled_from(["cycle", "hold"]), st.floats(1e-3, 1e4))
def test_the_inverse_comes_back_and_is_the_earliest_time(loads, steps, after_end, asked):
    capacity = Capacity.of(trace_of(loads, steps, after_end), "idle", cores=2)
    time = float(capacity.inverse(asked))
    if not np.isfinite(time):
        assert float(capacity.integral(1e9)) < asked
        return
    assert capacity.integral(time) == pytest.approx(asked, rel=ROUND_TRIP)
    earlier = max(0.0, time * (1 - 1e-7) - 1e-9)
    assert float(capacity.integral(earlier)) < asked


def test_the_earliest_time_lies_before_a_stretch_without_capacity():
    capacity = Capacity.of(trace_of([0.0, 1.0, 0.0], after_end="hold"), "idle")
    assert capacity.inverse([0.5, 1.0, 1.5]).tolist() == [0.5, 1.0, 2.5]


def test_whole_periods_end_with_the_period_not_after_it():
    capacity = Capacity.of(trace_of([0.0, 1.0]), "idle")  # one second of capacity in two
    assert capacity.inverse([1.0, 2.0, 3.0]).tolist() == [1.0, 3.0, 5.0]
    assert capacity.integral([2.0, 4.0, 5.5]).tolist() == [1.0, 2.0, 3.0]


def test_what_holds_after_the_last_sample_is_stated():
    trace = [1.0, 0.0, 3.0]
    at = [3.0, 5.0]
    assert Capacity.of(trace_of(trace, after_end="hold"), "fair").integral(at).tolist() == [1.75, 2.25]
    assert Capacity.of(trace_of(trace, after_end="cycle"), "fair").integral(at).tolist() == [1.75, 3.25]
    ends = Capacity.of(trace_of(trace, after_end="error"), "fair")
    assert ends.integral(3.0) == 1.75
    with pytest.raises(TraceError, match="time_s is 5, and the trace ends at 3"):
        ends.integral(at)
    with pytest.raises(TraceError, match=r"capacity_s is 1.8, and the trace ends at 1.75"):
        ends.inverse(1.8)


@pytest.mark.parametrize("after_end", ["hold", "cycle"])
def test_capacity_that_never_comes_takes_for_ever(after_end):
    capacity = Capacity.of(trace_of([2.0, 2.0], after_end=after_end), "idle")
    assert capacity.inverse([0.0, 1.0]).tolist() == [0.0, np.inf]


def test_work_that_starts_later_ends_where_its_capacity_is_reached():
    capacity = Capacity.of(trace_of([1.0, 0.0], [10.0, 10.0]), "fair")
    assert capacity.finish([0.0, 9.0, 19.0], [5.0, 5.0, 5.0]).tolist() == [10.0, 14.5, 28.0]


def test_several_traces_answer_as_each_alone():
    rng = np.random.Generator(np.random.PCG64(3))
    traces = [
        trace_of(rng.exponential(1.0, size), rng.uniform(0.1, 3.0, size), after_end)
        for size, after_end in ((1, "cycle"), (40, "hold"), (7, "cycle"))
    ]
    together = Capacity.of(traces, "fair", processes=[1, 2, 3], cores=2)
    alone = [Capacity.of(t, "fair", processes=m, cores=2) for t, m in zip(traces, (1, 2, 3), strict=True)]
    asked = rng.uniform(0.0, 300.0, (50, 3))
    for question in ("integral", "inverse"):
        found = getattr(together, question)(asked)
        expected = np.stack([getattr(one, question)(asked[:, k]) for k, one in enumerate(alone)], axis=-1)
        assert np.array_equal(found, expected)
    assert together.integral(7.0).shape == (3,)
    with pytest.raises(TraceError, match="for 3 traces; give one entry for each"):
        together.integral(np.zeros((3, 4)))


@pytest.mark.parametrize("asked", [-1.0, np.nan, np.inf])
def test_queries_that_are_no_times_are_refused(asked):
    capacity = Capacity.of(trace_of([0.0, 1.0]), "idle")
    with pytest.raises(TraceError, match="finite and at least 0"):
        capacity.integral(asked)
    with pytest.raises(TraceError, match="finite and at least 0"):
        capacity.inverse([1.0, asked])


def test_a_million_pieces_keep_a_relative_error_of_one_rounding():
    values = np.tile([0.1, 0.7, 0.3], 400_000)
    trace = LoadTrace(np.arange(values.size) * 0.1, values, values.size * 0.1)
    exact = values.size / 3 * 0.1 * (0.95 + 0.65 + 0.85)  # half of each load goes
    assert float(Capacity.of(trace, "fair").integral(trace.end_s)) == pytest.approx(exact, rel=1e-12)
