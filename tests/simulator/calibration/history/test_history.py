"""The run history: what goes in comes out, from several processes at once and in other programs' formats."""

import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from advisor.cli import _run
from simulator.base.errors import ApportionError, CalibrationError, ScenarioError
from simulator.calibration import (
    RunRecord,
    add_runs,
    export_runs,
    import_runs,
    list_runs,
    make_plan,
    parse_grid,
    record_runs,
)
from simulator.calibration.history.store import fit_table, is_history
from tests.support.mutated_files import Foreign, accepted_in_silence, add_column, double_column, misspell

ROOT = Path(__file__).parents[4]
RECORDS = [
    RunRecord(
        "hpl",
        {"N": 8000, "P": 2.0},
        {"total": 174.07, "communication": 12.5},
        version="2.3",
        machine="a",
        made="2026-01-01T00:00:00+00:00",
    ),
    RunRecord(
        "hpl",
        {"N": 8000, "P": 2.0},
        {"total": 175.5, "communication": 12.75},
        version="2.3",
        machine="a",
        made="2026-01-02T00:00:00+00:00",
    ),
    RunRecord(
        "hpl",
        {"N": 9000, "P": 4.5},
        {"total": 100.25, "communication": 20.0},
        version="2.3",
        machine="b",
        made="2026-01-03T00:00:00+00:00",
    ),
]


@pytest.fixture
def central_europe(monkeypatch):
    """One hour before UTC, two in summer, by a rule that needs no table of zones."""
    monkeypatch.setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.usefixtures("central_europe")
def test_a_time_keeps_its_zone_or_gets_this_machines(tmp_path):
    """In a table, on the command line, and for records made in Python; what a zone is missing from is refused there."""
    table = tmp_path / "runs.csv"
    table.write_text(
        "N,made,total_s\n1,2026-01-02T03:04:05,1\n2,2026-07-02 03:04,1\n3,2026-01-02T03:04:05-05:00,1\n4,2026-01-02,1\n"
    )
    made = ["2026-01-02T03:04:05+01:00", "2026-07-02T03:04:00+02:00", "2026-01-02T03:04:05-05:00"]
    records, _ = import_runs(table, application="a")
    assert [record.made for record in records] == [*made, "2026-01-02T00:00:00+01:00"]
    path = tmp_path / "h.sqlite"
    with pytest.raises(ScenarioError, match=r"^run 1: made: '2026-01-02T03:04:05' is no time with a zone$"):
        add_runs(path, [RunRecord("a", {}, {"total": 1.0}, made="2026-01-02T03:04:05")])


def test_a_name_that_no_run_lacks_is_refused(tmp_path):
    """`--app` names runs whose rows name none; where every row names its application it would be ignored."""
    table = tmp_path / "runs.csv"
    table.write_text("application,N,total_s\nhpl,1,1\nhpl,2,2\n")
    with pytest.raises(ScenarioError, match=r"runs.csv: every row names its application, so --app ep has no effect"):
        import_runs(table, application="ep")
    table.write_text("application,N,total_s\nhpl,1,1\n,2,2\n")
    assert [record.application for record in import_runs(table, application="ep")[0]] == ["hpl", "ep"]


@pytest.mark.parametrize("when", ["nonsense", "", "1763700000", "2026-13-01", "now", "12:30", "2026-01-02T03:04+99:00"])
def test_what_is_no_time_is_refused(tmp_path, capsys, when):
    hint = "write it as 2026-11-21T14:30+01:00; without a zone it is this machine's local time"
    path, jobs, table = tmp_path / "h.sqlite", tmp_path / "jobs", tmp_path / "runs.csv"
    if not when:
        return  # in a file an empty cell is a time that nobody knows
    table.write_text(f"N,made,total_s\n1,{when},1\n")
    jobs.write_text(f"JobID|Start|Elapsed\n7|{when}|00:01:00\n")
    for file, place in ((table, f"{table}:2: made"), (jobs, f"{jobs}: job 7: Start or Submit")):
        assert _run(["convert", str(file), str(path), "--app", "a"]) == 2
        assert capsys.readouterr().err == f"error: {place}: {when!r} is no date and time; {hint}\n"
    assert not path.exists()


def test_what_is_added_is_listed_in_order(tmp_path):
    path = tmp_path / "h.sqlite"
    assert add_runs(path, RECORDS[:2]) == 2
    assert add_runs(path, [RECORDS[2], RunRecord("ep", {}, {"total": 1.0}, made="")]) == 4
    assert list_runs(path, application="hpl") == RECORDS
    assert [record.application for record in list_runs(path)] == ["hpl"] * 3 + ["ep"]
    assert list_runs(path, application="hpl", version="2.4") == []


def test_several_processes_add_at_once(tmp_path):
    path = tmp_path / "h.sqlite"
    code = (
        "import sys; from pathlib import Path; from simulator.calibration import RunRecord, add_runs\n"
        "print('ready', flush=True); sys.stdin.readline()\n"
        "for i in range(25): add_runs(Path(sys.argv[1]), [RunRecord(sys.argv[2], {'i': i}, {'total': 1.0})])"
    )
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    children = [subprocess.Popen([sys.executable, "-c", code, str(path), name], cwd=ROOT, **pipes) for name in "ab"]
    assert [child.stdout.readline() for child in children] == [b"ready\n"] * 2
    for child in children:
        child.stdin.write(b"go\n")
        child.stdin.flush()
    assert [child.communicate()[1].decode() for child in children] == [""] * 2
    runs = list_runs(path)
    assert len(runs) == 50
    for name in "ab":
        assert [record.parameters["i"] for record in runs if record.application == name] == list(range(25))


def test_faulty_runs_are_refused_and_nothing_is_kept(tmp_path):
    path = tmp_path / "h.sqlite"
    bad = RunRecord("hpl", {"N": float("nan"), "x": 1}, {"total": -1.0, "x": 2.0})
    with pytest.raises(ScenarioError) as error:
        add_runs(path, [RECORDS[0], bad])
    assert error.value.lines == (
        "run 2: N is nan; give a finite number",
        "run 2: total is -1 s; give a finite time of 0 s or more",
        "run 2: x is a parameter and a time; give it one meaning",
    )
    add_runs(path, RECORDS[:1])
    assert list_runs(path) == RECORDS[:1]


def test_other_files_are_not_taken_for_histories(tmp_path):
    other, text, missing = tmp_path / "o.sqlite", tmp_path / "t", tmp_path / "m"
    with sqlite3.connect(other) as database:
        database.execute("CREATE TABLE mine (x)")
    database.close()
    text.write_text("hello " * 1000)
    for path in (other, text):
        with pytest.raises(ApportionError, match="run history"):
            add_runs(path, RECORDS)
    with pytest.raises(ScenarioError, match="no such file"):
        list_runs(missing)
    assert not missing.exists()


def test_a_pipe_in_the_place_of_a_history_is_refused_without_waiting(tmp_path):
    path = tmp_path / "runs.sqlite"
    os.mkfifo(path)
    for work in (list_runs, lambda pipe: add_runs(pipe, RECORDS)):
        with pytest.raises(ScenarioError, match=r"runs\.sqlite: this is a device or a pipe"):
            work(path)
    assert not is_history(path)


@pytest.mark.parametrize("kind", ["csv", "extrap-json"])
def test_exports_are_read_back(tmp_path, kind):
    path = tmp_path / "runs"
    path.write_text(export_runs(RECORDS, kind))
    back, left_out = import_runs(path, application="hpl")
    assert left_out == []
    assert [(r.application, dict(r.parameters), dict(r.times_s)) for r in back] == [
        (r.application, dict(r.parameters), dict(r.times_s)) for r in RECORDS
    ]
    if kind == "csv":
        assert back == RECORDS


def test_extrap_json_is_the_documented_form():
    document = json.loads(export_runs(RECORDS, "extrap-json"))
    assert document["parameters"] == ["N", "P"]
    assert document["measurements"]["total"]["time"][0] == {"point": [8000, 2.0], "values": [174.07, 175.5]}


if shutil.which("extrap"):

    @pytest.mark.slow
    def test_extra_p_finds_the_law_in_what_we_write(tmp_path):
        """3 s and 2e-9 N^3 s, five sizes, three runs each, one per cent of scatter."""
        sizes = [(n, scatter) for n in (500, 1000, 2000, 4000, 8000) for scatter in (0.99, 1.0, 1.01)]
        records = [RunRecord("lu", {"N": n}, {"total": scatter * (3 + 2e-9 * n**3)}) for n, scatter in sizes]
        (tmp_path / "runs").write_text(export_runs(records, "extrap-json"))
        command = ["extrap", "--json", str(tmp_path / "runs"), "--disable-progress"]
        said = subprocess.run(command, capture_output=True, text=True, check=True, timeout=100).stdout
        (model,) = re.findall(r"Model: (\S+) \+ (\S+) \* N\^\(3\)\n", said)
        assert [float(term) for term in model] == pytest.approx([3, 2e-9], rel=0.01)


def test_slurm_jobs_are_read_without_steps_and_failures(tmp_path):
    path = tmp_path / "jobs"
    path.write_text(
        "JobIDRaw|JobName|Start|Elapsed|NNodes|NCPUS|State|Partition\n"
        "123|lu|2026-11-21T01:02:00|01:00:30|2|64|COMPLETED|big\n"
        "123.0|lu|2026-11-21T01:02:00|01:00:29|2|64|COMPLETED|\n"
        "124|lu|Unknown|2-00:00:01|4|128|COMPLETED|big\n"
        "125|lu|2026-11-21T01:02:00|00:00:30|2|64|FAILED|big\n"
    )
    records, left_out = import_runs(path)
    assert [(r.parameters, r.times_s) for r in records] == [
        ({"NNodes": 2.0, "NCPUS": 64.0}, {"total": 3630.0}),
        ({"NNodes": 4.0, "NCPUS": 128.0}, {"total": 172801.0}),
    ]
    assert [line.partition(": ")[2] for line in left_out] == [
        "1 job steps left out: they repeat their jobs",
        "1 jobs left out: not completed",
    ]


@pytest.mark.usefixtures("central_europe")
def test_slurm_arrays_heterogeneous_jobs_memory_and_what_has_not_ended(tmp_path):
    """Rows as `sacct -P --noconvert` prints them: MaxRSS stands with steps only, an array's tasks are jobs."""
    path = tmp_path / "jobs"
    path.write_text(
        "JobID|Start|End|ElapsedRaw|NNodes|NCPUS|ReqMem|MaxRSS|State|NodeList\n"
        "200_4|2026-11-21T01:00:00|2026-11-21T01:10:00|600|1|8|16G||COMPLETED|n1\n"
        "200_4.batch|2026-11-21T01:00:00|2026-11-21T01:10:00|600|1|8||123456K|COMPLETED|n1\n"
        "200_4.0|2026-11-21T01:00:00|2026-11-21T01:10:00|599|1|8||223456K|COMPLETED|n1\n"
        "200_[5-9]|Unknown|Unknown|0|1|8|16G||PENDING|None assigned\n"
        "301+0|2026-11-21T02:00:00|2026-11-21T02:10:00|601|1|8|16G||COMPLETED|n1\n"
        "301+0.0|2026-11-21T02:00:00|2026-11-21T02:10:00|600|1|8||9K|COMPLETED|n1\n"
        "301+1|2026-11-21T02:00:00|2026-11-21T02:10:01|602|3|96|16G||COMPLETED|n[02-04]\n"
        "302+0|2026-11-21T02:00:00|2026-11-21T02:10:00|60|1|8|16G||COMPLETED|n1\n"
        "302+1|2026-11-21T02:00:00|2026-11-21T02:10:01|60|3|96|16G||CANCELLED by 1000|n[02-04]\n"
        "303|2026-11-21T02:00:00|Unknown|77|3|96|16G||COMPLETED|n[02-04]\n"
    )
    records, left_out = import_runs(path)
    assert [(r.parameters, r.times_s, r.made) for r in records] == [
        ({"NNodes": 1.0, "NCPUS": 8.0}, {"total": 600.0}, "2026-11-21T01:00:00+01:00"),
        ({"NNodes": 4.0, "NCPUS": 104.0}, {"total": 602.0}, "2026-11-21T02:00:00+01:00"),
    ]
    assert [line.partition(": ")[2][:10] for line in left_out] == ["3 job step", "3 jobs lef", "columns no"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("N,P\n1,2\n", "a column that ends in _s is missing; the columns are N, P"),
        (
            "JobID|State\n1|COMPLETED\n",
            "the columns are JobID, State, without JobID or Elapsed (raw or not); run sacct -P without -n",
        ),
        ("JobID|Elapsed\n1|soon\n", ":2: Elapsed is 'soon'; give [DD-]HH:MM:SS or seconds"),
    ],
)
def test_bad_imports_say_where(tmp_path, text, message):
    path = tmp_path / "runs"
    path.write_text(text)
    with pytest.raises(ScenarioError) as error:
        import_runs(path, application="a")
    assert message in str(error.value)


def test_a_command_is_run_over_its_grid_and_its_parts_are_kept():
    code = "import sys,json; print('hi'); print(json.dumps({'compute_s': float(sys.argv[1])/1000, 'note': 3}))"
    plan = make_plan("run {N} x{P}", parse_grid("N=1:2,P=3"), budget="20s", name="a", repetitions=2)
    assert plan.command == ("run", "{N}", "x{P}")
    plan = replace(plan, command=(sys.executable, "-c", code, "{N}", "x{P}"))
    kept = []
    assert record_runs(plan, kept.append, version="v") == []
    assert [record.parameters for record in kept] == [{"N": 1.0, "P": 3.0}, {"N": 2.0, "P": 3.0}] * 2
    assert [record.times_s["compute"] for record in kept] == [0.001, 0.002] * 2
    assert all(0 < record.times_s["total"] < 20 for record in kept)
    assert kept[0].version == "v"


@pytest.mark.real
def test_the_budget_stops_a_run_and_says_how_far_it_came():
    plan = make_plan("sleep {N}", parse_grid("N=0.01:30"), budget="1s", repetitions=1)
    kept = []
    assert record_runs(plan, kept.append) == ["budget of 1 s used up after 1 of 2 runs"]
    assert [record.application for record in kept] == ["sleep"]


@pytest.mark.parametrize(
    ("command", "grid", "message"),
    [
        ("run", "N=1", r"grid: N has no place in the command; write \{N\} there, or leave it out"),
        (
            "",
            "N=1",
            r"command is empty; name a program; grid: N has no place in the command",
        ),
        ("run {N}", "N=1:x", "grid: N: 'x' is no number; give a finite one"),
        ("run {N}", "1:2", r"grid: '1:2' has no name; write NAME=VALUE:VALUE:\.\.\."),
        ("run {N}", "N=1,N=2", "grid: 'N' is no name, or comes twice; name each parameter once"),
    ],
)
def test_bad_plans_are_refused(command, grid, message):
    with pytest.raises(ScenarioError, match=message):
        make_plan(command, parse_grid(grid), budget="1s", repetitions=1)


def test_a_failing_command_is_told_with_its_last_words():
    plan = make_plan("ls /no-such-folder-{N}", parse_grid("N=1"), budget="5s", repetitions=1)
    with pytest.raises(
        CalibrationError, match=r"command: ls /no-such-folder-1: ended with exit status 2: .*no-such-folder-1"
    ):
        record_runs(plan, lambda _: None)


def test_columns_that_no_formula_names_are_named_and_programs_kept_apart(tmp_path):
    """Two programs, as in a public question; a column of dates tells nothing apart."""
    path = tmp_path / "runs.csv"
    rows = [f"{code},{n},{n % 7},2026-01-{day:02},{slope * n / 100}" for code, slope in (("a", 1), ("b", 3))
            for day, n in enumerate((100, 200, 400, 800), 1)]  # fmt: skip
    path.write_text("\n".join(["code,n,extra,made,time_s", *rows]))
    with pytest.raises(ScenarioError, match=r"code tells runs of 2 programs or cases apart \(a, b\), .* by --app a"):
        fit_table(path, ["n"])
    for code, expected in (("a", 8), ("b", 24)):
        found = fit_table(path, ["n"], application=code).model
        assert found.predict({"n": 800}).mean_s[0] == pytest.approx(expected, rel=0.01)
        assert "columns that no formula names are not used: extra, made" in found.warnings
        assert found.predict({"n": 800}).observed[0].runs == 1
    with pytest.raises(ScenarioError, match=r"no column of texts holds 'A'; did you mean a\?"):
        fit_table(path, ["n"], application="A")
    path.write_text("\n".join(row.partition(",")[2] for row in ["code,n,extra,made,time_s", *rows[:4]]))
    assert fit_table(path, ["n"]).model.warnings[-1].endswith("not used: extra, made")


def test_no_damage_to_a_table_of_runs_is_accepted_in_silence(tmp_path):
    table = "code,n,p,time_s\n" + "".join(f"a,{n},{p},{n / p + 1}\n" for n in (100, 200, 400) for p in (1, 2, 4))
    form = Foreign(
        table,
        misspelt=misspell(r"(?:^|,)(n|p|time_s)\b"),
        unknown=add_column(",", "colour", "7"),
        doubled=double_column(","),
        cut=lambda text, chance: text[: text.rindex(",", 0, chance.randint(40, len(text)))],
    )
    assert accepted_in_silence(form, lambda path: fit_table(path, ["n/p"]).model.warnings, tmp_path / "runs.csv") == []
