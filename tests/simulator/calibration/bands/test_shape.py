"""The paper's assumptions beside cuts made by hand, and what GBBP leaves unsettled (Definition 1)."""

import numpy as np
import pytest

from simulator.calibration.bands import CutRule, ReplaySource, build
from simulator.calibration.bands.shape import check_shape
from simulator.models.speed import Cut, SpeedBand

CONTINUOUS, ONE_PEAK, ONCE, NARROWS, ONE_PIECE = range(5)


def cuts(*rows):
    return [Cut(size, mid * (1 - half), mid, mid * (1 + half)) for size, mid, half in rows]


def checked(rows, *, measured=True, unsettled=None):
    made = cuts(*rows)
    return check_shape(SpeedBand.through(made), made, widths_measured=measured, unsettled=unsettled)


GOOD = [(1, 50, 0.2), (2, 80, 0.15), (4, 100, 0.1), (8, 90, 0.08), (16, 80, 0.05)]


def test_a_band_that_obeys_all():
    assert [check.holds for check in checked(GOOD, unsettled=[])] == [True] * 5


@pytest.mark.parametrize(
    ("rows", "which", "found"),
    [
        ([(1, 100, 0.05), (2, 60, 0.05)], CONTINUOUS, "drop: speed falls by 40 % between 1 and 2 elements"),
        ([*GOOD, (20, 95, 0.05)], ONE_PEAK, "rises again from 80 at 16 to 95 per second at 20 elements"),
        ([(1, 10, 0.05), (2, 40, 0.05)], ONCE, "the middle curve meets a line through the origin more than once"),
        ([(1, 100, 1.0), (2, 90, 0.05)], ONCE, "the lower curve is zero below b"),
        (
            [(1, 100, 0.05), (2, 90, 0.2)],
            NARROWS,
            "the band widens from 10% of the speed at 1 to 40% of the speed at 2 elements",
        ),
    ],
)
def test_each_assumption_broken_is_told(rows, which, found):
    check = checked(rows)[which]
    assert check.holds is False
    assert any(found in line for line in check.found)


def test_a_width_within_the_least_one_does_not_count_as_widening():
    assert checked([(1, 100, 0.025), (2, 90, 0.045)])[NARROWS].holds is True
    assert checked([(1, 100, 0.025), (2, 90, 0.055)])[NARROWS].holds is False


def test_widths_that_were_stated_say_nothing():
    check = checked([(1, 100, 0.05), (2, 90, 0.05)], measured=False)[NARROWS]
    assert (check.holds, check.found) == (None, ("the width of the cuts was stated, not measured",))


def test_neighbours_apart_where_bisecting_stopped_leave_definition_1_open():
    left, right, far = cuts((1, 100, 0.05), (2, 60, 0.05), (3, 61, 0.05))
    check = checked(GOOD, unsettled=[(left, right), (right, far), (far, Cut(4, 0, 0, 0))])[ONE_PIECE]
    assert check.holds is None
    assert len(check.found) == 1  # cuts that meet, and the memory limit, are settled
    assert check.found[0].startswith("between 1 and 2 elements bisecting stopped while the cuts were apart")


def replay(speed):
    sizes = np.geomspace(1e3, 1e6, 10_000)
    times = sizes / speed(sizes)
    return ReplaySource(sizes, sizes, times, times)


def test_a_replay_says_what_holds_and_what_not():
    smooth = build(replay(lambda x: 1e6 / (1 + x / 1e6)), method="gbbp", rule=CutRule(band=0.05))
    assert [check.holds for check in smooth.shape] == [True, True, True, None, True]
    assert smooth.assumptions_violated == ()
    assert smooth.warnings == ()
    cliff = build(replay(lambda x: np.where(x < 3e5, 1e6, 3e5)), method="gbbp", rule=CutRule(band=0.05))
    assert cliff.shape[CONTINUOUS].holds is False
    assert set(cliff.shape[CONTINUOUS].found) <= set(cliff.assumptions_violated)
    assert cliff.shape[ONE_PIECE].holds is None
    assert any(line.startswith("shape: between ") for line in cliff.warnings)
    assert len(build(replay(lambda x: 1e6 + 0 * x), method="grid").shape) == 4  # only GBBP asks for Definition 1
    assert cliff.to_dict()["shape"][CONTINUOUS]["holds"] is False


def test_a_budget_that_ends_gbbp_leaves_its_intervals_unsettled():
    source = replay(lambda x: np.where(x < 3e5, 1e6, 3e5))
    built = build(source, method="gbbp", rule=CutRule(band=0.05), budget_s=6.0)
    assert any("budget" in line for line in built.assumptions_violated)
    (line,) = built.shape[ONE_PIECE].found
    below, above = (float(word) for word in line.split(" elements")[0].split()[1::2])
    known = [cut.size for cut in built.cuts]
    assert known.index(pytest.approx(above, rel=1e-4)) == known.index(pytest.approx(below, rel=1e-4)) + 1
