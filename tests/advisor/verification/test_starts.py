"""Real loads start where few runs meet what many would."""

import numpy as np
import pytest

from advisor.verification.interleaved import even_starts, mean_left
from simulator import LoadTrace, randomness

TRACE = LoadTrace(np.array([0.0, 1.0, 3.0]), np.array([0.0, 1.0, 3.0]), 4.0)
"""Leaves all for 1 s, a half for 2 s and a quarter for 1 s."""


def test_what_is_left_over_a_window_is_the_mean_of_the_shares():
    found = mean_left(TRACE, np.array([0.0, 0.5, 3.5]), 1.0)
    assert found == pytest.approx([1.0, 0.75, 0.625])  # the last one goes on from the start
    assert mean_left(TRACE, np.array([0.3, 2.9]), 8.0) == pytest.approx([0.5625, 0.5625])  # twice the whole trace


def test_three_repetitions_meet_the_middle_and_both_quarters():
    start_s = even_starts(TRACE, window_s=0.5, number=0, generator=randomness.stream(1, "x"))
    places = randomness.stream(2, "y").random(20_000) * 4
    expected = np.quantile(mean_left(TRACE, places, 0.5), [0.5, 0.25, 0.75])
    found = mean_left(TRACE, np.array([start_s(r) for r in range(3)]), 0.5)
    assert found == pytest.approx(expected, abs=0.03)


def test_several_loads_do_not_meet_their_heavy_stretches_together():
    starts = [even_starts(TRACE, window_s=0.5, number=k, generator=randomness.stream(k, "several")) for k in range(10)]
    left = np.array([mean_left(TRACE, np.array([s(r) for r in range(60)]), 0.5) for s in starts])
    assert np.abs(np.corrcoef(left) - np.eye(10)).max() < 0.6
