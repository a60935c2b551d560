"""`apportion jobs compare | advise | forecast` as a user calls them: documents, files, text, one line per error."""

import csv
import json

import numpy as np
import pytest

from tests.support.command_line import apportion_here as apportion

WEEKS = 44


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A log of 44 weeks with a queue, 60 jobs a week on 8 PEs."""
    where, draw = tmp_path_factory.mktemp("logs"), np.random.default_rng(1)
    lines = ["; MaxProcs: 8\n"]
    for job, submit in enumerate(np.sort(draw.integers(0, WEEKS * 604_800 + 80_000, 60 * WEEKS)).tolist(), 1):
        size, run = int(draw.integers(1, 7)), int(np.ceil(draw.lognormal(9.3, 0.6)))
        limit = 600 * int(np.ceil(run * (1 + draw.exponential()) / 600))
        lines.append(f"{job} {submit} 0 {run} {size} -1 -1 {size} {limit} -1 1 {draw.integers(1, 9)} 1 1 1 1 -1 -1\n")
    (where / "log.swf").write_text("".join(lines))
    return where


def asked(folder, *arguments):
    done = apportion("jobs", *arguments, "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_compare_states_differences_and_keeps_the_draws(folder):
    arguments = ("compare", "log.swf", "--policies", "easy,sjf easy", "--procs", "8,9", "--replications", 30)
    found = asked(folder, *arguments, "-o", "out")
    assert [one["name"] for one in found["alternatives"]] == [
        f"{policy}, {pes} PEs" for policy in ("fcfs easy", "sjf easy") for pes in (8, 9)
    ]
    assert (found["draws"], found["replications"], found["units"], found["level"]) == ("weeks", 30, 44, 0.9)
    rows = [row for row in found["differences"] if row["metric"] == "wait"]
    values = {one["name"]: one["metrics"]["wait"] for one in found["alternatives"]}
    for row in rows:
        assert row["mean"] == pytest.approx(values[row["other"]] - values[row["base"]])
        assert row["low_together"] < row["low"] < row["mean"] < row["high"] < row["high_together"]
    assert rows[0]["other"] == "fcfs easy, 9 PEs"
    assert rows[0]["verdict"] == "less"
    with (folder / "out" / "draws.csv").open() as table:
        kept = list(csv.DictReader(table))
    assert len(kept) == 30 * 4 * 2
    assert json.loads((folder / "out" / "comparison.json").read_text())["differences"] == found["differences"]
    assert json.loads((folder / "out" / "manifest.json").read_text())["command"] == "jobs compare"


def test_a_generator_in_place_of_a_log(folder):
    arguments = ("--model", "lublin", "--jobs", 300, "--procs", 32, "--load", 0.5, "--replications", 12)
    found = asked(folder, "compare", *arguments, "--policies", "easy,conservative", "--metric", "slowdown")
    assert (found["draws"], found["jobs"], found["units"]) == ("streams", 300, None)
    assert found["differences"][0]["base"] == "fcfs easy"


def test_advice_names_what_pays_most_and_per_price(folder):
    found = asked(folder, "advise", "log.swf", "--add", "4", "--price", "add=100,policy=1", "--replications", 60)
    assert found["pays_most"] == "4 PEs more"
    assert found["pays_most_per_price"].startswith("policy ")
    assert found["sentence"].startswith("4 PEs more pays most: it lowers the mean wait by ")
    few = asked(folder, "advise", "log.swf", "--first", "1200", "--replications", 40)
    assert "40 are needed" in few["refused"]
    assert few["pays_most"] is None


def test_a_forecast_of_a_start(folder):
    runs = apportion("jobs", "run", "log.swf", "-o", "ran", cwd=folder)
    assert runs.returncode == 0
    with (folder / "ran" / "jobs.csv").open() as table:
        rows = [row for row in csv.DictReader(table) if float(row["start_s"]) > float(row["submit_s"])]
    held = []
    for row in rows[100:136:6]:
        found = asked(folder, "forecast", "log.swf", "--job", row["job"])
        assert found["submit_s"] <= found["low_s"] <= found["median_s"] <= found["high_s"]
        held.append(found["low_s"] <= float(row["start_s"]) <= found["high_s"])
    assert sum(held) >= 4, "of six, five or all are expected"
    done = apportion("jobs", "forecast", "log.swf", "--job", rows[100]["job"], cwd=folder)
    assert f"Job {rows[100]['job']} " in done.stdout
    assert " waits " in done.stdout or "starts at once" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["compare"], "jobs: name a log, or a generator by --model lublin; one of the two"),
        (["compare", "log.swf", "--first", "20"], "whole weeks, and there is nothing to draw from"),
        (["compare", "log.swf", "--estimates", "limits"], "estimates: there is no 'limits'"),
        (["forecast", "log.swf", "--job", "9999"], "has no job 9999"),
    ],
)
def test_what_cannot_be_answered_is_one_line(folder, arguments, said):
    done = apportion("jobs", *arguments, cwd=folder)
    assert done.returncode == 2
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
