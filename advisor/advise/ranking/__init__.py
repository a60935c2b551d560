"""Ranking under noise: which configuration is best by runs that differ, and how sure that is."""

from advisor.advise.ranking.gain import Gain, gain
from advisor.advise.ranking.rank import Ranked, Ranking, rank

__all__ = ["Gain", "Ranked", "Ranking", "gain", "rank"]
