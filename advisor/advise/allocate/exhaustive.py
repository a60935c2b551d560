"""Every allocation, all in the same replications: the oracle for small problems, whatever the objective."""

from collections.abc import Iterator

import numpy as np

from advisor.advise.objectives import statistic
from advisor.advise.problem import Allocations, Found, Problem
from simulator import ScenarioError, ties

MOST = 1_000_000
"""Allocations; more are refused."""
BLOCK = 4096


def exhaustive(problem: Problem) -> Found:
    """The best of all allocations in the problem's replications; the first of equals.

    Raises
    ------
    ScenarioError
        If there are more than a million.
    """
    check_enumerable(problem)
    replications = np.arange(problem.replications)

    def best_of(block: Allocations) -> tuple[float, Allocations]:
        values = statistic(problem.runs(block, replications), problem.objective)
        place = ties.first_least(values)
        return float(values[place]), block[place]

    found = list(map(best_of, all_allocations(problem)))
    value_s, allocation = found[ties.first_least([value_s for value_s, _ in found])]
    return Found(allocation, value_s, value_s, problem.size * problem.replications)


def all_allocations(problem: Problem) -> Iterator[Allocations]:
    """Every allocation, in blocks."""
    offers = offers_of(problem)
    shape = tuple(offer.shape[0] for offer in offers)
    for start in range(1, problem.size + 1, BLOCK):
        places = np.unravel_index(np.arange(start, min(start + BLOCK, problem.size + 1)), shape)
        yield np.stack([offer[place] for offer, place in zip(offers, places, strict=True)], axis=1)


def check_enumerable(problem: Problem) -> None:
    """Refuse what would take too long.

    Raises
    ------
    ScenarioError
        If there are more than a million allocations.
    """
    if problem.size > MOST:
        raise ScenarioError(
            f"allocation: {problem.size:.3g} allocations found, at most {MOST} allowed for exhaustive search"
        )


def offers_of(problem: Problem) -> list[Allocations]:
    """For each kind, what it may do: nothing, or so many PEs with so many processes each; (offer, 2)."""
    offers = []
    for kind in problem.kinds:
        some = [(pes, each) for pes in range(1, kind.count + 1) for each in range(1, kind.most + 1)]
        offers.append(np.array([(0, 0), *some], dtype=np.int64))
    return offers
