"""The rule `turns`: by hand in ticks of 1 s and slices of 4, beside equal shares, and in scenario files."""

from dataclasses import replace

import numpy as np
import pytest

from simulator import load_scenario, run
from simulator.base.errors import ScenarioError
from simulator.engines import process
from simulator.engines.compiled import run as compiled
from simulator.engines.costs import service_table
from simulator.models.load import LoadTrace
from simulator.models.speed import SpeedBand
from simulator.platform.nodes import PE, Load, Platform
from simulator.programs.configuration import Configuration
from simulator.programs.program import Barrier, Compute, Delay, Program, Recv, Send
from simulator.scenario_file.load import dump_scenario
from simulator.scenario_file.scenario import Application, Scenario
from simulator.scenario_file.truths import TURNS, Draws, draw
from tests.support.platforms import flat
from tests.support.rules import FREE, TICK, build

ROUND = 8
"""Ticks of a competitor and of one of ours."""


def pe(name, competitors=1.0, *, cores=1, rule="turns"):
    load = Load(LoadTrace(np.zeros(1), np.array([competitors]), 1000.0), rule)
    return PE(name, name, {"k": flat(1)}, load, cores=cores, slice_s=4.0)


def finish(rows, pes, starts=(0, 0, 0), **options):
    """When each process ends; the same in both engines."""
    made = build(rows, pes=pes, **options)
    draws = Draws(np.array([starts[: len(pes)]], dtype=float), np.full((1, len(pes)), 0.5))
    found = [engine.run(made, draws, tick_s=TICK).finish_ticks[0][0].tolist() for engine in (process, compiled)]
    assert found[0] == found[1]
    return found[0]


@pytest.mark.parametrize(
    ("work", "start", "ends"),
    [(4, 0, 8), (5, 0, 13), (4, 4, 4), (3, 6, 7), (400, 0, 800), (401, 0, 805)],
)
def test_a_process_computes_in_its_turns_only(work, start, ends):
    """The competitor comes first in each round; a run starts where its draw says."""
    assert finish([[Compute(work, 1.0)]], [pe("a")], (start,)) == [ends]


@pytest.mark.parametrize(
    ("processes", "competitors", "cores", "work", "ends"),
    [
        (1, 2.0, 1, 4, 12),  # two competitors have their turns first
        (2, 1.0, 1, 4, 12),  # ours share a turn that is as long as both their slices
        (2, 1.0, 1, 2, 8),
        (1, 1.0, 2, 9, 9),  # a core for each
        (2, 1.0, 2, 4, 6),  # three on two cores: 4 of 6 ticks
        (1, 0.5, 1, 4, 5),  # a share of 3/4 for half a competitor in the mean: rounds of rint(5.33)
    ],
)
def test_turns_follow_from_how_many_compete(processes, competitors, cores, work, ends):
    assert finish([[Compute(work, 1.0)]] * processes, [pe("a", competitors, cores=cores)]) == [ends] * processes


def test_a_turn_goes_by_for_who_waits():
    """Its turn is from 4 to 8: who comes back at 7 has one tick of it, then waits for the next one."""
    assert finish([[Delay(7.0), Compute(2, 1.0)]], [pe("a")]) == [13]


@pytest.mark.parametrize("processes", [1, 2, 3])
def test_turns_leave_what_equal_shares_leave_but_for_a_round(processes):
    values = np.array([0.0, 1.0, 2.5, 1.0, 3.0])
    trace = LoadTrace(np.arange(5) * 100.0, values, 500.0)
    tables = [
        service_table(replace(pe("a"), load=Load(trace, rule)), processes, tick_s=1.0) for rule in ("fair", "turns")
    ]
    assert np.all(np.abs(np.diff(tables[0].attained) - np.diff(tables[1].attained)) <= 4.0 + 1)


def test_messages_take_no_slices():
    rows = [[Recv(1)], [Delay(5.0), Send(0, 0)]]
    fair, turns = (
        finish(rows, [pe("a", rule=rule), pe("b", rule=rule)], network=FREE)[0] for rule in ("fair", "turns")
    )
    assert (fair, turns) == (5 + 1 + 4, 5 + 1)


def lockstep(count, work_s, *, rule):
    """Processes beside a competitor each that meet after each of 100 computations."""
    load = Load(LoadTrace(np.zeros(1), np.ones(1), 60.0), rule)
    pes = tuple(PE(f"p{i}", "n", {"k": SpeedBand.constant(1.0)}, load, slice_s=4e-3) for i in range(count))
    everyone = tuple(range(count))
    row = (Compute(work_s, 1.0), Barrier(everyone)) * 100
    application = Application.of_program(Program((row,) * count, (0,) * count), kernel="k")
    return Scenario(Platform(pes, FREE), application, (Configuration("c", (1,) * count, everyone),), 20)


@pytest.mark.parametrize(("work_s", "least", "most"), [(1e-3, 1.7, 2.1), (3.5e-3, 1.04, 1.2), (40e-3, 0.99, 1.02)])
def test_processes_that_meet_more_often_than_turns_change_wait_for_each_other(work_s, least, most):
    """Turns of PEs of a node with one load are not in step; each replication has others."""
    fair, turns = (run(lockstep(4, work_s, rule=rule)).makespan_s for rule in ("fair", "turns"))
    assert least < turns.mean() / fair.mean() < most
    assert np.ptp(turns) > 0


def test_where_turns_begin_is_drawn_for_each_pe():
    made = lockstep(3, 1e-3, rule="turns")
    shifted = draw(made).load_starts_s - draw(lockstep(3, 1e-3, rule="fair")).load_starts_s
    assert np.all((shifted >= 0) & (shifted < TURNS * 4e-3))
    assert len(np.unique(np.round(shifted, 9))) == shifted.size
    assert not made.deterministic


TEXT = """
format: 1
platform:
  nodes:
    - name: n
      pes: [{name: a, speeds: {dgemm: 1 Gflop/s}, slice: 4ms, load: LOAD}, {name: b, speeds: {dgemm: 1 Gflop/s}}]
  link: {latency: 1us, bandwidth: 1Gbit/s}
application: {name: hpl, kernel: dgemm, parameters: {n: 8, nb: 2}}
configurations: {equal: {partition: [1, 1]}}
""".replace("LOAD", "{trace: {times_s: [0], values: [1], end_s: 60}, rule: turns}")


def test_turns_are_read_and_written_and_need_a_slice(tmp_path):
    path = tmp_path / "s.yaml"
    path.write_text(TEXT)
    read = load_scenario(path)
    assert read.platform.pes[0].takes_turns
    path.write_text(dump_scenario(read))
    assert load_scenario(path).platform.pes[0].takes_turns
    path.write_text(TEXT.replace("slice: 4ms, ", ""))
    with pytest.raises(ScenarioError, match="PE a: slice: its load has the rule turns; say how long"):
        load_scenario(path)
