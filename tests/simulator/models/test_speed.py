import numpy as np
import pytest

from simulator.errors import ScenarioError
from simulator.models.speed import LEAST_HALF_WIDTH, Cut, SpeedBand, cut_from_samples

BAND = SpeedBand.through([Cut(200, 4, 5, 6), Cut(100, 8, 10, 12)])


def test_straight_lines_between_cuts_and_constant_beyond():
    assert BAND.cut(150) == Cut(150, 6, 7.5, 9)
    assert BAND.cut(50) == Cut(50, 8, 10, 12)
    assert BAND.cut(1000) == Cut(1000, 4, 5, 6)


def test_positions_run_from_the_lower_to_the_upper_curve():
    assert BAND.speed(150, position=[0, 0.25, 0.5, 0.75, 1]) == pytest.approx([6, 6.75, 7.5, 8.25, 9])


def test_round_trip():
    again = SpeedBand.from_dict(BAND.to_dict())
    assert all(np.array_equal(getattr(again, name), getattr(BAND, name)) for name in ("sizes", "low", "mid", "high"))


@pytest.mark.parametrize(
    "change",
    [
        {"sizes": [1, 1]},
        {"sizes": [2, 1]},
        {"low": [9, 9]},
        {"high": [1, 1]},
        {"mid": [0, 0], "low": [0, 0]},
        {"mid": [np.nan, 1]},
        {"low": [1]},
        {"sizes": []},
    ],
)
def test_a_band_that_is_none_is_refused(change):
    data = {"sizes": [1, 2], "low": [1, 1], "mid": [2, 2], "high": [3, 3]} | change
    with pytest.raises(ScenarioError, match="speed band"):
        SpeedBand.from_dict(data)


def test_a_cut_spans_wall_to_cpu_speeds_and_is_never_a_point():
    cut = cut_from_samples(1, np.full(10, 100.0), np.array([50.0] * 5 + [90.0] * 5))
    assert (cut.low, cut.mid) == (50.0, 100.0)
    assert cut.high == pytest.approx(100 * (1 + LEAST_HALF_WIDTH))
