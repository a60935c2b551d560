"""Every bad `--set` stands in a file with the answer: `# set:` is what is given, `# error:` what must be said."""

from pathlib import Path

import pytest

from advisor.cli import _run

FOLDER = Path(__file__).parent / "bad_inputs" / "changes"
CASES = sorted(FOLDER.iterdir())


def lines(path, word):
    return [line.removeprefix(f"# {word}: ") for line in path.read_text().splitlines() if line.startswith(f"# {word}:")]


def test_there_are_cases():
    assert len(CASES) >= 15
    assert all(lines(path, "set") and lines(path, "error") for path in CASES)


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_a_bad_change_gets_its_lines(capsys, path):
    given = [part for text in lines(path, "set") for part in ("--set", text)]
    expected = [f"error: {line}".replace("FILE", str(path)) for line in lines(path, "error")]
    for command in (["check"], ["simulate"]):
        assert _run([*command, str(path), *given]) == 2
        said = capsys.readouterr()
        assert said.err.splitlines() == expected
        assert said.out == ""
    assert _run(["check", str(path)]) == 0  # the file itself is right
