"""Every bad scenario file says in its first lines what the command line must answer: those lines, and exit code 2."""

from pathlib import Path

import pytest

from tests.support import corpus

FOLDER = Path(__file__).parent / "bad_inputs" / "scenarios"
CASES = corpus.cases(FOLDER)


def test_there_are_cases():
    assert len(CASES) >= 172


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_a_bad_scenario_gets_its_lines(refused, path):
    refused(path, ["check", path], FILE=path, FOLDER=FOLDER)


@pytest.mark.parametrize("path", CASES[::10], ids=lambda path: path.stem)
def test_a_bad_scenario_is_not_resolved(refused, path):
    refused(path, ["check", "--resolved", path], FILE=path, FOLDER=FOLDER)
