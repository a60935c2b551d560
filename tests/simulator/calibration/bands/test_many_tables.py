"""GBBP, grid and adaptive builder on tables drawn at random: rising, falling, stepped, up to 1e9 elements."""

import time

import numpy as np
import pytest

from simulator.calibration.bands import CutRule, ReplaySource, build
from simulator.calibration.bands.adaptive import MOST_POINTS
from simulator.calibration.bands.gbbp import EACH_MULTIPLE
from tests.support.yardstick import cpu_s, plain_loop

TABLES = 60
MOST_LOOPS = 50
"""Plain loops for one table; about a tenth of it on a quiet machine."""


def drawn(seed):
    """A table, its shape, and the half width of its cuts."""
    draw = np.random.default_rng(seed)
    a, octaves = 10 ** draw.uniform(0, 4), draw.uniform(5, 30)
    sizes = np.geomspace(a, min(1e9, a * 2**octaves), int(draw.integers(2, 300)))
    x = sizes / sizes[0]
    shape = ("rising", "falling", "stepped")[seed % 3]
    if shape == "rising":
        speed = x ** draw.uniform(0.01, 1.5) if draw.random() < 0.7 else x / (x + 10 ** draw.uniform(0, 6))
    elif shape == "falling":
        speed = 1 / (1 + (x / 10 ** draw.uniform(0, 6)) ** draw.uniform(0.05, 2))
    else:
        steps = draw.uniform(-1.5, 1.5, int(draw.integers(2, 40)))
        speed = np.exp(np.cumsum(steps)[np.minimum((np.arange(x.size) * steps.size) // x.size, steps.size - 1)])
    speed = 10 ** draw.uniform(3, 11) * speed * np.exp(draw.normal(0, draw.choice([0, 0.003, 0.1]), x.size))
    volume = sizes ** draw.uniform(0.5, 2)
    return ReplaySource(sizes, volume, volume / speed, volume / speed), shape, float(draw.choice([0.002, 0.05, 0.2]))


@pytest.mark.parametrize("method", ["gbbp", "grid", pytest.param("adaptive", marks=pytest.mark.slow)])
def test_each_ends_soon_with_few_points_and_says_how_near_it_came(method):
    most = {"gbbp": EACH_MULTIPLE + 30 + 2 * 1024, "grid": 20, "adaptive": 4 * MOST_POINTS}[method]
    told, spent_s = [], []
    for seed in range(TABLES if method == "gbbp" else TABLES // 4):
        table, shape, band = drawn(seed)
        begin = time.process_time()
        built = build(table, method=method, rule=CutRule(band=band))
        spent_s.append(time.process_time() - begin)
        assert len(built.points) <= most
        truth = table.volumes / table.cpu_s
        error = np.abs(np.interp(table.sizes, built.band.sizes, built.band.mid) / truth - 1)
        assert built.table_error.mean == pytest.approx(error.mean())
        assert built.table_error.max == pytest.approx(error.max())
        told.append((shape, len(built.points), built.experimental_s, built.table_error.mean, bool(built.incomplete)))
    assert max(spent_s) <= MOST_LOOPS * cpu_s(plain_loop), f"table {np.argmax(spent_s)}"
    for shape in ("rising", "falling", "stepped"):
        points, costs, errors, left = zip(*((p, c, e, i) for name, p, c, e, i in told if name == shape), strict=True)
        print(
            f"{method}, {len(points)} {shape} tables: {np.median(points):.0f} points (at most {max(points)}), "
            f"{np.median(costs):.3g} s of runs, mean error {np.median(errors):.1%} (median), {sum(left)} incomplete"
        )
