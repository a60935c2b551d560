"""`apportion jobs run` on a platform: applications predicted and simulated, sizes, draws, policies of users' own."""

import csv
import json

import numpy as np
import pytest

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
        ([*ON, "--draw", "1"], "--draw 1: the platform has no loads that are drawn"),
        (["--platform", "loaded.yaml", *ON[2:], "--draw", "3"], "--draw 3: the platform has draws 0 to 2"),
        ([*ON, "--policy", "own.py", "--sizes", "fit"], "--sizes has no effect with --policy"),
    ],
)
def test_what_does_not_go_together_is_one_line(folder, arguments, said):
    refused(folder, arguments, said)


def test_a_number_of_processes_and_a_range_are_one_too_many(folder):
    (folder / "jobs.csv").write_text(JOBS.replace("ep,,1,4", "ep,2,1,4"))
    refused(folder, ON, "processes: the job has least and most too")


def test_applications_of_jobs_that_were_left_out_are_passed_over(folder):
    _, rows = run(folder, *ON, "--first", "1")
    assert list(rows) == ["1"]
