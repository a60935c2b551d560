"""Runs as jobs: what the formats demand, and the way back as a load."""

import csv

import numpy as np
import pytest

from simulator import Configuration, job_lines, process_lines, run
from simulator.base.errors import ScenarioError
from simulator.base.names import ranges
from simulator.load_traces import import_trace
from tests.support.platforms import band, pe, scenario


@pytest.fixture(scope="module")
def done():
    """Two configurations on two and on one of three PEs, three runs each of lengths that are no round numbers."""
    made = scenario([pe("a", band(1e6, 2e6, 3e6)), pe("b", 2e6), pe("c", 2e6)], 40, (20, 20), (40,), replications=3)
    made = made.with_configurations((*made.configurations, Configuration("two on one", (20, 20), (2, 2))))
    return made, run(made, engine="process")


def test_swf_has_its_18_fields_and_ascending_submissions(done):
    lines = "".join(job_lines(*done, ".swf")).splitlines()
    head = dict(line.lstrip("; ").split(": ", 1) for line in lines if line.startswith(";") and "Executable" not in line)
    assert (head["Version"], head["MaxProcs"], head["MaxJobs"]) == ("2.2", "3", "9")
    jobs = np.array([line.split() for line in lines if not line.startswith(";")], dtype=float)
    assert jobs.shape == (9, 18)
    assert jobs[:, 0].tolist() == list(range(1, 10))
    assert jobs[1:, 1] == pytest.approx(np.cumsum(jobs[:-1, 3]), abs=1e-12)
    assert jobs[:, 3] == pytest.approx(done[1].makespan_s.ravel(), abs=1e-9)
    assert jobs[:, 4].tolist() == [2, 2, 2, 1, 1, 1, 1, 1, 1]
    assert jobs[:, 13].tolist() == [1, 1, 1, 2, 2, 2, 3, 3, 3]
    busy = [float(ticks[0].sum()) * done[1].tick_s for ticks in done[1].busy_ticks]
    assert jobs[::3, 5] == pytest.approx([busy[0] / 2, busy[1], busy[2]])


def test_swf_comes_back_as_the_machine_s_load(done, tmp_path):
    path = tmp_path / "jobs.swf"
    path.write_text("".join(job_lines(*done, ".swf")))
    found = import_trace(path, "swf", cores=3)
    two, one, on_one = (float(row.sum()) for row in done[1].makespan_s)
    assert found.trace.end_s == pytest.approx(two + one + on_one, abs=1e-8)
    assert found.trace.mean() * found.trace.end_s == pytest.approx(2 * two + one + on_one, abs=1e-7)
    assert "9 jobs, 0 left out" in found.notes[1]


def test_batsim_s_table(done):
    rows = list(csv.DictReader("".join(job_lines(*done, ".csv")).splitlines()))
    assert [row["allocated_resources"] for row in rows[::3]] == ["0-1", "0", "2"]
    for row, seconds in zip(rows, done[1].makespan_s.ravel(), strict=True):
        assert float(row["execution_time"]) == float(row["turnaround_time"]) == pytest.approx(seconds, abs=1e-9)
        assert float(row["finish_time"]) == pytest.approx(float(row["starting_time"]) + seconds, abs=1e-8)
    assert [row["job_id"] for row in rows] == [str(k) for k in range(1, 10)]
    with pytest.raises(ScenarioError, match=r"jobs: kind is '\.txt'; give \.swf or \.csv"):
        job_lines(*done, ".txt")


def test_sets_of_resources():
    assert [ranges(given, " ") for given in ([3], [0, 1, 2, 5], [0, 2, 3], [])] == ["3", "0-2 5", "0 2-3", ""]


def test_where_the_time_of_each_process_went(done):
    made, runs = done
    rows = list(csv.DictReader("".join(process_lines(made, runs)).splitlines()))
    assert len(rows) == 3 * (2 + 1 + 2)
    for row in rows:
        spent = sum(float(row[name]) for name in ("busy_s", "waiting_s", "idle_s"))
        assert spent == pytest.approx(runs.of(row["configuration"])[int(row["replication"])])
    assert [(row["pe"], row["node"], row["units"]) for row in rows[-2:]] == [("c", "node", "20")] * 2
