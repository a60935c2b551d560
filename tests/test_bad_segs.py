"""Every bad file of a software execution graph says in its first lines what `apportion check` must answer."""

from pathlib import Path

import pytest

from advisor.cli import _run

FOLDER = Path(__file__).parent / "bad_inputs" / "segs"
CASES = sorted(FOLDER.iterdir())


def expected(path):
    """`# error:` lines at the top, with FILE for the file."""
    head = [line.removeprefix("# error: ") for line in path.read_text().splitlines() if line.startswith("# error: ")]
    return [f"error: {line}".replace("FILE", str(path)) for line in head]


def test_there_are_cases():
    assert len(CASES) >= 18
    assert all(expected(path) for path in CASES)


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_a_bad_graph_gets_its_lines(capsys, path):
    assert _run(["check", str(path)]) == 2
    said = capsys.readouterr()
    assert said.err.splitlines() == expected(path)
    assert said.out == ""


def test_a_missing_file_is_one_line(capsys, tmp_path):
    assert _run(["check", str(tmp_path / "none.seg.yaml")]) == 2
    assert capsys.readouterr().err == f"error: {tmp_path / 'none.seg.yaml'}: no such file or directory\n"
