"""Cleaning: each rule on jobs made for it, and the archive's logs beside the rules written out job by job."""

import gzip
from pathlib import Path

import numpy as np
import pytest

from simulator import ScenarioError, read_stream
from simulator.programs.streams.cleaning import clean
from simulator.programs.streams.swf import read_swf

DATA = Path(__file__).parents[5] / "shared" / "data" / "jobs" / "swf"


def log(tmp_path, *jobs, head="; MaxProcs: 8\n"):
    """A log of jobs (submission, run time, allocated, requested, limit[, status])."""
    lines = []
    for number, (submit, run, got, asked, limit, *status) in enumerate(jobs, start=1):
        lines.append(
            f"{number} {submit} 0 {run} {got} -1 -1 {asked} {limit} 64 {(status or [1])[0]} 3 2 -1 1 -1 -1 -1\n"
        )
    path = tmp_path / "made.swf"
    path.write_text(head + "".join(lines))
    return path


def cleaned(tmp_path, cleaning, *jobs, **others):
    return clean(read_swf(log(tmp_path, *jobs)), cleaning, **others)


GOOD = [(0, 10, 1, 1, 20)] * 300
STRONG = {
    "larger than the machine of 8 processors": [(0, 10, 9, 4, 20), (0, 10, 4, 9, 20)],
    "no processors": [(0, 10, -1, -1, 20), (0, 10, 0, -1, 20)],
    "no run time above 0 s": [(0, 0, 1, 1, 20), (0, -1, 1, 1, 20)],
    "no requested time above 0 s": [(0, 10, 1, 1, -1), (0, 10, 1, 1, 0)],
    "no submission at 0 s or later": [(-1, 10, 1, 1, 20), (-5, 10, 1, 1, 20)],
}


@pytest.mark.parametrize("why", STRONG)
def test_strong_drops_with_a_count(tmp_path, why):
    found = cleaned(tmp_path, "strong", *GOOD, *STRONG[why])
    assert found.ids.tolist() == list(range(1, 1 + len(GOOD)))
    assert found.notes == ("300 of 302 jobs kept by cleaning strong", f"2 jobs dropped: {why}")


def test_strong_takes_run_times_for_limits_where_no_job_has_one(tmp_path):
    found = cleaned(tmp_path, "strong", (0, 10, 1, 1, -1), (1, 0, 1, 1, -1), (2, 30, 1, 1, 0))
    assert found.limit_s.tolist() == found.run_s.tolist() == [10, 30]
    assert "2 jobs state no requested time, as all do: the run time of each is planned with" in found.notes


@pytest.mark.parametrize("cleaning", ["strong", "pyss"])
@pytest.mark.parametrize("larger", [3, 4])
def test_a_size_that_more_than_a_hundredth_of_the_jobs_exceed_is_refused(tmp_path, cleaning, larger):
    """As where the number of nodes is given."""
    jobs = [*GOOD[larger:], *[(0, 10, 9 + number, 9 + number, 20) for number in range(larger)]]
    if larger <= 3:
        assert len(cleaned(tmp_path, cleaning, *jobs)) == 297
        return
    with pytest.raises(ScenarioError, match=r"4 jobs of 300 take more than 8 processors, the largest 12; .* nodes"):
        cleaned(tmp_path, cleaning, *jobs)


def test_strong_changes_with_a_count(tmp_path):
    found = cleaned(tmp_path, "strong", (0, 30, 4, 2, 20), (5, 10, 3, -1, 20), (6, 10, -1, 5, 20))
    assert found.run_s.tolist() == [20, 10, 10]
    assert found.processors.tolist() == found.least.tolist() == found.most.tolist() == [2, 3, 5]
    assert found.notes == (
        "3 of 3 jobs kept by cleaning strong",
        "1 job got other processors than requested: what was requested counts",
        "1 job ran past the requested time and end at it",
    )
    assert (found.machine_processors, found.memory_bytes.tolist()) == (8, [65536] * 3)
    assert (found.user.tolist(), found.group.tolist(), found.queue.tolist()) == ([3] * 3, [2] * 3, [1] * 3)
    assert (found.executable.tolist(), found.application.tolist()) == ([-1] * 3, [-1] * 3)


def test_pyss_changes_with_a_count(tmp_path):
    odd = [(0, 10, -1, 4, 20), (1, 0, 4, 4, 20), (-1, 10, 4, 4, 20)]
    jobs = [(2, 30, 4, 2, 20), (3, 10, 4, 4, -1), (4, 10, 9, 9, 20), (5, 10, 4, 4, 20)]
    found = cleaned(tmp_path, "pyss", *odd, *jobs, *[(9, *one[1:]) for one in GOOD])
    assert found.ids.tolist()[:7] == [1, 2, 3, 4, 5, 7, 8]
    assert found.submit_s.tolist()[:6] == [1, 1, 1, 2, 3, 5]
    assert found.processors.tolist()[:6] == [1, 1, 1, 4, 4, 4]
    assert found.run_s.tolist()[:6] == [1, 1, 1, 20, 1, 10]
    assert found.limit_s.tolist()[:6] == [1, 1, 1, 30, 10, 20]
    assert [int(note.split()[0]) for note in found.notes] == [306, 1, 1, 1, 3, 1]


def test_jobs_out_of_order_are_sorted_and_that_is_said(tmp_path):
    jobs = [(10, 1, 1, 1, 20), (5, 2, 1, 1, 20), (10, 3, 1, 1, 20), (7, 4, 1, 1, 20)]
    for cleaning in ("strong", "pyss"):
        found = cleaned(tmp_path, cleaning, *jobs)
        assert found.ids.tolist() == [2, 4, 1, 3]
        assert found.run_s.tolist() == [2, 4, 1, 3]
        assert found.notes[-1].startswith("2 jobs submitted before the job above")


def test_parts_of_jobs_are_left_out_and_the_sum_stays(tmp_path):
    jobs = [
        (0, 30, 1, 1, 99, 1),
        (0, 10, 1, 1, 99, 2),
        (12, 10, 1, 1, 99, 3),
        (14, 5, 1, 1, 99, 4),
        (15, 5, 1, 1, 99, 0),
    ]
    for cleaning in ("strong", "pyss", "none"):
        found = cleaned(tmp_path, cleaning, *jobs)
        assert found.run_s.tolist() == [30, 5]
        assert found.notes[1].startswith("3 jobs dropped: the line is about a part of a job")


def test_none_changes_nothing(tmp_path):
    found = cleaned(tmp_path, "none", (0, 30, 2, 4, 20), (5, 0, 3, -1, -1), (5, 1.5, 3, 3, 0))
    assert found.run_s.tolist() == [30, 0, 1.5]
    np.testing.assert_array_equal(found.limit_s, [20, np.nan, np.nan])
    assert found.processors.tolist() == [4, 3, 3]
    assert found.notes == ("3 of 3 jobs kept by cleaning none",)


def rules(path, machine):
    """`strong` as it is defined, a job at a time."""
    kept = []
    for line in gzip.decompress(path.read_bytes()).decode("latin-1").splitlines():
        if line.startswith(";") or not line.strip():
            continue
        cells = [float(cell) for cell in line.split()]
        got, asked = cells[4], cells[7]
        got, asked = (got if got > 0 else asked), (asked if asked > 0 else got)
        if 0 < got <= machine and 0 < asked <= machine and cells[3] > 0 and cells[8] > 0 and cells[1] >= 0:
            kept.append((int(cells[0]), cells[1], min(cells[3], cells[8]), int(asked), cells[8], int(cells[11])))
    return kept


@pytest.mark.parametrize(
    ("name", "machine", "count", "over"),
    [("KTH-SP2-1996-2", 100, 28481, 475), ("SDSC-SP2-1998-4.2-cln", 128, 53999, 4134)],
)
def test_logs_of_the_archive(name, machine, count, over):
    path = DATA / f"{name}.swf.gz"
    if not path.exists():
        pytest.skip(f"{path.name} is not here")
    found = read_stream(path)
    expected = rules(path, machine)
    assert len(found) == len(expected) == count
    columns = (found.ids, found.submit_s, found.run_s, found.processors, found.limit_s, found.user)
    for column, values in zip(columns, zip(*expected, strict=True), strict=True):
        np.testing.assert_array_equal(column, values)
    assert f"{over} jobs ran past the requested time and end at it" in found.notes
    assert (found.name, found.machine_processors) == (name, machine)
    assert found.whole_seconds
    assert not np.isnan(found.limit_s).any()
