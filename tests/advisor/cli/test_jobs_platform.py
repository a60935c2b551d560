"""`apportion jobs run` on a platform: applications predicted and simulated, sizes, draws, policies of users' own."""

import csv
import json

import numpy as np
import pytest

from simulator.models import fit, make_runs
from tests.support.command_line import apportion_here as apportion

PLATFORM = """
format: 1
platform:
  nodes:
    - {name: fast, count: 4, memory: 8GiB, pes: [{speeds: {dgemm: 4 Gflop/s}LOAD}]}
    - {name: slow, count: 4, memory: 1GiB, pes: [{speeds: {dgemm: 1 Gflop/s}}]}
  network: {topology: star, link: {latency: 1us, bandwidth: 40Gbit/s}, contention: CONTENTION}
application: {name: matmul, kernel: dgemm, parameters: {n: 1000}}
configurations: {equal: {partition: equal}}
replications: 3
"""
LOAD = ", load: {trace: {times_s: [0, 5], values: [0, 1], end_s: 10}, rule: fair}"
JOBS = """application,processes,least,most,submitted_s,limit_s,user,samples,volume
ep,4,,,0,30,ann,8000,4e6
ep,4,,,0,30,bob,8000,4e6
ep,,1,4,1,60,ann,8000,4e6
ep,2,,,1,12,cem,4000,1e6
"""
"""32 Gflop on 4 PEs: 2 s on fast ones, 8 s on slow ones; and 4 Gflop on 2."""
MOLDABLE = """application,processes,least,most,submitted_s,limit_s,samples,volume
ep,2,,,0,60,8000,4e6
ep,,1,4,1,60,8000,4e6
"""
ON = ("--platform", "p.yaml", "--processors", "named")
SHORT = "; MaxProcs: 8\n1 0 0 10 2 -1 -1 2 20 -1 1 7 1 -1 -1 -1 -1 -1\n"

OWN = """
from __future__ import annotations
from dataclasses import dataclass

@dataclass
class Plan:
    jobs: list

def decide(seen):
    free, plan = seen.free, Plan([])
    for job in seen.waiting:
        if job.processors > free:
            break
        free -= job.processors
        plan.jobs.append(job)
    return plan.jobs

def fastest(seen):
    pes = sorted(seen.free_pes, key=lambda pe: (seen.slowness[pe], pe))
    job = seen.waiting[0]
    return [(job, pes[:job.processors])] if job.processors <= seen.free else []

def twice(seen): return [seen.waiting[0]] * 2
"""


@pytest.fixture
def folder(tmp_path):
    platform = PLATFORM.replace("CONTENTION", "fair")
    (tmp_path / "p.yaml").write_text(platform.replace("LOAD", ""))
    (tmp_path / "loaded.yaml").write_text(platform.replace("LOAD", LOAD))
    (tmp_path / "jobs.csv").write_text(JOBS)
    (tmp_path / "short.swf").write_text(SHORT)
    (tmp_path / "own.py").write_text(OWN)
    return tmp_path


def run(folder, *arguments, log="jobs.csv"):
    """The document, and rows of jobs.csv by job."""
    done = apportion("jobs", "run", log, *arguments, "--warm-up", "0", "--json", "-o", "out", cwd=folder)
    told = [line for line in done.stderr.splitlines() if not line.startswith("compiling the simulator")]
    assert (done.returncode, told) == (0, []), done.stderr
    with (folder / "out" / "jobs.csv").open(newline="") as stream:
        rows = {row["job"]: row for row in csv.DictReader(stream)}
    return json.loads(done.stdout), rows


def column(rows, name, kind=float):
    return [kind(row[name]) for row in rows.values()]


def lasted(rows):
    return [end - start for start, end in zip(column(rows, "start_s"), column(rows, "finish_s"), strict=True)]


@pytest.mark.parametrize("times", ["predicted", "simulated"])
def test_jobs_take_the_time_of_their_slowest_pe(folder, times):
    """The first two jobs fill the platform; the third one asks for the most that it may have."""
    document, rows = run(folder, *ON, "--times", times, "--engine", "process")
    assert column(rows, "allocated", str) == ["0-3", "4-7", "0-3", "0-1"]
    starts, ends = column(rows, "start_s"), column(rows, "finish_s")
    assert starts == pytest.approx([0, 0, 2, 4], abs=1e-3)
    assert ends == pytest.approx([2, 8, 4, 4.5], abs=1e-3)
    assert (document["pes"], document["engine"]) == (8, "process")
    assert document["averages"]["turnaround_s"] == pytest.approx((2 + 8 + 3 + 3.5) / 4, abs=1e-3)


def test_both_engines_give_the_same(folder):
    found = [run(folder, *ON, "--times", "simulated", "--engine", engine)[1] for engine in ("process", "compiled")]
    assert found[0] == found[1]


def test_sizes_are_as_asked_fitted_or_advised(folder):
    """Beside the first job 4 processes take 8 s, two of them on slow PEs; 2 on the free fast ones 4 s."""
    (folder / "jobs.csv").write_text(MOLDABLE)
    on = (*ON, "--estimates", "predicted")
    _, rows = run(folder, *on)
    assert column(rows, "allocated", str) == ["0-1", "2-5"]
    assert column(rows, "finish_s") == pytest.approx([4, 9], abs=1e-3)
    document, rows = run(folder, *on, "--sizes", "fit", "--placement", "fastest")
    assert column(rows, "allocated", str) == ["0-1", "2-3"]
    assert column(rows, "finish_s") == pytest.approx([4, 5], abs=1e-3)
    assert document["policy"]["name"] == "fcfs easy named fastest sizes fit"
    document, rows = run(folder, *on, "--sizes", "advised")
    assert column(rows, "processors", int) == [2, 4], "4 processes are as efficient as 1"
    assert document["stream"]["notes"][-1].startswith("sizes of moldable jobs by the best of 7 rules: efficiency")


def test_estimates_are_predicted_or_fitted(folder):
    document, rows = run(folder, *ON, "--estimates", "predicted", "--quantile", "0.9")
    assert document["estimates"]["label"] == "predicted p90, next quantile"
    assert column(rows, "estimate_s") == pytest.approx([2, 8, 2, 0.5], abs=1e-3)
    values = {"samples": np.array([1e3, 2e3, 3e3, 4e3, 8e3])}
    model = fit({"time": "samples"}, {"time": make_runs(values, values["samples"] / 1e3)}, method="ols")
    (folder / "model.json").write_text(json.dumps(model.to_dict()))
    document, rows = run(folder, *ON, "--estimates", "fit", "--model", "model.json", "--quantile", "0.5")
    assert column(rows, "estimate_s") == pytest.approx([8, 8, 8, 4])
    assert document["estimates"]["label"] == "fit p50, next quantile"


def test_draws_are_those_of_the_platform(folder):
    """Fast PEs are halved in 5 of 10 s; the draw is the same whether times are predicted or simulated."""
    on = ("--platform", "loaded.yaml", "--processors", "named", "--first", "1")
    found = {}
    for times in ("predicted", "simulated"):
        found[times] = [lasted(run(folder, *on, "--times", times, "--draw", f"{draw}")[1]) for draw in range(2)]
    assert np.array(found["predicted"]) == pytest.approx(np.array(found["simulated"]), abs=2e-9)
    assert len({one[0] for one in found["predicted"]}) > 1


def test_advice_on_a_platform_tells_its_changes_from_drawn_loads(folder):
    """What the tutorial on jobs shows, in small: loads are drawn, and a change of the platform is priced."""
    change = "platform.nodes.slow.pes.0.speeds.dgemm=4 Gflop/s"
    asked = ("--change", change, "--price", "change=100", "--draws", "loads", "--replications", "3")
    done = apportion("jobs", "jobs.csv", "--platform", "loaded.yaml", *asked, "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    rows = {row["name"]: row for row in json.loads(done.stdout)["candidates"]}
    assert rows[change]["gain"]["mean"] > 0
    assert rows[change]["price"] == 100


def test_a_platform_runs_durations_at_its_speeds(folder):
    _, rows = run(folder, *ON, "--placement", "lowest", log="short.swf")
    assert lasted(rows) == [10.0]
    (folder / "p.yaml").write_text((folder / "p.yaml").read_text().replace("fast, count: 4", "fast, count: 1"))
    _, rows = run(folder, *ON, "--procs", "5", log="short.swf")
    assert (lasted(rows), rows["1"]["killed"]) == ([20.0], "1"), "a quarter of the speed, ended by its limit"


def test_a_policy_of_ones_own_decides(folder):
    document, rows = run(folder, *ON, "--policy", "own.py")
    assert document["policy"]["name"] == "own.py named"
    assert column(rows, "allocated", str) == ["0-3", "4-7", "0-3", "0-1"]
    _, rows = run(folder, *ON, "--policy", "own.py:fastest", "--times", "simulated")
    assert column(rows, "allocated", str)[0] == "0-3"
    assert run(folder, "--policy", "own.py", log="short.swf")[0]["policy"]["name"] == "own.py"


BAD_FILES = {
    "zero.py": ("x = 1 / 0\n", "zero.py fails with ZeroDivisionError: division by zero"),
    "leaves.py": ("import sys\nsys.exit(0)\n", "leaves.py fails with SystemExit: 0"),
    "empty.py": ("", "empty.py has no function decide; define decide(seen)"),
    "text.txt": ("def decide(seen): return []\n", "text.txt is no Python file"),
}


@pytest.mark.parametrize(
    ("named", "said"),
    [
        ("missing.py", "--policy: there is no file missing.py"),
        ("own.py:other", "--policy: own.py has no function other; define other(seen)"),
        ("own.py:twice", "policy own.py:twice at 0 s: it starts job 1 twice"),
        *((name, f"--policy: {said}") for name, (_, said) in BAD_FILES.items()),
    ],
)
def test_faults_of_a_policy_are_one_line(folder, named, said):
    if named in BAD_FILES:
        (folder / named).write_text(BAD_FILES[named][0])
    refused(folder, [*ON, "--policy", named], said)


def refused(folder, arguments, said, log="jobs.csv"):
    done = apportion("jobs", "run", log, "-o", "out", *arguments, cwd=folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1, done.stderr
    assert said in done.stderr
    assert not (folder / "out").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (ON[:2], "processors counted: the cluster's PEs differ"),
        ([*ON, "--estimates", "fit"], "--estimates fit: no regression is named"),
        ([*ON, "--draw", "1"], "--draw 1: the platform has no loads that are drawn"),
        (["--platform", "loaded.yaml", *ON[2:], "--draw", "3"], "--draw 3: the platform has draws 0 to 2"),
        ([*ON, "--policy", "own.py", "--sizes", "fit"], "--sizes has no effect with --policy"),
    ],
)
def test_what_does_not_go_together_is_one_line(folder, arguments, said):
    refused(folder, arguments, said)


def test_jobs_get_pes_with_the_memory_that_they_need(folder):
    """Only the four fast PEs have 4 GiB."""
    job = "{job} 0 0 10 {size} -1 -1 {size} 20 {kib} 1 7 1 -1 -1 -1 -1 -1\n"
    (folder / "needs.swf").write_text("; MaxProcs: 8\n" + job.format(job=7, size=5, kib=2**22))
    refused(folder, ON, "job 7 finds too few PEs with the memory that it needs", log="needs.swf")
    lines = job.format(job=1, size=3, kib=0) + "".join(job.format(job=one, size=1, kib=2**22) for one in (2, 3))
    (folder / "needs.swf").write_text("; MaxProcs: 8\n" + lines)
    _, rows = run(folder, *ON, log="needs.swf")
    assert column(rows, "allocated", str) == ["0-2", "3", "0"]
    _, rows = run(folder, *ON, "--placement", "memory", log="needs.swf")
    assert column(rows, "allocated", str) == ["4-6", "0", "1"]


def test_a_number_of_processes_and_a_range_are_one_too_many(folder):
    (folder / "jobs.csv").write_text(JOBS.replace("ep,,1,4", "ep,2,1,4"))
    refused(folder, ON, "processes: the job has least and most too")


def test_applications_of_jobs_that_were_left_out_are_passed_over(folder):
    _, rows = run(folder, *ON, "--first", "1")
    assert list(rows) == ["1"]
