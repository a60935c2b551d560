"""Ranking under noise: which configuration is best by runs that differ, how sure that is, and at what cost."""

from advisor.advise.ranking.gain import Gain, gain
from advisor.advise.ranking.halving import Makespans, Samples, halve
from advisor.advise.ranking.rank import Ranked, Ranking, rank

__all__ = [
    "Gain",
    "Makespans",
    "Ranked",
    "Ranking",
    "Samples",
    "gain",
    "halve",
    "rank",
]
