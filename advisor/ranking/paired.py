"""Many paired comparisons at once: gains with intervals that hold together, products of means, and who is the best."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simulator import randomness, ties

Floats = NDArray[np.float64]
DRAWS = 2_000
"""For chances: a stated one has a standard error of at most 0.011."""
FAR = 8.0
"""Standard errors of its paired difference to the fastest, beyond which a row cannot be the fastest."""


@dataclass(frozen=True)
class Gains:
    """Ratios or differences of means with their intervals; (row,) each."""

    mean: Floats
    low: Floats
    high: Floats

    def rows(self) -> list[dict[str, float]]:
        """One entry per row."""
        columns = {"mean": self.mean.tolist(), "low": self.low.tolist(), "high": self.high.tolist()}
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def gains(base_s: Floats, others_s: Floats, *, comparisons: int = 1) -> Gains:
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
    """
    means = np.mean(others_s, axis=1)
    ratios = np.mean(base_s, axis=-1) / means
    rest = base_s - ratios[:, np.newaxis] * others_s
    half = _half(rest, comparisons) / means
    return Gains(ratios, np.maximum(ratios - half, 0.0), ratios + half)


def differences(base_s: Floats, others_s: Floats) -> Gains:
    """Mean paired differences to the base with their 95 % intervals (Student's t); see `gains`."""
    rest = others_s - base_s
    means, half = np.mean(rest, axis=1), _half(rest, 1)
    return Gains(means, means - half, means + half)


def product_of_means(powers: Floats, makespans_s: Floats, *, comparisons: int = 1) -> tuple[float, float]:
    """The logarithm of a product of powers of mean makespans, and half its 95 % interval (delta method, Student's t).

    Parameters
    ----------
    powers
        (row,); 1 and -1 make a ratio.
    makespans_s
        (row, replication), paired.
    comparisons
        As for `gains`.
    """
    means = np.mean(makespans_s, axis=1)
    rest = powers @ (makespans_s / means[:, np.newaxis])
    return float(powers @ np.log(means)), float(_half(rest[np.newaxis], comparisons)[0])


def _half(rest: Floats, comparisons: int) -> Floats:
    """Half the interval of each row's mean; (row,)."""
    from scipy.special import stdtrit

    count = rest.shape[1]
    if count < 2:
        return np.zeros(rest.shape[0])
    quantile = stdtrit(count - 1, 1 - 0.025 / max(1, comparisons))
    return np.asarray(quantile * np.std(rest, axis=1, ddof=1) / np.sqrt(count))


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


def chances_of_fastest(makespans_s: Floats, *, seed: int) -> Floats:
    """How likely it is of each row that no other one has a smaller mean; rows that are alike share it; (row,).

    Means are drawn as `mean + t x standard error`, with one multivariate t for all rows, so that what replications
    have in common cancels as it does in the paired differences: a bootstrap with normal weights, widened for few
    replications by the chi-square of their variance. For two rows of normal makespans it is exact (flat prior).

    Parameters
    ----------
    makespans_s
        (row, replication), paired.
    seed
        Of the draws.
    """
    first = alike(makespans_s)
    rows = np.unique(first)
    count = makespans_s.shape[1]
    means = np.mean(makespans_s, axis=1)
    found = np.zeros(means.size)
    fastest = rows[ties.first_least(means[rows])]
    apart = makespans_s[rows] - makespans_s[fastest]
    spread = _deviation(apart) / np.sqrt(count)
    near = rows[np.mean(apart, axis=1) <= FAR * spread] if count > 1 else rows[ties.near_least(means[rows])]
    if near.size == 1 or count == 1:
        found[near] = 1 / near.size
        return found[first]
    generator = randomness.stream(seed, "chances")
    normal = generator.standard_normal((DRAWS, count)) * np.sqrt(
        (count - 1) / generator.chisquare(count - 1, (DRAWS, 1))
    )
    rest = (makespans_s[near] - means[near, np.newaxis]) / np.sqrt(count * (count - 1))
    drawn = means[near] + normal @ rest.T
    found[near] = np.bincount(np.argmin(drawn, axis=1), minlength=near.size) / DRAWS
    return found[first]


def _deviation(rest: Floats) -> Floats:
    return np.asarray(np.std(rest, axis=1, ddof=1)) if rest.shape[1] > 1 else np.zeros(rest.shape[0])
