"""The SimPy engine against closed forms."""

import math

import numpy as np
import pytest

from simulator import run
from simulator.base.errors import ScenarioError
from simulator.engines import process
from simulator.models.network import LinkModel
from simulator.platform.nodes import PE
from simulator.scenario_file.truths import Draws
from tests.support.platforms import band, pe, scenario, trace

TICK = 1e-12


def test_one_pe_under_a_stepped_load():
    """2e6 operations at 1e9 per second: 2 ms of work, of which 1 ms at 1/2 gives 0.5, 1 ms at 1/3 gives a third, ..."""
    load = trace([0, 1e-3], [1, 2], 2e-3)
    made = scenario([pe("a", 1e9, load)], 100, (100,))
    exact = 2 * 2e-3 + (2e-3 - 2 * (0.5e-3 + 1e-3 / 3)) * 2
    expected = exact if exact <= 5e-3 else math.nan
    draws_from_zero = process.run(made, at_zero(made), tick_s=TICK)
    assert draws_from_zero.makespan_s[0, 0] == pytest.approx(expected, abs=3 * TICK)


@pytest.mark.parametrize("engine", ["process", "compiled"])
def test_an_averaged_load_takes_as_long_as_the_whole_loads_that_it_averages(engine):
    """A competitor there for a third of the time leaves 1 - 1/6: 20 s of work take 24 s, and no 26.7 s."""
    averaged, whole = trace([0], [1 / 3], 3), trace([0, 2], [0, 1], 3)
    seconds = [
        run(scenario([pe("a", 1e5, load)], 100, (100,), replications=300), engine=engine).makespan_s.mean()
        for load in (averaged, whole)
    ]
    assert seconds[0] == pytest.approx(24.0, rel=1e-9)
    assert seconds[1] == pytest.approx(24.0, rel=0.01)


def at_zero(made):
    shape = (made.replications, len(made.platform.pes))
    return Draws(np.zeros(shape), np.full(shape, 0.5))


def test_matmul_by_hand_on_two_pes():
    """Send B and a row of A, both compute, one row comes back; times of messages and computations add as drawn."""
    link = LinkModel.from_latency(1e-3, 1e6)
    made = scenario([pe("a", 1e6), pe("b", 1e5)], 4, (3, 1), link=link)
    sent, back = 1e-3 + 160 / 1e6, 1e-3 + 32 / 1e6
    both = max(96 / 1e6, 32 / 1e5)
    runs = run(made, log_replications=1)
    assert runs.makespan_s[0, 0] == pytest.approx(sent + both + back, abs=5 * TICK)
    log = {(entry.process, entry.operation): entry for entry in runs.logs[0, 0]}
    assert log[0, "recv"].start_ticks == log[0, "compute"].end_ticks
    assert log[0, "recv"].end_ticks == log[1, "send"].end_ticks
    assert runs.computed_ticks[0][0].tolist() == [log[0, "compute"].end_ticks, log[1, "compute"].end_ticks]


def test_replications_draw_load_and_speed_and_repeat_with_the_seed():
    load = trace(np.arange(100) * 1e-3, np.arange(100) % 3, 0.1)
    made = scenario([pe("a", band(0.9e9, 1e9, 1.1e9), load), pe("b")], 100, (50, 50), replications=20, seed=3)
    first = run(made).makespan_ticks
    assert np.unique(first).size > 15
    assert np.array_equal(first, run(made).makespan_ticks)
    assert not np.array_equal(first, run(made, seed=4).makespan_ticks)


def test_what_cannot_be_run_is_refused():
    with pytest.raises(ScenarioError, match="there are no configurations; give at least one"):
        run(scenario([pe("a")], 4))
    with pytest.raises(ScenarioError, match="engine is 'warp'; give one of auto, process, compiled"):
        run(scenario([pe("a")], 4, (4,)), engine="warp")
    with pytest.raises(ScenarioError, match="PE a has no speed of kernel 'dgemm', and of no other kernel"):
        run(scenario([PE("a", "node"), pe("b")], 4, (2, 2)))
    with pytest.raises(ScenarioError, match="no PE has a speed of kernel 'dgemm'; they have no speeds; add some"):
        scenario([PE("a", "node")], 4, (4,))
