"""Batsim's workloads: their jobs as Batsim ran them, and delays in delays."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from simulator import read_stream

DATA = Path(__file__).parents[5] / "shared" / "data" / "jobs" / "batsim"
DELAYS = {
    "ten": {"type": "DelayProfile", "delay": 10},
    "three": {"type": "delay", "delay": 3.5},
    "both": {"type": "composed", "seq": ["ten", "three", "ten"]},
    "twice": {"type": "SequentialCompositionProfile", "repeat": 2, "seq": ["both", "three"]},
    "old": {"type": "composed", "nb": 3, "seq": ["ten"]},
    "unused": {"type": "ParallelTaskProfile", "cpu": [1]},
}


def workload(tmp_path, *jobs, name="made.json", **others):
    path = tmp_path / name
    path.write_text(json.dumps({"nb_res": 8, "jobs": list(jobs), "profiles": DELAYS} | others))
    return path


def job(number, submit, profile="ten", size=1, **others):
    return {"id": number, "subtime": submit, "res": size, "profile": profile} | others


def test_delays_and_sequences_of_them(tmp_path):
    names = ("ten", "three", "both", "twice", "old")
    found = read_stream(workload(tmp_path, *(job(k, k, name) for k, name in enumerate(names))))
    assert found.run_s.tolist() == [10, 3.5, 23.5, 54, 30]
    assert [found.names["executable"][k] for k in found.executable] == list(names)


def test_order_limits_and_ids(tmp_path):
    jobs = [job(9, 5), job(2, 0, walltime=-1), job(4, 5, walltime=20.5, size=8), job(3, 5), job(1, 5)]
    found = read_stream(workload(tmp_path, *jobs))
    assert (found.ids.tolist(), found.ids.dtype.kind) == ([2, 9, 4, 3, 1], "i")
    np.testing.assert_array_equal(found.limit_s, [np.nan, np.nan, 20.5, np.nan, np.nan])
    assert found.processors.tolist() == [1, 1, 8, 1, 1]
    assert (found.machine_processors, found.name, found.notes) == (8, "made", ())
    found = read_stream(workload(tmp_path, job("w0!1", 0), job(2, 1)))
    assert found.ids.tolist() == ["w0!1", "2"]


def test_a_stated_machine_is_in_place_of_the_file_s(tmp_path):
    found = read_stream(workload(tmp_path, job(1, 0, size=16)), machine_processors=32)
    assert (found.processors.tolist(), found.machine_processors) == ([16], 32)


@pytest.mark.parametrize("name", ["easy", "conservative"])
def test_jobs_as_batsim_read_them(name):
    path = DATA / "medium_late" / "medium_late.json"
    if not path.exists():
        pytest.skip(f"{path.name} is not here")
    found = read_stream(path)
    with (path.parent / f"{name}_out_jobs.csv").open() as table:
        rows = {int(row["job_id"]): row for row in csv.DictReader(table)}
    assert len(found) == len(rows) == 801
    given = (found.ids, found.submit_s, found.processors, found.limit_s, found.run_s)
    for number, submit, size, limit, run in zip(*(column.tolist() for column in given), strict=True):
        row = rows[number]
        assert float(row["submission_time"]) == pytest.approx(submit, abs=1e-6)
        assert (int(row["requested_number_of_resources"]), float(row["requested_time"])) == (size, limit)
        assert float(row["execution_time"]) == pytest.approx(run, abs=1e-6)


def test_sequences_last_as_batsim_s_own_workload_says():
    path = DATA / "workloads" / "test_compo_sequence_delay.json"
    if not path.exists():
        pytest.skip(f"{path.name} is not here")
    found, said = read_stream(path), json.loads(path.read_text())
    expected = {one["id"]: said["profiles"][one["profile"]]["expected_execution_time"] for one in said["jobs"]}
    assert {str(k): run for k, run in zip(found.ids, found.run_s, strict=True)} == expected
