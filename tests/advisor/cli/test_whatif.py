"""`apportion whatif`: which change pays most, bad input in one line, a point alone, and `show` of its results."""

import json
from dataclasses import replace

import numpy as np
import pytest

from advisor.cli import whatif as command
from advisor.whatif.advised import advised
from advisor.whatif.asking import plan_whatif
from simulator import read_template
from simulator.experiments.sweep import simulated
from simulator.experiments.whatif import read_varied
from tests.support.command_line import ROOT
from tests.support.sweep_points import thread, write

TWO_CORES = ROOT / "scenarios" / "tutorial" / "two-cores.yaml"
LINK = "platform.link.bandwidth"
VARY = ["--as-is", "--vary", f"{LINK}=1Gbit/s,10Gbit/s", "--vary", "application.parameters.n=1600,1500,0"]


@pytest.fixture
def in_thread(monkeypatch):
    """Its cluster is a thread of this process; `test_sweep_killed` has processes."""
    monkeypatch.setattr(command, "_where", lambda *_: thread)


@pytest.mark.usefixtures("in_thread")
def test_which_change_pays_most(apportion, tmp_path):
    path, out, vary = write(tmp_path), tmp_path / "out", [*VARY, "--replications", "200"]
    code, said, errors = apportion("whatif", path, *vary, "-o", out)
    assert code == 1
    assert said.startswith(f"{LINK}=10Gbit/s pays most: ")  # a smaller problem is no improvement
    failed = [line for line in errors.splitlines() if line.startswith("error: ")]
    assert len(failed) == 2
    assert all("application.parameters.n" in line for line in failed)
    code, said, _ = apportion("whatif", path, *vary, "-o", out, "--resume", "--json")
    document = json.loads(said)
    assert (code, document["spent"]["run_now"], document["failed"]) == (1, 2, 2)
    best = document["points"][document["pays_most"]]
    base, here = (
        np.array(
            json.loads((out / "points" / f"{entry['hash']}.json").read_text())["configurations"][0]["makespan_ticks"]
        )
        for entry in (document["points"][0], best)
    )
    assert best["gain"]["mean"] == pytest.approx(base.mean() / here.mean(), rel=1e-12)
    assert best["gain"]["low"] < best["gain"]["mean"] < best["gain"]["high"]
    code, said, _ = apportion("whatif", path, *vary, "-o", out, "--only", best["hash"][:9])
    assert (code, said.splitlines()[-1]) == (0, "the bits that were kept")
    kept = out / "points" / f"{best['hash']}.json"
    kept.write_text(kept.read_text().replace("[", "[1", 1))
    assert apportion("whatif", path, *vary, "-o", out, "--only", best["hash"][:9])[0] == 1
    code, said, _ = apportion("show", out)
    assert code == 0
    assert best["hash"][:12] in said
    assert "sixteen.yaml, 7 points, 2 failed" in said
    rows = json.loads(apportion("show", out, "--json")[1])["rows"]
    assert [row["seed"] for row in rows] == [3] * 7
    assert rows[-1]["mean_s"] is None


@pytest.mark.usefixtures("in_thread")
def test_the_report_of_a_resumed_run_is_that_of_an_undisturbed_one_to_the_byte(apportion, tmp_path):
    """Points failed in both; the date is in the manifest."""
    path, out = write(tmp_path), tmp_path / "out"
    vary = [*VARY, "--replications", "3"]
    assert apportion("whatif", path, *vary, "-o", out)[0] == 1
    whole = (out / "report.html").read_bytes()
    assert b"What failed" in whole
    lost = sorted((out / "points").iterdir())[:2]
    for point in lost:
        point.unlink()
    (out / "report.html").write_text("torn")
    code, said, _ = apportion("whatif", path, *vary, "-o", out, "--resume")
    assert code == 1
    assert f"Report    {out / 'report.html'}" in said
    assert (out / "report.html").read_bytes() == whole
    assert not list(out.glob(".report.html.*"))
    made = json.loads((out / "manifest.json").read_text())["provenance"]["made"]
    assert made[:16].encode() not in whole


@pytest.mark.usefixtures("in_thread")
def test_nothing_that_pays_is_said(apportion, tmp_path):
    code, said, _ = apportion("whatif", write(tmp_path), "--as-is", "--vary", f"{LINK}=/2,x1", "--replications", "200")
    assert code == 0
    assert said.startswith("No change pays: none is faster than the scenario as it is")


@pytest.mark.usefixtures("in_thread")
def test_advice_at_each_point(apportion):
    """Partitions of the scenario's own are not looked at: another problem size needs no others."""
    vary = ["--vary", "application.parameters.n=1000", "--advise", "--replications", "6"]
    code, said, errors = apportion("whatif", TWO_CORES, *vary, "--json")
    assert code == 0, errors
    points = json.loads(said)["points"]
    assert [sum(point["advice"]["partition"]) for point in points] == [2504, 1000]
    asked = read_template(TWO_CORES).as_now().scenario(["replications=6"], oversized=True)
    alone = advised(replace(asked, strata=200), 1)  # the 6 are some of the scenario's 200
    assert alone["advice"] == points[0]["advice"]
    assert all(point["best"] == "advised" for point in points)


CORES = """
platform:
  nodes: [{name: "n[1-2]", pes: [{cores: 2, speeds: {stencil: 2 Gflop/s}}]}]
  link: {latency: 30us, bandwidth: 10Gbit/s}
application: {name: stencil, kernel: stencil, parameters: {n: 2000, iterations: 10}}
configurations: {as-now: {partition: equal, allocation: {"n[1-2]": 2}}, other: {partition: by-speed}}
format: 1
"""


@pytest.mark.parametrize(
    ("field", "again"),
    [
        ("platform.nodes.n[1-2].pes.0.cores=4", True),
        ("platform.nodes.n[1-2].pes.0.load={trace: {times_s: [0], values: [1], end_s: 9}, rule: fair}", False),
        ("application.parameters.n=3000", False),
    ],
)
def test_work_is_divided_again_where_machines_change(field, again, tmp_path):
    (tmp_path / "s.yaml").write_text(CORES)
    varied = [read_varied(field)]
    assert (plan_whatif(tmp_path / "s.yaml", varied).ask is advised) == again
    assert plan_whatif(tmp_path / "s.yaml", varied, advise=not again).ask is (simulated if again else advised)


@pytest.mark.usefixtures("in_thread")
def test_more_cores_pay_as_they_get_work_and_what_runs_now_stands_beside(apportion, tmp_path):
    path, out = tmp_path / "s.yaml", tmp_path / "out"
    path.write_text(CORES)
    asked = ("whatif", path, "--vary", "platform.nodes.n[1-2].pes.0.cores=4", "-o", out)
    code, said, _ = apportion(*asked, "--as-is")
    assert (code, said.split(":")[0]) == (0, "No change pays")
    code, _, errors = apportion(*asked, "--resume")
    assert (code, "another rule by which work is divided" in errors) == (2, True), errors
    code, said, _ = apportion(*asked[:-2])
    assert code == 0
    assert "cores=4 pays most: " in said
    assert " divided again and " in " ".join(said.split())
    assert " as now; " in " ".join(said.split())


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ([], "--vary is missing; give at least one PATH=v1,v2,..."),
        (
            ["--zip", "--vary", "application.parameters.n=1,2", "--vary", f"{LINK}=x1"],
            (
                "--zip: there are 2 of application.parameters.n, 1 of "
                "platform.link.bandwidth; give equally many values of each"
            ),
        ),
        (
            ["--vary", f"{LINK}=1Gbit/s", "--workers", "2", "--dask", "tcp://a:1"],
            "--workers and --dask exclude each other; give one of them",
        ),
        (
            ["--vary", f"{LINK}=1Gbit/s", "--dask", "nowhere"],
            "--dask is 'nowhere'; give the address of a Dask scheduler: missing port number in address 'nowhere'",
        ),
    ],
)
def test_bad_input_is_one_line(apportion, monkeypatch, tmp_path, arguments, error):
    monkeypatch.setattr("simulator.experiments.sweep.scheduler.CONNECT_S", 0.2)
    code, said, errors = apportion("whatif", write(tmp_path), *arguments)
    assert (code, said) == (2, "")
    (line,) = errors.splitlines()
    assert line.startswith("error: ")
    assert error in line
