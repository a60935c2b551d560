"""How well a formula describes its runs: fit measures, the three assumptions about residuals, and runs that stand out.

Sources: ScoPred section 4.1 and 4.2 (R^2, adjusted R^2, F test, the assumptions); Durbin and Watson 1950, Breusch and
Pagan 1979 (Koenker's studentised form), Jarque and Bera 1980 for the tests of the assumptions.
"""

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import chdtrc, erfc, fdtrc

from simulator.base import ties
from simulator.base.arrays import Floats
from simulator.base.errors import ScenarioError
from simulator.models.regression.blend import Blend
from simulator.models.regression.least_squares import LinearFit, fit_linear
from simulator.models.regression.runs import Runs, cells_of
from simulator.models.regression.runtime_model import RuntimeModel

SIGNIFICANT = 0.05
"""Probability below which an assumption counts as violated."""
FEWEST = 8
"""Residuals below which the tests of the assumptions say nothing."""
OUTLYING = 4.5
"""Robust standard deviations from which a run stands out."""
LEAST_SPREAD = 0.02
"""Least relative scatter that a run is judged by."""
MAX_CANDIDATES = 2_000


def diagnose(model: RuntimeModel, runs: dict[str, Runs]) -> dict[str, Any]:
    """Diagnostics of every part as plain data for JSON, by response."""
    return {part.response: _diagnose_part(model, k, runs[part.response]) for k, part in enumerate(model.parts)}


def _diagnose_part(model: RuntimeModel, index: int, runs: Runs) -> dict[str, Any]:
    fit = model.parts[index].fit
    blended = isinstance(fit, Blend)
    formula = fit.design.formula if isinstance(fit, Blend) else fit.formula
    own = Runs(formula.names, runs.values[:, [runs.names.index(n) for n in formula.names]], runs.times_s, runs.labels)
    predicted = fit.point(own.columns())
    logarithmic = model.method != "ols" and bool((predicted > 0).all() and (runs.times_s > 0).all())
    residuals = np.log(runs.times_s / predicted) if logarithmic else runs.times_s - predicted
    found: dict[str, Any] = {
        "runs": len(runs.times_s),
        "points": len(cells_of(own).time_s),
        "mean_relative_error": float(np.mean(np.abs(predicted / runs.times_s - 1)))
        if (runs.times_s != 0).all()
        else None,
        "residuals": "logarithmic" if logarithmic else "seconds",
        "assumptions": _assumptions(residuals, predicted),
        "outliers": _outliers(own, predicted),
    }
    try:
        linear = fit_linear(formula, own, relative=model.method != "ols")
        found |= _measures(own, linear.point(own.columns()), linear.rank, relative=linear.relative)
        found |= {"rank": linear.rank, "coefficients": len(linear.coefficients), "condition": linear.condition}
    except ScenarioError:
        found |= {"rank": None, "coefficients": None, "condition": None}
    if isinstance(fit, Blend):
        found["forward_error"] = fit.forward_error
        found["structures"] = _structures(fit)
    found["of"] = "the formula as a linear model with relative errors" if blended else "the fitted model"
    return found


def _measures(runs: Runs, predicted: Floats, rank: int, *, relative: bool) -> dict[str, Any]:
    """R^2, adjusted R^2 and the F test against a constant time."""
    weight = np.ones(len(predicted))
    if relative:
        cells = cells_of(runs)
        weight = 1.0 / cells.mean_s[cells.cell_of_run] ** 2
    centre = np.average(runs.times_s, weights=weight)
    total = float(weight @ (runs.times_s - centre) ** 2)
    rest = float(weight @ (runs.times_s - predicted) ** 2)
    count, free = len(predicted), len(predicted) - rank
    if total == 0.0 or rank < 2:
        return {"r2": None, "r2_adjusted": None, "f": None, "f_p": None}
    r2 = 1.0 - rest / total
    f = (total - rest) / (rank - 1) / max(rest / free, 1e-300)
    return {
        "r2": r2,
        "r2_adjusted": 1.0 - (1.0 - r2) * (count - 1) / free,
        "f": min(f, 1e300),
        "f_p": float(fdtrc(rank - 1, free, f)),
    }


def _assumptions(residuals: Floats, predicted: Floats) -> list[dict[str, Any]]:
    """Independence, constant variance and normality, each tested and judged in words."""
    count = len(residuals)
    if count < FEWEST or float(np.ptp(residuals)) == 0.0:
        verdict = f"not tested: {count} residuals, at least {FEWEST} that differ are needed"
        untested = {"statistic": None, "p": None, "holds": None, "verdict": verdict}
        return [{"assumption": name, **untested} for name, *_ in _TESTS]
    judged = []
    for name, test, well, ill in _TESTS:
        statistic, p = test(residuals, predicted)
        verdict = f"holds: {well}" if p >= SIGNIFICANT else f"violated: {ill}"
        judged.append(
            {"assumption": name, "statistic": statistic, "p": p, "holds": p >= SIGNIFICANT, "verdict": verdict}
        )
    return judged


def _durbin_watson(residuals: Floats, predicted: Floats) -> tuple[float, float]:
    """The statistic along the predicted time, and its two-sided probability by the normal approximation."""
    ordered = residuals[ties.in_order(predicted)]
    statistic = float((np.diff(ordered) ** 2).sum() / (ordered**2).sum())
    return statistic, float(erfc(abs(2.0 - statistic) * np.sqrt(len(ordered)) / 2.0 / np.sqrt(2.0)))


def _breusch_pagan(residuals: Floats, predicted: Floats) -> tuple[float, float]:
    """Koenker's n R^2 of the squared residuals on the predicted time."""
    squared = residuals**2
    if any(np.ptp(values) <= ties.SAME * np.max(np.abs(values)) for values in (predicted, squared)):
        return 0.0, 1.0
    statistic = float(len(squared) * np.corrcoef(squared, predicted)[0, 1] ** 2)
    return statistic, float(chdtrc(1, statistic))


def _jarque_bera(residuals: Floats, _: Floats) -> tuple[float, float]:
    away = residuals - residuals.mean()
    spread = np.sqrt(np.mean(away**2))
    skewness, kurtosis = np.mean((away / spread) ** 3), np.mean((away / spread) ** 4)
    statistic = float(len(residuals) / 6 * (skewness**2 + (kurtosis - 3) ** 2 / 4))
    return statistic, float(chdtrc(2, statistic))


_TESTS = (
    (
        "independence",
        _durbin_watson,
        "no pattern along the predicted time",
        "residuals of neighbouring times are alike: the formula misses a dependence",
    ),
    (
        "constant variance",
        _breusch_pagan,
        "the scatter is the same everywhere",
        "the scatter changes with the time: weigh the runs (methods relative or default)",
    ),
    ("normality", _jarque_bera, "compatible with a normal distribution", "tails or skewness: look at the outliers"),
)


def _outliers(runs: Runs, predicted: Floats) -> list[dict[str, Any]]:
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
    return [
        {
            "run": runs.labels[i],
            "time_s": float(runs.times_s[i]),
            "expected_s": float(centre[i]),
            "factor": float(runs.times_s[i] / centre[i]),
        }
        for i in sorted(found)
    ]


def _structures(blend: Blend) -> list[dict[str, Any]]:
    """What the formula may lack, with the weight that the runs give it, heaviest first."""
    weights: dict[tuple[str, str], float] = {}
    for which, weight in zip(blend.extra, blend.weight, strict=True):
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
    return [{"structure": texts[kind].format(name), "weight": weight} for (kind, name), weight in ranked]


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
    middle = fit.weight @ logs
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
