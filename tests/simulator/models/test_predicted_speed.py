"""Speeds predicted from memory levels, by hand."""

import numpy as np
import pytest

from simulator.base.errors import ScenarioError
from simulator.models.memory import MemoryLevel, MemoryUse
from simulator.models.predicted_speed import predicted_band, predicted_speeds, rescaled
from simulator.models.speed import SpeedBand

NEAR = MemoryLevel("L1", 800, 1e-9, 0.0)
FAR = MemoryLevel("RAM", np.inf, 5e-9, 0.0)
WIDER = MemoryLevel("L1", 1600, 1e-9, 0.0)
USE = MemoryUse(2.0, 1.0)


def test_time_per_unit_is_the_compute_part_and_the_accesses():
    """With all data near a unit takes 4 ns, 2 of them for its accesses; at M = 1600 half of them are far."""
    speeds = predicted_speeds((NEAR, FAR), USE, [400, 800, 1600], flop_rate=1 / 4e-9)
    assert (1 / speeds).tolist() == pytest.approx([4e-9, 4e-9, 2e-9 + 2 * 3e-9])


def test_a_part_of_the_footprint_and_no_levels():
    half = MemoryUse(2.0, 1.0, footprint_share=0.5)
    assert (1 / predicted_speeds((NEAR, FAR), half, [1600, 3200], flop_rate=1 / 4e-9)).tolist() == pytest.approx(
        [4e-9, 8e-9]
    )
    with pytest.raises(ScenarioError, match="needs the memory levels"):
        predicted_speeds((), USE, [1], flop_rate=1.0)


def test_a_predicted_band_says_its_width_and_spans_the_edges():
    band = predicted_band((NEAR, FAR), USE, flop_rate=1e9, half_width=0.4)
    assert band.sizes[0] == 25
    assert band.sizes[-1] == 400
    assert 100 in band.sizes
    assert np.allclose(band.low, 0.6 * band.mid)
    assert np.allclose(band.high, 1.4 * band.mid)


def test_a_measured_band_on_twice_the_cache():
    """Measured as the model says with a compute part of 2 ns: on twice the cache it is what the model says there."""
    sizes = np.array([50.0, 100.0, 200.0, 400.0])
    measured = predicted_speeds((NEAR, FAR), USE, 8 * sizes, flop_rate=1 / 4e-9)
    band = SpeedBand(sizes, 0.9 * measured, measured, 1.1 * measured)
    found = rescaled(band, USE, measured=(NEAR, FAR), changed=(WIDER, FAR))
    assert found.compute_part_s == pytest.approx(2e-9)
    assert not found.cut_off
    expected = predicted_speeds((WIDER, FAR), USE, 8 * sizes, flop_rate=1 / 4e-9)
    assert found.band.speed(sizes).tolist() == pytest.approx(expected.tolist())
    assert found.band.cut(200).low == pytest.approx(0.9 * expected[2])
    assert found.factors.max() == pytest.approx(8 / 4)
    assert found.factors.min() == pytest.approx(1)


def test_accesses_that_take_longer_than_was_measured_leave_no_compute_part():
    band = SpeedBand(np.array([50.0, 400.0]), *(np.array([1e9, 5e8]),) * 3)
    found = rescaled(band, USE, measured=(NEAR, FAR), changed=(WIDER, FAR))
    assert found.cut_off
    assert found.compute_part_s == 0
    assert found.memory_shares.tolist() == pytest.approx([1.0] * found.memory_shares.size)


def test_a_band_that_ends_at_the_memory_limit_and_a_constant():
    ends = SpeedBand(np.array([50.0, 100.0, 400.0]), *(np.array([1e8, 1e8, 0.0]),) * 3)
    found = rescaled(ends, USE, measured=(NEAR, FAR), changed=(WIDER, FAR))
    assert found.band.sizes[-1] == 400
    assert found.band.mid[-1] == 0
    constant = rescaled(SpeedBand.constant(1e8), USE, measured=(NEAR, FAR), changed=(WIDER, FAR))
    assert constant.band.sizes.size > 4
    assert constant.band.speed(400) > 1e8 * 1.001
