"""Domains and uses from visits: made-up machines of known laws are found again, also where nobody loses anything."""

import json
from functools import cache
from itertools import product

import numpy as np
import pytest

from simulator import ScenarioError
from simulator.calibration import predict_neighbours, read_neighbours, replay_neighbours, save_neighbours
from simulator.models.neighbours_file import NeighboursModel, fit_neighbours, read_visits, visits_table
from simulator.models.neighbours_fit import Computation, Proposed, Together
from tests.support.made_up_machine import ALONE, CACHED, NOTHING, STREAM, ratio, visits

L3 = [("L3", 3.2e7)]


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    @cache
    def fit(**more):
        path = tmp_path_factory.mktemp("table") / "visits.csv"
        path.write_text(visits(**more))
        return replay_neighbours(path, caches=L3)

    return fit


def errors(model, count, **law):
    """Of all pairs, or triples with two alike: most were never in the table."""
    return np.array(
        [
            abs(1 / model.kept(one, [other] * count) / ratio(one, (other,) * count, **law) - 1)
            for one, other in product(ALONE, ALONE)
        ]
    )


def test_a_machine_with_a_cache_a_channel_and_a_clock_is_found_again(fitted):
    model = fitted(noise=0.005)
    laws = {domain.kind: domain.law for domain in model.sharing}
    assert sorted(laws) == ["cache", "clock", "memory"]
    assert laws["clock"].shares == pytest.approx((1, 0.97, 0.95, 0.93), abs=0.006)
    assert laws["memory"].capacity == pytest.approx(20e9, rel=0.05)
    assert laws["memory"].lone == pytest.approx(12e9, rel=0.001)
    assert laws["cache"].capacity == 3.2e7
    for count in (1, 2):
        found = errors(model, count)
        assert found.mean() < 0.01
        assert found.max() < 0.10
    busy = model.held_out
    assert busy["model_mean"] < 0.5 * busy["no_interaction_mean"]


@pytest.mark.parametrize("seed", range(2))
def test_where_nobody_loses_anything_there_is_no_domain(fitted, seed):
    """Two cores, scatter as of a busy machine: the honest answer is up to which effect nothing was seen."""
    model = fitted(cores=2, noise=0.03, seed=seed, **NOTHING)
    assert model.domains == ()
    assert all(0.02 <= effect < 0.25 for effect in model.beyond.values())
    assert sorted(model.beyond) == ["L3", "clock", "memory"]
    assert all(any(line.startswith(f"{name}: no domain") for line in model.warnings) for name in model.beyond)
    assert model.kept(STREAM, [STREAM]) == 1


@pytest.mark.parametrize(
    ("law", "kinds"),
    [
        ({"cache": 1e15, "clock": (1,)}, ["memory"]),
        ({"capacity": 1e15, "clock": (1,)}, ["cache"]),
        ({"capacity": 1e15, "cache": 1e15, "clock": (1, 0.9, 0.8, 0.7)}, ["clock"]),
    ],
)
def test_only_what_is_shared_becomes_a_domain(fitted, law, kinds):
    model = fitted(noise=0.02, passes=5, **law)
    assert [domain["kind"] for domain in model.domains] == kinds
    assert errors(model, 1, **law).mean() < 0.02


def test_a_reported_capacity_that_is_another_machines(tmp_path):
    """The cache holds 32 MB; the system reports 128 MB."""
    path = tmp_path / "visits.csv"
    path.write_text(visits(noise=0.005, capacity=1e15, clock=(1,)))
    model = replay_neighbours(path, caches=[("L3", 1.28e8)])
    assert [domain["capacity"] for domain in model.domains] == ["32 MB"]
    assert any("25% of the reported capacity" in line for line in model.warnings)


def compute(pes, seconds):
    one = Computation("integration", 2e5)
    return [Together(one, (one,) * (len(pes) - 1), 1.0, seconds, number, pes) for number in range(3)]


def test_siblings_that_the_system_does_not_tell():
    """PEs 0 and 2 are threads of one core: what a virtual machine may not say."""
    pairs = [(a, b) for a in range(4) for b in range(a + 1, 4)]
    seen = [visit for pair in pairs for visit in compute(pair, 1.6 if pair == (0, 2) else 1.0)]
    model = fit_neighbours(seen, [Proposed("clock", "clock", (0, 1, 2, 3))], pe_count=4)
    assert NeighboursModel.of(model.to_dict(), "m").sharing == model.sharing
    core, one = model.sharing[0], ("integration", 2e5)
    assert (core.kind, core.pes, core.law.shares) == ("core", (0, 2), (1.0, 1 / 1.6))
    assert any("PEs 0 and 2 share a core" in line for line in model.warnings)
    assert model.kept(one, [one], pes=[2, 0]) == pytest.approx(1 / 1.6)
    assert model.kept(one, [one], pes=[0, 1]) == 1


def test_two_memories_are_two_domains():
    """PEs 0, 1 and 2, 3: who is on the other memory takes nothing."""
    one = Computation("triad", 3e7)
    near = [Together(one, (one,), 0.02, 0.03, k, (0, 1)) for k in range(3)]
    far = [Together(one, (one,), 0.02, 0.02, k, (0, 2)) for k in range(3)]
    proposed = [Proposed("memory", "memory", pes) for pes in ((0, 1), (2, 3))]
    model = fit_neighbours([*near, *far], proposed, pe_count=4)
    assert [domain.pes for domain in model.sharing] == [(0, 1), (2, 3)]
    assert [(entry["kind"], entry["each"]) for entry in model.domains] == [("memory", 2)]
    assert NeighboursModel.of(model.to_dict(), "m").sharing == model.sharing
    assert 1 / model.kept(one, [one], pes=[3, 2]) == pytest.approx(1.5, rel=0.03)
    assert model.kept(one, [one], pes=[1, 2]) == 1


def test_a_file_says_it_all_and_gives_the_same_answers(fitted, tmp_path):
    model = fitted(noise=0.005)
    save_neighbours(model, tmp_path / "m.json")
    again = read_neighbours(tmp_path / "m.json")
    assert again.domains == model.domains
    assert again.uses == model.uses
    for one, other in product(ALONE, ALONE):
        assert again.kept(one, [other]) == pytest.approx(model.kept(one, [other]), rel=1e-3)
    assert model.together_share(*STREAM, 3) == model.kept(STREAM, [STREAM, STREAM])
    document = json.loads((tmp_path / "m.json").read_text())
    assert {entry["kind"] for entry in document["domains"]} == {"cache", "memory", "clock"}
    (tmp_path / "at.csv").write_text("subject,size_elements,beside\ntriad,3e7,stencil:4e7\nown,4e6,\n")
    rows = predict_neighbours(tmp_path / "m.json", tmp_path / "at.csv")
    assert rows[0]["ratio"] == pytest.approx(ratio(STREAM, (("stencil", 4e7),)), rel=0.05)
    assert rows[1]["ratio"] == 1


def test_sizes_between_those_measured_lie_between(fitted):
    model = fitted(noise=0.005)
    shares = [model.kept(("sort", size), [CACHED]) for size in (1e5, 4e5, 1.6e6, 4e6)]
    assert shares == sorted(shares, reverse=True)


def test_a_table_of_visits_is_read_back_as_it_was(tmp_path):
    one, other = Computation("triad", 3e7), Computation("dgemm", 1.5)
    seen = (Together(one, (other, one), 0.1, 0.30000000000000004, 2, (0, 3, 1)), Together(one, (other,), 1.0, 1.0, 0))
    (tmp_path / "visits.csv").write_text(visits_table(seen))
    assert read_visits(tmp_path / "visits.csv") == seen


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("triad,3e7,triad,1,2", "2: beside: 'triad' is not KERNEL:SIZE"),
        ("triad,3e7,triad:x,1,2", "2: beside: 'triad:x' is not KERNEL:SIZE"),
        ("triad,-1,triad:1,1,2", "2: size_elements: -1 is not above 0"),
        ("triad,1,triad:1,0,2", "2: times 0 and 2 are not both above 0; give seconds"),
        ("triad,1,triad:1,nan,2", "2: lone_s: 'nan' is no finite number; write one"),
        (",1,triad:1,1,2", "2: subject is empty"),
        ("triad,1,triad:1,1", "the row has 4 cells and the header 5"),
        ("triad,1,,1,2", "no row has a neighbour of its subject; add at least one"),
    ],
)
def test_a_malformed_line_is_named(tmp_path, line, said):
    path = tmp_path / "visits.csv"
    path.write_text(f"subject,size_elements,beside,lone_s,together_s\n{line}\n")
    with pytest.raises(ScenarioError) as caught:
        replay_neighbours(path)
    assert len(caught.value.lines) == 1
    assert said in caught.value.lines[0]


def test_a_row_on_the_same_pe_twice_is_named(tmp_path):
    path = tmp_path / "visits.csv"
    path.write_text("subject,size_elements,beside,lone_s,together_s,pes\ntriad,1,triad:1,1,2,0 0\n")
    with pytest.raises(ScenarioError, match="pes: '0 0' does not place"):
        read_visits(path)


def test_what_a_model_cannot_answer_is_said(fitted):
    model = fitted(noise=0.005)
    with pytest.raises(ScenarioError, match="'triade' was not measured"):
        model.kept(("triade", 1.0), [])
    with pytest.raises(ScenarioError, match="each on one of the 4 PEs"):
        model.kept(STREAM, [STREAM] * 4)
