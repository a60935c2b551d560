"""Software execution graphs: checks, timing formulas, expected counts and times."""

import numpy as np
import pytest
from hypothesis import given, settings

from simulator.base.errors import ScenarioError
from simulator.models import Cost, CostVector, Guess, MemoryTerm
from simulator.programs.graphs.nodes import (
    Branch,
    Call,
    Graph,
    Loop,
    Processing,
    Seg,
    Sequence,
    check,
    expected_time,
    timing_formula,
    total_ruv,
    used_methods,
    visits,
)
from tests.support.graph_bodies import bodies, formula, step

NOTHING = Sequence("", ())


def find_max():
    """Figure 4 of the paper: the maximum of N numbers, which changes with probability P_max."""
    assign = step("assign", store=1)
    arms = ((formula("P_max"), assign), (formula("1 - P_max"), NOTHING))
    test = Branch("if", arms, {"hllc": {"compare": 1}})
    loop = Loop("loop", formula("N"), test, {"hllc": {"increment": 1}})
    return Seg((Graph("find_max", ("N", "P_max"), Sequence("", (assign, loop))),))


COSTS = CostVector(
    "hllc", {name: Cost.exactly(s) for name, s in (("store", 1.0), ("compare", 10.0), ("increment", 100.0))}
)


def test_the_papers_example_prints_as_equation_1():
    assert timing_formula(find_max()) == "t = t(v_assign) + N*(t(v_loop) + t(v_if) + P_max*t(v_assign))"


def test_the_papers_example_counts_and_costs_by_hand():
    values = {"N": np.array([10.0, 20.0]), "P_max": 0.25}
    totals = total_ruv(find_max(), "hllc", values)
    assert totals.operations == ("store", "increment", "compare")
    assert totals.amounts.tolist() == [[3.5, 6.0], [10.0, 20.0], [10.0, 20.0]]
    times = expected_time(find_max(), values, COSTS)
    assert times.s.tolist() == [1103.5, 2206.0]
    assert not times.is_range


def test_a_call_is_the_called_graph_with_its_arguments():
    inner = Graph("inner", ("m",), Loop("loop", formula("m"), step("x", store=1)))
    call = Call("call", "inner", (("m", formula("n + 1")),), {"hllc": {"increment": 1}})
    seg = Seg((Graph("outer", ("n",), Loop("loop", formula("2*n"), call)), inner))
    check(seg)
    assert timing_formula(seg) == "t = 2*n*(t(v_call) + t_inner(n + 1))\nt_inner(m) = m*t(v_x)"
    assert float(expected_time(seg, {"n": 3}, COSTS).s) == 6 * (100 + 4)
    assert float(expected_time(seg, {"m": 3}, COSTS, graph="inner").s) == 3


def test_guesses_and_costs_with_ranges_make_a_range():
    costs = CostVector("dbc", {"flop": Cost(2.0, 1.0, 4.0), "access": Cost.exactly(10.0)})
    ruv = {"dbc": {"flop": 3, "access": Guess(2.0, 1.0, 5.0)}}
    seg = Seg((Graph("g", ("n",), Loop("loop", formula("n"), Processing("x", ruv))),))
    times = expected_time(seg, {"n": 10}, costs)
    assert (float(times.low_s), float(times.s), float(times.high_s)) == (130.0, 260.0, 620.0)
    totals = total_ruv(seg, "dbc", {"n": 10})
    assert totals.low.tolist() == [30.0, 10.0]
    assert totals.high.tolist() == [30.0, 50.0]


def test_memory_costs_follow_the_working_set_of_the_graph_or_the_question():
    memory = MemoryTerm({"load": 2.0}, (2.0**10, 2.0**20), (1.0, 11.0))
    costs = CostVector("icc", {"load": Cost.exactly(1.0)}, memory)
    body = Loop("loop", formula("n"), Processing("x", {"icc": {"load": 1}}))
    seg = Seg((Graph("g", ("n",), body, formula("8*n")),))
    unsaid = Seg((Graph("g", ("n",), body),))
    sizes = np.array([1.0, 128.0, 2.0**12, 2.0**30])
    expected = sizes * (1 + 2 * np.array([1.0, 1.0, 6.0, 11.0]))
    np.testing.assert_allclose(expected_time(seg, {"n": sizes}, costs).s, expected)
    np.testing.assert_allclose(expected_time(unsaid, {"n": sizes}, costs, working_set_bytes=8 * sizes).s, expected)
    np.testing.assert_allclose(expected_time(unsaid, {"n": sizes}, costs).s, 3 * sizes)


def test_a_method_needs_a_ruv_of_every_step():
    seg = Seg((Graph("g", (), Sequence("", (step("x", store=1), Processing("y", {"poc": {}, "hllc": {}})))),))
    assert used_methods(seg) == ("hllc",)
    with pytest.raises(
        ScenarioError,
        match=r"graphs\.g\.body\.0: step x: it has no RUV by poc \(by hllc\); add one, \{\} where it uses nothing",
    ):
        total_ruv(seg, "poc", {})


def test_an_operation_without_a_cost_is_named_with_its_place():
    seg = find_max()
    lacking = CostVector("hllc", {"store": Cost.exactly(1.0)})
    with pytest.raises(
        ScenarioError, match=r"graphs\.find_max\.body\.1: hllc: the resource model has no cost of 'increment'"
    ):
        expected_time(seg, {"N": 1, "P_max": 0}, lacking)


def test_probabilities_must_add_up_at_the_values_too():
    arms = ((formula("p"), step("x", store=1)), (formula("q"), NOTHING))
    seg = Seg((Graph("g", ("p", "q"), Branch("b", arms)),))
    check(seg)
    assert float(visits(seg, {"p": 0.25, "q": 0.75})[0].count) == 0.25
    with pytest.raises(
        ScenarioError,
        match=r"graphs\.g\.body\.0\.arms: the probabilities add up to 0\.75 at p = 0\.25, q = 0\.5; make it 1",
    ):
        visits(seg, {"p": 0.25, "q": 0.5})


def graph_of(body, *parameters, name="g"):
    return Graph(name, parameters, body)


def test_graphs_that_would_not_end_are_refused():
    deep = step("x", store=1)
    for _ in range(45):
        deep = Loop("l", formula("2"), deep)
    with pytest.raises(
        ScenarioError,
        match=r"graphs\.g\.body\.0\.do\.0\.do\.0\.do\.0\.do\.0\.do\.0\.do\.0\.do\.0\.do\.0\.do\.0\.do\.0\.do\.0\.do",
    ):
        check(Seg((graph_of(deep),)))
    twice = [graph_of(Sequence("", (Call("c", f"g{k + 1}"), Call("c", f"g{k + 1}"))), name=f"g{k}") for k in range(30)]
    with pytest.raises(
        ScenarioError, match=r"graphs\.g0: with all calls written out it has more than 100000 nodes; write fewer"
    ):
        check(Seg((*twice, graph_of(NOTHING, name="g30"))))


def by_recursion(node):
    """Expected seconds, straight from what nodes mean."""
    own = sum(COSTS.costs[name].seconds * amount for name, amount in getattr(node, "ruvs", {}).get("hllc", {}).items())
    if isinstance(node, Loop):
        return float(node.count.evaluate({})) * (own + by_recursion(node.body))
    if isinstance(node, Branch):
        return own + sum(float(p.evaluate({})) * by_recursion(arm) for p, arm in node.arms)
    if isinstance(node, Sequence):
        return sum(map(by_recursion, node.parts))
    return own


@settings(max_examples=30, deadline=None)
@given(bodies)
def test_time_is_what_the_nodes_mean_and_agrees_with_the_total_ruv(body):
    seg = Seg((graph_of(body),))
    check(seg)
    found = float(expected_time(seg, {}, COSTS).s)
    assert found == pytest.approx(by_recursion(body))
    totals = total_ruv(seg, "hllc", {})
    assert sum(
        COSTS.costs[name].seconds * float(amount)
        for name, amount in zip(totals.operations, totals.amounts, strict=True)
    ) == pytest.approx(found)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"N": -1, "P_max": 0.5}, "body.1.count: N is -1 at N = -1; make it at least 0"),
        ({"N": 1, "P_max": [0.5, 1.5]}, "probability: P_max is 1.5 at P_max = 1.5; make it a number in [0, 1]"),
        ({"N": 1}, "graph find_max: parameters: P_max missing; given are N"),
    ],
)
def test_values_are_checked_where_they_are_used(values, said):
    with pytest.raises(ScenarioError) as error:
        visits(find_max(), values)
    assert error.value.lines[0].endswith(said)
