"""Bad files of jobs have their answers beside them: what must be said (`error:`), how they are read (`clean:` ...)."""

from pathlib import Path

import pytest

from simulator import ScenarioError, read_stream

FOLDER = Path(__file__).parent / "bad_inputs" / "streams"
ANSWER = ".expected"
CASES = sorted(path for path in FOLDER.iterdir() if path.suffix != ANSWER)


def answer(path, word):
    lines = path.with_name(path.name + ANSWER).read_text().splitlines()
    return [line.removeprefix(f"{word}: ") for line in lines if line.startswith(f"{word}: ")]


def test_there_are_cases():
    assert len(CASES) >= 75
    assert {path.name + ANSWER for path in CASES} == {path.name for path in FOLDER.iterdir() if path.suffix == ANSWER}


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.name)
def test_a_bad_stream_gets_its_lines(path):
    expected = [line.replace("FILE", str(path)) for line in answer(path, "error")]
    (cleaning,), (procs,) = answer(path, "clean") or ["strong"], answer(path, "procs") or [None]
    with pytest.raises(ScenarioError) as told:
        read_stream(path, cleaning=cleaning, machine_processors=None if procs is None else int(procs))
    assert list(told.value.lines) == expected
    assert 1 <= len(expected) <= 20
    assert all("found," not in line for line in expected if path.suffix == ".swf")


def test_what_is_no_file_is_one_line(tmp_path):
    for path, line in ((tmp_path / "none.swf", "no such file or directory"), (tmp_path, "is a directory")):
        with pytest.raises(ScenarioError, match=line) as told:
            read_stream(path)
        assert list(told.value.lines) == [f"{path}: {line}"]
