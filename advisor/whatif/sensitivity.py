"""What one field does by itself: where more of it gains nothing any more, and percent of makespan per percent of it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from advisor.whatif.findings import Diminishing, Elasticity, Slope
from advisor.whatif.grid import Grid, Stop
from advisor.whatif.outcomes import Outcomes, product_of_means
from simulator import ties

LITTLE = 1.01
"""A gain that is worth no mention."""
STEP = 0.1
"""Elasticity about a value is between values that are so far from it at least, as a share."""


@dataclass(frozen=True)
class Line:
    """Points that differ in one field only."""

    field: str
    others: str
    """`as they are`, or `as at the fastest point` where the grid does not hold the scenario as it is."""
    stops: tuple[Stop, ...]
    points: tuple[int, ...]
    """With an answer; as `stops`."""


def lines_of(grid: Grid, outcomes: Outcomes, fastest: int | None) -> tuple[Line, ...]:
    """A line for each field: through the scenario as it is, else through the fastest point."""
    found = []
    for place, varied in enumerate(grid.fields):
        at = _through_base(grid, place)
        others = "as they are"
        if at is None:
            if fastest is None or fastest not in grid.places:
                continue
            at, others = grid.where(fastest), "as at the fastest point"
        pairs = [
            (stop, int(point))
            for stop, point in zip(varied.stops, grid.along(place, at), strict=True)
            if outcomes.best[point] >= 0
        ]
        if len(grid.fields) == 1:
            others = ""
        if len(pairs) > 1:
            found.append(Line(varied.name, others, *map(tuple, zip(*pairs, strict=True))))
    return tuple(found)


def _through_base(grid: Grid, field: int) -> tuple[int, ...] | None:
    """Stops of the other fields as the scenario has them."""
    found = [0 if place == field else one.as_is for place, one in enumerate(grid.fields)]
    return None if None in found else tuple(place for place in found if place is not None)


def diminishing(line: Line, outcomes: Outcomes) -> Diminishing | None:
    """From which value on no further one is faster beyond noise; None for a line of fewer than three numbers.

    None as well where replications are too few to tell.
    Each value is compared with the fastest one beyond it. The intervals of all pairs on the line hold together, so that
    the choice of pairs does no harm. No gain seen does not mean none: `rest` says how much there may still be.
    """
    if len(line.points) < 3 or any(stop.value is None for stop in line.stops):
        return None
    stops, points = line.stops, np.array(line.points)
    means = outcomes.own_s(points).mean(axis=1)
    if means[-1] > means[0]:
        stops, points, means = stops[::-1], points[::-1], means[::-1]
    ahead = [place + 1 + ties.first_least(means[place + 1 :]) for place in range(len(stops) - 1)]
    pairs = len(stops) * (len(stops) - 1) // 2
    found = outcomes.gains(points[:-1], points[ahead], comparisons=pairs)
    ends = [(one.low, one.high) for one in found if one.low is not None and one.high is not None]
    if len(ends) < len(found):  # too few replications to say that a step gains, or that it does not
        return None
    end = next((place for place, (low, _) in enumerate(ends) if low <= 1), None)
    near = next((place for place, (_, high) in enumerate(ends) if high <= LITTLE), None)
    return Diminishing(
        field=line.field,
        others=line.others,
        begin=stops[0].text,
        to=stops[-1].text,
        beyond=None if end is None else stops[end].text,
        rest=None if end is None else found[end],
        little_beyond=None if near is None else stops[near].text,
    )


def elasticity(line: Line, outcomes: Outcomes) -> Elasticity | None:
    """Percent of makespan per percent of the field, each with its interval; None without two positive numbers.

    That is log(makespan ratio) / log(value ratio) between neighbouring values; `here` is the one about what the
    scenario has, between values that differ from it by a tenth or more, or over the whole line if it is not on it.
    """
    some = [
        (stop, point)
        for stop, point in zip(line.stops, line.points, strict=True)
        if stop.value is not None and stop.value > 0
    ]
    kept = [pair for place, pair in enumerate(some) if not place or pair[0].value != some[place - 1][0].value]
    if len(kept) < 2:
        return None
    base = next((place for place, (stop, _) in enumerate(kept) if stop.as_is), None)
    ends = (0, len(kept) - 1) if base is None else _about([_value(stop) for stop, _ in kept], base)
    steps = [_slope(kept[place], kept[place + 1], outcomes, len(kept) - 1) for place in range(len(kept) - 1)]
    here = _slope(kept[ends[0]], kept[ends[1]], outcomes, 1)
    return Elasticity(line.field, line.others, here, tuple(steps))


def _about(values: Sequence[float], base: int) -> tuple[int, int]:
    """The nearest places that are at least a tenth below and above one, or the ends: nearer ones drown in noise."""
    below = [place for place in range(base) if values[place] * (1 + STEP) <= values[base]]
    above = [place for place in range(base + 1, len(values)) if values[place] >= values[base] * (1 + STEP)]
    return (below[-1] if below else 0), (above[0] if above else len(values) - 1)


def _slope(one: tuple[Stop, int], other: tuple[Stop, int], outcomes: Outcomes, comparisons: int) -> Slope:
    run = math.log(_value(other[0]) / _value(one[0]))
    times = outcomes.own_s(np.array([one[1], other[1]]))
    rise, *ends = product_of_means(np.array([-1.0, 1.0]), times, outcomes.how, comparisons=comparisons)
    low, high = (None, None) if math.isnan(ends[0]) else sorted(end / run for end in ends)
    return Slope(one[0].text, other[0].text, rise / run, low, high)


def _value(stop: Stop) -> float:
    return math.nan if stop.value is None else stop.value


def by_size(found: Sequence[Elasticity]) -> list[Elasticity]:
    """Elasticities, the largest first."""
    size = [-abs(one.here.mean or 0.0) for one in found]
    return [found[place] for place in ties.in_order(size, floor=ties.SAME)]
