"""Stated intervals hold as often as they say; truths, noise and what is true are made up here."""

import numpy as np
import pytest
from scipy import stats

from simulator.base import intervals
from simulator.base.intervals import LEVEL, chances, of_difference, of_mean, of_ratio, of_run

DOUBT, TIMES = 0.05, 300


def stratified(generator, truths, sources=1):
    """Standard normal deviates, one in each of as many equal parts of every source; (source, truth)."""
    parts = np.argsort(generator.random((sources, truths)), axis=1)
    return stats.norm.ppf((parts + generator.random((sources, truths))) / truths)


def deviates(generator, truths, how):
    """What truths that were drawn have, and what true ones may have; each with a variance of 1."""
    if how == "independent":
        return generator.standard_normal(truths), generator.standard_normal(TIMES)
    if how == "one source":
        return stratified(generator, truths)[0], generator.standard_normal(TIMES)
    if how == "even":  # between two limits, each place as likely
        ends = np.sqrt(3)
        found = stats.norm.cdf(stratified(generator, truths)[0])
        return ends * (2 * found - 1), generator.uniform(-ends, ends, TIMES)
    drawn = (stratified(generator, truths, 4), generator.standard_normal((4, TIMES)))
    return tuple((0.6 * one[0] + 0.8 * one[1:].max(axis=0)) for one in drawn)


def study(how, truths, each, noise, *, seeds, level=LEVEL):
    """How often intervals of the mean and of one run hold, and their mean widths over those of who knows all."""
    found = []
    for seed in range(seeds):
        generator = np.random.default_rng([seed, truths])
        drawn, true = (np.exp(DOUBT * values) for values in deviates(generator, truths, how))
        numbers = np.arange(truths * each) % truths
        samples = drawn[numbers] * (1 + noise * generator.standard_normal(numbers.size))
        runs = true * (1 + noise * generator.standard_normal(TIMES))
        row = []
        for made, values in ((of_mean, true), (of_run, runs)):
            ends = made(samples[np.newaxis], numbers, level=level)
            ideal = np.ptp(np.quantile(values, ((1 - level) / 2, (1 + level) / 2)))
            row += [np.mean((ends.low[0] <= values) & (values <= ends.high[0])), (ends.high[0] - ends.low[0]) / ideal]
        found.append(row)
    return np.mean(found, axis=0)


HOW = ["independent", "one source", "even", "largest of several"]


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("truths", [20, 500])
def test_intervals_hold_as_often_as_they_say_whatever_truths_are_like(how, truths):
    mean, _, run, _ = study(how, truths, 10, 0.03, seeds=150 if truths < 100 else 40)
    assert 0.86 <= mean <= (0.98 if truths == 20 and how == "even" else 0.94)
    assert run == pytest.approx(LEVEL, abs=0.03)


@pytest.mark.slow
@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("noise", [0.0, 0.15])
@pytest.mark.parametrize("truths", [10, 50, 5000])
def test_intervals_hold_from_ten_to_thousands_of_truths(how, truths, noise):
    each = 1 if not noise else 10
    mean, width, run, runs_width = study(how, truths, each, noise, seeds=400 if truths < 1000 else 60)
    assert 0.86 <= mean <= (0.95 if truths > 20 or how != "even" else 1.0)
    few = truths <= 20 and how == "even"  # few values are taken for normal ones, whose tails even ones lack
    assert 0.86 <= run <= (1.0 if few or truths <= 10 else 0.94)
    assert width <= (1.5 if truths == 10 else 1.3 if few else 1.2)
    assert runs_width <= (1.3 if few else 1.2)


@pytest.mark.slow
@pytest.mark.parametrize("how", ["independent", "one source", "largest of several"])
def test_few_truths_widen_a_little(how):
    widths = [study(how, truths, 1, 0.0, seeds=600 if truths < 100 else 100)[1] for truths in (20, 500)]
    assert 1.0 <= widths[0] / widths[1] <= 1.15


@pytest.mark.parametrize("level", [0.5, 0.99])
def test_other_levels_hold_too(level):
    mean, _, run, _ = study("independent", 400, 1, 0.0, seeds=60, level=level)
    assert (mean, run) == (pytest.approx(level, abs=0.02), pytest.approx(level, abs=0.02))


def test_more_replications_of_each_truth_do_not_narrow_what_is_unknown():
    """What 5 and 250 replications of 20 truths state differs by the noise that is taken off only."""
    widths = []
    for each in (5, 250):
        found = []
        for seed in range(60):
            generator = np.random.default_rng(seed)
            drawn, numbers = np.exp(DOUBT * stratified(generator, 20)[0]), np.arange(20 * each) % 20
            samples = drawn[numbers] * (1 + 0.1 * generator.standard_normal(numbers.size))
            ends = of_mean(samples[np.newaxis], numbers)
            found.append(ends.high[0] - ends.low[0])
        widths.append(np.mean(found))
    assert widths[0] == pytest.approx(widths[1], rel=0.1)


def test_noise_is_taken_off_the_spread_of_truths():
    """20 truths that are all the same, 10 runs of each: the noise of their means is 0.1 / sqrt(10)."""
    found = []
    for seed in range(100):
        generator = np.random.default_rng(seed)
        numbers = np.arange(200) % 20
        ends = of_mean(1 + 0.1 * generator.standard_normal((1, 200)), numbers)
        found.append((ends.high[0] - ends.low[0], ends.low[0] <= 1 <= ends.high[0]))
    width, held = np.mean(found, axis=0)
    assert held >= 0.9
    assert width < 0.75 * 2 * 1.645 * 0.1 / np.sqrt(10)


def test_a_common_doubt_cancels_in_gains_and_differences():
    generator = np.random.default_rng(4)
    common, own = np.exp(0.2 * stratified(generator, 200)[0]), np.exp(0.02 * stratified(generator, 200)[0])
    numbers = np.arange(200)
    base, others = 1.5 * common, np.stack((common * own, 1.5 * common))
    gains = of_ratio(base, others, numbers)
    ends = 1.5 * np.exp(0.02 * stats.norm.ppf([0.05, 0.95]))
    assert [gains.low[0], gains.high[0]] == pytest.approx(ends, rel=0.003)
    assert [gains.low[1], gains.high[1]] == pytest.approx([1, 1], abs=1e-12)
    apart = of_difference(base, others, numbers)
    assert apart.low[1] == apart.high[1] == 0
    assert apart.low[0] < np.mean(others[0] - base) < apart.high[0]


@pytest.mark.parametrize("truths", [20, 200])
def test_gains_hold_whoever_is_noisier(truths):
    held = []
    for seed in range(150):
        generator = np.random.default_rng(seed)
        drawn, true = stratified(generator, truths, 3), generator.standard_normal((3, TIMES))
        numbers = np.arange(10 * truths) % truths
        times = [np.exp(0.1 * one[0] + 0.04 * one[1:]) for one in (drawn, true)]
        load = 0.1 * generator.standard_normal(numbers.size)
        samples = times[0][:, numbers] * (1 + load + 0.05 * generator.standard_normal((2, numbers.size)))
        ends, gains = of_ratio(samples[0], samples[1:], numbers), times[1][0] / times[1][1]
        held.append(np.mean((ends.low[0] <= gains) & (gains <= ends.high[0])))
    assert np.mean(held) == pytest.approx(LEVEL, abs=0.04)


@pytest.mark.parametrize("parts", ["one alone", "two to one"])
@pytest.mark.parametrize("truths", [200, pytest.param(5000, marks=pytest.mark.slow)])
def test_the_gain_of_two_pes_with_bands_of_ten_percent(truths, parts):
    """Over equal parts on two PEs, one twice as fast, speeds even within 10 %: half of the gains are the same."""
    generator = np.random.default_rng(9)
    true = generator.uniform(0.9, 1.1, (2, 2000))
    share = 0.0 if parts == "one alone" else 1 / 3

    def times(speeds):
        both = np.stack(([0.5, 1 - share], [0.5, share]))  # (PE, equal or not)
        return np.max(both[:, :, np.newaxis] / (speeds * np.array([[2.0], [1.0]]))[:, np.newaxis], axis=0)

    equal, other = times(true)
    gains = equal / other
    held, widths = [], []
    for _ in range(100):
        speeds = 0.9 + 0.2 * stats.norm.cdf(stratified(generator, truths, 2))
        base, rest = 1e-6 + times(speeds)
        ends = of_ratio(base, rest[np.newaxis], np.arange(truths))
        held.append(np.mean((ends.low[0] <= gains) & (gains <= ends.high[0])))
        widths.append(ends.high[0] - ends.low[0])
    assert 0.87 <= np.mean(held) <= 0.93
    ideal = np.ptp(np.quantile(gains, (0.05, 0.95) if parts == "one alone" else (0.1, 1)))
    assert np.mean(widths) == pytest.approx(ideal, rel=0.1)


@pytest.mark.parametrize("width", [0.1, 0.6])
def test_a_skewed_gain_is_missed_on_neither_side(width):
    """Three PEs with bands, equal parts against parts by speed: most gains are near the largest that there can be."""
    generator, speeds = np.random.default_rng(3), np.array([[4.0], [2.0], [1.0]])
    drawn = speeds * (1 - width + 2 * width * stats.norm.cdf(stratified(generator, 5000, 3)))
    base, other = (np.max(parts / drawn, axis=0) for parts in (np.full((3, 1), 1 / 3), speeds / 7))
    ends, gains = of_ratio(base, other[np.newaxis], np.arange(5000)), base / other
    assert np.mean(gains < ends.low[0]) == pytest.approx(0.1, abs=0.01)  # the upper tenth is one value
    assert np.mean(gains > ends.high[0] + 1e-9) < 0.01
    assert ends.high[0] == pytest.approx(gains.max(), rel=0.01)


def test_without_truths_the_mean_is_as_sure_as_student_says():
    samples = np.random.default_rng(1).normal(5, 1, (2, 12))
    ends = of_mean(samples, None, level=0.8)
    low, high = stats.t.interval(0.8, 11, loc=samples.mean(axis=1), scale=stats.sem(samples, axis=1))
    assert (ends.low, ends.high) == (pytest.approx(low), pytest.approx(high))
    rest = of_difference(samples[0], samples[1:], None, level=0.8)
    low, high = stats.t.interval(
        0.8, 11, loc=np.mean(samples[1] - samples[0]), scale=stats.sem(samples[1] - samples[0])
    )
    assert (rest.low[0], rest.high[0]) == (pytest.approx(low), pytest.approx(high))


def test_what_is_certain_is_a_point_and_what_is_not_told_is_none():
    samples = np.array([[2.0], [4.0]])
    for made in (of_mean, of_run):
        ends = made(samples, None, deterministic=True)
        assert ends.low.tolist() == ends.high.tolist() == [2.0, 4.0]
        assert np.all(np.isnan(made(samples, None).low))
        assert np.all(np.isnan(made(np.ones((1, 8)), np.zeros(8, np.int64)).high))
    assert of_ratio(samples[1], samples, None, deterministic=True).high.tolist() == [2.0, 1.0]
    assert np.all(np.isnan(of_ratio(np.ones(4), np.ones((2, 4)), np.zeros(4, np.int64)).low))
    assert np.all(np.isnan(chances(np.ones((2, 4)) + np.eye(2, 4), np.zeros(4, np.int64), seed=1).best))


def test_truths_may_have_unequal_numbers_of_replications_in_any_order():
    generator = np.random.default_rng(3)
    drawn, numbers = np.exp(DOUBT * stratified(generator, 30)[0]), generator.integers(0, 30, 400)
    samples = drawn[numbers][np.newaxis]
    ends = of_mean(samples, numbers)
    order = generator.permutation(400)
    again = of_mean(samples[:, order], numbers[order] + 7)
    assert (ends.low[0], ends.high[0]) == (pytest.approx(again.low[0]), pytest.approx(again.high[0]))
    assert [ends.low[0], ends.high[0]] == pytest.approx(np.exp(DOUBT * stats.norm.ppf([0.05, 0.95])), rel=0.03)


def test_intervals_are_positive_however_few_truths():
    samples = np.random.default_rng(5).lognormal(0, 1, (50, 4))
    assert np.all(of_mean(samples, np.arange(4)).low > 0)
    assert np.all(of_run(samples, None).low > 0)


def duels(seeds, *, rows, truths, each, noise, own, spread):
    """Stated chance and expected loss of what seems best, and whether it is, and its loss, in a true world."""
    found = []
    for seed in range(seeds):
        generator = np.random.default_rng([seed, rows, truths])
        centres, parts = generator.normal(0, spread, rows), generator.normal(0, own, (rows, 4))
        drawn = centres[:, np.newaxis] + parts @ stratified(generator, truths, 4)
        true = centres + parts @ generator.standard_normal(4)
        numbers = np.arange(truths * each) % truths
        rest = generator.normal(0, 0.1, numbers.size) + generator.normal(0, noise, (rows, numbers.size))
        samples = np.exp(drawn[:, numbers] + rest)
        told, place = chances(samples, numbers, seed=seed), int(np.argmin(samples.mean(axis=1)))
        assert told.best.sum() == pytest.approx(1)
        loss = np.expm1(true[place] - true.min())
        found.append((told.best[place], true.argmin() == place, told.loss[place], loss))
    return np.array(found, dtype=float)


@pytest.mark.parametrize("truths", [20, pytest.param(200, marks=pytest.mark.slow)])
def test_chances_and_losses_come_true(truths):
    found = duels(250, rows=6, truths=truths, each=10, noise=0.05, own=0.03, spread=0.05)
    stated, was, loss, true_loss = found.mean(axis=0)
    assert stated == pytest.approx(was, abs=0.07)
    assert loss == pytest.approx(true_loss, rel=0.25)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("own", "spread", "truths"),
    [(0.03, 0.03, 10), (0.03, 0.03, 200), (0.002, 0.01, 10), (0.002, 0.01, 20), (0.02, 0.1, 20)],
)
def test_chances_come_true_by_thirds(truths, own, spread):
    """Rather too unsure than too sure where noise of replications hides by what few truths differ."""
    hidden = truths <= 20 and own < 0.03 / np.sqrt(10)
    least, most = (-0.17, 2.5) if hidden else (-0.08, 1.4)
    found = duels(900, rows=6, truths=truths, each=10, noise=0.03, own=own, spread=spread)
    for part in (found, *np.array_split(found[np.argsort(found[:, 0])], 3)):
        assert least < part[:, 0].mean() - part[:, 1].mean() < 0.08
    assert 0.6 * found[:, 3].mean() <= found[:, 2].mean() <= most * found[:, 3].mean()


@pytest.mark.parametrize("count", [10, 20, 200])
def test_few_truths_never_make_sure(count):
    generator = np.random.default_rng(count)
    rows = np.array([[1.0], [3.0]]) * np.exp(0.01 * generator.standard_normal((2, count)))
    found = chances(rows, np.arange(count), seed=1)
    assert found.best[0] == pytest.approx(1 - 0.5 / (count + 1))
    assert found.loss[0] == pytest.approx(0, abs=1e-9)
    assert found.loss[1] == pytest.approx(2, rel=0.1)


def test_a_lead_of_a_third_of_a_percent_is_near_with_little_to_lose():
    generator = np.random.default_rng(8)
    rows = np.array([[1.0], [1.003]]) * np.exp(0.05 * generator.standard_normal(400))
    found = chances(rows, np.arange(400), seed=1)
    assert found.near.min() > 0.99
    assert found.loss[1] == pytest.approx(0.003, abs=1e-4)


def test_alike_rows_share_a_chance():
    times = np.random.default_rng(1).normal(1, 0.1, (2, 40))
    both = np.stack([times[0], times[1], times[0] * (1 + 1e-14)])
    found, alone = (chances(rows, np.arange(40), seed=1) for rows in (both, times))
    assert intervals.alike(both).tolist() == [0, 1, 0]
    assert found.best.tolist() == [alone.best[0], alone.best[1], alone.best[0]]
