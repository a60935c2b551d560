"""Builders side by side: what each is asked, whose turn it is, and a small real run."""

import numpy as np
import pytest

from advisor.reproduce.gbbp_live import (
    GridLane,
    HeldOutLane,
    PointsSoFar,
    compare_builders,
    held_out_sizes,
    next_lane,
    next_step,
)
from simulator import ScenarioError
from simulator.base.randomness import stream
from simulator.calibration import RealSource
from simulator.calibration.bands import CutRule, ReplaySource, build
from simulator.calibration.bands.build import BuiltBand
from simulator.calibration.speed.sampling import Effort
from tests.support.stored_points import stored

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


@pytest.mark.slow
def test_every_method_measures_its_own_points_and_the_sweep_is_nobodys(tmp_path):
    source = RealSource.of_kernel("triad", cpu=CPU, time_cap_s=0.05, max_size=2e5, store=tmp_path / "ends.json")
    with source:
        grid = source.with_own_points(tmp_path / "grid.json")
        other = source.with_own_points(tmp_path / "other.json")
        lane = GridLane(grid, stream(1, "grid"))
        assert (lane.expected, lane.done, lane.finished) == (20, 0, False)
        asked = []
        while not lane.finished:
            before = set(grid.kept)
            lane.step()
            asked += set(grid.kept) - before
        assert len(asked) == 20
        assert asked != sorted(asked)
        assert not other.kept
        assert not source.kept
        sizes = held_out_sizes(source, 36)
        assert len(sizes) == len(set(sizes)) == 36
        assert not {source.n_of(size) for size in sizes} & set(grid.kept)
        sweep = source.with_own_points(
            None, effort=Effort(float("inf"), precision=0.0, most_samples=2, least_sample_s=1e-3)
        )
        held_out = HeldOutLane(sweep, sizes, passes=2, generator=stream(1, "sweep"))
        for _ in range(36):
            held_out.step()
        assert set(held_out.counts) == {1}  # a whole pass before the next
        assert not held_out.finished
        held_out.once_is_enough = True
        assert held_out.finished
    assert len(stored(tmp_path / "grid.json")["points"]) == 20


class BrokenOffError(Exception):
    pass


@pytest.mark.slow
def test_a_run_broken_off_goes_on_and_a_finished_one_is_set_aside(tmp_path):
    settings = {"folder": tmp_path, "cpu": CPU, "budget_s": 3.0, "seed": 1}

    def break_off(_stage, share):
        if share > 0.4:
            raise BrokenOffError

    with pytest.raises(BrokenOffError):
        compare_builders(["integration"], **settings, on_progress=break_off)
    stores = {path.name: stored(path) for path in (tmp_path / "points").glob("integration-*.json")}
    before = {(name, p["n"]): p for name, document in stores.items() for p in document["points"]}
    assert len(before) > 10
    with pytest.raises(ScenarioError, match=r"a run broken off with .* seed 1 found, .* seed 2 asked for"):
        compare_builders(["integration"], **settings | {"seed": 2}, on_progress=lambda *_: None)
    (compared,) = compare_builders(["integration"], **settings, on_progress=lambda *_: None)
    stores = {path.name: stored(path) for path in (tmp_path / "points").glob("integration-*.json")}
    after = {(name, p["n"]): p for name, document in stores.items() for p in document["points"]}
    assert {key: after[key] for key in before} == before
    assert set(compared.built) == {"grid", "gbbp", "adaptive"}
    assert len(compared.built["grid"].points) == 20
    for method, built in compared.built.items():
        assert built.experimental_s == pytest.approx(sum(point.cost_s for point in compared.points[method]))
        assert not {point.size for point in built.points} & set(compared.held_out_sizes.tolist())
    assert compared.held_out_sizes.size >= 30
    assert all(len(point.samples) >= 1 for point in compared.held_out)
    compare_builders(["integration"], **settings | {"seed": 2}, on_progress=lambda *_: None)
    assert (tmp_path / "earlier-1" / "points" / "integration-grid.json").exists()


def test_a_budget_too_small_is_refused(tmp_path):
    with pytest.raises(ScenarioError, match=r"--budget: 1 s is too short; give 9 s or more for 3 kernels"):
        compare_builders(
            ["dgemm", "fft", "triad"], folder=tmp_path, cpu=CPU, budget_s=1.0, seed=0, on_progress=lambda *_: None
        )
