"""Every bad `--set` stands in a file with the answer: `# set:` is what is given, `# error:` what must be said."""

from pathlib import Path

import pytest

from tests.support import corpus

CASES = corpus.cases(Path(__file__).parent / "bad_inputs" / "changes")


def test_there_are_cases():
    assert len(CASES) >= 15
    assert all(corpus.marked(path, "set") for path in CASES)


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_a_bad_change_gets_its_lines(apportion, refused, path):
    given = [part for text in corpus.marked(path, "set") for part in ("--set", text)]
    for command in ("check", "simulate") if path in CASES[::6] else ("check",):
        refused(path, [command, path, *given], FILE=path)
    assert apportion("check", path)[0] == 0  # the file itself is right
