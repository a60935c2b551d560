"""Drawings of load traces, load functions and the load study, as picture files and as text."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from simulator.base.errors import ScenarioError
from simulator.load_traces.study import StudyRow
from simulator.models.load import Floats, LoadTrace
from simulator.models.load_functions import LoadFunctions

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_KINDS = ("png", "svg", "pdf")
_BARS = " ▁▂▃▄▅▆▇█"
_MOST_STEPS = 4000
"""Steps a picture shows one by one; a longer trace is drawn as mean and range of stretches."""


def draw_trace(trace: LoadTrace, *, label: str, kind: str) -> bytes:
    """A trace over time with its mean; a long one as the mean and range of stretches.

    Raises
    ------
    ScenarioError
        If `kind` is not `png`, `svg` or `pdf`.
    """
    figure, axes = _figure(kind)
    edges, mean, low, high = _stretches(trace)
    if mean.size < trace.values.size:
        axes.fill_between(edges, np.append(low, low[-1]), np.append(high, high[-1]), step="post", alpha=0.25, lw=0)
    axes.stairs(mean, edges, baseline=None)
    axes.axhline(trace.mean(), ls="--", color="C1", label=f"mean {trace.mean():.3g}")
    axes.set(xlabel="time in s", ylabel=label, xlim=(edges[0], edges[-1]), ylim=(0, None))
    axes.legend()
    return _finished(figure, kind)


def draw_functions(functions: LoadFunctions, *, kind: str) -> bytes:
    """Both load functions over the window length; see `draw_trace` for kinds."""
    figure, axes = _figure(kind)
    axes.plot(functions.t_s, functions.l_max, label="l_max", color="C1")
    axes.plot(functions.t_s, functions.l_min, label="l_min", color="C0")
    axes.fill_between(functions.t_s, functions.l_min, functions.l_max, alpha=0.15)
    axes.set(xlabel="window length in s", ylabel="mean load", xlim=(0, functions.t_s[-1]), ylim=(0, None))
    axes.legend()
    return _finished(figure, kind)


def draw_study(rows: Sequence[StudyRow], *, step_s: float, kind: str) -> bytes:
    """Hit ratio and distance of the curves over the history length; see `draw_trace` for kinds."""
    figure, axes = _figure(kind)
    lengths = [row.history * step_s for row in rows]
    axes.plot(lengths, [100 * row.hit_ratio for row in rows], "o-", color="C0", label="hit ratio (left)")
    axes.set(
        xlabel=f"history in s (window {rows[0].window * step_s:g} s)", ylabel="later loads within, %", ylim=(0, 105)
    )
    right = axes.twinx()
    right.plot(lengths, [row.width for row in rows], "s--", color="C1", label="mean distance of the curves (right)")
    right.set(ylabel="l_max - l_min", ylim=(0, None))
    figure.legend(loc="outside upper left", ncols=2)
    return _finished(figure, kind)


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


def _stretches(trace: LoadTrace) -> tuple[Floats, Floats, Floats, Floats]:
    """Edges, means, least and greatest values of the trace's steps, or of equal numbers of them."""
    if trace.values.size <= _MOST_STEPS:
        return np.append(trace.times_s, trace.end_s), trace.values, trace.values, trace.values
    first = np.unique(np.linspace(0, trace.values.size, _MOST_STEPS // 4, endpoint=False).astype(int))
    edges = np.append(trace.times_s[first], trace.end_s)
    totals = np.add.reduceat(trace.values * trace.durations_s, first)
    low, high = np.minimum.reduceat(trace.values, first), np.maximum.reduceat(trace.values, first)
    return edges, totals / np.diff(edges), low, high


def _figure(kind: str) -> "tuple[Figure, Any]":
    if kind not in _KINDS:
        raise ScenarioError(
            f"plot: the file ends in {'.' + kind if kind else 'nothing'}; name one that ends in .{', .'.join(_KINDS)}"
        )
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 4.5), layout="constrained")
    return figure, figure.subplots()


def _finished(figure: "Figure", kind: str) -> bytes:
    import io

    out = io.BytesIO()
    figure.savefig(out, format=kind, dpi=120, metadata={"Date": None} if kind == "svg" else None)
    return out.getvalue()
