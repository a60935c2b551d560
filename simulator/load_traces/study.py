"""The load study of the speed-band paper (section 3): how often later loads keep within the load functions."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from simulator.base import units
from simulator.base.arrays import Floats
from simulator.base.documents import Record
from simulator.base.errors import ScenarioError, TraceError
from simulator.load_traces.csv_file import read_trace, trace_column
from simulator.models.load import LoadTrace
from simulator.models.load_functions import LoadFunctions, LoadWindow, check_lengths, regular_step

_INSTANTS_PER_WINDOW = 60
_BARS = " ▁▂▃▄▅▆▇█"


@dataclass(frozen=True)
class StudyRow(Record):
    """What one history length gave."""

    history: int
    """Observations in the history, `h`."""
    window: int
    """Longest window in observations, `w`."""
    instants: int
    windows: int
    """How many of the futures do not overlap: shares of so few say little."""
    hit_ratio: float
    """Share of later mean loads, over 1 to `w` observations, within `[l_min, l_max]`."""
    hit_ratio_at_window: float
    """The same for the mean load over the whole window only."""
    area_s: float
    """Mean area between the curves, load times seconds."""
    width: float
    """Mean distance of the curves, area over the time it spans."""


def load_study(
    trace: LoadTrace, histories: Sequence[int], *, window: int, every: int | None = None
) -> tuple[StudyRow, ...]:
    """Predict later loads from each history length, at the same instants for all.

    At an instant the load functions of the `h` observations before it are compared with the mean loads over the next
    1 to `w` observations.

    `trace`: a recording in equal steps.
    `histories`: history lengths `h` in observations.
    `window`: longest window `w` in observations.
    `every`: observations between two instants; by default a sixtieth of the window.
    """
    step_s = regular_step(trace)
    check_lengths(window, min(histories))
    stride = every or max(1, window // _INSTANTS_PER_WINDOW)
    instants = np.arange(max(histories), trace.values.size - window + 1, stride)
    if not instants.size:
        raise TraceError(
            f"study: the trace has {trace.values.size} samples; give at least {max(histories) + window} "
            f"(history {max(histories)} and window {window})"
        )
    return tuple(_row(trace.values, step_s, history, window, instants) for history in histories)


def _row(loads: Floats, step_s: float, history: int, window: int, instants: np.ndarray) -> StudyRow:
    tracker = LoadWindow(step_s, window=window, history=history)
    hits, at_window, compared, area = 0, 0, 0, 0.0
    reached = int(instants[0]) - history
    for instant in instants.tolist():
        tracker.extend(loads[reached:instant])
        reached = instant
        curves = tracker.functions()
        width = curves.t_s.size
        future = np.cumsum(loads[instant : instant + width]) / np.arange(1, width + 1)
        tolerance = 1e-9 * np.maximum(1.0, curves.l_max)
        inside = (curves.l_min - tolerance <= future) & (future <= curves.l_max + tolerance)
        hits, compared, at_window = hits + int(np.sum(inside)), compared + width, at_window + int(inside[-1])
        area += curves.area_s
    span_s = (min(window, history) - 1) * step_s
    mean_area = area / instants.size
    return StudyRow(
        history=history,
        window=window,
        instants=int(instants.size),
        windows=1 + int(instants[-1] - instants[0]) // window,
        hit_ratio=hits / compared,
        hit_ratio_at_window=at_window / instants.size,
        area_s=mean_area,
        width=mean_area / span_s if span_s else 0.0,
    )


def in_samples(text: str, step_s: float, *, field: str) -> int:
    """A length as people write it, in samples: `60` counts samples, `60s` or `1h` is a duration in whole steps."""
    samples = units.to_whole(text.strip())
    if samples is not None:
        count = samples
    else:
        duration_s = units.parse_duration(text, field=field)
        count = round(duration_s / step_s)
        if abs(count * step_s - duration_s) > 1e-6 * duration_s:
            raise ScenarioError(f"{field} is {text!r}; give whole steps of {step_s:g} s, or a number of samples")
    if count < 1:
        raise ScenarioError(f"{field} is {text!r}; give at least one sample")
    return count


def regular_load(path: Path, column: str | None, resample: str | None) -> tuple[LoadTrace, float]:
    """The load in equal steps, and the step."""
    if (column or trace_column(path)) == "available":
        raise TraceError(f"{path}: the column is 'available'; name a column of loads")
    found = read_trace(path, column=column)
    if resample is not None:
        found = found.resampled(units.parse_duration(resample, field="--resample"))
    try:
        return found, regular_step(found)
    except TraceError as error:
        raise TraceError(f"{path}: {error.lines[0].removeprefix('trace: ')} with --resample") from error


def predicted_runs(curves: LoadFunctions, ideals: list[float]) -> list[dict[str, float | None]]:
    """What the load functions predict per ideal time; None for a run that never ends."""
    if not ideals:
        return []
    runs = curves.predict(ideals)
    columns = {"ideal_s": ideals} | {name: getattr(runs, name).tolist() for name in vars(runs)}
    return [
        {name: values[index] if math.isfinite(values[index]) else None for name, values in columns.items()}
        for index in range(len(ideals))
    ]


def text_chart(trace: LoadTrace, *, columns: int = 72, rows: int = 8) -> str:
    """A trace as lines of text: the mean load of each stretch as a bar, highest row first."""
    edges = np.linspace(0.0, trace.end_s, columns + 1)
    knots = np.append(trace.times_s, trace.end_s)
    totals = np.concatenate(([0.0], np.cumsum(trace.values * trace.durations_s)))
    mean = np.diff(np.interp(edges, knots, totals)) / np.diff(edges)
    top = float(np.max(mean)) or 1.0
    eighths = np.rint(mean / top * rows * 8).astype(int)
    lines = []
    for row in range(rows - 1, -1, -1):
        axis = f"{top * (row + 1) / rows:9.3g} "
        lines.append(axis + "|" + "".join(_BARS[int(np.clip(height - 8 * row, 0, 8))] for height in eighths))
    lines.append(" " * 10 + "+" + "-" * columns)
    lines.append(" " * 11 + "0 s" + f"{trace.end_s:.6g} s".rjust(columns - 3))
    return "\n".join(lines)
