"""A fitted run-time model: parts that are summed, predictions with intervals, and what is known about each target."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtr, stdtrit

from simulator.base import notebook, ties
from simulator.base.arrays import Flags, Floats, Matrix, Vector
from simulator.base.documents import Data, at, read, to_dict
from simulator.base.errors import ScenarioError
from simulator.base.formula import Formula, parse
from simulator.models.doubt import Doubt, Noise
from simulator.models.file import FileForm, check_level
from simulator.models.regression.blend import Blend, blend_from_dict, blend_to_dict
from simulator.models.regression.least_squares import LinearFit
from simulator.models.regression.runs import Cells, beyond_hull

QUANTILE_STEPS = 60
"""Most steps of false position; the bracket is tight, so that ten are usual."""
CLOSE = 1e-7
"""Error of a quantile's probability at which the search ends."""
MAX_FAULTS = 20
"""Most faults named at once."""
KEPT_POINTS = 2_000
"""Most points that a model keeps to say what was observed at a target, and that checks look at."""
FAR = 4.0
"""Factor beyond the trained range of a parameter from which a prediction is called far outside."""
NEAR = 1.5
"""Factor beyond the largest trained value up to which runs count as near."""
LONGEST = 690.0
"""Logarithm of the longest time that is predicted; beyond it a number would overflow."""
LEAST = 1e-12
"""Smallest lower end of an interval, relative to the mean."""
LEVEL = 0.9
"""Probability that a stated interval holds, where nothing else is asked for."""
CAUSES = ("sampling", "form", "extrapolation")
"""What the doubt of a prediction is made of."""
NOTHING = 1e-9
"""Standard deviations of logarithms that are rounding."""
NINETY = 1.6448536269514722
"""Standard deviations on either side that hold 90 % of a normal distribution."""
WIDE = 1.0
"""Half-width of a prediction interval, relative to the mean, from which it is called too wide to plan with."""


# Mixtures of Student distributions, one per candidate structure, and their quantiles.


def mixture_quantiles(
    weight: Floats, mean: Floats, variance: Floats, *, freedom: Floats, levels: tuple[float, ...]
) -> Floats:
    """Quantiles of a mixture of Student distributions, by false position (Illinois); (levels, n).

    `weight`: shape (members,).
    `mean`, `variance`: shape (members, n).
    `freedom`: shape (members,) or (members, n).
    """
    degrees, centre = (freedom[:, None, None] if freedom.ndim == 1 else freedom[:, None]), mean[:, None]
    spread = np.sqrt(np.maximum(variance, 1e-18))[:, None]
    wanted = np.array(levels)[:, None]
    own = centre + spread * stdtrit(degrees, wanted)  # the mixture's quantile lies between its members'

    def excess(at: Floats) -> Floats:
        found: Floats = np.tensordot(weight, stdtr(degrees, (at - centre) / spread), axes=1) - wanted
        return found

    low, high = own.min(axis=0), own.max(axis=0)
    below, above = excess(low), excess(high)
    middle, settled = (low + high) / 2, np.zeros(low.shape, np.bool_)
    for _ in range(QUANTILE_STEPS):
        width = np.maximum(above - below, 1e-300)
        # what has settled stays: a quantile does not depend on what else is asked for
        middle = np.where(settled, middle, np.clip(low - below * (high - low) / width, low, high))
        found = excess(middle)
        settled |= np.abs(found) <= CLOSE
        if settled.all():
            break
        under = found < 0
        # An end that stays counts half the next time, or it would stay for ever (Illinois).
        low, high = np.where(under, middle, low), np.where(under, high, middle)
        below, above = np.where(under, found, below / 2), np.where(under, above / 2, found)
    return np.asarray(middle)


@dataclass(frozen=True)
class Part:
    """One response and its fit."""

    response: str
    fit: Blend | LinearFit
    points: Floats
    """Distinct trained points, shape (cells, parameters of the model)."""
    observed_s: Floats
    """Mean, smallest and largest time and number of runs at each of them, shape (cells, 4)."""
    tails: Floats | None = None
    """Ascending residuals of runs, equally likely: logarithms, or seconds of `ols`; None: normal ones."""

    @property
    def formula(self) -> Formula:
        """Its cost formula."""
        return self.fit.design.formula if isinstance(self.fit, Blend) else self.fit.formula

    def to_dict(self) -> Data:
        """Plain data for JSON."""
        return {
            "response": self.response,
            "formula": self.formula.text,
            "terms": [term.text for term in self.formula.terms],
            "points": self.points.tolist(),
            "observed": self.observed_s.tolist(),
            "fit": blend_to_dict(self.fit) if isinstance(self.fit, Blend) else self.fit.to_dict(),
        } | ({} if self.tails is None else {"tails": self.tails.tolist()})

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Part":
        """The part that `to_dict` wrote; see `documents.read` for what is refused."""
        plain = read(_PlainPart, data)
        with at("fit"):
            fitted = (
                read(LinearFit, plain.fit, formula=parse(plain.formula))
                if "coefficients" in plain.fit
                else blend_from_dict(plain.fit, plain.formula)
            )
        return cls(plain.response, fitted, plain.points, plain.observed, plain.tails)


@dataclass(frozen=True)
class _PlainPart:
    """A part as a file says it."""

    response: str
    formula: str
    terms: tuple[str, ...]
    points: Matrix
    observed: Matrix
    fit: Data
    tails: Vector | None = None


@dataclass(frozen=True)
class Observed:
    """Times that were observed at exactly one point."""

    mean: float
    low: float
    high: float
    runs: int


@dataclass(frozen=True)
class Predictions:
    """Predicted times of n targets, in their order."""

    level: float
    mean_s: Floats
    """Shape (n,)."""
    confidence_s: Floats
    """Interval of the mean, shape (n, 2)."""
    prediction_s: Floats
    """Interval of one run, shape (n, 2)."""
    distance: Floats
    """Factor by which each parameter lies outside its trained range, 1 inside; shape (n, parameters)."""
    hull: Floats
    """How far outside the hull of the trained points, in logarithms, beyond what `distance` says; shape (n,)."""
    names: tuple[str, ...]
    parts_s: dict[str, Floats]
    observed: tuple[Observed | None, ...]
    warnings: tuple[tuple[str, ...], ...]

    @property
    def outside_training_range(self) -> Flags:
        """Whether any parameter lies outside its trained range, or all together do; shape (n,)."""
        return np.asarray((self.distance > 1.0).any(axis=1) | (self.hull > 0))

    def __repr__(self) -> str:
        low, high = np.min(self.mean_s, initial=np.inf), np.max(self.mean_s, initial=-np.inf)
        return f"Predictions({self.mean_s.size} targets, {low:.4g} to {high:.4g} s)"

    def _repr_html_(self) -> str:
        shown = slice(notebook.MOST_ROWS)
        rows = [
            {"mean (s)": mean, "one run from (s)": low, "to (s)": high, "outside the runs": bool(outside)}
            for mean, (low, high), outside in zip(
                self.mean_s[shown], self.prediction_s[shown], self.outside_training_range[shown], strict=True
            )
        ]
        lines = list(dict.fromkeys(line for lines in self.warnings for line in lines))
        count = self.mean_s.size
        return notebook.page(
            f"Predictions, {self.level:.0%} intervals", notebook.table(rows, count=count), warnings=lines
        )

    def to_list(self) -> list[Data]:
        """Plain data for JSON, one entry per target."""
        return [
            {
                "mean": float(self.mean_s[i]),
                "low": float(self.confidence_s[i, 0]),
                "high": float(self.confidence_s[i, 1]),
                "run_low": float(self.prediction_s[i, 0]),
                "run_high": float(self.prediction_s[i, 1]),
                "outside_training_range": bool(outside),
                "distance": {name: float(x) for name, x in zip(self.names, self.distance[i], strict=True)},
                "observed": to_dict(self.observed[i]),
                "parts": {name: float(column[i]) for name, column in self.parts_s.items()},
                "warnings": list(self.warnings[i]),
            }
            for i, outside in enumerate(self.outside_training_range)
        ]


@dataclass(frozen=True)
class RuntimeModel(FileForm):
    """What `fit` returns: predicts, explains its warnings, and converts to plain data and back."""

    FORMAT, KIND, WRITER = 1, "runtime", "apportion fit"
    method: str
    """`default` or `ols`."""
    parts: tuple[Part, ...]
    names: tuple[str, ...]
    low: Vector
    """Smallest trained value of each parameter."""
    high: Vector
    correlation: Matrix
    """Correlation of the parts' residuals, shape (parts, parts), 0 or more."""
    warnings: tuple[str, ...]

    def __post_init__(self) -> None:
        if self.correlation.shape != (len(self.parts),) * 2:
            raise ScenarioError(f"correlation: it is no square of the {len(self.parts)} parts; write it again")
        if self.low.shape != (len(self.names),) or self.high.shape != self.low.shape:
            raise ScenarioError(f"low, high: there is not one number for each of the {len(self.names)} parameters")

    @cached_property
    def known_spreads(self) -> dict[tuple[tuple[str, float], ...], tuple[Doubt | None, Noise | None]]:
        """Doubts and noises that were asked for, by target: a simulation asks many times for the same few."""
        return {}

    def doubt(self, values: Mapping[str, float]) -> Doubt:
        """What is not known of the mean time at one target.

        Its causes: `sampling` (the covariance of the parameters), `form` (what held-out runs were missed by, and how
        far the candidate structures disagree) and `extrapolation` (what may change beyond the trained ranges). The
        standard deviation is that of a normal distribution whose 90 % interval is as wide as the model's.

        Raises ScenarioError as of `predict`.
        """
        found = self.predict(values, level=LEVEL)
        columns = {name: np.array([float(values[name])]) for name in self.names}
        causes = np.zeros(len(CAUSES))
        for part in self.parts:
            share = max(float(found.parts_s[part.response][0] / found.mean_s[0]), 0.0)
            causes += share**2 * _causes(part.fit, columns)
        low, high = found.confidence_s[0]
        sd = _log_sd(float(low), float(high), float(found.mean_s[0]))
        shares = causes / causes.sum() if causes.sum() > 0 else causes
        return Doubt.constant(sd, common=1.0, sources=dict(zip(CAUSES, shares.tolist(), strict=True)) if sd else {})

    def noise(self, values: Mapping[str, float]) -> Noise | None:
        """How one run at a target differs from its mean: the residuals of the runs, tails kept; None: not at all.

        Raises ScenarioError as of `predict`.
        """
        targets = self._targets(values, None)
        columns = dict(zip(self.names, targets.T, strict=True))
        means = np.array([float(part.fit.point(columns)[0]) for part in self.parts])
        tails = [_log_tails(part, columns) for part in self.parts]
        own = np.array([float(np.sqrt(np.mean(tail**2))) for tail in tails]) * means / means.sum()
        sd = float(np.sqrt(own @ self.correlation @ own))
        if not sd > NOTHING:
            return None
        shape = tails[ties.first_most(own)]
        return Noise(np.exp(shape * sd / np.sqrt(np.mean(shape**2))))

    def predict(
        self, values: Mapping[str, ArrayLike], *, level: float = LEVEL, labels: Sequence[str] | None = None
    ) -> Predictions:
        """Predict the time at each target.

        Raises ScenarioError if a parameter is missing or not finite, the level is not between 0 and 1, or the runs do
        not determine a target at all; one line per target.

        `values`: parameter -> array of shape (n,) or one number.
        `labels`: how messages name each target; `target 1`, `target 2`, ... if None.
        """
        check_level(level)
        targets = self._targets(values, labels)
        columns = dict(zip(self.names, targets.T, strict=True))
        found = [_part_intervals(part, columns, level) for part in self.parts]
        mean = np.sum([part[0] for part in found], axis=0)
        confidence = self._joined(mean, [part[1] - part[0][:, None] for part in found])
        prediction = self._joined(mean, [part[2] - part[0][:, None] for part in found])
        distance, hull = self._distance(targets), self._beyond(targets)
        return Predictions(
            level=level,
            mean_s=mean,
            confidence_s=confidence,
            prediction_s=prediction,
            distance=distance,
            hull=hull,
            names=self.names,
            parts_s={part.response: entry[0] for part, entry in zip(self.parts, found, strict=True)},
            observed=tuple(self._observed(target) for target in targets),
            warnings=self._warnings(targets, distance, mean, prediction, hull),
        )

    def __repr__(self) -> str:
        said = "; ".join(f"{part.response} = {part.formula.text}" for part in self.parts)
        return f"RuntimeModel({said[:200]}, method {self.method})"

    def _repr_html_(self) -> str:
        formulas = notebook.facts({part.response: part.formula.text for part in self.parts})
        trained = zip(self.names, self.low, self.high, strict=True)
        rows = [{"parameter": name, "from": low, "to": high} for name, low, high in trained]
        return notebook.page(
            f"Run-time model, method {self.method}", formulas, notebook.table(rows), warnings=self.warnings
        )

    def _targets(self, values: Mapping[str, ArrayLike], labels: Sequence[str] | None) -> Floats:
        missing = [name for name in self.names if name not in values]
        if missing:
            known = ", ".join(values) or "none"
            raise ScenarioError(f"targets: there is no {', '.join(missing)}; there are {known}")
        columns = np.broadcast_arrays(*(np.atleast_1d(np.asarray(values[n], dtype=np.float64)) for n in self.names))
        targets = np.column_stack(columns)
        shown = labels or [f"target {i + 1}" for i in range(len(targets))]
        faults = [
            f"{shown[i]}: {self.names[k]} is {targets[i, k]:g}; give a finite number"
            for i, k in np.argwhere(~np.isfinite(targets)).tolist()
        ]
        columns_of = dict(zip(self.names, targets.T, strict=True))
        for part in self.parts if not faults else ():
            if isinstance(part.fit, Blend):
                faults += [
                    f"{shown[i]}: {name} is {columns_of[name][i]:g}; give a number above 0"
                    for name in part.fit.design.varying
                    for i in np.flatnonzero(columns_of[name] <= 0).tolist()
                ]
            else:
                for i in np.flatnonzero(~part.fit.determined(columns_of)).tolist():
                    at = ", ".join(f"{n} = {x:g}" for n, x in zip(self.names, targets[i], strict=True))
                    faults.append(
                        f"{shown[i]}: the runs do not determine {at}: terms of {part.response} are collinear in the "
                        "runs and not at this target; vary more parameters"
                    )
        if faults:
            more = [f"{len(faults) - MAX_FAULTS} more targets like these"] if len(faults) > MAX_FAULTS else []
            raise ScenarioError(faults[:MAX_FAULTS] + more)
        return targets

    def _joined(self, mean: Floats, offsets: list[Floats]) -> Floats:
        """Interval of the sum from the parts' signed offsets of shape (n, 2): linear as in the paper, or joint."""
        stacked = np.stack(offsets)  # (parts, n, 2)
        if self.method != "default":
            return np.asarray(mean[:, None] + stacked.sum(axis=0))
        width = np.sqrt(np.einsum("anl,ab,bnl->nl", stacked, self.correlation, stacked))
        # Each offset is smaller than its part, so only rounding can bring the lower end to 0.
        return np.column_stack([np.maximum(mean - width[:, 0], LEAST * mean), mean + width[:, 1]])

    def _distance(self, targets: Floats) -> Floats:
        with np.errstate(divide="ignore", invalid="ignore"):
            above = np.where(targets > self.high, np.where(self.high > 0, targets / self.high, np.inf), 1.0)
            below = np.where(targets < self.low, np.where(targets > 0, self.low / targets, np.inf), 1.0)
        found: Floats = np.maximum(np.minimum(np.maximum(above, below), 1e6), 1.0)
        return found

    def _beyond(self, targets: Floats) -> Floats:
        """How far targets lie outside what was seen together, in logarithms, beyond the range of each parameter."""
        varying = np.flatnonzero(self.low < self.high)
        points = np.vstack([part.points for part in self.parts])[:, varying]
        whole = all(len(part.points) < KEPT_POINTS for part in self.parts)
        if len(varying) < 2 or not whole or points.min() <= 0 or targets[:, varying].min() <= 0:
            return np.zeros(len(targets))
        wanted, low, high = (np.log(values[..., varying]) for values in (targets, self.low, self.high))
        over = np.linalg.norm(np.maximum(np.maximum(low - wanted, wanted - high), 0.0), axis=1)
        return np.asarray(np.sqrt(np.maximum(beyond_hull(np.log(points), wanted) ** 2 - over**2, 0.0)))

    def _observed(self, target: Floats) -> Observed | None:
        totals = []
        for part in self.parts:
            same = np.flatnonzero((part.points == target).all(axis=1))
            if not len(same):
                return None
            totals.append(part.observed_s[same[0]])
        table = np.array(totals)
        mean, low, high = table[:, :3].sum(axis=0).tolist()
        return Observed(mean, low, high, int(table[:, 3].min()))

    def _warnings(
        self, targets: Floats, distance: Floats, mean: Floats, prediction: Floats, hull: Floats
    ) -> tuple[tuple[str, ...], ...]:
        constant = self.low == self.high
        found = []
        for i, target in enumerate(targets):
            lines = [
                f"{name} = {target[k]:g} was always {self.low[k]:g} in the runs: its effect is the formula's alone"
                for k, name in enumerate(self.names)
                if constant[k] and target[k] != self.low[k]
            ]
            lines += [
                f"{name} = {target[k]:g} is {distance[i, k]:.3g} times outside the runs' {self.low[k]:g} to "
                f"{self.high[k]:g}: far outside, treat the prediction as a guess"
                for k, name in enumerate(self.names)
                if not constant[k] and distance[i, k] > FAR
            ]
            lines += [
                f"{name} = {target[k]:g} is {distance[i, k]:.3g} times the runs' {self.high[k]:g}: no run was near, "
                "and the time may turn up"
                for k, name in enumerate(self.names)
                if self.method == "default" and NEAR < distance[i, k] <= FAR and target[k] > self.high[k] > self.low[k]
            ]
            if hull[i] > 0 and not (distance[i] > FAR).any():
                at = ", ".join(f"{name} = {x:g}" for name, x in zip(self.names, target, strict=True))
                lines.append(f"{at} lies outside of what was run together: no runs surround it")
            if mean[i] <= 0:
                lines.append(f"a time of {mean[i]:.3g} s cannot be: the formula does not hold here under this method")
            elif prediction[i, 1] - mean[i] > WIDE * mean[i]:
                lines.append("the prediction interval is wider than the prediction: measure nearer to this target")
            found.append(tuple(lines))
        return tuple(found)


def observed_table(cells: Cells) -> Floats:
    """Mean, smallest, largest time and number of runs of each cell, shape (cells, 4)."""
    return np.column_stack([cells.mean_s, cells.low_s, cells.high_s, cells.runs])


def _part_intervals(part: Part, columns: Mapping[str, Floats], level: float) -> tuple[Floats, Floats, Floats]:
    """Mean of shape (n,), confidence and prediction interval of shape (n, 2)."""
    if isinstance(part.fit, LinearFit):
        mean = part.fit.point(columns)
        confidence, prediction = part.fit.half_widths(columns, level)
        both = np.array([-1.0, 1.0])
        return mean, mean[:, None] + confidence[:, None] * both, mean[:, None] + prediction[:, None] * both
    blend, tails = part.fit, ((1 - level) / 2, (1 + level) / 2)
    logs, of_mean, of_run = blend.members(columns)
    # Both kinds of interval in one go: targets side by side.
    freedom = np.hstack([np.broadcast_to(blend.freedom[:, None], logs.shape), blend.freedom_of_run(logs, of_run)])
    found = mixture_quantiles(
        blend.weight, np.hstack([logs, logs]), np.hstack([of_mean, of_run]), freedom=freedom, levels=tails
    )
    confidence, prediction = np.split(np.exp(np.clip(found, -LONGEST, LONGEST)).T, 2)
    mean = np.exp(np.clip(blend.steady @ logs, -LONGEST, LONGEST))
    # Quantiles of a mixture need not be nested where a candidate stands far off; the intervals stated are.
    confidence = _around(mean[:, None], confidence)
    return mean, confidence, _around(confidence, prediction)


def _causes(fit: Blend | LinearFit, columns: Mapping[str, Floats]) -> Floats:
    """Variances of the logarithm of the mean at one target by `CAUSES`."""
    if isinstance(fit, Blend):
        return fit.causes(columns)
    half, _ = fit.half_widths(columns, LEVEL)
    return np.array([float((half / NINETY / np.maximum(np.abs(fit.point(columns)), 1e-300))[0]) ** 2, 0.0, 0.0])


def _log_tails(part: Part, columns: Mapping[str, Floats]) -> Floats:
    """Residuals of the logarithm of one run of a part at one target, ascending and equally likely."""
    fit = part.fit
    if part.tails is not None:
        if isinstance(fit, Blend):
            return np.asarray(part.tails * fit.noise_factor(np.log(fit.point(columns)))[0])
        mean = max(abs(float(fit.point(columns)[0])), 1e-300)
        return np.asarray(np.log(np.maximum(1.0 + part.tails / mean, LEAST)))
    if isinstance(fit, Blend):
        _, of_mean, of_run = fit.members(columns)
        sd = float(np.sqrt(fit.weight @ (of_run - of_mean)[:, 0]))
    else:
        mean = max(abs(float(fit.point(columns)[0])), 1e-300)
        sd = float(np.sqrt(fit.variance)) / mean
    return np.log(Noise.normal(sd).factors)


def _log_sd(low: float, high: float, mean: float) -> float:
    """Standard deviation of a logarithm whose 90 % interval is as wide; 0 where it is rounding."""
    # A straight line of `ols` may go below 0.
    sd = ((high - low) / mean if low <= 0 else float(np.log(high / low))) / 2 / NINETY
    return sd if sd > NOTHING else 0.0


def _around(inner: Floats, interval: Floats) -> Floats:
    """The interval, widened where needed to hold the inner values; shape (n, 2)."""
    return np.column_stack([np.minimum(inner[:, 0], interval[:, 0]), np.maximum(inner[:, -1], interval[:, 1])])
