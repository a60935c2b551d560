"""Builders side by side: what each is asked, and whose turn it is."""

import numpy as np
import pytest

from advisor.reproduce.gbbp_live import (
    PointsSoFar,
    compare_builders,
    next_lane,
    next_step,
)
from simulator import ScenarioError
from simulator.base.randomness import stream
from simulator.calibration.bands import CutRule, ReplaySource, build
from simulator.calibration.bands.build import BuiltBand

CPU = 0


def recorded():
    sizes = 3.0 * np.arange(26, 1200, 7) ** 2
    volumes = 2 * (sizes / 3) ** 1.5
    times = volumes / (4e9 / (1 + (sizes / 3e5) ** 0.4))
    return ReplaySource(sizes, volumes, times, times)


@pytest.mark.parametrize("method", ["grid", "gbbp", "adaptive"])
def test_point_by_point_a_builder_asks_for_what_it_asks_for_at_once(method):
    table = recorded()

    def n_of(size):
        return round((size / 3) ** 0.5)

    points, asked = {}, []
    while not isinstance(
        found := next_step(
            method, PointsSoFar(table.smallest, table.largest, False, "b", points, n_of, lambda times: times)
        ),
        BuiltBand,
    ):
        n = n_of(found)
        assert n not in points
        asked.append(n)
        points[n] = table.measure(min(3.0 * n * n, table.largest))
    at_once = build(table, method=method, rule=CutRule())
    assert len(asked) == len(found.points) >= 8
    assert found.experimental_s == pytest.approx(at_once.experimental_s, rel=0.1)


class Counter:
    def __init__(self, name, steps):
        self.name, self.expected, self.done = name, steps, 0

    @property
    def finished(self):
        return self.done == self.expected

    def step(self):
        self.done += 1


def test_lanes_of_unlike_length_stay_side_by_side():
    lanes, generator, order = [Counter("grid", 20), Counter("gbbp", 9), Counter("sweep", 108)], stream(1, "test"), []
    while (lane := next_lane(lanes, generator)) is not None:
        lane.step()
        order.append(lane.name)
        shares = [one.done / one.expected for one in lanes]
        assert max(shares) - min(shares) <= 2 / 9 + 1e-9
    assert len(order) == 137
    assert order[:30] != sorted(order[:30])


def test_a_budget_too_small_is_refused(tmp_path):
    with pytest.raises(ScenarioError, match=r"--budget: 1 s is too short; give 9 s or more for 3 kernels"):
        compare_builders(
            ["dgemm", "fft", "triad"], folder=tmp_path, cpu=CPU, budget_s=1.0, seed=0, on_progress=lambda *_: None
        )
