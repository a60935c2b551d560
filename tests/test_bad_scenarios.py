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


def test_bad_scenarios_are_not_resolved(refused):
    for path in CASES[::30]:
        refused(path, ["check", "--resolved", path], FILE=path, FOLDER=FOLDER)
