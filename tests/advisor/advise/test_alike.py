"""Draws that come out alike are simulated once for a comparison, and the table is what simulating each would give."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from advisor.advise.alike import run_alike
from simulator import Configuration, LinkModel, run
from simulator.models.doubt import Noise
from tests.support.platforms import band, pe, scenario, trace

LINK = LinkModel.from_latency(1e-6, 1e12)
TABLES = ("makespan_ticks", *(f"{name}_ticks" for name in ("computed", "busy", "finish")))
SPLITS = tuple(Configuration.one_each(f"{units}", (units, 200 - units)) for units in (20, 100, 180))


def compared(load, other=1e9):
    made = scenario([pe("a", other), pe("b", 1e9, load)], 200, link=LINK, replications=100, seed=3)
    return made.with_configurations(SPLITS)


@pytest.mark.parametrize("ends_s", [(8, 10), (0.3, 0.4), (0.09, 0.12)], ids=["never", "of the slow", "often"])
def test_the_table_is_that_of_all_draws_but_for_rounding(ends_s):
    """A load that changes during no run, during long ones alone, during most: runs take 11 to 43 ms."""
    change, end = ends_s
    made = compared(trace([0, change], [0, 2], end))
    found, simulated = run_alike(made, 100)
    full = run(made)
    assert found.makespan_s == pytest.approx(full.makespan_s, rel=1e-6)
    for name in TABLES[1:]:
        for mine, theirs in zip(getattr(found, name), getattr(full, name), strict=True):
            assert mine == pytest.approx(theirs, rel=1e-6)
    assert simulated < full.makespan_ticks.size
    assert found.configurations == full.configurations


@settings(max_examples=20, deadline=None)
@given(
    pieces=st.lists(st.tuples(st.sampled_from([0.003, 0.02, 0.1, 2.0]), st.sampled_from([0.0, 0.5, 3.0])), min_size=1),
    seed=st.integers(0, 5),
)
def test_any_load_gives_the_table_of_all_draws_but_for_rounding(pieces, seed):
    """Also one that is there in one draw of twenty."""
    durations, values = np.array(pieces).T
    load = trace(np.append(0.0, np.cumsum(durations)[:-1]), values, float(durations.sum()))
    made = replace(compared(load), seed=seed, replications=40)
    found, simulated = run_alike(made, 40)
    assert found.makespan_s == pytest.approx(run(made).makespan_s, rel=1e-6)
    assert simulated <= found.makespan_ticks.size


NOISY = replace(band(1e9, 1e9, 1e9), noise=Noise(np.linspace(0.8, 1.2, 21)))


@pytest.mark.parametrize("load", [None, trace([0, 8], [0, 2], 10)])
@pytest.mark.parametrize("speed", [band(0.9e9, 1e9, 1.1e9), NOISY], ids=["doubt", "noise"])
def test_nothing_is_shared_where_something_else_is_drawn(load, speed):
    made = compared(load, other=speed)
    found, simulated = run_alike(made, 100)
    assert np.array_equal(found.makespan_ticks, run(made).makespan_ticks)
    assert simulated == found.makespan_ticks.size


def test_the_first_of_those_that_are_alike_is_simulated_itself():
    made = compared(trace([0, 8], [0, 2], 10))
    assert np.array_equal(run_alike(made, 100)[0].makespan_ticks[:, 0], run(made).makespan_ticks[:, 0])
    assert run_alike(made, 100)[1] < 5 * len(SPLITS)
