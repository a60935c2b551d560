"""One point: warm-up, inner repetition, samples until the median of the CPU time is known well enough or time is up."""

import datetime
import math
import time
from dataclasses import dataclass, replace

import numpy as np
import psutil

from simulator.base.errors import CalibrationError
from simulator.calibration.bands.source import Floats
from simulator.calibration.bench.measurement import (
    LEAST_SAMPLE_S,
    LEAST_SAMPLES,
    MOST_SAMPLES,
    PRECISION,
    Measurement,
    one_of,
)
from simulator.calibration.bench.usage import Usage
from simulator.calibration.speed.runners import Runner
from simulator.calibration.speed.subjects import Subject

_MOST_INNER = 10**6
_KEPT_WARM_UP = 1 / 3
"""By default a warm-up of more than this share of the time cap is kept as a sample: a second run may not fit."""

_SURELY_ENOUGH = 5.0
"""A warm-up this many times as long as a sample must last is no slow start of a run that is too short."""


@dataclass(frozen=True)
class Effort:
    """How hard to look at one point."""

    time_cap_s: float
    """Wall seconds for one point, its preparation included; no sample starts that would pass it."""
    precision: float = PRECISION
    """Half width of the 95 % interval of the median CPU time, as a share of it, that is good enough."""
    least_sample_s: float = LEAST_SAMPLE_S
    most_samples: int = MOST_SAMPLES
    kept_warm_up_s: float | None = None
    """A warm-up that takes longer is kept as a sample; None: where a second run may not fit the time cap."""
    long_once: bool = False
    """Whether such a long run is the only sample."""

    def cost_s(self, times_s: Floats) -> Floats:
        """Foretold seconds of points whose single runs take so long; any shape.

        Short runs are sampled as often as the interval of a median needs; of longer ones the time cap holds fewer, of
        those above half of it only one. What preparing a point costs beside that shows in the cheapest point measured.
        """
        sampled = np.maximum(times_s, self.least_sample_s) * LEAST_SAMPLES + times_s
        once_from_s = min(self.time_cap_s / 2, self.long_run_s if self.long_once else np.inf)
        return np.asarray(np.where(times_s > once_from_s, times_s, np.minimum(sampled, self.time_cap_s)))

    @property
    def long_run_s(self) -> float:
        """From which wall seconds on a warm-up is kept."""
        return _KEPT_WARM_UP * self.time_cap_s if self.kept_warm_up_s is None else self.kept_warm_up_s


def sample_point(runner: Runner, subject: Subject, *, n: int, effort: Effort) -> Measurement:
    """Measure one point, all its samples in a row.

    Raises
    ------
    CalibrationError
        If a run fails.
    """
    point = visit(runner, subject, n=n, effort=effort)
    while not point.ended_by:
        point = visit(runner, subject, n=n, effort=effort, known=point, prepared=True)
    return point


def visit(
    runner: Runner,
    subject: Subject,
    *,
    n: int,
    effort: Effort,
    known: Measurement | None = None,
    prepared: bool = False,
) -> Measurement:
    """One more sample of a point; in passes over many sizes, drift and bursts of load fall on all of them alike.

    Parameters
    ----------
    known
        The point so far, None at its first visit: that one warms up and finds how many runs make a sample.
    prepared
        Whether the runner's last work was this point, so that nothing needs to be made ready again.

    Raises
    ------
    CalibrationError
        If a run fails.
    """
    begin = time.monotonic()
    if known is None:
        point = _first_visit(runner, subject, n=n, effort=effort)
    else:
        if not prepared:
            runner.prepare(n)
            if known.inner > 1:  # short runs feel cold caches; a long one warms up by itself
                runner.sample(1)
        sample = one_of(runner.sample(known.inner), known.inner)
        visits = (*known.visits[:-1], known.visits[-1] + 1) if prepared else (*known.visits, 1)
        point = replace(known, samples=(*known.samples, sample), visits=visits)
    if point.samples[-1].cpu_s <= 0:
        raise CalibrationError(f"{subject.label}: n = {n}: no CPU time seen, runs of a microsecond or more needed")
    point = replace(point, cost_s=(known.cost_s if known else 0.0) + time.monotonic() - begin)
    return replace(point, ended_by=_ended_by(point, effort))


def _first_visit(runner: Runner, subject: Subject, *, n: int, effort: Effort) -> Measurement:
    started = datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")
    load = psutil.getloadavg()[0]
    runner.prepare(n)
    warm = runner.sample(1)
    kept = warm.wall_s > effort.long_run_s
    inner, used = (1, warm) if kept else inner_runs(runner, warm.wall_s, effort.least_sample_s)
    sample = one_of(used or runner.sample(inner), inner)
    return Measurement(
        subject.size(n),
        subject.volume(n),
        (sample,),
        visits=(1,),
        n=n,
        inner=inner,
        warm_up_kept=kept,
        started=started,
        load_average=load,
    )


def _ended_by(point: Measurement, effort: Effort) -> str:
    """Why no further sample of a point is taken; empty while one is."""
    if point.half_interval <= effort.precision:
        return "precision"
    if point.warm_up_kept and effort.long_once:
        return "long run"
    if len(point.samples) >= effort.most_samples:
        return "most samples"
    return "time cap" if point.cost_s + point.inner * point.samples[-1].wall_s > effort.time_cap_s else ""


def inner_runs(runner: Runner, once_s: float, least_s: float) -> tuple[int, Usage | None]:
    """How many runs in a row last at least `least_s` seconds, found by running more and more, and what those cost.

    Nothing is run, and no cost given, where a warm-up of `once_s` seconds was so long that one run is surely enough.
    """
    if once_s >= _SURELY_ENOUGH * least_s:
        return 1, None
    inner = max(1, min(_MOST_INNER, math.ceil(least_s / max(once_s, 1e-9))))
    while True:  # the warm-up was slower than what follows
        used = runner.sample(inner)
        if used.wall_s >= 0.8 * least_s or inner == _MOST_INNER:
            return inner, used
        inner = min(_MOST_INNER, math.ceil(inner * min(100.0, 1.1 * least_s / max(used.wall_s, 1e-9))))
