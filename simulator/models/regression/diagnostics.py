"""How well a formula describes its runs, which runs stand out, and which one is worth making next."""

import itertools
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from simulator.base import ties
from simulator.base.arrays import Floats
from simulator.models.regression.blend import Blend
from simulator.models.regression.least_squares import LinearFit
from simulator.models.regression.runs import Runs, cells_of
from simulator.models.regression.runtime_model import Part, RuntimeModel

OUTLYING = 4.5
"""Robust standard deviations from which a run stands out."""
LEAST_SPREAD = 0.02
"""Least relative scatter that a run is judged by."""
MAX_CANDIDATES = 2_000


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


@dataclass(frozen=True)
class NextRun:
    """One measurement worth making."""

    point: dict[str, float]
    cost_s: float
    half_width_before: float
    """Half-width of the target's confidence interval now, relative to its mean (one standard deviation)."""
    half_width_after: float


def advise_next_run(
    model: RuntimeModel, target: Mapping[str, float], *, candidates: Mapping[str, ArrayLike] | None = None, top: int = 5
) -> list[NextRun]:
    """Rank possible runs by how far they would narrow the mean prediction at `target`.

    The variance of the target given one more run is the usual Gaussian one: `v - c**2 / (w + noise)`, where c is the
    covariance of the two predictions and w the variance of the candidate's; for the default method both include how far
    the candidate structures disagree, so that a run that separates them counts.

    `candidates`: parameter -> array of shape (n,): the runs to choose from. By default the grid of all trained values
    and of the values half way (geometrically) towards the target.
    """
    points = _grid(model, target) if candidates is None else _columns(model, candidates)
    wanted = np.array([[float(target[name]) for name in model.names]])
    points = points[(points != wanted).any(axis=1)]
    table = np.vstack([wanted, points])
    columns = dict(zip(model.names, table.T, strict=True))
    mean, variance, covariance, noise = np.sum([_part_moments(part.fit, columns) for part in model.parts], axis=0)
    after = np.maximum(variance[0] - covariance[1:] ** 2 / np.maximum(variance[1:] + noise[1:], 1e-300), 0.0)
    usable = np.flatnonzero(mean[1:] > 0)
    # As shares of what is known now: below rounding of that, runs are worth the same.
    order = usable[ties.in_order(after[usable] / max(variance[0], 1e-300), mean[1:][usable], floor=ties.SAME)][:top]
    before = float(np.sqrt(variance[0]) / max(abs(mean[0]), 1e-300))
    return [
        NextRun(
            point={name: float(x) for name, x in zip(model.names, points[i], strict=True)},
            cost_s=float(mean[1 + i]),
            half_width_before=before,
            half_width_after=float(np.sqrt(after[i]) / max(abs(mean[0]), 1e-300)),
        )
        for i in order
    ]


def _part_moments(fit: Blend | LinearFit, columns: Mapping[str, Floats]) -> tuple[Floats, Floats, Floats, Floats]:
    """Mean, variance, covariance with row 0 and noise variance in s^2, each of shape (n,)."""
    if isinstance(fit, LinearFit):
        design = fit.design(columns)
        spread = design @ fit.covariance * fit.variance
        mean = fit.point(columns)
        noise = fit.variance * (mean**2 if fit.relative else np.ones(len(mean)))
        return mean, (spread * design).sum(axis=1), spread @ design[0], noise
    logs, covariance, noise = fit.covariances(columns)
    middle = fit.steady @ logs
    away = logs - middle
    variance = np.einsum("m,mn->n", fit.weight, covariance[1] + away**2)
    shared = np.einsum("m,mn->n", fit.weight, covariance[0] + away * away[:, :1])
    mean = np.exp(middle)
    return mean, variance * mean**2, shared * mean * mean[0], (fit.weight @ noise) * mean**2


def _grid(model: RuntimeModel, target: Mapping[str, float]) -> Floats:
    points = np.vstack([part.points for part in model.parts])
    levels = []
    for k, name in enumerate(model.names):
        values = np.unique(points[:, k])
        if len(values) > 12:
            values = np.quantile(values, np.linspace(0, 1, 12), method="nearest")
        levels.append(np.unique(np.append(values, _towards(model, k, float(target[name]), points[:, k]))))
    grid = np.array(list(itertools.islice(itertools.product(*levels), MAX_CANDIDATES)))
    aim = np.array([float(target[name]) for name in model.names])
    kept = np.ones(len(grid), bool)
    for a, b in itertools.combinations(range(len(model.names)), 2):
        ratio = _constant_ratio(points[:, a], points[:, b])
        if np.isclose(aim[a], ratio * aim[b]):  # parameters that always go together stay so
            kept &= np.isclose(grid[:, a], ratio * grid[:, b])
    return grid[kept]


def _towards(model: RuntimeModel, index: int, aim: float, trained: Floats) -> list[float]:
    """The target's value and the one half way to it, if it lies outside the trained range."""
    edge = model.high[index] if aim > model.high[index] else model.low[index]
    if model.low[index] <= aim <= model.high[index] or edge <= 0 or aim <= 0:
        return [aim]
    halfway = float(np.sqrt(edge * aim))
    return [aim, float(np.round(halfway)) if np.array_equal(trained, np.round(trained)) else halfway]


def _constant_ratio(one: Floats, other: Floats) -> float:
    """The ratio of two parameters if it never changed while they did, NaN otherwise."""
    if np.ptp(one) == 0 or (other == 0).any():
        return float("nan")
    ratio = one / other
    return float(ratio[0]) if np.ptp(ratio) == 0 else float("nan")


def _columns(model: RuntimeModel, candidates: Mapping[str, ArrayLike]) -> Floats:
    arrays = (np.atleast_1d(np.asarray(candidates[name], dtype=np.float64)) for name in model.names)
    return np.column_stack(np.broadcast_arrays(*arrays))
