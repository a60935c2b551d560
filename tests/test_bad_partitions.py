"""Every bad speeds file or option of `apportion advise SPEEDS.json`: its lines, and exit code 2."""

from pathlib import Path

import pytest

from tests.support import corpus

CASES = corpus.cases(Path(__file__).parent / "bad_inputs" / "partition")


def test_there_are_cases():
    assert len(CASES) >= 40


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_a_bad_partition_gets_its_lines(refused, tmp_path, path):
    """The body is the speeds file."""
    options, body = corpus.parts(path)
    speeds = tmp_path / "speeds.json"
    speeds.write_text(body)
    refused(path, ["advise", speeds, *options.split(), "--json"], FILE=speeds, FOLDER=tmp_path)


def test_a_speeds_file_that_is_not_there(apportion):
    code, _, err = apportion("advise", "no-such.json", "--units", "5")
    assert (code, err) == (2, "error: no-such.json: no such file or directory\n")
