"""Bad files of jobs have their answers beside them: what must be said (`error:`), how they are read (`clean:` ...)."""

from pathlib import Path

import pytest

from simulator import ScenarioError, read_stream
from tests.support.corpus import BESIDE, cases, marked

FOLDER = Path(__file__).parent / "bad_inputs" / "streams"
CASES = cases(FOLDER)


def test_there_are_cases():
    assert len(CASES) >= 75
    assert {f"{path.name}{BESIDE}" for path in CASES} == {path.name for path in FOLDER.glob(f"*{BESIDE}")}


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.name)
def test_a_bad_stream_gets_its_lines(corpus, path):
    (cleaning,), (procs,) = marked(path, "clean") or ["strong"], marked(path, "procs") or [None]
    with pytest.raises(ScenarioError) as told:
        read_stream(path, cleaning=cleaning, machine_processors=None if procs is None else int(procs))
    corpus.compare(path, [f"error: {line}" for line in told.value.lines], {"FILE": path})
    assert 1 <= len(told.value.lines) <= 20
    assert all("found," not in line for line in told.value.lines if path.suffix == ".swf")


def test_what_is_no_file_is_one_line(tmp_path):
    for path, line in ((tmp_path / "none.swf", "no such file or directory"), (tmp_path, "is a directory")):
        with pytest.raises(ScenarioError, match=line) as told:
            read_stream(path)
        assert list(told.value.lines) == [f"{path}: {line}"]
