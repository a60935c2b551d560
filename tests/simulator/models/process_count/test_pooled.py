"""The process-count model: its terms, its advice on made-up and on recorded runs, its intervals and words."""

from dataclasses import replace

import numpy as np
import pytest

from simulator.models.process_count.fit import cells_of, log_times, used_columns
from simulator.models.process_count.model import fit_process_counts, plausible_shapes
from simulator.models.process_count.terms import SHAPES, TERMS, columns
from tests.support import lu_clusters as clusters

SMALL = (400, 800, 1200, 1600)


@pytest.fixture(scope="module")
def fitted():
    """The cheapest set, 3 % noise."""
    return fit_process_counts(clusters.runs_of(clusters.cheapest_set(), SMALL, clusters.lu, noise=0.03))


def _regret_and_error(model, size, truth, allocations=None):
    allocations = clusters.judged() if allocations is None else allocations
    time_s = truth(np.full(len(allocations), float(size)), allocations)
    found = model.estimate(size, allocations)
    best = int(found.mean_s.argmin())
    inside = (found.low_s <= time_s) & (time_s <= found.high_s)
    return time_s[best] / time_s.min() - 1, found.mean_s[best] / time_s[best] - 1, inside.mean()


def test_terms_by_hand():
    cubic = next(shape for shape in SHAPES if shape.name == "N^3")
    names = [term.name for term in TERMS]

    def term(name, size, m, processes):
        return columns(cubic, np.array(float(size)), np.array(float(m)), np.array(float(processes)))[names.index(name)]

    assert term("m W/P", 100, 2, 8) == 2 * 100**3 / 8
    assert term("W/P", 100, 2, 8) == 100**3 / 8
    assert term("V P net", 100, 2, 8) == 100**2 * 8
    assert term("V P net", 100, 8, 8) == 0  # one PE sends nothing over a network
    assert term("L several", 100, 1, 1) == 0
    assert term("V alone", 100, 4, 4) == 100**2 * 3 / 4
    assert term("(m-1) m L/P", 100, 3, 6) == 2 * 3 * 100 / 6


def test_slopes_of_the_log_makespan():
    rng = np.random.default_rng(0)
    terms = used_columns(SHAPES[3], rng.uniform(1, 3, 20), clusters.judged()[:20])
    mode = rng.normal(size=terms.shape[1:])
    value, slopes = log_times(terms, mode)
    for k in rng.choice(mode.size, 8, replace=False):
        moved = mode.copy()
        moved.flat[k] += 1e-6
        assert (log_times(terms, moved)[0] - value) / 1e-6 == pytest.approx(slopes[:, k], abs=1e-5)


def test_a_largest_size_off_the_trend_of_the_smaller_ones_widens_intervals(fitted):
    assert fitted.inflation == 1
    runs = clusters.runs_of(clusters.cheapest_set(), SMALL, clusters.lu, noise=0.03)
    off = replace(runs, time_s=np.where(runs.size == SMALL[-1], 1.3 * runs.time_s, runs.time_s))
    assert fit_process_counts(off).inflation > 10


def test_runs_without_noise_come_back():
    runs = clusters.runs_of(clusters.judged(), SMALL, clusters.lu)
    model = fit_process_counts(runs)
    for size, tolerance in ((800, 0.02), (1600, 0.02), (3200, 0.03)):
        truth = clusters.lu(np.full(62, float(size)), clusters.judged())
        assert model.estimate(size, clusters.judged()).mean_s == pytest.approx(truth, rel=tolerance)


def test_advice_from_the_cheapest_set():
    found = []
    for seed in range(5):
        model = fit_process_counts(clusters.runs_of(clusters.cheapest_set(), SMALL, clusters.lu, noise=0.03, seed=seed))
        found += [_regret_and_error(model, size, clusters.lu) for size in (3200, 6400, 9600)]
    regret, error, inside = np.array(found).T
    assert regret.mean() <= 0.02
    assert regret.max() <= 0.12
    assert np.abs(error).max() <= 0.15
    assert inside.mean() >= 0.85


@pytest.mark.parametrize("which", ["all", "six"])
def test_advice_for_recorded_runs(which):
    runs = clusters.recorded(largest=1600)
    if which == "six":
        wanted = {(1, 0), (0, 1), (2, 0), (0, 2), (2, 1), (3, 2)}
        runs = clusters.chosen(runs, np.array([tuple(m) in wanted for m in runs.allocations[:, :, 1].tolist()]))
    model = fit_process_counts(runs)
    for size in (2400, 3200):
        later = cells_of(clusters.recorded(largest=size, smallest=size))
        found = model.estimate(size, later.allocations)
        best = int(found.mean_s.argmin())
        assert later.time_s[best] <= 1.05 * later.time_s.min()
        assert found.mean_s[best] == pytest.approx(later.time_s[best], rel=0.15)
        assert np.mean((found.low_s <= later.time_s) & (later.time_s <= found.high_s)) >= 0.8


def test_a_disturbed_repetition_counts_little():
    runs = clusters.runs_of(clusters.cheapest_set(), SMALL, clusters.lu, noise=0.02)
    time_s = runs.time_s.copy()
    time_s[50] *= 6
    disturbed = fit_process_counts(replace(runs, time_s=time_s))
    calm = fit_process_counts(runs).estimate(3200, clusters.judged()).mean_s
    assert disturbed.estimate(3200, clusters.judged()).mean_s == pytest.approx(calm, rel=0.12)
    assert any("lie far off" in line for line in disturbed.warnings)


def test_of_two_repetitions_far_apart_the_shorter_counts():
    runs = clusters.runs_of(clusters.cheapest_set()[:2], SMALL, clusters.lu, repetitions=2)
    time_s = runs.time_s.copy()
    time_s[1] *= 3
    time_s[2] *= 1.1
    cells = cells_of(replace(runs, time_s=time_s))
    half = len(time_s) // 2
    at = {(a.tobytes(), n): t for a, n, t in zip(cells.allocations, cells.size, cells.time_s, strict=True)}
    first, second = ((runs.allocations[i].tobytes(), runs.size[i]) for i in (1, 2))
    assert at[first] == runs.time_s[1 + half]
    assert at[second] == pytest.approx(runs.time_s[2] * np.sqrt(1.1))


def test_what_a_configuration_keeps_of_its_own_is_carried_over():
    odd = clusters.cheapest_set()[20]
    runs = clusters.runs_of(clusters.cheapest_set(), SMALL, clusters.lu, noise=0.02)
    mine = (runs.allocations == odd).all(axis=(1, 2))
    model = fit_process_counts(replace(runs, time_s=np.where(mine, 1.3, 1.0) * runs.time_s))
    usual = clusters.lu(np.array([3200.0]), odd[None])[0]
    assert 1.15 * usual < model.estimate(3200, odd[None]).mean_s[0] < 1.4 * usual
    assert model.estimate(3200, clusters.judged()[:8]).mean_s == pytest.approx(
        clusters.lu(np.full(8, 3200.0), clusters.judged()[:8]), rel=0.1
    )


def test_the_mean_is_cautious_about_a_kind_that_never_was_the_slowest():
    train = np.array([[[1, 1], [p, m]] for p in (2, 4) for m in (2, 3)] + [[[0, 0], [2, 1]], [[0, 0], [4, 1]]])
    model = fit_process_counts(clusters.runs_of(train, SMALL, clusters.lu, noise=0.02))
    alone, slow = np.array([[[1, 1], [0, 0]]]), np.array([[[0, 0], [4, 1]]])
    assert model.estimate(3200, alone).mean_s[0] > 1.15 * np.median(model.members(3200, alone))
    assert model.estimate(3200, slow).mean_s[0] < 1.1 * np.median(model.members(3200, slow))
    assert model.estimate(3200, alone).warnings[0] == ("fast was never run alone",)


def test_competitors_share_the_pe():
    """With k competitors m processes get m/(m + k) of a PE: the time of unmeasured m follows."""

    def truth(size, allocations):
        m = allocations[:, :, 1].astype(float)
        processes = (allocations[:, :, 0] * m).sum(axis=1, keepdims=True)
        busy = (m + np.array([0.0, 3.0])) / processes * 1e-9 * size[:, None] ** 3
        return np.where(allocations[:, :, 0] > 0, busy, 0.0).max(axis=1) + 1e-7 * size**2

    train = [[[1, 1], [0, 0]], [[1, 2], [0, 0]], [[0, 0], [1, 1]], [[0, 0], [1, 2]], [[1, 1], [1, 1]], [[1, 2], [1, 2]]]
    model = fit_process_counts(clusters.runs_of(train, SMALL, truth, noise=0.01, repetitions=2))
    asked = np.array([[[0, 0], [1, 4]], [[1, 1], [1, 3]]])
    assert model.estimate(3200, asked).mean_s == pytest.approx(truth(np.full(2, 3200.0), asked), rel=0.15)


@pytest.mark.parametrize(
    ("name", "sizes", "work"),
    [
        ("N log N", (1e5, 2e5, 5e5, 1e6), lambda n: 2e-7 * n * np.log(n)),
        ("N^2", (1000, 2000, 4000, 8000), lambda n: 5e-8 * n**2),
        ("N^3", SMALL, lambda n: 1e-9 * n**3),
    ],
)
def test_the_growth_of_the_work_is_found(name, sizes, work):
    def truth(size, allocations):
        m = allocations[:, :, 1].astype(float)
        processes = (allocations[:, :, 0] * m).sum(axis=1, keepdims=True)
        own = work(size)[:, None] * np.array([1.0, 3.0]) * m / processes + 2e-3 * processes
        return np.where(allocations[:, :, 0] > 0, own, 0.0).max(axis=1)

    configurations = clusters.judged()[::4]
    model = fit_process_counts(clusters.runs_of(configurations, sizes, truth, noise=0.02))
    assert model.structures[int(np.argmax(model.weights))].posterior.shape.name == name
    regret, error, _ = _regret_and_error(model, 2 * sizes[-1], truth)
    assert regret <= 0.05
    assert abs(error) <= 0.15


def test_shapes_slower_than_the_growth_seen_are_not_tried():
    cells = cells_of(clusters.runs_of(clusters.cheapest_set(), SMALL, clusters.lu))
    assert [shape.name for shape in plausible_shapes(cells)] == ["N^3"]


def test_phases_tell_the_speed_of_a_kind_that_never_was_the_slowest():
    train = np.array([[[1, 1], [p, m]] for p in (1, 2, 4) for m in (1, 2)])
    runs = clusters.runs_of(train, SMALL, clusters.lu, noise=0.01)
    alone = np.array([[[1, 1], [0, 0]]])
    truth = float(clusters.lu(np.array([3200.0]), alone)[0])
    comp_s = np.full((len(runs.size), 2), np.nan)
    comp_s[:, 0] = 6e-10 / runs.processes * (runs.size**3 + 100 * runs.size**2)
    informed = fit_process_counts(replace(runs, comp_s=comp_s)).estimate(3200, alone)
    blind = fit_process_counts(runs).estimate(3200, alone)
    assert informed.mean_s[0] == pytest.approx(truth, rel=0.15)
    assert abs(np.log(blind.mean_s[0] / truth)) > 0.3  # without them either kind may have been the slower
    assert blind.high_s[0] / blind.low_s[0] > 4


def test_members_are_paired_truths(fitted):
    some = clusters.judged()[::7]
    members = fitted.members(6400, some)
    assert members.shape == (64, len(some))
    found = fitted.estimate(6400, some)
    assert np.median(members, axis=0) == pytest.approx(found.mean_s, rel=0.1)
    width = np.log(members).std(axis=0) / (np.log(found.high_s / found.low_s) / 2 / 1.66)
    assert ((width > 0.6) & (width < 1.3)).all()
    # What all share does not decide between them: ratios are known better than times.
    ratio = np.log(members[:, 1:] / members[:, :1]).std(axis=0)
    assert np.median(ratio) < np.median(np.log(members).std(axis=0)) * np.sqrt(2)


def test_words_where_the_runs_cannot_tell(fitted):
    assert fitted.warnings == ("no run uses several kinds together: what mixing them costs is a guess",)
    asked = np.array([[[1, 9], [8, 1]], [[0, 0], [60, 2]], [[0, 0], [8, 1]], [[1, 1], [0, 0]]])
    doubts = fitted.estimate(9600, asked).warnings
    assert "N = 9600 is 6 times the largest measured, 1600" in doubts[0]
    assert "fast: 9 processes on a PE, measured up to 6" in doubts[0]
    assert "fast and slow were never run together" in doubts[0]
    assert "P = 120, measured up to 48" in doubts[1]
    assert doubts[2] == ("N = 9600 is 6 times the largest measured, 1600",)
    assert fitted.estimate(200, asked[2:]).warnings[0] == ("N = 200 is below the smallest measured, 400",)
    assert fitted.estimate(3200, asked[2:]).warnings == ((), ())
    wild = fit_process_counts(
        clusters.runs_of(clusters.cheapest_set(), SMALL, clusters.lu, noise=0.25)
    )  # nothing repeated
    assert any("the runs scatter by" in line for line in wild.warnings)
    short = fit_process_counts(clusters.runs_of(clusters.cheapest_set(), (100, 150, 200), clusters.lu))
    assert any("1 more would separate" in line for line in short.warnings)
    assert any("scheduler's credit" in line for line in short.warnings)


@pytest.mark.parametrize("seed", [1, 6, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (0, 2, 3, 4, 5, 7))])
def test_odd_runs_give_positive_finite_answers(seed):
    rng = np.random.default_rng(seed)
    kinds, count = int(rng.integers(1, 5)), 12
    m = rng.integers(1, 5, (count, kinds))
    pes = rng.integers(0, 5, (count, kinds))
    pes[np.arange(count), np.arange(count) % kinds] = 1 + np.arange(count) % 3
    allocations = np.stack([pes, m * (pes > 0)], axis=2)
    size = rng.choice([0.2, 1.0, 7.0, 400.0], count)
    time_s = 10.0 ** rng.uniform(-6, 3) * size ** rng.uniform(0, 3) * np.exp(rng.normal(0, 0.3, count))
    comp_s = np.where(rng.random((count, kinds)) < 0.3, time_s[:, None] / 2, np.nan)
    runs = clusters.AllocationRuns(tuple("abcd"[:kinds]), size, allocations, time_s, comp_s, comp_s / 2)
    with np.errstate(divide="raise", invalid="raise", over="raise"):
        model = fit_process_counts(runs)
        found = model.estimate(800.0, allocations)
        members = model.members(800.0, allocations)
    assert (np.concatenate([found.low_s, found.mean_s, members.ravel()]) > 0).all()
    assert (found.low_s < found.mean_s).all()
    assert (found.mean_s < found.high_s).all()
    assert np.isfinite(members).all()
    assert np.isfinite(found.high_s).all()
