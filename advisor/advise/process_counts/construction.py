"""Which few runs to make: what every model needs first, then the same at other sizes and once more, as a budget allows.

Each kind runs alone over N, with every number of processes on a PE, on several PEs, and together with the others in
balance: what distinguishes the costs of a kind, of sharing a PE and of messages.
"""

import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from advisor.advise.process_counts.search import configurations
from simulator import Platform, ScenarioError, formula, ties, units
from simulator.calibration import PILOT, Allocation, ConstructionPlan, CostGuess, PEKind, PlannedRun, kinds_of

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Run = tuple[float, Allocation]
"""Problem size and allocation."""
Fits = Callable[[float, Ints], NDArray[np.bool_]]
"""Whether memory holds configurations at a size."""

LEAST_SIZES = 3
MOST_RUNS = 60
"""Listed, repetitions and the reserve among them."""
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

    Raises ScenarioError if a kind is unknown, sizes are too few or too large for every configuration, or the budget is
    too small.

    `most`: most processes per PE, by kind.
    `work`: units of volume of a run, a formula over N; divided by the speeds it guesses what runs cost.
    `kernel`: the kernel whose speeds are taken.
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


def _counts(kinds: Sequence[PEKind]) -> list[tuple[int, int]]:
    """PEs of each kind, and most processes on one of them."""
    return [(len(kind.pes), kind.most) for kind in kinds]


def fits_memory(kinds: Sequence[PEKind], memory_bytes: Mapping[str, int]) -> Fits:
    """Whether a size's matrix of 8-byte numbers, spread over the processes, fits the nodes of configurations.

    `memory_bytes`: of each node that says it; the others hold anything.
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
    allocations, _ = configurations(_counts(kinds))
    fit = fits_memory(kinds, memory_bytes)
    faults = [
        f"{field}: no configuration holds the matrix of {units.show_size(8 * size**2)} at N = {size:g}; all nodes have "
        f"{units.show_size(sum(memory_bytes.values()))} of memory together"
        for size in sizes
        if not fit(size, allocations).any()
    ]
    if faults:
        raise ScenarioError(faults)


def make_construction_plan(
    guess: CostGuess, wishes: Wishes, *, memory_bytes: Mapping[str, int] | None = None
) -> ConstructionPlan:
    """The runs to make, in order, within the budget, and some more in case they cost less than guessed.

    Raises ScenarioError if there are too few sizes, or the budget does not even pay for one run of each kind at each
    size.

    `memory_bytes`: of each node that says it: runs whose matrix does not fit are not planned.
    """
    sizes, at = tuple(sorted(wishes.sizes)), tuple(sorted(wishes.at))
    if (missing := LEAST_SIZES - len(set(sizes))) > 0:
        raise ScenarioError(
            f"--sizes: a curve over N has 3 terms, so {len(set(sizes))} are too few; add {missing} more"
        )
    allocations, weight = configurations(_counts(guess.kinds))
    fit = fits_memory(guess.kinds, memory_bytes or {})
    full_s = weight * sum(
        float((guess.time_s(np.full(len(own), size), own) + wishes.start_s).sum())
        for size in at
        for own in (allocations[fit(size, allocations)],)
    )
    budget_s = AIM * full_s if wishes.budget_s is None else wishes.budget_s
    if wishes.budget_s is None:
        needed_s = sum(
            _run_s(guess, *key) + wishes.start_s for key in _needed(guess, sizes) if fit(key[0], np.array([key[1]]))[0]
        )
        budget_s = max(budget_s, LEAST_BUDGETS * needed_s)
    return ConstructionPlan(
        kinds=guess.kinds,
        work=guess.work.text,
        latency_s=guess.latency_s,
        byte_s=guess.byte_s,
        sizes=sizes,
        at=at,
        budget_s=budget_s,
        start_s=wishes.start_s,
        full_s=full_s,
        seed=wishes.seed,
        runs=_chosen(guess, sizes, fit, budget_s=budget_s, start_s=wishes.start_s),
        notes=tuple(_notes(guess, budget_s, full_s, weight)),
    )


def _chosen(
    guess: CostGuess, sizes: Sequence[float], fit: Fits, *, budget_s: float, start_s: float
) -> tuple[PlannedRun, ...]:
    """The wanted runs that the budget pays for, in order, once and then once more; after them those of the reserve."""
    wanted: dict[Run, str] = {}
    for size, allocation, why in _wanted(guess, sizes):
        if fit(size, np.array([allocation]))[0]:
            wanted.setdefault((size, allocation), why)
    prices = {key: _run_s(guess, *key) + start_s for key in wanted}
    needed = [key for key in _needed(guess, sizes) if key in wanted]
    spent = sum(prices[key] for key in needed)
    if spent > budget_s:
        raise ScenarioError(
            f"--budget: each kind alone at {LEAST_SIZES} sizes takes {spent:.3g} s, more than {budget_s:.3g} s; "
            "give more, or smaller sizes"
        )
    left = [*(key for key in wanted if key not in needed), *wanted]
    runs: list[PlannedRun] = []
    count = len(needed)
    for reserve, limit_s in ((False, budget_s), (True, (1 + RESERVE) * budget_s)):
        taken, others = Counter[Run](() if reserve else needed), []
        for key in left:
            if count < MOST_RUNS and spent + prices[key] <= limit_s:
                taken[key] += 1
                spent, count = spent + prices[key], count + 1
            else:
                others.append(key)
        runs += [PlannedRun(*key, times, prices[key], wanted[key], reserve) for key, times in taken.items()]
        left = others
    return tuple(runs)


def _alone(kinds: Sequence[PEKind], number: int, pes: int, procs: int) -> Allocation:
    return tuple((pes, procs) if k == number else (0, 0) for k in range(len(kinds)))


def _needed(guess: CostGuess, sizes: Sequence[float]) -> list[Run]:
    """Without these there is no model: each kind alone at the smallest, the largest and the middle size."""
    some = (sizes[0], sizes[-1], sizes[len(sizes) // 2])
    return [(size, _alone(guess.kinds, number, 1, 1)) for size in some for number in range(len(guess.kinds))]


def _wanted(guess: CostGuess, sizes: Sequence[float]) -> Iterator[tuple[float, Allocation, str]]:
    """Size, allocation and reason of what a model needs, the most needed first; some more than once."""
    kinds, middle = guess.kinds, sizes[len(sizes) // 2]
    for size in (sizes[0], sizes[-1], middle, *sizes):
        for number, kind in enumerate(kinds):
            why = f"{PILOT}: {kind.name} alone" if size == sizes[0] else f"{kind.name} alone over N"
            yield size, _alone(kinds, number, 1, 1), why
    together = (middle, sizes[-1]) if len(kinds) > 1 else ()
    for size in together:
        yield size, _balanced(guess, size), "kinds together, in balance"
    yield from _apart(kinds, middle)
    for size in together:
        yield size, tuple((len(kind.pes), 1) for kind in kinds), "kinds together, one process each"
    for size in reversed(sizes):
        if together:
            yield size, _balanced(guess, size), "kinds together, in balance"
        yield from _apart(kinds, size, all_only=True)


def _apart(kinds: Sequence[PEKind], size: float, *, all_only: bool = False) -> Iterator[tuple[float, Allocation, str]]:
    """Each kind alone with every number of processes on a PE, and on all of its PEs, perhaps half and two of them."""
    for number, kind in enumerate(kinds):
        for procs in range(2, kind.most + 1):
            yield size, _alone(kinds, number, 1, procs), f"{procs} processes on a {kind.name}"
    for number, kind in enumerate(kinds):
        count = len(kind.pes)
        for pes in sorted({count} if all_only else {2, max(2, count // 2), count}) if count > 1 else ():
            yield size, _alone(kinds, number, pes, 1), f"{kind.name} over P"


def _balanced(guess: CostGuess, size: float) -> Allocation:
    """The configuration with all PEs of every kind that the guess likes best."""
    each = [[(len(kind.pes), m) for m in range(1, kind.most + 1)] for kind in guess.kinds]
    rows = np.array(list(itertools.product(*each)), dtype=np.int64)
    best = rows[ties.first_least(guess.time_s(np.full(len(rows), size), rows))]
    return tuple((pes, procs) for pes, procs in best.tolist())


def _run_s(guess: CostGuess, size: float, allocation: Allocation) -> float:
    return float(guess.time_s(np.array([size]), np.array([allocation], dtype=np.int64))[0])


def _notes(guess: CostGuess, budget_s: float, full_s: float, weight: float) -> Iterator[str]:
    for kind in guess.kinds:
        if kind.speed is None:
            yield f"kind {kind.name}: no speed known, 1 Gunits/s assumed until a pilot run shows it"
    if weight > 1.001:
        yield f"one in {weight:.3g} configurations looked at"
    if budget_s > AIM * full_s * 1.001:
        yield f"the budget is {budget_s / full_s:.0%} of what running every configuration at those sizes would take"
