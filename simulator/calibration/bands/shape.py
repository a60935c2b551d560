"""What the paper takes for granted of a speed band's shape, and the cuts measured (speed-bands-gbbp, 2.1, 2.3)."""

import itertools
from collections.abc import Sequence

import numpy as np

from simulator.models.speed import LEAST_HALF_WIDTH, Cut, ShapeCheck, SpeedBand

WIDENS = 2 * LEAST_HALF_WIDTH
"""A band that widens by less than the narrowest cut's width, as a share of the speed, does not count as widening."""


def check_shape(
    band: SpeedBand, cuts: Sequence[Cut], *, widths_measured: bool, unsettled: Sequence[tuple[Cut, Cut]] | None
) -> tuple[ShapeCheck, ...]:
    """Check assumptions (a) to (d) of section 2.3 and the first condition of Definition 1.

    Cuts count as falling or rising only where they do not meet, so that the band's own width is no fault.

    `cuts` ascend by size, and `widths_measured` says whether their widths were measured or stated; `unsettled` are
    neighbours between which GBBP left off without one of its cases a to e, None for other builders, which do not ask.
    """
    checks = [
        _checked("(a) speed is a continuous function of the size", _drops(cuts)),
        _checked("(b) speed rises at most once and then falls", _rises_again(cuts)),
        _checked("(c) a line through the origin meets each curve at most once", _met_twice(band)),
    ]
    narrows = "(d) the band narrows as the size grows"
    if widths_measured:
        checks.append(_checked(narrows, _widens(cuts)))
    else:
        checks.append(ShapeCheck(narrows, None, ("the width of the cuts was stated, not measured",)))
    if unsettled is not None:
        checks.append(_one_piece(unsettled))
    return tuple(checks)


def _checked(assumption: str, faults: list[str]) -> ShapeCheck:
    return ShapeCheck(assumption, not faults, tuple(faults))


def _drops(cuts: Sequence[Cut]) -> list[str]:
    """Steep falls between neighbouring cuts, such as a cache's end or paging, where a straight line is a guess."""
    return [
        f"drop: speed falls by {100 * (1 - right.mid / left.mid):.0f} % between {left.size:.3g} and {right.size:.3g} "
        "elements (a cache's end or paging); where in between is not known"
        for left, right in itertools.pairwise(cuts)
        if right.mid > 0 and right.high < left.low and right.mid < 0.85 * left.mid and right.size < 2.1 * left.size
    ]


def _rises_again(cuts: Sequence[Cut]) -> list[str]:
    faults = []
    fallen: Cut | None = None
    peak: float = 0.0
    for cut in cuts:
        if cut.high < peak and (fallen is None or cut.high < fallen.high):
            fallen = cut
        peak = max(peak, cut.low)
        if fallen is not None and cut.low > fallen.high:
            faults.append(
                f"shape: speed rises again from {fallen.mid:.4g} at {fallen.size:.6g} to {cut.mid:.4g} per second at "
                f"{cut.size:.6g} elements after it had fallen"
            )
            fallen = None
    return faults


def _met_twice(band: SpeedBand) -> list[str]:
    """Curves on which time does not grow with the size, so that a partition is not unique."""
    faults = []
    for name, position in (("lower", 0.0), ("middle", 0.5), ("upper", 1.0)):
        if position == 0.0 and np.any(band.low[:-1] <= 0):
            faults.append("shape: the lower curve is zero below b, so some loads leave nothing")
            continue
        if not band.function(position=position).monotone:
            faults.append(
                f"shape: the {name} curve meets a line through the origin more than once: time does not grow with size "
                "everywhere, and a time has more than one size"
            )
    return faults


def _widens(cuts: Sequence[Cut]) -> list[str]:
    """The place where the band has widened most since it was narrowest; as a share of the speed (our choice)."""
    worst, place, narrow = WIDENS, None, None
    for cut in cuts:
        if cut.mid <= 0:
            continue
        if narrow is None or _share(cut) < _share(narrow):
            narrow = cut
        elif _share(cut) - _share(narrow) > worst:
            worst, place = _share(cut) - _share(narrow), (narrow, cut)
    if place is None:
        return []
    before, after = (f"{_share(cut):.0%} of the speed at {cut.size:.6g}" for cut in place)
    return [f"shape: the band widens from {before} to {after} elements"]


def _share(cut: Cut) -> float:
    return (cut.high - cut.low) / cut.mid


def _one_piece(unsettled: Sequence[tuple[Cut, Cut]]) -> ShapeCheck:
    """Definition 1: the band built and the real one meet in one piece without holes."""
    found = tuple(
        f"between {start:.6g} and {end:.6g} elements bisecting stopped while the cuts were apart: what the "
        "speed does in between is not known"
        for start, end in _joined(apart(unsettled))
    )
    return ShapeCheck("definition 1: the band built meets the real one in one piece", None if found else True, found)


def apart(unsettled: Sequence[tuple[Cut, Cut]]) -> list[tuple[Cut, Cut]]:
    """The intervals whose two cuts do not meet; at a memory limit 0 holds by definition."""
    return [(left, right) for left, right in unsettled if right.high > 0 and not left.meets(right)]


def _joined(intervals: Sequence[tuple[Cut, Cut]]) -> list[tuple[float, float]]:
    """Ends in elements, those of intervals that are neighbours joined."""
    ends: list[tuple[float, float]] = []
    for start, end in sorted((left.size, right.size) for left, right in intervals):
        if ends and ends[-1][1] == start:
            ends[-1] = ends[-1][0], end
        else:
            ends.append((start, end))
    return ends
