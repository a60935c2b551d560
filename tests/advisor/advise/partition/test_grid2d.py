"""Rectangles: they tile the matrix, communicate little, and are as balanced as their columns allow."""

import itertools

import numpy as np
import pytest

from advisor.advise.partition import SpeedKinds, grid2d
from simulator import ScenarioError
from simulator.base.randomness import stream


def tiles(found):
    """How often each element of the matrix is covered."""
    covered = np.zeros((found.details["rows"], found.details["columns"]), int)
    for r in found.details["rectangles"]:
        covered[r["row"] : r["row"] + r["height"], r["column"] : r["column"] + r["width"]] += 1
    return covered


@pytest.mark.parametrize("seed", range(12))
def test_rectangles_tile_the_matrix(seed):
    rng = stream(seed, "grid")
    p, rows, columns = int(rng.integers(1, 20)), int(rng.integers(1, 40)), int(rng.integers(1, 40))
    pes = SpeedKinds.of(
        [[1.0, 500.0]] * p, rng.uniform(1, 9, (p, 2)), setups=rng.choice([0.0, 3.0], p), counts=rng.integers(1, 3, p)
    )
    found = grid2d(rows * columns, pes, rows=rows, columns=columns)
    assert np.all(tiles(found) == 1)
    for r in found.details["rectangles"]:
        assert found.units[r["pe"]] == r["height"] * r["width"]
    assert found.details["half_perimeters"] >= found.details["half_perimeters_bound"] * (1 - 1e-12)


@pytest.mark.parametrize(("p", "ratio"), [(4, 1.10), (16, 1.03), (62, 1.01)])
def test_communication_is_near_its_lower_bound_and_far_below_slabs(p, ratio):
    speeds = stream(p, "speeds").uniform(1, 10, p)
    found = grid2d(2048**2, SpeedKinds.constant(speeds))
    slabs = p * 2048 + 2048
    assert found.details["half_perimeters_ratio"] < ratio
    assert found.details["half_perimeters"] < slabs
    assert found.makespan_s < 1.02 * found.lower_bound_s


def test_sides_are_the_least_makespan_that_the_columns_allow():
    """Against every width and every height, for the columns that were chosen."""
    rng = stream(3, "sides")
    for _ in range(8):
        pes = SpeedKinds.constant(rng.uniform(1, 5, 4))
        found = grid2d(7 * 6, pes, rows=7, columns=6)
        columns = {}
        for r in found.details["rectangles"]:
            columns.setdefault(r["column"], []).append(r["pe"])
        groups = list(columns.values())
        if sum(map(len, groups)) < 4:
            continue

        def best_of(group, width, pes=pes):
            heights = [h for h in itertools.product(range(8), repeat=len(group)) if sum(h) == 7]
            return min(max(width * k / pes.speeds[pe] for pe, k in zip(group, h, strict=True)) for h in heights)

        widths = [w for w in itertools.product(range(7), repeat=len(groups)) if sum(w) == 6]
        best_s = min(max(best_of(g, w) for g, w in zip(groups, widths_, strict=True)) for widths_ in widths)
        assert found.makespan_s == pytest.approx(best_s)


def test_memory_limits_are_kept_or_said_to_leave_no_rectangles():
    found = grid2d(100, SpeedKinds.of([[1.0]] * 2, [[1.0], [9.0]], limits=[100, 60]))
    assert found.units.tolist() == [40, 60]
    with pytest.raises(ScenarioError, match="leave no rectangles"):
        grid2d(49, SpeedKinds.of([[1.0]] * 2, [[1.0], [1.0]], limits=[25, 24]))
