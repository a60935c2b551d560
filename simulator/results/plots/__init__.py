"""Figures of models and results, each a `Drawing`: inline SVG of a page, a file for a paper, or axes of the caller's.

The same data give the same bytes. On a page colours are `currentColor` and CSS variables (`--ap-1` to `--ap-6`,
`--ap-paper`) with fallbacks, text takes `--ap-font`, and all ids of a figure begin with its name. Where there is
nothing to draw the drawing is false.
"""

from simulator.base.figures import COLUMN_IN, Drawing, figure_kind
from simulator.results.plots.answer import COMPUTING, Run, RunRow, coverage_of, runs, shares, timeline
from simulator.results.plots.fits import memory, memory_fit, neighbours, network, process_counts, runtime
from simulator.results.plots.jobs import busy, waits
from simulator.results.plots.loads import load
from simulator.results.plots.outcome import (
    Apart,
    Checked,
    Makespan,
    Spent,
    costs,
    differences,
    gains,
    makespans,
    verification,
)
from simulator.results.plots.speeds import builders, kernels, speed
from simulator.results.plots.things import plot

__all__ = [
    "COLUMN_IN",
    "COMPUTING",
    "Apart",
    "Checked",
    "Drawing",
    "Makespan",
    "Run",
    "RunRow",
    "Spent",
    "builders",
    "busy",
    "costs",
    "coverage_of",
    "differences",
    "figure_kind",
    "gains",
    "kernels",
    "load",
    "makespans",
    "memory",
    "memory_fit",
    "neighbours",
    "network",
    "plot",
    "process_counts",
    "runs",
    "runtime",
    "shares",
    "speed",
    "timeline",
    "verification",
    "waits",
]
