"""Run times as users state them: few round values, most of them far too long, after Tsafrir, Etsion and Feitelson."""

import math
from dataclasses import replace

import numpy as np

from simulator.base.arrays import Floats, Ints
from simulator.base.errors import ScenarioError
from simulator.base.randomness import stream as generator
from simulator.programs.streams.stream import Stream

LEAST_JOBS = 200
"""Below which the model has no law for the number of values."""
MINUTE_S = 60
HOUR_S = 3600
LEAST_MOST_S = 100 * MINUTE_S
"""A greatest estimate below this has fewer round values under it than the model asks for."""
HEAD = 20
"""Values that most jobs have."""
HEAD_SHARE = 0.89
VALUES = ((0, 0), (20, 10), (200, 20), (1000, 35), (10000, 90), (70000, 340), (250000, 565))
"""Jobs, and how many different values they have; straight lines between, level beyond."""
COMMON_MIN = (5, 10, 15, 20, 30, 60, 120, 180, 240, 300, 360, 480, 600, 720, 1080)
"""Minutes that are among the 20 most popular values of all four logs of the paper."""
ROUND_MIN = (12000, 6000, 3000, 600, 300, 120, 60, 20, 10, 5)
"""Multiples of so many minutes fill up the head, each from the greatest estimate downwards."""
OFFSETS_S = (0, 30, -30, 20, -20, 10, -10)
"""Where a value of the tail is moved if another one is there already."""
POPULARITY = (
    *((3, 1, 1, 1), (1, 3, 4, 6), (4, 4, 10, 5), (17, 2, 14, 3), (13, 12, 20, 7), (7, 9, 2, 2), (8, 8, 3, 18)),
    *((18, 18, 7, 19), (2, 6, 12, 4), (6, 7, 6, 11), (16, 11, 19, 20), (10, 20, 5, 9), (5, 16, 18, 10)),
    *((15, 5, 16, 14), (14, 14, 9, 13), (19, 13, 17, 16), (11, 10, 15, 15), (12, 15, 13, 17), (9, 17, 8, 8)),
    (20, 19, 11, 12),
)
"""Ranks by popularity that the values of the head have in the logs SDSC-106, CTC, KTH-4H and BLUE: a row for the
greatest estimate, then one for each other value of the 20 from the shortest."""
TRIES = 100
"""Histograms that are drawn before a stream counts as one that the model cannot serve."""


def with_estimates(stream: Stream, *, seed: int = 0, most_s: float | None = None) -> Stream:
    """The stream with limits as users would have given them, none below the job's run time.

    Twenty round values make up 89 % of the jobs, the greatest estimate alone some 22 %; the rest falls on a tail of
    other whole minutes. From the model: how many values there are, which, how many jobs have each, and that the values
    go to the jobs at random among those not below the run time, the longest job first. The ranks of the head are
    drawn so that each value gets one that a value of its place had in one of the four logs, as in the authors' program.
    Ours: the numbers are NumPy's; what rounding leaves over goes to the greatest estimate; a value that would vanish,
    because all offsets next to it are taken, moves to the nearest free 10 s, so that the number of values holds; and
    where the long jobs of a stream outnumber the long values, the ranks are drawn again, up to 100 times.

    Raises ScenarioError for fewer than 200 jobs, run times that are not known or longer than `most_s`, and streams with
    more long jobs than the model has long values.

    `most_s`: the greatest estimate that users may give, 100 min or more; the longest run time in whole hours if None,
    2 h at least.

    Source: D. Tsafrir, Y. Etsion and D. G. Feitelson, "Modeling User Runtime Estimates", 11th Workshop on Job
    Scheduling Strategies for Parallel Processing (JSSPP), LNCS 3834, 2005, with the constants of their program.
    """
    most = _most(stream, seed, most_s)
    ascending = np.sort(stream.run_s)
    for attempt in range(TRIES):
        draw = generator(seed, "tsafrir", attempt)
        values, jobs = histogram(len(stream), most, draw)
        limits = np.repeat(values, jobs).astype(np.float64)
        if np.all(limits >= ascending):
            said = f"limits are drawn from a model of users' estimates, {values.size} values up to {most:g} s"
            return replace(stream, limit_s=_assigned(stream.run_s, limits, draw), notes=(*stream.notes, said))
    raise ScenarioError(
        f"stream {stream.name}: too many jobs run too long for estimates of at most {most:g} s; give a greater most_s"
    )


def _most(stream: Stream, seed: int, most_s: float | None) -> int:
    """The greatest estimate in seconds, once all that is given has been looked at."""
    where = f"stream {stream.name}"
    if len(stream) < LEAST_JOBS:
        raise ScenarioError(f"{where}: {len(stream)} jobs are too few for the model of estimates; give {LEAST_JOBS}")
    if seed < 0:
        raise ScenarioError(f"seed: {seed} is too few; give 0 or more")
    if np.any(np.isnan(stream.run_s)):
        raise ScenarioError(f"{where}: the run times of some jobs are not known; give estimates only to jobs with one")
    longest = float(stream.run_s.max())
    most = max(2, math.ceil(longest / HOUR_S)) * HOUR_S if most_s is None else most_s
    if not (LEAST_MOST_S <= most < math.inf and most == round(most)):
        least = f"give whole seconds, {LEAST_MOST_S} or more"
        raise ScenarioError(f"most_s: {most:g} s cannot be the greatest estimate; {least}")
    if most < longest:
        raise ScenarioError(
            f"most_s: {most:g} s is shorter than a job that runs for {longest:g} s; give so much or more"
        )
    return round(most)


def histogram(jobs: int, most_s: int, draw: np.random.Generator) -> tuple[Ints, Ints]:
    """Estimates in seconds, ascending, and how many jobs have each; both (value,)."""
    head = _head(most_s)
    tail = _tail(round(float(np.interp(jobs, *np.array(VALUES, dtype=np.float64).T))) - HEAD, head)
    shares = _shares(tail.size)
    ranks = _ranks(draw)
    values = np.concatenate([head, draw.permutation(tail)])
    counts = np.maximum(1, np.rint(np.concatenate([shares[ranks - 1], shares[HEAD:]]) * jobs)).astype(np.int64)
    counts[0] += jobs - counts.sum()
    order = np.argsort(values)
    return values[order], counts[order]


def _head(most_s: int) -> Ints:
    """The greatest estimate, then the other popular ones, ascending."""
    found = {minutes * MINUTE_S for minutes in COMMON_MIN if minutes * MINUTE_S < most_s}
    multiples = (n * step * MINUTE_S for step in ROUND_MIN for n in range(most_s // (step * MINUTE_S), 0, -1))
    for value in multiples:
        if len(found) == HEAD - 1:
            break
        found |= {value} - {most_s}
    return np.array([most_s, *sorted(found)], dtype=np.int64)


def _tail(count: int, head: Ints) -> Ints:
    """Other estimates: whole minutes along a hyperbola, moved by seconds where one is taken; ascending."""
    most_s = int(head[0])
    bend = 1 + 12.1039 * (count + HEAD) ** -0.6026
    place = np.arange(1, count + 1) / max(1, count)
    minutes = np.rint((bend - 1) * place / (bend - place) * most_s / MINUTE_S)
    taken = {int(value) for value in head}
    for second in minutes.astype(np.int64) * MINUTE_S:
        steps = (*OFFSETS_S, *(sign * 10 * n for n in range(4, most_s // 10) for sign in (1, -1)))
        taken.add(next(s for step in steps if 0 < (s := int(second) + step) < most_s and s not in taken))
    return np.array(sorted(taken - {int(value) for value in head}), dtype=np.int64)


def _shares(tail: int) -> Floats:
    """Of all jobs, by rank of popularity from 1: exponential in the head, a power law in the tail, 1 together."""
    ranks = np.arange(2, HEAD + 1)
    head = (14.0491 * np.exp(-0.177531 * ranks) + 0.462513) / 100
    head = np.concatenate([[HEAD_SHARE - head.sum()], head])
    if not tail:
        return np.asarray(head / HEAD_SHARE, np.float64)
    rest = 795.6 * np.arange(HEAD + 1.0, HEAD + tail + 1) ** -2.267
    return np.concatenate([head, rest / rest.sum() * (1 - HEAD_SHARE)])


def _ranks(draw: np.random.Generator) -> Ints:
    """A rank of popularity for each value of the head, the greatest first; the more popular of two drawn."""
    last = {rank: place for place, row in enumerate(POPULARITY) for rank in row}
    pool, found = [rank for rank in POPULARITY[0] if rank != 1], [1]
    for place in range(1, HEAD):
        pool += [rank for rank in POPULARITY[place] if rank not in found]
        due = [rank for rank in pool if last[rank] <= place]
        rank = min(due) if due else min(pool[index] for index in draw.integers(len(pool), size=2))
        found.append(rank)
        pool = [other for other in pool if other != rank]
    return np.array(found)


def _assigned(run_s: Floats, limits: Floats, draw: np.random.Generator) -> Floats:
    """A limit for each job: from the longest job down, one at random of those left that are not below its run time."""
    longest_first = np.argsort(-run_s, kind="stable")
    left = limits[::-1].tolist()
    until = np.searchsorted(-limits[::-1], -run_s[longest_first], side="right").tolist()
    places = draw.random(len(left)).tolist()
    for job, (end, place) in enumerate(zip(until, places, strict=True)):
        taken = job + int((end - job) * place)
        left[job], left[taken] = left[taken], left[job]
    found = np.empty(len(left))
    found[longest_first] = left
    return found
