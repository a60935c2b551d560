"""Logs of others are read whole, refused, or what has no effect is said: nothing of them is lost without a word."""

import json

import numpy as np
import pytest

from simulator import ScenarioError, read_stream
from simulator.calibration import import_runs
from tests.support.mutated_files import (
    Foreign,
    accepted_in_silence,
    add_column,
    any_of,
    double,
    double_column,
    insert,
    misspell,
)

JOBS = """1 0 0 100 4 -1 -1 4 200 -1 1 1 1 -1 1 -1 -1 -1
2 0 0 100 4 -1 -1 4 200 -1 1 1 1 -1 1 -1 -1 -1
3 9 0 10 4 -1 -1 4 200 -1 1 1 1 -1 1 -1 -1 -1
"""
CHAINED = JOBS.replace("-1 -1\n3", "1 50\n3")[:-6] + "2 -1\n"
SACCT = "JobID|User|Partition|Submit|Eligible|Start|End|Elapsed|Timelimit|NCPUS|State\n"


def jobs_of(*rows):
    return SACCT + "".join(f"{row}\n" for row in rows)


def row(job, submit, start, end, *, elapsed="", eligible="", partition="a", cpus=4, state="COMPLETED"):
    return f"{job}|u|{partition}|{submit}|{eligible or submit}|{start}|{end}|{elapsed}|9:00:00|{cpus}|{state}"


def at(clock, day="2026-01-15"):
    return f"{day}T{clock}:00"


FIRST = row(1, at("10:00"), at("10:00"), at("10:10"), elapsed="00:10:00", cpus=6)
HET = [row(f"5+{k}", at("10:01"), at("10:10"), at("10:20"), elapsed="00:10:00", cpus=n) for k, n in enumerate((2, 6))]


@pytest.fixture
def log(tmp_path):
    def read(text, name="log.txt", machine=16, **options):
        path = tmp_path / name
        path.write_text(text, newline="")
        return read_stream(path, **{"cleaning": "none", "machine_processors": machine} | options)

    return read


@pytest.mark.parametrize(
    ("value", "machine"),
    [("1024", 1024), ("1,024", 1024), ("16 until March", None), ("1,02", None), ("8.5e1", None), ("-1", "none")],
)
def test_a_number_of_a_header_is_read_whole_or_not_at_all(log, value, machine):
    text = f"\ufeff; MaxProcs:\t{value}\n{JOBS}".replace("\n", "\r\n")
    if machine is None:
        with pytest.raises(ScenarioError, match=f"MaxProcs: '{value}' is no whole number; write one, such as 1024"):
            log(text, machine=None)
    elif machine == "none":
        with pytest.raises(ScenarioError, match="does not say how many processors"):
            log(text, machine=None)
    else:
        assert log(text, machine=None).machine_processors == machine
    assert log(text, machine=99).machine_processors == 99


def test_chains_of_jobs_are_kept_and_jobs_that_come_twice_refused(log):
    found = log(CHAINED)
    assert found.preceding.tolist() == [-1, 1, 2]
    assert found.think_s[1] == 50
    assert np.isnan(found.think_s[[0, 2]]).all()
    assert (log(CHAINED.replace("2 -1\n", "1 -1\n").replace("-1 -1\n2", "1 -1\n2")).preceding == -1).all(), "a filler"
    twice = r"log.txt:4: job 1 comes again, after line 1; give each its own number, or leave one out"
    for cleaning in ("none", "strong", "pyss"):
        with pytest.raises(ScenarioError, match=twice):
            log(JOBS + JOBS.splitlines()[0] + "\n", cleaning=cleaning)


def test_components_are_one_job_of_all_their_processors(log):
    found = log(jobs_of(HET[0], FIRST, HET[1], "5+1.0|u||" + HET[1].split("|", 3)[3]))
    assert found.ids.tolist() == [1, 5]
    assert (found.processors.tolist(), found.submit_s.tolist(), found.run_s.tolist()) == ([6, 8], [0, 60], [600, 600])
    failed = log(jobs_of(FIRST, HET[0], HET[1].replace("COMPLETED", "FAILED")), cleaning="strong")
    assert failed.ids.tolist() == [1, 5]


@pytest.mark.parametrize("hours", [1, -1])
@pytest.mark.parametrize("minutes", [10, 90, 600])
def test_clocks_that_change_in_a_job_are_found_and_zones_repair_it(log, hours, minutes):
    """In spring (1) an hour of the clock is missing, in autumn (-1) it comes twice."""
    before, after = ("+01:00", "+02:00") if hours > 0 else ("+02:00", "+01:00")
    lasting = 60 * hours + minutes
    start = 30
    end = f"{(start + lasting) // 60 + 1:02}:{(start + lasting) % 60:02}"
    elapsed = f"{minutes // 60:02}:{minutes % 60:02}:00"
    told = row(7, at("01:30"), at("01:30"), at(end), elapsed=elapsed)
    with pytest.raises(ScenarioError, match=r"log.txt:2: .*SLURM_TIME_FORMAT='%Y-%m-%dT%H:%M:%S%z' sacct"):
        log(jobs_of(told))
    zoned = row(7, at("01:30") + before, at("01:30") + before, at(end) + after, elapsed=elapsed)
    assert log(jobs_of(zoned)).run_s.tolist() == [60 * minutes]


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ((FIRST, row(2, at("10:00") + "Z", at("10:00") + "Z", at("10:05") + "Z")), "some times have a zone and others"),
        ((row(2, at("10:00"), at("10:00"), at("10:05"), elapsed="00:07:00"),), "End less Start is 300 s, and 420 s"),
        ((row(2, at("10:00"), at("09:00"), at("10:05")),), "its times are not in the order of submission, start and"),
        ((row(2, at("10:00"), at("10:01"), at("10:00")),), "its times are not in the order of submission, start and"),
        ((FIRST, FIRST), "log.txt:3: job 1 comes again, after line 2; print each once, without --duplicates"),
        ((HET[0], HET[0]), "job 5+0 comes again"),
    ],
)
def test_rows_that_contradict_themselves_are_refused(log, rows, said):
    with pytest.raises(ScenarioError) as caught:
        log(jobs_of(*rows))
    assert said in str(caught.value)


def test_held_jobs_partitions_suspensions_and_unused_columns(log):
    held = row(2, at("10:05"), at("15:00"), at("15:30"), elapsed="00:17:00", eligible=at("14:50"), partition="b")
    text = jobs_of(FIRST, held).replace("User", "Comment").replace("\n", "|\n")  # as `sacct --parsable` ends lines
    found = log(text)
    assert found.submit_s.tolist() == [0, 4.8333333333333333 * 3600]
    assert found.run_s.tolist() == [600, 17 * 60]
    assert found.notes[1:] == (
        "1 not eligible at once: submitted when they were",
        "partitions a, b are one machine where no --platform describes them",
        "columns not used: Comment",
    )


WORKLOAD = {
    "nb_res": 8,
    "jobs": [{"id": k, "subtime": 5 * k, "res": 2, "walltime": 90, "profile": "ten"} for k in range(4)],
    "profiles": {"ten": {"type": "composed", "repeat": 2, "seq": ["five"]}, "five": {"type": "delay", "delay": 5}},
}
FORMS = {
    "swf": Foreign(
        "; MaxProcs: 8\n; UnixStartTime: 893466664\n; Queue: 0 interactive\n" + JOBS,
        misspelt=misspell(r"^; (\w+):"),
        unknown=any_of(insert(r"^[0-9]", "x ", "job 7\n", "; MaxProc: 9\n"), insert(r"(?<=-1)$", " 7", " s")),
        doubled=any_of(double(r"^[0-9].*\n"), double(r"^; (MaxProcs|UnixStartTime).*\n")),
        cut=lambda text, chance: text[: chance.randint(text.index("\n3 ") + 3, len(text) - 4)],
    ),
    "sacct": Foreign(
        jobs_of(FIRST, *HET),
        misspelt=misspell(r"(?:^|\|)(JobID|Partition|Submit|Eligible|Start|End|Elapsed|Timelimit|NCPUS|State)\b"),
        unknown=add_column("|", "Colour", "red"),
        doubled=any_of(double(r"^[0-9].*\n"), double_column("|")),
        cut=lambda text, chance: text[: chance.randint(text.rindex("\n") - 80, text.rindex("|") - 1)],
    ),
    "batsim": Foreign(
        json.dumps(WORKLOAD, indent=1),
        misspelt=misspell(r'"(nb_res|jobs|profiles|id|subtime|res|walltime|profile|type|repeat|seq|delay)":'),
        unknown=insert(r'"(jobs|subtime|res|repeat|delay)":', '"color": 1, ', '"walltim": 5, '),
        doubled=any_of(double(r'"\w+": [0-9]+,'), double(r"\{[^{}]*},"), double(r'"five": \{[^{}]*}')),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", [*FORMS, "runs of sacct"])
def test_no_damage_is_accepted_in_silence(tmp_path, name):
    machine = 16 if name == "sacct" else None

    def read(path):
        return read_stream(path, machine_processors=machine, cleaning="none").notes

    of_runs = name == "runs of sacct"
    form, reader = (FORMS["sacct"], lambda path: import_runs(path)[1]) if of_runs else (FORMS[name], read)
    assert accepted_in_silence(form, reader, tmp_path / "log") == []
