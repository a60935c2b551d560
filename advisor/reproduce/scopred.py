"""ScoPred (Lafreniere and Sodan): every prediction cell of its tables, by the paper, our `ols` and our `default`.

Table 4 is fitted to the training set as printed, for an honest forecast, and once more to the one that its figures
imply (classes S, W, B), where `ols` must meet the paper's cells.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from advisor.reproduce import scopred_splits
from simulator.calibration import read_shipped_table
from simulator.models import RuntimeModel, fit, make_runs

TITLE = "ScoPred: run times predicted from history"
PARAMETERS = ("N", "P", "Q")
LEVEL = 0.9
"""Of the default method's intervals."""
LEVELS = {"ols": 0.95, "default": LEVEL}
"""Of the intervals of each method: `ols` as in the paper."""

Rows = list[dict[str, str]]


def reproduce() -> dict[str, Any]:
    """Compute all cells and the errors per table.

    Returns
    -------
    dict
        `cells`: one entry per prediction; `tables`: mean and worst error in percent of the paper, of `ols` and of
        `default` on the honest forecasts, and how many observed means lie in each one's prediction interval: 95 % of
        the paper and of `ols`, which repeats it, and 90 % of `default`, which is `level`;
        `overall`: the same over all tables, each counted once; `splits`: the study of `scopred_splits`.
    """
    training, targets = _rows("papers/scopred_training.csv"), _rows("papers/scopred_targets.csv")
    cells = [cell for case in _in_order(row["case"] for row in targets) for cell in _case(case, training, targets)]
    honest = [cell for cell in cells if cell["honest"]]
    tables = [_summary(f"table {number}", number, honest) for number in _in_order(cell["table"] for cell in honest)]
    return {
        "paper": "scopred",
        "title": TITLE,
        "level": LEVEL,
        "cells": cells,
        "tables": tables,
        "overall": _overall(tables, honest),
        "splits": scopred_splits.study(),
    }


def text(result: dict[str, Any]) -> str:
    """The cells side by side, then the errors per table."""
    lines = [
        TITLE,
        "",
        f"{'case':22}{'N':>11}{'P':>4}{'Q':>4}{'observed':>10}{'paper':>10}{'ols':>10}{'default':>10}  90 % interval",
    ]
    for cell in result["cells"]:
        where = "".join(f"{cell['at'].get(name, ''):>{width}}" for name, width in (("N", 11), ("P", 4), ("Q", 4)))
        values = "".join(f"{cell[name]:10.2f}" for name in ("observed_s", "paper_s", "ols_s", "default_s"))
        low, high = cell["default_prediction_s"]
        lines.append(f"{cell['name']:22}{where}{values}  {low:.2f} to {high:.2f}")
    lines += [
        "",
        f"{'error in %, mean / worst':26}{'paper':>14}{'ols':>14}{'default':>14}   observed mean in",
        f"{'':68}   intervals of 95, 95, 90 %",
    ]
    for table in [*result["tables"], result["overall"]]:
        errors = "".join(
            f"{table[name]['mean_percent']:7.1f} /{table[name]['worst_percent']:5.1f}"
            for name in ("paper", "ols", "default")
        )
        inside = ", ".join(f"{name} {table[name]['inside']}" for name in ("paper", "ols", "default"))
        lines.append(f"{table['name']:26}{errors}   {inside} of {table['count']}")
    half = result["overall"]["default"]["median_half_width_percent"]
    lines += ["", f"median half-width of the default's 90 % prediction intervals: {half:.1f} % of the prediction"]
    return "\n".join([*lines, "", scopred_splits.text(result["splits"])])


def _case(case: str, training: Rows, targets: Rows) -> Iterator[dict[str, Any]]:
    """All cells of one case; a case measured in parts gives the cells of each part and of their sum."""
    own = [row for row in training if row["case"] == case]
    responses = _in_order(row["response"] for row in own)
    for response in _in_order(row["response"] for row in targets if row["case"] == case):
        parts = [response] if response in responses else responses
        models = {method: _fit(own, parts, method) for method in ("ols", "default")}
        wanted = [row for row in targets if row["case"] == case and row["response"] == response]
        yield from _cells(own[0], wanted, models, response if len(responses) > 1 else "")


def _fit(own: Rows, responses: list[str], method: str) -> RuntimeModel:
    formulas, runs = {}, {}
    for response in responses:
        rows = [row for row in own if row["response"] == response for _ in range(int(row["runs"]))]
        formulas[response] = rows[0]["formula"]
        values = {name: [float(row[name]) for row in rows] for name in PARAMETERS if rows[0][name]}
        runs[response] = make_runs(values, [float(row["time_s"]) for row in rows])
    return fit(formulas, runs, method=method)


def _cells(first: dict[str, str], wanted: Rows, models: dict[str, RuntimeModel], part: str) -> Iterator[dict[str, Any]]:
    names = models["ols"].names
    values = {name: np.array([float(row[name]) for row in wanted]) for name in names}
    found = {method: model.predict(values, level=LEVELS[method]) for method, model in models.items()}
    inferred = first["variant"] == "inferred"
    for i, row in enumerate(wanted):
        cell: dict[str, Any] = {
            "case": row["case"],
            "name": row["case"] + (f" {part}" if part else ""),
            "table": int(row["table"]),
            "response": row["response"],
            "at": {name: int(row[name]) for name in PARAMETERS if row[name]},
            # A part of a table that also has their sum, or a target that was trained on, is no forecast of its own.
            "honest": not inferred and row["in_training"] == "no" and part in ("", "total"),
            "observed_s": float(row["observed_s"]),
            "paper_s": float(row["paper_s"]),
            "paper_error_percent": _number(row["paper_error_percent"]),
            "paper_confidence_half_s": _number(row["paper_confidence_s"]),
        }
        half = float(row["paper_prediction_s"]) if row["paper_prediction_s"] else None
        cell["paper_prediction_s"] = None if half is None else [cell["paper_s"] - half, cell["paper_s"] + half]
        for method, predictions in found.items():
            cell[f"{method}_s"] = float(predictions.mean_s[i])
            cell[f"{method}_confidence_s"] = [float(x) for x in predictions.confidence_s[i]]
            cell[f"{method}_prediction_s"] = [float(x) for x in predictions.prediction_s[i]]
        yield cell


def _summary(name: str, number: int, cells: list[dict[str, Any]]) -> dict[str, Any]:
    own = [cell for cell in cells if cell["table"] == number]
    observed = np.array([cell["observed_s"] for cell in own])
    found: dict[str, Any] = {"name": name, "count": len(own)}
    for method in ("paper", "ols", "default"):
        error = np.abs(np.array([cell[f"{method}_s"] for cell in own]) / observed - 1.0) * 100
        inside = sum(_holds(cell[f"{method}_prediction_s"], cell["observed_s"]) for cell in own)
        found[method] = {"mean_percent": float(error.mean()), "worst_percent": float(error.max()), "inside": inside}
    return found


def _overall(tables: list[dict[str, Any]], honest: list[dict[str, Any]]) -> dict[str, Any]:
    """Mean over the tables, so that a table with many cells counts like any other; worst cell; intervals over cells."""
    found: dict[str, Any] = {"name": f"mean over {len(tables)} tables", "count": len(honest)}
    for method in ("paper", "ols", "default"):
        found[method] = {
            "mean_percent": float(np.mean([table[method]["mean_percent"] for table in tables])),
            "worst_percent": max(table[method]["worst_percent"] for table in tables),
            "inside": sum(table[method]["inside"] for table in tables),
        }
        widths = [_half_width(cell[f"{method}_prediction_s"], cell[f"{method}_s"]) for cell in honest]
        found[method]["median_half_width_percent"] = float(np.median([width for width in widths if width is not None]))
    return found


def _holds(interval: list[float] | None, value: float) -> bool:
    return interval is not None and interval[0] <= value <= interval[1]


def _number(text: str) -> float | None:
    return float(text) if text else None


def _half_width(interval: list[float] | None, mean: float) -> float | None:
    return None if interval is None else (interval[1] - interval[0]) / 2 / mean * 100


def _rows(name: str) -> Rows:
    table = read_shipped_table(name)
    return [dict(zip(table.names, row, strict=True)) for row in table.rows]


def _in_order(values: Any) -> list[Any]:
    return list(dict.fromkeys(values))
