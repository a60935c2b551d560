"""Best-first branch and bound over kinds, for analytic models whose kinds need not differ by factors only.

A node has fixed, for the first kinds, how many processes each PE of theirs runs (0: none takes part); how many PEs do
so is left open. Its bound lets each P have the least time at which the fixed kinds and all others together could run P
processes. At a leaf, sums of what the kinds offer give the P that can really be reached.
"""

import heapq
from itertools import count

import numpy as np
from numpy.typing import NDArray

from advisor.advise.allocate.sumsets import allocation, as_numbers, reachable
from advisor.advise.problem import Floats, Found, Problem, model_times_s
from simulator import ScenarioError, ties

MOST_NODES = 20_000
"""After so many the best found so far is returned, with the bound that holds."""
MOST_NUMBERS = 50_000_000
"""Of the tables of bounds; a model of more kinds, processes per PE and processes is refused."""

Choice = tuple[int, ...]
"""Processes per PE of the first kinds."""


def branch_and_bound(problem: Problem) -> Found:
    """The optimal allocation by the problem's model; if the search had to stop early, the lower bound says how near.

    Raises
    ------
    ScenarioError
        If there is no model, or one too large to bound.
    """
    search = _Search(problem)
    ticket = count()  # equal bounds: the node that was made first
    root_s = search.bound_s(())
    heap: list[tuple[float, int, float, Choice, int | None]] = [(ties.rounded(root_s), next(ticket), root_s, (), None)]
    best: tuple[float, Choice, int] | None = None
    nodes = 0
    while heap:
        _, _, bound_s, choice, processes = heapq.heappop(heap)
        if processes is not None and np.isfinite(bound_s):
            return search.found((bound_s, choice, processes), bound_s, nodes)
        if nodes >= MOST_NODES and best is not None:
            return search.found(best, bound_s, nodes)
        nodes += 1
        if len(choice) == len(problem.kinds):
            value_s, processes = search.leaf_s(choice)
            if np.isfinite(value_s) and (best is None or ties.is_less(value_s, best[0])):
                best = value_s, choice, processes
            heapq.heappush(heap, (ties.rounded(value_s), next(ticket), value_s, choice, processes))
            continue
        for each in range(problem.kinds[len(choice)].most + 1):
            child = (*choice, each)
            child_s = search.bound_s(child)
            if np.isfinite(child_s) and (best is None or ties.is_less(child_s, best[0])):
                child_s = max(bound_s, child_s)
                heapq.heappush(heap, (ties.rounded(child_s), next(ticket), child_s, child, None))
    if best is None:
        raise ScenarioError("allocation: the model allows no process on any PE")
    return search.found(best, best[0], nodes)


class _Search:
    """The tables from which bounds are read: per depth and P, times of the open kinds and what they then can run."""

    def __init__(self, problem: Problem) -> None:
        if problem.model is None:
            raise ScenarioError("allocation: there is no model; give one for branch and bound")
        self._problem, self._model = problem, problem.model
        most, kinds = problem.most_processes, problem.kinds
        widest = max(kind.most for kind in kinds)
        if (numbers := len(kinds) ** 2 * widest * most) > MOST_NUMBERS:
            raise ScenarioError(
                f"allocation: {numbers:.3g} bounds are too many for this search; at most {MOST_NUMBERS:.3g} can be"
            )
        self._times_s: Floats = problem.model.pe_s[:, :, : most + 1].copy()
        for place, kind in enumerate(kinds):
            self._times_s[place, kind.most :] = np.inf
        # Allowing more processes on a PE allows at least as many, so the least over all larger numbers counts.
        relaxed = np.minimum.accumulate(self._times_s[:, ::-1], axis=1)[:, ::-1]
        self._open: list[tuple[Floats, NDArray[np.int64]]] = []
        counts = np.repeat([kind.count for kind in kinds], relaxed.shape[1])
        for depth in range(len(kinds) + 1):
            times_s = relaxed[depth:].reshape(-1, most + 1)
            order = np.argsort(times_s, axis=0, kind="stable")
            gained = counts[depth * relaxed.shape[1] :][order]
            sorted_s = np.take_along_axis(times_s, order, axis=0)
            first = np.zeros((1, most + 1))
            capacity = np.cumsum(np.where(np.isfinite(sorted_s), gained, 0), axis=0)
            self._open.append((np.concatenate((first, sorted_s)), np.concatenate((first.astype(np.int64), capacity))))

    def bound_s(self, choice: Choice) -> float:
        """No allocation with these processes per PE is below."""
        fixed_s, capacity = self._fixed(choice)
        times_s, able = self._open[len(choice)]
        wanted = np.arange(fixed_s.size)
        first = np.sum(able < wanted - capacity, axis=0)  # how many of the sorted times are too early for P
        possible = first < times_s.shape[0]
        needed_s = np.where(possible, times_s[np.minimum(first, times_s.shape[0] - 1), wanted], np.inf)
        return float(np.min((np.maximum(fixed_s, needed_s) + self._model.comm_s[: wanted.size])[1:]))

    def leaf_s(self, choice: Choice) -> tuple[float, int]:
        """The least makespan with exactly these processes per PE, and its P."""
        processes = as_numbers(self._sums(choice)[-1])[1:]
        if processes.size == 0:
            return np.inf, 0
        times_s = self._fixed(choice)[0][processes] + self._model.comm_s[processes]
        place = ties.first_least(times_s)
        return float(times_s[place]), int(processes[place])

    def found(self, best: tuple[float, Choice, int], bound_s: float, nodes: int) -> Found:
        """The allocation of a leaf."""
        chosen = allocation(self._sums(best[1]), self._offers(best[1]), best[2])
        value_s = float(model_times_s(self._model, chosen[np.newaxis])[0])
        return Found(chosen, value_s, min(value_s, bound_s), nodes)

    def _fixed(self, choice: Choice) -> tuple[Floats, int]:
        """Longest time of the fixed kinds per P, and the most processes that they can run."""
        longest_s = np.zeros(self._times_s.shape[2])
        capacity = 0
        for place, each in enumerate(choice):
            if each:
                longest_s = np.maximum(longest_s, self._times_s[place, each - 1])
                capacity += each * self._problem.kinds[place].count
        return longest_s, capacity

    def _offers(self, choice: Choice) -> list[tuple[int, tuple[int, ...]]]:
        return [(kind.count, (each,) if each else ()) for kind, each in zip(self._problem.kinds, choice, strict=True)]

    def _sums(self, choice: Choice) -> list[int]:
        return reachable(self._offers(choice))
