import dataclasses

import numpy as np
import pytest

from simulator.calibration.bands import CutRule, Measurement, build
from simulator.calibration.bands.adaptive import Curve
from tests.simulator.calibration.bands import shapes

RULE = CutRule(band=0.05)
FOUND_OUT = [name for name in shapes.SHAPES if name != "paging at the end"]


@pytest.mark.parametrize(
    ("name", "volume"),
    [(name, shapes.matrix) for name in FOUND_OUT]
    + [(name, shapes.fourier) for name in ("smooth decay", "flat", "noisy", "rising", "dip", "slow steps")],
)
def test_fifteen_times_cheaper_than_the_grid_and_within_the_accuracy(name, volume):
    """Also where time grows almost linearly with the size."""
    source = shapes.recorded(name, volume)
    grid = build(source, method="grid", rule=RULE)
    built = build(source, method="adaptive", rule=RULE)
    error = shapes.errors(built, source)
    assert grid.experimental_s / built.experimental_s >= 15
    assert error.mean() <= 0.05
    assert error.max() <= 0.15


def test_paging_beyond_the_largest_point_is_named_as_assumed_away_and_found_when_asked():
    source = shapes.recorded("paging at the end")
    cheap = build(source, method="adaptive", rule=RULE)
    assert any("nothing was measured" in line and "drops no further" in line for line in cheap.assumptions)
    assert any("nothing was measured" in line for line in cheap.to_dict()["warnings"])
    sure = build(source, method="adaptive", rule=RULE, verify_largest=True)
    grid = build(source, method="grid", rule=RULE)
    assert max(point.size for point in sure.points) == source.largest
    assert sure.experimental_s < grid.experimental_s
    assert shapes.errors(sure, source).mean() < 0.05 < shapes.errors(cheap, source).mean()


def test_an_error_expected_above_the_accuracy_is_said_with_the_price_of_knowing():
    source = shapes.recorded("two cliffs", shapes.fourier)
    built = build(source, method="adaptive", rule=RULE)
    assert built.expected_error["max"] > 0.15
    assert any(line.startswith("accuracy: ") and "state a larger budget" in line for line in built.assumptions_violated)
    rich = build(source, method="adaptive", rule=RULE, budget_s=20 * built.experimental_s)
    assert rich.expected_error["mean"] < built.expected_error["mean"]
    assert shapes.errors(rich, source).mean() < 0.05


def test_the_budget_is_kept_and_every_point_is_paid_once():
    source = shapes.recorded("flat")
    full = build(source, method="adaptive", rule=RULE)
    built = build(source, method="adaptive", rule=RULE, budget_s=full.experimental_s / 4)
    assert built.experimental_s <= full.experimental_s / 4
    assert built.experimental_s == pytest.approx(sum(point.cost_s for point in built.points))
    assert len({point.size for point in built.points}) == len(built.points)


def test_a_memory_limit_ends_the_band_at_zero_speed_unmeasured():
    source = dataclasses.replace(shapes.recorded("flat"), largest_is_memory_limit=True)
    built = build(source, method="adaptive", rule=RULE)
    assert (built.band.sizes[-1], built.band.mid[-1]) == (source.largest, 0)
    assert built.band.speed(0.99 * source.largest) > 2e9
    assert "memory limit" in built.largest_reason


def test_all_shapes_give_bands_that_hold_their_measured_cuts():
    for name in shapes.SHAPES:
        built = build(shapes.recorded(name), rule=RULE)
        for point in built.points:
            cut = built.band.cut(point.size)
            assert (cut.low, cut.mid, cut.high) == pytest.approx(tuple(point.speed * f for f in (0.95, 1, 1.05)))
        assert np.all(np.diff(built.band.sizes) > 0)


@dataclasses.dataclass
class Snapping:
    """Sizes 3 n**2 of whole n only, as a kernel on matrices has; counts what is asked of it."""

    table: object
    asked: list

    smallest = 3.0 * 32**2
    largest = 3.0 * 90**2
    largest_is_memory_limit = False

    def cost_s(self, times_s):
        return times_s

    def measure(self, size):
        n = round((size / 3) ** 0.5)
        self.asked.append(n)
        return self.table.measure(3.0 * n * n)


@pytest.mark.parametrize("method", ["grid", "gbbp", "adaptive"])
def test_sizes_that_snap_are_counted_once_and_never_asked_for_ever(method):
    source = Snapping(shapes.recorded("noisy"), [])
    built = build(source, method=method, rule=RULE, budget_s=1e6, accuracy=0.005)
    assert len({point.size for point in built.points}) == len(built.points)
    assert len(source.asked) < 120
    assert set(built.band.sizes[[0, -1]]) == {source.smallest, source.largest}


@dataclasses.dataclass
class Floored:
    """A table whose points cost at least something, as those of real runs do."""

    table: object
    floor_s: float

    smallest = property(lambda self: self.table.smallest)
    largest = property(lambda self: self.table.largest)
    largest_is_memory_limit = False

    def cost_s(self, times_s):
        return np.maximum(times_s, self.floor_s)

    def measure(self, size):
        point = self.table.measure(size)
        return dataclasses.replace(point, cost_s=max(point.cost_s, self.floor_s))


@pytest.mark.parametrize("name", ["smooth decay", "rising", "flat", "cliff", "slow steps"])
def test_where_small_points_are_not_cheap_they_still_cover_all_sizes(name):
    table = shapes.recorded(name)
    source = Floored(table, table.cpu_s[-1] / 70)
    grid = build(source, method="grid", rule=RULE)
    built = build(source, method="adaptive", rule=RULE)
    assert grid.experimental_s / built.experimental_s >= 15
    assert shapes.errors(built, table).mean() <= 0.05
    assert max(point.size for point in built.points) > 0.3 * table.largest


def test_a_steep_rise_at_the_smallest_sizes_does_not_make_the_rest_look_free():
    table = dataclasses.replace(shapes.recorded("flat"))
    early = np.minimum(table.sizes / 2e4, 1.0) ** 0.5
    table = dataclasses.replace(table, cpu_s=table.cpu_s / early)
    built = build(Floored(table, table.cpu_s[-1] / 25), method="adaptive", rule=RULE)
    assert len(built.points) > 2
    assert max(point.size for point in built.points) > 0.1 * table.largest


def test_a_cache_that_ends_beyond_the_points_is_named():
    source = Floored(shapes.recorded("flat"), 0.0)
    source.level_ends = (("the 16 MiB of L3", 4e7), ("the 1 MiB of L2", 1e5))
    lines = build(source, method="adaptive", rule=RULE).assumptions_violated
    assert [line for line in lines if line.startswith("trend: the 16 MiB of L3 will be full above")]
    assert not any("L2" in line for line in lines)


@pytest.mark.parametrize("speeds", [[4.0] * 8, [4.0] * 4 + [2.0] * 4, [1.0, 2.0, 3.0, 4.0, 4.0, 4.0, 4.0, 4.0]])
def test_a_trend_that_is_level_but_for_rounding_is_level(speeds):
    """Its trust and its doubt decide where the next point lies."""

    def curve(seed):
        noise = 1 + 1e-15 * np.random.default_rng(seed).standard_normal(8)
        points = [
            Measurement.of_times(size, size, (size / speed,), (size / speed,), 1.0)
            for size, speed in zip(1e3 * 2.0 ** np.arange(8), np.array(speeds) * noise, strict=True)
        ]
        return Curve.through(points, lambda sizes: sizes)

    found = {
        (one.trust, round(one.slope, 9), round(one.doubt, 9), one.errors()[1].round(9).tobytes())
        for one in map(curve, range(8))
    }
    assert len(found) == 1
