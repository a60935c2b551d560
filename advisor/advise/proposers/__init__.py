"""Proposers: what a search tries next, each from what was tried so far.

A proposer is a function `propose(space, record)` that yields configurations; `search` gives a turn to the first that
helps, then to the first one again.
"""

from collections.abc import Callable, Iterable
from functools import partial

from advisor.advise.judge import Judge
from advisor.advise.proposers import grids, orders, processes, ranks, sets, shares
from advisor.advise.space import Space
from simulator import Configuration

Propose = Callable[[Space, Judge], Iterable[Configuration]]

STARTS: tuple[Propose, ...] = (sets.propose,)
MUCH, *LESS = (partial(shares.moved, step=step) for step in shares.STEPS)
PROPOSERS: tuple[Propose, ...] = (
    shares.levelled,
    shares.others_levelled,
    processes.steps,
    orders.propose,
    grids.propose,
    MUCH,
    *LESS,
)
WITHIN: tuple[Propose, ...] = (MUCH, shares.levelled, orders.propose, grids.propose, *LESS)
"""Those that keep the processes on each PE."""


def proposers_of(space: Space) -> tuple[tuple[Propose, ...], tuple[Propose, ...], tuple[Propose, ...]]:
    """What a search begins with, goes on with, and goes on with while the processes on each PE stay."""
    return (
        ((ranks.starts,), (ranks.steps, ranks.leaps), (ranks.steps,)) if space.by_rank else (STARTS, PROPOSERS, WITHIN)
    )


__all__ = ["Propose", "proposers_of"]
