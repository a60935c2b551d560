"""How well a formula describes its runs, and which runs stand out."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from simulator.base import ties
from simulator.base.arrays import Floats
from simulator.models.regression.blend import Blend
from simulator.models.regression.runs import Runs, cells_of
from simulator.models.regression.runtime_model import Part, RuntimeModel

OUTLYING = 4.5
"""Robust standard deviations from which a run stands out."""
LEAST_SPREAD = 0.02
"""Least relative scatter that a run is judged by."""


@dataclass(frozen=True)
class Outlier:
    """A run that stands out."""

    run: str
    time_s: float
    expected_s: float
    factor: float


@dataclass(frozen=True)
class Structure:
    """What the formula may lack, and how likely that is by the runs."""

    structure: str
    weight: float


@dataclass(frozen=True)
class Diagnosis:
    """How well one part of a model describes its runs."""

    runs: int
    points: int
    mean_relative_error: float | None
    r2: float | None
    """None where all runs take as long."""
    forward_error: float | None
    """Mean error on larger runs that it was not fitted to; None where that was not looked at."""
    outliers: tuple[Outlier, ...]
    structures: tuple[Structure, ...]
    """The heaviest first; none of a linear model."""


def diagnose(model: RuntimeModel, runs: Mapping[str, Runs]) -> dict[str, Diagnosis]:
    """Diagnostics of every part, by response."""
    return {part.response: _diagnosis(part, runs[part.response], model.method) for part in model.parts}


def _diagnosis(part: Part, runs: Runs, method: str) -> Diagnosis:
    fit, names = part.fit, part.formula.names
    own = Runs(names, runs.values[:, [runs.names.index(name) for name in names]], runs.times_s, runs.labels)
    predicted = fit.point(own.columns())
    positive = (runs.times_s != 0).all()
    return Diagnosis(
        runs=len(runs.times_s),
        points=len(cells_of(own).time_s),
        mean_relative_error=float(np.mean(np.abs(predicted / runs.times_s - 1))) if positive else None,
        r2=_r2(own, predicted, relative=method != "ols"),
        forward_error=fit.forward_error if isinstance(fit, Blend) else None,
        outliers=_outliers(own, predicted),
        structures=_structures(fit) if isinstance(fit, Blend) else (),
    )


def _r2(runs: Runs, predicted: Floats, *, relative: bool) -> float | None:
    """R^2 against a constant time, weighed as the fit was; None where the times do not differ."""
    cells = cells_of(runs)
    weight = 1.0 / cells.mean_s[cells.cell_of_run] ** 2 if relative else np.ones(len(predicted))
    centre = np.average(runs.times_s, weights=weight)
    total = float(weight @ (runs.times_s - centre) ** 2)
    return 1.0 - float(weight @ (runs.times_s - predicted) ** 2) / total if total else None


def _outliers(runs: Runs, predicted: Floats) -> tuple[Outlier, ...]:
    """Runs far from their point's median (where it was repeated) or from the model, by name."""
    cells = cells_of(runs)
    repeated = (cells.runs >= 3)[cells.cell_of_run]
    centre = np.where(repeated, cells.time_s[cells.cell_of_run], predicted)
    usable = (runs.times_s > 0) & (centre > 0)
    away = np.zeros(len(centre))
    away[usable] = np.log(runs.times_s[usable] / centre[usable])
    found = []
    for group in (repeated, ~repeated):
        members = np.flatnonzero(group & usable)
        if len(members) < 4:
            continue
        # Among repetitions one deviation of each point's is 0, which `run_sd` allows for.
        scatter = cells.run_sd if group is repeated else float(1.4826 * np.median(np.abs(away[members])))
        spread = max(LEAST_SPREAD, scatter)
        found += [int(i) for i in members[np.abs(away[members]) > OUTLYING * spread]]
    return tuple(
        Outlier(runs.labels[i], float(runs.times_s[i]), float(centre[i]), float(runs.times_s[i] / centre[i]))
        for i in sorted(found)
    )


def _structures(blend: Blend) -> tuple[Structure, ...]:
    """What the formula may lack, with the weight that the runs give it, heaviest first."""
    weights: dict[tuple[str, str], float] = {}
    for which, weight in zip(blend.extra[blend.steady > 0], blend.steady[blend.steady > 0], strict=True):
        extra = blend.design.extras[int(which)]
        weights[extra.kind, extra.name] = weights.get((extra.kind, extra.name), 0.0) + float(weight)
    texts = {
        "none": "the formula's terms alone",
        "constant": "and a fixed overhead",
        "alone": "a fixed cost in place of the formula",
        "frozen": "and a share that does not change with {}",
        "log": "and an overhead that grows with log {}",
        "linear": "and an overhead that grows with {}",
    }
    ranked = [list(weights.items())[place] for place in ties.in_order([-weight for weight in weights.values()])]
    return tuple(Structure(texts[kind].format(name), weight) for (kind, name), weight in ranked)
