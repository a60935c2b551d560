"""The one search: proposers take turns, a judge simulates what they propose and keeps the record of what was tried."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial

from advisor.advise.judge import Judge
from advisor.advise.proposers import RANKS, STARTS, WITHIN, Propose
from advisor.advise.space import Space
from advisor.advise.spending import OutOfBudgetError
from simulator import Configuration, ties

TURNS = 60
"""Turns in a row, at most."""
GAIN = 2e-4
"""Share of the objective that a round of turns has to gain for another one."""
AGAIN = 0.005
"""Share that a turn of one proposer has to gain to have the next one, too."""
RIVALS, RIVAL_TURNS, NEAR = (3, 1), 3, 1.5
"""Further sets of processes that are improved, round by round; turns of a round; times the best, at most."""
RIVAL_SHARE, MOST_RIVAL = 1 / 4, 64
"""Of what was simulated when the best was found, for a rival in a round; processes of the best up to which there are
rivals: among 800 they took three times what the search takes, and gained nothing."""
SEARCH_FIRST = 1_000_000
"""Number of the first replication that a search looks at."""

Allowed = Callable[[Configuration], bool]


def search(space: Space, judge: Judge, given: Sequence[Configuration], *, allowed: Allowed = lambda _: True) -> None:
    """Fill the judge's record, until nothing new is better or what may be spent is.

    It begins with those given: the baselines and the user's own. What is not `allowed` may not be advised, nor tried.
    """
    try:
        judge.of([space.without_idle(one) for one in given if allowed(one)])
        for propose in STARTS:
            _turn(space, judge, propose, allowed)
    except OutOfBudgetError:
        judge.spending.cut.append("search")
        return
    improve(space, judge, allowed=allowed)
    _rivals(space, judge, allowed)


def _rivals(space: Space, judge: Judge, allowed: Allowed) -> None:
    """Improve on further sets of processes, too: how good they are shows only with the best units and order of each."""
    before, effort = judge.best, RIVAL_SHARE * judge.spent
    if before is None or len(before.placement) > MOST_RIVAL:
        return
    for count in RIVALS:
        for one in judge.best_placed(1 + count, near=NEAR, ordered=False)[1:]:
            if not judge.spending.cut:
                with judge.only(one, effort=effort):
                    improve(space, judge, allowed=allowed, ranks=WITHIN, turns=RIVAL_TURNS)
    if judge.best != before and not judge.spending.cut:
        improve(space, judge, allowed=allowed)


def improve(
    space: Space,
    judge: Judge,
    *,
    allowed: Allowed = lambda _: True,
    ranks: Sequence[Sequence[Propose]] = RANKS,
    turns: int = TURNS,
) -> None:
    """Improve on the best of the judge's record: turns of the first rank of proposers that helps, until none does."""
    try:
        for _ in range(turns):
            if not any(_gains(judge, partial(_turns, space, judge, some, allowed)) for some in ranks):
                break
    except OutOfBudgetError:
        judge.spending.cut.append("search")


def _turns(space: Space, judge: Judge, proposers: Iterable[Propose], allowed: Allowed) -> None:
    for propose in proposers:
        while not judge.tired and _gains(judge, partial(_turn, space, judge, propose, allowed), by=AGAIN):
            pass


def _turn(space: Space, judge: Judge, propose: Propose, allowed: Allowed) -> None:
    judge.of([one for one in propose(space, judge) if allowed(one)])


def _gains(judge: Judge, turns: Callable[[], None], *, by: float = GAIN) -> bool:
    """Whether some turns improve what is best by more than a share."""
    before = judge.best
    value = judge.value(before) if before is not None else float("inf")
    turns()
    best = judge.best
    return best is not None and best != before and ties.is_less(judge.value(best), value * (1 - by))
