"""Every bad scenario file says in its first lines what the command line must answer: those lines, and exit code 2."""

from pathlib import Path

import pytest

from advisor.cli import _run

FOLDER = Path(__file__).parent / "bad_inputs" / "scenarios"
CASES = sorted(path for path in FOLDER.iterdir() if path.is_file())


def expected(path):
    """`# error:` lines at the top, with FILE for the file, FOLDER for its folder."""
    head = [line.removeprefix("# error: ") for line in path.read_text().splitlines() if line.startswith("# error: ")]
    return [f"error: {line}".replace("FILE", str(path)).replace("FOLDER", str(FOLDER)) for line in head]


def test_there_are_cases():
    assert len(CASES) >= 172
    assert all(expected(path) for path in CASES)


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_a_bad_scenario_gets_its_lines(capsys, path):
    assert _run(["check", str(path)]) == 2
    said = capsys.readouterr()
    assert said.err.splitlines() == expected(path)
    assert said.out == ""


@pytest.mark.parametrize("path", CASES[::10], ids=lambda path: path.stem)
def test_a_bad_scenario_is_not_resolved(capsys, path):
    assert _run(["check", "--resolved", str(path)]) == 2
    said = capsys.readouterr()
    assert said.err.splitlines() == expected(path)
    assert said.out == ""
