"""The speed-band paper: Table 1, run here or on recordings, and the load-function study on the shipped trace.

The paper's desktop was foretold best with a window of 60 minutes and a history of 4 hours of one-minute loads, that is
`w = 60` and `h = 240` observations. The same numbers of observations are studied here, at the recording's own step, and
at one minute as well where the recording is long enough.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from advisor.reproduce import gbbp_live, gbbp_table
from simulator import LoadTrace, files, read_trace, units
from simulator.load_traces import load_study
from simulator.models import regular_step

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
    return {"table_1": table_1 or gbbp_table.table(folder), "load_study": study_shipped_trace()}


def text(result: dict[str, Any]) -> str:
    """Table and study for the terminal."""
    study = result["load_study"]
    duration, paper = units.show_duration(study["duration_s"]), study["paper"]
    lines = [
        *(gbbp_live if result["table_1"]["clock"] == "real" else gbbp_table).lines(result["table_1"]),
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
