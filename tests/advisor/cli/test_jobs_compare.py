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
