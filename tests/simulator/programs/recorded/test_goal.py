"""GOAL's graphs are read in an order that they allow, with waits where something requires a message."""

import re

import numpy as np
import pytest

from simulator import run
from simulator.base.errors import ScenarioError
from simulator.models.network import LinkModel
from simulator.models.speed import SpeedBand
from simulator.platform.networks import Network
from simulator.platform.nodes import PE, Platform
from simulator.programs.configuration import Configuration
from simulator.programs.recorded.expansion import expanded
from simulator.programs.recorded.goal import read_goal
from simulator.programs.recorded.recording import Action
from simulator.scenario_file.scenario import Application, Scenario

TEXT = """num_ranks 2

rank 0 {
l1: calc 1000000 cpu 0
l2: send 1000b to 1 tag 7 cpu 0 nic 0
l3: recv 8b from 1
l4: calc 2000000
l2 requires l1
l4 requires l3
l4 irequires l2
}

rank 1 { // the other
m3: calc 500000
m1: recv 1000b from 0 tag 7
m2: send 8b to 0
m2 requires m1
m3 requires m2
}
"""


def test_a_graph_becomes_what_each_rank_does(tmp_path):
    path = tmp_path / "two.goal"
    path.write_text(TEXT)
    made = read_goal(path)
    compute, send, recv, wait = Action.COMPUTE, Action.POST_SEND, Action.POST_RECV, Action.WAIT
    assert made.first.tolist() == [0, 6, 11]
    assert made.action.tolist() == [compute, send, recv, wait, compute, wait, recv, wait, send, wait, compute]
    assert made.partner[made.partner >= 0].tolist() == [1, 1, 0, 0]
    assert made.tag.tolist() == [0, 7, 0, 0, 0, 0, 7, 0, 0, 0, 0]
    assert made.source[made.action == wait].tolist() == [1, 0, 0, 0]
    assert made.amount[made.action == compute] == pytest.approx([1e-3, 2e-3, 5e-4])
    pes = tuple(PE(f"p{i}", f"n{i}", {"k": SpeedBand.constant(1.0)}) for i in range(2))
    network = Network.uniform(LinkModel.from_latency(1e-3, 1e9))
    program = expanded(made).program
    scenario = Scenario(
        Platform(pes, network), Application.of_program(program, kernel="k"), (Configuration("c", (1, 1)),), 1
    )
    assert run(scenario).makespan_s[0, 0] == pytest.approx(1e-3 + 1e-3 + 1e-6 + 1e-3 + 8e-9 + 2e-3)


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("num_ranks 2", "", "line 3: there is no rank 0; num_ranks says nothing"),
        ("rank 1", "rank 2", "line 13: there is no rank 2; num_ranks says 2"),
        ("from 1", "from -1", "line 6: l3: recv 8b from -1: it is from any source, and who it was is not said"),
        ("to 1", "to 5", "there is no rank 5; name a rank of 0 to 1"),
        ("l4 requires l3", "l4 requires l9", "line 9: l4 requires l9: there is no operation l9 before"),
        ("l3: recv", "l3: get", "line 6: 'l3: get 8b from 1' is neither an operation nor a dependency in GOAL"),
        ("l2 requires l1", "l2 requires l1\nl1 requires l4", "rank 0: its operations wait for each other in a circle"),
    ],
)
def test_what_is_wrong_is_named(tmp_path, old, new, fault):
    path = tmp_path / "two.goal"
    path.write_text(TEXT.replace(old, new, 1))
    with pytest.raises(ScenarioError, match=re.escape(fault)):
        read_goal(path)


def test_requests_stay_few(tmp_path):
    lines = ["num_ranks 2"]
    for rank in range(2):
        verb = "send 8b to 1" if rank == 0 else "recv 8b from 0"
        lines += [f"rank {rank} {{", *(f"l{i}: {verb}" for i in range(50))]
        lines += [*(f"l{i} requires l{i - 1}" for i in range(1, 50)), "}"]
    path = tmp_path / "chain.goal"
    path.write_text("\n".join(lines))
    made = read_goal(path)
    assert made.source.max() == 0
    assert np.count_nonzero(made.action == Action.WAIT) == 100
