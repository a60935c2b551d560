from dataclasses import replace

import numpy as np
import pytest

from advisor import explain, recommend
from advisor.advise import changes
from advisor.advise.explanation.neighbours import others
from advisor.advise.explanation.questions import Questions
from advisor.advise.explanation.reasons import reasons
from advisor.advise.explanation.sensitivity import sensitivities
from advisor.advise.spending import OutOfBudgetError
from simulator import LinkModel, SpeedBand, documents
from simulator.platform.nodes import Node, Platform
from simulator.programs.configuration import Configuration
from tests.support.advised import advised_as
from tests.support.platforms import band, pe, scenario, trace

N = 600
WORK_S = 1.0
SPEED = 2 * N**3 / WORK_S
"""Of a PE that multiplies two matrices of order N in a second."""


def two(*, latency_s=1e-9, load=None, second=SPEED, replications=1):
    pes = [pe("a", SPEED), pe("b", second, load)]
    link = LinkModel.from_latency(latency_s, 1e30)
    return scenario(pes, N, link=link, replications=replications, seed=3)


def split(made, *partition):
    return advised_as(made, Configuration.one_each("advised", partition))


def asked(made, *partition, limit=100_000):
    """Questions about it, where only the partition varies."""
    given = replace(split(made, *partition), varied=("partition",))
    return Questions(made, given, most_runs=limit)


def test_the_slower_half_limits_and_is_waited_for():
    """Equal halves, b half as fast: b computes for WORK_S, a waits for the other half of that."""
    made = two(second=SPEED / 2)
    why = reasons(asked(made, 300, 300))
    assert [(limit.pe, limit.computes_last) for limit in why.limits] == [("b", 1.0), ("a", 0.0)]
    assert why.limits[0].path_share == pytest.approx(1, abs=1e-6)
    assert (why.waits[0].pe, why.waits[0].waits_for) == ("a", "b")
    assert why.waits[0].seconds == pytest.approx(WORK_S / 2, rel=1e-6)
    assert why.computing == pytest.approx(0.75, rel=1e-6)  # 0.5 and 1 of two seconds


def test_what_messages_and_load_cost():
    """Two messages on the path: 2 L + WORK_S / 2; b under a load of 1 takes WORK_S for its half."""
    made = two(latency_s=0.1)
    why = reasons(asked(made, 300, 300))
    assert {cost.of: cost.share for cost in why.costs} == {"messages": pytest.approx(0.2 / 0.7, rel=1e-6)}
    assert why.path_messages == pytest.approx(0.2 / 0.7, rel=1e-6)
    loaded = two(load=trace([0], [1], 1))
    costs = {cost.of: cost for cost in reasons(asked(loaded, 400, 200)).costs}
    assert costs["load"].share == pytest.approx(0, abs=1e-6)  # a limits still
    assert costs["load"].divided_anew == pytest.approx(1 - 0.5 / (2 / 3), rel=2e-3)


def test_sensitivity_of_a_balanced_partition_to_one_speed():
    """Halves of WORK_S: b a tenth slower takes 1 / 0.9, the best 2 / 1.9; a tenth faster nothing, against 2 / 2.1."""
    made = two()
    found, missing = sensitivities(asked(made, 300, 300))
    assert missing == ()
    effects = {one.parameter: one.effects for one in found}["speed of a (and 1 alike)"]
    assert [effect.makespan for effect in effects] == [pytest.approx(1 / 0.9 - 1), pytest.approx(1 / 1.1 - 1)]
    assert [effect.regret for effect in effects] == [pytest.approx(0, abs=1e-6)] * 2
    made = two(second=SPEED * 1.0001)  # kinds of their own
    found, _ = sensitivities(asked(made, 300, 300))
    slower, faster = {one.parameter: one.effects for one in found}["speed of b"]
    assert slower.makespan == pytest.approx(1 / 0.9 - 1, abs=1e-3)
    assert slower.regret == pytest.approx((1 / 0.9) / (2 / 1.9) - 1, abs=3e-3)
    assert faster.makespan == pytest.approx(0, abs=1e-3)
    assert faster.regret == pytest.approx(2.1 / 2 - 1, abs=3e-3)
    assert [one.parameter for one in found][-1].startswith("link")


def test_speeds_as_at_their_best_size_and_memory_scaled():
    falling = SpeedBand(np.array([1e3, 1e6]), *(np.array([2e9, 1e9]) * edge for edge in (0.9, 1.0, 1.1)))
    best = changes.at_best_size(scenario([pe("a", falling)], N)).platform.pes[0].speed_of("dgemm")
    assert (best.low.tolist(), best.mid.tolist(), best.high.tolist()) == ([1.8e9], [2e9], [2.2e9])
    doubled = changes.with_memory(with_memory((2.0, 3.0)), capacity=2.0).platform.nodes
    assert [node.memory_bytes for node in doubled] == [8 * N * N * 4, 8 * N * N * 6]
    unknown = replace(with_memory((2.0, 3.0)).platform.nodes[0], memory_bytes=None)
    made = with_memory((2.0, 3.0))
    made = replace(made, platform=replace(made.platform, nodes=(unknown, made.platform.nodes[1])))
    assert changes.with_memory(made, capacity=2.0).platform.nodes[0].memory_bytes is None


def with_memory(memories, **options):
    """Two nodes of one PE each; bytes of memory in matrices."""
    made = two()
    pes = [replace(one, node=name) for one, name in zip(made.platform.pes, "AB", strict=True)]
    nodes = [
        Node(name, memory_bytes=int(8 * N * N * size), **options) for name, size in zip("AB", memories, strict=True)
    ]
    return replace(made, platform=Platform(tuple(pes), made.platform.network, tuple(nodes)))


def test_what_paging_costs():
    """a needs three matrices and has less, so it pages, whatever b does; without, halves of WORK_S."""
    made = with_memory((2.5, 3.0))
    now_s = float(split(made, 300, 300).runs.makespan_s[0, 0])
    costs = {cost.of: cost for cost in reasons(asked(made, 300, 300)).costs}
    assert costs["paging"].makespan_s == pytest.approx(WORK_S / 2, rel=1e-6)
    assert costs["paging"].share == pytest.approx(1 - WORK_S / 2 / now_s)
    assert now_s > 1.1 * WORK_S / 2


def test_what_memory_does_not_hold_is_not_proposed():
    """b holds its matrix and half of its rows, not two thirds of them."""
    tight = with_memory((3.1, 1.5), swap_bytes=0)
    assert explain(tight, split(tight, 500, 100)).recommendation.configuration.partition[1] <= 150


def fluctuating():
    load = trace(np.arange(20) * 0.1, 1 + np.arange(20) % 2, 2.0)
    return scenario([pe("a", SPEED), pe("b", band(0.9 * SPEED, SPEED, SPEED), load)], N, replications=5, seed=5)


@pytest.mark.slow
def test_same_seed_same_explanation_and_runs_are_counted():
    made = fluctuating()
    first, second = (explain(made, split(made, 400, 200), most_runs=2000) for _ in range(2))
    assert documents.to_dict(first) == documents.to_dict(second)
    assert first.effort.simulated_runs > 500
    assert first.effort.replications == 5


def test_what_there_are_no_runs_for_is_named():
    made = fluctuating()
    own = recommend(made, confirm=0)
    found = explain(made, own, most_runs=200)
    assert found.effort.left_out
    nothing = explain(made, own, most_runs=0)
    assert (nothing.why, nothing.effort.simulated_runs) == (None, 0)
    with pytest.raises(OutOfBudgetError):
        others(asked(made, 400, 200, limit=0))


def test_a_partition_that_can_be_bettered_is_told():
    made = two()
    found = explain(made, split(made, 400, 200))
    assert found.effort.search_regret == pytest.approx(0, abs=1e-3)
    assert found.effort.adopted_instead_of == "advised"
    assert found.effort.adopted_gain == pytest.approx(1 / 3, rel=0.01)
    assert found.recommendation.configuration.partition == (300, 300)
