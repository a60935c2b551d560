"""Makespans of the paper series as they have always been, from both engines, and by hand where a formula gives them.

A change here is a change of what a simulated program means; `pytest tests/golden --accept` takes it, from
the engine of processes.
"""

import csv
import math
import statistics
from dataclasses import replace
from pathlib import Path

import pytest

from simulator import load_scenario, run
from simulator.programs.configuration import Configuration

ROOT = Path(__file__).parents[2]
SCENARIOS = sorted((ROOT / "scenarios" / "papers").glob("*.yaml"))
GOLDEN = Path(__file__).with_name("papers.csv")
SEED = 7
MARKS = ("Given by the paper:", "Ours:", "Prints:")


def makespans(path, engine):
    """One line per configuration: scenario, configuration, makespan in seconds to the last bit."""
    runs = run(load_scenario(path), replications=1, seed=SEED, engine=engine)
    return [
        [path.stem, name, repr(float(value))]
        for name, value in zip(runs.configurations, runs.makespan_s[:, 0], strict=True)
    ]


def golden():
    with GOLDEN.open(encoding="utf-8", newline="") as stream:
        return list(csv.reader(stream))[1:]


@pytest.mark.parametrize("engine", ["process", "compiled"])
@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_the_makespans_are_those_on_record(accept, path, engine):
    rows = makespans(path, engine)
    if accept and engine == "process":
        kept = [row for row in golden() if row[0] in {one.stem for one in SCENARIOS} - {path.stem}]
        with GOLDEN.open("w", encoding="utf-8", newline="") as stream:
            writer = csv.writer(stream, lineterminator="\n")
            writer.writerows(
                [["scenario", "configuration", "makespan_s"], *sorted([*kept, *rows], key=lambda row: row[0])]
            )
    assert rows == [row for row in golden() if row[0] == path.stem]


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_each_says_what_is_the_papers_and_what_is_ours(path):
    text = path.read_text(encoding="utf-8")
    assert text.startswith("# yaml-language-server: $schema=../scenario.schema.json\n")
    assert all(f"\n# {mark} " in text for mark in MARKS)
    assert f"`{path.name}`" in path.with_name("README.md").read_text(encoding="utf-8")


def test_no_scenario_without_a_record():
    assert {row[0] for row in golden()} == {path.stem for path in SCENARIOS}
    assert len(SCENARIOS) >= 6


def seconds(scenario, configuration):
    return next(float(row[2]) for row in golden() if row[:2] == [scenario, configuration])


@pytest.mark.parametrize("nodes", [2, 4, 8, 16])
def test_ep_is_computing_and_one_all_reduce(nodes):
    expected = 2**28 / (3996971.35 * nodes) + math.log2(nodes) * (10e-6 + 96 * 8 / 2e9)
    assert seconds("scopred-ep", f"{nodes} nodes") == pytest.approx(expected, abs=1e-8)


def test_accesses_take_the_papers_time_per_word():
    m, alpha, run_words = 2.0**23, 0.5, 16
    before, time_s = 0.0, 0.0
    for capacity, latency, gap in (
        (401408 / 8, 1.46e-9, 0.94e-9),
        (24268800 / 8, 18.3e-9, 1.22e-9),
        (m, 44.7e-9, 1.5e-9),
    ):
        hit = min(1.0, capacity / m) ** alpha
        time_s += (hit - before) * (latency + gap * (run_words - 1)) / run_words
        before = hit
    assert seconds("apexmap-levels", "one") == pytest.approx(1e9 * time_s, rel=1e-3)


def test_transputers_compute_at_least_what_the_node_times_say():
    assert 0 < seconds("warwick-matmul", "equal") - 256**3 / 2 * 6.5e-6 < 0.5
    assert 0 < seconds("warwick-sort", "equal") - 65536 * (16 * 25e-6 + 12.1e-6 + 8.9e-6) < 0.3


def test_hpl_alone_is_its_operations_over_its_speed():
    """2/3 N^3 at 1.07 Gflop/s; the outline has a little more."""
    assert seconds("kishimoto-hpl", "1,1,0,0") == pytest.approx(2 / 3 * 6400**3 / 1.07e9, rel=0.02)


def hpl_seconds(n, processes):
    """Makespans of the HPL scenario with so many processes on each PE, by name."""
    path = ROOT / "scenarios" / "papers" / "kishimoto-hpl.yaml"
    scenario = load_scenario(path, changes=[f"application.parameters.n={n}"])
    places = {pe.name: place for place, pe in enumerate(scenario.platform.pes)}
    configurations = []
    for name, wanted in processes.items():
        placement = tuple(places[pe] for pe, count in wanted.items() for _ in range(count))
        configurations.append(Configuration(name, (1,) * len(placement), placement))
    runs = run(replace(scenario, configurations=tuple(configurations)), seed=SEED)
    return dict(zip(runs.configurations, runs.makespan_s[:, 0].tolist(), strict=True))


def printed(name, **wanted):
    """The rows of a table of the paper in which some columns have these values."""
    with (ROOT / "scenarios" / "papers" / f"kishimoto_{name}.csv").open(encoding="utf-8", newline="") as stream:
        return [row for row in csv.DictReader(stream) if all(row[key] == value for key, value in wanted.items())]


@pytest.mark.parametrize("n", [400, 800, 1600, 3200, 6400])
def test_hpl_on_one_pe_takes_what_the_paper_measured_with_one_to_six_processes(n):
    """What messages within a node carry in the scenario is read off these runs."""
    found = sum(hpl_seconds(n, {str(count): {"athlon": count} for count in range(1, 7)}).values())
    (row,) = printed("table3", n=str(n), processor_kind="athlon_1330")
    assert found == pytest.approx(float(row["measurement_time_s"]), rel=0.12)


@pytest.mark.parametrize("n", [3200, 6400])
def test_hpl_on_several_nodes_of_one_kind_takes_what_the_paper_measured(n):
    """What messages between nodes carry is read off these runs: 3, 5, 6 and 7 PEs with 1 to 6 processes each."""
    slow = [f"node{node}.cpu{cpu}" for node in range(2, 6) for cpu in (1, 2)]
    processes = {f"{pes} x {count}": dict.fromkeys(slow[:pes], count) for pes in (3, 5, 6, 7) for count in range(1, 7)}
    basic, large = (
        float(printed(name, n=str(n), processor_kind="pentium2_400")[0]["measurement_time_s"])
        for name in ("table3", "table6")
    )
    assert sum(hpl_seconds(n, processes).values()) == pytest.approx(basic - large, rel=0.06)


def test_hpl_on_both_kinds_is_told_within_a_tenth():
    """None of these runs is behind a figure of the scenario."""
    errors = []
    for row in printed("measured_points", p2="8"):
        slow = {f"node{node}.cpu{cpu}": 1 for node in range(2, 6) for cpu in (1, 2)}
        found = hpl_seconds(int(row["n"]), {"mixed": {"athlon": int(row["m1"])} | slow})["mixed"]
        errors.append(abs(found / float(row["measured_time_s"]) - 1))
    assert len(errors) == 8
    assert max(errors) < 0.10
    assert statistics.median(errors) < 0.05
