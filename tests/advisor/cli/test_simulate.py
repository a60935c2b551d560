"""`apportion simulate`: both engines say the same, and what it leaves on disk."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
THREE = "scenarios/tutorial/three-pes.yaml"


def simulate(*arguments, code=0):
    command = [sys.executable, "-m", "advisor.cli", "simulate", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == code, done.stderr
    return done


def document(*arguments):
    made = json.loads(simulate(THREE, "--replications", "20", "--seed", "7", "--json", *arguments).stdout)
    return {key: value for key, value in made.items() if key not in ("engine", "provenance")}, made


@pytest.fixture(scope="module")
def process():
    return document("--engine", "process")


@pytest.mark.slow
def test_both_engines_print_the_same(process):
    compiled = document("--engine", "compiled")
    assert compiled[0] == process[0]
    assert (process[1]["engine"], compiled[1]["engine"]) == ("process", "compiled")


def test_where_the_time_goes_adds_up_to_the_mean_makespan(process):
    for configuration in process[0]["configurations"]:
        for spent in configuration["processes"]:
            total = spent["busy_s"] + spent["waiting_s"] + spent["idle_s"]
            assert total == pytest.approx(configuration["makespan_s"]["mean"], rel=1e-9)


@pytest.mark.slow
def test_runs_charts_and_traces_are_left_on_disk(tmp_path):
    folder, trace = tmp_path / "runs", tmp_path / "trace.json"
    simulate(THREE, "--replications", "3", "-o", folder, "--timeline", trace)
    names = {path.name for path in folder.iterdir()}
    assert names == {"runs.csv", "manifest.json", "timeline-0.svg", "timeline-1.svg", "timeline-2.svg"}
    rows = (folder / "runs.csv").read_text().splitlines()
    assert rows[0] == "configuration,replication,seed,makespan_s"
    assert len(rows) == 1 + 3 * 3
    manifest = json.loads((folder / "manifest.json").read_text())
    assert (manifest["kind"], manifest["replications"]) == ("runs", 3)
    assert {"versions", "seed"} & set(manifest["provenance"])
    events = json.loads(trace.read_text())["traceEvents"]
    last = max(event["ts"] + event["dur"] for event in events if event["ph"] == "X" and event["pid"] == 0)
    assert last == pytest.approx(float(rows[1].split(",")[3]) * 1e6, rel=1e-9)


def test_a_timeline_of_another_kind_is_refused():
    done = simulate(THREE, "--timeline", "x.png", code=2)
    assert done.stderr == "error: --timeline: x.png found, a name that ends in .json or .svg allowed\n"
