"""How well a formula describes its runs: fit measures, the three assumptions about residuals, and runs that stand out.

Sources: ScoPred section 4.1 and 4.2 (R^2, adjusted R^2, F test, the assumptions); Durbin and Watson 1950, Breusch and
Pagan 1979 (Koenker's studentised form), Jarque and Bera 1980 for the tests of the assumptions.
"""

from typing import Any

import numpy as np
from scipy.special import chdtrc, erfc, fdtrc

from simulator.base import ties
from simulator.base.errors import ScenarioError
from simulator.models.regression.blend import Blend
from simulator.models.regression.least_squares import fit_linear
from simulator.models.regression.runs import Floats, Runs, cells_of
from simulator.models.regression.runtime_model import RuntimeModel

SIGNIFICANT = 0.05
"""Probability below which an assumption counts as violated."""
FEWEST = 8
"""Residuals below which the tests of the assumptions say nothing."""
OUTLYING = 4.5
"""Robust standard deviations from which a run stands out."""
LEAST_SPREAD = 0.02
"""Least relative scatter that a run is judged by."""


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
    told = {
        "none": "the formula's terms alone",
        "constant": "and a fixed overhead",
        "alone": "a fixed cost in place of the formula",
        "frozen": "and a share that does not change with {}",
        "log": "and an overhead that grows with log {}",
        "linear": "and an overhead that grows with {}",
    }
    ranked = [list(weights.items())[place] for place in ties.in_order([-weight for weight in weights.values()])]
    return [{"structure": told[kind].format(name), "weight": weight} for (kind, name), weight in ranked]
