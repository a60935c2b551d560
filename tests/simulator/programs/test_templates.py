"""Parallel templates: makespans by hand, the same graph on other hardware, and what is exact about it."""

import numpy as np
import pytest

from simulator import run
from simulator.base.errors import ScenarioError
from simulator.base.formula import parse
from simulator.models import Cost, CostVector, HardwareModel
from simulator.models.network import LinkModel
from simulator.platform.nodes import PE, Platform
from simulator.programs.assembly import assemble
from simulator.programs.columns import Kind
from simulator.programs.configuration import Configuration
from simulator.programs.graphs.nodes import Graph, Loop, Processing, Seg, expected_time
from simulator.programs.graphs.work import Asked, make_seg_work
from simulator.scenario_file.scenario import Application, Scenario, with_derived_speeds

LATENCY_S, BANDWIDTH = 1e-4, 1e6
SWIFT, SLOW = (
    HardwareModel(name, {"hllc": CostVector("hllc", {"x": Cost.exactly(seconds)})})
    for name, seconds in (("swift", 1e-3), ("slow", 2e-3))
)


def message_s(size_bytes):
    return LATENCY_S + size_bytes / BANDWIDTH


def graph(count="n", *, parameters=("n",)):
    """A step of one x, done so many times."""
    loop = Loop("loop", parse(count, constant=True), Processing("step", {"hllc": {"x": 1}}))
    return Seg((Graph("kernel", parameters, loop),))


def scenario(asked, *configurations, resources=(SWIFT,) * 4, seg=None):
    pes = tuple(PE(f"pe{index}", "node", resource=resource) for index, resource in enumerate(resources))
    work = make_seg_work(seg or graph(), asked, _unlike(resources))
    platform = Platform.uniform(pes, LinkModel.from_latency(LATENCY_S, BANDWIDTH))
    platform = with_derived_speeds(platform, "seg", work)
    return Scenario(platform, Application("seg", "seg", dict(asked.parameters), prepared=work), configurations, 1)


def _unlike(resources):
    return list({id(resource): resource for resource in resources}.values())


def makespan_s(asked, partition, **more):
    runs = run(scenario(asked, Configuration.one_each("c", partition), **more), engine="process")
    return float(runs.makespan_s[0, 0])


OWN = {"n": "units"}
BOTH = {"n": "units + partner"}
GRID = message_s(40) + message_s(24)

BY_HAND = {
    # three phases of the slowest, each with an all-reduce between two
    "multiphase": (
        Asked("multiphase", "10", {}, "3", {"phase": ("kernel", OWN)}, {"combine": "8"}),
        (6, 4),
        (SWIFT, SLOW),
        3 * (8e-3 + message_s(8)),
    ),
    # the iteration's number as a parameter: 0, 1 and 2 times a unit
    "iterations": (
        Asked("multiphase", "8", {}, "3", {"phase": ("kernel", {"n": "units*iteration"})}, {"combine": "8*iteration"}),
        (4, 4),
        (SWIFT, SWIFT),
        12e-3 + message_s(0) + message_s(8) + message_s(16),
    ),
    "butterfly of two": (
        Asked(
            "butterfly", "8", {}, "1", {"local": ("kernel", OWN), "merge": ("kernel", BOTH)}, {"exchange": "8*units"}
        ),
        (4, 4),
        (SWIFT, SWIFT),
        4e-3 + message_s(32) + 8e-3,
    ),
    # the third one's keys go to the first, which exchanges twice as many and merges 8 with 4
    "butterfly of three": (
        Asked(
            "butterfly", "12", {}, "1", {"local": ("kernel", OWN), "merge": ("kernel", BOTH)}, {"exchange": "8*units"}
        ),
        (4, 4, 4),
        (SWIFT,) * 3,
        4e-3 + message_s(32) + 8e-3 + message_s(64) + 12e-3 + message_s(32),
    ),
    "butterfly of four": (
        Asked("butterfly", "16", {}, "1", {"merge": ("kernel", BOTH)}, {"exchange": "8*units"}),
        (4, 4, 4, 4),
        (SWIFT,) * 4,
        2 * (message_s(32) + 8e-3),
    ),
    "row_column_broadcast": (
        Asked(
            "row_column_broadcast",
            "16",
            {},
            "2",
            {"step": ("kernel", OWN)},
            {"row": "10*units", "column": "24"},
            grid_rows=2,
        ),
        (4, 4, 4, 4),
        (SWIFT,) * 4,
        2 * (GRID + 4e-3),
    ),
    # the master hands out, computes its own, collects; prepare and finish are of all 8 units
    "master_worker": (
        Asked(
            "master_worker",
            "8",
            {},
            "1",
            dict.fromkeys(("work", "prepare", "finish"), ("kernel", OWN)),
            {"input": "100*units", "result": "10*units"},
        ),
        (4, 4),
        (SWIFT, SWIFT),
        8e-3 + message_s(400) + 4e-3 + message_s(40) + 8e-3,
    ),
    "master without units": (
        Asked("master_worker", "8", {}, "2", {"work": ("kernel", OWN)}, {"input": "100*units", "result": "0"}),
        (0, 8),
        (SWIFT, SLOW),
        2 * (message_s(800) + 16e-3),
    ),
    "stencil": (
        Asked("stencil", "8", {}, "3", {"step": ("kernel", OWN)}, {"halo": "48"}),
        (4, 4),
        (SWIFT, SWIFT),
        3 * (2 * message_s(48) + 4e-3),
    ),
}


@pytest.mark.parametrize("name", BY_HAND)
def test_makespans_by_hand(name):
    asked, partition, resources, expected = BY_HAND[name]
    assert makespan_s(asked, partition, resources=resources) == pytest.approx(expected, rel=1e-9)


def test_times_are_those_of_the_resource_models_whatever_the_graph_is():
    """Not linear in units, on unlike PEs: the engines' ticks are the resource models' seconds."""
    seg = graph("n*log2(n + 1) + 17*sqrt(n)")
    asked = Asked("multiphase", "1000", {}, "1", {"phase": ("kernel", OWN)}, {"combine": "0"})
    partition = (7, 900, 93, 0)
    one = scenario(asked, Configuration.one_each("c", partition), resources=(SWIFT, SLOW, SWIFT, SLOW), seg=seg)
    runs = run(one, engine="process")
    expected = [
        float(expected_time(seg, {"n": units}, resource.vector("hllc")).s)
        for units, resource in zip(partition[:3], (SWIFT, SLOW, SWIFT), strict=True)
    ]
    assert float(runs.makespan_s[0, 0]) == pytest.approx(max(expected), rel=1e-11)
    busy = [spent["busy_s"] for spent in runs.breakdown("c")]
    assert busy[:3] == pytest.approx(expected, rel=1e-11)
    assert busy[3] == 0


def test_steps_that_depend_on_the_number_of_processes_say_so():
    messages = {"combine": "0"}
    alone = make_seg_work(graph(), Asked("multiphase", "10", {}, "1", {"phase": ("kernel", OWN)}, messages), [SWIFT])
    spread = {"phase": ("kernel", {"n": "units*P"})}
    varied = make_seg_work(graph(), Asked("multiphase", "10", {}, "1", spread, messages), [SWIFT])
    assert not alone.varies_with_processes
    assert varied.varies_with_processes
    assert alone.compute(5)(4).volume == 4
    assert varied.compute(6)(4).volume == pytest.approx(3 * varied.compute(2)(4).volume)


def test_a_step_that_takes_no_time_at_all_is_refused():
    free = HardwareModel("free", {"hllc": CostVector("hllc", {"x": Cost.exactly(0.0)})})
    asked = Asked("multiphase", "10", {}, "1", {"phase": ("kernel", OWN)}, {"combine": "0"})
    with pytest.raises(ScenarioError, match="resource_model: hllc: 10 units take 0 s on free; make it a time above 0"):
        scenario(asked, resources=(free,))
    perhaps = HardwareModel("perhaps", {"hllc": CostVector("hllc", {"x": Cost(1.0, 0.0, 2.0)})})
    with pytest.raises(
        ScenarioError, match="resource_model: hllc: 10 units take 0 s at least on perhaps; make it a time above 0"
    ):
        scenario(asked, resources=(perhaps,))
    gains = HardwareModel("gains", {"hllc": CostVector("hllc", {"x": Cost.exactly(-1.0)})})
    with pytest.raises(ScenarioError, match="graph kernel: hllc: it takes -10 s; make it a time of at least 0"):
        scenario(asked, resources=(gains,))


def test_other_parameters_make_another_graph_and_other_speeds():
    """What explanations and searches over the problem size ask: nothing of the old size may stay."""
    asked = Asked("multiphase", "n", {"n": 10}, "1", {"phase": ("kernel", {"n": "units*n"})}, {"combine": "0"})
    one = scenario(asked, Configuration.one_each("c", (20,)), resources=(SLOW,))
    other = one.with_parameters({"n": 20})
    assert (one.application.work.units, other.application.work.units) == (10, 20)
    assert float(other.platform.pes[0].speed_of("seg").speed(20)) == pytest.approx(20 / (400 * 2e-3))
    assert float(run(other, engine="process").makespan_s[0, 0]) == pytest.approx(400 * 2e-3)


def test_one_partition_on_pes_that_take_turns_to_be_fast():
    """Two steps of unlike operations: neither PE is the faster one, so no volume suits both."""
    loops = [
        Graph(name, ("n",), Loop("loop", parse("n"), Processing(name, {"hllc": {name: 1}}))) for name in ("x", "y")
    ]
    costs = [{"x": 1e-3, "y": 9e-3}, {"x": 4e-3, "y": 2e-3}]
    pair = [
        HardwareModel(str(k), {"hllc": CostVector("hllc", {name: Cost.exactly(s) for name, s in own.items()})})
        for k, own in enumerate(costs)
    ]
    asked = Asked("butterfly", "10", {}, "1", {"local": ("x", OWN), "merge": ("y", OWN)}, {"exchange": "8"})
    placements = [Configuration("a", (5, 5), (0, 1)), Configuration("b", (5, 5), (1, 0))]
    one = scenario(asked, *placements, resources=pair, seg=Seg(tuple(loops)))
    for engine in ("process", "compiled"):
        runs = run(one, engine=engine)
        assert runs.makespan_s[:, 0].tolist() == pytest.approx([20e-3 + message_s(8) + 45e-3] * 2)
        assert [spent["busy_s"] for spent in runs.breakdown("a")] == pytest.approx([50e-3, 30e-3])


def messages(asked, partition):
    """Sender and receiver of every message, in order by process."""
    one = scenario(asked, resources=(SWIFT,) * len(partition))
    columns = assemble(one.program(Configuration.one_each("c", partition)))
    sends = np.isin(columns.kind, (Kind.SEND, Kind.EXCHANGE)) & (columns.partner >= 0)
    return list(zip(columns.process[sends].tolist(), columns.partner[sends].tolist(), strict=True))


def test_halos_go_down_and_up_the_chain_past_those_without_units():
    asked = Asked("stencil", "9", {}, "1", {"step": ("kernel", OWN)}, {"halo": "48"})
    assert messages(asked, (3, 0, 3, 3)) == [(0, 2), (2, 3), (2, 0), (3, 2)]
