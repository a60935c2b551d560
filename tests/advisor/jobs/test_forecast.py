"""Forecasts of starts: the queue is as it was, what is not known is drawn, and intervals of a log hold."""

import numpy as np
import pytest

from advisor.jobs.forecast import StartForecasts, _Past, _Queue
from simulator import JobNodes, Policy, ScenarioError, make_stream, run_jobs
from tests.studies import job_forecasts as study


def made(count=1500, seed=1):
    draw = np.random.default_rng(seed)
    submit = np.sort(np.floor(draw.random(count) * count * 260))
    run = np.ceil(draw.lognormal(6.5, 1.3, count))
    limit = 600 * np.ceil(run * (1 + draw.exponential(1.0, count)) / 600)
    fields = {"processors": 2 ** draw.integers(0, 5, count), "run_s": run, "limit_s": limit}
    return make_stream("made up", submit_s=submit, user=draw.integers(0, 12, count), **fields)


@pytest.mark.parametrize(
    "policy",
    [Policy(), Policy(candidates="shortest"), Policy(order="sjf"), Policy(backfill="none")],
    ids=lambda one: one.name,
)
def test_with_true_run_times_and_arrivals_the_forecast_is_the_start(policy):
    runs = run_jobs(made(), 32, policy)
    forecasts = StartForecasts(runs, draws=2)
    waits = np.flatnonzero(runs.wait_s > 0)
    assert waits.size > 300
    for job in waits[:: waits.size // 60].tolist():
        now = runs.submit_s[job]
        came = np.arange(job + 1)
        running = came[(runs.start_s[: job + 1] < now) & (runs.finish_s[: job + 1] > now)]
        known = np.concatenate((running, came[runs.start_s[: job + 1] >= now]))
        elapsed = np.where(np.arange(known.size) < running.size, now - runs.start_s[known], 0.0)
        remaining = np.repeat((runs.run_s[known] - elapsed)[:, np.newaxis], 2, axis=1)
        later = np.arange(job + 1, np.searchsorted(runs.submit_s, runs.start_s[job] + 1))
        queue = _Queue(forecasts, job, now, known, running.size, remaining, elapsed)
        assert queue.starts([(later, runs.submit_s[later] - now)] * 2).tolist() == [runs.start_s[job]] * 2


def test_nothing_that_comes_or_ends_later_is_used():
    stream = made()
    job = int(np.flatnonzero(run_jobs(stream, 32).wait_s > 0)[200])
    runs, cut = run_jobs(stream, 32), run_jobs(stream.first(job + 1), 32)
    there, alone = StartForecasts(runs, draws=40).of(job), StartForecasts(cut, draws=40).of(job)
    now = runs.submit_s[job]
    later = stream.take(np.arange(len(stream)), run_s=np.where(runs.finish_s > now, stream.limit_s, stream.run_s))
    other = run_jobs(later, 32)
    known = np.flatnonzero(runs.submit_s <= now)
    np.testing.assert_array_equal(
        runs.start_s[known][runs.start_s[known] < now], other.start_s[known][other.start_s[known] < now]
    )
    np.testing.assert_array_equal(there.starts_s, alone.starts_s)
    np.testing.assert_array_equal(there.starts_s, StartForecasts(other, draws=40).of(job).starts_s)


def test_a_job_that_starts_at_once_is_certain_and_others_are_not():
    runs = run_jobs(made(), 32)
    forecasts = StartForecasts(runs, draws=30)
    at_once = np.flatnonzero(runs.wait_s == 0)[5::60]
    assert all(forecasts.of(int(job)).at_once for job in at_once)
    found = forecasts.of(int(np.flatnonzero(runs.wait_s > 0)[250]))
    assert not found.at_once
    assert found.submit_s <= found.low_s <= found.median_s <= found.high_s
    assert found.to_dict()["draws"] == 30


def test_what_cannot_be_forecast_is_refused():
    stream = made(50)
    with pytest.raises(ScenarioError, match="order wfp3"):
        StartForecasts(run_jobs(stream, 32, Policy(order="wfp3")))


@pytest.mark.slow
def test_intervals_hold_on_the_second_half_of_a_log():
    if not study.LOG.exists():
        pytest.skip(f"{study.LOG.name} is missing")
    runs = run_jobs(study.log(study.LOG, 100), 100)
    rows = study.study(runs, jobs=300, draws=100, seed=11)
    low, high = study.by_weeks(rows, seed=1)
    assert low < study.GOAL[1]
    assert high > study.GOAL[0]
    assert study.GOAL[0] - 0.03 < study.held(rows).mean() < study.GOAL[1] + 0.03


def test_run_times_are_longer_than_a_job_has_lasted_and_end_at_the_limit():
    draw = np.random.default_rng(1)
    past = _Past(draw.integers(0, 3, 200), np.full(200, 1000.0), draw.random(200), np.arange(200))
    drawn = past.lasting(1, 1000.0, 600.0, draw.random(500))
    assert drawn.min() > 600
    assert drawn.max() <= 1000
    assert past.lasting(1, 1000.0, 999.999, np.array([0.1, 0.9])).tolist() == [1000.0, 1000.0]
    own = np.full(200, 0.9)
    own[past.user == 1] = 0.1
    shares = np.mean(_Past(past.user, past.limit_s, own, past.order).lasting(1, 1000.0, 0.0, draw.random(2000)) < 500)
    assert 0.8 < shares < 1, "the user's own jobs count most, others a little"


def test_running_jobs_stay_on_their_nodes():
    """Placed again, the job of four would take the small node, and two cores of the large one would be free at once."""
    one = np.ones(2, dtype=np.int64)
    nodes = JobNodes(("n1", "n2"), np.array([4, 5]), 2**40 * one, 0 * one, one)
    made = make_stream(
        "made",
        submit_s=[0, 1, 2, 20],
        processors=[4, 4, 3, 2],
        run_s=[10, 100, 200, 5],
        limit_s=[10, 100, 200, 5],
        nodes=np.ones(4, dtype=np.int64),
    )
    runs = run_jobs(made, nodes)
    assert [runs.nodes_of(job).tolist() for job in range(3)] == [[0], [1], [0]]
    assert runs.start_s.tolist() == [0, 1, 10, 101]
    found = StartForecasts(runs, draws=20).of(3)
    assert found.low_s == pytest.approx(101)
