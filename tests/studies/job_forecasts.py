"""How often forecasts of starts hold: jobs of the second half of a log that wait, under EASY with limits.

`python -m tests.studies.job_forecasts [--log FILE.swf.gz] [--jobs 2000] [--draws 200] [--seed 1]` prints the share of
true starts (those of the whole log's run) within the intervals, with an interval of that share by resampled weeks. A
job's forecast knows what was known at its submission: what had ended, who ran since when, who waited, and limits. Jobs
that start at once are apart: their start is known, which is checked.
"""

import argparse
import gzip
import sys
import time
from pathlib import Path

import numpy as np

from advisor.jobs.forecast import StartForecasts
from simulator import Policy, make_stream, run_jobs

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


def processors_of(path):
    """MaxProcs of a log's header."""
    with gzip.open(path, "rt") as lines:
        found = (line.split(":")[1] for line in lines if line.startswith("; MaxProcs"))
        return int(next(found))


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


def at_once(runs, *, jobs, draws, seed):
    """Of jobs that start at once, the share of which that is forecast as certain."""
    half = len(runs.stream) // 2
    starts = np.flatnonzero(runs.wait_s[half:] == 0) + half
    chosen = np.random.default_rng(seed).choice(starts, min(jobs, starts.size), replace=False)
    forecasts = StartForecasts(runs, draws=draws, level=LEVEL, seed=seed)
    return float(np.mean([forecasts.of(int(job)).at_once for job in chosen]))


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


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--log", type=Path, default=LOG)
    parser.add_argument("--jobs", type=int, default=2000)
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args(arguments)
    processors = processors_of(asked.log)
    runs = run_jobs(log(asked.log, processors), processors, Policy())
    begun = time.perf_counter()
    rows = study(runs, jobs=asked.jobs, draws=asked.draws, seed=asked.seed)
    low, high = by_weeks(rows, seed=asked.seed)
    late, early = (rows[:, 3] > rows[:, 2]).mean(), (rows[:, 3] < rows[:, 0]).mean()
    print(f"{asked.log.name}: {len(rows)} jobs that wait, {asked.draws} draws, seed {asked.seed}")
    print(f"{100 * LEVEL:.0f} % intervals hold {100 * held(rows).mean():.1f} % ({100 * low:.1f} to {100 * high:.1f})")
    print(f"starts before: {100 * early:.1f} %, after: {100 * late:.1f} %")
    print(f"median wait {np.median(rows[:, 3] - rows[:, 4]):.0f} s, width {np.median(rows[:, 2] - rows[:, 0]):.0f} s, "
          f"error of the median {np.median(np.abs(rows[:, 1] - rows[:, 3])):.0f} s")  # fmt: skip
    known = at_once(runs, jobs=200, draws=20, seed=asked.seed)
    print(f"of 200 jobs that start at once, forecast as certain: {100 * known:.1f} %")
    print(f"{time.perf_counter() - begun:.0f} s")


if __name__ == "__main__":
    sys.exit(main())
