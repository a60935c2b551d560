"""Lists of jobs of our own applications, and how the kind of a file is told."""

import gzip

import numpy as np
import pytest

from simulator import read_stream
from simulator.scenario_file import streams

LIST = """# three kinds of jobs
format: 1
jobs:
  - {application: matmul, parameters: {n: 400}, processes: 4, submitted: 90s, user: ann, limit: 10min}
  - {application: ep, parameters: {samples: 1000000}, processes: {least: 2, most: 16}, submitted: 1.5min, user: bob}
  - {application: matmul, parameters: {n: 400}, processes: 1, count: 3, every: 60s}
"""
TABLE = """application,processes,least,most,submitted_s,limit_s,user,n,samples
matmul,4,,,90,600,ann,400,
ep,,2,16,90,,bob,,1000000
matmul,1,,,0,,,400,
matmul,1,,,60,,,400,
matmul,1,,,120,,,400,
"""


def read(tmp_path, text, name):
    path = tmp_path / name
    path.write_text(text)
    return read_stream(path)


@pytest.mark.parametrize(
    ("text", "name"), [(LIST, "jobs.yaml"), (TABLE, "jobs.csv"), (TABLE.replace(",", ";"), "a.txt")]
)
def test_a_list_and_a_table_of_the_same_jobs(tmp_path, text, name):
    found = read(tmp_path, text, name)
    assert found.submit_s.tolist() == [0, 60, 90, 90, 120]
    assert found.least.tolist() == [1, 1, 4, 2, 1]
    assert found.most.tolist() == found.processors.tolist() == [1, 1, 4, 16, 1]
    assert found.moldable
    np.testing.assert_array_equal(found.limit_s, [np.nan, np.nan, 600, np.nan, np.nan])
    assert [found.names["user"][k] if k >= 0 else None for k in found.user] == [None, None, "ann", "bob", None]
    said = [(one.name, dict(one.parameters)) for one in found.applications]
    assert said == [("matmul", {"n": 400}), ("ep", {"samples": 1000000})]
    assert found.application.tolist() == [0, 0, 0, 1, 0]
    assert np.isnan(found.run_s).all()


def test_toml_json_and_packed_lists(tmp_path):
    toml = 'format = 1\n[[jobs]]\napplication = "matmul"\nparameters = {n = 10}\nprocesses = 2\nsubmitted = "2s"\n'
    json = (
        '{"format": 1, "jobs": [{"application": "matmul", "parameters": {"n": 10}, "processes": 2, "submitted": "2s"}]}'
    )
    packed = tmp_path / "jobs.yaml.gz"
    packed.write_bytes(gzip.compress(json.encode()))
    for found in (read(tmp_path, toml, "a.toml"), read(tmp_path, json, "a.json"), read_stream(packed)):
        assert (found.submit_s.tolist(), found.processors.tolist()) == ([2], [2])


def test_parameters_keep_their_kind(tmp_path):
    text = "application,processes,n,nb,broadcast\nhpl,4,400,40,ring\n"
    (one,) = read(tmp_path, text, "a.csv").applications
    assert dict(one.parameters) == {"n": 400, "nb": 40, "broadcast": "ring"}
    assert isinstance(one.parameters["n"], int)


def test_many_jobs_of_one_kind_are_looked_at_once(tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(streams, "make_work", lambda name, _: asked.append(name))
    text = "application,processes,n\n" + "matmul,2,100\n" * 500
    assert len(read(tmp_path, text, "a.csv")) == 500
    assert asked == ["matmul"]
