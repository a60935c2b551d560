"""The benchmark's harness: which samples it takes, what it makes of them, and one real run of it."""

import json
import subprocess
import sys

import pytest

from tests.benchmarks import bench, simgrid_cpp
from tests.benchmarks.bench import Sample
from tests.benchmarks.scenarios import CASES

pytestmark = pytest.mark.benchmark
CASE = next(case for case in CASES if case.name == "D 64")


def sample(seconds, makespan_s=CASE.makespan_s, cpu_s=None):
    return Sample(seconds, seconds if cpu_s is None else cpu_s, makespan_s)


def test_ratios_are_to_the_fastest_mode_and_to_plain_simpy():
    taken = {
        ("simpy", ""): [sample(4.0), sample(6.0), sample(50.0)],
        ("compiled", ""): [sample(0.5, cpu_s=0.05)],
        ("simgrid", "default"): [sample(3.0)],
        ("simgrid", "Full"): [sample(2.0)],
        ("simgrid-ti", "TI"): [sample(1.0)],
    }
    rows = {row.engine: row for row in bench.rows_of(CASE, taken)}
    assert rows["simgrid"].mode == "Full"
    assert rows["simpy"].median_s == 6.0
    assert {name: row.ratio_to_simgrid for name, row in rows.items()} == pytest.approx(
        {"simpy": 1 / 6, "compiled": 2.0, "simgrid": 0.5, "simgrid-ti": 1.0}
    )
    assert rows["compiled"].ratio_to_simpy == 12.0
    assert rows["compiled"].ratio_to_simgrid_cpu == pytest.approx(20.0)


def test_the_harness_writes_a_list_of_rows(tmp_path):
    """In a process of its own: it binds itself to one core."""
    command = [sys.executable, "-m", "tests.benchmarks.bench", "--scenarios", "B,D", "--quick", "--samples", "2"]
    done = subprocess.run([*command, "-o", tmp_path / "bench.json"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    rows = json.loads((tmp_path / "bench.json").read_text())
    expected = {("B", "16", "simpy"), ("D", "64", "simpy")}
    if simgrid_cpp.why_not():
        assert "SimGrid" in done.stderr
    else:
        expected |= {("B", "16", "simgrid"), ("D", "64", "simgrid")}
    assert {(row["scenario"], row["size"], row["engine"]) for row in rows} >= expected
    for row in rows:
        assert row["median_s"] > 0
        assert row["agrees"]
        assert row["ratio_to_simpy"] > 0
        assert (row["ratio_to_simgrid"] is None) == bool(simgrid_cpp.why_not())
