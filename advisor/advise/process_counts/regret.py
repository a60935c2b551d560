"""What a configuration may cost more than the best, over equally likely truths."""

from dataclasses import asdict, dataclass

import numpy as np

from advisor.advise.problem import Floats

RISK = 0.95
"""Quantile of regret that is told as its risk."""


@dataclass(frozen=True)
class Regret:
    """How much slower a configuration may be than the best of the shortlist, over the model's members."""

    expected: float
    """Mean, as a share."""
    risk: float
    """95 % quantile, as a share."""
    p_best: float
    """Chance that no other is faster."""

    def to_dict(self) -> dict[str, float]:
        """Plain data for JSON."""
        return asdict(self)


def regrets(members_s: Floats) -> tuple[Floats, Floats, Floats]:
    """Expected regret, its 95 % quantile and the chance to be best of each configuration; ties share that chance.

    Parameters
    ----------
    members_s
        Seconds by equally likely truths, paired; (member, n).
    """
    members_s = possible(members_s)
    least = members_s.min(axis=1, keepdims=True)
    lost = members_s / least - 1
    first = members_s == least
    p_best = np.mean(first / first.sum(axis=1, keepdims=True), axis=0)
    return lost.mean(axis=0), np.quantile(lost, RISK, axis=0), p_best


def possible(members_s: Floats) -> Floats:
    """Estimates that cannot be (0 and less, or no end) as the median of those of the configuration that can."""
    there = (members_s > 0) & np.isfinite(members_s)
    if there.all():
        return members_s
    usual = np.array(
        [np.median(part[known]) if known.any() else np.nan for part, known in zip(members_s.T, there.T, strict=True)]
    )
    usual = np.where(np.isnan(usual), members_s.max(initial=1.0, where=there), usual)
    return np.where(there, members_s, usual)


def chance_faster(members_s: Floats, first: int, second: int) -> float:
    """Share of members in which one configuration is faster than another; ties count half."""
    a, b = members_s[:, first], members_s[:, second]
    return float(np.mean((a < b) + 0.5 * (a == b)))
