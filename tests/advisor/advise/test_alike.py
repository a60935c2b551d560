"""Draws that come out alike are simulated once for a comparison, and the table is what simulating each would give."""

import numpy as np
import pytest

from advisor.advise.alike import run_alike
from simulator import Configuration, LinkModel, run
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


def test_the_first_of_those_that_are_alike_is_simulated_itself():
    made = compared(trace([0, 8], [0, 2], 10))
    assert np.array_equal(run_alike(made, 100)[0].makespan_ticks[:, 0], run(made).makespan_ticks[:, 0])
    assert run_alike(made, 100)[1] < 5 * len(SPLITS)


@pytest.mark.parametrize("load", [None, trace([0, 8], [0, 2], 10)])
def test_nothing_is_shared_where_something_else_is_drawn(load):
    made = compared(load, other=band(0.9e9, 1e9, 1.1e9))
    found, simulated = run_alike(made, 100)
    assert np.array_equal(found.makespan_ticks, run(made).makespan_ticks)
    assert simulated == found.makespan_ticks.size
