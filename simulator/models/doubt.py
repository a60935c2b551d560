"""Noise and doubt, factors on a time: how one run differs from its truth, and what measuring left unknown of that."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike

from simulator.base import ties
from simulator.base.arrays import Floats, Vector
from simulator.base.documents import Data, Record
from simulator.base.errors import ScenarioError
from simulator.models.choice import odds
from simulator.models.levels import Levels, middles

DRIFT = 0.05
"""Standard deviation of what a machine's speed has changed by since it was measured, where nothing is known of it."""
COMMON = 0.8
"""Share of the variance of a doubt that all PEs of a kind have in common, where only one of them was measured."""
_ANY_SIZE = np.ones(1)
KNOTS = 12
"""Sizes between the least and the largest measured at which doubt is stated."""
LEAST_NEAR = 8
"""Errors of so many nearest sizes are looked at together, or of a third of all where that is more."""
OUTLYING = 4.0
"""Errors count as no larger than so many times the mean one: a spike is no doubt of all others."""
LEAST_SLOPE = 0.02
"""Doubt grows at least so much for each factor e of the size beyond those measured."""
OCTAVES = 3
"""Beyond them it grows for so many octaves."""
RATES = np.array([0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64])
"""Standard deviations per unit of log distance from what was measured that are tried."""
USUAL_RATE, RATE_SD = 0.03, 1.5
"""Their lognormal prior."""
FEWEST_SPREADS = 4
"""Points with repetitions whose spreads say how noise goes with the size or the time."""
SPIKE = 6.0
"""Squares count as no larger than so many times the expected one: an outlier is no growth."""
GROWTH_STEPS = 12
MOST_POWER, POWER_SD = 3.0, 1.0
"""Largest power of the noise's variance, and its prior standard deviation."""
SURELY = 2.0
"""Standard errors by which that power has to be away from 0."""
SPLIT_WORTH = 3.0
"""Most observations that one end that was held out counts for: what lies beyond it errs together."""
ENDS = (0.5, 1, 2, 3, 4)
"""Octaves below the largest size beyond which sizes are held out, to learn how far beyond the last one is known."""


@dataclass(frozen=True)
class Doubt(Record):
    """What is not known of a fixed time: the logarithm of truth over model is normal around 0."""

    sizes: Vector
    """Ascending problem sizes in elements, or bytes of messages; straight lines over them, constant beyond."""
    sd: Vector
    """Standard deviations of the logarithm at those sizes, finite and at least 0."""
    common: float = COMMON
    """Share of the variance that all PEs (or links) of the model have in common; each has the rest for itself."""
    sources: Mapping[str, float] = field(default_factory=dict)
    """What it is made of: share of the variance by cause, such as `sampling`, `form`, `extrapolation`, `drift`."""

    def __post_init__(self) -> None:
        if self.sizes.ndim != 1 or self.sizes.shape != self.sd.shape or not self.sizes.size:
            raise ScenarioError("doubt: sizes and sd need equal lengths, at least one of each")
        if np.any(np.diff(self.sizes) <= 0):
            raise ScenarioError("doubt: sizes do not ascend; give each size once, in order")
        if not (np.all(np.isfinite(self.sd)) and np.all(self.sd >= 0)):
            raise ScenarioError("doubt: sd has to be a finite number of at least 0")
        if not 0 <= self.common <= 1:
            raise ScenarioError(f"doubt: common is {self.common:g}; give a share of the variance from 0 to 1")
        if any(not 0 <= share <= 1 for share in self.sources.values()):
            raise ScenarioError("doubt: sources: give shares of the variance from 0 to 1")

    @classmethod
    def constant(cls, sd: float, *, common: float = COMMON, sources: Mapping[str, float] | None = None) -> "Doubt":
        """The same doubt at every size."""
        return cls(_ANY_SIZE, np.array([float(sd)]), common, sources or {})

    @classmethod
    def of_parts(cls, parts: Mapping[str, float], *, common: float = COMMON) -> "Doubt":
        """Independent causes by name, each with its standard deviation, at every size."""
        variance = sum(sd**2 for sd in parts.values())
        shares = {name: sd**2 / variance if variance else 0.0 for name, sd in parts.items()}
        return cls.constant(float(np.sqrt(variance)), common=common, sources=shares)

    def at(self, size: ArrayLike) -> Floats:
        """Standard deviation of the logarithm at sizes of any shape."""
        return np.asarray(np.interp(np.asarray(size, np.float64), self.sizes, self.sd))

    def factor(self, size: ArrayLike, deviate: ArrayLike) -> Floats:
        """Truth over model where a standard normal deviate was drawn; sizes and deviates that broadcast."""
        return np.asarray(np.exp(np.asarray(deviate, np.float64) * self.at(size)))

    def widened(self, factor: float) -> "Doubt":
        """The same with standard deviations so many times as large."""
        return replace(self, sd=self.sd * factor)


def doubt_data(doubt: Doubt | None) -> Data:
    """As an entry `doubt` of plain data; no entry where nothing is doubted or nothing is known of it."""
    return {} if doubt is None else {"doubt": doubt.to_dict()}


def noise_and_doubt(doubt: Doubt | None, noise: "Noise | None" = None, *, sizes: ArrayLike | None = None) -> str:
    """Both in words, as standard deviations in per cent: `noise 1.2 %, doubt 6.1 %: drift 5.0, form 2.8`.

    `sizes`: where the doubt is stated, as a mean square; by default at the sizes that it names.
    """
    if doubt is None and noise is None:
        return "noise and doubt are one: all between low and high is doubt"
    parts = [] if noise is None else [f"noise {_shown_sd(noise)} %"]
    if noise is not None and noise.levels is not None:
        parts.append(f"levels of PEs ({noise.levels})")
    if doubt is not None:
        sd = 100 * float(np.sqrt(np.mean(doubt.at(doubt.sizes if sizes is None else sizes) ** 2)))
        ordered = sorted(doubt.sources.items(), key=lambda item: -item[1])
        causes = ", ".join(f"{name} {sd * np.sqrt(share):.1f}" for name, share in ordered if share > 0)
        parts.append(f"doubt {sd:.1f} %" + (f": {causes}" if causes else ""))
    return ", ".join(parts)


def _shown_sd(noise: "Noise") -> str:
    ends = 100 * noise.sd * (np.ones(1) if noise.spreads is None else noise.spreads)
    shown = [f"{sd:.1f}" for sd in (ends[0], ends[-1])]
    return " to ".join(dict.fromkeys(shown))


@dataclass(frozen=True)
class Noise(Record):
    """How the time of one run differs from its truth: factors that are equally likely, tails kept."""

    factors: Vector
    """Ascending, above 0: factor k of n is the quantile (k + 1/2) / n; straight lines between."""
    levels: Levels | None = None
    """Which of them belong to a size, and how long a PE keeps one; None: alike at every size, and for one run."""
    sizes: Vector | None = None
    """Ascending problem sizes at which `spreads` are stated; None: noise is the same at every size."""
    spreads: Vector | None = None
    """What logarithms of factors are multiplied with there; straight in log-log between, constant beyond."""

    def __post_init__(self) -> None:
        if (self.sizes is None) != (self.spreads is None):
            raise ScenarioError("noise: sizes and spreads go together; give both or none")
        if self.sizes is not None and self.spreads is not None:
            if self.sizes.ndim != 1 or self.sizes.shape != self.spreads.shape or not self.sizes.size:
                raise ScenarioError("noise: sizes and spreads need equal lengths, at least one of each")
            both = np.concatenate((self.sizes, self.spreads))
            if np.any(np.diff(self.sizes) <= 0) or not (np.all(np.isfinite(both)) and np.all(both > 0)):
                raise ScenarioError("noise: sizes and spreads have to be finite and above 0, and sizes ascend")
        if self.factors.ndim != 1 or not self.factors.size or not np.all(np.isfinite(self.factors)):
            raise ScenarioError("noise: factors have to be finite numbers, at least one")
        if self.factors[0] <= 0 or np.any(np.diff(self.factors) < 0):
            raise ScenarioError("noise: factors have to be above 0 and not decrease")

    @classmethod
    def normal(cls, sd: float, *, count: int = 64) -> "Noise":
        """Factors whose logarithms are normal around 0 with a standard deviation."""
        from scipy.special import ndtri

        if not 0 <= sd < np.inf:
            raise ScenarioError(f"noise: {sd:g} cannot be a standard deviation; give a finite number of at least 0")
        return cls(np.exp(sd * ndtri((np.arange(count) + 0.5) / count)))

    def at(self, position: ArrayLike, size: ArrayLike | None = None) -> Floats:
        """Factors at positions from 0 to 1 of any shape: drawn evenly, they are as likely as what was seen.

        `size`: problem sizes that broadcast with the positions; None: those of all sizes together.
        """
        if self.levels is not None and size is not None:
            return self.levels.at(size, position)
        factors = np.interp(np.asarray(position, np.float64), middles(self.factors.size), self.factors)
        return np.asarray(factors if size is None else factors ** self.spread(size))

    def spread(self, size: ArrayLike) -> Floats:
        """What logarithms of factors are multiplied with at sizes of any shape."""
        if self.sizes is None or self.spreads is None:
            return np.ones(np.shape(size))
        known = np.log(self.sizes), np.log(self.spreads)
        return np.asarray(np.exp(np.interp(np.log(np.asarray(size, np.float64)), *known)))

    def spread_as(self, several: Sequence["Noise"], shares: ArrayLike, scales: ArrayLike = 1.0) -> "Noise":
        """The same with spreads between those of several noises, by their shares.

        `scales`: what the sizes of each are multiplied with first.
        """
        by = np.broadcast_to(np.asarray(scales, np.float64), len(several))
        known = [one.sizes * scale for one, scale in zip(several, by, strict=True) if one.sizes is not None]
        if not known:
            return self
        sizes = np.unique(np.concatenate(known))
        logs = [np.log(one.spread(sizes / scale)) for one, scale in zip(several, by, strict=True)]
        return replace(self, sizes=sizes, spreads=np.exp(np.asarray(shares, np.float64) @ np.array(logs)))

    @property
    def sd(self) -> float:
        """Standard deviation of the logarithm."""
        return float(np.std(np.log(self.factors)))


def growth_of(where: Floats, squares: Floats, degrees: Floats) -> float:
    """Power of a quantity by which the standard deviation of noise goes with it; 0 where that may be chance.

    Drawn towards 0, as few points show it.

    `where`: logarithms of the quantity; (n,).
    """
    away = where - np.average(where, weights=degrees + ties.SAME)
    information = float(degrees @ away**2) / 2
    if information < FEWEST_SPREADS / 2 or not squares.any():
        return 0.0
    power, level = 0.0, float(np.average(squares, weights=degrees))
    for _ in range(GROWTH_STEPS):
        ratios = np.minimum(squares / (level * np.exp(power * away)), SPIKE)
        level *= float(np.average(ratios, weights=degrees))
        power = float(np.clip(power + degrees @ (away * (ratios - 1)) / 2 / information, -MOST_POWER, MOST_POWER))
    if power**2 * information < SURELY**2:
        return 0.0
    return power / 2 / (1 + 1 / (information * POWER_SD**2))


def rate_beyond(missed: Sequence[tuple[Floats, Floats, Floats]], *, usual: float = USUAL_RATE) -> float:
    """How fast doubt grows with the distance from what was measured, as far ends that were held out teach.

    `missed`: of each end: logarithms of measured over predicted values, the variances that were expected of them, and
    their log distances from the rest; (n,) each.
    """
    evidence = -0.5 * (np.log(RATES / usual) / RATE_SD) ** 2
    for logs, expected, distance in missed:
        variance = expected + (RATES[:, None] * distance) ** 2
        worth = min(float(logs.size), SPLIT_WORTH)
        evidence -= 0.5 * worth * (np.log(variance) + logs**2 / variance).mean(axis=1)
    chances = odds(evidence)
    return float(np.exp(chances @ np.log(RATES) / chances.sum()))


def doubt_of_errors(
    sizes: ArrayLike,
    logs: ArrayLike,
    *,
    noise: float = 0.0,
    sampling: float = 0.0,
    drift: float = DRIFT,
    rate: float = LEAST_SLOPE,
) -> Doubt:
    """Doubt over size by cause: `form`, `extrapolation`, `sampling` and `drift`.

    The form's is the standard deviation of the errors at the nearest sizes, as their mean distance from 0 has it,
    without what noise explains; beyond the sizes measured it grows with the logarithm of the distance.

    `sizes`: of the points held out, at least 0, any order; (n,).
    `logs`: logarithms of measured over predicted values there; (n,).
    `noise`: standard deviation of the logarithm of one measured value.
    `sampling`: that of what is left of it in the fit.
    `drift`: that of what changes until the model is used.
    `rate`: least growth for each unit of log distance beyond the sizes; see `rate_beyond`.
    """
    where, errors = np.log(np.maximum(np.asarray(sizes, np.float64), 1.0)), np.abs(np.asarray(logs, np.float64))
    if not errors.size or errors.shape != where.shape or not np.all(np.isfinite(errors)):
        raise ScenarioError("held-out errors: at least one, each a finite number, are needed for a doubt")
    errors = np.minimum(errors, OUTLYING * max(float(np.mean(errors)), float(np.median(errors))))
    near = min(errors.size, max(LEAST_NEAR, errors.size // 3))
    inside = np.unique(np.linspace(where.min(), where.max(), KNOTS).round(12))
    seen = np.array([np.mean(errors[np.argsort(np.abs(where - x), kind="stable")[:near]]) for x in inside])
    form = np.sqrt(np.maximum(0.0, np.pi / 2 * seen**2 - noise**2))
    steps = np.log(2) * np.arange(1, OCTAVES + 1)
    below = inside[0] - steps[::-1][inside[0] - steps[::-1] > 0]
    x = np.concatenate((below, inside, inside[-1] + steps))
    distance = np.maximum(0.0, np.maximum(inside[0] - x, x - inside[-1]))
    forms = np.interp(x, inside, form)
    parts = {
        "form": forms,
        "extrapolation": distance * np.maximum(rate, forms),
        "sampling": np.full(x.size, sampling),
        "drift": np.full(x.size, drift),
    }
    whole = np.sqrt(np.sum([np.square(sd) for sd in parts.values()], axis=0))
    known = distance == 0
    variances = {name: float(np.mean(np.square(sd[known]))) for name, sd in parts.items()}
    total = sum(variances.values())
    return Doubt(np.exp(x), whole, sources={name: value / total for name, value in variances.items() if value > 0})
