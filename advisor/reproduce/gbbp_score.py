"""What Table 1 says of a method on a kernel: cost against the grid's, and errors at sizes that no method saw."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simulator.calibration.bands import BuiltBand

Floats = NDArray[np.float64]

METHODS = ("grid", "gbbp", "adaptive")
PAPER_SPEEDUPS = {
    "naive_matmul": {"X1": (5.9, 5), "X2": (5.7, 5)},
    "dgemm": {"X1": (8.5, 7), "X2": (5.7, 5)},
    "cholesky": {"X1": (6.5, 19), "X2": (15.0, 8)},
}
"""The paper's Table 1: machine -> speedup of GBBP over the grid, and points."""


def score(built: Mapping[str, BuiltBand], sizes: Floats, truth: Floats) -> dict[str, dict[str, Any]]:
    """Every method's row.

    Parameters
    ----------
    built
        Bands by method, `grid` among them.
    sizes, truth
        The held-out sweep: elements, and speeds in volume per second.

    Returns
    -------
    dict
        Per method: `experimental_s`, `speedup_over_grid`, `points`, `mean_error_percent` and `max_error_percent` of the
        middle curve, `max_error_at_elements`, `inside_band_percent` (of the held-out speeds), `assumptions_violated`.
    """
    rows: dict[str, dict[str, Any]] = {}
    for method in METHODS:
        band = built[method].band
        error = 100 * np.abs(band.speed(sizes) / truth - 1)
        inside = (truth >= band.speed(sizes, position=0.0)) & (truth <= band.speed(sizes, position=1.0))
        rows[method] = {
            "experimental_s": built[method].experimental_s,
            "speedup_over_grid": built["grid"].experimental_s / built[method].experimental_s,
            "points": len(built[method].points),
            "mean_error_percent": float(np.mean(error)),
            "max_error_percent": float(np.max(error)),
            "max_error_at_elements": float(sizes[np.argmax(error)]),
            "inside_band_percent": float(100 * np.mean(inside)),
            "assumptions_violated": list(built[method].assumptions_violated),
        }
    return rows


def paper_rows() -> dict[str, Any]:
    """The paper's Table 1 as plain data."""
    return {
        kernel: {machine: {"speedup_over_grid": s, "points": p} for machine, (s, p) in found.items()}
        for kernel, found in PAPER_SPEEDUPS.items()
    }


def paper_line(kernel: str, paper: Mapping[str, Any]) -> str:
    """The paper's figures of a kernel for the terminal."""
    found = ", ".join(
        f"{machine} {row['speedup_over_grid']} ({row['points']} points)" for machine, row in paper[kernel].items()
    )
    return f"{'':<14}the paper's GBBP: {found}; it states no error"
