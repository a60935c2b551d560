"""The speed-band paper: Table 1, run here or on recordings, and the load-function study on the shipped trace.

The paper's desktop was foretold best with a window of 60 minutes and a history of 4 hours of one-minute loads, that is
`w = 60` and `h = 240` observations. The same numbers of observations are studied here, at the recording's own step, and
at one minute as well where the recording is long enough.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from advisor.reproduce import gbbp_live
from advisor.reproduce.gbbp_score import METHODS, paper_line, paper_rows, score
from simulator import LoadTrace, files, plots, read_trace, units
from simulator.calibration.bands import BuiltBand, CutRule, ReplaySource, build, read_recorded_sizes
from simulator.load_traces import load_study
from simulator.models import regular_step

# The speed-band paper's Table 1 on recorded speed functions with a simulated clock: cost and error, always together.
#
# The three recordings that ship were really measured (`scenarios/papers/gbbp_*.csv`). Builders see them through
# `ReplaySource`; the held-out sweep lies between the recordings' sizes at places of its own.


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


def table_lines(found: dict[str, Any]) -> list[str]:
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


SHIPPED = "two-core-vm.csv"
WINDOW = 60
HISTORIES = (60, 120, 240, 480, 960)
PAPER_STEP_S = 60.0
PAPER_HISTORY = 240


def reproduce(table_1: dict[str, Any] | None = None, folder: Path | None = None) -> dict[str, Any]:
    """The paper's Table 1 and its load-function study.

    Parameters
    ----------
    table_1
        By default on recorded speeds.
    folder
        Where figures of recorded speeds go; None for nowhere.
    """
    return {"table_1": table_1 or table(folder), "load_study": study_shipped_trace()}


def text(result: dict[str, Any]) -> str:
    """Table and study for the terminal."""
    study = result["load_study"]
    duration, paper = units.show_duration(study["duration_s"]), study["paper"]
    lines = [
        *(gbbp_live.lines if result["table_1"]["clock"] == "real" else table_lines)(result["table_1"]),
        "",
        f"GBBP, load functions: {study['trace']}, {duration} of recorded load",
        f"(paper: best with a window of {paper['window']} and a history of {paper['history']} one-minute loads)",
    ]
    for part in study["studies"]:
        lines += ["", f"step {units.show_duration(part['step_s'])}, window {part['window']}"]
        lines.append(f"{'history':>10}{'hit ratio':>12}{'area, load x s':>18}")
        lines += [f"{row['history']:>10}{row['hit_ratio']:>12.1%}{row['area_s']:>18.4g}" for row in part["rows"]]
    return "\n".join(lines)


def study_shipped_trace(path: Path | None = None) -> dict[str, Any]:
    """Study a recorded trace at the paper's numbers of observations.

    Parameters
    ----------
    path
        Another recording in equal steps; by default the shipped one.

    Returns
    -------
    dict
        `trace`, `duration_s`, `paper` (what it found best), and `studies`: per step, rows as `StudyRow.to_dict` gives
        them, hit ratio, area and distance for each history.
    """
    path = path or files.shipped("traces", SHIPPED)
    trace = read_trace(path)
    studies = [_study(trace, HISTORIES)]
    if trace.end_s >= 2 * (PAPER_HISTORY + WINDOW) * PAPER_STEP_S:
        studies.append(_study(trace.resampled(PAPER_STEP_S), [h for h in HISTORIES if h <= PAPER_HISTORY]))
    return {
        "trace": path.name,
        "duration_s": trace.end_s,
        "paper": {"window": WINDOW, "history": PAPER_HISTORY, "step_s": PAPER_STEP_S},
        "studies": studies,
    }


def _study(trace: LoadTrace, histories: Sequence[int]) -> dict[str, Any]:
    """Hit ratio and area per history, for those that the trace is long enough for."""
    fitting = [history for history in histories if 2 * (history + WINDOW) <= trace.values.size]
    rows = load_study(trace, fitting, window=WINDOW)
    return {"step_s": regular_step(trace), "window": WINDOW, "rows": [row.to_dict() for row in rows]}
