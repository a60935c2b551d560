"""Bad scenarios, graphs, changes and streams of jobs say in a file what must be answered: those lines, exit code 2."""

from pathlib import Path

import pytest

from simulator import ScenarioError, read_stream
from tests.support.corpus import BESIDE, cases, marked

FOLDER = Path(__file__).parent / "bad_inputs"
SCENARIOS, SEGS, CHANGES, STREAMS = (cases(FOLDER / name) for name in ("scenarios", "segs", "changes", "streams"))


def test_there_are_cases():
    assert all(len(found) >= least for found, least in ((SCENARIOS, 172), (SEGS, 18), (CHANGES, 15), (STREAMS, 75)))
    assert all(marked(path, "set") for path in CHANGES)
    beside = {f"{path.name}{BESIDE}" for path in STREAMS}
    assert beside == {path.name for path in (FOLDER / "streams").glob(f"*{BESIDE}")}


@pytest.mark.parametrize("path", [*SCENARIOS, *SEGS], ids=lambda path: path.stem)
def test_a_bad_file_gets_its_lines(refused, path):
    refused(path, ["check", path], FILE=path, FOLDER=path.parent)


def test_bad_scenarios_are_not_resolved(refused):
    for path in SCENARIOS[::30]:
        refused(path, ["check", "--resolved", path], FILE=path, FOLDER=path.parent)


@pytest.mark.parametrize("path", CHANGES, ids=lambda path: path.stem)
def test_a_bad_change_gets_its_lines(apportion, refused, path):
    """Lines `# set:` are what is given."""
    given = [part for text in marked(path, "set") for part in ("--set", text)]
    for command in ("check", "simulate") if path in CHANGES[::6] else ("check",):
        refused(path, [command, path, *given], FILE=path)
    assert apportion("check", path)[0] == 0  # the file itself is right


@pytest.mark.parametrize("path", STREAMS, ids=lambda path: path.name)
def test_a_bad_stream_gets_its_lines(corpus, path):
    """Read as the file beside it says (`clean:`, `procs:`)."""
    (cleaning,), (procs,) = marked(path, "clean") or ["strong"], marked(path, "procs") or [None]
    with pytest.raises(ScenarioError) as told:
        read_stream(path, cleaning=cleaning, machine_processors=None if procs is None else int(procs))
    corpus.compare(path, [f"error: {line}" for line in told.value.lines], {"FILE": path})
    assert 1 <= len(told.value.lines) <= 20
    assert all("found," not in line for line in told.value.lines if path.suffix == ".swf")


def test_what_is_no_file_is_one_line(apportion, tmp_path):
    for path, line in ((tmp_path / "none.swf", "no such file or directory"), (tmp_path, "is a directory")):
        with pytest.raises(ScenarioError) as told:
            read_stream(path)
        assert list(told.value.lines) == [f"{path}: {line}"]
    path = tmp_path / "none.seg.yaml"
    assert apportion("check", path) == (2, "", f"error: {path}: no such file or directory\n")
