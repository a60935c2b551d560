"""`apportion jobs run` as a user calls it: documents, files, exit codes, one line per error."""

import csv
import json
from pathlib import Path
from typing import get_args

import pytest

from advisor.cli.jobs import Plan, Rules
from simulator.scheduling.estimates import CORRECTIONS, SOURCES
from simulator.scheduling.policy import WORDS
from tests.support.command_line import apportion_here as apportion
from tests.support.job_logs import MANY_JOBS

LOGS = Path(__file__).parents[4] / "shared" / "data" / "jobs" / "swf"
JOB = "{} {} 0 {} {} -1 -1 {} {} -1 1 7 1 -1 -1 -1 -1 -1\n"
HEAD = "; MaxProcs: 4\n"


def line(job, submit, run, processors, limit):
    return JOB.format(job, submit, run, processors, processors, limit)


SMALL = HEAD + line(1, 0, 100, 2, 200) + line(2, 10, 50, 4, 60) + line(3, 20, 30, 2, 180) + line(4, 30, 5, 1, 5)
"""Two PEs are free beside job 1; job 2 waits for four; jobs 3 and 4 fit and, under EASY, end before 200 s."""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "small.swf").write_text(SMALL)
    (tmp_path / "many.swf").write_text(MANY_JOBS)
    return tmp_path


def document(*arguments, cwd):
    done = apportion("jobs", "run", *arguments, "--json", cwd=cwd)
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)


def rows(path):
    with path.open(newline="") as stream:
        return list(csv.DictReader(stream))


def starts(folder, *arguments):
    done = apportion("jobs", "run", "small.swf", "-o", "out", *arguments, cwd=folder)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return {row["job"]: row["start_s"] for row in rows(folder / "out" / "jobs.csv")}


def test_each_policy_starts_jobs_by_its_definition(folder):
    """Under EASY job 3 (planned to 200 s, the shadow time) may pass; under FCFS nobody passes job 2."""
    assert starts(folder, "--backfill", "none") == {"1": "0", "2": "100", "3": "150", "4": "150"}
    assert starts(folder) == {"1": "0", "2": "100", "3": "20", "4": "50"}
    assert starts(folder, "--order", "sjf", "--backfill", "none") == {"1": "0", "2": "100", "3": "150", "4": "30"}


def test_a_folder_has_the_table_the_page_and_the_manifest(folder):
    done = apportion("jobs", "run", "many.swf", "--processors", "named", "--first", "40", "-o", "out", cwd=folder)
    assert done.returncode == 0, done.stderr
    table = rows(folder / "out" / "jobs.csv")
    assert list(table[0])[:5] == ["job", "submit_s", "start_s", "finish_s", "processors"]
    assert len(table) == 40
    assert all(held(row["allocated"]) == int(row["processors"]) for row in table)
    manifest = json.loads((folder / "out" / "manifest.json").read_text())
    assert manifest["command"] == "jobs run"
    assert manifest["stream"]["notes"][-1] == "the first 40 of 60 jobs taken"
    text = (folder / "out" / "report.html").read_text()
    assert len(text) < 1_500_000
    for said in ("Averages over the jobs", "Busy PEs and queue over time"):
        assert said in text


def held(text):
    ends = [part.split("-") for part in text.split()]
    return sum(int(part[-1]) - int(part[0]) + 1 for part in ends)


def test_other_files_are_written(folder):
    done = apportion("jobs", "run", "small.swf", "--jobs", "done.swf", cwd=folder)
    assert done.returncode == 0, done.stderr
    ran = [row.split() for row in (folder / "done.swf").read_text().splitlines() if not row.startswith(";")]
    assert [(row[0], row[1], row[2], row[3]) for row in ran][1] == ("2", "10", "90", "50")


@pytest.mark.parametrize(
    ("text", "arguments", "said"),
    [
        (SMALL.replace(HEAD, ""), [], "--procs"),
        (SMALL, ["--warm-up", "1"], "warm-up: 1 is no share"),
        (SMALL, ["--processors", "named", "--same-second", "event"], "same_second event"),
        ("no log at all\n", [], "in.swf"),
    ],
)
def test_bad_input_is_one_line(tmp_path, text, arguments, said):
    (tmp_path / "in.swf").write_text(text)
    done = apportion("jobs", "run", "in.swf", "-o", "out", *arguments, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1, done.stderr
    assert said in done.stderr
    assert not (tmp_path / "out").exists()


def test_the_words_of_options_are_those_of_the_simulator():
    def words(group, option):
        return set(get_args(group.__annotations__[option]))

    for option in ("order", "backfill", "candidates", "processors", "placement", "same_second"):
        assert words(Rules, option) == set(get_args(WORDS[option])) - {"multifactor"}  # which --slurm says
    assert words(Plan, "estimates") == set(SOURCES) - {"given"} | {"predicted"}
    assert words(Plan, "correction") == set(CORRECTIONS)


@pytest.mark.slow
def test_published_averages_are_printed():
    """Mean wait and bounded slowdown of the first 3,000 jobs of KTH-SP2 under pyss."""
    path = LOGS / "KTH-SP2-1996-2.swf.gz"
    if not path.exists():
        pytest.skip(f"{path.name} is missing")
    known = ("--clean", "strong", "--first", "3000", "--same-second", "event", "--warm-up", "0")
    for arguments, wait, slow in (
        (["--backfill", "easy"], "7831.06", "111.814"),
        (["--backfill", "conservative"], "7224.73", "95.629"),
    ):
        found = document(path, *arguments, *known, cwd=path.parent)["averages"]
        assert (f"{found['wait_s']:.2f}", f"{found['bounded_slowdown']:.3f}") == (wait, slow)
