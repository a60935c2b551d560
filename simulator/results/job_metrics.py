"""What a run of a job stream amounts to: averages, series over time, overload, and jobs that later ones delay.

| measure of a job | definition (w wait, r run time, p processors) |
|---|---|
| turnaround | w + r |
| slowdown | (w + r) / r, not defined where a job takes no time |
| bounded slowdown | max(1, (w + r) / max(r, 10 s)) |
| per processor | max(1, (w + r) / (p max(r, 10 s))) |
| area-weighted slowdown | sum of p (w + r) / sum of p r |

Sources: Feitelson and Rudolph, "Metrics and benchmarking for parallel job scheduling", 1998; Feitelson, "Metrics for
parallel job scheduling and their convergence", 2001; Tsafrir, Etsion and Feitelson, TPDS 2007 (warm-up).
"""

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from simulator.base import intervals, randomness, units
from simulator.base.arrays import Flags, Floats, Ints
from simulator.base.errors import ScenarioError
from simulator.engines.job_queue import JobRuns
from simulator.scheduling.estimates import JobTimes
from simulator.scheduling.nodes import JobNodes
from simulator.scheduling.places import Cluster

__all__ = [
    "FAIRNESS_LEVEL",
    "WARM_UP",
    "Delayed",
    "JobAverages",
    "JobSeries",
    "averages",
    "bounded_slowdown",
    "check_warm_up",
    "delayed_jobs",
    "measured",
    "offered_load",
    "over_stretches",
    "overload",
    "series",
]

WARM_UP = 0.01
"""Share of the jobs, those that ended first, that averages leave out if nothing else is asked for."""
SHORTEST_S = 10.0
"""Run time below which slowdown is bounded."""
MOST_LOAD = 1.0
"""Offered load from which on no steady state exists."""
LONGEST_EXCURSION = 0.5
"""Share of the time of submissions that one excursion of the backlog may take; one without an end counts twice."""
FAIRNESS_LEVEL = 0.95


@dataclass(frozen=True)
class JobAverages:
    """Means over the jobs of a run without those of its warm-up; the machine's figures are of all jobs."""

    jobs: int
    dropped: int
    warm_up: float
    wait_s: float
    turnaround_s: float
    slowdown: float | None
    """None where a job took no time: the mean is infinite."""
    bounded_slowdown: float
    per_processor_slowdown: float
    area_weighted_slowdown: float | None
    """None where no job took time."""
    wait_p95_s: float
    wait_p99_s: float
    wait_max_s: float
    bounded_slowdown_p95: float
    bounded_slowdown_p99: float
    bounded_slowdown_max: float
    killed: float
    """Share of the jobs that their limit ended."""
    utilisation: float | None
    """Share of the PEs' time from the first submission to the last end that jobs took."""
    steady_utilisation: float | None
    """The same from the end of the warm-up to the last submission; None where that is no time."""
    makespan_s: float
    """From the first submission to the last end, of all jobs."""


def bounded_slowdown(runs: JobRuns) -> Floats:
    """Of each job, with run times of at least 10 s in the denominator; (job,)."""
    return np.maximum(1.0, (runs.wait_s + runs.run_s) / np.maximum(runs.run_s, SHORTEST_S))


def measured(runs: JobRuns, warm_up: float = WARM_UP) -> Flags:
    """The jobs that averages are over: all but the share `warm_up` that ended first; (job,).

    Jobs that end at one moment count in the order of the stream.

    Raises ScenarioError for a share that is not from 0 to below 1.
    """
    check_warm_up(warm_up)
    kept = np.ones(runs.finish_ticks.size, dtype=np.bool_)
    kept[np.argsort(runs.finish_ticks, kind="stable")[: int(warm_up * kept.size)]] = False
    return kept


def check_warm_up(warm_up: float) -> None:
    """Refuse what is no share of the jobs that can be dropped.

    Raises ScenarioError if it is not from 0 to below 1.
    """
    if not 0 <= warm_up < 1:
        raise ScenarioError(f"warm-up: {warm_up:g} is no share that can be dropped; give one from 0 to below 1")


def averages(runs: JobRuns, *, warm_up: float = WARM_UP) -> JobAverages:
    """All averages of a run.

    Raises ScenarioError for a run without jobs, or a share that is none.

    `warm_up`: share of the jobs, those that ended first, that is left out.
    """
    kept = measured(runs, warm_up)
    if not kept.size:
        raise ScenarioError(f"stream {runs.stream.name}: it has no jobs, and averages over none are not defined")
    wait, run, sizes = runs.wait_s[kept], runs.run_s[kept], runs.processors[kept]
    flow, bounded = wait + run, bounded_slowdown(runs)[kept]
    first, end = int(runs.submit_ticks.min()), int(runs.finish_ticks.max())
    warm = int(runs.finish_ticks[~kept].max()) if not kept.all() else first
    area = float(np.sum(sizes * run))
    waits, slow = (np.quantile(values, (0.95, 0.99, 1.0)).tolist() for values in (wait, bounded))
    return JobAverages(
        jobs=int(kept.sum()),
        dropped=int(kept.size - kept.sum()),
        warm_up=float(warm_up),
        wait_s=float(wait.mean()),
        turnaround_s=float(flow.mean()),
        slowdown=float(np.mean(flow / run)) if run.min() > runs.tick_s else None,
        bounded_slowdown=float(bounded.mean()),
        per_processor_slowdown=float(np.mean(np.maximum(1.0, flow / (sizes * np.maximum(run, SHORTEST_S))))),
        area_weighted_slowdown=float(np.sum(sizes * flow)) / area if area else None,
        **dict(zip(("wait_p95_s", "wait_p99_s", "wait_max_s"), waits, strict=True)),
        **{f"bounded_slowdown_{part}": value for part, value in zip(("p95", "p99", "max"), slow, strict=True)},
        killed=float(runs.killed[kept].mean()),
        utilisation=_utilisation(runs, first, end),
        steady_utilisation=_utilisation(runs, warm, int(runs.submit_ticks.max())),
        makespan_s=(end - first) / round(1 / runs.tick_s),
    )


def _utilisation(runs: JobRuns, first: int, end: int) -> float | None:
    """Share of the PEs' time between two ticks that jobs took; None where that is no time."""
    if end <= first:
        return None
    within = np.clip(runs.finish_ticks, first, end) - np.clip(runs.start_ticks, first, end)
    return float(np.sum(runs.processors * (within / (end - first)))) / runs.pes


# Over time


@dataclass(frozen=True, eq=False)
class JobSeries:
    """Step functions of time: each value holds from its tick to the next one, the last (0) from then on; (tick,)."""

    ticks: Ints
    """Ascending: where a job is submitted, starts or ends."""
    busy: Ints
    queued: Ints


def series(runs: JobRuns) -> JobSeries:
    """Busy PEs and the queue over time."""
    events = (runs.eligible_ticks, runs.start_ticks, runs.finish_ticks)
    ticks = np.unique(np.concatenate(events))
    submit, start, finish = events
    return JobSeries(
        ticks,
        busy=under_way(ticks, start, finish, runs.processors),
        queued=under_way(ticks, submit, start, np.ones(start.size, dtype=np.int64)),
    )


def over_stretches(found: JobSeries, values: Ints, edges: Ints) -> tuple[Floats, Ints, Ints]:
    """Mean, least and greatest value of a step function from each edge to the next; (edges - 1,) each.

    `edges`: ascending ticks, from the first to the last one of the series.
    """
    area = np.concatenate(([0.0], np.cumsum(values[:-1] * np.diff(found.ticks).astype(np.float64))))
    mean = np.diff(np.interp(edges, found.ticks, area)) / np.diff(edges)
    begin = np.searchsorted(found.ticks, edges[:-1], side="right") - 1
    end = np.searchsorted(found.ticks, edges[1:], side="left")
    places = np.stack((begin, end), axis=1).reshape(-1)
    padded = np.append(values, values[-1])
    low, high = (how.reduceat(padded, places)[::2] for how in (np.minimum, np.maximum))
    return mean, low, high


def under_way(ticks: Ints, begin: Ints, end: Ints, weights: NDArray[Any]) -> NDArray[Any]:
    """Sum of the weights of what is under way from each tick on; it begins and ends at ticks that are among these."""
    change = np.zeros(ticks.size, dtype=weights.dtype)
    np.add.at(change, np.searchsorted(ticks, begin), weights)
    np.subtract.at(change, np.searchsorted(ticks, end), weights)
    return np.cumsum(change)


# Overload


def offered_load(runs: JobRuns) -> float:
    """Of the stream, with the run times and processors that jobs really had; see `Stream.offered_load`."""
    ran = runs.stream.take(np.arange(len(runs.stream)), run_s=runs.run_s, processors=runs.processors)
    return replace(ran, limit_s=np.full(len(ran), np.nan)).offered_load(runs.pes)


def overload(runs: JobRuns) -> str | None:
    """Why a run has no steady state, in one sentence; None if nothing speaks against one.

    Two rules. The stream offers a load of 1 or more. Or the backlog (work of the jobs that wait, in seconds that the
    whole machine needs for it) does not drain: one excursion above the mean run time (weighted by area) takes more than
    half of the time of the submissions; an excursion that still lasts at the last submission counts twice, since it is
    seen, in the mean, to half of its length. A stable queue drains again and again, and its longest excursion gets
    ever shorter against a longer stream; without drift (load 1) or with growth it takes a share that does not shrink
    (arcsine law). Averages over such a stream measure its length.
    """
    if not len(runs.stream) or not np.any(runs.finish_ticks > runs.start_ticks):
        return None
    load = offered_load(runs)
    if not np.isfinite(load):
        return "all jobs are submitted at once, so there is no steady state; averages measure how many jobs there are"
    measure = "averages measure the length of the stream"
    if load >= MOST_LOAD:
        return f"the stream offers a load of {load:.3f}, and from 1 on every queue grows to the end; {measure}"
    share, open_end, least_s = _excursion(runs)
    if share * (2 if open_end else 1) <= LONGEST_EXCURSION:
        return None
    part = f"{'the last ' if open_end else ''}{100 * share:.0f} % of the time of submissions"
    held = f"work for more than {units.show_duration(least_s)} of the whole machine without a break"
    return f"the queue does not drain: it holds {held} for {part}; {measure}"


def _excursion(runs: JobRuns) -> tuple[float, bool, float]:
    """The longest excursion of the backlog as a share of the time of submissions, whether it lasts to their end, level.

    One that lasts to the end counts before another of less than twice its length.
    """
    work = runs.processors * runs.run_s
    least_s = float(np.sum(work * runs.run_s) / np.sum(work))
    ticks = np.unique(np.concatenate((runs.eligible_ticks, runs.start_ticks)))
    first, last = int(ticks[0]), int(runs.submit_ticks.max())
    above = (under_way(ticks, runs.eligible_ticks, runs.start_ticks, work) > least_s * runs.pes) & (ticks < last)
    edges = np.diff(np.concatenate(([0], above.astype(np.int64), [0])))
    begins, ends = np.flatnonzero(edges > 0), np.flatnonzero(edges < 0)
    if not begins.size:
        return 0.0, False, least_s
    until = np.minimum(np.append(ticks, last)[ends], last)
    shares = (until - ticks[begins]) / (last - first)
    open_end = bool(until[-1] == last) and bool(2 * shares[-1] >= shares.max())
    return float(shares[-1] if open_end else shares.max()), open_end, least_s


# Fairness


@dataclass(frozen=True)
class Delayed:
    """How many of a sample of jobs start later than they would have if no later job had been submitted."""

    sampled: int
    delayed: int
    share: float
    low: float
    high: float
    """Of the share among all jobs: Clopper and Pearson's exact interval; the share itself where all were taken."""
    level: float
    mean_delay_s: float
    most_delay_s: float


def delayed_jobs(
    runs: JobRuns,
    cluster: Cluster | JobNodes | int | None = None,
    *,
    count: int = 200,
    seed: int = 0,
    level: float = FAIRNESS_LEVEL,
    times: JobTimes | None = None,
    engine: Literal["auto", "process", "compiled"] = "auto",
) -> Delayed:
    """The strict fair start of a sample of jobs: each one's stream is simulated again up to and with that job.

    Raises ScenarioError for a run without jobs.

    `cluster`: what it ran on; so many equal PEs as it had, if not given.
    `count`: jobs to draw, without replacement; all if there are no more.
    `level`: how often the interval of the share is to hold.
    `times`: as `run_jobs` got them for the whole stream.

    Source: Sabin and Sadayappan, "Unfairness metrics for space-sharing parallel job schedulers", JSSPP 2005.
    """
    total = len(runs.stream)
    if not total or count < 1:
        raise ScenarioError(f"stream {runs.stream.name}: {count} of {total} jobs cannot be drawn; take 1 or more")
    drawn = randomness.stream(seed, "jobs delayed by later ones").permutation(total)[:count]
    where = runs.pes if cluster is None else cluster
    fair = [_fair_start(runs, job, where, times, engine) for job in drawn.tolist()]
    delays = (runs.start_ticks[drawn] - np.array(fair, dtype=np.int64)) / round(1 / runs.tick_s)
    late = int(np.sum(delays > 0))
    share = late / delays.size
    low, high = (share, share) if delays.size == total else intervals.of_share(late, delays.size, level=level)
    worst = np.maximum(delays, 0.0)
    return Delayed(delays.size, late, share, low, high, level, float(worst.mean()), float(worst.max()))


def _fair_start(runs: JobRuns, job: int, cluster: Cluster | JobNodes | int, times: JobTimes | None, engine: Any) -> int:
    """Tick at which a job would start if it were the last one of the stream."""
    from simulator.engines.jobs import run_jobs  # figures and tables need no engine

    estimates = runs.estimates
    if estimates.given_s is not None:
        estimates = replace(estimates, given_s=estimates.given_s[: job + 1])
    if times is not None:
        times = replace(times, row=times.row[: job + 1])
    stream = runs.stream.first(job + 1)
    alone = run_jobs(stream, cluster, runs.policy, estimates, times=times, engine=engine)
    return int(alone.start_ticks[job])
