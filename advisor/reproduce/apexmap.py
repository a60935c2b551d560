"""The Apex-MAP paper: models 0 to 3, and the same with more levels, fitted to times measured here.

The paper prints the models and how they are fitted (sum of squared errors, residuals, signs of latencies and gaps), and
no parameters of any system. One cell (M, alpha, L) in five is kept from all fits and judges them.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from advisor.reproduce import apexmap_speeds
from simulator import files, plots, this_machine
from simulator.calibration import (
    JudgedFit,
    MeasuredMemory,
    fit_held_out,
    fit_sweep,
    make_sweep,
    measure_sweep,
    measure_vectors,
    read_memory_times,
    write_sweep_table,
)

TITLE = "Apex-MAP (Strohmaier), table 2: models of the average time per data access"
SHIPPED = "papers/apexmap_two_core_vm.csv"
DOCUMENT, TABLE, VISITS = "apexmap.json", "apexmap.csv", "visits.jsonl"
SEED = 1
VECTORS = 0.06
"""Part of the budget for vector loops over the same memory."""
HEAD = f"{'model':<26}{'SSE, s^2':>10}{'relative':>10}{'mean':>8}{'max':>8}{'held out':>10}{'max':>8}  physical"
EXPLAINED = (
    "T = sum over levels of (P_k - P_(k-1)) * (l_k + g_k*(L-1)) / L, P_k = min(1, c_k/M)^alpha; sizes c_k fitted too",
    "SSE and errors over the cells fitted; held out: mean and largest relative error on cells that no fit saw",
)


def measure(
    folder: Path,
    *,
    budget_s: float,
    cpu: int,
    seed: int,
    max_memory: str | None = None,
    on_progress: Callable[[str, float], None],
) -> MeasuredMemory:
    """Sweep Apex-MAP on one PE and fit; every visit is kept in the folder, where a run broken off goes on.

    Raises
    ------
    ScenarioError
        If the budget is too small, or the folder holds visits of another sweep.
    """
    machine = this_machine()
    plan = make_sweep(machine, cpu=cpu, seed=seed, max_memory=max_memory)
    files.make_folder(folder)
    sweep_s, vectors_s = (1 - apexmap_speeds.SHARE - VECTORS) * budget_s, VECTORS * budget_s

    def told(what: str, share: float) -> None:
        on_progress(what, share * sweep_s / budget_s)

    sweep = measure_sweep(plan, machine=machine, budget_s=sweep_s, store=folder / VISITS, on_progress=told)
    write_sweep_table(sweep.cells, folder / TABLE)
    sweeps = measure_vectors(plan, machine, budget_s=vectors_s)
    told("fit", 1.0)
    measured = fit_sweep(sweep, machine, sweeps=sweeps)
    left_s = apexmap_speeds.SHARE * budget_s
    apexmap_speeds.measure(measured, folder, budget_s=left_s, cpu=cpu, on_progress=on_progress)
    return measured


def reproduce(measured: MeasuredMemory | None = None, folder: Path | None = None) -> dict[str, Any]:
    """Every model's fit and errors.

    Parameters
    ----------
    measured
        Times of this machine with their fits; by default a shipped table is fitted.
    folder
        Where the document and a figure for each model go; None for nowhere.

    Returns
    -------
    dict
        `models` (per model: parameters with standard errors, SSE, errors, errors `on_held_out` cells, faults),
        `chosen`, `comparison` with the capacities that the system reports, `warnings`, `provenance`; of this machine
        also `predicted_speeds` (per kernel: measured and foretold speeds, errors, figure).
    """
    warnings: tuple[str, ...] = ()
    if measured is None:
        times = read_memory_times(files.shipped("scenarios", SHIPPED))
        judged = fit_held_out(times, seed=SEED)
    else:
        judged, warnings = measured.judged, measured.sweep.warnings
    found = _document(judged) | {"recorded": measured is None}
    found["warnings"] = [*warnings, *found["warnings"]]
    if measured is not None:
        found["sweep"] = measured.sweep.to_dict()
    if folder is not None:
        found["figures"] = _draw(judged, folder)
        found["predicted_speeds"] = apexmap_speeds.foretold(folder) if measured is not None else {}
        files.write_json(folder / DOCUMENT, {"format": 1, "kind": "apexmap comparison", **found})
    return found


def text(result: dict[str, Any]) -> str:
    """The models for the terminal."""
    where = "on a shipped table" if result["recorded"] else "on this machine"
    lines = [TITLE, f"{result['cells']} cells {where}, {result['held_out_cells']} of them held out", *EXPLAINED, HEAD]
    for model in result["models"]:
        unseen = model["on_held_out"]
        lines.append(
            f"{model['name']:<26.26}{model['sse']:>10.3g}{model['relative_sse']:>10.3g}"
            f"{model['mean_relative_error']:>8.1%}{model['max_relative_error']:>8.1%}{unseen['mean']:>10.1%}"
            f"{unseen['max']:>8.1%}  {'yes' if model['physical'] else 'no'}"
            f"{', chosen' if model['name'] == result['chosen'] else ''}"
        )
    for model in result["models"]:
        lines += _parameter_lines(model)
    lines += [f"not physical: {model['name']}: {fault}" for model in result["models"] for fault in model["faults"]]
    lines += [_compared(one) for one in result["comparison"]]
    lines += [f"figure: {path}" for path in result.get("figures", ())]
    lines += apexmap_speeds.lines(result.get("predicted_speeds", {}))
    return "\n".join([*lines, *(f"warning: {line}" for line in result["warnings"])])


def _document(judged: JudgedFit) -> dict[str, Any]:
    fitted = judged.fit.to_dict()
    unseen = {one.name: {"mean": one.mean, "max": one.max} for one in judged.judged}
    return {
        "paper": "apexmap",
        "title": TITLE,
        "cells": len(judged.points),
        "held_out_cells": int(judged.held_out.sum()),
        "models": [model | {"on_held_out": unseen[model["name"]]} for model in fitted["models"]],
        "not_fitted": fitted["not_fitted"],
        "chosen": fitted["chosen"],
        "comparison": fitted["comparison"],
        "warnings": list(judged.warnings),
        "provenance": fitted["provenance"],
    }


def _draw(judged: JudgedFit, folder: Path) -> list[str]:
    """A figure for each model that is physical."""
    points = judged.points
    columns = {
        "M_words": points.m_words,
        "alpha": points.alpha,
        "L": points.run_words,
        "time_per_word_s": points.time_s,
    }
    paths = []
    for one in judged.judged:
        if not one.physical:
            continue
        path = folder / f"{one.name.replace(',', '').replace(' ', '-')}.svg"
        title = f"{one.name}: {one.mean:.1%} mean error on cells held out"
        plots.plot_memory_fit(columns, one.times_s, path, title=title, held_out=judged.held_out)
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


def _compared(one: dict[str, Any]) -> str:
    nearest = one["nearest_fitted_bytes"]
    fitted = "no fitted capacity" if nearest is None else f"nearest fitted {nearest / 1024:.4g} KiB"
    return f"{one['name']}: the system reports {one['reported_bytes'] / 1024:.4g} KiB, {fitted}"
