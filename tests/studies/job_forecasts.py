"""How often forecasts of starts hold: jobs of the second half of a log that wait, under EASY with limits.

A job's forecast knows what was known at its submission: what had ended, who ran since when, who waited, and limits. The
share of true starts, those of the whole log's run, within the intervals has an interval of its own by resampled weeks.
"""

import gzip
from pathlib import Path

import numpy as np

from advisor.jobs.forecast import StartForecasts
from simulator import make_stream

LOG = Path(__file__).parents[3] / "shared" / "data" / "jobs" / "swf" / "KTH-SP2-1996-2.swf.gz"
LEVEL = 0.9
GOAL = (0.85, 0.95)
WEEK_S = 7 * 86400


def log(path, processors):
    """The jobs of a log after the strong cleaning, read here so that nothing that is judged has a part in it."""
    jobs = []
    with gzip.open(path, "rt") as lines:
        for words in (line.split() for line in lines if not line.startswith(";")):
            submit, run, got, asked, limit, user = (int(float(words[place])) for place in (1, 3, 4, 7, 8, 11))
            size, other = (asked if asked > 0 else got), (got if got > 0 else asked)
            if 0 < size <= processors and other <= processors and run > 0 and limit > 0 and submit >= 0:
                jobs.append((submit, min(run, limit), size, limit, user))
    fields = ("submit_s", "run_s", "processors", "limit_s", "user")
    return make_stream(path.name, **dict(zip(fields, np.array(jobs).T, strict=True)))


def study(runs, *, jobs, draws, seed):
    """Forecasts of a sample of the second half's jobs that wait: (low, median, high, true, submitted), per job."""
    half = len(runs.stream) // 2
    waits = np.flatnonzero(runs.wait_s[half:] > 0) + half
    draw = np.random.default_rng(seed)
    chosen = np.sort(draw.choice(waits, min(jobs, waits.size), replace=False))
    forecasts = StartForecasts(runs, draws=draws, level=LEVEL, seed=seed)
    found = [forecasts.of(int(job)) for job in chosen]
    ends = np.array([(one.low_s, one.median_s, one.high_s) for one in found])
    return np.column_stack((ends, runs.start_s[chosen], runs.submit_s[chosen]))


def held(rows):
    """Whether each interval holds the true start."""
    return (rows[:, 0] <= rows[:, 3]) & (rows[:, 3] <= rows[:, 2])


def by_weeks(rows, *, seed, times=4000, level=0.95):
    """An interval of the share that holds, by weeks drawn with replacement: forecasts of one week err together."""
    week = (rows[:, 4] // WEEK_S).astype(int)
    _, place = np.unique(week, return_inverse=True)
    jobs, right = np.bincount(place), np.bincount(place, weights=held(rows))
    chosen = np.random.default_rng(seed).integers(0, jobs.size, (times, jobs.size))
    shares = right[chosen].sum(axis=1) / jobs[chosen].sum(axis=1)
    return np.quantile(shares, ((1 - level) / 2, (1 + level) / 2))
