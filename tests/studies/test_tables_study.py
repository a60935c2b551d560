"""The study of made-up tables: rows given lie inside of stated intervals, and rows held out about as often as said."""

import pytest

from tests.studies import tables_study as study

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(("kind", "tables"), [("speed", 64), ("network", 64), ("memory", 16)])
def test_intervals_of_tables_hold_what_they_say(kind, tables):
    given, held_out = study.shares(study.judged(kind, tables))
    assert given >= 0.95
    assert 0.85 <= held_out <= 0.98
