"""The speed-band paper's Table 1 on recorded speed functions with a simulated clock: cost and error, always together.

The three recordings that ship were really measured (`scenarios/papers/gbbp_*.csv`). Builders see them through
`ReplaySource`; the held-out sweep lies between the recordings' sizes at places of its own.
"""

from typing import Any

import numpy as np

from simulator import files
from simulator.calibration.bands import METHODS, CutRule, ReplaySource, build, read_recorded_sizes

KERNELS = ("naive_matmul", "dgemm", "cholesky")
HELD_OUT = 40
"""Sizes of the held-out sweep: half at equal steps, half at equal steps of the logarithm."""
BAND = 0.05
PAPER_SPEEDUPS = {
    "naive_matmul": {"X1": (5.9, 5), "X2": (5.7, 5)},
    "dgemm": {"X1": (8.5, 7), "X2": (5.7, 5)},
    "cholesky": {"X1": (6.5, 19), "X2": (15.0, 8)},
}
"""The paper's Table 1: machine -> speedup of GBBP over the grid, and points."""


def table() -> dict[str, Any]:
    """Per kernel and method: `speedup_over_grid`, `points`, `mean_error_percent`, `max_error_percent`."""
    rows = {
        kernel: compare(read_recorded_sizes(files.shipped("scenarios", f"papers/gbbp_{kernel}.csv")))
        for kernel in KERNELS
    }
    paper = {
        kernel: {machine: {"speedup_over_grid": s, "points": p} for machine, (s, p) in found.items()}
        for kernel, found in PAPER_SPEEDUPS.items()
    }
    return {"clock": "simulated", "held_out_sizes": HELD_OUT, "band": BAND, "kernels": rows, "paper": paper}


def compare(source: ReplaySource) -> dict[str, Any]:
    """Every method on one recording; errors against a sweep that none of them saw."""
    sizes = held_out(source)
    truth = source.speeds(sizes)
    built = {method: build(source, method=method, rule=CutRule(band=BAND)) for method in METHODS}
    found: dict[str, Any] = {}
    for method in ("grid", "gbbp", "adaptive"):
        error = 100 * np.abs(built[method].band.speed(sizes) / truth - 1)
        found[method] = {
            "experimental_s": built[method].experimental_s,
            "speedup_over_grid": built["grid"].experimental_s / built[method].experimental_s,
            "points": len(built[method].points),
            "mean_error_percent": float(np.mean(error)),
            "max_error_percent": float(np.max(error)),
            "assumptions_violated": list(built[method].assumptions_violated),
        }
    return found


def held_out(source: ReplaySource) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Sizes of the sweep, in elements, none of them an end of the recording."""
    half = HELD_OUT // 2
    share = (np.arange(half) + 0.5) / half
    a, b = source.smallest, source.largest
    return np.sort(np.concatenate([a + (b - a) * share, a * (b / a) ** share]))


def lines(found: dict[str, Any]) -> list[str]:
    """The table for the terminal."""
    head = f"{'':<16}{'method':<10}{'speedup':>9}{'points':>8}{'mean error':>12}{'max error':>11}"
    text = [f"GBBP, Table 1 on recorded speeds ({found['held_out_sizes']} held-out sizes)", head]
    for kernel, methods in found["kernels"].items():
        for method, row in methods.items():
            text.append(
                f"{kernel:<16}{method:<10}{row['speedup_over_grid']:>9.1f}{row['points']:>8}"
                f"{row['mean_error_percent']:>10.1f} %{row['max_error_percent']:>9.1f} %"
            )
        paper = ", ".join(
            f"{machine} {row['speedup_over_grid']} ({row['points']} points)"
            for machine, row in found["paper"][kernel].items()
        )
        text.append(f"{'':<16}the paper's GBBP: {paper}; it states no error")
    return text
