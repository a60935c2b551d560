"""Figures: measurements, load, messages, timeline and outcome as inline SVG for a page; fits and speed bands as a file.

Each function `plot_...` with an `ax` draws on those axes, or on ones of a new figure of a column's width, and returns
them: figures for papers.

Each function whose name ends in `_svg` returns one `<svg>` element for an HTML page, or the empty string when there is
nothing to draw. The same data give the same bytes. Colours are `currentColor` and CSS variables (`--ap-1` to `--ap-6`,
`--ap-paper`) with fallbacks, text takes `--ap-font`. All ids of a figure begin with its `name`: figures of one page
need different ones.
"""

from simulator.results.plots.answer import coverage_of, makespans_svg, runs_svg, scorecard_svg, shares_svg
from simulator.results.plots.fits import (
    network_fit_svg,
    plot_memory,
    plot_memory_fit,
    plot_neighbours,
    plot_network,
    plot_process_counts,
    plot_runtime,
    plot_runtime_fit,
)
from simulator.results.plots.frame import COLUMN_IN, cut_texts, figure_kind, save_printed, sized
from simulator.results.plots.jobs import busy_svg, class_slowdown_svg, pes_svg, plot_classes, plot_waits, waits_svg
from simulator.results.plots.load import load_svg, plot_load
from simulator.results.plots.outcome import (
    baselines_svg,
    break_even_svg,
    costs_svg,
    differences_svg,
    gains_svg,
    plot_breakdown,
    plot_differences,
    plot_gains,
    plot_makespans,
    plot_points,
    plot_runs,
    plot_sensitivity,
    plot_shares,
    plot_verification,
    sensitivity_svg,
    verification_svg,
)
from simulator.results.plots.plot import plot
from simulator.results.plots.speed import (
    plot_builders,
    plot_kernel,
    plot_predicted_speed,
    plot_speed,
    plot_speed_model,
    predicted_speeds_svg,
    speed_bands_svg,
)
from simulator.results.plots.timeline import gantt_svg, plot_timeline

__all__ = [
    "COLUMN_IN",
    "baselines_svg",
    "break_even_svg",
    "busy_svg",
    "class_slowdown_svg",
    "costs_svg",
    "coverage_of",
    "cut_texts",
    "differences_svg",
    "figure_kind",
    "gains_svg",
    "gantt_svg",
    "load_svg",
    "makespans_svg",
    "network_fit_svg",
    "pes_svg",
    "plot",
    "plot_breakdown",
    "plot_builders",
    "plot_classes",
    "plot_differences",
    "plot_gains",
    "plot_kernel",
    "plot_load",
    "plot_makespans",
    "plot_memory",
    "plot_memory_fit",
    "plot_neighbours",
    "plot_network",
    "plot_points",
    "plot_predicted_speed",
    "plot_process_counts",
    "plot_runs",
    "plot_runtime",
    "plot_runtime_fit",
    "plot_sensitivity",
    "plot_shares",
    "plot_speed",
    "plot_speed_model",
    "plot_timeline",
    "plot_verification",
    "plot_waits",
    "predicted_speeds_svg",
    "runs_svg",
    "save_printed",
    "scorecard_svg",
    "sensitivity_svg",
    "shares_svg",
    "sized",
    "speed_bands_svg",
    "verification_svg",
    "waits_svg",
]
