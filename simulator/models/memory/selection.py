"""Which form the measured times support: an information criterion, held-out errors, and a correction if it helps."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from simulator.base.arrays import Floats
from simulator.base.errors import ScenarioError
from simulator.models.choice import TooFewPoints, choose, held_out, is_better, mean_and_most, schwarz
from simulator.models.doubt import Doubt, doubt_of_errors
from simulator.models.memory.correction import LEAST_POINTS, Correction, fit_correction
from simulator.models.memory.forms import (
    FORMS,
    ONE_L,
    Constants,
    Fitted,
    Form,
    MemoryTimes,
    StandardErrors,
    fit_form,
    scattered,
    standard_errors,
)
from simulator.models.memory.levels import WORD_BYTES, MemoryLevel
from simulator.models.memory.model import FitStatistics, MemoryModel

SAME_CAPACITY = 1.1
"""Factor below which two capacities count as one."""
SAME_TIME = 1e-3
"""Share by which latency or gap of neighbouring levels differ at least, one of them."""
PRECISION = 1e-3
"""Share of a time that is never explained: the criterion's error term, so that exact times ask for no more levels."""
FEW = 40
"""Distinct points below which ten folds are held out in turn, and from which five."""
SHARES = (0.5, 0.68, 0.8, 0.9, 0.95, 0.99)
CORRECTED = " with correction"
SURE = 2.0
"""Standard errors of a difference of held-out errors from which it counts."""
CLEARLY = 0.98
"""Held-out errors that a correction reaches at most, as a share of those without."""


def faults_of(form: Form, constants: Constants) -> tuple[str, ...]:
    """What is not physical about a fit, one line each; none where all is well."""
    kinds = {"latency": constants.latency_s} | ({"gap": constants.gap_s} if form.runs else {})
    found = [
        f"{kind} of level {level + 1}: {value:.3g} s is not {'above 0' if kind == 'latency' else '0 or more'}"
        for kind, values in kinds.items()
        for level, value in enumerate(values)
        if value < 0 or (kind == "latency" and value == 0)
    ]
    found += [
        f"{kind} of level {level + 2}: {values[level + 1]:.3g} s is less than the {values[level]:.3g} s of level "
        f"{level + 1}"
        for kind, values in kinds.items()
        for level in range(form.levels - 1)
        if values[level + 1] < values[level] * (1 - 1e-9)
    ]
    capacities = constants.capacities_words
    found += [
        f"capacity of level {level + 2}: {capacities[level + 1]:.4g} words is not above the "
        f"{capacities[level]:.4g} of level {level + 1}"
        for level in range(form.levels - 2)
        if capacities[level + 1] < capacities[level] * SAME_CAPACITY
    ]
    found += [
        f"levels {level + 1} and {level + 2}: the same latency and gap; two levels differ"
        for level in range(form.levels - 1)
        if all(np.isclose(values[level], values[level + 1], rtol=SAME_TIME, atol=0) for values in kinds.values())
    ]
    return tuple(found)


@dataclass(frozen=True)
class Candidate:
    """A form fitted to all points, with what it makes of points that it did not see."""

    name: str
    form: Form
    constants: Constants
    errors: StandardErrors
    faults: tuple[str, ...]
    criterion: float
    """Less is better; see `select_model`."""
    fitted_s: Floats
    """Its times at the points; (points,)."""
    held_out_s: Floats | None
    """Its times at each point when fitted without that point's fold; None where folds leave too few points."""
    correction: Correction | None = None

    @property
    def physical(self) -> bool:
        """Whether signs and order of its constants make sense."""
        return not self.faults


@dataclass(frozen=True)
class NotFitted:
    """A form that the points do not suffice for."""

    form: Form
    reason: str


@dataclass(frozen=True)
class Selection:
    """All forms that were fitted, and the one chosen."""

    points: MemoryTimes
    candidates: tuple[Candidate, ...]
    chosen: Candidate
    model: MemoryModel
    not_fitted: tuple[NotFitted, ...]
    warnings: tuple[str, ...]


def relative_errors(times_s: Floats, points: MemoryTimes) -> Floats:
    """`|T_model - T| / T` at each point."""
    return np.asarray(np.abs(times_s - points.time_s) / points.time_s)


def held_out_errors(candidate: Candidate, points: MemoryTimes) -> Floats | None:
    """Relative errors of a candidate at points that it did not see; None where folds leave too few points."""
    return None if candidate.held_out_s is None else relative_errors(candidate.held_out_s, points)


def select_model(points: MemoryTimes) -> Selection:
    """Fit models 0 to 3 and those of more levels, and choose.

    The criterion is Schwarz's with an error term, over relative residuals: `n log(RSS/n + precision^2) + k log(n) *
    n/(n - k - 1)`, k parameters, precision a thousandth. Of the physical fits the least criterion is taken, unless
    another one's held-out error is smaller by more than two standard errors of the difference; then that one. A
    correction is kept only if it makes held-out errors smaller, see `_worth_it`.

    Raises ScenarioError if there are fewer than 2 distinct points.
    """
    import scipy.linalg
    import scipy.optimize  # noqa: F401 - only libraries that are loaded can be limited
    from threadpoolctl import threadpool_limits

    # Small matrices: more threads only wait for each other, and sums in another order give other bits.
    with threadpool_limits(limits=1):
        return _selected(points)


def _selected(points: MemoryTimes) -> Selection:
    distinct = points.distinct()
    known = FORMS if np.unique(points.run_words).size > 1 else ONE_L
    not_fitted = tuple(NotFitted(form, reason) for form in known if (reason := _lacking(form, points, distinct)))
    forms = [form for form in known if form not in {lacking.form for lacking in not_fitted}]
    if not forms:
        found = int(distinct.max()) + 1
        raise ScenarioError(
            f"rows: {found} distinct (M_words, alpha, L) are too few; measure at least {FORMS[0].points_needed}: "
            f"{', '.join(f'{form.name} needs {form.points_needed}' for form in FORMS)}"
        )
    folds = _folds(distinct)
    candidates = [_candidate(_fitted(form, points), points, folds) for form in forms]
    plain = _best(candidates, points)
    chosen, scores = plain, _scores(plain, points)
    if plain.held_out_s is not None and distinct.max() + 1 >= LEAST_POINTS:
        corrected, held_out_s, deviations = _corrected(plain, points, folds)
        candidates.append(corrected)
        if _worth_it(corrected, plain, points):
            chosen, scores = corrected, np.abs(np.log(points.time_s / held_out_s)) / deviations
    warnings = _warnings(chosen, points, not_fitted)
    model = _model(chosen, points, scores)
    return Selection(points, tuple(candidates), chosen, model, not_fitted, warnings)


def _lacking(form: Form, points: MemoryTimes, distinct: NDArray[np.intp]) -> str:
    """Why a form cannot be fitted; empty if it can."""
    found = int(distinct.max()) + 1
    if found < form.points_needed:
        return f"{found} distinct points; at least {form.points_needed} are needed"
    if form.levels > 1 and np.unique(points.m_words).size < 2:
        return "one M_words; at least 2 are needed to see a level end"
    return ""


def _folds(distinct: NDArray[np.intp]) -> NDArray[np.intp]:
    """A fold for each point, the same for repetitions; scattered over (M, alpha, L) without chance."""
    count = int(distinct.max()) + 1
    folds = min(count, 10 if count < FEW else 5)
    fold = np.empty(count, dtype=np.intp)
    fold[scattered(count)] = np.arange(count) % folds
    return np.asarray(fold[distinct])


def _fitted(form: Form, points: MemoryTimes) -> Fitted:
    """The free fit of a form, or the one that keeps the order of levels where that is not physical."""
    free = fit_form(form, points, ordered=False)
    return fit_form(form, points, ordered=True) if faults_of(form, free.constants) else free


def _candidate(fitted: Fitted, points: MemoryTimes, folds: NDArray[np.intp]) -> Candidate:
    form, count = fitted.form, len(points)
    mean_square, spare = fitted.relative_sse / count + PRECISION**2, max(0.5, count - form.parameters - 1)
    return Candidate(
        name=form.name,
        form=form,
        constants=fitted.constants,
        errors=standard_errors(fitted, points),
        faults=faults_of(form, fitted.constants),
        criterion=schwarz(mean_square, count, form.parameters, spare=spare),
        fitted_s=fitted.constants.times_s(points),
        held_out_s=_held_out(fitted, points, folds),
    )


def _held_out(fitted: Fitted, points: MemoryTimes, folds: NDArray[np.intp]) -> Floats | None:
    def times_s(fold: int) -> Floats:
        seen = points.take(folds != fold)
        if int(seen.distinct().max()) + 1 < fitted.form.parameters:
            raise TooFewPoints
        again = fit_form(fitted.form, seen, ordered=fitted.ordered, near=fitted.constants)
        return again.constants.times_s(points.take(folds == fold))

    return held_out(folds, times_s)


def _best(candidates: list[Candidate], points: MemoryTimes) -> Candidate:
    """The choice among plain forms."""
    allowed = [c for c in candidates if c.physical] or candidates
    judged = [c for c in allowed if c.held_out_s is not None] or allowed
    return choose(
        judged,
        by=lambda candidate: candidate.criterion,
        rivals=lambda candidate, best: _better(candidate, best, points),
        then=lambda candidate: _held_out_mean(candidate, points),
    )


def _held_out_mean(candidate: Candidate, points: MemoryTimes) -> float:
    if candidate.held_out_s is None:
        return np.inf
    return float(np.mean(relative_errors(candidate.held_out_s, points)))


def _better(one: Candidate, other: Candidate, points: MemoryTimes) -> bool:
    """Whether held-out errors of one are smaller than the other's by more than two standard errors."""
    if one.held_out_s is None or other.held_out_s is None:
        return False
    after, before = (relative_errors(held_out_s, points) for held_out_s in (one.held_out_s, other.held_out_s))
    return is_better(after, before, sure=SURE, floor=PRECISION)


def _worth_it(corrected: Candidate, plain: Candidate, points: MemoryTimes) -> bool:
    """Whether a correction makes the mean held-out error smaller, and logarithms by more than a standard error."""
    if corrected.held_out_s is None or plain.held_out_s is None:
        return False
    before = CLEARLY * np.maximum(np.abs(np.log(points.time_s / _above_zero(plain.held_out_s, points))), PRECISION)
    after = np.maximum(np.abs(np.log(points.time_s / corrected.held_out_s)), PRECISION)
    if not is_better(after, before, sure=1.0):
        return False
    return _held_out_mean(corrected, points) <= CLEARLY * _held_out_mean(plain, points)


def _corrected(plain: Candidate, points: MemoryTimes, folds: NDArray[np.intp]) -> tuple[Candidate, Floats, Floats]:
    """The form with a correction on top, its times of held-out points, and their predicted standard deviations."""
    whole = fit_correction(points, _above_zero(plain.fitted_s, points))
    held_out_s, deviations = np.empty(len(points)), np.empty(len(points))
    for fold in range(int(folds.max()) + 1):
        seen, unseen = points.take(folds != fold), points.take(folds == fold)
        form = fit_form(plain.form, seen, ordered=True, near=plain.constants).constants
        correction = fit_correction(seen, _above_zero(form.times_s(seen), seen), near=whole)
        shift, deviations[folds == fold] = correction.at(unseen)
        held_out_s[folds == fold] = _above_zero(form.times_s(unseen), seen) * np.exp(shift)
    fitted_s = _above_zero(plain.fitted_s, points) * np.exp(whole.at(points)[0])
    corrected = replace(plain, name=plain.name + CORRECTED, fitted_s=fitted_s, held_out_s=held_out_s, correction=whole)
    return corrected, held_out_s, deviations


def _above_zero(times_s: Floats, points: MemoryTimes) -> Floats:
    return np.maximum(times_s, 1e-3 * float(points.time_s.min()))


def _scores(candidate: Candidate, points: MemoryTimes) -> Floats:
    """Held-out log residuals of a plain form over their spread."""
    times_s = candidate.fitted_s if candidate.held_out_s is None else candidate.held_out_s
    residuals = np.abs(np.log(points.time_s / _above_zero(times_s, points)))
    return residuals / _spread(candidate, points)


def _spread(candidate: Candidate, points: MemoryTimes) -> float:
    residuals = np.log(points.time_s / _above_zero(candidate.fitted_s, points))
    free = max(1, len(points) - candidate.form.parameters)
    return max(PRECISION, float(np.sqrt(residuals @ residuals / free)))


def _model(chosen: Candidate, points: MemoryTimes, scores: Floats) -> MemoryModel:
    last = chosen.form.levels - 1
    capacities = [*(WORD_BYTES * chosen.constants.capacities_words), np.inf]
    levels = tuple(
        MemoryLevel(
            f"level {k + 1}" if k < last or not last else "last level",
            float(capacities[k]),
            float(max(0.0, chosen.constants.latency_s[k])),
            float(max(0.0, chosen.constants.gap_s[k])),
        )
        for k in range(last + 1)
    )
    held_out_mean, held_out_most = mean_and_most(held_out_errors(chosen, points))
    fitted = relative_errors(chosen.fitted_s, points)
    # The next time lies within the k-th of n scores with probability k / (n + 1).
    ranks = np.clip(np.array(SHARES) * (scores.size + 1) / scores.size, 0, 1)
    axes = (points.m_words, points.alpha, points.run_words)
    return MemoryModel(
        form=chosen.form.name,
        levels=levels,
        correction=chosen.correction,
        spread=_spread(chosen, points),
        scores=tuple(zip(SHARES, np.quantile(scores, ranks).tolist(), strict=True)),
        trained=tuple((float(axis.min()), float(axis.max())) for axis in axes),
        statistics=FitStatistics(len(points), float(fitted.mean()), float(fitted.max()), held_out_mean, held_out_most),
        doubt=_doubt(chosen, points),
    )


def _doubt(chosen: Candidate, points: MemoryTimes) -> Doubt:
    """What is not known of times per word: errors at held-out points, or of the fit where none could be left out."""
    times_s = chosen.fitted_s if chosen.held_out_s is None else chosen.held_out_s
    logs = np.log(points.time_s / _above_zero(times_s, points))
    noise = 0.0 if chosen.correction is None else chosen.correction.hyper.noise
    return doubt_of_errors(points.m_words, logs, noise=noise)


def _warnings(chosen: Candidate, points: MemoryTimes, not_fitted: tuple[NotFitted, ...]) -> tuple[str, ...]:
    found = [f"{lacking.form.name}: not fitted: {lacking.reason}" for lacking in not_fitted]
    if np.unique(points.run_words).size == 1:
        found.append(f"all times have L {points.run_words[0]:g}, which does not tell latency from gap")
    if np.unique(points.alpha).size == 1:
        found.append(f"all times have alpha {points.alpha[0]:g}: what locality gains is the form's guess")
    if chosen.form.levels == 1 and np.unique(points.m_words).size > 1:
        found.append("all sizes lie in one level as far as their times show: no form of more levels is supported")
    if not chosen.physical:
        found.append("no fit is physical; do not trust the model beyond its points")
    least, most = float(points.m_words.min()), float(points.m_words.max())
    for level, (capacity, error) in enumerate(
        zip(chosen.constants.capacities_words, chosen.errors.capacities_words, strict=True), 1
    ):
        if not least <= capacity <= most:
            found.append(f"capacity of level {level} is {capacity:.4g} words, outside the sizes measured")
        if not error <= 0.5 * capacity:
            found.append(
                f"capacity of level {level}: not determined by these points (standard error {error:.3g} words)"
            )
    return tuple(found)
