"""Points against each other on the same draws: gains, differences and products of means, with stated intervals."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from simulator import intervals

Floats = NDArray[np.float64]
Truths = NDArray[np.int64]
Row = dict[str, Any]
"""`mean`, `low` and `high`; the ends are None where replications are too few to tell."""


def gains(
    base_s: Floats,
    others_s: Floats,
    *,
    comparisons: int = 1,
    truths: Truths | None = None,
    level: float = intervals.LEVEL,
    deterministic: bool = False,
) -> list[Row]:
    """How many times longer the base takes than each of the others, by means of paired replications.

    Parameters
    ----------
    base_s
        Makespans of the base, (replication,), or each row's own, (row, replication).
    others_s
        (row, replication).
    comparisons
        How many are made: all of their intervals hold together with `level` (Bonferroni).
    truths, level, deterministic
        See `simulator.intervals.of_ratio`.
    """
    held = together(level, comparisons)
    found = intervals.of_ratio(base_s, others_s, truths, level=held, deterministic=deterministic)
    return _rows(np.mean(base_s, axis=-1) / np.mean(others_s, axis=1), found)


def differences(
    base_s: Floats,
    others_s: Floats,
    *,
    truths: Truths | None = None,
    level: float = intervals.LEVEL,
    deterministic: bool = False,
) -> list[Row]:
    """How much longer each of the others takes than the base; see `gains`."""
    found = intervals.of_difference(base_s, others_s, truths, level=level, deterministic=deterministic)
    return _rows(np.mean(others_s, axis=1) - np.mean(base_s, axis=-1), found)


def product_of_means(
    powers: Floats,
    makespans_s: Floats,
    *,
    comparisons: int = 1,
    truths: Truths | None = None,
    level: float = intervals.LEVEL,
    deterministic: bool = False,
) -> tuple[float, float, float]:
    """The logarithm of a product of powers of mean makespans, and the ends of its interval (delta method).

    The ends are NaN where replications tell none.

    Parameters
    ----------
    powers
        (row,); 1 and -1 make a ratio.
    makespans_s
        (row, replication), paired.
    comparisons, truths, level, deterministic
        As for `gains`.
    """
    means = np.mean(makespans_s, axis=1)
    log = float(powers @ np.log(means))
    moved = powers @ (makespans_s / means[:, np.newaxis]) - powers.sum()  # its mean is 0, and it varies as the product
    # An interval is judged by the size of what it is of: around 1, not around 0.
    held = together(level, comparisons)
    found = intervals.of_mean(1 + moved[np.newaxis], truths, level=held, deterministic=deterministic)
    return log, log + float(found.low[0]) - 1, log + float(found.high[0]) - 1


def together(level: float, comparisons: int) -> float:
    """How often each of so many intervals has to hold for all to hold at once."""
    return 1 - (1 - level) / max(1, comparisons)


def _rows(means: Floats, found: intervals.Interval) -> list[Row]:
    """One entry per row."""
    columns: dict[str, Any] = {"mean": means, "low": found.low, "high": found.high}
    rows = zip(*(column.tolist() for column in columns.values()), strict=True)
    return [
        {name: None if np.isnan(value) else value for name, value in zip(columns, row, strict=True)} for row in rows
    ]
