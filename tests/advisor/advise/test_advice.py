"""Advice of every kind: within 1 % of the best candidate, above its bound, within memory, on the Pareto front."""

import json
from dataclasses import replace

import numpy as np
import pytest

from advisor import advice_of, explain, recommend
from advisor.advise.advice import read_advice
from advisor.advise.objectives import statistic
from advisor.advise.pareto import front, pareto_fronts
from advisor.advise.strategies import most_processes, usual_vary
from simulator import Application, LinkModel, ScenarioError, documents
from simulator.platform.nodes import Node, Platform
from tests.support.platforms import band, pe, scenario, trace

NAMES = {"equal", "peak", "constant", "fastest-pe", "fastest-kind", "one-per-pe"}
ALLOCATIONS = {"speed-ratio"}
LINK = LinkModel.from_latency(1e-5, 1e9)


def drawn(number, *, application="matmul", parameters=None):
    """A scenario of two or three PEs, in bands and under loads that a seed decides."""
    generator = np.random.default_rng(number)
    pes = []
    for place in range(int(generator.integers(2, 4))):
        speed = 1e8 * generator.uniform(1, 8)
        load = trace(np.arange(40) * 0.05, generator.integers(0, 3, 40), 2.0) if generator.random() < 0.5 else None
        one = pe(f"p{place}", band(0.9 * speed, speed, 1.05 * speed), load, str(generator.choice(["fair", "idle"])))
        if load is not None and one.load.rule == "idle":
            one = replace(one, load=replace(one.load, trace=trace(np.arange(40) * 0.05, load.values > 1, 2.0)))
        pes.append(replace(one, cores=int(generator.integers(1, 3))))
    made = scenario(pes, int(generator.integers(60, 160)), link=LINK, replications=12, seed=number)
    made = replace(made, truths=6)
    return made if parameters is None else replace(made, application=Application(application, "dgemm", parameters))


@pytest.mark.parametrize(
    ("number", "vary", "objective"),
    [
        (0, ("partition",), "p95"),
        (0, ("allocation",), "worst"),
        (0, ("partition", "allocation"), "mean"),
        (1, ("partition", "allocation"), "p95"),
    ],
)
def test_within_one_percent_of_the_best_candidate_and_above_the_bound(number, vary, objective):
    found = recommend(drawn(number), vary=vary, objective=objective, runs=60)
    both = {"functional", "one-per-core", "per-core-by-speed", "fastest-node", "slurm-cyclic"}
    more = {("partition",): {"functional"}, ("allocation",): ALLOCATIONS}.get(vary, both)
    assert set(found.baselines) >= NAMES | more
    assert all(gain.mean >= 0.99 for gain in found.baselines.values())
    values = statistic(found.runs.makespan_s, objective, found.runs.truths)
    best = found.ranking.best
    assert best.value_s <= values.min() * 1.01
    assert best.value_s == values.min() or best.expected_loss <= 0.01
    assert found.configuration.name in found.ties
    assert found.runs.makespan_s.min() >= found.ranking.bound_s
    assert found.ranking.regret == pytest.approx(best.value_s / found.ranking.bound_s - 1)
    assert sum(entry.p_best for entry in found.compared.ranking) == pytest.approx(1)
    assert all(entry.agrees for entry in found.confirmations)
    assert len(found.confirmations) == min(2, len(found.candidates))


def test_advice_for_equal_work_varies_the_allocation():
    pes = tuple(pe(f"p{place}", band(0.9 * speed, speed, speed)) for place, speed in enumerate((4e9, 1e9, 1e9)))
    application = Application("hpl", "dgemm", {"n": 160, "nb": 8})
    made = replace(scenario(pes, 8, link=LINK, replications=12), application=application)
    assert usual_vary(made) == ("allocation",)
    assert most_processes(made, ("allocation",)) == 4
    found = recommend(made, vary=usual_vary(made), runs=60)
    assert all(gain.mean >= 0.99 for gain in found.baselines.values())
    assert {"speed-ratio", "one-per-pe"} <= set(found.baselines)
    assert all(max(one.partition) - min(one.partition) <= 1 for one in found.candidates)
    assert any("gives each process as much as any other" in line for line in found.strategies.left_out)
    assert usual_vary(scenario([pe("a"), pe("b")], 8)) == ("partition",)
    assert usual_vary(scenario([replace(pe("a"), cores=2)], 8)) == ("partition", "allocation")


def test_the_document_ranks_with_chances_and_knows_what_is_certain():
    found = recommend(scenario([pe("a", 2e9), pe("b", 1e9)], 90, link=LINK), runs=60)
    advice = advice_of(scenario([pe("a", 2e9), pe("b", 1e9)], 90), found, top=2)
    document = advice.to_dict()
    assert read_advice(json.loads(json.dumps(document)), "advice.json") == advice
    with pytest.raises(ScenarioError, match="reccomended: unknown key"):
        read_advice(document | {"reccomended": "equal"}, "advice.json")
    assert [entry["p_best"] for entry in document["ranking"]] == [1.0, 0.0]  # nothing is drawn: one run says it all
    assert document["ranking"][0]["name"] == document["recommended"]
    assert (document["placement"], document["evaluations"]) == ([0, 1], found.evaluations)
    entries = {entry["name"]: entry for entry in document["baselines"]}
    assert entries["one-per-pe"]["same_as"] == "equal"
    assert entries["one-per-pe"]["gain_of_recommended"] == entries["equal"]["gain_of_recommended"]
    reasons = {"why", "sensitivity", "explanation"}
    assert reasons.isdisjoint(document)
    asked = explain(scenario([pe("a", 2e9), pe("b", 1e9)], 90), found, most_runs=0)
    assert reasons <= advice_of(scenario([pe("a", 2e9), pe("b", 1e9)], 90), found, explanation=asked).to_dict().keys()
    loaded = recommend(replace(drawn(0), truths=None), replications=1)
    assert all(entry.p_best is None for entry in loaded.compared.ranking)


def test_the_document_says_by_name_who_gets_how_much():
    """Ranks need not stand in the order of the platform's PEs: the faster half, last in the file, gets more."""
    made = scenario([pe(f"p{number}", 1e9 if number < 2 else 3e9) for number in range(4)], 400)
    document = advice_of(made, recommend(made)).to_dict()
    units = {one["pe"]: one["units"] for one in document["processes"]}
    assert [units[f"p{number}"] for number in range(4)] == pytest.approx([50, 50, 150, 150], abs=1)
    named = [document["pes"][place] for place in document["placement"]]
    assert [(one["pe"], one["units"]) for one in document["processes"]] == list(
        zip(named, document["partition"], strict=True)
    )


def test_several_cores_under_load_still_run_one_process_at_full_speed():
    """Two cores and one competitor: `idle` leaves a whole core, so both PEs are alike."""
    busy = replace(pe("b", 1e9, trace([0.0], [1.0], 1.0), "idle"), cores=2)
    found = recommend(scenario([pe("a", 1e9), busy], 100, link=LinkModel.from_latency(1e-9, 1e12)), runs=60)
    assert {c.name: c.partition for c in found.candidates}["equal"] == (50, 50)
    assert found.strategies.also["functional"] == "equal"


def on_nodes(memories, *, n=100):
    pes = [replace(pe(f"p{place}", 1e9), node=f"n{place}") for place in range(len(memories))]
    made = scenario(pes, n, link=LINK)
    nodes = tuple(Node(f"n{place}", memory, 0) for place, memory in enumerate(memories))
    return replace(made, platform=Platform(made.platform.pes, made.platform.network, nodes))


def test_what_memory_does_not_hold_is_left_out():
    """A worker of k rows holds B and its rows of A and C: 8 (n^2 + 2 n k) bytes."""
    made = on_nodes([10**6, 8 * (100**2 + 2 * 100 * 20)])
    found = recommend(made, vary=("partition", "allocation"), runs=60)
    assert found.configuration.partition[1] <= 20
    assert {"equal", "functional"} & set(found.baselines) == set()
    assert "within-memory" in found.baselines
    assert any(
        line.startswith("strategy equal: left out, its processes need 46.9 KiB more")
        for line in found.strategies.left_out
    )
    assert all(made.lacking_bytes(candidate) == 0 for candidate in found.candidates)


def test_no_feasible_partition_says_by_how_much():
    """The master holds three matrices, 240,000 bytes, whatever the partition is."""
    with pytest.raises(ScenarioError, match=r"lacks the least, 39.1 KiB; give the nodes more") as error:
        recommend(on_nodes([200_000, 200_000]))
    assert len(error.value.lines) == 1


def test_a_front_has_all_that_nothing_beats():
    generator = np.random.default_rng(3)
    pairs = generator.integers(0, 12, (60, 2)).astype(float)
    found = front(pairs[:, 0], pairs[:, 1])
    beaten = [any(np.all(other <= one) and np.any(other < one) for other in pairs) for one in pairs]
    assert {tuple(pairs[place]) for place in found} == {
        tuple(one) for one, bad in zip(pairs, beaten, strict=True) if not bad
    }
    assert len({tuple(pairs[place]) for place in found}) == len(found)
    assert list(pairs[found, 0]) == sorted(pairs[found, 0])


def test_the_front_is_exact_over_all_sets_of_pes():
    """Two dear fast PEs and a cheap slow one, messages of no time: both fast ones without it are slower and dearer."""
    pes = [replace(pe(f"fast{i}", 4e9), cost_per_s=10.0) for i in range(2)] + [replace(pe("slow", 1e9), cost_per_s=1.0)]
    made = scenario(pes, 900, link=LinkModel.from_latency(1e-9, 1e15))
    (found,) = pareto_fronts(made, recommend(made))
    work = 2 * 900**3
    expected = [(work / 9e9, 21 * work / 9e9), (work / 5e9, 11 * work / 5e9), (work / 1e9, work / 1e9)]
    for point, (seconds, cost) in zip(found.points, expected, strict=True):
        assert (point.objective_s, point.cost) == (pytest.approx(seconds, rel=0.01), pytest.approx(cost, rel=0.01))
    assert found.points[-1].placement == (2,)
    assert found.considered >= 5


def test_rates_that_are_missing_are_named():
    made = scenario([replace(pe("a"), power_w=100.0), replace(pe("b"), power_w=50.0, cost_per_s=1.0)], 30)
    with pytest.raises(ScenarioError, match="PE a has no cost, others have one"):
        pareto_fronts(made, recommend(made))
    bare = scenario([pe("a")], 30)
    with pytest.raises(ScenarioError, match="no cost and no power of any PE is known"):
        pareto_fronts(bare, recommend(bare))
    energy = scenario([replace(pe("a"), power_w=100.0)], 30)
    (found,) = pareto_fronts(energy, recommend(energy))
    point = documents.to_dict(found)["points"][0]
    assert "cost" not in point
    assert (found.of, point["energy"]) == ("energy", pytest.approx(100 * point["objective_s"]))
