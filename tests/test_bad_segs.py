"""Every bad file of a software execution graph says in its first lines what `apportion check` must answer."""

from pathlib import Path

import pytest

from tests.support import corpus

CASES = corpus.cases(Path(__file__).parent / "bad_inputs" / "segs")


def test_there_are_cases():
    assert len(CASES) >= 18


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_a_bad_graph_gets_its_lines(refused, path):
    refused(path, ["check", path], FILE=path)


def test_a_missing_file_is_one_line(apportion, tmp_path):
    path = tmp_path / "none.seg.yaml"
    assert apportion("check", path) == (2, "", f"error: {path}: no such file or directory\n")
