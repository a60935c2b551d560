"""Known message-time models are found again from noisy times, and the form that made them is chosen."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from simulator.base.errors import ScenarioError
from simulator.calibration import read_shipped_table
from simulator.models.network import KnotsModel, PacketisedModel, PiecewiseModel, fit_network, make_points

NOISE = 0.02
SIZES = np.unique(np.round(2.0 ** np.arange(0, 24.1, 0.5)))
PAPER = np.arange(100.0, 20001.0, 300.0)
DRAWS = 20


def lines(breaks, latencies, gaps, hop_latencies=None, hop_gaps=None):
    nothing = [0.0] * len(latencies)
    columns = (breaks, latencies, gaps, hop_latencies or nothing, hop_gaps or nothing)
    return PiecewiseModel(*(np.array(column, dtype=float) for column in columns))


LINE = lines([], [20e-6], [1e-9])
HOPS = lines([], [20e-6], [1e-9], [5e-6], [5e-10])
TWO = lines([12_000], [5e-6, 30e-6], [1e-9, 0.3e-9])
THREE = lines([1500, 70_000], [5e-6, 12e-6, 60e-6], [2e-9, 1e-9, 0.4e-9])
PACKETS = PacketisedModel(300e-6, 200e-6, 100e-6, 0.5e-6, 1000.0, 400.0)
CASES = {
    "hockney": (LINE, SIZES, [1], "hockney"),
    "hockney over hops": (HOPS, SIZES, [1, 2, 3, 4], "hockney"),
    "two lines": (TWO, SIZES, [1], "piecewise"),
    "three lines": (THREE, SIZES, [1], "piecewise"),
    "equation 5": (PACKETS, PAPER, range(1, 11), "packetised"),
}


def drawn(truth, sizes, hops, seed, noise=NOISE):
    size, distance = (column.reshape(-1).astype(float) for column in np.meshgrid(sizes, hops))
    generator = np.random.default_rng(seed)
    time = truth.time_s(size, distance) * np.exp(noise * generator.standard_normal(size.size))
    order = generator.permutation(size.size)
    return size[order], distance[order], time[order]


def values(fit, name):
    return {entry.name: (entry.value, entry.standard_error) for entry in fit.form(name).fitted.parameters}


def check(fit, truth, form):
    """Each parameter within 10 %, or as far off as its standard error says where that is more."""
    found = values(fit, form)
    if isinstance(truth, PacketisedModel):
        true = dict(zip(("alpha", "alpha2", "beta", "tau", "p", "h"), truth.to_dict().values(), strict=True))
    else:
        many = truth.latencies_s.size > 1
        true = {
            f"{name}_{line + 1}" if many else name: column[line]
            for name, column in (
                ("latency", truth.latencies_s),
                ("gap", truth.gaps_s_per_byte),
                ("hop_latency", truth.hop_latencies_s),
                ("hop_gap", truth.hop_gaps_s_per_byte),
            )
            for line in range(truth.latencies_s.size)
        }
    for name, (value, error) in found.items():
        if not name.startswith("break"):
            assert abs(value - true[name]) <= max(0.1 * true[name], 4 * error), name
    if form == "piecewise":
        sizes = fit.points.sizes
        for place, at in enumerate(truth.breaks_bytes):
            k = np.searchsorted(sizes, at)
            assert sizes[k - 1] <= found[f"break_{place + 1}"][0] <= sizes[k]


@pytest.mark.parametrize("case", CASES)
def test_a_known_model_is_found_and_chosen(case):
    truth, sizes, hops, form = CASES[case]
    fit = fit_network(make_points(*drawn(truth, sizes, hops, seed=3)))
    assert fit.chosen == form
    check(fit, truth, form)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_the_right_form_is_chosen_in_18_of_20_draws(case):
    truth, sizes, hops, form = CASES[case]
    right = 0
    for seed in range(DRAWS):
        fit = fit_network(make_points(*drawn(truth, sizes, hops, seed)))
        lines_found = fit.form("piecewise").fitted.model.latencies_s.size
        right += fit.chosen == form and (form == "packetised" or lines_found == truth.latencies_s.size)
    assert right >= 18


def test_exact_times_give_exact_parameters():
    fit = fit_network(make_points(*drawn(PACKETS, PAPER, [1, 4], 0, noise=0.0)))
    for name, value in zip(("alpha", "alpha2", "beta", "tau", "p", "h"), PACKETS.to_dict().values(), strict=True):
        assert values(fit, "packetised")[name][0] == pytest.approx(value, rel=1e-6)


def test_standard_errors_of_equation_5_are_those_of_a_linear_model():
    """Against derivatives by differences, at the numbers found."""
    size, hops, time = drawn(PACKETS, PAPER, range(1, 11), seed=3)
    fitted = fit_network(make_points(size, hops, time)).form("packetised").fitted
    columns = []
    for name in list(fitted.model.to_dict()):
        step = 1e-6 * abs(getattr(fitted.model, name))
        ends = (replace(fitted.model, **{name: getattr(fitted.model, name) + way * step}) for way in (1, -1))
        above, below = (end.time_s(size, hops) for end in ends)
        columns.append((above - below) / (2 * step) / fitted.model.time_s(size, hops))
    scale = np.linalg.norm(columns, axis=1)
    design = np.column_stack(columns) / scale
    expected = NOISE * np.sqrt(np.diag(np.linalg.inv(design.T @ design))) / scale
    assert [entry.standard_error for entry in fitted.parameters] == pytest.approx(expected, rel=0.25)


def test_one_distance_names_what_it_does_not_determine():
    fit = fit_network(make_points(*drawn(PACKETS, PAPER, [1], seed=1)))
    found = values(fit, "packetised")
    assert [name for name, (value, _) in found.items() if value is None] == ["alpha", "beta", "alpha2"]
    value, error = found["alpha + 1 beta"]
    assert abs(value - 400e-6) <= 4 * error
    value, error = found["alpha2 + beta"]
    assert abs(value - 300e-6) <= 4 * error
    assert found["tau"][0] == pytest.approx(0.5e-6, rel=0.1)
    assert PAPER[PAPER <= 1000][-1] <= found["p"][0] < PAPER[PAPER > 1000][0]


def test_times_that_fall_with_the_size_are_no_physical_line():
    sizes = np.array([1.0, 1e3, 1e4, 1e5, 1e6])
    fit = fit_network(make_points(sizes, np.ones(5), np.array([5.0, 4.0, 3.0, 2.0, 1.0]) * 1e-3))
    assert not fit.form("hockney").physical
    assert "gap" in fit.form("hockney").faults[0]
    assert fit.chosen != "hockney"


def test_spikes_hardly_count():
    size, hops, time = drawn(LINE, np.round(2.0 ** np.arange(0, 24.1, 0.25)), [1], seed=5)
    spikes = np.random.default_rng(2).choice(size.size, 5, replace=False)
    time[spikes] *= 3
    fit = fit_network(make_points(size, hops, time))
    assert values(fit, "hockney")["latency"][0] == pytest.approx(20e-6, rel=0.02)
    assert values(fit, "hockney")["gap"][0] == pytest.approx(1e-9, rel=0.02)


def test_repetitions_are_one_point_by_their_median_and_order_does_not_matter():
    size, time = np.repeat(SIZES, 3), LINE.time_s(np.repeat(SIZES, 3))
    time[::3] *= 5  # one of three is spoilt
    points = make_points(size, np.ones(size.size), time)
    assert points.time_s == pytest.approx(LINE.time_s(SIZES))
    order = np.random.default_rng(0).permutation(size.size)
    again = make_points(size[order], np.ones(size.size), time[order])
    assert (again.time_s.tolist(), again.trust.tolist()) == (points.time_s.tolist(), points.trust.tolist())


@pytest.mark.parametrize("noise", [0.02, 0.1])
def test_every_second_row_predicts_the_others(noise):
    """Three lines with jumps, noise and spikes in every eleventh row."""
    size, hops, time = drawn(THREE, np.round(2.0 ** np.arange(0, 26.1, 1 / 3)), [1], seed=8, noise=noise)
    time[::11] *= 2
    fit = fit_network(make_points(size[::2], hops[::2], time[::2]))
    error = np.abs(fit.model.time_s(size[1::2]) / THREE.time_s(size[1::2]) - 1)
    assert error.mean() <= 0.12
    assert np.abs(fit.form("hockney").fitted.model.time_s(size[1::2]) / THREE.time_s(size[1::2]) - 1).max() > 0.3


@pytest.mark.parametrize("seed", range(3))
def test_the_choice_is_never_worse_than_told(seed):
    fit = fit_network(make_points(*drawn(THREE, SIZES, [1], seed)))
    means = {form.name: form.held_out.mean() for form in fit.forms if form.held_out is not None and form.physical}
    assert means[fit.chosen] <= 1.1 * min(means.values())


def test_a_smooth_curve_is_taken_where_no_lines_fit():
    sizes = np.round(2.0 ** np.arange(0, 24.1, 0.5))
    time = 1e-6 * sizes**0.4 * (1 + 0.2 * np.sin(np.log(sizes)))
    fit = fit_network(make_points(sizes, np.ones(sizes.size), np.maximum.accumulate(time)))
    assert fit.chosen == "smooth"
    assert isinstance(fit.model.form, KnotsModel)
    assert all(np.all(np.diff(times) >= 0) for times in fit.model.form.knots_s)


def test_forms_with_too_few_points_say_how_many_they_need():
    fit = fit_network(make_points([1, 10, 100, 1000], [1] * 4, [1e-6, 1e-6, 1.1e-6, 2e-6]))
    why = {form.name: form.faults for form in fit.forms if form.fitted is None}
    assert why["packetised"] == ("4 points of 4 sizes; at least 7 points of 4 sizes are needed",)
    assert why["piecewise"] == ("4 sizes; at least 6 are needed",)
    with pytest.raises(ScenarioError, match=r"3 distinct sizes are too few; measure at least 4 \(hockney needs"):
        fit_network(make_points([1, 10, 100], [1] * 3, [1e-6, 1e-6, 1.1e-6]))


@pytest.mark.parametrize(
    ("truth", "at"),
    [
        (TWO, np.sqrt(8192 * 16_384)),  # the time jumps there: halfway between the logarithms
        (lines([12_000], [5e-6, 14.6e-6], [1e-9, 0.2e-9]), 12_000),  # the lines meet there
    ],
)
def test_a_break_just_before_the_last_sizes_is_where_the_lines_say(truth, at):
    sizes = 2.0 ** np.arange(0, 17)
    found = fit_network(make_points(sizes, np.ones(17), truth.time_s(sizes))).form("piecewise").fitted.model
    assert found.breaks_bytes == pytest.approx([at])
    assert found.gaps_s_per_byte == pytest.approx(truth.gaps_s_per_byte)


def test_breaks_are_exact_for_a_small_table():
    """Dynamic programming against every pair of breaks tried in turn."""
    size, hops, time = drawn(THREE, 2.0 ** np.arange(0, 24), [1], seed=4)
    fit = fit_network(make_points(size, hops, time))
    found = fit.form("piecewise").fitted.model
    sizes, order = fit.points.sizes, np.argsort(size)
    y = time[order]
    weights = np.sqrt(fit.points.trust) / y

    def left(start, end):
        part = slice(start, end)
        design = np.column_stack((np.ones(end - start), sizes[part])) * weights[part, np.newaxis]
        scale = np.sqrt(np.sum(design**2, axis=0))
        solution = np.linalg.lstsq(design / scale, y[part] * weights[part])[0]
        return float(np.sum((y[part] * weights[part] - design / scale @ solution) ** 2))

    tried = {
        (0, i, j, 24): sum(left(a, b) for a, b in pairwise((0, i, j, 24)))
        for i in range(3, 19)
        for j in range(i + 3, 22)
    }
    best = min(tried, key=tried.__getitem__)
    assert np.searchsorted(sizes, found.breaks_bytes, side="right").tolist() == list(best[1:3])


def test_what_smaller_sizes_missed_of_larger_ones_widens_intervals_beyond_all():
    """Times that bend for good are foreseen worse than a line; inside of the sizes that changes nothing."""
    straight = drawn(LINE, SIZES, [1], 3)
    bent = straight[0], straight[1], straight[2] * np.maximum(straight[0] / 2**14, 1.0) ** 0.5
    models = [fit_network(make_points(*rows)).model for rows in (straight, bent)]
    assert models[1].spread.rate > 2 * models[0].spread.rate
    for model in models:
        doubts = model.form.doubt.at(SIZES[-1] * np.array([1.0, 2.0, 4.0]))
        assert np.all(np.diff(doubts) > 0)
        steady = replace(model, spread=replace(model.spread, rate=0.0))
        asked = np.array([64.0, 4 * SIZES[-1]])
        inside, beyond = model.predict(asked).high_s / steady.predict(asked).high_s
        assert inside == 1 < beyond
    again = type(models[1]).from_dict(models[1].to_dict())
    assert again.spread.rate == models[1].spread.rate


@pytest.mark.parametrize("last", [6144, 32768, 98304])
def test_forms_that_fit_alike_and_go_apart_beyond_lie_in_the_interval(last):
    table = read_shipped_table("papers/characterisation_unix.csv")
    size, time_s = table.numbers("bytes"), table.numbers("one_way_s")
    seen, asked = size <= last, np.array([2.0, 4.0]) * last
    fit = fit_network(make_points(size[seen], np.ones(seen.sum()), time_s[seen]))
    found = fit.model.predict(asked, level=0.9)
    errors = {form.name: np.mean(np.minimum(form.held_out, 1.0)) for form in fit.forms if form.held_out is not None}
    others = [name for name, error in errors.items() if name != fit.chosen and error < 2 * errors[fit.chosen]]
    times = [fit.form(name).fitted.model.time_s(asked) for name in others]
    assert times
    assert np.all([(found.low_s <= one) & (one <= found.high_s) for one in times])


def test_intervals_are_as_wide_as_messages_of_their_size_scatter():
    """Short messages scatter by 20 %, long ones by 2 %: each third of them is held as often as was asked for."""
    rng, size = np.random.default_rng(8), np.repeat(2.0 ** np.arange(4, 24), 3)
    sds = 0.2 * 10 ** -((np.log2(size) - 4) / 19)
    held, widths = [], []
    for _ in range(8):
        once, again = ((2e-5 + 1e-9 * size) * np.exp(sds * rng.standard_normal(size.size)) for _ in range(2))
        found = fit_network(make_points(size, np.ones(size.size), once)).model.predict(size, level=0.9)
        held.append((found.low_s <= again) & (again <= found.high_s))
        widths.append(np.log(found.high_s / found.low_s)[[0, -1]])
    assert np.all(np.abs(np.mean(np.reshape(held, (8, 4, 15)), axis=(0, 2)) - 0.92) < 0.08)
    assert np.divide(*np.median(widths, axis=0)) > 4


@pytest.mark.slow
@pytest.mark.parametrize("name", ["tcp", "unix", "pipe"])
def test_smaller_messages_of_recorded_tables_predict_larger_ones(name):
    table = read_shipped_table(f"papers/characterisation_{name}.csv")
    size, time_s = table.numbers("bytes"), table.numbers("one_way_s")
    held = []
    for last in np.unique(size)[7:-1]:
        seen, asked = size <= last, (last < size) & (size <= 4 * last)
        found = fit_network(make_points(size[seen], np.ones(seen.sum()), time_s[seen])).model.predict(
            size[asked], level=0.9
        )
        held += ((found.low_s <= time_s[asked]) & (time_s[asked] <= found.high_s)).tolist()
    assert np.mean(held) >= 0.78
