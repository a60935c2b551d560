"""The one search: proposers take turns, a judge simulates what they propose and keeps the record of what was tried."""

from collections.abc import Callable, Sequence
from itertools import pairwise

from advisor.advise.judge import Judge
from advisor.advise.proposers import Propose, proposers_of
from advisor.advise.space import Space
from advisor.advise.spending import OutOfBudgetError
from simulator import Configuration, ties

TURNS = 240
"""Turns in a row, at most."""
GAIN = 2e-4
"""Share of the objective that a turn has to gain for another one."""
AGAIN = 0.005
"""Share by which the best has to change for another turn of a proposer that gained nothing."""
RIVALS, NEAR = (3, 1), 1.5
"""Further sets of processes that are improved, round by round; times the best, at most."""
RIVAL_TURNS, RIVAL_FEW = 16, 3
"""Turns of each, at most; turns by which it is judged whether it can be the best."""
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
        judge.of([space.without_idle(space.in_order(one)) for one in given if allowed(one)])
        for propose in proposers_of(space)[0]:
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
                _catch_up(space, judge, one, allowed, effort=effort)
    if judge.best != before and not judge.spending.cut:
        improve(space, judge, allowed=allowed)


def _catch_up(space: Space, judge: Judge, rival: Configuration, allowed: Allowed, *, effort: float) -> None:
    """Turns of a rival, as long as it would be the best after all of them if each gains as the best of the last few."""
    goal, values = judge.value(judge.best or rival), list[float]()

    def worth() -> bool:
        values.append(judge.value(judge.best or rival))
        gained = min((after / before for before, after in pairwise(values[-1 - RIVAL_FEW :])), default=0.0)
        return values[-1] * gained ** (RIVAL_TURNS + 1 - len(values)) <= goal

    with judge.only(rival, effort=effort):
        improve(space, judge, allowed=allowed, proposers=proposers_of(space)[2], turns=RIVAL_TURNS, worth=worth)


def improve(
    space: Space,
    judge: Judge,
    *,
    allowed: Allowed = lambda _: True,
    proposers: Sequence[Propose] = (),
    turns: int = TURNS,
    worth: Callable[[], bool] = lambda: True,
) -> None:
    """Improve on the best of the judge's record: turns of the first proposer that helps, until none does.

    One that gained nothing has its next turn when the best is on other PEs, in another order or grid, or much better;
    and when no other helps, if the best is another by then.
    `proposers`: by default those of the space.
    `worth`: whether to go on, asked before each turn.
    """
    idle: dict[Propose, tuple[Configuration, float]] = {}
    proposers = proposers or proposers_of(space)[1]
    try:
        for _ in range(turns):
            if not worth():
                break
            if not any(_helps(space, judge, one, allowed, idle) for one in proposers):
                stale = [one for one, (before, _) in idle.items() if before != judge.best]
                if not any(_helps(space, judge, one, allowed, {}) for one in stale):
                    break
    except OutOfBudgetError:
        judge.spending.cut.append("search")


def _helps(
    space: Space,
    judge: Judge,
    propose: Propose,
    allowed: Allowed,
    idle: dict[Propose, tuple[Configuration, float]],
) -> bool:
    """Whether a turn of a proposer improves what is best by more than `GAIN`."""
    before = judge.best
    if judge.tired or before is None:
        return False
    value = judge.value(before)
    base, known = idle.get(propose, (None, value))
    alike = base is not None and (base.placement, base.grid) == (before.placement, before.grid)
    if alike and value > (1 - AGAIN) * known:
        return False
    _turn(space, judge, propose, allowed)
    best = judge.best
    if best is not None and best != before and ties.is_less(judge.value(best), value * (1 - GAIN)):
        return True
    idle[propose] = before, value
    return False


def _turn(space: Space, judge: Judge, propose: Propose, allowed: Allowed) -> None:
    judge.of([one for one in propose(space, judge) if allowed(one)])
