"""Every allocation of an analytic model with its makespan, a million in a fraction of a second."""

import numpy as np

from advisor.advise.allocate.exhaustive import check_enumerable, offers_of
from advisor.advise.problem import Allocations, Floats, Found, Problem
from simulator import ScenarioError, ties


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
        raise ScenarioError("allocation: model: no process allowed on any PE, at least one allowed")
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


def all_times_s(problem: Problem) -> Floats:
    """Makespans by the problem's model, in the order of `all_allocations`, infinite where not allowed; (n,)."""
    model = problem.model
    if model is None:
        raise ScenarioError("allocation: model: none found, one allowed for ranking all allocations")
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


def allocations_at(problem: Problem, places: np.ndarray) -> Allocations:
    """Allocations by their place in the order of `all_allocations`; (place, kind, 2)."""
    offers = offers_of(problem)
    at = np.unravel_index(places + 1, tuple(offer.shape[0] for offer in offers))
    return np.stack([offer[place] for offer, place in zip(offers, at, strict=True)], axis=1)


def places_of(problem: Problem, allocations: Allocations) -> np.ndarray:
    """The place of allocations in the order of `all_allocations`; (n,)."""
    found = np.zeros(allocations.shape[0], dtype=np.int64)
    for place, kind in enumerate(problem.kinds):
        pes, each = allocations[:, place, 0], allocations[:, place, 1]
        found = found * (1 + kind.count * kind.most) + np.where(pes > 0, (pes - 1) * kind.most + each, 0)
    return found - 1
