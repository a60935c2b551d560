"""The exact optimum of the equal-work model, however many PEs there are, with a certificate.

The makespan is tau x share[P] + comm[P], where tau is the largest load of a PE that takes part: one of at most
(kinds x processes per PE) values. For each tau, a kind may run those m with load <= tau on 0 to all of its PEs, and
sums of such offers are all P that can be reached. The least over tau and P is the optimum, since the optimal
allocation has a tau of its own. Most tau need no sums: even if every P up to the largest could be reached, they would
be no better.
"""

import numpy as np

from advisor.advise.allocate.sumsets import Offer, allocation, as_numbers, reachable
from advisor.advise.problem import EqualWork, Found, Problem, model_times_s
from simulator import ScenarioError, ties


def structured(problem: Problem) -> Found:
    """The optimal allocation by the problem's model, which must be an `EqualWork`.

    The lower bound is the certificate: for every tau, the least makespan over the P that can be reached, or over all P
    up to the largest, which is no more.

    Raises
    ------
    ScenarioError
        If the model is another, or allows no process at all.
    """
    model = problem.model
    if not isinstance(model, EqualWork):
        raise ScenarioError("allocation: the model is none of equal work; give an EqualWork")
    taus = np.unique(model.loads[np.isfinite(model.loads)])
    if taus.size == 0:
        raise ScenarioError("allocation: the model allows no process on any PE")
    offered = [_offers(problem, model, tau) for tau in taus.tolist()]
    largest = [sum(count * max(each, default=0) for count, each in offers) for offers in offered]
    bounds = np.array(
        [_best(model, tau, np.arange(1, most + 1))[0] for tau, most in zip(taus.tolist(), largest, strict=True)]
    )
    best_s, chosen, evaluations = np.inf, (0, 0), 0
    sums: dict[int, list[int]] = {}
    for place in ties.in_order(bounds).tolist():
        if not ties.is_less(float(bounds[place]), best_s):
            break
        sums[place] = reachable(offered[place])
        candidates = as_numbers(sums[place][-1])[1:]  # without P = 0
        evaluations += candidates.size
        value_s, processes = _best(model, taus[place], candidates)
        bounds[place] = value_s
        if ties.is_less(value_s, best_s):
            best_s, chosen = value_s, (place, processes)
    found = allocation(sums[chosen[0]], offered[chosen[0]], chosen[1])
    value_s = float(model_times_s(model, found[np.newaxis])[0])
    return Found(found, value_s, float(bounds.min()), evaluations)


def _offers(problem: Problem, model: EqualWork, tau: float) -> list[Offer]:
    loads = model.loads
    return [
        (kind.count, tuple((np.flatnonzero(loads[place, : kind.most] <= tau * (1 + ties.SAME)) + 1).tolist()))
        for place, kind in enumerate(problem.kinds)
    ]


def _best(model: EqualWork, tau: float, processes: np.ndarray) -> tuple[float, int]:
    """The least makespan over some numbers of processes, and the first of those that reach it."""
    times_s = tau * model.share_s[processes] + model.comm_s[processes]
    place = ties.first_least(times_s)
    return float(times_s[place]), int(processes[place])
