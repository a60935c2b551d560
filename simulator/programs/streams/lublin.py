"""Streams of jobs drawn from the workload model of Lublin and Feitelson, with its daily cycle of arrivals."""

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from simulator.base.arrays import Floats, Ints
from simulator.base.errors import ScenarioError, meant
from simulator.base.randomness import stream as generator
from simulator.programs.streams.stream import Stream, make_stream

JobKind = Literal["batch", "combined"]
"""Batch jobs, or batch and interactive jobs that nobody tells apart: fitted to all together."""
BUCKETS = 48
BUCKET_S = 1800.0
"""A day is 48 half hours, each with a weight that says how many arrivals it draws."""
CYCLE_BEGINS = 11
"""The gamma law of the daily cycle is cut into half hours numbered from here; number i is bucket i - 1 of the day."""
MOST_LOG_RUN = 12.0
MOST_LOG_GAP = 13.0
"""Logarithms of seconds above which a run time, or a gap between arrivals, is drawn again."""


@dataclass(frozen=True)
class _Law:
    """One set of parameters; sizes are logarithms to base 2, times logarithms to base e of seconds."""

    serial: float
    power_of_two: float
    low: float
    below_high: float
    """How far the middle size lies below the greatest, which is the machine's."""
    small: float
    """Probability of a size between the least and the middle one."""
    short: tuple[float, float]
    long: tuple[float, float]
    slope: float
    intercept: float
    """Probability of a short run = slope x size + intercept."""
    rush: tuple[float, float]
    """Points that an arrival costs: shape and scale of the logarithm of its gap at rush hour."""
    cycle: tuple[float, float]


_LAWS = {
    "batch": _Law(
        *(0.2927, 0.6686, 1.2, 2.0, 0.875, (6.57, 0.823), (639.1, 0.0156), -0.003, 0.6986),
        rush=(6.0415 * 1.0519, 0.8531),
        cycle=(6.1271, 5.2740),
    ),
    "combined": _Law(
        *(0.244, 0.576, 0.8, 2.5, 0.86, (4.2, 0.94), (312.0, 0.03), -0.0054, 0.78),
        rush=(10.2303 * 1.0225, 0.4871),
        cycle=(8.1737, 3.9631),
    ),
}


def lublin(
    jobs: int = 50_000,
    *,
    processors: int = 128,
    seed: int = 0,
    kind: JobKind = "batch",
    load: float | None = None,
) -> Stream:
    """A stream of rigid jobs without limits: sizes, run times, and arrivals that follow the hours of the day.

    Times are whole seconds: run times cut as the model says, submissions to the second in which they fall, so that the
    hours of the day hold however long the stream is; second 0 is midnight. Jobs are no larger than the machine. The
    greatest and the middle size follow the machine at the distances that they have in the authors' program, whose
    machine has 128 processors. Users, as many as the root of the jobs, are drawn for each job on its own, the k-th most
    active with a probability in proportion to 1/k: a user's jobs are no more alike than others, so that predictions
    from a user's history gain nothing on such a stream. The users are ours, the rest is the authors'.

    Raises ScenarioError for numbers out of range.

    `kind`: which parameters: `batch`, or `combined` with interactive jobs.
    `load`: offered load to arrive at, by stretching all gaps between arrivals; None leaves these as drawn.

    Source: U. Lublin and D. G. Feitelson, "The Workload on Parallel Supercomputers: Modeling the Characteristics of
    Rigid Jobs", Journal of Parallel and Distributed Computing 63(11), 2003, with the constants of their program
    (m_lublin99, 1999). The gamma draws are NumPy's.
    """
    _check(jobs, processors, seed, kind, load)
    law = _LAWS[kind]
    sizes = _sizes(law, jobs, processors, generator(seed, "lublin", kind, "size"))
    runs = _runs(law, sizes, generator(seed, "lublin", kind, "run"))
    arrivals = _arrivals(law, jobs, generator(seed, "lublin", kind, "arrival"))
    arrivals, notes = _stretched(arrivals, float(np.sum(sizes * runs)), processors, load)
    drawn = f"drawn from the model of Lublin and Feitelson ({kind}) for {processors} processors, seed {seed}"
    return make_stream(
        f"lublin {kind} {jobs} jobs {processors} processors seed {seed}",
        submit_s=np.floor(arrivals),
        processors=sizes,
        run_s=runs,
        user=_users(jobs, max(1, round(math.sqrt(jobs))), seed),
        machine_processors=processors,
        notes=(drawn, *notes),
    )


def _check(*given: Any) -> None:
    jobs, processors, seed, kind, load = given
    for name, value, least in (("jobs", jobs, 1), ("processors", processors, 1), ("seed", seed, 0)):
        if value < least:
            raise ScenarioError(f"{name}: {value} is too few; give {least} or more")
    if kind not in _LAWS:
        raise ScenarioError(f"kind: there is no {kind!r}; take {', '.join(_LAWS)}{meant(kind, _LAWS)}")
    if load is not None and not (0 < load < math.inf):
        raise ScenarioError(f"load: {load:g} is no offered load; give a positive number, such as 0.8")
    if load is not None and jobs < 2:
        raise ScenarioError("load: one job has no gap to stretch; give two jobs or more, or no load")


def _sizes(law: _Law, jobs: int, processors: int, draw: np.random.Generator) -> Ints:
    """One processor, or 2 to the power of a two-stage uniform number that may be rounded, within the machine."""
    high = math.log2(processors)
    low = min(law.low, high)
    middle = min(max(low, high - law.below_high), high)
    which, stage, place = draw.random((3, jobs))
    small = stage <= law.small
    power = np.where(small, low + (middle - low) * place, middle + (high - middle) * place)
    power = np.where(which <= law.serial + law.power_of_two, np.rint(power), power)
    parallel = np.minimum(np.floor(2**power + 0.5), processors)
    return np.asarray(np.where(which <= law.serial, 1, parallel), np.int64)


def _runs(law: _Law, sizes: Ints, draw: np.random.Generator) -> Floats:
    """Whole seconds: e to the power of one of two gamma variates; which one, hangs on the size."""
    short = np.clip(law.slope * sizes + law.intercept, 0.0, 1.0)
    logs = np.full(sizes.size, np.inf)
    while (again := np.flatnonzero(logs > MOST_LOG_RUN)).size:
        of_short = draw.random(again.size) <= short[again]
        shape = np.where(of_short, law.short[0], law.long[0])
        logs[again] = draw.standard_gamma(shape) * np.where(of_short, law.short[1], law.long[1])
    return np.asarray(np.floor(np.exp(logs)), np.float64)


def _arrivals(law: _Law, jobs: int, draw: np.random.Generator) -> Floats:
    """Seconds after midnight: when the points of all arrivals so far are paid by the weights of half hours."""
    logs = np.full(jobs, np.inf)
    while (again := np.flatnonzero(logs > MOST_LOG_GAP)).size:
        logs[again] = draw.gamma(*law.rush, again.size)
    paid = np.concatenate([[0.0], np.cumsum(_weights(law))])
    clock = np.arange(BUCKETS + 1) * BUCKET_S
    days, rest = np.divmod(np.cumsum(np.exp(logs) / BUCKET_S), paid[-1])
    return np.asarray(days * clock[-1] + np.interp(rest, paid, clock), np.float64)


def _weights(law: _Law) -> Floats:
    """Share of arrivals of each half hour from midnight, mean 1: a gamma law round the clock."""
    from scipy.special import gammainc

    shape, scale = law.cycle
    numbers = np.arange(CYCLE_BEGINS, CYCLE_BEGINS + BUCKETS)
    shares = gammainc(shape, (numbers + 0.5) / scale) - gammainc(shape, (numbers - 0.5) / scale)
    weights = np.empty(BUCKETS)
    weights[(numbers - 1) % BUCKETS] = shares / shares.mean()
    return weights


def _stretched(arrivals: Floats, asked: float, processors: int, load: float | None) -> tuple[Floats, tuple[str, ...]]:
    """Arrivals with their gaps multiplied so that the load is as wanted, and what was done."""
    if load is None:
        return arrivals, ()
    factor = asked / (processors * float(arrivals[-1] - arrivals[0])) / load
    said = f"the gaps between arrivals are multiplied by {factor:.6g} for an offered load of {load:g}"
    return arrivals * factor, (said,)


def _users(jobs: int, users: int, seed: int) -> Ints:
    """Numbers from 1, by Zipf's law."""
    until = np.cumsum(1.0 / np.arange(1, users + 1))
    drawn = generator(seed, "lublin", "user").random(jobs) * until[-1]
    return np.asarray(np.searchsorted(until[:-1], drawn, side="right") + 1, np.int64)
