"""Every allocation: in the same replications, whatever the objective, or by an analytic model, a million at once.

Both are the oracle for small problems; allocations are numbered, so that one can be had without the others.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from advisor.advise.objectives import statistic
from advisor.advise.problem import Allocations, Floats, Found, Problem
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


def ranked(
    problem: Problem, *, most: int | None = None, times_s: Floats | None = None
) -> tuple[Found, Allocations, Floats]:
    """The best allocation by the problem's model, and the `most` best of all with their makespans, in order.

    Answers what `exhaustive` answers for a problem of its model; kinds are taken together by broadcasting, so that
    nothing but P and the longest time is held for every allocation. The first of equals comes first.

    Parameters
    ----------
    times_s
        Of every allocation, in the order of `all_times_s`, in place of the model's.

    Raises
    ------
    ScenarioError
        If there is no model, it allows no allocation, or there are more than a million.
    """
    check_enumerable(problem)
    times_s = all_times_s(problem) if times_s is None else times_s
    possible = int(np.count_nonzero(np.isfinite(times_s)))
    if possible == 0:
        raise ScenarioError("allocation: the model allows no process on any PE")
    count = possible if most is None else min(most, possible)
    if count < times_s.size:
        last_s = np.partition(times_s, count - 1)[count - 1]
        least = np.flatnonzero(times_s <= last_s * (1 + 2 * ties.SAME))
    else:
        least = np.arange(times_s.size)
    places = least[ties.in_order(times_s[least])][:count]
    allocations = allocations_at(problem, places)
    best_s = float(times_s[places[0]])
    return Found(allocations[0], best_s, best_s, problem.size), allocations, times_s[places]


def all_allocations(problem: Problem) -> Iterator[Allocations]:
    """Every allocation, in blocks."""
    for start in range(0, problem.size, BLOCK):
        yield allocations_at(problem, np.arange(start, min(start + BLOCK, problem.size)))


def check_enumerable(problem: Problem) -> None:
    """Refuse what would take too long.

    Raises
    ------
    ScenarioError
        If there are more than a million allocations.
    """
    if problem.size > MOST:
        raise ScenarioError(
            f"allocation: {problem.size:.3g} allocations are too many to look at each; give at most {MOST}"
        )


def all_times_s(problem: Problem) -> Floats:
    """Makespans by the problem's model, in the order of `all_allocations`, infinite where not allowed; (n,)."""
    model = problem.model
    if model is None:
        raise ScenarioError("allocation: there is no model; give one to rank all allocations")
    offers = offers_of(problem)
    table, width = model.pe_s, model.pe_s.shape[2]
    processes: np.ndarray = np.zeros((), dtype=np.int64)
    for offer in offers:
        processes = np.add.outer(processes, offer.prod(axis=1))
    longest = np.zeros(processes.shape)
    for place, offer in enumerate(offers):
        rows = np.concatenate((np.zeros(width), table[place].ravel()))  # nobody of the kind takes part: no time
        shape = [1] * len(offers)
        shape[place] = -1
        np.maximum(longest, np.take(rows, processes + (offer[:, 1] * width).reshape(shape)), out=longest)
    return np.asarray((longest + np.take(model.comm_s, processes)).ravel()[1:])


def offers_of(problem: Problem) -> list[Allocations]:
    """For each kind, what it may do: nothing, or so many PEs with so many processes each; (offer, 2)."""
    return [offers(range(1, kind.count + 1), range(1, kind.most + 1)) for kind in problem.kinds]


def offers(pes: Sequence[int], each: Sequence[int]) -> Allocations:
    """What a kind may do: nothing, or one of some numbers of PEs with one of some numbers of processes; (offer, 2)."""
    return np.array([(0, 0), *((count, m) for count in pes for m in each)], dtype=np.int64)


def combined(every: Sequence[Allocations], places: np.ndarray) -> Allocations:
    """Combinations of what kinds may do, by their place in all of them; that of the last kind changes fastest."""
    chosen = []
    for offer in reversed(every):
        places, at = np.divmod(places, len(offer))
        chosen.append(offer[at])
    return np.stack(chosen[::-1], axis=1)


def allocations_at(problem: Problem, places: np.ndarray) -> Allocations:
    """Allocations by their place in the order of `all_allocations`; (place, kind, 2)."""
    return combined(offers_of(problem), places + 1)


def places_of(problem: Problem, allocations: Allocations) -> np.ndarray:
    """The place of allocations in the order of `all_allocations`; (n,)."""
    found = np.zeros(allocations.shape[0], dtype=np.int64 if problem.size < 2**62 else object)
    for place, kind in enumerate(problem.kinds):
        pes, each = allocations[:, place, 0], allocations[:, place, 1]
        found = found * (1 + kind.count * kind.most) + np.where(pes > 0, (pes - 1) * kind.most + each, 0)
    return found - 1
