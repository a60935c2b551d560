"""Choosing construction runs: anchors that every model needs, then whatever makes the asked estimates surer per second.

A run is known by the share of its time that each cost term takes (`CostGuess.shares`): it teaches the terms that it
spends its time on. What is unknown of a term is taken as its guess, give or take as much again; a run is a linear
measurement of the terms with its noise. The next run is the one that lowers the sum of the variances of the estimates
asked for, those of the promising configurations at the sizes asked about, the most per second: V-optimal design, greedy
(Fedorov, Theory of Optimal Experiments, 1972).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from advisor.advise.process_counts.configurations import every_configuration, fits_memory
from simulator import ScenarioError, ties
from simulator.calibration import PILOT, Allocation, ConstructionPlan, CostGuess, PlannedRun

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

LEAST_SIZES = 3
PROMISING = 1.5
"""Configurations within this factor of the best guess are the ones whose estimates are asked for."""
_MOST_TARGETS = 400
_MOST_RUNS = 60
_MOST_REPETITIONS = 2
_AGAIN = 0.5
"""What a repetition tells of what it would if all that a model misses were noise."""
_SURE = 0.01
"""Choosing ends where estimates are this sure, as a root mean square: no model is better."""
RESERVE = 1.0
"""How much more than the budget is listed in case costs prove lower, as a share of it."""


@dataclass(frozen=True)
class Wishes:
    """What a plan is asked for."""

    sizes: tuple[float, ...]
    at: tuple[float, ...]
    budget_s: float | None = None
    """None: 15 % of what running every configuration at the sizes `at` would take."""
    start_s: float = 0.5
    seed: int = 1


AIM = 0.15
LEAST_BUDGETS = 2.0
"""How many times the cost of the indispensable runs a budget is that nobody stated."""


class _Chosen:
    """Runs chosen so far, in order, and what is still unknown of the cost terms."""

    def __init__(self, guess: CostGuess, targets: Floats) -> None:
        self._guess = guess
        self._targets = targets
        self.targets = len(targets)
        self._unknown = np.eye(targets.shape[1])
        self.counts: dict[tuple[float, Allocation], int] = {}
        self.cost_s = 0.0
        self.reasons: dict[tuple[float, Allocation], str] = {}

    @property
    def variance(self) -> float:
        """Sum of the relative variances of the estimates asked for."""
        return float(np.einsum("ij,jk,ik->", self._targets, self._unknown, self._targets))

    def gains(self, shares: Floats, noise: Floats) -> Floats:
        """How much each candidate would lower `variance`; (candidates,)."""
        known = shares @ self._unknown
        quadratic = np.einsum("ij,ij->i", known, shares) + noise**2
        return np.asarray(((known @ self._targets.T) ** 2).sum(axis=1) / quadratic)

    def add(self, size: float, allocation: Allocation, why: str) -> None:
        """Take a run in, or a repetition of one."""
        key = (size, allocation)
        self.counts[key] = self.counts.get(key, 0) + 1
        self.reasons.setdefault(key, why)
        shares, noise = self._guess.shares(np.array([size]), np.array([allocation], dtype=np.int64))
        row = self._unknown @ shares[0]
        self._unknown = self._unknown - np.outer(row, row) / (shares[0] @ row + noise[0] ** 2)


def make_construction_plan(
    guess: CostGuess, wishes: Wishes, *, memory_bytes: Mapping[str, int] | None = None
) -> ConstructionPlan:
    """The runs to make, in order, within the budget, and some more in case they cost less than guessed.

    Parameters
    ----------
    memory_bytes
        Of each node that says it: runs whose matrix does not fit are not planned.

    Raises
    ------
    ScenarioError
        If there are too few sizes, or the budget does not even pay for one run of each kind at each size.
    """
    sizes, at = tuple(sorted(wishes.sizes)), tuple(sorted(wishes.at))
    if (missing := LEAST_SIZES - len(set(sizes))) > 0:
        raise ScenarioError(f"--sizes: {len(set(sizes))} found, {missing} more needed: a curve over N has 3 terms")
    allocations, weight = every_configuration(guess.kinds)
    fit = fits_memory(guess.kinds, memory_bytes or {})
    full_s = weight * sum(
        float((guess.time_s(np.full(len(own), size), own) + wishes.start_s).sum())
        for size in at
        for own in (allocations[fit(size, allocations)],)
    )
    budget_s = AIM * full_s if wishes.budget_s is None else wishes.budget_s
    candidates = _Candidates.of(guess, sizes, allocations, fit, start_s=wishes.start_s)
    if wishes.budget_s is None:
        budget_s = max(budget_s, LEAST_BUDGETS * _indispensable_s(guess, sizes, fit, start_s=wishes.start_s))
    chosen = _Chosen(guess, _targets(guess, at, allocations))
    chosen.cost_s = _add_anchors(chosen, guess, sizes, budget_s=budget_s, start_s=wishes.start_s, fit=fit)
    _add_best(chosen, candidates, budget_s=budget_s)
    within = dict(chosen.counts)
    _add_best(chosen, candidates, budget_s=(1 + RESERVE) * budget_s)
    return ConstructionPlan(
        guess,
        tuple(_listed(chosen, within, guess, wishes.start_s)),
        sizes,
        at,
        budget_s,
        wishes.start_s,
        full_s,
        wishes.seed,
        tuple(_notes(guess, budget_s, full_s, weight)),
    )


@dataclass(frozen=True)
class _Candidates:
    """Runs that there are to choose from."""

    size: Floats
    allocations: Ints
    cost_s: Floats
    shares: Floats
    noise: Floats

    @classmethod
    def of(
        cls,
        guess: CostGuess,
        sizes: Sequence[float],
        allocations: Ints,
        fit: Callable[[float, Ints], NDArray[np.bool_]],
        *,
        start_s: float,
    ) -> "_Candidates":
        """Every configuration that fits, at every size."""
        each = [(size, allocations[fit(size, allocations)]) for size in sizes]
        size = np.concatenate([np.full(len(own), number) for number, own in each])
        rows = np.concatenate([own for _, own in each])
        return cls(size, rows, guess.time_s(size, rows) + start_s, *guess.shares(size, rows))


def _add_best(chosen: _Chosen, candidates: _Candidates, *, budget_s: float) -> None:
    """Choose what tells most per second, until the budget is used up or little is left to tell."""
    keys = [_key(size, row) for size, row in zip(candidates.size, candidates.allocations, strict=True)]
    taken = np.array([chosen.counts.get(key, 0) for key in keys])
    while sum(chosen.counts.values()) < _MOST_RUNS:
        gain = chosen.gains(candidates.shares, candidates.noise) * _AGAIN**taken
        gain[taken >= _MOST_REPETITIONS] = 0.0
        gain[chosen.cost_s + candidates.cost_s > budget_s] = 0.0
        best = ties.first_most(gain / candidates.cost_s)
        if gain[best] <= 0 or chosen.variance < _SURE**2 * chosen.targets:
            return
        chosen.add(*keys[best], why="surer estimates per second")
        chosen.cost_s += candidates.cost_s[best]
        taken[best] += 1


def _key(size: float, allocation: NDArray[np.int64]) -> tuple[float, Allocation]:
    return float(size), tuple((int(pes), int(procs)) for pes, procs in allocation)


def _targets(guess: CostGuess, at: Sequence[float], allocations: Ints) -> Floats:
    """Shares of the terms in the runs whose estimates are asked for; (targets, terms)."""
    rows = []
    for size in at:
        sizes = np.full(len(allocations), size)
        times = guess.time_s(sizes, allocations)
        order = ties.in_order(times)
        near = order[times[order] <= (1 + ties.SAME) * PROMISING * times[order[0]]][: _MOST_TARGETS // len(at)]
        rows.append(guess.shares(sizes[near], allocations[near])[0])
    return np.concatenate(rows)


def _anchors(guess: CostGuess, sizes: Sequence[float]) -> Iterator[tuple[int, float, Allocation, str]]:
    """Rank (0: indispensable), size, allocation and reason of what every model needs, the most needed first."""
    kinds, middle = guess.kinds, sizes[len(sizes) // 2]

    def alone(number: int, pes: int, procs: int) -> Allocation:
        return tuple((pes, procs) if k == number else (0, 0) for k in range(len(kinds)))

    needed = (sizes[0], sizes[-1], middle)
    for number, kind in enumerate(kinds):
        yield 0, sizes[0], alone(number, 1, 1), f"{PILOT}: {kind.name} alone"
    for size in (*needed[1:], *(size for size in sizes if size not in needed)):
        for number, kind in enumerate(kinds):
            yield int(size not in needed), size, alone(number, 1, 1), f"{kind.name} alone over N"
    together = (middle, sizes[-1]) if len(kinds) > 1 else ()
    everything = tuple((len(kind.pes), 1) for kind in kinds)
    for size in together:
        yield 1, size, _balanced(guess, size), "kinds together, in balance"
    for number, kind in enumerate(kinds):
        for procs in range(2, kind.most + 1):
            yield 1, middle, alone(number, 1, procs), f"{procs} processes on a {kind.name}"
    for number, kind in enumerate(kinds):
        count = len(kind.pes)
        for pes in sorted({2, max(2, count // 2), count}) if count > 1 else ():
            yield 1, middle, alone(number, pes, 1), f"{kind.name} over P"
    for size in together:
        yield 1, size, everything, "kinds together, one process each"


def _balanced(guess: CostGuess, size: float) -> Allocation:
    """The configuration with all PEs of every kind that the guess likes best."""
    choices = np.stack(
        np.meshgrid(*(np.arange(1, kind.most + 1) for kind in guess.kinds), indexing="ij"), axis=-1
    ).reshape(-1, len(guess.kinds))
    counts = np.array([len(kind.pes) for kind in guess.kinds])
    rows = np.stack([np.broadcast_to(counts, choices.shape), choices], axis=2)
    return _key(size, rows[ties.first_least(guess.time_s(np.full(len(rows), size), rows))])[1]


def _add_anchors(
    chosen: _Chosen,
    guess: CostGuess,
    sizes: Sequence[float],
    *,
    budget_s: float,
    start_s: float,
    fit: Callable[[float, Ints], NDArray[np.bool_]],
) -> float:
    """Choose the anchors that the budget pays for, and say what they cost."""
    spent = 0.0
    for rank, size, allocation, why in _anchors(guess, sizes):
        row = np.array([allocation], dtype=np.int64)
        if (size, allocation) in chosen.counts or not fit(size, row)[0]:
            continue
        price = float(guess.time_s(np.array([size]), row)[0]) + start_s
        if rank and spent + price > budget_s:
            continue
        chosen.add(size, allocation, why)
        spent += price
    if spent > budget_s:
        raise ScenarioError(
            f"--budget: {budget_s:.3g} s found, at least {spent:.3g} s needed for each kind alone at "
            f"{LEAST_SIZES} sizes, or smaller sizes"
        )
    return spent


def _indispensable_s(
    guess: CostGuess, sizes: Sequence[float], fit: Callable[[float, Ints], NDArray[np.bool_]], *, start_s: float
) -> float:
    """Seconds of the runs without which there is no model."""
    rows = [(size, np.array([row], dtype=np.int64)) for rank, size, row, _ in _anchors(guess, sizes) if not rank]
    return sum(float(guess.time_s(np.array([size]), row)[0]) + start_s for size, row in rows if fit(size, row)[0])


def _listed(
    chosen: _Chosen, within: Mapping[tuple[float, Allocation], int], guess: CostGuess, start_s: float
) -> Iterator[PlannedRun]:
    """The runs in order: those within the budget, then the reserve."""
    for reserve in (False, True):
        for (size, allocation), count in chosen.counts.items():
            own = within.get((size, allocation), 0)
            times = count - own if reserve else own
            if times:
                time_s = float(guess.time_s(np.array([size]), np.array([allocation], dtype=np.int64))[0])
                why = chosen.reasons[size, allocation]
                yield PlannedRun(size, allocation, times, time_s + start_s, why, reserve)


def _notes(guess: CostGuess, budget_s: float, full_s: float, weight: float) -> Iterator[str]:
    for kind in guess.kinds:
        if kind.speed is None:
            yield f"kind {kind.name}: no speed known, 1 Gunits/s assumed until a pilot run tells"
    if weight > 1.001:
        yield f"one in {weight:.3g} configurations looked at"
    if budget_s > AIM * full_s * 1.001:
        yield f"the budget is {budget_s / full_s:.0%} of what running every configuration at those sizes would take"
