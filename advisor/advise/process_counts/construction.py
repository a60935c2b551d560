"""Which few runs to make: anchors that every model needs, then whatever makes the asked estimates surer per second.

A run is known by the share of its time that each cost term takes (`CostGuess.shares`): it teaches the terms that it
spends its time on. What is unknown of a term is taken as its guess, give or take as much again; a run is a linear
measurement of the terms with its noise. The next run is the one that lowers the sum of the variances of the estimates
asked for, those of the promising configurations at the sizes asked about, the most per second: V-optimal design, greedy
(Fedorov, Theory of Optimal Experiments, 1972).
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from advisor.advise.allocate.exhaustive import combined, offers
from simulator import Platform, ScenarioError, formula, ties, units
from simulator.calibration import PILOT, Allocation, ConstructionPlan, CostGuess, PEKind, PlannedRun, kinds_of

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Fits = Callable[[float, Ints], NDArray[np.bool_]]
"""Whether memory holds configurations at a size."""

LEAST_SIZES = 3
PROMISING = 1.5
"""Configurations within this factor of the best guess are the ones whose estimates are asked for."""
_MOST_TARGETS = 400
_MOST_RUNS = 60
_MOST_REPETITIONS = 2
_AGAIN = 0.5
"""What a repetition teaches of what it would if all that a model misses were noise."""
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


MOST_CONFIGURATIONS = 20_000
"""More candidates than these are thinned out."""
WORK = "2/3*N**3"
"""Units of volume of an LU factorisation, HPL's work."""
_MESSAGE_BYTES = 2**20
_LATENCY_S, _BYTE_S = 2e-6, 2e-10
"""Of messages inside a node, where nothing is said."""


def plan_construction(
    platform: Platform,
    wishes: Wishes,
    *,
    most: Mapping[str, int] | None = None,
    work: str = WORK,
    kernel: str | None = None,
) -> ConstructionPlan:
    """Plan the runs that a process-count model needs.

    Parameters
    ----------
    most
        Most processes per PE, by kind.
    work
        Units of volume of a run, a formula over N; divided by the speeds it guesses what runs cost.
    kernel
        The kernel whose speeds are taken.

    Raises
    ------
    ScenarioError
        If a kind is unknown, sizes are too few or too large for every configuration, or the budget is too small.
    """
    middle = sorted(wishes.sizes)[len(wishes.sizes) // 2]
    kinds = kinds_of(platform, kernel=kernel, size=middle**2, most=most or {})
    named = sorted({name for pe in platform.pes for name in pe.speeds})
    if kernel is not None and kernel not in named:
        raise ScenarioError(
            f"--kernel: no speed of {kernel!r} is known; " + (f"give {', '.join(named)}" if named else "leave it out")
        )
    memory = {node.name: node.memory_bytes for node in platform.nodes if node.memory_bytes is not None}
    for field, sizes in (("--sizes", wishes.sizes), ("--at", wishes.at)):
        check_sizes(kinds, memory, sizes, field=field)
    latency_s, byte_s = _messages(platform)
    volumes = formula.parse(work, names=("N",), place="--work")
    for size in (*wishes.sizes, *wishes.at):
        if (volume := float(volumes.evaluate({"N": size}))) <= 0:
            raise ScenarioError(f"--work: {work!r} is {volume:g} at N = {size:g}; give a formula above 0")
    guess = CostGuess(kinds, volumes, latency_s, byte_s)
    return make_construction_plan(guess, wishes, memory_bytes=memory)


def _messages(platform: Platform) -> tuple[float, float]:
    """Latency and seconds per byte between the first two PEs, on different nodes where there are several."""
    other = next((number for number, node in enumerate(platform.node_of) if node != platform.node_of[0]), 1)
    if len(platform.pes) == 1:
        return _LATENCY_S, _BYTE_S
    try:
        short, long = platform.message_s(0, other, [1.0, float(_MESSAGE_BYTES)])
    except ScenarioError:  # nothing said of messages inside the node
        return _LATENCY_S, _BYTE_S
    return float(short), max(0.0, float(long - short) / _MESSAGE_BYTES)


def every_configuration(kinds: Sequence[PEKind], *, most: int = MOST_CONFIGURATIONS) -> tuple[Ints, float]:
    """Configurations with at least one PE, and how many there are for each of them.

    Where there are too many, PE counts are halved from all of a kind's down to 1; then processes per PE likewise.

    Returns
    -------
    allocations
        PEs and processes on each; (configurations, kind, 2).
    weight
        Configurations there are in all over those listed.
    """
    whole = math.prod(len(kind.pes) * kind.most + 1.0 for kind in kinds) - 1
    every: list[Ints] = []
    for pes, processes in ((_all, _all), (_halved, _all), (_halved, _halved), (_ends, _ends)):
        every = [offers(pes(len(kind.pes)), processes(kind.most)) for kind in kinds]
        if math.prod(map(len, every)) <= most + 1:
            break
    found = combined(every, np.arange(1, min(math.prod(map(len, every)), most + 1)))
    return found, whole / len(found)


def _all(count: int) -> list[int]:
    return list(range(1, count + 1))


def _halved(count: int) -> list[int]:
    found = [count]
    while found[-1] > 1:
        found.append(found[-1] // 2)
    return found[::-1]


def _ends(count: int) -> list[int]:
    return sorted({1, count})


def fits_memory(kinds: Sequence[PEKind], memory_bytes: Mapping[str, int]) -> Fits:
    """Whether a size's matrix of 8-byte numbers, spread over the processes, fits the nodes of configurations.

    Parameters
    ----------
    memory_bytes
        Of each node that says it; the others hold anything.
    """
    nodes = list(memory_bytes)
    held = [np.zeros((len(kind.pes) + 1, len(nodes))) for kind in kinds]  # PEs on each node if the first p take part
    for kind, table in zip(kinds, held, strict=True):
        for number, pe in enumerate(kind.pes):
            table[number + 1] = table[number]
            if pe.node in memory_bytes:
                table[number + 1, nodes.index(pe.node)] += 1
    limits = np.array([memory_bytes[node] for node in nodes], dtype=np.float64)

    def fit(size: float, allocations: Ints) -> NDArray[np.bool_]:
        processes = allocations.prod(axis=2).sum(axis=1)
        ranks = np.zeros((len(allocations), len(nodes)))
        for k, table in enumerate(held):
            ranks += table[allocations[:, k, 0]] * allocations[:, k, 1, None]
        return np.asarray(np.all(8 * size**2 * ranks / processes[:, None] <= limits, axis=1))

    return fit


def check_sizes(
    kinds: Sequence[PEKind], memory_bytes: Mapping[str, int], sizes: Sequence[float], *, field: str
) -> None:
    """Refuse sizes that no configuration holds.

    Raises
    ------
    ScenarioError
        One line per size.
    """
    allocations, _ = every_configuration(kinds)
    fit = fits_memory(kinds, memory_bytes)
    faults = [
        f"{field}: no configuration holds the matrix of {units.show_size(8 * size**2)} at N = {size:g}; all nodes have "
        f"{units.show_size(sum(memory_bytes.values()))} of memory together"
        for size in sizes
        if not fit(size, allocations).any()
    ]
    if faults:
        raise ScenarioError(faults)


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
        raise ScenarioError(
            f"--sizes: a curve over N has 3 terms, so {len(set(sizes))} are too few; add {missing} more"
        )
    allocations, weight = every_configuration(guess.kinds)
    fit = fits_memory(guess.kinds, memory_bytes or {})
    full_s = weight * sum(
        float((guess.time_s(np.full(len(own), size), own) + wishes.start_s).sum())
        for size in at
        for own in (allocations[fit(size, allocations)],)
    )
    budget_s = AIM * full_s if wishes.budget_s is None else wishes.budget_s
    candidates = _candidates(guess, sizes, allocations, fit, start_s=wishes.start_s)
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


class _Candidates(NamedTuple):
    """Runs that there are to choose from: every configuration that fits, at every size."""

    keys: list[tuple[float, Allocation]]
    cost_s: Floats
    shares: Floats
    noise: Floats


def _candidates(
    guess: CostGuess, sizes: Sequence[float], allocations: Ints, fit: Fits, *, start_s: float
) -> _Candidates:
    each = [(size, allocations[fit(size, allocations)]) for size in sizes]
    size = np.concatenate([np.full(len(own), number) for number, own in each])
    rows = np.concatenate([own for _, own in each])
    keys = [_key(number, row) for number, row in zip(size, rows, strict=True)]
    return _Candidates(keys, guess.time_s(size, rows) + start_s, *guess.shares(size, rows))


def _add_best(chosen: _Chosen, candidates: _Candidates, *, budget_s: float) -> None:
    """Choose what teaches most per second, until the budget is used up or little is left to learn."""
    taken = np.array([chosen.counts.get(key, 0) for key in candidates.keys])
    while sum(chosen.counts.values()) < _MOST_RUNS:
        gain = chosen.gains(candidates.shares, candidates.noise) * _AGAIN**taken
        gain[taken >= _MOST_REPETITIONS] = 0.0
        gain[chosen.cost_s + candidates.cost_s > budget_s] = 0.0
        best = ties.first_most(gain / candidates.cost_s)
        if gain[best] <= 0 or chosen.variance < _SURE**2 * chosen.targets:
            return
        chosen.add(*candidates.keys[best], why="surer estimates per second")
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
    each = [np.array([(len(kind.pes), m) for m in range(1, kind.most + 1)]) for kind in guess.kinds]
    rows = combined(each, np.arange(math.prod(map(len, each))))
    return _key(size, rows[ties.first_least(guess.time_s(np.full(len(rows), size), rows))])[1]


def _add_anchors(
    chosen: _Chosen,
    guess: CostGuess,
    sizes: Sequence[float],
    *,
    budget_s: float,
    start_s: float,
    fit: Fits,
) -> float:
    """Choose the anchors that the budget pays for, and say what they cost."""
    spent = 0.0
    for rank, size, allocation, why in _anchors(guess, sizes):
        if (size, allocation) in chosen.counts or not fit(size, np.array([allocation]))[0]:
            continue
        price = _run_s(guess, size, allocation) + start_s
        if rank and spent + price > budget_s:
            continue
        chosen.add(size, allocation, why)
        spent += price
    if spent > budget_s:
        raise ScenarioError(
            f"--budget: each kind alone at {LEAST_SIZES} sizes takes {spent:.3g} s, more than {budget_s:.3g} s; "
            "give more, or smaller sizes"
        )
    return spent


def _indispensable_s(guess: CostGuess, sizes: Sequence[float], fit: Fits, *, start_s: float) -> float:
    """Seconds of the runs without which there is no model."""
    needed = [(size, row) for rank, size, row, _ in _anchors(guess, sizes) if not rank]
    return sum(_run_s(guess, size, row) + start_s for size, row in needed if fit(size, np.array([row]))[0])


def _run_s(guess: CostGuess, size: float, allocation: Allocation) -> float:
    return float(guess.time_s(np.array([size]), np.array([allocation], dtype=np.int64))[0])


def _listed(
    chosen: _Chosen, within: Mapping[tuple[float, Allocation], int], guess: CostGuess, start_s: float
) -> Iterator[PlannedRun]:
    """The runs in order: those within the budget, then the reserve."""
    for reserve in (False, True):
        for (size, allocation), count in chosen.counts.items():
            own = within.get((size, allocation), 0)
            times = count - own if reserve else own
            if times:
                run_s, why = _run_s(guess, size, allocation) + start_s, chosen.reasons[size, allocation]
                yield PlannedRun(size, allocation, times, run_s, why, reserve)


def _notes(guess: CostGuess, budget_s: float, full_s: float, weight: float) -> Iterator[str]:
    for kind in guess.kinds:
        if kind.speed is None:
            yield f"kind {kind.name}: no speed known, 1 Gunits/s assumed until a pilot run shows it"
    if weight > 1.001:
        yield f"one in {weight:.3g} configurations looked at"
    if budget_s > AIM * full_s * 1.001:
        yield f"the budget is {budget_s / full_s:.0%} of what running every configuration at those sizes would take"
