"""The Apex-MAP paper: models 0 to 3, and the same with more levels, fitted to recorded times.

The paper prints the models and how they are fitted (sum of squared errors, residuals, signs of latencies and gaps), and
no parameters of any system. Cells (M, alpha, L) are left out of the fits in turn, which judges them.
"""

from pathlib import Path
from typing import Any

from advisor.report.papers import REPEATED, Cell, Compared
from advisor.report.text import aligned
from advisor.reproduce.comparison import judged
from simulator import files, plots
from simulator.calibration import MemoryFit, fit_memory, read_memory_times
from simulator.models import MemoryModel

TITLE = "Apex-MAP (Strohmaier), table 2: models of the average time per data access"
SHIPPED = "papers/apexmap_two_core_vm.csv"
EXPLAINED = (
    "T = sum over levels of (P_k - P_(k-1)) * (l_k + g_k*(L-1)) / L, P_k = min(1, c_k/M)^alpha; sizes c_k fitted too",
    "SSE and errors of the fit; held out: mean and largest relative error on cells left out of the fit in turn",
)
CITATION = (
    "E. Strohmaier: Performance models for the average time per data access of Apex-MAP (CTWatch, November 2006 B)"
)
MISPRINTS = ("The last term of model 3 is printed (l2 + g * (L - 1)) / L2; it is (l2 + g2 * (L - 1)) / L.",)
AT = {"c": 4096.0, "M": 65536.0, "alpha": 0.5, "L": 16.0}
"""Where the formulas are compared: words, words, 1, words."""
LATENCIES, GAPS = (2e-9, 80e-9), (1e-9, 3e-9)
WORD_BYTES = 8.0

Document = dict[str, Any]


def reproduce(folder: Path | None = None) -> Document:
    """Every model's fit to the recorded times, and its errors.

    `folder`: where a figure for each model goes; None for nowhere.

    Returns
    -------
    dict
        `models` (per model: parameters with standard errors, SSE, errors of the fit and held out, faults),
        `chosen`, `comparison` with the capacities that the system reports, `warnings`, `provenance`.
    """
    fit = fit_memory(read_memory_times(files.shipped("scenarios", SHIPPED)))
    found = _document(fit)
    return found if folder is None else found | {"figures": _draw(fit, folder)}


def text(result: dict[str, Any]) -> str:
    """The models for the terminal."""
    rows = [
        [
            f"{model['name']}{', chosen' if model['name'] == result['chosen'] else ''}",
            *(f"{model[name]:.3g}" for name in ("sse", "relative_sse")),
            *(f"{model[name]:.1%}" for name in ("mean_relative_error", "max_relative_error")),
            *(f"{model[name]:.1%}" for name in ("held_out_mean", "held_out_max")),
            "yes" if model["physical"] else "no",
        ]
        for model in result["models"]
    ]
    head = ["model", "SSE, s^2", "relative", "mean", "max", "held out", "max", "physical"]
    lines = [
        TITLE,
        f"{result['cells']} cells on a shipped table",
        *EXPLAINED,
    ]
    lines += aligned(head, rows)
    for model in result["models"]:
        lines += _parameter_lines(model)
    lines += [f"not physical: {model['name']}: {fault}" for model in result["models"] for fault in model["faults"]]
    for one in result["comparison"]:
        nearest = one["nearest_fitted_bytes"]
        fitted = "no fitted capacity" if nearest is None else f"nearest fitted {nearest / 1024:.4g} KiB"
        lines.append(f"{one['name']}: the system reports {one['reported_bytes'] / 1024:.4g} KiB, {fitted}")
    lines += [f"figure: {path}" for path in result.get("figures", ())]
    return "\n".join([*lines, *(f"warning: {line}" for line in result["warnings"])])


def _document(fit: MemoryFit) -> dict[str, Any]:
    fitted = fit.to_dict()
    return {
        "paper": "apexmap",
        "title": TITLE,
        "cells": len(fit.selection.points),
        "models": fitted["models"],
        "not_fitted": fitted["not_fitted"],
        "chosen": fitted["chosen"],
        "comparison": fitted["comparison"],
        "warnings": fitted["warnings"],
        "provenance": fitted["provenance"],
    }


def _draw(fit: MemoryFit, folder: Path) -> list[str]:
    """A figure for each model that is physical."""
    points = fit.selection.points
    columns = {
        "M_words": points.m_words,
        "alpha": points.alpha,
        "L": points.run_words,
        "time_per_word_s": points.time_s,
    }
    paths = []
    for one in fit.selection.candidates:
        if not one.physical or one.held_out_s is None:
            continue
        path = folder / f"{one.name.replace(',', '').replace(' ', '-')}.svg"
        error = abs(one.held_out_s / points.time_s - 1).mean()
        title = f"{one.name}: {error:.1%} mean error on cells left out in turn"
        plots.memory_fit(columns, one.held_out_s, title=title).save(path)
        paths.append(str(path))
    return paths


def _parameter_lines(model: dict[str, Any]) -> list[str]:
    found = [f"{model['name']}:"]
    for level in model["parameters"]:
        capacity = level["capacity_bytes"]
        size = "" if capacity is None else f"c = {capacity / 1024:.4g} KiB {_error(level, 'capacity_bytes')}, "
        parts = [f"{name[0]} = {1e9 * level[name]:.3g} ns {_error(level, name)}" for name in ("latency_s", "gap_s")]
        found.append(f"    {size}{', '.join(parts)}")
    return found


def _error(level: dict[str, Any], name: str) -> str:
    error, value = level[f"{name}_error"], level[name]
    if error is None or not value:
        return "(not determined)"
    return f"+-{abs(error / value):.0%}"


def inventory(result: Document) -> list[Compared]:
    """The models' formulas, and their fits, of which the paper prints none."""
    fits = ", ".join(f"{model['name']} {100 * model['held_out_mean']:.0f} %" for model in result["models"])
    because = (
        f"The paper prints no parameter and no error of any system. Fitted to {result['cells']} cells of a shipped "
        f"table, mean errors on cells held out: {fits}. Chosen: {result['chosen']}."
    )
    return [
        judged(
            "table 2",
            "Four models of the time per data access",
            "The printed formulas (model 3 without its misprint) against our model of levels, at one point.",
            _formulas(),
            tolerance=1e-6,
        ),
        Compared("text", "Fits by least squares, residuals, latencies and gaps in order", REPEATED, because),
    ]


def _formulas() -> list[Cell]:
    """Each model by its printed formula and as levels of ours, in seconds."""
    c, m, alpha, run = AT.values()
    (l1, l2), (g1, g2) = LATENCIES, GAPS
    hit = (c / m) ** alpha
    printed = {
        "model 0": g1,
        "model 1": hit * g1 + (1 - hit) * g2,
        "model 2": (l1 + g1 * (run - 1)) / run,
        "model 3": hit * (l1 + g1 * (run - 1)) / run + (1 - hit) * (l2 + g2 * (run - 1)) / run,
    }
    levels = {
        "model 0": ((), (g1,), (g1,)),
        "model 1": ((c,), GAPS, GAPS),
        "model 2": ((), (l1,), (g1,)),
        "model 3": ((c,), LATENCIES, GAPS),
    }
    return [Cell(name, "time per access", printed[name], _time_s(*levels[name]), 0.0, "s") for name in printed]


def _time_s(capacities: tuple[float, ...], latencies: tuple[float, ...], gaps: tuple[float, ...]) -> float:
    bounds: list[float | None] = [*(WORD_BYTES * words for words in capacities), None]
    levels = [
        {"name": f"level {k}", "capacity_bytes": bound, "latency_s": latency, "gap_s": gap}
        for k, (bound, latency, gap) in enumerate(zip(bounds, latencies, gaps, strict=True))
    ]
    plain: dict[str, Any] = {"form": "levels", "levels": levels, "correction": None, "spread": 0.0, "scores": []}
    errors = dict.fromkeys(("mean_relative_error", "max_relative_error", "held_out_mean", "held_out_max"), 0.0)
    plain |= {"trained": {"M_words": [1, 1], "alpha": [1, 1], "L": [1, 1]}, "statistics": {"points": 1} | errors}
    return float(MemoryModel.from_dict(plain).time_per_word_s(AT["M"], AT["alpha"], AT["L"]))
