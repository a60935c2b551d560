"""The one writer of scenario files: what is written is read as the same data, and comments stand above their fields."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.base.yaml_document import read_value
from simulator.scenario_file.written import written

TEXTS = st.one_of(
    st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=12),
    st.sampled_from(
        ["1e3", "0o17", "0x1F", "null", "~", "yes", "010", "1.", ".5", "-.inf", ".nan", "2026-01-05", "a: b"]
    ),
)
LEAVES = st.one_of(TEXTS, st.integers(-(10**9), 10**9), st.floats(allow_nan=False, allow_infinity=False), st.booleans())
DATA = st.recursive(LEAVES, lambda part: st.lists(part, max_size=3) | st.dictionaries(TEXTS, part, max_size=3))


@given(st.dictionaries(TEXTS, DATA, min_size=1, max_size=4))
def test_what_is_written_is_read_back(document):
    assert (
        read_value(written(document, head=["anything # at: all"], notes={(next(iter(document)),): "a note"}))
        == document
    )


@pytest.mark.parametrize(
    ("document", "notes", "text"),
    [
        ({"a": {"b": 1, "c": [{"d": "x", "e": {"f": 2}}]}}, {("a", "c"): "of c"}, "a:\n  b: 1\n  # of c\n  c:\n"),
        ([{"a": 1, "b": [{"c": [1]}]}], {(0, "b", 0): "of the first"}, "- a: 1\n  b:\n  # of the first\n  - c: [1]\n"),
        ({"a": {"b": 1}}, {("a", "b"): "one line\nstays one"}, "# one line stays one\na: {b: 1}\n"),
    ],
)
def test_a_comment_stands_above_its_field(document, notes, text):
    assert written(document, notes=notes).startswith(text)
