"""How often stated intervals of paired differences between policies hold: experiments against truth over many streams.

Of each case, metric and pair, `study` has the share of the experiments whose interval holds the truth, with the
binomial interval of that share. The truth is the mean difference over streams of a stationary generator that is in this
file and shares no code with what is judged. An experiment has either so many streams of the generator, or one stream
that is a log: its weeks, or its users, are drawn again and run again.
"""

from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context

import numpy as np

from advisor.jobs.compare import alternatives, compare, read_policy
from simulator import Estimates, make_stream

WEEK_S = 7 * 86400
PROCESSORS = 32
METRICS = ("wait", "slowdown", "p95-wait", "p95-slowdown", "turnaround", "makespan")
CHOICES = alternatives(
    [read_policy("easy"), read_policy("easy shortest first"), read_policy("sjf easy")], [Estimates()], [PROCESSORS]
)
LEVEL = 0.95


@dataclass(frozen=True)
class Case:
    """One kind of experiment."""

    name: str
    weeks: int
    per_week: float
    load: float
    users: int
    """0: jobs come independently; else each user has jobs of his own kind, and so many of them as he has."""
    draws: str
    replications: int
    """Streams, or draws of the one stream."""


CASES = {
    "streams": Case("streams", 4, 150, 0.7, 0, "streams", 20),
    "weeks": Case("weeks", 42, 80, 0.6, 0, "weeks", 100),
    "users": Case("users", 8, 120, 0.5, 110, "users", 100),
}


def generated(case, number, *, seed):
    """Stream `number` of a stationary generator: busy working days, sizes near powers of two, long-tailed times."""
    draw = np.random.default_rng([seed, number, len(case.name)])
    if case.users:
        counts = np.maximum(1, draw.lognormal(0.0, 0.8, case.users) * case.weeks * case.per_week / case.users / 1.377)
        counts = draw.poisson(counts)
        user = np.repeat(np.arange(case.users), counts)
        scale = draw.normal(0.0, 0.6, case.users)[user]
    else:
        user = draw.integers(0, 30, draw.poisson(case.weeks * case.per_week))
        scale = 0.0
    count = user.size
    when = draw.integers(0, case.weeks, count) * WEEK_S + 86400 * draw.choice(7, count, p=[0.17] * 5 + [0.075] * 2)
    when = when + (43200 + 14400 * draw.standard_normal(count)) % 86400
    size = np.minimum(2 ** draw.binomial(5, 0.35, count), PROCESSORS)
    size = np.where(draw.random(count) < 0.2, np.minimum(PROCESSORS, size + draw.integers(0, 4, count)), size)
    run = np.exp(draw.normal(0.0, 1.1, count) + scale)
    mean_work = 4.95 * np.exp(1.1**2 / 2 + (0.18 if case.users else 0.0))
    run = np.ceil(np.minimum(run * case.load * PROCESSORS * WEEK_S / (case.per_week * mean_work), 2.5 * 86400))
    limit = 300 * np.ceil(run * (1 + draw.exponential(1.0, count)) / 300)
    order = np.argsort(when, kind="stable")
    fields = {"submit_s": np.floor(when), "processors": size, "run_s": run, "limit_s": limit, "user": user}
    return make_stream(f"{case.name} {number}", **{name: values[order] for name, values in fields.items()})


def true_values(case, numbers, *, seed):
    """Metrics of streams by alternative; (stream, alternative, metric)."""
    found = compare(lambda place: generated(case, numbers[place], seed=seed), CHOICES,
                    replications=len(numbers), metrics=METRICS, workers=1)  # fmt: skip
    return found.values


def experiment(case, number, *, seed):
    """Means and ends of the intervals that one experiment states: alone, and together; (metric, pair, 5)."""
    if case.draws == "streams":
        base = number * case.replications
        source = partial(_numbered, case, base, seed)
    else:
        source = generated(case, number, seed=seed)
    found = compare(source, CHOICES, draws=case.draws, replications=case.replications, metrics=METRICS,
                    all_pairs=True, level=LEVEL, seed=number, workers=1)  # fmt: skip
    names = ("mean", "low", "high", "low_together", "high_together")
    return np.array([[getattr(found.by_metric[one], name) for name in names] for one in METRICS]).transpose(0, 2, 1)


def _numbered(case, base, seed, place):
    return generated(case, base + place, seed=seed)


def study(case, *, experiments, truth, seed, jobs=2):
    """Rows of the table: metric, pair, coverage with its interval, and how truth and intervals lie."""
    context = get_context("spawn")
    with ProcessPoolExecutor(jobs, mp_context=context) as pool:
        blocks = [range(first, min(first + 100, truth)) for first in range(0, truth, 100)]
        # what is judged draws other streams than those that the truth is from
        values = np.concatenate(list(pool.map(partial(true_values, case, seed=seed + 10**6), blocks)))
        stated = np.array(list(pool.map(partial(experiment, case, seed=seed), range(experiments), chunksize=4)))
    return list(_rows(values, stated))


def _rows(values, stated):
    pairs = [(one, other) for one in range(len(CHOICES)) for other in range(one + 1, len(CHOICES))]
    held_all = np.ones(len(stated), dtype=bool)
    for number, metric in enumerate(METRICS):
        for place, (one, other) in enumerate(pairs):
            seen = values[:, other, number] - values[:, one, number]
            true, error = seen.mean(), seen.std() / np.sqrt(seen.size)
            low, high = stated[:, number, place, 1], stated[:, number, place, 2]
            told = ~np.isnan(low)
            if not told.any():
                continue
            held = (low <= true) & (true <= high)
            held_all &= (stated[:, number, place, 3] <= true) & (true <= stated[:, number, place, 4]) | ~told
            rest = (seen - true) / seen.std()
            yield {
                "metric": metric, "pair": f"{CHOICES[other].name} - {CHOICES[one].name}",
                "coverage": held[told].mean(), "told": int(told.sum()),
                "interval": wilson(int(held[told].sum()), int(told.sum())),
                "missed": ((true < low)[told].mean(), (true > high)[told].mean()),
                "true": true, "error": error, "skewness": float(np.mean(rest**3)),
                "width": float(np.median((high - low)[told]) / (2 * 1.96 * stated[:, number, place, 0].std())),
            }  # fmt: skip
    yield {"metric": "all", "pair": "together", "coverage": held_all.mean(), "told": len(stated),
           "interval": wilson(int(held_all.sum()), len(stated))}  # fmt: skip


def wilson(held, count):
    """A 95 % interval of a share (Wilson 1927)."""
    if not count:
        return (0.0, 1.0)
    share, z = held / count, 1.96
    middle = (share + z * z / (2 * count)) / (1 + z * z / count)
    half = z * np.sqrt(share * (1 - share) / count + z * z / (4 * count**2)) / (1 + z * z / count)
    return middle - half, middle + half
