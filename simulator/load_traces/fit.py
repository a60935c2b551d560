"""Generators fitted to a recording, and how well a drawn trace keeps its mean, variance and autocorrelation."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import numpy as np

from simulator.base import ties
from simulator.base.errors import ScenarioError, TraceError
from simulator.base.randomness import stream
from simulator.load_traces.csv_file import read_trace
from simulator.load_traces.generate import (
    AR1,
    BlockBootstrap,
    Constant,
    Diurnal,
    Generator,
    OnOff,
    Stays,
    make_generator,
)
from simulator.models.load import DAY_S, Floats, LoadTrace
from simulator.models.load_functions import regular_step

LAGS = (1, 2, 5, 10, 30, 60, 120, 300)
"""Lags, in samples, at which autocorrelation is reported where the trace is at least four times as long."""
_DRAWN_TIMES = 20


@dataclass(frozen=True)
class Statistics:
    """Mean, variance and autocorrelation of a trace in equal steps."""

    mean: float
    variance: float
    autocorrelation: dict[int, float]
    """Lag in samples -> correlation; empty for a load that never changes."""


@dataclass(frozen=True)
class FitReport:
    """A generator fitted to a recording."""

    generator: Generator
    recorded: Statistics
    drawn: Statistics
    """Of a trace drawn from the generator, many times as long as the recording."""

    @property
    def worst_autocorrelation_error(self) -> float:
        """Greatest difference of the autocorrelations over the lags."""
        lags = self.recorded.autocorrelation.keys() & self.drawn.autocorrelation.keys()
        return max((abs(self.recorded.autocorrelation[k] - self.drawn.autocorrelation[k]) for k in lags), default=0.0)


def fit_generator(
    trace: LoadTrace, kind: str, *, draws: np.random.Generator, stays: Stays = "exponential"
) -> FitReport:
    """Estimate a generator from a recording and compare what it draws with the recording.

    Parameters
    ----------
    trace
        A recording in equal steps.
    kind
        One of `constant`, `on-off`, `ar1`, `diurnal`, `bootstrap`.
    draws
        Where the compared trace is drawn from.
    stays
        Law of the stays of `on-off`.

    Raises
    ------
    TraceError
        If the recording cannot tell the parameters.
    """
    step_s = regular_step(trace)
    fitters: dict[str, Callable[[], Generator]] = {
        "constant": lambda: Constant(trace.mean()),
        "on-off": lambda: _fit_on_off(trace.values, step_s, stays),
        "ar1": lambda: _fit_ar1(trace.values),
        "diurnal": lambda: _fit_diurnal(trace, step_s),
        "bootstrap": lambda: BlockBootstrap(trace, _block_s(trace.values, step_s)),
    }
    if kind not in fitters:
        raise TraceError(f"fit: kind is {kind!r}; give one of {', '.join(fitters)}")
    if stays not in get_args(Stays):
        raise TraceError(f"fit: stays is {stays!r}; give one of {', '.join(get_args(Stays))}")
    model = fitters[kind]()
    drawn = model.draw(_DRAWN_TIMES * trace.end_s, step_s, draws)
    if kind == "on-off":
        drawn = drawn.resampled(step_s)
    return FitReport(model, statistics(trace.values), statistics(drawn.values, like=trace.values.size))


def statistics(values: Floats, *, like: int | None = None) -> Statistics:
    """Statistics of loads in equal steps, at the lags that fit a trace of `like` samples."""
    known = [lag for lag in LAGS if 4 * lag <= (like or values.size)]
    return Statistics(
        float(np.mean(values)), float(np.var(values)), dict(zip(known, _correlations(values, known), strict=False))
    )


def _correlations(values: Floats, lags: list[int]) -> list[float]:
    centred = values - np.mean(values)
    power = float(centred @ centred)
    if power <= 1e-20 * max(1.0, float(values @ values)):
        return []
    return [float(centred[:-lag] @ centred[lag:]) / power for lag in lags]


def _fit_ar1(values: Floats) -> AR1:
    mean = float(np.mean(values))
    if mean == 0:
        raise TraceError("fit: ar1: the recording has no load; give one with a mean above 0")
    first = (_correlations(values, [1]) or [0.0])[0]
    return AR1(mean, float(np.std(values)), min(max(first, 0.0), 0.999999))


def _fit_on_off(values: Floats, step_s: float, stays: Stays) -> OnOff:
    """Stays from the runs above and below the threshold, levels such that mean and variance are kept."""
    is_on = values > _threshold(values)
    changes = np.flatnonzero(np.diff(is_on)) + 1
    if changes.size < 3:
        raise TraceError(f"fit: on-off: the recording has {changes.size} changes of level; give one with at least 3")
    runs, on_runs = np.diff(changes) * step_s, is_on[changes[:-1]]
    on_s, off_s = runs[on_runs], runs[~on_runs]
    cycle_s = float(np.mean(on_s) + np.mean(off_s))
    mean, deviation, share = float(np.mean(values)), float(np.std(values)), float(np.mean(is_on))
    off_load = mean - deviation * math.sqrt(share / (1 - share))
    if off_load < 0:  # two levels of at least 0 with these moments exist for a smaller share only
        off_load, share = 0.0, 1 / (1 + (deviation / mean) ** 2)
    relative = np.concatenate((on_s / np.min(on_s), off_s / np.min(off_s)))
    logs = float(np.sum(np.log(relative)))
    return OnOff(
        load=mean + deviation * math.sqrt((1 - share) / share),
        mean_on_s=share * cycle_s,
        mean_off_s=(1 - share) * cycle_s,
        off_load=off_load,
        stays=stays,
        shape=min(max(relative.size / logs, 1.05), 50.0) if logs > 0 else 50.0,
    )


def _threshold(values: Floats) -> float:
    """The level that parts the values into two groups with the greatest variance between them (Otsu 1979)."""
    ordered = np.sort(values)
    below = np.arange(1, ordered.size)
    totals = np.cumsum(ordered)
    low, high = totals[:-1] / below, (totals[-1] - totals[:-1]) / (ordered.size - below)
    cut = ties.first_most(np.where(np.diff(ordered) > 0, below * (ordered.size - below) * (high - low) ** 2, -1.0))
    return float((ordered[cut] + ordered[cut + 1]) / 2)


def _fit_diurnal(trace: LoadTrace, step_s: float) -> Diurnal:
    """Least squares on a wave of one day, then AR(1) on what is left, relative to the wave."""
    if trace.end_s < DAY_S:
        raise TraceError(f"fit: diurnal: the recording is {trace.end_s:g} s long; give at least a day ({DAY_S:g} s)")
    angle = 2 * np.pi * (trace.times_s + step_s / 2) / DAY_S
    basis = np.column_stack((np.ones(angle.size), np.cos(angle), np.sin(angle)))
    mean, cosine, sine = np.linalg.lstsq(basis, trace.values, rcond=None)[0].tolist()
    if mean <= 0:
        raise TraceError("fit: diurnal: the recording has no load; give one with a mean above 0")
    amplitude = min(math.hypot(cosine, sine) / mean, 1.0)
    peak_s = math.atan2(sine, cosine) / (2 * np.pi) * DAY_S % DAY_S
    wave = Diurnal(mean, amplitude, peak_s).wave(trace.times_s + step_s / 2)
    factor = trace.values / np.maximum(wave, 1e-3 * mean)
    first = (_correlations(factor, [1]) or [0.0])[0]
    return Diurnal(mean, amplitude, peak_s, DAY_S, float(np.std(factor)), min(max(first, 0.0), 0.999999))


def _block_s(values: Floats, step_s: float) -> float:
    """Blocks ten times as long as correlation lasts (first lag below 1/e), at most a tenth of the recording."""
    lags = list(range(1, max(2, values.size // 10)))
    low = [lag for lag, value in zip(lags, _correlations(values, lags), strict=False) if value < 1 / math.e]
    return min(10 * (low[0] if low else lags[-1]), max(1, values.size // 10)) * step_s


def chosen_generator(
    kind: str, settings: dict[str, str], recording: Path | None, seed: int
) -> tuple[Generator, FitReport | None]:
    """The generator that was asked for, and how well it fits where it was fitted."""
    recorded = None if recording is None else read_trace(recording)
    if recorded is None or (kind == "bootstrap" and settings):
        return make_generator(kind, settings, recorded=recorded), None
    if unused := sorted(settings.keys() - ({"stays"} if kind == "on-off" else set())):
        raise ScenarioError(f"generate: {unused[0]} is set, and --fit estimates it; leave one of them out")
    stays: Any = settings.get("stays", "exponential")
    report = fit_generator(recorded, kind, draws=stream(seed, "fit", kind), stays=stays)
    return report.generator, report


def fit_document(report: FitReport) -> dict[str, Any]:
    """Plain data for JSON."""
    sides = {"recorded": report.recorded, "drawn": report.drawn}
    return {
        name: {
            "mean": side.mean,
            "variance": side.variance,
            "autocorrelation": {str(lag): value for lag, value in side.autocorrelation.items()},
        }
        for name, side in sides.items()
    }
