"""Switch points by bisection against every size."""

import pytest

from advisor.advise.process_counts.advice import switch_points
from simulator import randomness


@pytest.mark.parametrize("seed", range(20))
def test_all_switches_that_the_grid_tells_apart(seed):
    draw = randomness.stream(seed, "switches")
    starts = sorted(draw.choice(range(200, 3000, 200), size=int(draw.integers(0, 8)), replace=False).tolist())
    starts = [start + int(draw.integers(0, 100)) for start in starts]

    def best_at(size):
        return sum(size >= start for start in starts)

    found = switch_points(best_at, 100, 3200)
    assert [point.size for point in found] == starts
    assert [(point.last_below, point.below, point.above) for point in found] == [
        (start - 1, place, place + 1) for place, start in enumerate(starts)
    ]


def test_sizes_that_are_no_whole_numbers_go_in_steps():
    (point,) = switch_points(lambda size: int(size >= 0.7502), 0.5, 2.0, step=0.001)
    assert (point.last_below, point.size) == pytest.approx((0.750, 0.751))
