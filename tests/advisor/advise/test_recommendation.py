from dataclasses import replace

import numpy as np
import pytest

import advisor
from simulator import LinkModel, run
from simulator.scenario_file.partitions import mean_share, process_times
from tests.support.platforms import band, pe, scenario, trace


def unequal(replications=100):
    load = trace(np.arange(200) * 0.01, 1 + np.arange(200) % 2, 2.0)
    pes = [pe("fast", band(0.98e9, 1e9, 1.02e9)), pe("slow", band(0.98e9, 1e9, 1.02e9), load)]
    return scenario(pes, 300, link=LinkModel.from_latency(1e-5, 1e10), replications=replications, seed=1)


def test_the_gain_is_close_to_the_largest_possible():
    """a = 5/12 of the second PE is left: equal takes 1/(2a), balanced 1/(1 + a)."""
    advice = advisor.recommend(unequal())
    share = 5 / 12
    assert advice.baselines["equal"].mean == pytest.approx((1 + share) / (2 * share), rel=0.02)
    assert advice.configuration.partition[0] == pytest.approx(300 / (1 + share), abs=6)


def test_a_link_too_slow_means_use_one_pe():
    made = scenario([pe("a", 1e9), pe("b", 1e9)], 60, link=LinkModel.from_latency(1.0, 1e3), replications=5)
    assert advisor.recommend(made).configuration.partition == (60, 0)


def test_the_mean_share_of_an_averaged_load_is_the_one_that_runs_get():
    """Load 1/3 leaves 5/6 to one process, and 1/2 (2/3) + 1/3 (1/3) to each of two."""
    loaded = pe("a", 1e5, trace([0], [1 / 3], 3))
    assert mean_share(loaded) == pytest.approx(5 / 6)
    assert mean_share(loaded, processes=2) == pytest.approx(4 / 9)
    made = scenario([loaded], 100, (100,))
    assert run(made).makespan_s[0, 0] == pytest.approx(20 / mean_share(loaded))


def test_a_load_that_starts_at_a_known_time_counts_from_there_on():
    """A competitor in the first of two hours leaves a half of it and then all, not three quarters throughout."""
    busy = pe("busy", load=trace([0, 3600], [1, 0], 7200))
    known = replace(busy, load=replace(busy.load, drawn=False))
    link = LinkModel.from_latency(1e-12, 1e18)
    short = process_times(scenario([known], 1000, link=link), (0,), led=False)(0, 1000)
    assert short == pytest.approx(2 * 1000**3 / 0.5e9)
    long = process_times(scenario([known], 10_000, link=link), (0,), led=False)(0, 12_000)
    assert long == pytest.approx(3600 + (2 * 10_000**2 * 12_000 - 1800e9) / 1e9)
    drawn = process_times(scenario([busy], 1000, link=link), (0,), led=False)(0, 1000)
    assert drawn == pytest.approx(2 * 1000**3 / 0.75e9)
