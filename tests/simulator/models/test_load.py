import dataclasses
import datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.base.errors import TraceError
from simulator.models.load import LoadTrace, availability, taken

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


@pytest.mark.parametrize("after_end", ["hold", "error"])
def test_a_trace_that_does_not_cycle_is_shorter_from_the_middle(after_end):
    moved = dataclasses.replace(TRACE, after_end=after_end).starting_at(1.5)
    assert (moved.times_s.tolist(), moved.values.tolist()) == ([0, 1.5], [2, 0])
    assert (moved.end_s, moved.after_end) == (2.5, after_end)
    with pytest.raises(TraceError, match="4 s does not lie in the trace, which lasts 4 s"):
        dataclasses.replace(TRACE, after_end=after_end).starting_at(4.0)


def test_mean_is_weighted_by_time():
    assert TRACE.mean() == (1 * 1 + 2 * 2 + 0 * 1) / 4


def test_availability_rules():
    load = np.array([0.0, 0.5, 1.0, 3.0])
    assert availability(load, "fair").tolist() == [1, 0.75, 1 / 2, 1 / 4]
    assert availability(load, "fair", processes=2).tolist() == [1 / 2, pytest.approx((1 / 2 + 1 / 3) / 2), 1 / 3, 1 / 5]
    assert availability(load, "fair", cores=2).tolist() == [1, 1, 1, 1 / 2]
    assert availability(load, "idle").tolist() == [1, 0.5, 0, 0]
    assert availability(np.array([0.4]), "given", processes=2).tolist() == [0.2]
    with pytest.raises(TraceError, match="is no rule; write one of idle, fair, given"):
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


@pytest.mark.parametrize("cores", [1, 2, 5])
@pytest.mark.parametrize("processes", [1, 3])
def test_whole_loads_keep_every_bit(cores, processes):
    load = np.arange(40.0)
    expected = np.minimum(1.0, cores / (load + processes))
    beside_parts = availability(np.append(load, 0.5), "fair", processes=processes, cores=cores)
    assert availability(load, "fair", processes=processes, cores=cores).tobytes() == expected.tobytes()
    assert beside_parts[:-1].tobytes() == expected.tobytes()
    assert taken(load).tobytes() == (load / (1 + load)).tobytes()


@given(whole=st.integers(0, 9), part=st.floats(0, 1), processes=st.integers(1, 4), cores=st.integers(1, 6))
def test_an_averaged_load_leaves_the_mean_of_what_whole_loads_leave(whole, part, processes, cores):
    """By hand: `whole` competitors for (1 - part) of the time, one more for the rest."""
    share = [min(1, cores / (load + processes)) for load in (whole, whole + 1)]
    expected = (1 - part) * share[0] + part * share[1]
    found = availability(np.array([whole + part]), "fair", processes=processes, cores=cores)
    assert found[0] == pytest.approx(expected, rel=1e-12)
    assert taken(np.array([whole + part]))[0] == pytest.approx(
        (1 - part) * whole / (whole + 1) + part * (whole + 1) / (whole + 2), abs=1e-12
    )


def zoned(text):
    return datetime.datetime.fromisoformat(text)


DAY = LoadTrace(np.array([0.0]), np.array([1.0]), 86_400.0, start_instant=zoned("2026-11-21T08:00+01:00"))


@pytest.mark.parametrize(
    ("at", "offset_s"),
    [
        (3600.0, 3600),
        (datetime.time(8), 0),
        (datetime.time(14), 6 * 3600),
        (datetime.time(7, 59), 86_340),
        (datetime.time(13, tzinfo=datetime.UTC), 6 * 3600),
        (datetime.time(6, 30, tzinfo=datetime.UTC), 86_400 - 1800),
        (datetime.datetime(2026, 11, 21, 9), 3600),  # noqa: DTZ001 - in the trace's zone
        (zoned("2026-11-21T09:00+00:00"), 7200),
    ],
)
def test_a_start_is_an_offset_or_a_time_in_the_zone_of_the_trace(at, offset_s):
    assert DAY.offset_s(at) == offset_s
