"""GBBP followed by hand: a = 1, b = 18, cuts of +-5 %; intervals shorter than 1 are not bisected."""

import math
from dataclasses import dataclass

import numpy as np
import pytest

from simulator.calibration.bands import CutRule, Measurement, ReplaySource, build
from simulator.calibration.bands.gbbp import EACH_MULTIPLE, build_gbbp
from simulator.calibration.bands.session import Session
from simulator.models.speed import Cut


@dataclass(frozen=True)
class Formula:
    """A source with speeds by formula; each point costs one second."""

    speed: object
    smallest: float = 1.0
    largest: float = 18.0
    largest_is_memory_limit: bool = False

    def cost_s(self, times_s):
        return times_s

    def measure(self, size):
        return Measurement.of_times(size, self.speed(size), (1.0,), (1.0,), 1.0)


def sizes_of(source):
    built = build(source, method="gbbp", rule=CutRule(band=0.05))
    return [point.size for point in built.points], built


def straight(size):
    return 100 - 90 * (size - 2) / 16 if size > 2 else 100


def test_case_a_leaves_the_left_half_and_case_b_the_right_one():
    sizes, built = sizes_of(Formula(lambda x: 100 if x <= 15 else 10))
    # [2,18] 10: a; [10,18] 14: a; [14,18] 16: b; [14,16] 15: a; [15,16] 15.5: b; [15,15.5] is too short
    assert sizes == [1, 18, 2, 10, 14, 16, 15, 15.5]
    cases = [step.split("case ")[1][0] for step in built.steps if "case " in step]
    assert cases == ["a", "a", "b", "a", "b"]


def test_case_c_trusts_a_straight_band_after_a_quarter_point():
    sizes, built = sizes_of(Formula(straight))
    assert sizes[:7] == [1, 18, 2, 10, 6, 14, 12]
    assert "meets the new band: the left half is done" in next(step for step in built.steps if "case c" in step)


def test_case_c_opens_both_quarters_after_an_accident():
    speeds = {1: 100, 2: 100, 18: 10, 10: 55, 6: 90}
    sizes, built = sizes_of(Formula(lambda x: speeds.get(x, 90 if x < 6 else 72 if x < 10 else straight(x))))
    # the midpoint 10 lies on the line from 100 to 10, the quarter point 6 not on the line from 100 to 55 (77.5)
    assert sizes[:5] == [1, 18, 2, 10, 6]
    assert "both quarters stay open" in next(step for step in built.steps if "case c" in step)
    assert {4, 8} <= set(sizes)


@pytest.mark.parametrize(
    ("middle", "case"), [(30, "case d: it lies wholly below"), (80, "case e: it lies wholly above")]
)
def test_cases_d_and_e_open_both_halves(middle, case):
    sizes, built = sizes_of(Formula(lambda x: middle if x == 10 else 100 if x < 10 else 10))
    assert sizes[:4] == [1, 18, 2, 10]
    assert case in next(step for step in built.steps if "case" in step)
    assert {6, 14} <= set(sizes)


def test_step_2_climbs_while_the_speed_rises():
    sizes, built = sizes_of(Formula(lambda x: {1: 50, 2: 60, 3: 70}.get(x, 70)))
    assert sizes[:5] == [1, 18, 2, 3, 4]
    assert "it lies inside the cut before: step 2 ends" in built.steps[4]


def test_step_2_ends_below_b():
    sizes, built = sizes_of(Formula(lambda x: 10.0 * x, largest=4.0))
    assert sizes[:4] == [1, 4, 2, 3]
    assert "2. 4a is not below b; step 2 ends" in built.steps


def test_step_2_ends_where_a_cut_strictly_contains_the_one_before():
    class Rule:
        def cut(self, point):
            half = 20 if point.size == 2 else 5
            return Cut(point.size, 100 - half, 100, 100 + half)

    session = Session(Formula(lambda _: 100), Rule())
    build_gbbp(session)
    assert any("strictly contains" in step for step in session.steps)
    assert [point.size for point in session.points][:4] == [1, 18, 2, 10]


def test_the_cut_at_a_memory_limit_is_zero_and_not_measured():
    sizes, built = sizes_of(Formula(lambda _: 100.0, largest_is_memory_limit=True))
    assert 18 not in sizes
    assert (built.band.low[-1], built.band.high[-1]) == (0, 0)
    assert built.experimental_s == len(sizes)


@dataclass(frozen=True)
class RealLike(Formula):
    """Runs of nanoseconds whose points cost 0.14 s each, as samples and warm-up do."""

    largest: float = 1e6

    def cost_s(self, times_s):
        return times_s + 0.14

    def measure(self, size):
        return Measurement.of_times(size, size, (size * 1e-9,), (size * 1e-9,), 0.14)


def test_a_point_is_predicted_by_its_time_not_by_the_fixed_cost_of_a_small_one():
    """Seen with real kernels: 0.14 s at a, times the size, predicted hours for a point of a millisecond."""
    session = Session(RealLike(None), CutRule(band=0.05), 20.0)
    session.measure(1.0)
    assert session.predict_s(1e6) == pytest.approx(0.141)


def test_a_point_between_two_is_predicted_by_both():
    """Seen with sort: two noisy small points predicted more for a middle size than the largest had taken."""
    session = Session(RealLike(None), CutRule(band=0.05), 20.0)
    session.points += [Measurement.of_times(x, x, (t,), (t,), t + 0.14) for x, t in ((1, 1e-6), (2, 8e-6), (1e6, 1.0))]
    assert 0.14 < session.predict_s(5e5) < 1.14


@dataclass(frozen=True)
class Capped(RealLike):
    longest_run_s: float = 2.0


def test_no_run_is_predicted_to_take_longer_than_what_b_was_chosen_by():
    """Seen with a command: its start, times the size, predicted more than the budget for b."""
    session = Session(Capped(None), CutRule(band=0.05), 20.0)
    session.points.append(Measurement.of_times(1, 1, (0.02,), (0.02,), 0.16))
    assert session.predict_s(1e6) == pytest.approx(2.14)


def power_law(power, *, band, a=1.0, b=1e9):
    """A source whose speed follows a power of the size all the way, which gives up after far too many points."""
    count = 0

    def speed(size):
        nonlocal count
        count += 1
        assert count <= 3000, "GBBP runs away"
        return size**power

    source = Formula(speed, smallest=a, largest=b)
    return build(source, method="gbbp", rule=CutRule(band=band))


@pytest.mark.parametrize("band", [1e-6, 0.005, 0.05, 0.4])
@pytest.mark.parametrize("power", [0.01, 0.1, 0.5, 1.0, 3.0])
def test_a_speed_that_rises_all_the_way_takes_few_points(power, band):
    built = power_law(power, band=band)
    climbed = [step for step in built.steps if step.startswith("2.")]
    assert len(climbed) <= EACH_MULTIPLE + math.log2(1e9) + 1
    assert len(built.points) <= 1200


def test_a_rise_below_the_cuts_own_width_is_no_rise():
    built = power_law(0.1, band=0.05)  # by 7.2 % from a to 2a, where cuts are 10 % wide
    assert [step[:5] for step in built.steps if step.startswith("2.")] == ["2. 2a"]
    assert "risen by less than the width of a cut" in next(step for step in built.steps if step.startswith("2."))
    built = power_law(0.2, band=0.05)  # by 14.9 % over each doubling, by less than 10 % from 3a to 4a and further on
    assert len([step for step in built.steps if step.startswith("2.")]) > EACH_MULTIPLE


def test_step_2_takes_each_multiple_first_and_then_grows():
    sizes = [point.size for point in power_law(1.0, band=0.05).points][2:]
    assert sizes[: EACH_MULTIPLE - 1] == list(range(2, EACH_MULTIPLE + 1))
    assert sizes[EACH_MULTIPLE - 1 : EACH_MULTIPLE + 3] == [EACH_MULTIPLE * 2**k for k in range(1, 5)]


def test_what_a_limit_leaves_is_named_with_the_accuracy_against_the_table():
    sizes = np.geomspace(256, 8.1e7, 24)
    truth = 1e3 * sizes**0.1
    times = sizes ** (4 / 3) / truth
    source = ReplaySource(sizes, sizes ** (4 / 3), times, times)
    built = build(source, method="gbbp", rule=CutRule(band=0.05))
    assert len(built.points) < 20
    (line,) = built.incomplete
    assert line.startswith("intervals: 1 whose cuts are apart left as they are")
    error = np.abs(np.interp(sizes, [c.size for c in built.cuts], [c.mid for c in built.cuts]) / truth - 1)
    told = built.to_dict()["table_error"]
    assert (told["sizes"], told["mean"], told["max"]) == (24, pytest.approx(error.mean()), pytest.approx(error.max()))
    assert told["max_at_elements"] == sizes[np.argmax(error)]
    whole = sum(point.cost_s for point in built.points)
    early = build(source, method="gbbp", rule=CutRule(band=0.05), budget_s=0.9 * whole)
    assert early.incomplete[0].startswith("budget: ")
    assert set(early.to_dict()["incomplete"]) == set(early.incomplete)


def test_a_table_that_gbbp_settles_is_not_called_incomplete():
    sizes = np.geomspace(1.0, 1e3, 50)
    flat = ReplaySource(sizes, sizes, sizes, sizes)
    built = build(flat, method="gbbp", rule=CutRule(band=0.05))
    assert (built.incomplete, built.table_error.max) == ((), pytest.approx(0, abs=1e-12))
