"""Generated streams against samplers of the same distributions that share no line with them."""

import re
from collections import Counter

import numpy as np
import pytest

from simulator.base.errors import ScenarioError
from simulator.programs.streams.lublin import lublin
from simulator.programs.streams.stream import make_stream
from simulator.programs.streams.tsafrir import with_estimates
from tests.support import job_samplers
from tests.support.job_samplers import BATCH, COMBINED

JOBS, SEEDS = 50_000, (1, 2, 3)
FEW_SEEDS = [1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in SEEDS[1:])]
MOST_DISTANCE = 0.02
KINDS = {"batch": BATCH, "combined": COMBINED}
HOUR_S, DAY_S = 3600, 86400


def distance(one, other):
    """Kolmogorov and Smirnov's, for samples with ties too."""
    one, other = np.sort(one), np.sort(other)
    places = np.concatenate([one, other])
    ranks = (np.searchsorted(some, places, side="right") / some.size for some in (one, other))
    return float(np.abs(np.subtract(*ranks)).max())


@pytest.fixture(scope="module", params=KINDS)
def sampled(request):
    submit, size, run = map(np.array, job_samplers.jobs(KINDS[request.param], JOBS, seed=17))
    return request.param, submit, size, run


@pytest.mark.parametrize("seed", FEW_SEEDS)
def test_sizes_run_times_and_gaps_are_distributed_as_sampled(sampled, seed):
    kind, submit, size, run = sampled
    drawn = lublin(JOBS, processors=128, seed=seed, kind=kind)
    found = {
        "size": distance(drawn.processors, size),
        "run": distance(np.log(drawn.run_s), np.log(run)),
        "gap": distance(np.diff(drawn.submit_s), np.diff(submit)),
    }
    assert max(found.values()) <= MOST_DISTANCE, found
    assert distance(drawn.submit_s % DAY_S, submit % DAY_S) < 0.05  # the hours of few days hang together
    assert np.corrcoef(drawn.processors, np.log(drawn.run_s))[0, 1] == pytest.approx(
        np.corrcoef(size, np.log(run))[0, 1], abs=0.02
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("load", "processors"), [(0.5, 128), (0.8, 128), (0.69, 100), (1.2, 1000)])
def test_the_load_is_as_asked_and_only_gaps_change_for_it(kind, load, processors):
    drawn = lublin(5000, processors=processors, seed=4, kind=kind, load=load)
    as_is = lublin(5000, processors=processors, seed=4, kind=kind)
    asked = float(np.sum(drawn.processors * drawn.run_s))
    assert asked / (processors * (drawn.submit_s[-1] - drawn.submit_s[0])) == pytest.approx(load, rel=1e-4)
    assert drawn.offered_load(processors) == pytest.approx(load, rel=1e-4)
    assert drawn.run_s.tolist() == as_is.run_s.tolist()
    assert drawn.processors.tolist() == as_is.processors.tolist()
    stretch = (drawn.submit_s[-1] - drawn.submit_s[0]) / (as_is.submit_s[-1] - as_is.submit_s[0])
    assert np.allclose(drawn.submit_s, as_is.submit_s * stretch, atol=stretch + 2)


def test_the_same_seed_is_the_same_stream():
    one, again, other = (with_estimates(lublin(2000, seed=seed), seed=seed) for seed in (5, 5, 6))
    for name in ("submit_s", "processors", "run_s", "limit_s", "user"):
        assert getattr(one, name).tobytes() == getattr(again, name).tobytes()
        assert getattr(one, name).tobytes() != getattr(other, name).tobytes()


@pytest.mark.parametrize("processors", [1, 2, 3, 7, 100, 129, 9216])
@pytest.mark.parametrize("kind", KINDS)
def test_no_job_is_larger_than_the_machine(kind, processors):
    drawn = lublin(3000, processors=processors, seed=1, kind=kind)
    assert drawn.processors.min() == 1
    assert drawn.processors.max() <= processors
    assert drawn.machine_processors == processors
    assert np.all(drawn.run_s >= 1)
    assert np.all(np.diff(drawn.submit_s) >= 0)
    assert drawn.whole_seconds


def test_arrivals_follow_the_hours_of_the_day():
    share = np.bincount(((lublin(JOBS, seed=3).submit_s // HOUR_S) % 24).astype(int), minlength=24) / JOBS
    assert np.abs(share - np.add.reduceat(job_samplers.weights(BATCH), range(0, 48, 2)) / 48).max() < 0.01


def test_users_follow_zipfs_law():
    found = np.bincount(lublin(JOBS, seed=1).user, minlength=225)[1:]
    expected = JOBS / np.arange(1, 225) / np.sum(1 / np.arange(1, 225))
    assert np.all(np.abs(found - expected) < 5 * np.sqrt(expected))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"jobs": 0}, "jobs: 0 is too few; give 1 or more"),
        ({"processors": 0}, "processors: 0 is too few"),
        ({"kind": "bach"}, "kind: there is no 'bach'; take batch, combined.*batch"),
        ({"load": 0.0}, "load: 0 is no offered load"),
        ({"load": 0.5, "jobs": 1}, "load: one job has no gap to stretch"),
    ],
)
def test_bad_wishes_are_refused(given, said):
    with pytest.raises(ScenarioError, match=said):
        lublin(**({"jobs": 10} | given))


# Estimates


def shares(values):
    """Of jobs by rank, as published: 89 % on the head, whose first has what is left."""
    head = [14.0491 * np.exp(-0.177531 * rank) / 100 + 0.00462513 for rank in range(2, 21)]
    tail = np.array([795.6 * rank**-2.267 for rank in range(21, values + 1)])
    return np.array([0.89 - sum(head), *head, *(0.11 * tail / tail.sum())])


NUMBER_OF_VALUES = {200: 20, 600: 28, 10_000: 90, 50_000: 257}
"""Jobs and values: points of the published line, and between them 27.5 and 256.67."""


@pytest.mark.parametrize(("jobs", "values"), NUMBER_OF_VALUES.items())
def test_there_are_as_many_values_as_the_line_says(jobs, values):
    found = with_estimates(lublin(jobs, seed=1, kind="combined"), seed=1)
    assert np.unique(found.limit_s).size == values


@pytest.mark.parametrize(
    ("kind", "seed"),
    [
        ("combined", 1),
        *(pytest.param(kind, seed, marks=pytest.mark.slow) for kind in KINDS for seed in SEEDS[1:]),
    ],
)
def test_jobs_have_the_values_in_the_published_shares(kind, seed):
    plain = lublin(JOBS, seed=seed, kind=kind)
    found = with_estimates(plain, seed=seed)
    assert np.all(found.limit_s >= plain.run_s)
    (first, most), *others = Counter(found.limit_s.tolist()).most_common()
    counts, expected = np.array([most, *(count for _, count in others)]), shares(257) * JOBS
    assert first == found.limit_s.max() == np.ceil(plain.run_s.max() / HOUR_S) * HOUR_S
    assert counts[:20].sum() == pytest.approx(0.89 * JOBS, abs=20)
    assert np.abs(counts[1:] - np.maximum(1, expected[1:])).max() <= 0.5
    assert counts[0] == pytest.approx(expected[0], abs=257 / 2)
    common = {5, 10, 15, 20, 30, 60, 120, 180, 240, 300, 360, 480, 600, 720, 1080}
    assert {minutes * 60 for minutes in common} < {first, *(value for value, _ in others[:19])}
    assert found.submit_s is plain.submit_s


def short_jobs(count, run_s=1.0):
    return make_stream(
        "short", submit_s=np.arange(count), processors=np.ones(count, dtype=int), run_s=np.full(count, run_s)
    )


def test_a_long_job_may_get_any_of_the_values_that_hold_it():
    """One job of 17.5 h among short ones gets the greatest estimate as often as this is one of those long enough."""
    run_s = np.r_[17.5 * HOUR_S, np.ones(999)]
    stream = make_stream("one", submit_s=np.arange(1000), processors=np.ones(1000, dtype=int), run_s=run_s)
    drawn = [with_estimates(stream, seed=seed, most_s=20 * HOUR_S) for seed in range(50)]
    got = np.array([one.limit_s[0] for one in drawn])
    expected = np.mean([(one.limit_s == 20 * HOUR_S).sum() / (one.limit_s >= run_s[0]).sum() for one in drawn])
    assert got.min() >= run_s[0]
    assert np.mean(got == 20 * HOUR_S) == pytest.approx(expected, abs=0.15)


@pytest.mark.parametrize(
    ("stream", "given", "said"),
    [
        (short_jobs(199), {}, "stream short: 199 jobs are too few for the model of estimates; give 200"),
        (short_jobs(200), {"most_s": 3600}, "most_s: 3600 s cannot be the greatest estimate; .* 6000 or more"),
        (short_jobs(200), {"most_s": 7000.5}, "give whole seconds"),
        (short_jobs(200, 8000), {"most_s": 7200}, "most_s: 7200 s is shorter than a job that runs for 8000 s"),
        (short_jobs(500, 7200), {"most_s": 7200}, "too many jobs run too long for estimates of at most 7200 s"),
        (short_jobs(200, np.nan), {}, "run times of some jobs are not known"),
    ],
)
def test_streams_that_cannot_have_estimates_are_refused(stream, given, said):
    with pytest.raises(ScenarioError, match=said) as raised:
        with_estimates(stream, **given)
    assert len(raised.value.lines) == 1
    assert not re.search(r"\d_\d", raised.value.lines[0])
