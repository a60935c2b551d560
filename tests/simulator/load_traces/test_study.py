"""The load study against its definition, and lengths as people write them."""

import numpy as np
import pytest

from simulator.base.errors import ScenarioError, TraceError
from simulator.load_traces import in_samples, load_study, text_chart
from simulator.models.load import LoadTrace
from simulator.models.load_functions import build_load_functions

WINDOW, HISTORIES = 5, (8, 20)


def trace_of(loads, step_s=2.0):
    return LoadTrace(np.arange(loads.size) * step_s, loads, loads.size * step_s)


@pytest.fixture
def loads():
    return np.abs(np.cumsum(np.random.Generator(np.random.PCG64(5)).normal(0, 0.3, 120)))


@pytest.mark.slow
def test_the_study_counts_what_its_definition_says(loads):
    rows = load_study(trace_of(loads), HISTORIES, window=WINDOW, every=1)
    for row, history in zip(rows, HISTORIES, strict=True):
        inside, at_window, area, instants = [], [], [], range(max(HISTORIES), loads.size - WINDOW + 1)
        for now in instants:
            curves = build_load_functions(trace_of(loads[now - history : now]), window=WINDOW)
            means = [loads[now : now + j].mean() for j in range(1, WINDOW + 1)]
            hits = [low <= mean <= high for low, mean, high in zip(curves.l_min, means, curves.l_max, strict=True)]
            inside += hits
            at_window.append(hits[-1])
            area.append(np.trapezoid(curves.l_max - curves.l_min, curves.t_s))
        assert (row.history, row.instants) == (history, len(instants))
        assert row.hit_ratio == pytest.approx(np.mean(inside))
        assert row.hit_ratio_at_window == pytest.approx(np.mean(at_window))
        assert row.area_s == pytest.approx(np.mean(area))
        assert row.width == pytest.approx(np.mean(area) / (2.0 * (WINDOW - 1)))
    assert rows[0].hit_ratio < rows[1].hit_ratio  # more history, wider and safer
    assert rows[0].area_s < rows[1].area_s


def test_a_constant_load_is_predicted_exactly():
    (row,) = load_study(trace_of(np.full(50, 0.3)), [10], window=4)
    assert (row.hit_ratio, row.hit_ratio_at_window, row.area_s) == (1.0, 1.0, 0.0)


def test_a_recording_too_short_is_refused(loads):
    with pytest.raises(
        TraceError, match=r"study: the trace has 120 samples; give at least 130 \(history 100 and window 30\)"
    ):
        load_study(trace_of(loads), [10, 100], window=30)


@pytest.mark.parametrize(("text", "count"), [("60", 60), ("60s", 30), ("1h", 1800), ("2s", 1)])
def test_lengths_are_samples_or_durations(text, count):
    assert in_samples(text, 2.0, field="--window") == count


@pytest.mark.parametrize("text", ["0", "3s", "-4", "1.5", "soon", "0s"])
def test_lengths_that_are_neither_are_refused(text):
    with pytest.raises(ScenarioError, match="--window"):
        in_samples(text, 2.0, field="--window")


def test_the_text_chart_shows_where_the_load_is():
    chart = text_chart(LoadTrace(np.array([0.0, 5.0]), np.array([0.0, 2.0]), 10.0), columns=10, rows=2).splitlines()
    assert [line[11:] for line in chart[:2]] == ["     █████", "     █████"]
    assert chart[0].split()[0] == "2"
    assert "10 s" in chart[-1]


@pytest.mark.parametrize(("length", "windows"), [(13, 1), (17, 1), (18, 2), (53, 9)])
def test_a_study_counts_the_futures_that_do_not_overlap(length, windows):
    (row,) = load_study(trace_of(np.arange(length) % 3.0), (8,), window=WINDOW, every=1)
    assert row.windows == windows
