"""Advice where PEs share domains: processes are spread over them, more of them only where they gain; all by hand."""

import pytest

from advisor import explain, recommend
from advisor.advise.kinds import kinds_of
from advisor.advise.strategies import simplest, tied
from advisor.report.explanation import sharing_lines
from simulator import Configuration, documents, load_scenario, read_template


@pytest.fixture(scope="module")
def channels():
    return load_scenario("channels")


def test_fewer_processes_are_advised_where_more_gain_nothing(channels):
    """Two streams on each of four channels ask for 50 of 40 GB/s already: 6 s, as with sixteen."""
    made = recommend(channels, confirm=0, runs=200)
    chosen = made.configuration
    used = [pe for pe, units in zip(chosen.placement, chosen.partition, strict=True) if units]
    assert sorted(pe // 4 for pe in used) == [0, 0, 1, 1, 2, 2, 3, 3]
    assert made.runs.of(chosen.name)[0] == pytest.approx(6.0, rel=1e-4)
    assert made.runs.of("equal")[0] == pytest.approx(6.0, rel=1e-4)
    assert "as-now" in made.strategies.names_of("equal")


@pytest.mark.parametrize(("capacity", "advised"), [("20GB/s", 4), ("70GB/s", 12)])
def test_as_many_on_a_channel_as_it_serves(capacity, advised):
    """A stream takes 25 GB/s: one keeps a channel of 20 busy, two one of 40, three one of 70, four one of 100."""
    changes = [f"platform.nodes.0.domains.0.capacity={capacity}"]
    made = recommend(read_template("channels").scenario(changes), confirm=0, runs=200)
    assert sum(map(bool, made.configuration.partition)) == advised


def test_fewer_processes_on_a_pe_of_many_cores():
    """One channel for a PE of 16 cores: two streams take what sixteen do, 9.6e10 / 2.5e9 / (2 x 0.8) = 24 s."""
    pes = "platform.nodes.0.pes=[{name: node1, cores: 16, speeds: {triad: 2.5 Gunits/s}}]"
    scenario = read_template("channels").scenario([pes, "platform.nodes.0.domains.0.each=16"])
    made = recommend(scenario, confirm=0, runs=200)
    assert sum(map(bool, made.configuration.partition)) == 2
    assert made.runs.of(made.configuration.name)[0] == pytest.approx(24.0, rel=1e-4)


def test_the_first_pes_of_a_kind_lie_in_different_domains(channels):
    (kind,) = kinds_of(channels)
    assert [pe // 4 for pe in kind.pes[:8]] == [0, 1, 2, 3, 0, 1, 2, 3]
    memory, cache = "{kind: memory, each: 4, capacity: 40GB/s}", "{kind: cache, level: L3, each: 8, capacity: 1MiB}"
    (nested,) = kinds_of(read_template("channels").scenario([f"platform.nodes.0.domains=[{memory}, {cache}]"]))
    assert sorted(pe // 4 for pe in nested.pes[:4]) == [0, 1, 2, 3]
    assert sorted(pe // 8 for pe in nested.pes[:2]) == [0, 1]
    two = read_template("channels").scenario(["platform.nodes.0.name=n[1-2]"])
    assert [pe // 16 for pe in kinds_of(two)[0].pes] == [0] * 16 + [1] * 16
    assert [pe // 4 for pe in kinds_of(two, across=True)[0].pes[:8]] == list(range(8))
    some = "[{kind: memory, pes: [0, 1], capacity: 40GB/s}, {kind: memory, pes: [2, 3], capacity: 50GB/s}]"
    unlike = read_template("channels").scenario([f"platform.nodes.0.domains={some}"])
    assert sorted(len(one.pes) for one in kinds_of(unlike)) == [2, 2, 12]


def test_the_simplest_of_a_tie_has_the_fewest_pes_then_processes_then_equal_units():
    few = Configuration("few", (2, 3, 3), (0, 0, 1))
    fewer = Configuration("fewer", (4, 0, 4), (0, 1, 1))
    equal = Configuration("equal", (4, 4), (0, 1))
    uneven, pes = Configuration("uneven", (3, 5), (0, 1)), Configuration("pes", (3, 3, 2), (0, 1, 2))
    assert simplest([pes, few], [1.0, 2.0]) == 1
    assert simplest([few, fewer], [1.0, 2.0]) == 1
    assert simplest([uneven, equal], [1.0, 2.0]) == 1
    assert simplest([fewer, equal], [2.0, 1.0]) == 1  # the same but for time
    assert simplest([equal, fewer], [1.0, 1.0 + 1e-12]) == 0


def test_a_tie_is_what_loses_one_percent_at_most_to_the_best():
    assert tied([1.0, 1.005, 1.02], [0.002, 0.01, 0.011]) == [0, 1]
    assert tied([1.0, 1.005, 1.02], [0.02, 0.03, 0.04]) == [0]  # the best stays, however unsure
    assert tied([1.0, 1.005, 1.02], [None, None, None]) == [0, 1]
    moves = [True, False, False]  # that has to be written into the program
    assert tied([1.0, 1.02, 1.025], [0.0, 0.02, 0.025], moves) == [1, 2]
    assert tied([1.0, 1.04, 1.05], [0.0, 0.04, 0.05], moves) == [0]


def test_the_explanation_names_the_domain_that_binds(channels):
    found = explain(channels, recommend(channels, confirm=0, runs=200))
    told = documents.to_dict(found)
    (one,) = told["why"]["sharing"]
    assert (one["domain"], one["alike"], one["processes"], one["asked"], one["capacity"]) == (
        "memory 1 of node1", 3, 2, 50e9, 40e9,
    )  # fmt: skip
    assert one["kept"] == pytest.approx(0.8, rel=1e-5)
    whose = "memory 1 of node1 (PEs node1-core01 to node1-core04, and 3 more such domains)"
    assert sharing_lines(found.why) == [f"{whose}: asked for 50 GB/s of 40 GB/s: each keeps 80 %"]
    (alone,) = (one for one in told["why"]["costs"] if one["of"] == "neighbours")
    assert alone["makespan_s"] == pytest.approx(4.8, rel=1e-4)
    assert alone["divided_anew"] == pytest.approx(0.6, rel=1e-4)
    assert told["explanation"]["adopted_instead_of"] is None
    capacity = next(one for one in told["sensitivity"] if one["what"] == "capacity")
    assert capacity["parameter"] == "capacity of memory 1 of node1 (and 3 alike)"
    down, up = (effect["makespan"] for effect in capacity["effects"])
    assert (down, up) == pytest.approx((1 / 0.9 - 1, 1 / 1.1 - 1), rel=1e-3)  # of a saturated channel
    rows = {one["change"]: one["longer"] for one in told["why"]["others"]}
    assert rows["with"] == pytest.approx(0, abs=0.005)  # three on one channel ask for more and get no more
    assert rows["without"] == pytest.approx(6.4 / 5.8 - 1, abs=0.01)
