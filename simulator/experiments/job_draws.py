"""Draws of job streams: a log shaken, or resampled by its weeks or its users, as other logs of one machine might be.

Every policy gets the same draws, so that differences between policies are paired. Sources: Tsafrir, Ouaknine and
Feitelson, "Reducing performance evaluation sensitivity and variability by input shaking", MASCOTS 2007; Zakay and
Feitelson, "Workload resampling for performance evaluation of parallel job schedulers", 2014.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from simulator.base import randomness
from simulator.base.arrays import Floats, Ints
from simulator.base.errors import ScenarioError, meant
from simulator.programs.streams.stream import Stream

DrawKind = Literal["shaken", "weeks", "users"]
DRAWS: tuple[DrawKind, ...] = get_args(DrawKind)
WEEK_S = 7 * 86400.0
MONDAY_S = 4 * 86400.0
"""The first Monday of Unix time, 0:00 UTC."""
SHAKEN_S = 60.0
"""By how much submissions are shifted at most, if nothing else is asked for."""


@dataclass(frozen=True, eq=False)
class Drawn:
    """A stream that was drawn from another one."""

    stream: Stream
    source: Ints
    """Of which job of the other stream each job is a copy; (job,)."""


def draw_of(kind: str, stream: Stream, seed: int, draw: int) -> Drawn:
    """A draw of one of the kinds in `DRAWS`."""
    known: dict[str, Callable[[Stream, int, int], Drawn]] = {"shaken": shaken, "weeks": weeks, "users": users}
    if kind not in known:
        raise ScenarioError(f"draws: there is no {kind!r}; take {', '.join(known)}{meant(kind, known)}")
    return known[kind](stream, seed, draw)


def units_of(kind: str, stream: Stream) -> float:
    """Of how many independent parts a draw is made: what spread of draws there is comes from so many.

    Whole weeks. Of users, the number of equally active ones that would vary the work as much (Kish 1965), since a few
    users have most of it. Infinite for shaken streams, whose shifts are as many as jobs.
    """
    if kind == "weeks":
        return float(_weeks_of(stream).whole)
    if kind == "users":
        work = np.bincount(_users_of(stream), weights=stream.processors * stream.run_s)
        return float(np.sum(work) ** 2 / np.sum(work**2)) if np.any(work > 0) else 0.0
    return float("inf")


def shaken(stream: Stream, seed: int, draw: int, *, by_s: float = SHAKEN_S) -> Drawn:
    """Each submission shifted at random, up to `by_s` earlier or later (never before second 0).

    What it tells is how far results hang on chance within a minute; nothing of other weeks or other users. Shifts are
    whole seconds where the times of the stream are.
    """
    shift = randomness.stream(seed, draw, "jobs shaken").uniform(-by_s, by_s, len(stream))
    moved = np.maximum(stream.submit_s + (np.rint(shift) if stream.whole_seconds else shift), 0.0)
    source = np.argsort(moved, kind="stable").astype(np.int64)
    return Drawn(stream.take(source, submit_s=moved[source]), source)


def weeks(stream: Stream, seed: int, draw: int) -> Drawn:
    """As many weeks as the stream has, drawn with replacement; a job keeps its user and its time in the week.

    Weeks begin on Monday, 0:00 UTC, where the stream says when second 0 is, so that they are cut at night; else at the
    first submission. The first and the last week of a log are parts of a week: these places are filled with the same
    part of any week, so that the draw lasts as long as the stream. Nothing of the queue is carried along: it grows at
    the seams as the policy lets it. Jobs get new numbers.
    """
    cut = _weeks_of(stream)
    if cut.whole < 2:
        raise ScenarioError(
            f"stream {stream.name}: it lasts for {cut.whole} whole weeks, and there is nothing to draw from; "
            "take a longer stream, or --draws users or shaken"
        )
    drawn = cut.drawn(randomness.stream(seed, draw, "weeks of jobs"))
    low, high = cut.within(drawn)
    counts = high - low
    moved = np.repeat((np.arange(drawn.size) - drawn) * WEEK_S, counts)
    source = np.repeat(low - np.concatenate(([0], np.cumsum(counts)[:-1])), counts) + np.arange(counts.sum())
    return _copied(stream, source, np.repeat(np.arange(drawn.size), counts), submit_s=stream.submit_s[source] + moved)


def users(stream: Stream, seed: int, draw: int) -> Drawn:
    """As many users as the stream has, drawn with replacement; their jobs keep their times.

    A user who is drawn twice is two users with like jobs: the second one's are moved by a random number of whole weeks,
    on a circle of all weeks, since two who do the same in the same second are in no log. The load fluctuates as it
    hangs on who is drawn, far more than from week to week where a few users have most of the work: a draw may be
    overloaded. Jobs of which nobody knows the user count as one user's. Jobs get new numbers.
    """
    user = _users_of(stream)
    count = int(user.max(initial=-1)) + 1
    if count < 2:
        raise ScenarioError(
            f"stream {stream.name}: its jobs name {count} users, and there is nothing to draw from; take --draws weeks"
        )
    generator = randomness.stream(seed, draw, "users of jobs")
    copies = np.bincount(generator.integers(0, count, count), minlength=count)
    source = np.repeat(np.arange(len(stream)), copies[user])
    nth = np.arange(source.size) - np.repeat(np.cumsum(copies[user]) - copies[user], copies[user])
    moved = _moved(stream, generator.random((int(copies.max()), count))[nth, user[source]] * (nth > 0), source)
    order = np.argsort(moved, kind="stable")
    numbers = (nth * count + user[source])[order]
    return _copied(stream, source[order], nth[order], user=numbers, submit_s=moved[order])


def _moved(stream: Stream, by: Floats, source: Ints) -> Floats:
    """Submissions moved by a share of the stream's whole weeks, on a circle; a week begins at the first submission."""
    first = float(stream.submit_s[0])
    since = stream.submit_s[source] - first
    whole = int((float(stream.submit_s[-1]) - first) // WEEK_S)
    if whole < 2:
        return np.asarray(since + first)
    later = np.mod(since // WEEK_S + np.floor(by * whole), whole) * WEEK_S + np.mod(since, WEEK_S)
    return np.asarray(np.where((by > 0) & (since < whole * WEEK_S), later, since) + first)


def _copied(stream: Stream, source: Ints, part: Ints, *, submit_s: Floats, **changes: Ints) -> Drawn:
    """Copies of jobs, with new numbers."""
    names = {name: known for name, known in stream.names.items() if name not in changes}
    chains = _chains(stream, source, part, submit_s) if stream.chained else {}
    numbered = np.arange(1, source.size + 1)
    return Drawn(stream.take(source, ids=numbered, names=names, submit_s=submit_s, **chains, **changes), source)


def _chains(stream: Stream, source: Ints, part: Ints, submit_s: Floats) -> dict[str, Ints | Floats]:
    """Who waits for whom: for the copy of the same part of the job that it waited for, if that came before."""
    row = {job: place for place, job in enumerate(stream.ids.tolist())}
    before = np.array([row.get(job, -1) for job in stream.preceding.tolist()], dtype=np.int64)[source]
    number = dict(zip((part * len(stream) + source).tolist(), range(source.size), strict=True))
    found = np.array([number.get(job, -1) for job in (part * len(stream) + before).tolist()], dtype=np.int64)
    kept = (before >= 0) & (found >= 0) & (submit_s[found] <= submit_s)
    return {"preceding": np.where(kept, found + 1, -1), "think_s": np.where(kept, stream.think_s[source], np.nan)}


def _users_of(stream: Stream) -> Ints:
    """Users from 0 on, without gaps; (job,)."""
    return np.asarray(np.unique(stream.user, return_inverse=True)[1], np.int64)


@dataclass(frozen=True, eq=False)
class _Weeks:
    """How a stream is cut; week 0 begins at or before the first submission."""

    submit_s: Floats
    begin_s: float
    end_s: float

    @property
    def places(self) -> int:
        """Weeks that the stream has a part of."""
        return int((self.end_s - self.begin_s) // WEEK_S) + 1

    @property
    def cut_short(self) -> tuple[bool, bool]:
        """Whether the first and the last week are parts only; the last one always is."""
        return bool(self.submit_s[0] - self.begin_s > 0), True

    @property
    def whole(self) -> int:
        """Weeks of which the stream has all."""
        return max(0, self.places - sum(self.cut_short))

    def drawn(self, generator: np.random.Generator) -> Ints:
        """From which week each place is filled; (place,)."""
        first, places = int(self.cut_short[0]), self.places
        found = generator.integers(first, places - 1, places)
        own = generator.random(2) < 1 / (self.whole + 1)  # the part itself is one more of its kind
        if first and own[0]:
            found[0] = 0
        if own[1]:
            found[-1] = places - 1
        return np.asarray(found, np.int64)

    def within(self, drawn: Ints) -> tuple[Ints, Ints]:
        """The first job of each place's week that is taken, and the one after the last; (place,) each."""
        begins = self.begin_s + drawn * WEEK_S
        low, high = np.zeros(drawn.size), np.full(drawn.size, WEEK_S)
        low[0] = self.submit_s[0] - self.begin_s
        high[-1] = np.nextafter(self.end_s - (self.begin_s + (drawn.size - 1) * WEEK_S), np.inf)
        first, after = np.searchsorted(self.submit_s, begins + low), np.searchsorted(self.submit_s, begins + high)
        return first.astype(np.int64), np.maximum(first, after).astype(np.int64)


def _weeks_of(stream: Stream) -> _Weeks:
    if not len(stream):
        raise ScenarioError(f"stream {stream.name}: it has no jobs; there are no weeks to draw")
    first = float(stream.submit_s[0])
    into = 0.0 if stream.start_unix_s is None else (stream.start_unix_s + first - MONDAY_S) % WEEK_S
    return _Weeks(stream.submit_s, first - into, float(stream.submit_s[-1]))
