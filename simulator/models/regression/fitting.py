"""Fitting: checks that the runs can carry the formula, then one fit per part and what to warn about."""

from collections.abc import Mapping

import numpy as np

from simulator.base.arrays import Floats
from simulator.base.errors import ScenarioError, meant
from simulator.base.formula import Formula, parse
from simulator.models.regression.blend import Blend, fit_blend
from simulator.models.regression.candidates import NOISE_WEIGHT
from simulator.models.regression.least_squares import LinearFit, fit_linear
from simulator.models.regression.runs import Cells, Runs, cells_of, resolution_s
from simulator.models.regression.runtime_model import KEPT_POINTS, Part, RuntimeModel, observed_table

METHODS = ("default", "ols")
COARSE = 0.05
"""Half a recording step over the shortest time from which the recording is called coarse."""
POOR = 0.2
"""Median relative error at the trained points from which a fit is called poor."""
FEWEST_TAILS = 24
"""Runs from which on their residuals say more of tails than a normal distribution does."""
TAILS = 64
"""Quantiles that are kept of the residuals."""
STEEPER = 0.15
"""Exponent by which runs go with a parameter beyond what the formula says, from which that is told."""
SURE = 3.0
"""Standard deviations that it has to be away from 0."""


def fit(formulas: Mapping[str, Formula | str], runs: Mapping[str, Runs], *, method: str = "default") -> RuntimeModel:
    """Fit one model per response; the modelled time is the sum of the responses.

    Raises ScenarioError if the method is unknown, a response has fewer runs than coefficients or only one point, or a
    time is 0 and the method not `ols`; FormulaError if a term is infinite, undefined or (by default) negative at a
    run.

    `formulas`: response -> its cost formula, parsed or as text.
    `method`: `default`, or `ols`, the paper's.
    """
    if method not in METHODS:
        raise ScenarioError(f"method {method!r} is none of {', '.join(METHODS)}{meant(method, METHODS)}")
    parsed = {
        response: parse(formula, names=runs[response].names, place=f"formula of {response}")
        if isinstance(formula, str)
        else formula
        for response, formula in formulas.items()
    }
    names = tuple(dict.fromkeys(name for formula in parsed.values() for name in formula.names))
    parts, warnings, steeper, residuals = [], list[str](), list[str](), []
    for response, formula in parsed.items():
        own = _restricted(runs[response], formula.names)
        cells = cells_of(own)
        checked = _check(response, formula, own, cells, method)
        fitted = fit_blend(formula, cells) if method == "default" else fit_linear(formula, own)
        steeper += _exponents(response, fitted) if isinstance(fitted, Blend) else []
        warnings += checked
        everything = cells if formula.names == names else cells_of(_restricted(runs[response], names))
        part = Part(
            response,
            fitted,
            everything.values[:KEPT_POINTS],
            observed_table(everything)[:KEPT_POINTS],
            _tails(fitted, own, cells),
        )
        parts.append(part)
        warnings += _misfit(response, fitted, cells)
        if len(parsed) > 1:
            residuals.append(_residuals(part, everything))
    table = np.vstack([_restricted(runs[response], names).values for response in formulas])
    return RuntimeModel(
        method=method,
        parts=tuple(parts),
        names=names,
        low=table.min(axis=0),
        high=table.max(axis=0),
        correlation=_correlation(residuals),
        warnings=tuple(dict.fromkeys([*steeper, *warnings])),
    )


def collinear_terms(formula: Formula, values: Mapping[str, Floats]) -> tuple[str, ...]:
    """Terms that the constant and the terms before them determine at these points."""
    columns = formula.columns(values)
    basis = [np.ones(len(columns)) / np.sqrt(len(columns))]
    found = []
    for k, term in enumerate(formula.terms):
        rest = columns[:, k].astype(np.float64)
        size = np.linalg.norm(rest)
        for _ in range(2):  # twice is enough (Kahan)
            for direction in basis:
                rest = rest - (direction @ rest) * direction
        if np.linalg.norm(rest) <= 1e-8 * size:
            found.append(term.text)
        else:
            basis.append(rest / np.linalg.norm(rest))
    return tuple(found)


def _check(response: str, formula: Formula, runs: Runs, cells: Cells, method: str) -> list[str]:
    """Refuse what cannot be fitted; return what can, with care."""
    coefficients = 1 + sum(1 for term in formula.terms if term.names)
    collinear = collinear_terms(formula, cells.columns())
    if len(runs.times_s) < coefficients:
        raise ScenarioError(
            f"{response}: {len(runs.times_s)} runs are too few for {coefficients} coefficients; "
            f"give at least {coefficients}"
        )
    if len(cells.time_s) < 2:
        raise ScenarioError(f"{response}: all runs are at one point; give runs at 2 or more")
    impossible = np.flatnonzero(runs.times_s <= 0)
    if len(impossible) and method != "ols":
        raise ScenarioError(
            [f"{runs.labels[i]}: {response} is {runs.times_s[i]:g} s; give a time above 0 s" for i in impossible[:20]]
        )
    found = [
        f"{runs.labels[i]}: {response}: {runs.times_s[i]:g} s cannot be a time; ols fits it like any number"
        for i in impossible[:20]
    ]
    constant = [name for name in formula.names if np.ptp(runs.columns()[name]) == 0]
    if constant:
        found.append(f"{response}: {', '.join(constant)} constant in the runs: the runs say nothing about its effect")
    if collinear:
        found.append(
            f"{response}: {', '.join(collinear)} collinear with the other terms in these runs: its coefficient is not "
            "determined, only sums with the others are"
        )
    if len(cells.time_s) < coefficients:
        found.append(
            f"{response}: {len(cells.time_s)} distinct points for {coefficients} coefficients: the fit rests on what "
            "is assumed about them; add points"
        )
    step = resolution_s(runs.times_s)
    if step / 2 > COARSE * runs.times_s.min() > 0:
        found.append(
            f"{response}: times recorded in steps of {step:g} s, the shortest is {runs.times_s.min():g} s: "
            "short times count little"
        )
    return found


def _exponents(response: str, fitted: Blend) -> list[str]:
    """A warning for each parameter with which the runs go by another power than the formula."""
    design, found = fitted.design, list[str]()
    alone = np.array([design.extras[extra].kind == "alone" for extra in fitted.extra.tolist()])
    middle = {name: fitted.cells.columns()[name][[0, 0]] for name in fitted.cells.names}
    middle |= {name: np.exp(np.array([mid, mid])) for name, mid in zip(design.varying, design.centre, strict=True)}
    for k, name in enumerate(design.varying):
        ends = np.exp(design.centre[k] + np.array([-0.5, 0.5]) * design.span[k])
        low, high = np.log(design.pilot_time(middle | {name: ends}))
        formula, place = float((high - low) / design.span[k]), k - len(design.varying)
        own = fitted.mode[:, place] - np.where(alone, formula, 0.0)  # a fixed cost goes with nothing by itself
        more = float(fitted.weight @ own)
        sd = np.sqrt(float(fitted.weight @ (fitted.covariance[:, place, place] + (own - more) ** 2)))
        if abs(more) > max(STEEPER, SURE * sd):
            found.append(
                f"{response}: the runs go with {name}**{formula + more:.2f} and the formula with "
                f"{name}**{formula:.2f}: it lacks something; what is added in its place is known for the runs alone"
            )
    return found


def _misfit(response: str, fitted: Blend | LinearFit, cells: Cells) -> list[str]:
    """A warning if the fitted formula is far from what it was fitted to."""
    if isinstance(fitted, Blend):
        error = float(np.expm1(fitted.training_error))
    else:
        usable = cells.time_s > 0
        ratio = fitted.point(cells.columns())[usable] / cells.time_s[usable]
        error = float(np.median(np.abs(ratio - 1.0))) if usable.any() else 0.0
    if error <= POOR:
        return []
    return [f"{response}: the fit misses half of its own runs by {100 * error:.0f} % or more: the formula does not fit"]


def _restricted(runs: Runs, names: tuple[str, ...]) -> Runs:
    """The same runs with these parameters, in this order."""
    missing = [name for name in names if name not in runs.names]
    if missing:
        raise ScenarioError(f"runs: there is no {', '.join(missing)}; there are {', '.join(runs.names)}")
    if names == runs.names:
        return runs
    return Runs(names, runs.values[:, [runs.names.index(name) for name in names]], runs.times_s, runs.labels)


def _tails(fitted: Blend | LinearFit, runs: Runs, cells: Cells) -> Floats | None:
    """Residuals of the runs as `TAILS` equally likely ones, as `Part.tails` has them; None of too few runs."""
    seconds = fitted.point(cells.columns())[cells.cell_of_run]
    usable = (seconds > 0) & (runs.times_s > 0)
    if usable.sum() < FEWEST_TAILS:
        return None
    if isinstance(fitted, LinearFit):
        used = float(fitted.rank)
        away = runs.times_s - seconds
    else:
        used = max(len(cells.time_s) + NOISE_WEIGHT - float(fitted.weight @ fitted.freedom), 0.0)
        away = np.log(np.where(usable, runs.times_s / np.where(usable, seconds, 1.0), 1.0))
        away /= fitted.noise_factor(np.log(np.where(usable, seconds, 1.0)))
    away = away[usable] - np.median(away[usable])
    # A fit comes nearer to its own runs than to further ones.
    away = away * np.sqrt(away.size / max(away.size - used, 1.0))
    return np.asarray(np.quantile(away, (np.arange(TAILS) + 0.5) / TAILS))


def _residuals(part: Part, cells: Cells) -> Floats:
    """Log residuals of a part at evenly chosen cells."""
    some = slice(None, None, 1 + len(cells.time_s) // KEPT_POINTS)
    predicted = part.fit.point({name: column[some] for name, column in cells.columns().items()})
    found: Floats = np.log(np.maximum(cells.time_s[some], 1e-300)) - np.log(np.maximum(predicted, 1e-300))
    return found


def _correlation(residuals: list[Floats]) -> Floats:
    """Correlation of the parts' residuals where they were measured together, 0 or more, with 1 on the diagonal."""
    count = max(1, len(residuals))
    found = np.eye(count)
    for a in range(count):
        for b in range(a):
            one, other = residuals[a], residuals[b]
            if len(one) == len(other) and len(one) > 2 and np.ptp(one) > 0 and np.ptp(other) > 0:
                found[a, b] = found[b, a] = max(0.0, float(np.corrcoef(one, other)[0, 1]))
    return found
