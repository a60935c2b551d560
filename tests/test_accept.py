"""`--accept`: what it writes into corpora, and what it leaves alone."""

import pytest

from tests.support.corpus import Corpus, expected


def test_a_head_that_grows_is_written_until_the_lines_below_it_are_right(tmp_path):
    path = tmp_path / "bad.yaml"
    path.write_text("# error: FILE:2: x\nformat: 1\nseed: -1\nnodes: 0\n")

    def run():
        lines = path.read_text().splitlines()
        found = [f"error: {path}:{lines.index(word) + 1}: {word} is bad" for word in ("seed: -1", "nodes: 0")]
        return 2, "", found

    with pytest.raises(AssertionError):
        Corpus(accept=False).refused(path, run, {"FILE": path})
    Corpus(accept=True).refused(path, run, {"FILE": path})
    assert path.read_text() == (
        "# error: FILE:4: seed: -1 is bad\n# error: FILE:5: nodes: 0 is bad\nformat: 1\nseed: -1\nnodes: 0\n"
    )


@pytest.mark.parametrize(
    "ending", [(0, "", ["error: x"]), (1, "", ["error: x"]), (2, "out", ["error: x"]), (2, "", [])]
)
def test_what_is_not_refused_is_never_accepted(tmp_path, ending):
    path = tmp_path / "bad.case"
    path.write_text("$ --units 5\nerror: before\n---\nbody\n")
    with pytest.raises(AssertionError):
        Corpus(accept=True).refused(path, lambda: ending, {})
    assert expected(path) == ["error: before"]


def test_names_stand_for_what_differs(tmp_path):
    path = tmp_path / "bad.case"
    path.write_text("$ --units 5\nerror: CPUS\n---\nbody\n")
    Corpus(accept=True).refused(
        path, lambda: (2, "", ["error: /a/b/c: 0, 1"]), {"FOLDER": "/a", "FILE": "/a/b/c", "CPUS": "0, 1"}
    )
    assert path.read_text() == "$ --units 5\nerror: FILE: CPUS\n---\nbody\n"
