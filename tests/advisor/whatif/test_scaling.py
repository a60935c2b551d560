"""Strong and weak scaling: steps, copies, the growing problem, speed-up against a known truth, and bad input."""

import re

import numpy as np
import pytest

from advisor.whatif.scaling import plan_scaling, read_nodes, scaling_of
from simulator.base.errors import ScenarioError
from simulator.experiments.sweep import sweep
from tests.support.command_line import ROOT
from tests.support.made_up_sweeps import swept_of

TUTORIAL = ROOT / "scenarios" / "tutorial"
ALIKE = """format: 1
platform:
  nodes:
    - {name: "n[1-4]", pes: [{cores: 2, speeds: {dgemm: 2 Gflop/s}}]}
  network: {topology: NETWORK, link: {latency: 1ns, bandwidth: 10000Gbit/s}}
application: {name: APPLICATION, kernel: dgemm, parameters: PARAMETERS}
configurations: {mine: {partition: equal}}
replications: 1
"""


def file_of(folder, *, network="star", application="ep", parameters="{samples: 8000000}"):
    text = ALIKE.replace("NETWORK", network).replace("APPLICATION", application).replace("PARAMETERS", parameters)
    path = folder / "alike.yaml"
    path.write_text(text)
    return path


def found_of(path, kind, nodes, **asked):
    plan = plan_scaling(path, kind, nodes, **asked)
    return scaling_of(sweep(plan.plan, None), plan)


def test_work_that_nobody_waits_for_scales_perfectly(tmp_path):
    strong = found_of(file_of(tmp_path), "strong", (1, 2, 4, 8))
    assert [one.step.nodes for one in strong.points] == [1, 2, 4, 8]
    assert [one.speed_up.mean for one in strong.points] == pytest.approx([1, 2, 4, 8], rel=0.01)
    assert [one.efficiency.mean for one in strong.points] == pytest.approx([1, 1, 1, 1], rel=0.01)
    assert strong.points[3].step.which == "n1, n2, n3 and n4 and 4 copies of them in order"
    assert any("copies of its own" in line for line in strong.warnings)
    weak = found_of(file_of(tmp_path), "weak", (1, 2, 8))
    assert [one.step.size for one in weak.points] == [8_000_000, 16_000_000, 64_000_000]
    assert [one.makespan_s.mean for one in weak.points] == pytest.approx([weak.points[0].makespan_s.mean] * 3, rel=0.01)
    assert [one.efficiency.mean for one in weak.points] == pytest.approx([1, 1, 1], rel=0.01)


def test_copies_of_the_only_node_say_what_joins_them_unless_the_scenario_does(tmp_path):
    path = file_of(tmp_path)
    path.write_text(path.read_text().replace("n[1-4]", "n1"))
    said = "messages between copies take platform.link"
    assert not [line for line in plan_scaling(path, "strong", (1, 2)).notes if said in line]
    path.write_text(re.sub(r"network: .topology: star, (link: {.*})}", r"\1", path.read_text()))
    assert [line for line in plan_scaling(path, "strong", (1, 2)).notes if said in line]


def test_the_problem_grows_by_its_volume_and_says_what_it_came_to(tmp_path):
    path = file_of(tmp_path, application="matmul", parameters="{n: 1000}")
    found = found_of(path, "weak", (1, 2, 4))
    assert found.parameter == "n"
    assert [one.step.size for one in found.points] == [1000, 1260, 1587]  # cube roots of 2 and 4
    assert [one.step.work for one in found.points] == pytest.approx([1, 2, 4], rel=0.002)
    assert "(n = 1587 in place of 1000)" in found.sentence


def test_unequal_nodes_are_measured_by_what_they_can_do():
    found = found_of(TUTORIAL / "cluster.yaml", "strong", (8, 32), advise=False)
    assert found.points[1].step.speed == pytest.approx((8 * 4 * 4 + 24) / (8 * 4 * 4))
    assert found.points[1].configuration == "by-speed"


def test_advised_steps_name_what_is_advised(tmp_path):
    found = found_of(file_of(tmp_path), "strong", (1, 2), advise=True)
    assert found.question == "advised"
    assert all(one.advice is not None for one in found.points)


def test_intervals_are_of_paired_draws():
    plan = plan_scaling("three-pes", "strong", (1, 2), replications=40)
    generator = np.random.default_rng(0)
    common = 1 + 0.2 * generator.random(40)
    took = scaling_of(swept_of(plan.plan, lambda point, _: common / (1 + point)), plan)
    speed_up = took.points[1].speed_up
    assert speed_up.mean == pytest.approx(2)
    assert speed_up.high - speed_up.low < 1e-6  # what all share does not count


def test_a_step_that_fails_does_not_touch_the_others(tmp_path):
    path = file_of(tmp_path, application="matmul", parameters="{n: 5}")
    found = found_of(path, "strong", (1, 2, 4))
    assert found.points[0].error is None
    plan = plan_scaling(path, "strong", (1, 2))
    lost = scaling_of(swept_of(plan.plan, lambda *_: np.ones(1), failed={1}), plan)
    assert lost.failed == 1
    assert lost.points[1].error is not None
    assert lost.sentence == "No two numbers of nodes can be compared."


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("0", "'0' is no number of nodes"),
        ("5000", "'5000' is no number of nodes"),
        ("2,1,2", "2 is given twice"),
        ("1,", "--nodes: '1,' has an empty value"),
        ("4..1", "holds no value"),
    ],
)
def test_numbers_of_nodes_that_are_none(text, said):
    with pytest.raises(ScenarioError, match="--nodes") as fault:
        read_nodes(text)
    assert said in fault.value.lines[0]


def test_more_nodes_than_a_network_can_be_copied_to(tmp_path):
    path = file_of(tmp_path, network="torus, shape: [2, 2]")
    assert [one.step.nodes for one in found_of(path, "strong", (1, 2, 4)).points] == [1, 2, 4]
    with pytest.raises(ScenarioError, match="it joins 4 of its nodes, and 8 are asked for; a torus has"):
        plan_scaling(path, "strong", (1, 8))


def test_what_is_no_scaling_is_refused():
    with pytest.raises(ScenarioError, match="'wide' is unknown; take strong or weak"):
        plan_scaling("two-cores", "wide", (1, 2))
    with pytest.raises(ScenarioError, match="which parameter of seg makes its problem larger is not known"):
        plan_scaling("integration-phases", "weak", (1, 2))
