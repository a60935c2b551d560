"""Noise and doubt of speed models: made-up machines with known noise, bends and drift lie inside what is said."""

from dataclasses import dataclass

import numpy as np
import pytest

from simulator.base.errors import ScenarioError
from simulator.calibration.bands import BuiltBand, CutRule, Measurement, apart, beside_load, build
from simulator.calibration.bands.doubts import scatter_of
from simulator.models.doubt import DRIFT, Doubt, Noise
from simulator.models.load import LoadTrace
from simulator.models.speed import Cut, SpeedBand

NORMAL_90 = 1.6449


@dataclass
class MadeUp:
    """A machine whose speed bends over log size, with lognormal noise of repetitions and of visits."""

    rng: np.random.Generator
    noise: float
    visits: float = 0.0
    repetitions: int = 7
    smallest: float = 1e3
    largest: float = 1e7
    largest_is_memory_limit: bool = False
    in_visits: bool = False
    """Whether points say that their repetitions were one visit, as those of real runs do."""

    def __post_init__(self):
        self.bends = self.rng.uniform(0.0, 0.3, 3)
        self.places = np.log(self.rng.uniform(self.smallest, self.largest, 3))
        self.rates = self.rng.uniform(0.5, 2.0, 3)

    def truth(self, sizes):
        """Volume per second: a speed that falls where levels end, more or less sharply."""
        x = np.log(np.asarray(sizes))[..., np.newaxis]
        return 1e9 * np.exp(-np.sum(self.bends / (1 + np.exp(-self.rates * (x - self.places))), axis=-1))

    def measure(self, size):
        time_s = size / self.truth(size) * np.exp(self.visits * self.rng.standard_normal())
        times_s = tuple((time_s * np.exp(self.noise * self.rng.standard_normal(self.repetitions))).tolist())
        visits = (self.repetitions,) if self.in_visits else ()
        return Measurement.of_times(float(size), float(size), times_s, times_s, sum(times_s), visits)

    def cost_s(self, times_s):
        return self.repetitions * times_s

    def measured(self, count):
        """Points at sizes of equal ratio, joined."""
        return joined([self.measure(size) for size in np.geomspace(self.smallest, self.largest, count)])


def joined(points):
    cuts = [Cut(point.size, point.speed, point.speed, point.speed) for point in points]
    return BuiltBand("measured", SpeedBand.through(cuts), tuple(points), tuple(cuts), 0.0, "")


def points_of(rows):
    """Points of 1, 2, 4 ... elements with these times each."""
    return [
        Measurement.of_times(2.0**k, 1.0, tuple(row), tuple(row), sum(row))
        for k, row in enumerate(np.asarray(rows).tolist())
    ]


def inside(machine, built, drift, rng):
    """Share of ten truths, changed by one drift, inside the 90 % that a model states."""
    band = apart(built, drift=drift).band
    sizes = np.exp(rng.uniform(np.log(machine.smallest), np.log(machine.largest), 10))
    truth = machine.truth(sizes) * np.exp(drift * rng.standard_normal())
    off = np.abs(np.log(truth / np.interp(sizes, band.sizes, band.mid)))
    return np.mean(off <= NORMAL_90 * band.doubt.at(sizes))


@pytest.mark.parametrize(
    ("noise", "visits", "drift", "count"), [(0.02, 0.0, 0.05, 12), (0.1, 0.0, 0.02, 12), (0.02, 0.04, 0.03, 20)]
)
def test_nine_in_ten_truths_lie_inside_the_doubt(noise, visits, drift, count):
    rng = np.random.default_rng(7)
    machines = [MadeUp(rng, noise, visits) for _ in range(60)]
    share = np.mean([inside(machine, machine.measured(count), drift, rng) for machine in machines])
    assert 0.84 <= share <= 0.97


@pytest.mark.slow
@pytest.mark.parametrize("method", ["adaptive", "grid", "gbbp"])
def test_nine_in_ten_truths_lie_inside_whatever_builds_the_band(method):
    rng = np.random.default_rng(8)
    machines = [MadeUp(rng, 0.03) for _ in range(100)]
    share = np.mean([inside(machine, build(machine, method=method), 0.05, rng) for machine in machines])
    assert 0.84 <= share <= 0.97


def test_the_scatter_of_repetitions_is_found_and_its_tail_is_kept():
    rng = np.random.default_rng(1)
    rows = np.exp(0.05 * rng.standard_normal((40, 7)))
    rows[rng.random(rows.shape) < 0.03] *= 2  # now and then a run takes twice as long
    band = apart(joined(points_of(rows))).band
    core = np.log(np.quantile(band.noise.factors, [0.1, 0.9]))
    assert core[1] - core[0] == pytest.approx(2 * 1.2816 * 0.05, rel=0.12)
    assert band.noise.factors[-1] > 1.8


def test_of_two_repetitions_the_noise_is_not_half_of_what_it_is():
    rng = np.random.default_rng(2)
    band = apart(joined(points_of(np.exp(0.05 * rng.standard_normal((300, 2)))))).band
    assert band.noise.sd == pytest.approx(0.05, rel=0.1)


def repeated(rng, power, count=12):
    """Points of five repetitions whose scatter goes with a power of the size, 4 % at the middle one."""
    sizes = np.geomspace(1e3, 1e7, count)
    sds = 0.04 * (sizes / 1e5) ** power
    logs = sds[:, np.newaxis] * rng.standard_normal((count, 5))
    rows = zip(sizes.tolist(), np.exp(logs).tolist(), strict=True)
    return [Measurement.of_times(size, size, tuple(row), tuple(row), sum(row)) for size, row in rows], sds


@pytest.mark.parametrize("power", [-0.3, 0.3])
def test_runs_of_every_size_lie_in_the_noise_where_it_goes_with_the_size(power):
    rng, ends = np.random.default_rng(11), np.array([1e3, 1e7])
    held, ratios = [], []
    for _ in range(40):
        points, sds = repeated(rng, power)
        band = apart(joined(points), drift=0.0).band
        ratios.append(np.log(np.divide(*band.noise.spread(ends[::-1]))) / np.log(1e4))
        low, high = band.run_interval(ends)
        runs = ends / np.exp(sds[[0, -1]] * rng.standard_normal((50, 2)))
        held.append(np.mean((low <= runs) & (runs <= high), axis=0))
    assert np.median(ratios) == pytest.approx(power, rel=0.25)
    assert np.all((np.mean(held, axis=0) > 0.85) & (np.mean(held, axis=0) < 0.97))


def test_noise_stays_the_same_at_every_size_where_no_test_says_otherwise():
    rng = np.random.default_rng(12)
    found = [apart(joined(repeated(rng, 0.0)[0])).band.noise.sizes is not None for _ in range(60)]
    assert np.mean(found) <= 0.1


def test_noise_by_size_is_written_scaled_and_drawn():
    noise = Noise(np.exp([-0.1, 0.0, 0.1]), sizes=np.array([10.0, 1000.0]), spreads=np.array([2.0, 0.5]))
    assert np.array_equal(Noise.from_dict(noise.to_dict()).spreads, noise.spreads)
    assert np.log(noise.at(1.0, [1.0, 10.0, 100.0, 1e6])) == pytest.approx([0.2, 0.2, 0.1, 0.05])
    other = noise.spread_as([noise, Noise(noise.factors)], [0.5, 0.5], [10.0, 1.0])
    assert other.spread([100.0, 1e4]) == pytest.approx(np.sqrt([2.0, 0.5]))
    with pytest.raises(ScenarioError, match="sizes and spreads go together"):
        Noise(noise.factors, sizes=noise.sizes)


def test_the_error_of_a_median_is_what_medians_scatter_by():
    rng = np.random.default_rng(3)
    logs = 0.05 * rng.standard_normal((400, 9))
    found = scatter_of(points_of(np.exp(logs)))
    assert found.alike == 0.0
    assert np.median(found.sampling) == pytest.approx(np.std(np.median(logs, axis=1)), rel=0.12)


def test_repetitions_that_follow_each_other_alike_count_as_fewer():
    rng = np.random.default_rng(4)
    shocks, rho = 0.05 * np.sqrt(1 - 0.6**2) * rng.standard_normal((200, 30)), 0.6
    logs = np.zeros((200, 30))
    logs[:, 0] = 0.05 * rng.standard_normal(200)
    for k in range(1, 30):
        logs[:, k] = rho * logs[:, k - 1] + shocks[:, k]
    found = scatter_of(points_of(np.exp(logs)))
    assert found.alike == pytest.approx(rho, abs=0.12)
    assert np.median(found.sampling) == pytest.approx(np.std(np.median(logs, axis=1)), rel=0.25)
    assert np.std(np.log(found.factors)) == pytest.approx(0.05, rel=0.12)


def test_what_differs_from_visit_to_visit_is_noise_of_runs_and_error_of_points():
    rng = np.random.default_rng(5)
    visits = np.exp(0.06 * rng.standard_normal((60, 1)))
    band = apart(joined(points_of(visits * np.exp(0.01 * rng.standard_normal((60, 8)))))).band
    assert band.noise.sd == pytest.approx(0.06, rel=0.35)
    assert np.sqrt(band.doubt.sources["sampling"]) * band.doubt.at(2.0**30) == pytest.approx(0.06, rel=0.4)


def test_doubt_grows_beyond_the_sizes_measured_and_between_them():
    times_s = [[size**1.1] * 3 for size in 2.0 ** np.arange(10)]
    doubt = apart(
        joined([Measurement.of_times(2.0**k, 2.0**k, *[tuple(row)] * 2, 1.0) for k, row in enumerate(times_s)])
    ).band.doubt
    at = doubt.at([2.0**5, 2.0**5.5, 2.0**10, 2.0**11, 2.0**-2])
    assert at[0] == pytest.approx(DRIFT)
    assert at[1] > at[0]
    assert at[3] > at[2] > 1.5 * at[0]
    assert at[4] > at[0]


def overheads(rng, sizes, *, share):
    """Points whose speed rises as an overhead fades that takes a share of the time at the smallest size."""
    over = sizes[0] * share / (1 - share)
    times = [size + over * np.ones(3) for size in sizes]
    rows = [tuple((row * np.exp(0.005 * rng.standard_normal(3))).tolist()) for row in times]
    points = [Measurement.of_times(float(n), float(n), row, row, sum(row)) for n, row in zip(sizes, rows, strict=True)]
    return joined(points), lambda size: size / (size + over)


@pytest.mark.parametrize("share", [0.05, 0.2, 0.6])
def test_an_overhead_that_does_not_shrink_lies_in_the_doubt_below_the_smallest_size(share):
    rng = np.random.default_rng(13)
    built, truth = overheads(rng, 2.0 ** np.arange(10, 20), share=share)
    band, asked = apart(built, drift=0.0).band, 2.0 ** np.array([9, 8])
    low, high = band.run_interval(asked)
    assert np.all((low <= truth(asked)) & (truth(asked) <= high))
    assert np.all(low > 0.2 * truth(asked))


def test_what_larger_sizes_missed_widens_a_band_beyond_its_largest():
    """A speed that wanders from octave to octave is foreseen worse than one that stays."""
    rng, sizes, sds = np.random.default_rng(14), 2.0 ** np.arange(10, 20), []
    for walk in (0.0, 0.15):
        speeds = np.exp(np.append(walk * np.tile([1.0, -1.0, -1.0], 3), 0.0).cumsum() + 0.005 * rng.standard_normal(10))
        rows = [(float(size / speed),) * 3 for size, speed in zip(sizes, speeds, strict=True)]
        points = [Measurement.of_times(n, n, row, row, sum(row)) for n, row in zip(sizes.tolist(), rows, strict=True)]
        sds.append(apart(joined(points)).band.doubt.at(sizes[-1] * np.array([1, 2, 4])))
    assert sds[0][2] < 0.12
    assert np.all(sds[1][1:] > 2 * sds[0][1:])


def test_runs_beside_a_load_that_comes_and_goes_lie_in_its_band_whose_ends_most_of_them_meet():
    rng, shares = np.random.default_rng(9), []
    trace = LoadTrace(np.arange(100.0), np.tile([1.0, 0.0], 50), 100.0)
    rule = CutRule.under_load(trace, window=1, history=None, availability="fair")
    for _ in range(60):
        machine = MadeUp(rng, 0.03, 0.04, in_visits=True)
        by_the_paper = build(machine, rule=rule)
        built = beside_load(by_the_paper, drift=0.0)
        sizes = np.exp(rng.uniform(np.log(machine.smallest), np.log(machine.largest), 20))
        noise = machine.noise * rng.standard_normal(20) + machine.visits * rng.standard_normal(20)
        speeds = machine.truth(sizes) * np.exp(noise) * rng.choice([0.5, 1.0], 20)
        cuts = [[found.band.cut(size) for size in sizes] for found in (by_the_paper, built)]
        shares.append([np.mean([c.low <= s <= c.high for c, s in zip(row, speeds, strict=True)]) for row in cuts])
    paper, ours = np.mean(shares, axis=0)
    assert paper < 0.85
    assert 0.88 <= ours <= 0.99
    assert all(built.band.cut(cut.size) == cut for cut in built.cuts)


def test_one_run_of_each_size_shows_no_noise_and_the_stated_width_is_its_doubt():
    built = joined(points_of([[1.0], [1.0], [1.0], [1.0]]))
    narrow, wide = (apart(built, drift=0.0, half_width=half).band for half in (0.01, 0.1))
    assert narrow.noise is wide.noise is None
    assert narrow.doubt.at(2.0) == pytest.approx(np.log(1.01) / NORMAL_90, rel=1e-3)
    assert wide.doubt.at(2.0) == pytest.approx(np.log(1.1) / NORMAL_90, rel=1e-3)


def test_nine_in_ten_runs_lie_between_the_curves_shown():
    rng = np.random.default_rng(6)
    doubt, noise = Doubt.constant(0.04), Noise(np.sort(rng.gamma(4.0, 0.05, 200) + 0.8))
    band = SpeedBand(np.ones(1), *[np.array([100.0])] * 3, doubt=doubt, noise=noise).shown()
    runs = band.drawn(np.ones(40_000), position=rng.random(40_000), noise=rng.random(40_000))
    share = np.mean((runs >= band.low[0]) & (runs <= band.high[0]))
    assert share == pytest.approx(0.9, abs=0.01)
    assert np.mean(runs < band.low[0]) == pytest.approx(0.05, abs=0.007)


def test_the_causes_of_what_one_point_leaves_unknown_add_up_at_any_size():
    """Sizes go through logarithms and back: the point lies in its own range whatever its last bits are."""
    machine = MadeUp(np.random.default_rng(3), noise=0.02)
    for size in np.random.default_rng(4).uniform(1e3, 1e7, 50):
        doubt = apart(joined([machine.measure(size)])).band.doubt
        assert sum(doubt.sources.values()) == pytest.approx(1)
        assert set(doubt.sources) <= {"sampling", "form", "extrapolation", "drift"}


def test_a_rare_spike_is_noise_of_its_own_size():
    """Where one run in fifty takes half as long again, noise costs 1 % in the mean, not more."""
    rng, means = np.random.default_rng(5), []
    for _ in range(40):
        times = np.exp(0.005 * rng.standard_normal((14, 5))) * (1 + 0.5 * (rng.random((14, 5)) < 0.02))
        means.append(float(np.mean(scatter_of(points_of(times)).factors)))
    assert np.mean(means) == pytest.approx(1.01, abs=0.002)
