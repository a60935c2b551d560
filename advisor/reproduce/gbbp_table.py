"""The speed-band paper's Table 1 on recorded speed functions with a simulated clock: cost and error, always together.

The three recordings that ship were really measured (`scenarios/papers/gbbp_*.csv`). Builders see them through
`ReplaySource`; the held-out sweep lies between the recordings' sizes at places of its own.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from advisor.reproduce.gbbp_score import METHODS, paper_line, paper_rows, score
from simulator import files, plots
from simulator.calibration.bands import BuiltBand, CutRule, ReplaySource, build, read_recorded_sizes

KERNELS = ("naive_matmul", "dgemm", "cholesky")
HELD_OUT = 40
"""Sizes of the held-out sweep: half at equal steps, half at equal steps of the logarithm."""
BAND = 0.05


def table(folder: Path | None = None) -> dict[str, Any]:
    """Per kernel and method: `speedup_over_grid`, `points`, `mean_error_percent`, `max_error_percent`.

    Parameters
    ----------
    folder
        Where a figure of each kernel's bands goes, as in the paper's figure 10; None for nowhere.
    """
    rows = {}
    for kernel in KERNELS:
        source = read_recorded_sizes(files.shipped("scenarios", f"papers/gbbp_{kernel}.csv"))
        built = {method: build(source, method=method, rule=CutRule(band=BAND)) for method in METHODS}
        sizes = held_out(source)
        rows[kernel] = score(built, sizes, source.speeds(sizes))
        if folder is not None:
            _draw(kernel, built, rows[kernel], source, folder)
    return {"clock": "simulated", "held_out_sizes": HELD_OUT, "band": BAND, "kernels": rows, "paper": paper_rows()}


def _draw(
    kernel: str, built: Mapping[str, BuiltBand], rows: Mapping[str, Any], source: ReplaySource, folder: Path
) -> None:
    sizes = held_out(source)
    drawn = {
        f"{method}: {row['points']} points, mean error {row['mean_error_percent']:.1f} %": (
            built[method].band,
            built[method].to_dict()["points"],
        )
        for method, row in rows.items()
    }
    title = f"{kernel} on recorded speeds"
    plots.plot_builders(drawn, folder / f"{kernel}.png", title=title, held_out=(sizes, source.speeds(sizes)))


def held_out(source: ReplaySource) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Sizes of the sweep, in elements, none of them an end of the recording."""
    half = HELD_OUT // 2
    share = (np.arange(half) + 0.5) / half
    a, b = source.smallest, source.largest
    return np.sort(np.concatenate([a + (b - a) * share, a * (b / a) ** share]))


def lines(found: dict[str, Any]) -> list[str]:
    """The table for the terminal."""
    head = f"{'':<14}{'method':<10}{'speedup':>9}{'points':>8}{'mean error':>12}{'max error':>11}"
    text = [f"GBBP, Table 1 on recorded speeds ({found['held_out_sizes']} held-out sizes)", head]
    for kernel, methods in found["kernels"].items():
        for method, row in methods.items():
            text.append(
                f"{kernel:<14}{method:<10}{row['speedup_over_grid']:>9.1f}{row['points']:>8}"
                f"{row['mean_error_percent']:>10.1f} %{row['max_error_percent']:>9.1f} %"
            )
        text.append(paper_line(kernel, found["paper"]))
    return text
