"""The default method of regression on leave-out splits of a paper's measurements and on truths that we made up.

These splits are no blind test: their figures were looked at while the method was being developed. No number in it is
set per table, but its choices were made by people who saw them.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from simulator import ScenarioError, randomness
from simulator.calibration import read_shipped_table
from simulator.models import fit, make_runs

METHODS = ("ols", "default")
FORMULAS = {
    "EP": "N/P",
    "FT": "(N/P)*log(N)",
    "HPL": "N**3/(3*P*Q) + N**2*(3*P+Q)/(2*P*Q) + N*log(P) + N*P",
}
SHORTEST_S = 0.1
"""Shorter times say more about the clock than about the program."""
FARTHEST = 4.0
"""Targets farther outside than this factor are guesses, and the model says so; they are left out here."""
NOISE = 0.02
REPETITIONS = 3
SEEDS = 20
WORK_S = 100.0
"""Time of the made-up program on one process."""

Columns = dict[str, Any]

TRUTHS: dict[str, Callable[[Any], Any]] = {
    "exactly N/P": lambda p: WORK_S / p,
    "Amdahl, 1 % serial": lambda p: WORK_S * (0.99 / p + 0.01),
    "Amdahl, 5 % serial": lambda p: WORK_S * (0.95 / p + 0.05),
    "P^-0.9": lambda p: WORK_S * p**-0.9,
    "P^-1.1": lambda p: WORK_S * p**-1.1,
    "missing 0.4 log2 P": lambda p: WORK_S / p + 0.4 * np.log2(p),
    "missing 0.05 P": lambda p: WORK_S / p + 0.05 * p,
}
"""Name -> seconds on P processes; the user's formula is N/P, trained on P = 2 to 16, asked for 32 and 64."""


@dataclass(frozen=True)
class Split:
    """Runs to train on and runs to predict."""

    family: str
    formula: str
    values: Columns
    times_s: Any
    targets: Columns
    truth_s: Any


def study_splits(seed: int = 1) -> list[dict[str, Any]]:
    """Errors and intervals of `ols` and `default` by family of splits.

    Returns
    -------
    list
        Per family: number of forecasts, and by method mean and worst error in percent, share of the truths inside the
        90 % prediction interval, and its median half-width in percent.
    """
    gathered: dict[str, dict[str, list[Any]]] = {}
    for split in [*_measured_splits(), *_made_up_splits(seed)]:
        runs = make_runs(split.values, split.times_s)
        for method in METHODS:
            try:
                predicted = fit({"t": split.formula}, {"t": runs}, method=method).predict(split.targets)
            except ScenarioError:
                continue  # ols refuses targets that the runs do not determine
            low, high = predicted.prediction_s.T
            into = gathered.setdefault(split.family, {}).setdefault(method, [])
            error = np.abs(predicted.mean_s / split.truth_s - 1) * 100
            inside = (low <= split.truth_s) & (split.truth_s <= high)
            into += list(zip(error, inside, (high - low) / 2 / predicted.mean_s * 100, strict=True))
    return [
        {"family": family} | {m: _split_summary(rows) for m, rows in found.items()}
        for family, found in gathered.items()
    ]


def _split_summary(rows: list[Any]) -> dict[str, float]:
    error, inside, half = (np.array(column, dtype=np.float64) for column in zip(*rows, strict=True))
    return {
        "forecasts": len(error),
        "mean_percent": float(error.mean()),
        "worst_percent": float(error.max()),
        "inside_percent": float(inside.mean() * 100),
        "median_half_width_percent": float(np.median(half)),
    }


def _measured_splits() -> Iterator[Split]:
    """Prefixes in P at each N, in N at each P, in both, and a fixed two thirds of all cells."""
    table = read_shipped_table("papers/scopred_observations.csv")
    application = np.array(table.text("application"))
    for name, formula in FORMULAS.items():
        own = (application == name) & (table.numbers("time_s") >= SHORTEST_S)
        values = {n: np.array([float(x or 0) for x in table.text(n)])[own] for n in ("N", "P", "Q")}
        values = values if name == "HPL" else {n: values[n] for n in ("N", "P")}
        times, size, processes = table.numbers("time_s")[own], values["N"], values["P"]
        masks = [
            (f"{name}, more processes", size == n, processes < p) for n in np.unique(size) for p in np.unique(processes)
        ]
        masks += [(f"{name}, larger", processes == p, size < n) for n in np.unique(size) for p in np.unique(processes)]
        everything = np.ones(len(times), bool)
        both = [(size < n) & (processes < p) for n in np.unique(size) for p in np.unique(processes)]
        masks += [(f"{name}, both", everything, seen) for seen in both]
        masks += [(f"{name}, in between", everything, np.arange(len(times)) % 3 != k) for k in range(3)]
        for family, among, seen in masks:
            split = _split(family, formula, (values, times), among, seen)
            if split is not None:
                yield split


def _split(family: str, formula: str, data: tuple[Columns, Any], among: Any, seen: Any) -> Split | None:
    values, times = data
    train = among & seen
    constant = [name for name, column in values.items() if np.ptp(column[among]) > 0 and len(set(column[train])) < 2]
    if train.sum() < 2 + formula.count(" + ") or constant:
        return None
    near = np.ones(len(times), bool)
    for column in values.values():
        near &= (column <= FARTHEST * column[train].max()) & (column >= column[train].min() / FARTHEST)
    target = among & ~seen & near
    if train.sum() < 3 or not target.any():
        return None
    return Split(
        family,
        formula,
        {name: column[train] for name, column in values.items()},
        times[train],
        {name: column[target] for name, column in values.items()},
        times[target],
    )


def _made_up_splits(seed: int) -> Iterator[Split]:
    trained, asked = np.arange(2.0, 17.0, 2.0), np.array([32.0, 64.0])
    for name, truth in TRUTHS.items():
        for number in range(SEEDS):
            noise = np.exp(
                NOISE * randomness.stream(seed, "scopred truths", name, number).standard_normal((REPETITIONS, 8))
            )
            yield Split(
                name,
                "N/P",
                {"N": np.full(REPETITIONS * 8, 1e9), "P": np.tile(trained, REPETITIONS)},
                (truth(trained) * noise).ravel(),
                {"N": np.full(2, 1e9), "P": asked},
                truth(asked),
            )
