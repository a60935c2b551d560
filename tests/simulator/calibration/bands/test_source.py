"""Replay, cost accounting, cuts under load, and what is refused."""

import numpy as np
import pytest

from simulator.base.errors import ApportionError, CalibrationError, ScenarioError
from simulator.calibration.bands import CutRule, Measurement, ReplaySource, build, read_recorded_sizes
from simulator.models import LoadFunctions
from simulator.models.load import LoadTrace

HEAD = "size_elements,volume,cpu_s\n"


def written(tmp_path, text):
    path = tmp_path / "sizes.csv"
    path.write_text(text)
    return path


def power_table(rows=9):
    sizes = np.geomspace(1e3, 1e6, rows)
    return ReplaySource(sizes, 2 * sizes, sizes / 1e6, sizes / 5e5)


def test_replay_is_exact_at_rows_and_straight_in_log_log_between():
    source = power_table()
    point = source.measure(12345.0)
    assert point.cost_s == point.cpu_s[0] == pytest.approx(0.012345)
    assert point.wall_s[0] == pytest.approx(0.02469)
    assert point.speed == pytest.approx(2e6)
    with pytest.raises(ScenarioError, match=r"size is 10; give 1000 to 1e\+06 elements"):
        source.measure(10)


def test_the_grid_costs_the_sum_of_its_twenty_recorded_times():
    built = build(power_table(), method="grid", rule=CutRule(band=0.05))
    assert [point.size for point in built.points] == pytest.approx(np.linspace(1e3, 1e6, 20))
    assert built.experimental_s == pytest.approx(np.linspace(1e3, 1e6, 20).sum() / 1e6)


def test_a_comment_and_wall_seconds_are_read(tmp_path):
    path = written(tmp_path, "# recorded\nsize_elements,volume,cpu_s,wall_s\n10,20,1,2\n20,40,2,5\n")
    source = read_recorded_sizes(path)
    assert (source.smallest, source.largest, source.measure(20).wall_s) == (10, 20, (pytest.approx(5),))


@pytest.mark.parametrize(
    ("rows", "found"),
    [
        ("10,1,1\n10,1,1\n", ":2: size_elements: all rows have one size; give two sizes or more"),
        ("10,1,1\n20,1,-2\n", ":3: cpu_s is -2; give a number above 0"),
        ("10,1,nan\n20,1,1\n", ":2: cpu_s: 'nan' is no finite number"),
    ],
)
def test_a_table_that_cannot_be_used_is_refused_by_line(tmp_path, rows, found):
    with pytest.raises(ScenarioError) as caught:
        read_recorded_sizes(written(tmp_path, HEAD + rows))
    assert found in str(caught.value)
    assert caught.value.exit_code == 2


def test_a_missing_column_is_named(tmp_path):
    with pytest.raises(ScenarioError, match="column 'cpu_s' is missing; the columns are size_elements, volume"):
        read_recorded_sizes(written(tmp_path, "size_elements,volume\n1,2\n"))


@pytest.mark.parametrize("method", ["grid", "gbbp", "adaptive"])
def test_a_budget_too_small_for_two_points_is_refused(method):
    with pytest.raises(CalibrationError, match=r"0\.001 s is too short for two points \(.* 1 measured\)"):
        build(power_table(), method=method, rule=CutRule(band=0.05), budget_s=1e-3)


@pytest.mark.parametrize("method", ["grid", "gbbp", "adaptive"])
def test_a_budget_keeps_what_was_measured_and_says_so(method):
    built = build(power_table(), method=method, rule=CutRule(band=0.05), budget_s=1.05)
    assert len(built.points) >= 2
    assert built.experimental_s <= 1.05
    if method != "adaptive":
        assert any(line.startswith("budget: 1.05 s ended") for line in built.assumptions_violated)


@pytest.mark.parametrize(
    "options", [{"method": "best"}, {"accuracy": 0}, {"accuracy": 2}, {"budget_s": -1}, {"budget_s": float("nan")}]
)
def test_options_out_of_bounds_are_refused(options):
    with pytest.raises(ApportionError, match=r" is .*; (name one of|give) "):
        build(power_table(), **options)


def test_cuts_without_load_are_a_share_or_the_spread():
    point = Measurement.of_times(1, 100, (1.0,), (1.0,), 1)
    assert CutRule(band=0.05).cut(point).low == pytest.approx(95)
    assert CutRule().cut(point).high == pytest.approx(102.5)


def test_cuts_under_load_follow_the_load_functions():
    load = LoadFunctions(np.array([1.0, 100.0]), np.array([0.2, 0.2]), np.array([0.5, 0.5]))
    point = Measurement.of_times(1, 100, (1.0,), (1.0,), 1)
    idle = CutRule(load=load).cut(point)
    assert (idle.low, idle.high) == pytest.approx((50, 80))


def under(values, availability, seconds):
    trace = LoadTrace(np.arange(len(values)), np.array(values, float), len(values))
    rule = CutRule.under_load(trace, window=20, history=None, availability=availability)
    return rule.cut(Measurement.of_times(1, 100 * seconds, (seconds,), (seconds,), seconds))


def test_a_fair_share_is_that_of_each_moment_not_of_the_mean_load():
    cut = under([1] * 40, "fair", 1.0)
    assert (cut.low + cut.high) / 2 == pytest.approx(50)
    cut = under([2, 0] * 20, "fair", 40 / 3)  # it ends after 10 s with a third of the core and 10 s with all of it
    assert (cut.low + cut.high) / 2 == pytest.approx(200 / 3, rel=0.01)
    cut = under([0.5] * 40, "fair", 1.0)  # an average: a competitor for half of the time
    assert (cut.low + cut.high) / 2 == pytest.approx(75)
    cut = under([1, 0] * 20, "idle", 10.0)
    assert (cut.low + cut.high) / 2 == pytest.approx(50, rel=0.03)
    with pytest.raises(ScenarioError, match="availability is 'all'; name idle or fair"):
        under([1] * 40, "all", 1.0)


def test_a_load_that_leaves_nothing_gives_a_lower_speed_of_zero_and_no_load_the_least_width():
    full = LoadFunctions(np.array([1.0, 2.0]), np.array([0.0, 0.0]), np.array([1.0, 1.0]))
    cut = CutRule(load=full).cut(Measurement.of_times(1, 100, (1.0,), (1.0,), 1))
    assert (cut.low, cut.mid, cut.high) == pytest.approx((0, 50, 100))
    none = LoadFunctions(np.array([1.0, 2.0]), np.array([0.0, 0.0]), np.array([0.0, 0.0]))
    cut = CutRule(load=none).cut(Measurement.of_times(1, 100, (1.0,), (1.0,), 1))
    assert (cut.low, cut.high) == pytest.approx((97.5, 102.5))


def test_predicted_cuts_of_an_adaptive_band_follow_the_load_of_their_own_time():
    values = np.tile(np.repeat([1.0, 0.0], [4, 6]), 30)  # runs up to 6 samples may meet nothing, longer ones do
    trace = LoadTrace(np.arange(300.0), values, 300.0)
    rule = CutRule.under_load(trace, window=100, history=None, availability="fair")
    sizes = np.geomspace(1.0, 100.0, 9)
    table = ReplaySource(sizes, sizes, sizes, sizes)
    built = build(table, method="adaptive", rule=rule, budget_s=200)
    for size in np.geomspace(1.0, 100.0, 40):
        predicted, direct = built.band.cut(size), rule.cut(table.measure(size))
        assert (predicted.low, predicted.high) == pytest.approx((direct.low, direct.high), rel=0.06)
