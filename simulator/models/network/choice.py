"""Which form of message times the data support: all are fitted, held-out points judge, the simplest is taken."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from simulator.base import ties
from simulator.base.arrays import Floats
from simulator.base.errors import ScenarioError
from simulator.models.choice import TooFewPoints, choose, held_out, mean_and_most, schwarz, standard_error
from simulator.models.doubt import DRIFT, ENDS, Doubt, doubt_of_errors, growth_of, rate_beyond
from simulator.models.network.kinds import FITS
from simulator.models.network.kinds.kind import Fit, Fitted, MessageModel, Parameter
from simulator.models.network.network_model import NetworkModel, Spread
from simulator.models.network.points import FEWEST_SIZES, LEAST_ERROR, NetworkPoints

JUMP = 3.0
"""Standard deviations of a rise from which it is a jump between two protocols."""
EDGE = 1 + 1e-6
"""Factor off a measured size at which nothing is known any more."""
FOLDS = 10
MEDIAN_SD, TINY_S = 0.6745, 1e-12
"""Median size of a normal number of standard deviation 1; least time that is predicted."""
NEARLY = 0.1
"""A simpler form may be worse than the best by this share of the best's held-out error, and no more."""
PAIRED = 2.0
"""And by so many standard errors of the paired difference."""
FAR_OFF = 1.0
"""Held-out errors beyond it are alike: where a break lies between two rows, one line is as wrong as the other."""
AHEAD = (2.0, 4.0)
"""Factors on the largest size at which forms are compared."""
SPIKE, POOR = 0.25, 0.2
"""Trust below which a point is called a spike, and held-out error above which the fit is called poor."""
CRITERION = (
    f"least mean relative error over points held out in {FOLDS} interleaved parts (each left out once, all forms "
    f"fitted again); of the forms whose error is larger by at most {NEARLY:.0%} of it and {PAIRED:g} standard errors "
    "of the paired difference, the one with the least 2 n ln(that error) + k ln(n), n points, k numbers fitted (knots "
    f"of a curve too); errors below {LEAST_ERROR:g} are equal, and so are those of a row beyond {FAR_OFF:g}, and the "
    "simplest form wins; forms that are not physical, and piecewise with one line (which is hockney), are not taken"
)


@dataclass(frozen=True)
class JudgedForm:
    """One form with its fit, or why there is none, and how well it predicted points that it was not fitted to."""

    name: str
    fitted: Fitted | None
    faults: tuple[str, ...]
    sse: float | None = None
    """s^2, over all rows."""
    relative_sse: float | None = None
    errors: Floats | None = None
    held_out: Floats | None = None
    """Relative errors of all rows by fits without their points."""

    @property
    def physical(self) -> bool | None:
        """Whether no latency or gap is negative; None if there is no fit."""
        return None if self.fitted is None else not self.faults

    @property
    def entry(self) -> "FormEntry":
        """As a file says it."""
        fitted = self.fitted
        return FormEntry(
            name=self.name,
            parameters=() if fitted is None else fitted.parameters,
            fitted_numbers=None if fitted is None else fitted.free,
            sse=self.sse,
            relative_sse=self.relative_sse,
            mean_relative_error=mean_and_most(self.errors)[0],
            max_relative_error=mean_and_most(self.errors)[1],
            held_out=HeldOutErrors(*mean_and_most(self.held_out)),
            physical=self.physical,
            faults=self.faults,
            notes=() if fitted is None else fitted.notes,
            model=None if fitted is None else fitted.model.to_dict(),
        )


@dataclass(frozen=True)
class HeldOutErrors:
    """Errors of points held out from the fit; None where no part could be."""

    mean_relative_error: float | None
    max_relative_error: float | None


@dataclass(frozen=True)
class FormEntry:
    """One form as a file says it; None of a form that was not fitted."""

    name: str
    parameters: tuple[Parameter, ...]
    fitted_numbers: int | None
    sse: float | None
    relative_sse: float | None
    mean_relative_error: float | None
    max_relative_error: float | None
    held_out: HeldOutErrors
    physical: bool | None
    faults: tuple[str, ...]
    notes: tuple[str, ...]
    model: Mapping[str, object] | None


@dataclass(frozen=True)
class NetworkFit:
    """All forms fitted to measured message times, and the one that was chosen."""

    points: NetworkPoints
    forms: tuple[JudgedForm, ...]
    chosen: str
    model: NetworkModel
    warnings: tuple[str, ...]

    def form(self, name: str) -> JudgedForm:
        """One form by name."""
        return next(form for form in self.forms if form.name == name)


def fit_network(points: NetworkPoints, *, drift: float = DRIFT) -> NetworkFit:
    """Fit every form to measured message times and choose; `CRITERION` says how.

    Raises ScenarioError if there are too few sizes for any form.

    `drift`: standard deviation of what message times will have changed by when the model is used.
    """
    if points.sizes.size < FEWEST_SIZES:
        needed = ", ".join(f"{fit.name} needs {fit.needs}" for fit in FITS.values())
        raise ScenarioError(
            f"{points.sizes.size} distinct sizes are too few; measure at least {FEWEST_SIZES} ({needed})"
        )
    forms = tuple(_judged(fit, points) for fit in FITS.values())
    able = [
        one for one in forms if one.fitted and one.held_out is not None and not one.faults and not one.fitted.same_as
    ]
    if not able:
        why = "; ".join(f"{form.name}: {', '.join(form.faults)}" for form in forms)
        raise ScenarioError(f"no form fits these points: {why}")
    chosen = _choose(able, points)
    rate = float(np.hypot(_rate(chosen, points), _disagreement(chosen, able, points)))
    form = replace(_form_of(chosen), doubt=_doubt(chosen, points, drift, rate))
    model = NetworkModel(chosen.name, form, replace(_spread(chosen, points), rate=rate))
    return NetworkFit(points, forms, chosen.name, model, _warnings(chosen, points))


def _doubt(chosen: JudgedForm, points: NetworkPoints, drift: float, rate: float) -> Doubt:
    """What is not known of the times of the form chosen: held-out errors without the scatter of repetitions."""
    predicted, errors = _form_of(chosen).time_s(points.rows_size_bytes, points.rows_hops), chosen.held_out
    signs = np.where(points.rows_time_s >= predicted, 1.0, -1.0)
    logs = np.log1p(np.zeros(points.rows_time_s.size) if errors is None else errors) * signs
    counts = np.bincount(points.point_of_row, minlength=points.size_bytes.size)
    away = np.abs(np.log(points.rows_time_s / points.time_s[points.point_of_row]))
    repeated = counts[points.point_of_row] > 1
    noise = sampling = 0.0
    if np.any(repeated):
        count = float(np.median(counts[counts > 1]))
        noise = float(np.sqrt(np.pi / 2) * np.mean(away[repeated]) * np.sqrt(count / (count - 1)))
        sampling = noise * np.sqrt(np.pi / 2 / count)
    doubt = doubt_of_errors(points.rows_size_bytes, logs, noise=noise, sampling=sampling, drift=drift, rate=rate)
    return _with_jumps(doubt, points)


def _rate(chosen: JudgedForm, points: NetworkPoints) -> float:
    """How fast doubt grows beyond the largest size: the chosen form, fitted to smaller sizes, predicts larger ones."""
    errors = np.zeros(1) if chosen.held_out is None else chosen.held_out
    usual = max(float(np.median(errors)) / MEDIAN_SD, LEAST_ERROR) ** 2
    ends = []
    for octaves in ENDS:
        out = points.size_bytes > points.sizes[-1] / 2**octaves
        rows = out[points.point_of_row]
        try:
            fitted = FITS[chosen.name].run(points.without(out))
        except TooFewPoints:
            break
        size = points.rows_size_bytes[rows]
        predicted = np.maximum(fitted.model.time_s(size, points.rows_hops[rows]), TINY_S)
        distance = np.log(size / points.size_bytes[~out].max())
        ends.append((np.log(points.rows_time_s[rows] / predicted), np.full(size.size, usual), distance))
    return rate_beyond(ends)


def _disagreement(chosen: JudgedForm, able: list[JudgedForm], points: NetworkPoints) -> float:
    """How far forms go apart beyond the largest size, per unit of log distance: each counts by its held-out error."""
    size, hops = np.meshgrid(points.sizes[-1] * np.array(AHEAD), points.distances)
    known = _form_of(chosen).time_s(size, hops)
    apart = [np.log(np.maximum(_form_of(form).time_s(size, hops), TINY_S) / known) / np.log(AHEAD) for form in able]
    held_out = [np.full(1, FAR_OFF) if form.held_out is None else form.held_out for form in able]
    errors = np.array([np.mean(np.minimum(one, FAR_OFF)) for one in held_out])
    weights = np.maximum(errors, LEAST_ERROR) ** -2.0
    return float(np.sqrt(np.average(np.mean(np.square(apart), axis=(1, 2)), weights=weights)))


def _with_jumps(doubt: Doubt, points: NetworkPoints) -> Doubt:
    """More doubt between two sizes where the time rises by clearly more than beside, or falls: half its logarithm."""
    sizes, sd, added = doubt.sizes, doubt.sd, 0.0
    for distance in points.distances:
        mine = points.hops == distance
        size, y = points.size_bytes[mine], np.log(points.time_s[mine])
        steps = np.diff(np.log1p(size))
        slopes = np.concatenate(([0.0], np.diff(y) / steps, [0.0]))
        beyond = np.diff(y) - np.maximum(0.0, np.maximum(slopes[:-2], slopes[2:])) * steps
        beyond = np.maximum(beyond, -np.diff(y))
        for place in np.flatnonzero(beyond > JUMP * doubt.at(size[:-1])):
            if size[place] < 1:
                continue
            ends = np.array([size[place], size[place] * EDGE, size[place + 1] / EDGE, size[place + 1]])
            inner = np.interp(ends, sizes, sd)
            inner[1:3] = np.hypot(inner[1:3], beyond[place] / 2)
            outside = (sizes < ends[0]) | (sizes > ends[-1])
            known = sizes[outside], sd[outside]
            order = np.argsort(np.concatenate((known[0], ends)), kind="stable")
            sizes, sd = (np.concatenate((one, other))[order] for one, other in zip(known, (ends, inner), strict=True))
            added += float((beyond[place] / 2) ** 2 * steps[place])
    if not added:
        return doubt
    whole = float(np.ptp(np.log1p(points.size_bytes)))
    before = float(np.mean(doubt.at(points.size_bytes) ** 2))
    after = before + added / whole
    sources = {name: share * before / after for name, share in doubt.sources.items()}
    sources["form"] = sources.get("form", 0.0) + 1 - before / after
    return Doubt(sizes, sd, doubt.common, sources)


def _form_of(form: JudgedForm) -> MessageModel:
    assert form.fitted is not None  # only forms that were fitted are asked  # noqa: S101
    return form.fitted.model


def _judged(fit: Fit, points: NetworkPoints) -> JudgedForm:
    try:
        fitted = fit.run(points)
    except TooFewPoints as few:
        return JudgedForm(fit.name, None, (str(few),))
    predicted = fitted.model.time_s(points.rows_size_bytes, points.rows_hops)
    away = predicted - points.rows_time_s
    errors = np.abs(away) / points.rows_time_s
    held_out = _held_out(fit, points)
    squares = float(away @ away), float(errors @ errors)
    return JudgedForm(fit.name, fitted, fitted.model.faults, *squares, errors, held_out)


def _held_out(fit: Fit, points: NetworkPoints) -> Floats | None:
    """Relative errors of rows predicted by fits without their points; None if a part cannot be fitted."""
    rank = np.searchsorted(points.sizes, points.size_bytes) + np.searchsorted(points.distances, points.hops)
    folds = min(FOLDS, points.sizes.size)

    def errors(fold: int) -> Floats:
        left_out = rank % folds == fold
        rows = left_out[points.point_of_row]
        predicted = fit.run(points.without(left_out)).model.time_s(points.rows_size_bytes[rows], points.rows_hops[rows])
        return np.asarray(np.abs(predicted / points.rows_time_s[rows] - 1))

    return held_out((rank % folds)[points.point_of_row], errors)


def _choose(able: list[JudgedForm], points: NetworkPoints) -> JudgedForm:
    """The one that the data support best, of those that are hardly worse than the best."""
    number = points.size_bytes.size
    counts = np.bincount(points.point_of_row, minlength=number)

    def by_row(form: JudgedForm) -> Floats:
        """A factor of two or more is off, however far: one row next to a break does not decide."""
        return np.minimum(form.held_out if form.held_out is not None else np.inf, FAR_OFF)

    def by_point(form: JudgedForm) -> Floats:
        return np.asarray(np.bincount(points.point_of_row, weights=by_row(form), minlength=number) / counts)

    def error(form: JudgedForm) -> float:
        """No smaller than what clocks and models are good for: below it, a comparison would be one of last bits."""
        return max(float(np.mean(by_row(form))), LEAST_ERROR)

    def is_near(form: JudgedForm, best: JudgedForm) -> bool:
        least, doubt = error(best), standard_error(by_point(form), by_point(best))
        return not ties.is_less(least, error(form), floor=min(PAIRED * doubt, NEARLY * least))

    def criterion(form: JudgedForm) -> float:
        return schwarz(error(form) ** 2, number, form.fitted.free if form.fitted else 0)

    return choose(able, by=error, rivals=is_near, then=criterion)


def _spread(form: JudgedForm, points: NetworkPoints) -> Spread:
    held_out = form.held_out if form.held_out is not None else np.zeros(points.rows_time_s.size)
    order = np.lexsort((points.rows_size_bytes, points.rows_hops))
    sizes, hops = points.rows_size_bytes[order], points.rows_hops[order]
    ends = np.asarray(points.sizes[[0, -1]]), np.asarray(points.distances[[0, -1]])
    residuals = np.log(points.rows_time_s[order] / _form_of(form).time_s(sizes, hops))
    power = growth_of(np.log1p(sizes), held_out[order] ** 2, np.ones(sizes.size))
    return Spread(sizes, hops, held_out[order], *ends, residuals, power=power)


def _warnings(chosen: JudgedForm, points: NetworkPoints) -> tuple[str, ...]:
    lines = []
    spikes = int(np.count_nonzero(points.trust < SPIKE))
    if spikes:
        lines.append(
            f"{spikes} of {points.trust.size} points lie far from what their neighbours predict; they count less"
        )
    if chosen.held_out is not None and np.mean(chosen.held_out) > POOR:
        lines.append(f"the chosen form misses held-out points by {np.mean(chosen.held_out):.0%} on average")
    return tuple(lines)
