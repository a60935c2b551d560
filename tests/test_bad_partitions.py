"""Every bad speeds file or option of `apportion partition` says what it must answer: those lines, and exit code 2."""

from pathlib import Path

import pytest

from advisor.cli import _run

FOLDER = Path(__file__).parent / "bad_inputs" / "partition"
CASES = sorted(FOLDER.glob("*.case"))


def test_there_are_cases():
    assert len(CASES) >= 40


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_a_bad_partition_gets_its_lines(capsys, tmp_path, path):
    """A case: `$` and options, the lines expected (FILE and FOLDER for the file's), `---`, and the speeds file."""
    head, body = path.read_text().split("---\n")
    options, *expected = head.removeprefix("$ ").splitlines()
    speeds = tmp_path / "speeds.json"
    speeds.write_text(body)
    assert _run(["partition", "--speeds", str(speeds), *options.split(), "--json"]) == 2
    said = capsys.readouterr()
    assert said.err.splitlines() == [
        line.replace("FILE", str(speeds)).replace("FOLDER", str(tmp_path)) for line in expected
    ]
    assert expected
    assert said.out == ""


def test_a_speeds_file_that_is_not_there(capsys):
    assert _run(["partition", "--speeds", "no-such.json", "--units", "5"]) == 2
    assert capsys.readouterr().err == "error: no-such.json: no such file or directory\n"
