"""The whole loop with real processes on this machine, in small."""

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import numpy as np
import psutil
import pytest

from advisor.quickstart import quickstart
from simulator import documents, load_scenario, run
from tests.support.command_line import APPORTION, apportion, apportion_here


@pytest.fixture(scope="module")
def result(tmp_path_factory, quick_advice):  # noqa: ARG001 - its advice is quick
    folder = tmp_path_factory.mktemp("quickstart") / "out"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("APPORTION_STATE", str(folder.parent / "state"))
        found = quickstart(folder, budget_s=4.0, seed=5, on_progress=lambda _stage, _share: None)
    return folder, json.loads(json.dumps(documents.to_dict(found)))


def test_the_document_has_what_was_promised(result):
    _, document = result
    assert document["provenance"]["machine"]["pe_count"] >= 1
    names = {entry["name"] for entry in document["baselines"]}
    assert {"equal", "constant", "fastest-pe"} <= names
    assert document["recommended"] in names
    verified = {entry["name"]: entry for entry in document["verification"]}
    assert {"equal", document["recommended"]} <= set(verified)
    for entry in document["baselines"]:
        assert sum(entry["partition"]) == document["application"]["parameters"]["n"]
        predicted = entry["predicted_makespan_s"]
        assert 0 < predicted["low"] <= predicted["mean"] <= predicted["high"]
    for entry in verified.values():
        assert len(entry["measured_s"]) >= 3
        error = 100 * (entry["predicted_s"] / np.median(entry["measured_s"]) - 1)
        assert entry["error_percent"] == pytest.approx(error)
    assert 0 < document["load"]["measured_share"] <= 1
    assert {kernel["name"] for kernel in document["kernels"]} == {"dgemm"}
    assert document["provenance"]["seed"] == 5


def test_the_panels_reach_from_few_rows_to_what_one_pe_may_get(result):
    _, document = result
    n, pes = document["application"]["parameters"]["n"], document["provenance"]["machine"]["pe_count"]
    for kernel in document["kernels"]:
        rows = [point["rows"] for point in kernel["points"]]
        assert min(rows) < n / pes / 4
        assert max(rows) >= n / pes


def test_the_folder_holds_report_scenario_and_measurements(result):
    folder, document = result
    assert {path.name for path in folder.iterdir()} == {
        "load.csv",
        "measurements",
        "report.html",
        "result.json",
        "scenario.yaml",
    }
    assert Path(document["folder"]) == folder.resolve()
    assert json.loads((folder / "result.json").read_text()) == document
    html = (folder / "report.html").read_text()
    assert "http://" not in html.replace("http://www.w3.org", "")
    assert "https://" not in html


def test_the_scenario_reproduces_the_predictions(result):
    folder, document = result
    done = apportion_here("simulate", folder / "scenario.yaml", "--json")
    again = {entry["name"]: entry["makespan_s"] for entry in json.loads(done.stdout)["configurations"]}
    predicted = {entry["same_as"] or entry["name"]: entry["predicted_makespan_s"] for entry in document["baselines"]}
    assert again == predicted
    runs = run(load_scenario(folder / "scenario.yaml"))
    for entry in document["verification"]:
        assert entry["predicted_s"] == np.median(runs.of(entry["name"]))


@pytest.mark.real
def test_by_the_command_line_twice_into_one_folder_the_second_time_on_one_core(tmp_path, monkeypatch):
    folder, one = tmp_path / "out", {min(os.sched_getaffinity(0))}
    words = ("quickstart", "--budget", "10s", "-o", str(folder))
    done = apportion(*words)
    assert done.returncode == 0, done.stderr
    assert str(folder / "report.html") in done.stdout
    assert "equal" in done.stdout
    assert (folder / "manifest.json").exists()
    stand_in = Path(__file__).parents[2] / "support" / "gpu_stand_in"
    monkeypatch.setenv("PATH", f"{stand_in}:{os.environ['PATH']}")
    done = apportion(*words, "--json", preexec_fn=lambda: os.sched_setaffinity(0, one))
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert any("one PE" in warning for warning in document["warnings"])
    assert any("gpu0, gpu1: only cores are measured here" in warning for warning in document["warnings"])
    assert document["largest_gain"] == 1
    assert (folder / "earlier-1" / "result.json").exists()


@pytest.mark.real
def test_an_interruption_keeps_what_was_measured_and_leaves_nobody(tmp_path):
    child = subprocess.Popen(
        [*APPORTION, "quickstart", "--budget", "60s", "-o", str(tmp_path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    kept = tmp_path / "measurements"
    while not any('"point"' in path.read_text() for path in kept.glob("points-*.jsonl")):
        assert child.poll() is None
        time.sleep(0.05)
    family = psutil.Process(child.pid).children(recursive=True)
    assert family
    child.send_signal(signal.SIGINT)
    out, error = child.communicate(timeout=20)
    assert (child.returncode, out) == (128 + signal.SIGINT, "")
    assert error.splitlines()[-1] == f"error: interrupted: what was measured is kept in {kept}"
    assert "Traceback" not in error
    assert psutil.wait_procs(family, timeout=5)[1] == []
    (points,) = kept.glob("points-*.jsonl")
    assert sum("point" in json.loads(line) for line in points.read_text().splitlines()) > 0


@pytest.mark.parametrize("budget", ["soon", "1s"])
def test_a_budget_that_is_none(apportion, tmp_path, budget):
    code, _, err = apportion("quickstart", "--budget", budget, "-o", tmp_path / "out")
    assert code == 2
    assert err.startswith(("error: --budget is ", "error: --budget: "))
    assert f"'{budget}'" in err
    assert err.count("\n") == 1
    assert not (tmp_path / "out").exists()
