"""Streams as files: what is written is read back, and what ran is told as Batsim tells it."""

import csv
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator import ScenarioError, make_stream, read_stream, stream_lines
from simulator.engines.job_queue import JobRuns
from simulator.programs.streams.stream import ARRAYS, JobApplication
from simulator.scheduling.estimates import Estimates
from simulator.scheduling.policy import Policy

DATA = Path(__file__).parents[4] / "shared" / "data" / "jobs"
NS = 10**9


def written(path, jobs, kind=".swf"):
    path.write_text("".join(stream_lines(jobs, kind)))
    return path


def assert_same(found, given):
    for name in ARRAYS:
        np.testing.assert_array_equal(getattr(found, name), getattr(given, name), err_msg=name)
    assert (found.machine_processors, found.start_unix_s) == (given.machine_processors, given.start_unix_s)
    assert found.names == given.names


def ran(stream, start_ns, *, pes=8, allocated=None):
    """A run of a stream, made by hand: what fits is not looked at."""
    submit, run, limit = (np.rint(times * NS) for times in (stream.submit_s, stream.run_s, stream.limit_s))
    killed = run > limit
    start = np.array(start_ns, dtype=np.int64)
    none = np.full(len(stream), -1, dtype=np.int64)
    sizes = None if allocated is None else np.cumsum([0, *map(len, allocated)])
    return JobRuns(
        stream=stream,
        policy=Policy(),
        estimates=Estimates(),
        pes=pes,
        tick_s=1e-9,
        engine="made",
        submit_ticks=submit.astype(np.int64),
        start_ticks=start,
        finish_ticks=start + np.fmin(run, limit).astype(np.int64),
        processors=stream.processors,
        estimate_ticks=none,
        promised_ticks=none,
        killed=killed,
        first_pe=sizes,
        allocated=None if allocated is None else np.concatenate(allocated),
    )


TIMES = st.one_of(st.integers(0, 10**7).map(float), st.floats(0, 1e7), st.integers(0, 10**15).map(lambda ns: ns / NS))
NUMBERS = st.integers(-1, 20)
NAMES = st.text("abc XYZ-:#;|", min_size=1, max_size=8).map(lambda text: " ".join(text.split())).filter(bool)


@st.composite
def streams(draw):
    count = draw(st.integers(1, 8))

    def some(values):
        return np.array(draw(st.lists(values, min_size=count, max_size=count)))

    fields = ("user", "group", "executable", "queue", "partition")
    return make_stream(
        "made",
        submit_s=some(TIMES),
        processors=some(st.integers(1, 64)),
        run_s=some(TIMES),
        limit_s=some(st.one_of(st.just(np.nan), TIMES.filter(bool))),
        ids=np.array(draw(st.lists(st.integers(0, 2**53), min_size=count, max_size=count, unique=True))),
        memory_bytes=some(st.one_of(st.just(np.nan), st.floats(1, 1e15))),
        machine_processors=64,
        start_unix_s=draw(st.one_of(st.none(), st.integers(1, 2**31).map(float))),
        names={name: tuple(draw(st.lists(NAMES, min_size=1, max_size=3))) for name in fields if draw(st.booleans())},
        **{name: some(NUMBERS) for name in fields},
    )


@settings(max_examples=50, deadline=None)
@given(streams())
def test_what_is_written_is_read_back(tmp_path_factory, stream):
    path = written(tmp_path_factory.mktemp("log") / "made.swf", stream)
    assert_same(read_stream(path, cleaning="none"), stream)


def test_all_lines_have_18_fields_without_exponents(tmp_path):
    stream = make_stream("a", submit_s=[1e-7, 3e6], processors=[1, 2], run_s=[np.nan, 0.1 + 0.2], machine_processors=4)
    lines = [line for line in written(tmp_path / "a.swf", stream).read_text().splitlines() if line[0] != ";"]
    assert lines[0] == "1 0.0000001 -1 -1 1 -1 -1 1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1"
    assert lines[1] == "2 3000000 -1 0.30000000000000004 2 -1 -1 2 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1"


def test_notes_stand_in_the_head_on_a_line_each(tmp_path):
    stream = make_stream("a", submit_s=[0], processors=[1], run_s=[1], notes=("one\nin two", "2 jobs: dropped"))
    text = written(tmp_path / "a.swf", stream).read_text()
    assert "; Note: one in two\n; Note: 2 jobs: dropped\n" in text
    assert "MaxProcs" not in text


def test_names_of_jobs_become_numbers_and_applications_get_a_name(tmp_path):
    stream = make_stream(
        "a",
        submit_s=[0, 1],
        processors=[2, 4],
        ids=["w0!1", "w0!2"],
        application=[0, 1],
        applications=(JobApplication("matmul", {"n": 400}), JobApplication("ep", {})),
    )
    text = written(tmp_path / "a.swf", stream).read_text()
    assert "; Executable: 0 matmul n=400\n; Executable: 1 ep\n" in text
    assert [line.split()[0] + " " + line.split()[13] for line in text.splitlines() if line[0] != ";"] == ["1 0", "2 1"]


@pytest.fixture
def stream():
    return make_stream(
        "log",
        submit_s=[0, 2.5, 4],
        processors=[3, 2, 1],
        run_s=[10, 5, 0],
        limit_s=[8, np.nan, 60],
        user=[7, 8, 7],
        names={"executable": ("", "mpi")},
        executable=[1, 0, -1],
        machine_processors=16,
    )


def test_a_run_has_its_waits_run_times_and_ends(tmp_path, stream):
    done = ran(stream, [0, 8 * NS + 1, 4 * NS])
    path = written(tmp_path / "log.swf", done)
    rows = [line.split() for line in path.read_text().splitlines() if line[0] != ";"]
    assert [row[:5] for row in rows] == [
        ["1", "0", "0", "8", "3"],
        ["2", "2.5", "5.500000001", "5", "2"],
        ["3", "4", "0", "0", "1"],
    ]
    assert [(row[7], row[8], row[10], row[11]) for row in rows] == [
        ("3", "8", "0", "7"),
        ("2", "-1", "1", "8"),
        ("1", "60", "1", "7"),
    ]
    assert "; MaxProcs: 8\n" in path.read_text()
    assert "; Note: simulated under fcfs easy, planned by limit\n" in path.read_text()
    again = read_stream(path, cleaning="none")
    assert (again.run_s.tolist(), again.submit_s.tolist()) == ([8, 5, 0], [0, 2.5, 4])


def test_batsim_s_table_of_a_run(tmp_path, stream):
    done = ran(stream, [0, 8 * NS, 4 * NS], allocated=([0, 1, 5], [2, 3], [4]))
    rows = list(csv.DictReader(written(tmp_path / "log.csv", done, ".csv").read_text().splitlines()))
    assert [list(row.values()) for row in rows] == [
        ["1", "log", "mpi", "0", "3", "8", "0", "COMPLETED_WALLTIME_REACHED", "0", "8", "8", "0", "8", "1", "0-1 5"],
        [
            "2",
            "log",
            "delay",
            "2.5",
            "2",
            "-1",
            "1",
            "COMPLETED_SUCCESSFULLY",
            "8",
            "5",
            "13",
            "5.5",
            "10.5",
            "2.1",
            "2-3",
        ],
        ["3", "log", "delay", "4", "1", "60", "1", "COMPLETED_SUCCESSFULLY", "4", "0", "4", "0", "0", "-1", "4"],
    ]


def test_what_has_not_run_has_no_table_and_other_kinds_are_refused(stream):
    with pytest.raises(
        ScenarioError, match=r"^log: Batsim's table says when jobs ran; run the stream, or write an .swf"
    ):
        stream_lines(stream, ".csv")
    with pytest.raises(ScenarioError, match=r"'\.txt'"):
        stream_lines(stream, ".txt")


@pytest.mark.parametrize("name", ["KTH-SP2-1996-2", "SDSC-SP2-1998-4.2-cln"])
def test_logs_of_the_archive_come_back(tmp_path, name):
    path = DATA / "swf" / f"{name}.swf.gz"
    if not path.exists():
        pytest.skip(f"{path.name} is not here")
    for cleaning in ("strong", "pyss"):
        given = read_stream(path, cleaning=cleaning)
        assert_same(read_stream(written(tmp_path / "again.swf", given), cleaning="none"), given)


def test_batsim_s_table_is_the_one_that_batsim_wrote(tmp_path):
    """Its schedule, read from its table and written as ours; its numbers have six decimals."""
    path = DATA / "batsim" / "medium_late" / "easy_out_jobs.csv"
    if not path.exists():
        pytest.skip(f"{path.name} is not here")
    with path.open() as table:
        theirs = {row["job_id"]: row for row in csv.DictReader(table)}
    stream = read_stream(path.with_name("medium_late.json"))
    rows = [theirs[str(number)] for number in stream.ids]
    start = [round(float(row["starting_time"]) * NS) for row in rows]  # to 1 us, so some begin before they come
    start = np.maximum(start, np.rint(stream.submit_s * NS))
    done = ran(stream, start, pes=32, allocated=[_numbers(row["allocated_resources"]) for row in rows])
    ours = list(csv.DictReader(written(tmp_path / "a.csv", done, ".csv").read_text().splitlines()))
    for mine, row in zip(ours, rows, strict=True):
        assert mine["allocated_resources"] == row["allocated_resources"]
        assert (mine["job_id"], mine["success"]) == (row["job_id"], row["success"])
        for name in ("submission_time", "requested_time", "execution_time", "finish_time", "waiting_time", "stretch"):
            assert float(mine[name]) == pytest.approx(float(row[name]), abs=2e-6, rel=2e-6), name


def _numbers(text):
    """`0-2 5` as numbers."""
    ends = [[int(end) for end in part.split("-")] for part in text.split()]
    return np.array([number for part in ends for number in range(part[0], part[-1] + 1)], dtype=np.int64)
