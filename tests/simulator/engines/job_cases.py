"""Random streams of jobs, and how both engines schedule them beside the oracle."""

from itertools import pairwise

import numpy as np

from simulator.programs.streams.stream import make_stream
from tests.simulator.engines.jobs_oracle import SECOND

ENGINES = ("process", "compiled")
SHORT = (0, 1, 1, 2, 2, 3, 4, 5, 8)
ROUND = (10, 30, 60, 60, 120, 180, 240, 300, 360, 600, 900, 1800, 3600, 7200, 36_000)
UNITS = (SECOND, SECOND, SECOND, SECOND // 10, 1)


def stream_of(jobs):
    submit, run, size, limit, user, _ = zip(*jobs, strict=True)
    times = {"submit_s": submit, "run_s": run, "limit_s": [np.nan if ticks is None else ticks for ticks in limit]}
    seconds = {name: np.array(ticks, dtype=np.float64) / SECOND for name, ticks in times.items()}
    return make_stream("drawn", processors=size, user=user, **seconds)


def drawn_jobs(draw, count, pes, *, bounds=False):
    """Jobs whose times are small multiples of one unit, so that most of what happens coincides with something else."""
    unit = int(draw.choice(UNITS))
    grains, unit = (np.array(SHORT), unit) if unit != SECOND or draw.random() < 0.5 else (np.array(ROUND), unit)
    run = draw.choice(grains, count)
    powers = 2 ** draw.integers(0, pes.bit_length(), count)
    size = np.where(draw.random(count) < 0.5, powers, draw.integers(1, pes + 1, count))
    size = np.where(draw.random(count) < 0.3, 1, size)
    step = int(np.min(grains[grains > 0]))
    gap = float(np.sum(size * run)) / pes / count / step * draw.uniform(0.02, 1.2)
    submit = np.cumsum(draw.geometric(1 / (1 + gap), count) - 1) * step + draw.integers(0, 2) * 500 * step
    asked = draw.choice([1, 1, 2, 3], count) * draw.choice(grains[grains > 0], count)
    limit = np.where(draw.random(count) < 0.4, np.maximum(run, 1), asked)
    limit = np.maximum(limit, run) if bounds else limit
    user = draw.integers(-1 if draw.random() < 0.2 else 0, 3, count)
    given = np.sort(draw.choice(grains[grains > 0], (count, int(draw.integers(1, 4)))), axis=1)
    fields = (submit * unit, run * unit, size, limit * unit, user, given * unit)
    return tuple(zip(*(field.tolist() for field in fields), strict=True))


def difference(case, expected, engine):
    """The first field in which an engine differs from the oracle, with what both say; empty if they agree."""
    runs = case.runs(engine)
    fields = {
        "start_ticks": [job.start for job in expected],
        "finish_ticks": [job.finish for job in expected],
        "processors": [job.size for job in expected],
        "estimate_ticks": [job.estimate for job in expected],
        "promised_ticks": [job.promised for job in expected],
        "killed": [job.killed for job in expected],
    }
    for name, told in fields.items():
        if (found := getattr(runs, name).tolist()) != told:
            return f"{engine}, {name}: {found}, the oracle {told}\n{case}"
    pes = [runs.pes_of(job).tolist() for job in range(len(expected))]
    told = [list(job.pes) for job in expected]
    return "" if pes == told else f"{engine}, PEs: {pes}, the oracle {told}\n{case}"


def in_use(runs):
    """PEs taken at each tick at which a job starts or ends, ends first; (tick,)."""
    ticks, places = np.unique(np.concatenate([runs.start_ticks, runs.finish_ticks]), return_inverse=True)
    changes = np.bincount(places, np.concatenate([runs.processors, -runs.processors]), ticks.size)
    return np.cumsum(changes)


def check_named(runs, pes):
    spans = [[] for _ in range(pes)]
    for job in range(len(runs.stream)):
        mine = runs.pes_of(job).tolist()
        assert len(mine) == runs.processors[job]
        assert mine == sorted(set(mine))
        for pe in mine:
            spans[pe].append((int(runs.start_ticks[job]), int(runs.finish_ticks[job])))
    for one in spans:
        one.sort()
        assert all(before[1] <= after[0] for before, after in pairwise(one))
