"""`apportion reproduce jobs`: published averages and schedules beside ours where logs are at hand; refusals always."""

import csv
import json
from pathlib import Path

import pytest

from advisor.cli import _run
from advisor.reproduce import jobs
from advisor.reproduce.comparison import NOT_REPRODUCED, REPEATED, REPRODUCED
from simulator import Policy, ScenarioError, files, run_jobs, stream_lines
from tests.support.modes_reached import MANY_JOBS

DATA = Path(__file__).parents[4] / "shared" / "data" / "jobs"
FILES = {"KTH-SP2": "KTH-SP2-1996-2.swf.gz", "SDSC-SP2": "SDSC-SP2-1998-4.2-cln.swf.gz"}
MEDIUM = DATA / "batsim" / "medium_late"
EASY_PLUS_PLUS = "last two, in steps"


def needs(path):
    if not path.exists():
        pytest.skip(f"{path.name} is missing: what was published of it is left out")
    return path


@pytest.fixture(scope="module")
def found():
    """What comes out for each log, run once."""
    kept = {}

    def result(name):
        if name not in kept:
            kept[name] = jobs.reproduce(jobs.read([needs(DATA / "swf" / FILES[name])]))
        return kept[name]

    return result


@pytest.fixture
def workload(tmp_path):
    """A workload of Batsim with two jobs that want both PEs and a small one that may pass under EASY; its schedule."""
    delays = {"a": 100, "b": 50, "c": 30}
    given = [("a", 0, 1, 110), ("b", 10, 2, 60), ("c", 20, 1, 40)]
    document = {
        "nb_res": 2,
        "profiles": {name: {"type": "delay", "delay": delay} for name, delay in delays.items()},
        "jobs": [
            {"id": name, "subtime": at, "res": size, "walltime": limit, "profile": name}
            for name, at, size, limit in given
        ],
    }
    path = tmp_path / "three.json"
    path.write_text(json.dumps(document))
    (tmp_path / "easy.csv").write_text(
        "job_id,starting_time,allocated_resources\na,0.000000,0\nb,100.000000,0-1\nc,20.000000,1\n"
    )
    return path


def cells_of(result, source):
    return [cell for cell in result["cells"] if cell["source"] == source]


@pytest.mark.parametrize("name", FILES)
def test_the_first_jobs_agree_to_all_printed_digits(found, name):
    own = cells_of(found(name), "pyss")
    assert len(own) == 8
    assert all(cell["within"] for cell in own)
    decimals = [len(cell["printed"].partition(".")[2]) for cell in own]
    assert [f"{cell['ours']:.{n}f}" for cell, n in zip(own, decimals, strict=True)] == [c["printed"] for c in own]


@pytest.mark.parametrize(("name", "percent"), [("KTH-SP2", 1e-7), ("SDSC-SP2", 0.15)])
def test_six_pairs_of_the_whole_log_agree(found, name, percent):
    own = cells_of(found(name), "predictsim")
    assert len(own) == 12
    assert {cell["bar_percent"] for cell in own} == {percent}
    assert all(cell["within"] and abs(cell["difference_percent"]) <= percent for cell in own)


def test_what_does_not_agree_with_the_paper_of_2007_is_said(found):
    own = cells_of(found("KTH-SP2"), "Tsafrir")
    missed = [cell for cell in own if not cell["within"]]
    assert [cell["estimates"] for cell in missed] == [EASY_PLUS_PLUS] * 2
    assert all(5 < cell["difference_percent"] < 12 for cell in missed)
    assert (len(own), found("KTH-SP2")["counts"]) == (8, {"within": 26, "beyond": 2, "shown": 4})
    assert "26 of 28 figures within their bar, 4 shown without one" in jobs.text(found("KTH-SP2"))


def test_jobs_that_are_missing_are_counted(found):
    (line,) = found("SDSC-SP2")["warnings"]
    assert "53,999 jobs after cleaning, 7 fewer than the 54,006" in line
    assert line in jobs.text(found("SDSC-SP2"))
    assert {cell["within"] for cell in cells_of(found("SDSC-SP2"), "Tsafrir")} == {None}


def test_the_inventory_has_a_verdict_for_each_table(found):
    verdicts = {one.number: one.verdict for one in jobs.inventory(found("KTH-SP2"))}
    assert verdicts == {
        "KTH-SP2 pyss": REPRODUCED,
        "KTH-SP2 predictsim": REPRODUCED,
        "KTH-SP2 in order": REPEATED,
        "KTH-SP2 Tsafrir": NOT_REPRODUCED,
    }


def test_batsim_starts_every_job_when_we_do():
    given = [f"{policy}={needs(MEDIUM / f'{policy}_out_jobs.csv')}" for policy in jobs.SCHEDULES]
    result = jobs.reproduce(jobs.read([needs(MEDIUM / "medium_late.json")], given))
    told = [(cell["policy"], cell["measure"], cell["ours"]) for cell in result["cells"]]
    assert told == [(policy, what, 801) for policy in jobs.SCHEDULES for what in ("starts alike", "PEs alike")]
    assert result["counts"] == {"within": 4, "beyond": 0, "shown": 0}


def test_a_schedule_by_hand_agrees_and_a_wrong_one_is_told(workload):
    """Under EASY job c ends at 60 s, before a is planned to end at 110 s, so that it may pass b."""
    schedule = workload.with_name("easy.csv")
    right = jobs.reproduce(jobs.read([workload], [f"easy={schedule}"]))
    assert [cell["ours"] for cell in right["cells"]] == [3, 3]
    assert right["warnings"] == []
    schedule.write_text(schedule.read_text().replace("20.000000,1", "20.000002,0"))
    wrong = jobs.reproduce(jobs.read([workload], [f"easy={schedule}"]))
    assert [(cell["ours"], cell["within"]) for cell in wrong["cells"]] == [(2, False)] * 2
    assert wrong["warnings"] == [
        f"easy: 1 of 3 starts differ from {schedule}, first that of job c: 20.000000 s here, 20.000002 s there"
    ]


def test_what_we_write_for_batsim_is_what_is_read(workload):
    stream = jobs.read([workload], ["easy=x.csv"]).streams["three"][1]
    runs = run_jobs(stream, 2, Policy(backfill="conservative", processors="named"))
    path = workload.with_name("ours.csv")
    path.write_text("".join(stream_lines(runs, ".csv")))
    result = jobs.reproduce(jobs.read([workload], [f"conservative={path}"]))
    assert [cell["ours"] for cell in result["cells"]] == [3, 3]


@pytest.mark.parametrize(
    ("schedule", "told"),
    [
        ("job_id,starting_time\na,0\n", "allocated_resources is missing"),
        ("job_id,starting_time,allocated_resources\na,0,0\n", "its jobs are not those of workload three"),
        (
            "job_id,starting_time,allocated_resources\na,0,0\nb,1,x\nc,2,0\n",
            "resources 'x' are no numbers; write them as 0-3 7",
        ),
    ],
)
def test_a_schedule_of_other_jobs_is_refused(workload, schedule, told):
    path = workload.with_name("bad.csv")
    path.write_text(schedule)
    with pytest.raises(ScenarioError, match=told) as caught:
        jobs.reproduce(jobs.read([workload], [f"easy={path}"]))
    assert str(caught.value).startswith(f"{path}: ")


def test_other_logs_are_refused_in_one_sentence(tmp_path, capsys):
    log = tmp_path / "mine.swf"
    for text in (MANY_JOBS, "; MaxProcs: 8\n1 0 0 5 1 -1 -1 1 -1 -1 1 1 1 -1 -1 -1 -1 -1\n"):  # without limits, too
        log.write_text(text)
        assert _run(["reproduce", "jobs", "--log", str(log)]) == 2
        said = capsys.readouterr()
        assert said.out == ""
        assert said.err == (
            f"error: {log}: the stream is neither KTH-SP2 nor SDSC-SP2 of the Parallel Workloads Archive, of which "
            "figures were published, nor a workload of Batsim (.json); name one of these\n"
        )
    log.write_text("not a log")
    assert _run(["reproduce", "jobs", "--log", str(log)]) == 2
    assert "the file holds no stream of jobs" in capsys.readouterr().err


def test_a_log_of_the_name_with_other_jobs_is_run_and_said(tmp_path):
    """What is known by its name and machine, though another edition."""
    log = tmp_path / "KTH-SP2-mine.swf"
    log.write_text(MANY_JOBS.replace("MaxProcs: 8", "MaxProcs: 100"))
    given = jobs.read([log])
    assert list(given.streams) == ["KTH-SP2"]
    result = jobs.reproduce(given, tmp_path / "out")
    assert result["warnings"][0].endswith("60 jobs after cleaning, 28,421 fewer than the 28,481 of the study of 2015")
    assert result["counts"]["within"] == 0
    with (tmp_path / "out" / jobs.CELLS).open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert [float(row["ours"]) for row in rows] == [cell["ours"] for cell in result["cells"]]
    log.write_text(MANY_JOBS)
    with pytest.raises(ScenarioError, match="neither KTH-SP2 nor SDSC-SP2"):
        jobs.read([log])


@pytest.mark.parametrize(
    ("logs", "schedules", "told"),
    [
        ([], [], "logs do not ship with apportion; name them with --log"),
        (["three.json"], [], "add --schedule easy=FILE"),
        (["three.json"], ["fcfs=x.csv"], "write easy=FILE or conservative=FILE"),
        (["three.json"], ["easy="], "'easy=' does not say which policy made which file"),
        (["three.json"], ["easy=x.csv", "easy=y.csv"], "two schedules are of one policy"),
        (["three.json", "three.json"], ["easy=x.csv"], "is three too; name one of the two"),
        (["KTH-SP2.swf"], ["easy=x.csv"], "add --log WORKLOAD.json"),
    ],
)
def test_what_does_not_go_together_is_refused(workload, logs, schedules, told):
    workload.with_name("KTH-SP2.swf").write_text(MANY_JOBS.replace("MaxProcs: 8", "MaxProcs: 100"))
    with pytest.raises(ScenarioError, match=told):
        jobs.read([workload.with_name(name) for name in logs], schedules)


def test_the_command_prints_the_table_or_one_document(workload, capsys):
    arguments = ["reproduce", "jobs", "--log", str(workload), "--schedule", f"easy={workload.with_name('easy.csv')}"]
    assert _run([*arguments, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["paper"], document["counts"]["within"]) == ("jobs", 2)
    assert document["inputs"][str(workload)] == files.digest_of(workload)
    assert _run(arguments) == 0
    assert "2 of 2 figures within their bar" in capsys.readouterr().out


def test_all_papers_are_not_begun_with_a_log_that_is_none(tmp_path, capsys):
    (tmp_path / "mine.swf").write_text(MANY_JOBS)
    assert _run(["reproduce", "all", "--recorded", "--log", str(tmp_path / "mine.swf")]) == 2
    assert ": computing" not in capsys.readouterr().err


def test_all_papers_have_the_logs_among_them(workload, capsys, monkeypatch):
    """Without the other papers, which their own tests run."""
    from advisor.cli import reproduce

    monkeypatch.setattr(reproduce, "PAPERS", {"jobs": "advisor.reproduce.jobs"})
    folder, schedule = workload.with_name("out"), workload.with_name("easy.csv")
    arguments = ["reproduce", "all", "--recorded", "-o", str(folder), "--json"]
    assert _run([*arguments, "--log", str(workload), "--schedule", f"easy={schedule}"]) == 0
    report = json.loads(capsys.readouterr().out)
    (entry,) = report["papers"]
    assert (entry["name"], entry["state"], entry["tables"][0]["verdict"]) == ("jobs", "done", REPRODUCED)
    assert "three Batsim" in (folder / "report.html").read_text()
    assert (folder / "jobs" / jobs.CELLS).exists()
    assert report["settings"]["inputs"][str(workload)].startswith("sha256:")
    assert _run(arguments) == 0
    assert json.loads(capsys.readouterr().out)["papers"] == []


def test_the_shipped_averages_are_all_of_a_known_log_source_policy_and_measure():
    for row in jobs.shipped_rows("papers/jobs_published.csv"):
        assert row["source"] in jobs.SOURCES
        assert row["log"] in jobs.LOGS
        assert row["policy"] in jobs.POLICIES
        assert row["estimates"] in jobs.ESTIMATES
        assert row["measure"] in {"wait", "turnaround", "bounded slowdown"}
        assert float(row["published"]) > 0
