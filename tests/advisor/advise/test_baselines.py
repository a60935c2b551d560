"""Baselines that know of loads and links, and the kinds of nodes that name them."""

from dataclasses import replace

import numpy as np
import pytest

from advisor import recommend
from advisor.advise.baselines import core_baselines, loaded_baselines, node_kinds
from simulator import PE, Application, LinkModel, Platform, Scenario, dump_scenario, load_scenario, partitions
from simulator.platform.networks import Link, Network, Star
from simulator.platform.nodes import Load
from tests.support.platforms import flat, trace

DAY = trace([0, 46800, 64800], [0, 4, 0], 86400)
"""Four competitors from 13:00 to 18:00."""


def cluster(speeds, *, cores=4, loads=(), slow=(), name="ep", replications=8):
    """Nodes by name with their speeds; loads by name, and names of nodes on a link that is ten times slower."""
    pes = tuple(
        replace(
            PE(node, node, {"k": flat(speed)}, Load(dict(loads)[node], "fair") if node in dict(loads) else None),
            cores=cores,
        )
        for node, speed in speeds.items()
    )
    links = tuple(Link(node, 1e-5, 1e8 if node in slow else 1e9) for node in speeds)
    network = Network(Star(links), loopback=LinkModel.from_latency(1e-6, 1e10))
    parameters = {
        "ep": {"samples": 10**6, "volume": 1000.0},
        "hpl": {"n": 640, "nb": 8},
        "stencil": {"n": 400, "iterations": 5},
    }
    return Scenario(Platform(pes, network), Application(name, "k", parameters[name]), (), replications, 1)


EIGHT = {**{f"new{k}": 2e9 for k in range(1, 4)}, **{f"old{k}": 1e9 for k in range(1, 4)}}


def test_units_in_proportion_to_what_a_pe_does_under_its_load():
    made = cluster(EIGHT, loads={"old3": DAY})
    found = {one.name: one for one in loaded_baselines(made, (), cores=True)}
    assert list(found) == ["by-loaded-speed", "without-old3"]
    units = np.array(found["by-loaded-speed"].partition)
    share = partitions.mean_share(made.platform.pes[5], processes=4)
    assert share == pytest.approx(1 - 0.5 * 5 / 24)
    rates = np.repeat([2, 2, 2, 1, 1, share], 4)
    assert units == pytest.approx(1e6 * rates / rates.sum(), abs=1)
    assert found["without-old3"].placement == tuple(np.repeat(range(5), 4).tolist())
    one_each = {one.name: one for one in loaded_baselines(made, (), cores=False)}
    share = partitions.mean_share(made.platform.pes[5])
    assert one_each["by-loaded-speed"].partition[5] / one_each["by-loaded-speed"].partition[4] == pytest.approx(
        share, rel=1e-3
    )
    assert one_each["without-old3"].partition[5] == 0


def test_kinds_are_named_by_pattern_and_the_worst_four_come_first():
    names = {f"n{k:02d}": 1e9 for k in range(1, 13)}
    loads = {f"n{k:02d}": trace([0, 50], [0, k], 100) for k in range(1, 7)} | {"n12": trace([0, 50], [0, 6], 100)}
    made = cluster(names, loads=loads, slow=("n10", "n11"))
    found = [one.name for one in loaded_baselines(made, (), cores=True)]
    assert found == ["by-loaded-speed", "without-n[10-11]", "without-n06", "without-n05", "without-n04"]
    kinds = {kind.names: kind for kind in node_kinds(made)}
    assert kinds["n10", "n11"].why == "linked 9.8 times slower"
    assert kinds["n06", "n12"].why == "busy 50 % of the time"
    assert kinds["n07", "n08", "n09"].why == ""


def test_none_without_loads_and_bad_links_and_none_twice():
    calm = cluster(EIGHT)
    assert loaded_baselines(calm, (), cores=True) == []
    slow = cluster(EIGHT, slow=("old3",))
    known = core_baselines(slow)
    assert [one.name for one in loaded_baselines(slow, known, cores=True)] == ["without-old3"]
    two = cluster({"a": 2e9, "b": 1e9}, cores=1, loads={"b": DAY})
    found = recommend(two, vary=("partition",), confirm=0, runs=50)
    assert "by-loaded-speed" in found.baselines
    assert "without-b" not in found.baselines  # it is the fastest PE
    assert "one-per-node" not in recommend(cluster(EIGHT), confirm=0, runs=50).baselines


def test_they_are_compared_and_keep_the_name_that_the_user_gave_another():
    made = cluster(EIGHT, loads={"old3": DAY}, name="stencil")
    mine = replace(loaded_baselines(made, (), cores=True)[0], name="without-old3")
    found = recommend(made.with_configurations((mine,)), confirm=0, runs=50)
    assert {"by-loaded-speed", "without-old3", "naive-without-old3"} <= found.baselines.keys()


def test_equal_work_leaves_nodes_out_with_equal_units():
    made = cluster(EIGHT, loads={"old3": DAY}, name="hpl")
    found = {one.name: one for one in loaded_baselines(made, core_baselines(made), cores=True)}
    assert list(found) == ["without-old3"]
    assert max(found["without-old3"].partition) - min(found["without-old3"].partition) <= 1


@pytest.mark.parametrize("name", ["knöten '#, {c}", "equal"])
def test_names_with_odd_characters_survive(name, tmp_path):
    busy = (f"{name}1", f"{name}2")
    made = cluster({"fine": 2e9, "also": 1e9, **dict.fromkeys(busy, 1e9)}, loads=dict.fromkeys(busy, DAY))
    found = recommend(made, confirm=0, runs=50)
    assert f"without-{name}[1-2]" in found.baselines
    assert str(found)
    (tmp_path / "again.yaml").write_text(dump_scenario(made.with_configurations(found.candidates)))
    assert {one.name for one in load_scenario(tmp_path / "again.yaml").configurations} == {
        one.name for one in found.candidates
    }


def test_nodes_on_alike_switches_are_one_kind_and_order_in_the_file_does_not_matter():
    made = cluster(EIGHT, loads={"old3": DAY})
    order = [5, 2, 0, 4, 1, 3]
    turned = replace(made.platform, pes=tuple(made.platform.pes[place] for place in order))
    names = [kind.names for kind in node_kinds(replace(made, platform=turned))]
    assert names == [kind.names for kind in node_kinds(made)]
    assert names == [("new1", "new2", "new3"), ("old1", "old2"), ("old3",)]
