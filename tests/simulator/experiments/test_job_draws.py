"""Draws of streams: what stays, what moves, and that they are what they say in the mean."""

import numpy as np
import pytest

from simulator import ScenarioError, job_draws, make_stream

WEEK = 7 * 86400


def log(weeks=10.4, count=4000, seed=1, **others):
    """Jobs of thirty users over so many weeks; each job's run time is its own."""
    draw = np.random.default_rng(seed)
    fields = {"submit_s": np.sort(np.floor(draw.random(count) * weeks * WEEK)), "run_s": np.arange(1.0, count + 1)}
    return make_stream(
        "made up", **fields, processors=draw.integers(1, 9, count), user=draw.integers(5, 35, count), **others
    )


@pytest.mark.parametrize("kind", job_draws.DRAWS)
def test_a_draw_is_copies_of_jobs_and_the_same_for_the_same_seed(kind):
    stream = log()
    drawn, again = (job_draws.draw_of(kind, stream, 3, 7) for _ in range(2))
    np.testing.assert_array_equal(drawn.stream.submit_s, again.stream.submit_s)
    assert not np.array_equal(drawn.stream.submit_s, job_draws.draw_of(kind, stream, 3, 8).stream.submit_s)
    assert not np.array_equal(drawn.stream.submit_s, job_draws.draw_of(kind, stream, 4, 7).stream.submit_s)
    for name in ("run_s", "processors", "group"):
        np.testing.assert_array_equal(getattr(drawn.stream, name), getattr(stream, name)[drawn.source])
    assert np.all(np.diff(drawn.stream.submit_s) >= 0)
    assert np.unique(drawn.stream.ids).size == len(drawn.stream)
    assert drawn.stream.whole_seconds


def test_shaken_jobs_move_by_at_most_a_minute_to_both_sides():
    stream = log()
    drawn = job_draws.shaken(stream, 1, 0)
    moved = drawn.stream.submit_s - stream.submit_s[drawn.source]
    assert sorted(drawn.source) == list(range(len(stream)))
    assert -60 <= moved.min() < -55
    assert 55 < moved.max() <= 60
    assert drawn.stream.submit_s.min() >= 0
    assert np.ptp(job_draws.shaken(stream, 1, 0, by_s=0).stream.submit_s - stream.submit_s) == 0


@pytest.mark.parametrize("start", [None, 843_500_000.0])
def test_weeks_keep_the_time_of_the_week_the_user_and_the_length(start):
    stream = log(start_unix_s=start)
    counts = np.zeros(len(stream))
    for number in range(300):
        drawn = job_draws.weeks(stream, 2, number)
        moved = drawn.stream.submit_s - stream.submit_s[drawn.source]
        assert np.all(moved % WEEK == 0)
        np.testing.assert_array_equal(drawn.stream.user, stream.user[drawn.source])
        assert drawn.stream.submit_s[0] >= stream.submit_s[0]
        assert drawn.stream.submit_s[-1] <= stream.submit_s[-1]
        counts += np.bincount(drawn.source, minlength=len(stream))
    assert 0.97 < counts.mean() / 300 < 1.03, "a job is there once, in the mean"
    inside = (stream.submit_s > WEEK) & (stream.submit_s < stream.submit_s[-1] - WEEK)
    assert 0.7 < counts[inside].min() / 300 < counts[inside].max() / 300 < 1.3
    assert job_draws.units_of("weeks", stream) == (10 if start is None else 9)


def test_a_week_is_drawn_whole():
    stream = log()
    drawn = job_draws.weeks(stream, 2, 5)
    since = drawn.stream.submit_s - stream.submit_s[0]
    place, week = since // WEEK, (stream.submit_s[drawn.source] - stream.submit_s[0]) // WEEK
    for one in range(10):
        sources = drawn.source[place == one]
        assert np.unique(week[place == one]).size == 1
        np.testing.assert_array_equal(
            sources, np.flatnonzero((stream.submit_s - stream.submit_s[0]) // WEEK == week[place == one][0])
        )


def test_users_are_drawn_with_all_their_jobs_and_get_a_number_for_each_copy():
    stream = log()
    drawn = job_draws.users(stream, 2, 5)
    jobs_of = np.bincount(stream.user)
    for user in np.unique(drawn.stream.user):
        rows = drawn.source[drawn.stream.user == user]
        first = stream.user[rows[0]]
        np.testing.assert_array_equal(np.sort(rows), np.flatnonzero(stream.user == first))
    assert np.unique(drawn.stream.user).size == 30
    assert np.bincount(stream.user[drawn.source], minlength=35)[5:].tolist() != jobs_of[5:].tolist()
    moved = drawn.stream.submit_s - stream.submit_s[drawn.source]
    assert np.all(moved % WEEK == 0)
    twice = np.bincount(drawn.source)[drawn.source] > 1
    assert np.all(moved[~twice] == 0), "who is drawn once keeps the times"
    assert np.any(moved[twice] != 0)
    assert 25 < job_draws.units_of("users", stream) < 30


def test_draws_without_anything_to_draw_from_are_refused():
    with pytest.raises(ScenarioError, match="whole weeks"):
        job_draws.weeks(log(weeks=1.5), 1, 0)
    with pytest.raises(ScenarioError, match="name 1 users"):
        job_draws.users(make_stream("x", submit_s=[0, 1], processors=[1, 1]), 1, 0)
    with pytest.raises(ScenarioError, match="there is no 'months'"):
        job_draws.draw_of("months", log(), 1, 0)


@pytest.mark.parametrize("kind", job_draws.DRAWS)
def test_who_waits_for_a_job_waits_for_its_copy_of_the_same_week_or_user(kind):
    """Each fifth job waits for the one of the same user before it; copies wait for copies that moved as they did."""
    stream = log()
    before = np.full(len(stream), -1)
    for user in np.unique(stream.user):
        mine = np.flatnonzero(stream.user == user)
        before[mine[5::5]] = stream.ids[mine[4:-1:5]]
    stream = stream.take(np.arange(len(stream)), preceding=before, think_s=np.where(before > 0, 60.0, np.nan))
    drawn = job_draws.draw_of(kind, stream, 3, 1)
    found, row = drawn.stream, {job: place for place, job in enumerate(drawn.stream.ids.tolist())}
    waits = np.flatnonzero(found.preceding > 0)
    assert 300 < waits.size <= np.count_nonzero(stream.preceding[drawn.source] > 0)
    ahead = np.array([row[job] for job in found.preceding[waits].tolist()])
    assert stream.ids[drawn.source[ahead]].tolist() == stream.preceding[drawn.source[waits]].tolist()
    assert np.isnan(found.think_s[found.preceding <= 0]).all()
    if kind != "shaken":
        assert np.all(found.submit_s[ahead] <= found.submit_s[waits])
        moved = found.submit_s - stream.submit_s[drawn.source]
        assert np.mean(moved[ahead] == moved[waits]) > 0.9
