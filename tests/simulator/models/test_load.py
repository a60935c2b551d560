import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.base.errors import TraceError
from simulator.models.load import LoadTrace, availability

TRACE = LoadTrace(np.array([0.0, 1.0, 3.0]), np.array([1.0, 2.0, 0.0]), 4.0)


def value_at(trace, time_s):
    return trace.values[np.searchsorted(trace.times_s, time_s % trace.end_s, side="right") - 1]


@given(st.floats(0, 12), st.integers(0, 400))
def test_a_trace_from_the_middle_is_the_same_trace_later(start_s, hundredths):
    moved = TRACE.starting_at(start_s)
    time_s = hundredths / 100
    edges = (TRACE.times_s - start_s) % TRACE.end_s
    if np.min(np.abs(edges - time_s % TRACE.end_s)) > 1e-9:
        assert value_at(moved, time_s) == value_at(TRACE, start_s + time_s)
    assert moved.mean() == pytest.approx(TRACE.mean())


def test_mean_is_weighted_by_time():
    assert TRACE.mean() == (1 * 1 + 2 * 2 + 0 * 1) / 4


def test_availability_rules():
    load = np.array([0.0, 0.5, 1.0, 3.0])
    assert availability(load, "fair").tolist() == [1, 1 / 1.5, 1 / 2, 1 / 4]
    assert availability(load, "fair", processes=2).tolist() == [1 / 2, 1 / 2.5, 1 / 3, 1 / 5]
    assert availability(load, "fair", cores=2).tolist() == [1, 1, 1, 1 / 2]
    assert availability(load, "idle").tolist() == [1, 0.5, 0, 0]
    assert availability(np.array([0.4]), "given", processes=2).tolist() == [0.2]
    with pytest.raises(TraceError, match="one of idle, fair, given allowed"):
        availability(load, "greedy")


@pytest.mark.parametrize(
    ("times", "values", "end"),
    [
        ([0, 1], [1], 2),
        ([], [], 1),
        ([1, 2], [1, 1], 3),
        ([0, 0], [1, 1], 3),
        ([0, 1], [1, -1], 2),
        ([0, 1], [1, 1], 1),
    ],
)
def test_what_is_no_trace_is_refused(times, values, end):
    with pytest.raises(TraceError):
        LoadTrace(np.array(times, dtype=float), np.array(values, dtype=float), end)
