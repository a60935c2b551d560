"""The benchmark's harness: which samples it takes, what it makes of them, and one real run of it."""

import json
import subprocess
import sys

import pytest

from tests.benchmarks import simgrid_cpp

pytestmark = pytest.mark.benchmark


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
