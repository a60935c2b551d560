"""One point: warm-up, inner repetition, samples until the median of the CPU time is known well enough or time is up."""

import datetime
import math
import time
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import psutil

from simulator.calibration.bands.source import PointMeasured
from simulator.calibration.measure import (
    LEAST_SAMPLE_S,
    LEAST_SAMPLES,
    MOST_SAMPLES,
    PRECISION,
    half_interval_of_median,
)
from simulator.calibration.real.runners import Runner
from simulator.calibration.real.subjects import Subject
from simulator.calibration.usage import Usage
from simulator.errors import CalibrationError

_MOST_INNER = 10**6
_KEPT_WARM_UP = 1 / 3
"""A warm-up that takes more than this share of the time cap is kept as a sample: a second run may not fit."""


@dataclass(frozen=True)
class Effort:
    """How hard to look at one point."""

    time_cap_s: float
    """Wall seconds for one point, its preparation included; no sample starts that would pass it."""
    precision: float = PRECISION
    """Half width of the 95 % interval of the median CPU time, as a share of it, that is good enough."""
    least_sample_s: float = LEAST_SAMPLE_S
    most_samples: int = MOST_SAMPLES


@dataclass(frozen=True)
class RealPoint:
    """All that is known of one point."""

    n: int
    size: float
    volume: float
    inner: int
    """Runs per sample."""
    samples: tuple[Usage, ...]
    """Each the mean of its inner runs in CPU and wall seconds; switches are those of the whole sample."""
    cost_s: float
    """Wall seconds that the point took in all."""
    ended_by: str
    """`precision`, `most samples` or `time cap`."""
    warm_up_kept: bool
    started: str
    """Date and time in UTC."""
    load_average: float
    """Mean runnable processes over the last minute, at the start."""

    @property
    def key(self) -> int:
        """Its n, which no two points of a subject share."""
        return self.n

    @property
    def half_interval(self) -> float:
        """Half width of the 95 % interval of the median CPU time, as a share of it; infinite below six samples."""
        return half_interval_of_median(np.array([sample.cpu_s for sample in self.samples]))

    def measured(self) -> PointMeasured:
        """What builders of bands need of it."""
        cpu_s, wall_s = (tuple(getattr(sample, name) for sample in self.samples) for name in ("cpu_s", "wall_s"))
        return PointMeasured(self.size, self.volume, cpu_s, wall_s, self.cost_s)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON; the interval is there for the reader only."""
        half = self.half_interval
        return asdict(self) | {"interval_percent": 100 * half if math.isfinite(half) else None}

    @classmethod
    def from_dict(cls, document: dict[str, Any]) -> "RealPoint":
        """The inverse of `to_dict`."""
        fields = {name: value for name, value in document.items() if name != "interval_percent"}
        return cls(**fields | {"samples": tuple(Usage(**sample) for sample in fields["samples"])})


def sample_point(runner: Runner, subject: Subject, *, n: int, effort: Effort) -> RealPoint:
    """Measure one point.

    Raises
    ------
    CalibrationError
        If a run fails.
    """
    begin, started = time.monotonic(), datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")
    load = psutil.getloadavg()[0]
    runner.prepare(n)
    warm = runner.sample(1)
    kept = warm.wall_s > _KEPT_WARM_UP * effort.time_cap_s
    samples = [warm] if kept else []
    inner = 1 if kept else inner_runs(runner, warm.wall_s, effort.least_sample_s)
    ended_by = ""
    while not ended_by:
        last_s = inner * samples[-1].wall_s if samples else 0.0
        if _known(samples, effort.precision):
            ended_by = "precision"
        elif len(samples) >= effort.most_samples:
            ended_by = "most samples"
        elif samples and time.monotonic() - begin + last_s > effort.time_cap_s:
            ended_by = "time cap"
        else:
            samples.append(one_of(runner.sample(inner), inner))
    if min(sample.cpu_s for sample in samples) <= 0:
        raise CalibrationError(f"{subject.label}: n = {n}: no CPU time seen, runs of a microsecond or more needed")
    cost_s = time.monotonic() - begin
    return RealPoint(
        n, subject.size(n), subject.volume(n), inner, tuple(samples), cost_s, ended_by, kept, started, load
    )


def inner_runs(runner: Runner, once_s: float, least_s: float) -> int:
    """How many runs in a row last at least `least_s` seconds, found by running more and more of them."""
    inner = max(1, min(_MOST_INNER, math.ceil(least_s / max(once_s, 1e-9))))
    while inner < _MOST_INNER:  # the warm-up was slower than what follows
        wall_s = runner.sample(inner).wall_s
        if wall_s >= 0.8 * least_s:
            break
        inner = min(_MOST_INNER, math.ceil(inner * min(100.0, 1.1 * least_s / max(wall_s, 1e-9))))
    return inner


def one_of(usage: Usage, inner: int) -> Usage:
    """Seconds of one run of several in a row."""
    return Usage(usage.cpu_s / inner, usage.wall_s / inner, usage.voluntary_switches, usage.involuntary_switches)


def _known(samples: list[Usage], precision: float) -> bool:
    if len(samples) < LEAST_SAMPLES:
        return False
    return half_interval_of_median(np.array([sample.cpu_s for sample in samples])) <= precision
