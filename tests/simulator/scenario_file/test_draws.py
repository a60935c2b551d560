"""Draws under what-ifs: the k-th PE of a kind draws the same whatever else is there, and no two PEs draw alike."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from advisor.advise.changes import with_load
from simulator import PE, Configuration, LinkModel, Platform, dump_scenario, load_scenario, read_template, run
from simulator.scenario_file.truths import draw
from tests.support.sweep_points import write

COUNTS = st.sampled_from([0, 1, 2, 8, 9, 10, 11, 12, 98, 99, 100, 101])
LINK = LinkModel.from_latency(1e-5, 1e9)


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    folder = tmp_path_factory.mktemp("draws")
    return read_template(write(folder))


def drawn(template, *counts):
    """Load starts of the slow PEs, in their order; (replication, PE)."""
    changes = [f"platform.nodes.{kind}.count={count}" for kind, count in zip(("slow", "fast"), counts, strict=True)]
    scenario = template.as_now().scenario([*changes, "replications=2"])
    return draw(scenario).load_starts_s[:, [pe.load is not None for pe in scenario.platform.pes]]


@given(ours=COUNTS, theirs=COUNTS, fast=st.tuples(st.integers(1, 12), st.integers(1, 12)))
@example(ours=9, theirs=10, fast=(1, 1))
@example(ours=99, theirs=100, fast=(9, 10))
@settings(max_examples=15, deadline=None)
def test_adding_nodes_changes_no_draw_of_others(template, ours, theirs, fast):
    one, other = drawn(template, ours, fast[0]), drawn(template, theirs, fast[1])
    both = min(ours, theirs)
    assert np.array_equal(one[:, :both], other[:, :both])
    assert np.unique(one).size == one.size  # each has its own


NAMES = st.text("a01.", min_size=1, max_size=5)


@given(st.lists(NAMES, min_size=1, max_size=12, unique=True))
@example(["a1", "a01", "a001"])
@example(["1.01", "01.1", "1.1"])
def test_no_two_pes_draw_alike(names):
    keys = Platform.uniform(tuple(PE(name, name) for name in names), LINK).draw_names
    assert len(set(keys)) == len(keys)


def test_names_that_differ_in_zeros_only():
    names = ("n007.c0", "n7.c0", "n07.c00", "n10", "n00")
    found = Platform.uniform(tuple(PE(name, name) for name in names), LINK).draw_names
    assert found == ("n007.c0", "n7.c0", "n07.c00", "n10", "n0")
    assert Platform.uniform((PE("slow007", "slow007"),), LINK).draw_names == ("slow7",)


def test_many_draws_are_those_of_few(template):
    scenario = template.as_now().scenario(["platform.nodes.slow.count=12", "replications=6000"])
    many, few = (
        draw(scenario),
        draw(replace(scenario, replications=40, strata=6000), first=5960),
    )  # 72,000 draws, and 480
    assert np.array_equal(many.load_starts_s[5960:], few.load_starts_s)
    assert np.array_equal(many.band_positions[5960:], few.band_positions)


def test_pes_without_a_process_are_left_out_where_nobody_asks_for_them(template):
    scenario = template.as_now().scenario(["platform.nodes.slow.count=12", "replications=2"])
    one = replace(scenario, configurations=(Configuration("one", (1,), (len(scenario.platform.pes) - 1,)),))
    whole, placed = draw(one), draw(one, placed_only=True)
    assert np.array_equal(whole.load_starts_s[:, -1], placed.load_starts_s[:, -1])
    assert np.all(whole.load_starts_s[:, -1] > 0)
    assert np.count_nonzero(whole.load_starts_s) > 2
    assert np.count_nonzero(placed.load_starts_s) == 2


CLOCKS = """
format: 1
platform:
  nodes:
    - name: "n[1-2]"
      load: {trace: a.csv, rule: fair}
      pes:
        - {name: "{node}.first", speeds: {k: 1 Gunits/s}}
        - {name: "{node}.second", speeds: {k: 2 Gunits/s}}
        - {name: "{node}.copy", speeds: {k: 1 Gunits/s}, load: {trace: copy.csv, rule: idle}}
        - {name: "{node}.other", speeds: {k: 1 Gunits/s}, load: {trace: other.csv, rule: fair}}
        - {name: "{node}.own", speeds: {k: 1 Gunits/s}, load: {trace: a.csv, rule: fair, start: own}}
        - {name: "{node}.zero", speeds: {k: 1 Gunits/s}, load: {trace: a.csv, rule: fair, start: zero}}
        - {name: "{node}.later", speeds: {k: 1 Gunits/s}, load: {trace: a.csv, rule: fair, start: "08:00:02"}}
        - {name: "{node}.offset", speeds: {k: 1 Gunits/s}, load: {trace: a.csv, rule: fair, start: 1500ms}}
  link: {latency: 1us, bandwidth: 1GB/s}
application: {name: ep, kernel: k, parameters: {samples: 16000}}
configurations: {equal: {partition: equal}}
replications: 50
seed: 4
"""
PES = ("first", "second", "copy", "other", "own", "zero", "later", "offset")


@pytest.fixture(scope="module")
def clocks(tmp_path_factory):
    folder = tmp_path_factory.mktemp("clocks")
    rows = "# start: 2026-11-21T08:00+01:00\ntime_s,load\n0,0\n1,1\n2,2\n"
    for name, text in (("a", rows), ("copy", rows), ("other", rows.replace("2,2", "2,3")), ("s", CLOCKS)):
        (folder / f"{name}.{'yaml' if name == 's' else 'csv'}").write_text(text)
    return load_scenario(folder / "s.yaml")


def starts_of(scenario):
    """By node and PE, each (replication,)."""
    starts = draw(scenario).load_starts_s
    names = [pe.name for pe in scenario.platform.pes]
    return {node: {pe: starts[:, names.index(f"{node}.{pe}")] for pe in PES} for node in ("n1", "n2")}


def test_pes_of_a_node_with_one_recording_start_together_in_every_replication(clocks):
    for of in starts_of(clocks).values():
        assert np.array_equal(of["first"], of["second"])
        assert np.array_equal(of["first"], of["copy"])
        assert np.unique([of["first"], of["other"], of["own"]]).size == 150  # three clocks of 50 draws
        assert (set(of["zero"]), set(of["later"]), set(of["offset"])) == ({0}, {2}, {1.5})
    one, two = starts_of(clocks).values()
    assert not np.any(one["first"] == two["first"])


def test_the_first_pe_of_a_clock_draws_what_it_drew_alone(clocks):
    platform = clocks.platform
    alone = [pe for pe in platform.pes if pe.name in ("n1.first", "n2.first")]
    fewer = replace(clocks, platform=replace(platform, pes=tuple(alone)), configurations=())
    assert np.array_equal(draw(fewer).load_starts_s, draw(clocks).load_starts_s[:, [0, len(PES)]])


def test_who_starts_together_is_the_same_for_some_configurations_and_changed_loads(clocks):
    only = replace(clocks, configurations=(Configuration("second", (16_000,), (1,)),))
    assert np.array_equal(draw(only, placed_only=True).load_starts_s[:, 1], draw(clocks).load_starts_s[:, 0])
    scaled = with_load(clocks, 1.1, [1])
    assert np.array_equal(draw(scaled).load_starts_s, draw(clocks).load_starts_s)


def test_a_written_out_scenario_has_the_same_clocks(clocks, tmp_path):
    path = tmp_path / "resolved.yaml"
    path.write_text(dump_scenario(clocks))
    assert np.array_equal(draw(load_scenario(path)).load_starts_s, draw(clocks).load_starts_s)


@pytest.mark.parametrize("engine", ["process", "compiled"])
def test_pes_of_one_clock_take_the_same_time(clocks, engine):
    """Alike PEs under one clock end at the same tick, and those of two nodes do not."""
    busy = clocks.with_configurations(
        tuple(Configuration(f"on {pe}", (4_000_000_000,), (pe,)) for pe in (0, 4, len(PES)))
    )
    pes = list(busy.platform.pes)
    pes[4] = replace(pes[0], name="n1.twin")
    alike = replace(busy, platform=replace(busy.platform, pes=tuple(pes))).with_parameters({"samples": 4_000_000_000})
    first, twin, far = run(alike, engine=engine).makespan_ticks
    assert np.array_equal(first, twin)
    assert not np.array_equal(first, far)
