"""Quotas of control groups: by hand in ticks of 1 s, in scenario files, and beside the availability that they leave."""

from dataclasses import replace

import numpy as np
import pytest

from simulator import Quota, load_scenario, run
from simulator.base.errors import ScenarioError
from simulator.engines import process
from simulator.engines.compiled import run as compiled
from simulator.models.load import LoadTrace
from simulator.models.speed import SpeedBand
from simulator.platform.nodes import PE, Load, Platform
from simulator.programs.configuration import Configuration
from simulator.programs.program import Barrier, Compute, Delay, Program, Recv, Send
from simulator.scenario_file.load import dump_scenario
from simulator.scenario_file.scenario import Application, Scenario
from simulator.scenario_file.truths import Draws, draw
from tests.support.platforms import flat
from tests.support.rules import FREE, TICK, build

QUARTER = Quota(0.25, 20.0)
"""5 ticks of every 20."""


def pe(name, quota=QUARTER, *, node="n", load=None, cores=1):
    return PE(name, node, {"k": flat(1)}, load, cores=cores, quota=quota)


def finish(rows, pes, *, behind=None, **options):
    """When each process ends, if groups have so many ticks of a period of 20 behind them; the same in both engines."""
    made = build(rows, pes=pes, **options)
    places = np.array([behind or [0] * len(pes)]) / 20
    shape = (1, len(pes))
    draws = Draws(np.zeros(shape), np.full(shape, 0.5), quota_places=places)
    found = [engine.run(made, draws, tick_s=TICK).finish_ticks[0][0].tolist() for engine in (process, compiled)]
    assert found[0] == found[1]
    return found[0]


@pytest.mark.parametrize(
    ("work", "behind", "ends"),
    [
        (5, 0, 5),  # what is granted is used at full speed
        (6, 0, 21),
        (100, 0, 19 * 20 + 5),  # twenty periods
        (100, 15, 5 + 18 * 20 + 5),  # the first one ends at tick 5 and grants all
        (100, 18, 2 + 19 * 20 + 3),  # of which two can be used
    ],
)
def test_a_process_computes_what_each_period_grants_and_stands_for_the_rest(work, behind, ends):
    assert finish([[Compute(work, 1.0)]], [pe("a")], behind=[behind]) == [ends]


def test_what_waiting_does_not_use_is_there_later_in_the_period():
    """An availability of a quarter would make 12 + 20 of it."""
    assert finish([[Delay(12.0), Compute(5, 1.0)]], [pe("a")]) == [17]
    assert finish([[Compute(2, 1.0), Delay(12.0), Compute(4, 1.0)]], [pe("a")]) == [21]


@pytest.mark.parametrize(("polls", "ends"), [(False, 17), (True, 25)])
def test_a_process_that_polls_uses_its_quota_while_it_waits(polls, ends):
    """Its message is there at tick 12; who polled has used all five ticks by then."""
    rows = [[Recv(1), Compute(5, 1.0)], [Delay(11.0), Send(0, 0)]]
    assert finish(rows, [pe("a"), pe("b", None, node="m")], network=FREE, polls=polls)[0] == ends


def test_processes_of_a_pe_share_its_quota():
    """Two use two ticks per tick of a PE with two cores, and half a tick each where there is one."""
    rows = [[Compute(10, 1.0)]] * 2
    assert finish(rows, [pe("a", Quota(0.5, 20.0), cores=2)]) == [25, 25]
    assert finish(rows, [pe("a", Quota(0.5, 20.0))]) == [30, 30]


def test_a_group_of_several_pes_has_one_quota():
    """Ten ticks for three PEs that compute, then for two of them; another node's group of that name is another one."""
    shared = Quota(0.5, 20.0, "box")
    pes = [pe("a", shared), pe("b", shared), pe("c", shared), pe("d", shared, node="m")]
    rows = [[Compute(8, 1.0)], [Compute(8, 1.0)], [Compute(3, 1.0)], [Compute(8, 1.0)]]
    assert finish(rows, pes) == [24, 24, 3, 8]


def test_a_program_that_polls_is_refused_where_pes_share_a_quota():
    """Who waits would use up each period's two ticks while the load has the other PE, and neither would ever end."""
    shared, load = Quota(0.5, 4.0, "box"), Load(LoadTrace(np.array([0.0, 2.0]), np.array([1.0, 0.0]), 4.0), "idle")
    rows, pes = [[Recv(1)], [Compute(5, 1.0), Send(0, 0)]], [pe("a", shared), pe("b", shared, load=load)]
    with pytest.raises(ScenarioError, match="PEs a and b share a quota, and the program polls while it waits; give"):
        finish(rows, pes, polls=True)
    assert finish(rows, pes)[1] == 11 + 1  # its message lasts a tick


def test_a_load_leaves_less_of_a_period_but_no_less_of_the_quota():
    """Half of the PE: the five ticks take ten; a load that leaves less than the quota decides alone."""
    half, tenth = (Load(LoadTrace(np.zeros(1), np.array([share]), 1e6), "given") for share in (0.5, 0.1))
    assert finish([[Compute(10, 1.0)]], [pe("a", load=half)]) == [30]
    assert finish([[Compute(10, 1.0)]], [pe("a", load=tenth)]) == [100]


def test_two_in_lockstep_under_unlike_phases_wait_for_each_other():
    """By hand: after 5 ticks each stands until its own period ends, at 20 and at 10; the pair goes on at the later."""
    both = (0, 1)
    rows = [[Compute(5, 1.0), Barrier(both), Compute(5, 1.0), Barrier(both)] for _ in both]
    assert finish(rows, [pe("a"), pe("b", node="m")]) == [25, 25]
    assert finish(rows, [pe("a"), pe("b", node="m")], behind=[0, 10]) == [25, 25]
    three = [[*row, Compute(3, 1.0), Barrier(both)] for row in rows]
    assert finish(three, [pe("a"), pe("b", node="m")]) == [43, 43]
    assert finish(three, [pe("a", Quota(0.4, 20.0)), pe("b", node="m")], behind=[0, 10]) == [33, 33]


def test_a_quota_that_cannot_bind_changes_nothing():
    """To the bit, and nothing is drawn of it."""
    made = build([[Compute(7, 1.0)]], pes=[pe("a", Quota(1.0, 20.0))])
    assert made.platform.quotas == ()
    assert made.deterministic
    assert finish([[Compute(7, 1.0)]], [pe("a", Quota(1.0, 20.0))]) == [7]


def of_run(pes, iterations, work_s, replications=20):
    """Processes that compute and meet, on PEs at a unit per second."""
    everyone = tuple(range(len(pes)))
    row = [Compute(work_s, 1.0), Barrier(everyone)] * iterations
    program = Program((tuple(row),) * len(pes), (0,) * len(pes))
    application = Application.of_program(program, kernel="k")
    configuration = Configuration("c", (1,) * len(pes), everyone)
    return Scenario(Platform(tuple(pes), FREE), application, (configuration,), replications)


def unit_pe(name, quota=None, share=None):
    load = None if share is None else Load(LoadTrace(np.zeros(1), np.array([share]), 60.0), "given")
    return PE(name, "n", {"k": SpeedBand.constant(1.0)}, load, quota=quota)


@pytest.mark.parametrize("engine", ["process", "compiled"])
def test_a_quota_measured_as_availability_and_the_same_stated_take_the_same_time(engine):
    """Availability measured under the quota is divided by it: all is left then."""
    measured = 0.37
    as_load = of_run([unit_pe("a", share=measured)], 4, 3.0)
    stated = of_run([unit_pe("a", Quota(0.37), measured / 0.37)], 4, 3.0)
    one, other = (float(run(made, engine=engine).makespan_s.mean()) for made in (as_load, stated))
    assert other == pytest.approx(one, rel=0.03)


def test_short_computations_under_a_quota_take_less_than_their_share_says():
    """20 ms every 100 ms fit into a quota of 37 ms: what an availability of 0.37 makes 54 ms of stays 20 ms."""
    everyone = (0, 1)
    rows = ((Compute(0.02, 1.0), Barrier(everyone), Delay(0.08)) * 10,) * 2
    pes = [unit_pe("a", Quota(0.37)), unit_pe("b", Quota(0.37))]
    made = of_run(pes, 1, 1.0)
    made = replace(made, application=Application.of_program(Program(rows, (0, 0)), kernel="k"))
    assert np.all(np.abs(run(made).makespan_s - 1.0) < 1e-9)


def test_phases_are_drawn_one_for_each_group_and_shift_nobody():
    box = Quota(0.5, 1.0, "box")
    made = of_run([unit_pe("a", box), unit_pe("b", box), unit_pe("c", Quota(0.5)), unit_pe("d")], 1, 1.0)
    places = draw(made).quota_places
    assert np.array_equal(places[:, 0], places[:, 1])
    assert np.array_equal(np.sort(np.floor(places[:, [0, 2]] * 20), axis=0), np.arange(20)[:, np.newaxis] * [1, 1])
    assert not np.array_equal(places[:, 0], places[:, 2])
    fewer = of_run([unit_pe("c", Quota(0.3))], 1, 1.0)
    assert np.array_equal(draw(fewer).quota_places[:, 0], places[:, 2])
    assert draw(of_run([unit_pe("d")], 1, 1.0)).quota_places is None


def test_quotas_are_read_and_written(tmp_path):
    text = """
format: 1
platform:
  nodes:
    - name: n[1-2]
      pes:
        - {name: "{node}-[0-1]", speeds: {dgemm: 1 Gflop/s}, quota: {cpu: 1.5, period: 50ms, group: box}}
        - {name: "{node}-2", speeds: {dgemm: 1 Gflop/s}, quota: {cpu: 0.37}}
  link: {latency: 1us, bandwidth: 1Gbit/s}
application: {name: hpl, kernel: dgemm, parameters: {n: 8, nb: 2}}
configurations: {equal: {partition: equal}}
"""
    path = tmp_path / "s.yaml"
    path.write_text(text)
    read = load_scenario(path)
    assert [one.quota for one in read.platform.pes] == [Quota(1.5, 0.05, "box")] * 2 + [Quota(0.37)] + [
        Quota(1.5, 0.05, "box")
    ] * 2 + [Quota(0.37)]
    assert [pes for _, pes in read.platform.quotas] == [(0, 1), (2,), (3, 4), (5,)]
    path.write_text(dump_scenario(read))
    assert load_scenario(path).platform.pes == read.platform.pes


def test_what_is_no_quota_is_refused():
    with pytest.raises(ScenarioError, match="quota: cpu: it is 0; give more than 0"):
        Quota(0.0)
    with pytest.raises(ScenarioError, match="PEs a and b share the quota of group box and say unlike ones"):
        Platform((pe("a", Quota(0.5, 1.0, "box")), pe("b", Quota(0.4, 1.0, "box"))), FREE)
    assert Quota("37%", "100ms") == Quota(0.37)
