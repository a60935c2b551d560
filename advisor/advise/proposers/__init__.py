"""Proposers: what a search tries next, each from what was tried so far.

A proposer is a function `propose(space, record)` that yields configurations; `search` lets those of the first rank take
turns as long as one of them helps, then those of the next one.
"""

from collections.abc import Callable, Iterable

from advisor.advise.judge import Judge
from advisor.advise.proposers import grids, orders, processes, sets, shares
from advisor.advise.space import Space
from simulator import Configuration

Propose = Callable[[Space, Judge], Iterable[Configuration]]

STARTS: tuple[Propose, ...] = (sets.propose,)
RANKS: tuple[tuple[Propose, ...], ...] = (
    (shares.levelled, processes.steps),
    (orders.propose, grids.propose),
    (shares.moved,),
)
WITHIN: tuple[tuple[Propose, ...], ...] = ((shares.levelled,), (orders.propose, grids.propose), (shares.moved,))
"""Those that keep the processes on each PE."""

__all__ = ["RANKS", "STARTS", "WITHIN", "Propose"]
