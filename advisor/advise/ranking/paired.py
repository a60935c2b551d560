"""Many paired comparisons at once: gains with intervals that hold together, products of means, and who is the best."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simulator import half_interval, randomness, ties

Floats = NDArray[np.float64]
DRAWS = 2_000
"""For chances: a stated one has a standard error of at most 0.011."""
FAR = 8.0
"""Standard errors of its paired difference to the fastest, beyond which a row cannot be the fastest."""
FAR_CHANCE = 1e-4
"""And it is at least so unlikely that it is: few replications say little of a standard error."""


@dataclass(frozen=True)
class Gains:
    """Ratios or differences of means with their intervals, NaN where replications tell none; (row,) each."""

    mean: Floats
    low: Floats
    high: Floats

    def rows(self) -> list[dict[str, Any]]:
        """One entry per row; None where there is no interval."""
        columns = zip(self.mean.tolist(), self.low.tolist(), self.high.tolist(), strict=True)
        return [
            {"mean": mean, "low": None, "high": None} if math.isnan(low) else {"mean": mean, "low": low, "high": high}
            for mean, low, high in columns
        ]


def gains(base_s: Floats, others_s: Floats, *, comparisons: int = 1, deterministic: bool = False) -> Gains:
    """How many times longer the base takes than each of the others, by means of paired replications.

    The interval is that of a ratio of paired means (delta method, Student's t).

    Parameters
    ----------
    base_s
        Makespans of the base, (replication,), or each row's own, (row, replication).
    others_s
        (row, replication).
    comparisons
        How many are made: all of their intervals hold together with 95 % (Bonferroni).
    deterministic
        Whether it is known that nothing was drawn; see `simulator.engines.run_set.half_interval`.
    """
    means = np.mean(others_s, axis=1)
    ratios = np.mean(base_s, axis=-1) / means
    rest = base_s - ratios[:, np.newaxis] * others_s
    scale = np.broadcast_to(np.mean(base_s, axis=-1), means.shape)
    half = half_interval(rest, scale, deterministic=deterministic, comparisons=comparisons) / means
    return Gains(ratios, np.maximum(ratios - half, 0.0), ratios + half)


def differences(base_s: Floats, others_s: Floats, *, deterministic: bool = False) -> Gains:
    """Mean paired differences to the base with their 95 % intervals (Student's t); see `gains`."""
    rest = others_s - base_s
    means = np.mean(rest, axis=1)
    half = half_interval(rest, np.broadcast_to(np.mean(base_s), means.shape), deterministic=deterministic)
    return Gains(means, means - half, means + half)


def product_of_means(
    powers: Floats, makespans_s: Floats, *, comparisons: int = 1, deterministic: bool = False
) -> tuple[float, float]:
    """The logarithm of a product of powers of mean makespans, and half its 95 % interval (delta method, Student's t).

    The half is NaN where replications tell none.

    Parameters
    ----------
    powers
        (row,); 1 and -1 make a ratio.
    makespans_s
        (row, replication), paired.
    comparisons, deterministic
        As for `gains`.
    """
    means = np.mean(makespans_s, axis=1)
    rest = powers @ (makespans_s / means[:, np.newaxis])
    half = half_interval(rest[np.newaxis], np.ones(1), deterministic=deterministic, comparisons=comparisons)
    return float(powers @ np.log(means)), float(half[0])


def alike(makespans_s: Floats) -> NDArray[np.int64]:
    """The first row that has the same makespans in every replication, but for rounding; (row,)."""
    known: dict[int, list[int]] = {}
    found = np.arange(makespans_s.shape[0])
    for place, level in enumerate(ties.levels(makespans_s.mean(axis=1)).tolist()):
        others = known.setdefault(level, [])
        first = next((other for other in others if _equal(makespans_s[place], makespans_s[other])), None)
        if first is None:
            others.append(place)
        else:
            found[place] = first
    return found


def _equal(one: Floats, other: Floats) -> bool:
    return bool(np.allclose(one, other, rtol=ties.SAME, atol=0, equal_nan=True))


def no_surer(chances: Floats, replications: int) -> Floats:
    """Chances as sure as so few replications can make them: at most 1 - 0.5^R, what is beyond is shared by the others.

    So likely is it that R replications do not all fall on one side of the typical one, whatever is drawn: a chance that
    follows from a normal distribution may be far nearer to 1 after two or three, which show next to nothing of it.
    """
    top, most = int(np.argmax(chances)), 1 - 0.5**replications
    if chances.size < 2 or chances[top] <= most:
        return chances
    found: Floats = chances + (chances[top] - most) / (chances.size - 1)
    found[top] = most
    return found


def chances_of_fastest(makespans_s: Floats, *, seed: int, deterministic: bool = False) -> Floats:
    """How likely it is of each row that no other one has a smaller mean; rows that are alike share it; (row,).

    Means are drawn as `mean + t x standard error`, with one multivariate t for all rows, so that what replications
    have in common cancels as it does in the paired differences: a bootstrap with normal weights, widened for few
    replications by the chi-square of their variance. For two rows of normal makespans it is exact (flat prior), but for
    `no_surer`. NaN after one replication, which says nothing of chances unless nothing is drawn.

    Parameters
    ----------
    makespans_s
        (row, replication), paired.
    seed
        Of the draws.
    deterministic
        Whether it is known that nothing was drawn.
    """
    from scipy.special import stdtrit

    first = alike(makespans_s)
    rows = np.unique(first)
    count = makespans_s.shape[1]
    means = np.mean(makespans_s, axis=1)
    found = np.zeros(means.size)
    if deterministic:
        best = ties.near_least(means[rows])
        found[rows[best]] = 1 / best.sum()
        return found[first]
    if count < 2:
        return np.full(means.size, np.nan)
    fastest = rows[ties.first_least(means[rows])]
    apart = makespans_s[rows] - makespans_s[fastest]
    spread = np.std(apart, axis=1, ddof=1) / np.sqrt(count)
    near = rows[np.mean(apart, axis=1) <= max(FAR, stdtrit(count - 1, 1 - FAR_CHANCE)) * spread]
    generator = randomness.stream(seed, "chances")
    normal = generator.standard_normal((DRAWS, count)) * np.sqrt(
        (count - 1) / generator.chisquare(count - 1, (DRAWS, 1))
    )
    rest = (makespans_s[near] - means[near, np.newaxis]) / np.sqrt(count * (count - 1))
    drawn = means[near] + normal @ rest.T
    found[near] = np.bincount(np.argmin(drawn, axis=1), minlength=near.size) / DRAWS
    found[rows] = no_surer(found[rows], count)
    return found[first]
