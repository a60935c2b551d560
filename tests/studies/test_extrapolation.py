"""The study of intervals beyond the runs: made-up programs and measured tables, on a seed of its own."""

import numpy as np
import pytest

from tests.studies import extrapolation as study

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def figures():
    return study.figures_of([row for number in range(240) for row in study.one(number, seed=2000)])


@pytest.mark.parametrize("group", study.BARS)
def test_intervals_of_made_up_programs_hold_as_often_as_they_say(group, figures):
    low, high = study.BARS[group]
    found = figures[group]
    sampling = 2 * np.sqrt(0.09 / found.targets)
    assert low - sampling <= found.held <= high + sampling


def test_intervals_beyond_the_runs_are_at_most_twice_as_wide_as_of_one_who_knows_the_form(figures):
    assert figures["beyond"].ratio <= study.MOST_WIDTH


def test_smaller_rows_of_the_papers_tables_predict_larger_ones():
    for name, rows in study.rolling(study.scopred()).items():
        assert np.mean([held for held, _, _ in rows]) >= 0.85, name


@pytest.mark.parametrize("below", [False, True])
def test_sizes_of_the_papers_kernels_lie_in_bands_that_were_built_without_them(below):
    rows = study.rolling_bands(below=below)["papers' kernels"]
    assert np.mean([held for held, _, _ in rows]) >= 0.85


def test_smaller_messages_of_recorded_tables_predict_larger_ones():
    rows = study.rolling_messages()
    assert np.mean([held for name in ("tcp", "unix", "pipe") for held, _, _ in rows[name]]) >= 0.85
