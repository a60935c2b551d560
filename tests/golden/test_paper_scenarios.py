"""Makespans of the paper series as they have always been, from both engines, and by hand where a formula gives them.

A change here is a change of what a simulated program means; `python -m tests.golden.test_paper_scenarios` accepts it.
"""

import csv
import math
from pathlib import Path

import pytest

from simulator import load_scenario, run

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
def test_the_makespans_are_those_on_record(path, engine):
    assert makespans(path, engine) == [row for row in golden() if row[0] == path.stem]


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


if __name__ == "__main__":
    rows = [row for path in SCENARIOS for row in makespans(path, "compiled")]
    with GOLDEN.open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream, lineterminator="\n").writerows([["scenario", "configuration", "makespan_s"], *rows])
