"""Timelines of a page: nothing is lost of what was simulated, whatever is drawn together."""

from dataclasses import replace

import numpy as np
import pytest

from advisor.report import timelines as module
from advisor.report.timelines import MOMENTS, _Bars, _merged, replication_near, run_rows, timeline_section, timelines
from simulator import Configuration, blocks, documents, run
from tests.support.illustrated import simulated


def bars_of(entry):
    """Process, kind, start, end and whether several are one, in moments."""
    found = []
    for process, flat in enumerate(entry["bars"]):
        at = 0
        for code, gap, lasts in zip(*[iter(flat)] * 3, strict=True):
            found.append((process, entry["kinds"][code // 2], at + gap, at + gap + lasts, bool(code % 2)))
            at += gap + lasts
    return found


@pytest.fixture(scope="module")
def shown():
    scenario, runs, document = simulated()
    return scenario, runs, documents.to_dict(document.illustration.timelines)


def test_the_fastest_stands_in_front_and_all_follow_once(shown):
    assert [entry["configuration"] for entry in shown[2]] == ["uneven", "one-each", "by-speed"]


def test_bars_are_the_operations_of_the_log(shown):
    scenario, _, entries = shown
    for entry in entries:
        name = entry["configuration"]
        logged = run(scenario, engine="process", log_replications=1).timeline(name)
        second = MOMENTS / entry["makespan_s"]
        wanted = [
            (one["process"], one["operation"], one["start_s"] * second, one["end_s"] * second)
            for one in logged
            if one["end_s"] > one["start_s"]
        ]
        found = bars_of(entry)
        assert [bar[:2] for bar in found] == [bar[:2] for bar in wanted]
        np.testing.assert_allclose([bar[2:4] for bar in found], [bar[2:] for bar in wanted], atol=1)
        assert (entry["merged"], entry["operations"]) == (0, len(logged))
        assert [entry["pes"][entry["processes"][one["process"]]] for one in logged] == [one["pe"] for one in logged]


def test_the_path_covers_the_makespan_and_its_parts_add_up(shown):
    for entry in shown[2]:
        steps = list(zip(*[iter(entry["path"])] * 3, strict=True))
        assert [begin for _, begin, _ in steps] == [0, *(end for _, _, end in steps[:-1])]
        assert steps[-1][2] == MOMENTS
        assert sum(part["share"] for part in entry["waits_for"]) == pytest.approx(1)
    assert [entry["waits_for"][0]["where"] for entry in shown[2]] == ["single", "quad.cpu0", "quad.cpu1"]


def test_what_is_lost_to_a_load_is_told():
    _, _, document = simulated("three-pes.yaml", 5)
    parts = {part.where: part for entry in document.illustration.timelines for part in entry.waits_for}
    assert parts["busy"].held_up_s > 0.3 * parts["busy"].seconds
    others = [part.held_up_s for where, part in parts.items() if where != "busy"]
    assert others == [0] * len(others) != []


def test_messages_join_the_right_processes(shown):
    by_name = {entry["configuration"]: entry for entry in shown[2]}
    messages = list(zip(*[iter(by_name["one-each"]["messages"])] * 4, strict=True))
    assert {(sender, receiver) for sender, _, receiver, _ in messages} == {(0, 1), (0, 2), (1, 0), (2, 0)}
    assert all(begin < end for _, begin, _, end in messages)


def test_loads_are_those_that_the_replication_meets(shown):
    for entry in shown[2]:
        for load in entry["loads"]:
            changes = [time * entry["makespan_s"] / MOMENTS for time in load["times"]]
            assert changes == pytest.approx([0, 0.2], abs=1e-6)
            assert load["values"] == [0, 1]
    assert {load["pe"] for load in shown[2][0]["loads"]} == {"quad.cpu0", "quad.cpu1"}


def test_the_replication_is_the_one_nearest_the_median():
    _, runs, document = simulated("three-pes.yaml", 5)
    first = documents.to_dict(document.illustration.timelines)[0]
    times = runs.of(first["configuration"])
    assert times[first["replication"]] == np.median(times)
    assert first["makespan_s"] == times[first["replication"]]
    assert first["replication"] == replication_near(runs, first["configuration"])
    for entry in documents.to_dict(document.illustration.timelines):
        assert entry["makespan_s"] == runs.of(entry["configuration"])[first["replication"]]


def test_a_program_too_long_is_named_in_place_of_its_bars(monkeypatch, shown):
    scenario, runs, _ = shown
    monkeypatch.setattr(module, "MOST_OPERATIONS", 20)
    found = documents.to_dict(timelines(scenario, runs, runs.configurations, replication=0))
    left = {entry["configuration"]: entry for entry in found}
    assert [name for name, entry in left.items() if entry.get("left_out")] == ["by-speed"]
    assert (left["by-speed"]["operations"], "bars" in left["by-speed"]) == (26, False)


def test_more_processes_than_can_be_told_apart_are_gathered_by_node():
    one, count = simulated()[2].illustration.timelines[0], 64
    pes, nodes = (tuple(name(place) for place in range(count)) for name in ("pe{}".format, lambda k: f"n{k // 8}"))
    many = replace(one, pes=pes, nodes=nodes, processes=tuple(range(count)), bars=one.bars[:1] * 63 + [[]])
    shown = timeline_section([many]).blocks
    assert not [block for block in shown if isinstance(block, blocks.Widget)]
    (figure,) = [block for block in shown if isinstance(block, blocks.Figure)]
    assert "64 processes, gathered" in figure.caption
    rows = run_rows(many, "all", most=32).rows
    assert [row.name for row in rows] == [f"n{node}" for node in range(8)]
    alone = run_rows(one, "all", most=32).rows[0]
    np.testing.assert_allclose(rows[0].computing, alone.computing)
    np.testing.assert_allclose(rows[7].computing, alone.computing * 7 / 8)
    assert [row.name for row in run_rows(many, "all", most=4).rows] == [f"n{k} … n{k + 1}" for k in (0, 2, 4, 6)]


def test_bars_drawn_together_keep_amounts_order_and_bounds():
    count, processes = 5_000, 4
    lasts = np.random.default_rng(1).integers(1, 400, (processes, count)) + (np.arange(count) % 2) * 300
    lasts[:, 77] = MOMENTS // 10  # one long one stays as it is
    start = np.cumsum(lasts, axis=1) - lasts
    process = np.repeat(np.arange(processes), count)
    kind = np.tile(np.arange(count) % 3, processes)
    every = _Bars(process, kind, start.reshape(-1), (start + lasts).reshape(-1), np.ones(process.size, dtype=np.int64))
    drawn = _merged(every, 900)
    assert 200 < drawn.process.size <= 900
    assert drawn.count.sum() == process.size
    for own in range(processes):
        for which in range(3):
            chosen = (drawn.process == own) & (drawn.kind == which)
            total = lasts[own][np.arange(count) % 3 == which].sum()
            assert (drawn.end - drawn.start)[chosen].sum() == total
        begin, end = drawn.start[drawn.process == own], drawn.end[drawn.process == own]
        assert np.all(begin[1:] >= end[:-1])
    assert np.count_nonzero(drawn.end - drawn.start >= MOMENTS // 10) == processes
    assert _merged(every, process.size) is every


def test_another_replication_has_its_own_draws():
    """Other starts of the load, and other places in the speed bands: without a load nothing is lost to one."""
    given, _, _ = simulated("three-pes.yaml", 5)
    most = {"cached": (100, 1000, 100), "busy": (100, 100, 1000)}
    scenario = given.with_configurations(
        tuple(Configuration(name, partition, (0, 1, 2)) for name, partition in most.items())
    )
    runs = run(scenario, replications=5, engine="process")
    for replication in (1, 4):
        lost = {}
        for entry in documents.to_dict(timelines(scenario, runs, runs.configurations, replication=replication)):
            assert entry["makespan_s"] == runs.of(entry["configuration"])[replication]
            computing = [part for part in entry["waits_for"] if part["what"] == "computing"]
            lost |= {part["where"]: part["held_up_s"] for part in computing}
        assert lost["cached"] == 0
        assert lost["busy"] > 0
