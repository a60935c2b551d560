"""`apportion simulate`: both engines say the same, and what it leaves on disk."""

import json
from pathlib import Path

import pytest

from advisor.cli import _run
from simulator import load_scenario, run
from tests.support.command_line import apportion_here
from tests.support.timelines import check

ROOT = Path(__file__).parents[3]
THREE = "scenarios/tutorial/three-pes.yaml"


def simulate(*arguments, code=0):
    done = apportion_here("simulate", *arguments)
    assert done.returncode == code, done.stderr
    return done


def document(*arguments):
    made = json.loads(simulate(THREE, "--replications", "20", "--seed", "7", "--json", *arguments).stdout)
    return {key: value for key, value in made.items() if key not in ("engine", "provenance")}, made


@pytest.fixture(scope="module")
def process():
    return document("--engine", "process")


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
    charts = {f"timeline-{k}.svg" for k in range(3)}
    assert names == {"report.html", "runs.csv", "processes.csv", "manifest.json", "inputs"} | charts
    rows = (folder / "runs.csv").read_text().splitlines()
    assert rows[0] == "configuration,replication,seed,makespan_s"
    assert len(rows) == 1 + 3 * 3
    manifest = json.loads((folder / "manifest.json").read_text())
    assert (manifest["kind"], manifest["replications"]) == ("runs", 3)
    assert {"versions", "seed"} & set(manifest["provenance"])
    told = json.loads(trace.read_text())["otherData"]
    assert next(iter(told["makespan_s"].values())) == pytest.approx(float(rows[1].split(",")[3]), rel=1e-9)
    assert told["provenance"]["seed"] == manifest["seed"]


def test_files_of_another_kind_are_refused(capsys):
    assert _run(["simulate", str(ROOT / THREE), "--jobs", "x.txt"]) == 2
    assert capsys.readouterr().err == "error: --jobs is x.txt; give a name that ends in .swf or .csv\n"
    assert _run(["simulate", str(ROOT / THREE), "--replication", "1"]) == 2
    assert capsys.readouterr().err.startswith("error: --replication has no effect without --timeline, which")
    assert _run(["simulate", str(ROOT / THREE), "--timeline", "x.png"]) == 2
    allowed = "a name that ends in .json, .json.gz, .csv, .csv.gz or .svg"
    assert capsys.readouterr().err == f"error: --timeline is x.png; give {allowed}\n"


def test_a_timeline_of_a_later_replication_and_one_configuration(tmp_path, capsys):
    trace = tmp_path / "trace.json"
    asked = ["simulate", str(ROOT / THREE), "--replications", "4", "--seed", "7", "--json", "--timeline", str(trace)]
    assert _run([*asked, "--replication", "3", "--configuration", "by-speed"]) == 0
    capsys.readouterr()
    told = json.loads(trace.read_text())
    loaded = load_scenario(ROOT / THREE)
    fourth = run(loaded, replications=4, seed=7).of("by-speed")[3]
    assert told["otherData"]["makespan_s"] == {"by-speed": fourth}
    assert len(check(told["traceEvents"])) == 3
    last = max(event["ts"] + event["dur"] for event in told["traceEvents"] if event["ph"] == "X")
    assert last == pytest.approx(fourth * 1e6)
    for option, value, allowed in (
        ("--replication", "4", " is 4; give 0 to 3"),
        ("--configuration", "fast", ": there is no 'fast'; name one of equal, by-speed, by-what-is-left"),
    ):
        assert _run([*asked, option, value]) == 2
        assert capsys.readouterr().err == f"error: {option}{allowed}\n"
