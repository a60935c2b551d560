import json

import numpy as np
import pytest

from simulator.base.errors import ScenarioError
from simulator.models.speed import LEAST_HALF_WIDTH, Cut, SpeedBand, SpeedFunction, SpeedSurface, cut_from_samples

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
    with pytest.raises(ScenarioError, match=r"speed band|is not a number"):
        SpeedBand.from_dict(data)


def test_a_cut_spans_wall_to_cpu_speeds_and_is_never_a_point():
    cut = cut_from_samples(1, np.full(10, 100.0), np.array([50.0] * 5 + [90.0] * 5))
    assert (cut.low, cut.mid) == (50.0, 100.0)
    assert cut.high == pytest.approx(100 * (1 + LEAST_HALF_WIDTH))


def test_cuts_relate_as_closed_intervals():
    low, high, inner, touching = Cut(1, 1, 2, 3), Cut(2, 4, 5, 6), Cut(3, 1.5, 2, 2.5), Cut(4, 3, 4, 5)
    assert low.at_most(high)
    assert not high.at_most(low)
    assert not low.meets(high)
    assert low.meets(touching)
    assert touching.meets(low)
    assert low.contains(inner)
    assert not inner.contains(low)
    assert low.contains(low)
    assert low.at_most(low)
    assert not inner.at_most(low)
    assert not low.at_most(inner)


def test_size_is_the_inverse_of_time_where_time_grows():
    function = SpeedFunction(np.array([10.0, 100.0, 1000.0]), np.array([5.0, 8.0, 2.0]))
    sizes = np.array([[1.0, 10.0, 55.0], [100.0, 700.0, 5000.0]])
    assert function.monotone
    found, unique = function.size(function.time(sizes))
    assert found == pytest.approx(sizes)
    assert unique.all()
    assert function.time(100.0, 2e6) == pytest.approx(2.5e5)


def test_size_is_flagged_where_a_time_has_more_than_one():
    function = SpeedFunction(np.array([10.0, 20.0]), np.array([1.0, 10.0]))
    assert not function.monotone
    found, unique = function.size([5.0, 100.0])
    assert found == pytest.approx([50, 1000])
    assert unique.tolist() == [False, True]


def test_a_band_may_end_at_zero_speed_and_its_time_there_is_infinite():
    band = SpeedBand.through([Cut(10, 9, 10, 11), Cut(20, 0, 0, 0)])
    assert band.time([10, 20]).tolist() == [1.0, np.inf]
    found, unique = band.function().size([1e9])
    assert found == pytest.approx([20])
    assert unique.all()
    with pytest.raises(ScenarioError, match="give mid above 0"):
        SpeedBand.through([Cut(10, 0, 0, 0), Cut(20, 1, 2, 3)])


def test_a_speed_function_round_trips():
    function = SpeedBand.through([Cut(10, 9, 10, 11), Cut(20, 4, 5, 6)]).function(position=1)
    again = SpeedFunction.from_dict(function.to_dict())
    assert again.speeds.tolist() == [11, 6]
    with pytest.raises(ScenarioError, match="speed function"):
        SpeedFunction(np.array([1.0, 2.0]), np.array([0.0, 1.0]))


def band_of(sizes, speeds):
    speeds = np.asarray(speeds, float)
    return SpeedBand(np.asarray(sizes, float), speeds * 0.9, speeds, speeds * 1.1)


def test_a_surface_gives_what_was_measured_and_joins_panels_of_equal_proportions():
    small, large = band_of([2e4, 3e4], [1e9, 2e9]), band_of([2e6, 3e6], [4e9, 8e9])
    surface = SpeedSurface((100.0, 1000.0), (small, large))
    assert surface.at(100).to_dict() == small.to_dict()
    assert surface.at(1000).surface is surface
    between = surface.at(np.sqrt(100 * 1000))  # halfway on a logarithmic axis: the geometric mean of speeds
    for share in (2.0, 2.5, 3.0):  # size over the square of the columns
        expected = np.sqrt(small.cut(share * 1e4).mid * large.cut(share * 1e6).mid)
        assert between.cut(share * 1e5).mid == pytest.approx(expected, rel=1e-9)
    assert np.all(between.low < between.mid)


def test_a_surface_is_constant_beyond_its_columns_and_survives_its_file():
    surface = SpeedSurface((100.0, 1000.0), (band_of([2e4], [1e9]), band_of([2e6], [4e9])))
    assert surface.at(10_000).cut(3e8).mid == pytest.approx(4e9)
    assert surface.at(10).cut(200).mid == pytest.approx(1e9)
    again = SpeedSurface.from_dict(json.loads(json.dumps(surface.to_dict())))
    assert again.to_dict() == surface.to_dict()


@pytest.mark.parametrize(
    ("columns", "bands"),
    [((), 0), ((100.0,), 2), ((100.0, 100.0), 2), ((200.0, 100.0), 2), ((0.0,), 1), ((np.inf,), 1), ((np.nan, 1.0), 2)],
)
def test_a_surface_that_is_none_is_refused(columns, bands):
    with pytest.raises(ScenarioError, match="speed surface"):
        SpeedSurface(columns, (band_of([1], [1]),) * bands)


def test_speeds_are_multiplied_by_factors_at_some_sizes_and_the_doubt_stays():
    curve = np.array([4.0, 2.0])
    band = SpeedBand(np.array([10.0, 1000.0]), 0.9 * curve, curve, 1.1 * curve)
    assert band.scaled(1.0) is band
    half = band.scaled(0.5)
    assert (half.sizes.tolist(), half.mid.tolist()) == ([10.0, 1000.0], [2.0, 1.0])
    some = band.scaled([1.0, 0.5], [10.0, 100.0])
    assert some.sizes.tolist() == [10.0, 100.0, 1000.0]
    assert some.speed([10.0, 100.0, 1000.0, 5.0]) == pytest.approx([4.0, 0.5 * float(band.speed(100.0)), 1.0, 4.0])
    assert some.speed(100.0, position=1.0) == pytest.approx(0.5 * float(band.speed(100.0, position=1.0)))
