"""Units that move between iterations: both engines, one long program, closed forms, and who gets what."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, seed, settings
from hypothesis import strategies as st

from simulator import (
    Application,
    Configuration,
    Load,
    LoadTrace,
    Repartition,
    Scenario,
    ScenarioError,
    load_scenario,
    run,
)
from simulator.base.errors import SimulationError
from simulator.engines.repartition import moved, run_moves, stretch
from simulator.engines.waited_for import waited_for
from simulator.models.speed import SpeedBand
from simulator.programs.applications.work import Movable
from simulator.programs.program import NOBODY
from simulator.scenario_file.truths import draw
from tests.agreement.scenarios import TICK, platforms
from tests.support.stepwise import check_one
from tests.support.stepwise_oracle import TooLongError

MANY, AT_ONCE = 100, 50

TEXT = """
format: 1
platform:
  nodes:
    - name: n
      pes:
        - name: "{node}.[0-1]"
          speeds: {stencil: 2 Gflop/s}
  link: {latency: 10us, bandwidth: 3GB/s}
application: {name: stencil, kernel: stencil, parameters: {n: 1000, iterations: 200}}
configurations:
  equal: {partition: equal}
  moving: {partition: equal, repartition: {when: gain, every: 5}}
replications: 8
"""


def written(folder, text=TEXT):
    path = folder / "scenario.yaml"
    path.write_text(text)
    return path


def alternating(scenario, low_s, high_s, seed=1):
    """One competitor that goes from one PE to the other at random times."""
    stays = np.random.default_rng(seed).uniform(low_s, high_s, 400)
    times, on = np.concatenate([[0.0], np.cumsum(stays)]), np.arange(400) % 2
    first = LoadTrace(times[:-1], on.astype(float), float(times[-1]))
    other = LoadTrace(times[:-1], 1.0 - on, float(times[-1]))
    one, two = scenario.platform.pes
    pes = replace(one, load=Load(first, "fair")), replace(two, load=Load(other, "fair", recording=first))
    return replace(scenario, platform=replace(scenario.platform, pes=pes))


@st.composite
def moving(draw):
    """A small stencil or product by panels on any platform, with any rule."""
    pes = draw(st.integers(1, 3))
    platform = draw(platforms(pes))
    processes = draw(st.integers(1, 4))
    extra = draw(st.lists(st.integers(0, 8), min_size=processes, max_size=processes))
    units = tuple(1 + more for more in extra)
    total = sum(units)
    if draw(st.booleans()):
        application = Application("stencil", "k", {"n": total, "iterations": draw(st.integers(1, 9))})
    else:
        nb = draw(st.integers(1, total))
        application = Application("matmul_2d", "k", {"n": total, "nb": nb, "grid_rows": processes})
        units = tuple(total * one for one in units)
    placement = tuple(draw(st.integers(0, pes - 1)) for _ in units)
    when = draw(st.sampled_from(["gain", "threshold", "every"]))
    rule = Repartition(when, draw(st.integers(1, 4)), draw(st.sampled_from([0.0, 0.3])))
    return Scenario(platform, application, (Configuration("a", units, placement, repartition=rule),), 2, 3)


def found_or_fault(scenario, engine):
    try:
        runs = run(scenario, engine=engine)
    except (ScenarioError, SimulationError) as error:  # a PE may stand still for ever
        return type(error).__name__, error.lines
    tables = [(runs.makespan_ticks, *runs.finish_ticks, *runs.busy_ticks, *runs.computed_ticks)]
    return [[table.tolist() for table in tables[0]], runs.partitions]


def faster(scenario, times):
    """So many times as fast, so that little more than a few ticks pass."""

    def band(of):
        return SpeedBand(of.sizes, times * of.low, times * of.mid, times * of.high)

    pes = tuple(replace(pe, speeds={"k": band(pe.speeds["k"])}) for pe in scenario.platform.pes)
    return replace(scenario, platform=replace(scenario.platform, pes=pes))


def read_tick_by_tick(scenario):
    """Every stretch of the runs, as the engine of processes has it, beside the reader that goes tick by tick."""
    (one,) = scenario.configurations

    def simulate(stretched, number):
        alone = replace(stretched, replications=1, strata=scenario.replications)
        check_one(alone, draw(alone, first=number, placed_only=True), tick_s=TICK)
        return run(stretched, engine="process", replications=1, first_replication=number)

    fault = None
    try:
        run_moves(scenario, one, simulate)
    except TooLongError:
        assume(False)
    except (ScenarioError, SimulationError) as error:
        fault = type(error).__name__, error.lines
    assert fault is None or fault == found_or_fault(scenario, "process")


def check_all(scenario):
    assert found_or_fault(scenario, "process") == found_or_fault(scenario, "compiled")
    read_tick_by_tick(scenario)


@given(moving())
@settings(max_examples=12, deadline=None, derandomize=True)
def test_three_readings_agree(scenario):
    check_all(faster(scenario, 64))


@given(moving())
@settings(max_examples=12, deadline=None, derandomize=True)
def test_both_engines_agree_on_longer_runs(scenario):
    assert found_or_fault(scenario, "process") == found_or_fault(scenario, "compiled")


@pytest.mark.slow
@pytest.mark.parametrize("number", range(MANY // AT_ONCE))
def test_three_readings_of_many_programs_agree(number):
    @seed(number)
    @given(moving())
    @settings(max_examples=AT_ONCE, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    def some(scenario):
        check_all(faster(scenario, 64))

    some()


@given(moving(), st.sampled_from(["process", "compiled"]))
@settings(max_examples=12, deadline=None, derandomize=True)
def test_a_chain_of_stretches_is_one_long_program(scenario, engine):
    """Without a move, gathers and barriers between the stretches of one program written as a whole."""
    (one,) = scenario.configurations
    never = replace(one, repartition=Repartition("threshold", one.repartition.every, 1e6))
    chained = run(replace(scenario, configurations=(never,)), engine=engine)
    work, movable, fixed = scenario.application.work, scenario.movable(never), replace(never, repartition=None)
    rounds, rows, done = work.rounds(len(one.partition)), [()] * len(one.partition), 0
    while done < rounds:
        count = min(one.repartition.every, rounds - done)
        part = stretch(work, None, fixed, movable, done, count, begun_s=0.0, last=done + count == rounds)
        rows = [(*row, *more) for row, more in zip(rows, part.operations, strict=True)]
        done += count
    whole = replace(part, operations=tuple(rows))
    long = replace(scenario.application, written=whole)
    at_once = run(replace(scenario, application=long, configurations=(fixed,)), engine=engine)
    assert chained.makespan_ticks.tolist() == at_once.makespan_ticks.tolist()
    assert chained.busy_ticks[0].tolist() == at_once.busy_ticks[0].tolist()


@given(st.lists(st.tuples(st.integers(1, 9), st.integers(1, 9)), min_size=1, max_size=6))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_what_is_sent_is_what_changes_hands(pairs):
    before = [one for one, _ in pairs]
    after = [other for _, other in pairs]
    after[-1] = max(1, after[-1] + sum(before) - sum(after))
    after[0] += sum(before) - sum(after)
    if after[0] < 1:
        return
    held = [set(range(sum(before[:p]), sum(before[: p + 1]))) for p in range(len(before))]
    wanted = [set(range(sum(after[:p]), sum(after[: p + 1]))) for p in range(len(after))]
    sent = np.zeros((len(before), len(before)), dtype=int)
    for step in moved(before, after, Movable(1, 7)):
        for process, (to, size) in enumerate(zip(step.to, step.size_bytes, strict=True)):
            if to != NOBODY:
                assert step.source[to] == process
                sent[process, to] += size
    for p, mine in enumerate(held):
        for q, theirs in enumerate(wanted):
            assert sent[p, q] == (7 * len(mine & theirs) if p != q else 0)


def test_a_competitor_that_wanders_is_followed(tmp_path):
    runs = run(alternating(load_scenario(written(tmp_path)), 0.2, 1.0))
    static, dynamic = runs.makespan_s.mean(axis=1)
    assert static > 1.2 * dynamic
    for happened in runs.partitions["moving"]:
        assert len(happened) > 1
        assert all(sum(units) == 1000 for _, units in happened)
        loaded = [since for since, units in happened if units[0] != units[1]]
        assert loaded  # units leave the PE that is shared


@pytest.mark.parametrize("engine", ["process", "compiled"])
def test_a_log_shows_the_moves_and_what_they_wait_for(tmp_path, engine):
    scenario = alternating(load_scenario(written(tmp_path)), 0.2, 1.0)
    runs = run(scenario, replications=2, engine=engine, log_replications=1)
    assert set(runs.logs) == {(0, 0), (1, 0)}
    log = runs.logs[1, 0]
    assert max(entry.end_ticks for entry in log) == runs.makespan_ticks[1, 0]
    busy = sum(entry.end_ticks - entry.start_ticks for entry in log if entry.operation == "compute")
    assert busy == runs.busy_ticks[1][0].sum()
    assert len(log) > len(runs.logs[0, 0])  # gathers, broadcasts and moves
    waited = waited_for(scenario, runs, 1, 0)
    assert sum(part.seconds for part in waited.parts) == pytest.approx(runs.makespan_s[1, 0])
    again = run(scenario, replications=1, first_replication=1, engine=engine, log_replications=1)
    assert max(entry.end_ticks for entry in again.logs[1, 0]) == runs.makespan_ticks[1, 1]


def test_a_steady_load_is_left_alone(tmp_path):
    scenario = load_scenario(written(tmp_path))
    runs = run(scenario)
    static, dynamic = runs.makespan_s.mean(axis=1)
    assert all(len(happened) == 1 for happened in runs.partitions["moving"])
    assert static <= dynamic < 1.03 * static
