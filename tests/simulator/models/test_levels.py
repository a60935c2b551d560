"""Levels of PEs: factors by size and position, what several kinds have together, and the trace that engines take."""

import numpy as np
import pytest

from simulator.base.errors import ScenarioError
from simulator.models.doubt import Noise
from simulator.models.levels import Levels
from simulator.models.speed import SpeedBand, SpeedSurface

SIZES = np.array([10.0, 100.0, 1e4])
FACTORS = np.array([[0.8, 1.0, 1.5], [0.9, 1.0, 1.4], [1.0, 1.0, 1.1]])
LEVELS = Levels(SIZES, FACTORS, 2.0)


def test_factors_lie_on_straight_lines_over_positions_and_log_sizes():
    for size in (1.0, 10.0, 31.0, 5e3, 1e6):
        for position in (0.0, 0.2, 0.5, 0.71, 1.0):
            here = [np.interp(position, [1 / 6, 3 / 6, 5 / 6], np.log(row)) for row in FACTORS]
            expected = np.exp(np.interp(np.log(size), np.log(SIZES), here))
            assert LEVELS.at(size, position) == pytest.approx(expected, rel=1e-12)


def test_sizes_and_positions_broadcast():
    found = LEVELS.at(np.array([10.0, 1e4]), np.array([[0.1], [0.5], [0.9]]))
    assert found.shape == (3, 2)
    assert found[2].tolist() == pytest.approx([1.5, 1.1])


def test_a_trace_gives_each_level_the_same_time_and_stays_as_long_as_said():
    trace = LEVELS.trace(10.0)
    shares = 0.8 / FACTORS[0]
    for share in shares:
        there = np.isclose(trace.values, share)
        assert trace.durations_s[there].sum() == pytest.approx(trace.end_s / 3)
    assert trace.end_s / trace.values.size == pytest.approx(2.0)
    assert trace.mean() == pytest.approx(shares.mean())


def test_no_trace_without_how_long_a_level_lasts():
    with pytest.raises(ScenarioError, match="how long"):
        Levels(SIZES, FACTORS).trace(10.0)


def test_a_kind_of_equal_levels_has_these():
    both = Levels.mixed([LEVELS, LEVELS])
    assert both.factors == pytest.approx(FACTORS)
    assert both.lasts_s == 2.0
    assert Levels.mixed([LEVELS, Levels(SIZES, FACTORS)]).lasts_s is None
    assert Levels.mixed([LEVELS], [4.0]).at(40.0, 0.9) == pytest.approx(1.5)


@pytest.mark.parametrize(
    ("sizes", "factors", "lasts_s", "said"),
    [
        ([1.0], [[1.0], [1.0]], None, "at each size"),
        ([2.0, 1.0], [[1.0], [1.0]], None, "ascending"),
        ([1.0], [[1.0, 0.9]], None, "not decrease"),
        ([1.0], [[0.0, 0.9]], None, "above 0"),
        ([1.0], [[1.0]], 0.0, "lasts_s is 0"),
    ],
)
def test_what_cannot_be_is_refused(sizes, factors, lasts_s, said):
    with pytest.raises(ScenarioError, match=said):
        Levels(np.array(sizes), np.array(factors), lasts_s)


def test_a_band_draws_its_levels_and_is_written_with_them():
    noise = Noise(np.array([0.8, 1.0, 1.5]), LEVELS)
    band = SpeedBand(SIZES, *[np.full(3, 6e9)] * 3, noise=noise)
    assert band.drawn(10.0, noise=0.95) == pytest.approx(6e9 / 1.5)
    assert band.drawn(1e4, noise=0.95) == pytest.approx(6e9 / 1.1)
    again = SpeedBand.from_dict(band.to_dict())
    assert again.noise.levels.factors.tolist() == FACTORS.tolist()
    assert again.noise.levels.lasts_s == 2.0


def test_columns_between_two_have_the_levels_of_both_at_equal_proportions():
    noise = Noise(np.array([0.8, 1.0, 1.5]), LEVELS)
    band = SpeedBand(SIZES, *[np.full(3, 6e9)] * 3, noise=noise)
    between = SpeedSurface((100.0, 400.0), (band, band)).at(200.0)
    expected = np.sqrt(LEVELS.at(10.0, 0.9) * LEVELS.at(160.0, 0.9))  # sizes grow with the square of the columns
    assert between.noise.levels.at(40.0, 0.9) == pytest.approx(expected)
