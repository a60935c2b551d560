"""Candidates: allocations that are worth a simulation, from the thresholds of a model and from plain strategies."""

from collections.abc import Sequence

import numpy as np

from advisor.advise.problem import Allocations, EqualWork, Floats, Kind, Model, Problem, model_times_s, processes_of
from simulator import ties

PARTS = (1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 0.05, 0.02)
"""Parts of the PEs that a threshold allows; the search thins them out by the model."""
AT = 16
"""Numbers of processes at which a model is asked for its thresholds, if kinds do not differ by factors only."""


def distinct(allocations: Allocations) -> Allocations:
    """Each allocation once, without those where nobody takes part; in their order."""
    busy = allocations[processes_of(allocations) > 0]
    if busy.shape[0] == 0:
        return busy
    _, first = np.unique(busy.reshape(busy.shape[0], -1), axis=0, return_index=True)
    return busy[np.sort(first)]


def plain_candidates(problem: Problem) -> Allocations:
    """All PEs, half of them, and each kind alone, with one and with the most processes on each."""
    counts = np.array([kind.count for kind in problem.kinds])
    most = np.array([kind.most for kind in problem.kinds])
    alone = [np.where(np.arange(counts.size) == place, counts, 0) for place in range(counts.size)]
    some = []
    for pes in [counts, -(-counts // 2), *alone]:
        some += [_allocation(pes, np.ones_like(most)), _allocation(pes, most)]
    return distinct(np.stack(some))


def plain_allocations(kinds: Sequence[Kind], speeds: Floats) -> dict[str, Allocations]:
    """What one would do without a search, each (kind, 2), by the speed of a PE of each kind.

    - `one-per-pe`: every PE, one process on each;
    - `speed-ratio`: every PE, processes in proportion to its speed, the slowest has one;
    - `fastest-pe`, `fastest-kind`: one process on that PE, or on each PE of that kind.
    """
    counts, most = (np.array([getattr(kind, name) for kind in kinds]) for name in ("count", "most"))
    only = (np.arange(counts.size) == ties.first_most(speeds)).astype(np.int64)
    pairs = {
        "one-per-pe": (counts, np.ones_like(counts)),
        "speed-ratio": (counts, np.clip(np.rint(speeds / speeds.min() * (1 + ties.SAME)), 1, most)),
        "fastest-pe": (only, only),
        "fastest-kind": (only * counts, only),
    }
    return {name: np.stack(pair, axis=1).astype(np.int64) for name, pair in pairs.items()}


def threshold_candidates(problem: Problem) -> Allocations:
    """For each limit on a PE's time: as many processes as it allows on each PE, on all or some of the PEs.

    Without a model, the plain ones.
    """
    if problem.model is None:
        return plain_candidates(problem)
    counts, some = np.array([kind.count for kind in problem.kinds]), []
    for times in _tables(problem.model, problem.kinds):
        for limit in np.unique(times[np.isfinite(times)]).tolist():
            within = times <= limit * (1 + ties.SAME)
            each = np.where(within.any(axis=1), times.shape[1] - np.argmax(within[:, ::-1], axis=1), 0)
            for most in sorted({1, int(each.max())}):
                some += [_allocation(np.ceil(part * counts), np.minimum(each, most)) for part in PARTS]
    return distinct(np.stack(some)) if some else plain_candidates(problem)


def neighbours(problem: Problem, allocation: np.ndarray, step: float) -> Allocations:
    """Moves from one allocation (kind, 2).

    More or fewer PEs, of one kind, of all, or of one kind for another's; another number of processes on each PE of a
    kind; a kind left out or taken in.

    Parameters
    ----------
    step
        Share of a kind's PEs that a move adds or takes.
    """
    counts = np.array([kind.count for kind in problem.kinds])
    pes, each = allocation[:, 0], allocation[:, 1]
    width, usual = np.maximum(1, np.rint(step * counts)).astype(np.int64), max(1, int(np.median(each[each > 0])))
    moved = [(np.rint(pes * factor), each) for factor in (1 - step, 1 + step)]
    units = np.eye(counts.size, dtype=np.int64)
    for place, unit in enumerate(units):
        moved += [(pes + sign * width * unit, each) for sign in (1, -1)]
        moved += [(pes * (1 - unit), each), (np.where(unit, counts, pes), each)]
        moved += [(pes, each + unit), (pes, np.maximum(each - unit, 1))]
        for other in np.flatnonzero(pes > 0).tolist():
            if other != place:
                amount = min(int(width[other]), int(pes[other]), int(counts[place] - pes[place]))
                moved.append((pes + amount * (unit - units[other]), each))
    limits = np.array([kind.most for kind in problem.kinds])
    allowed = [
        _allocation(np.clip(more, 0, counts), np.clip(np.where(some > 0, some, usual), 1, limits))
        for more, some in moved
    ]
    return distinct(np.stack(allowed))


def predicted_s(problem: Problem, allocations: Allocations) -> Floats:
    """What the model says of them, infinite where it does not allow one; all alike without a model."""
    if problem.model is None:
        return np.ones(allocations.shape[0])
    return model_times_s(problem.model, allocations)


def _allocation(pes: np.ndarray, each: np.ndarray) -> np.ndarray:
    whole = np.where(each > 0, pes, 0).astype(np.int64)
    return np.stack((whole, np.where(whole > 0, each, 0).astype(np.int64)), axis=1)


def _tables(model: Model, kinds: Sequence[Kind]) -> list[Floats]:
    """Tables (kind, m - 1) of loads or of times, whose values are the limits."""
    if isinstance(model, EqualWork):
        tables = [model.loads]
    else:
        usable = np.flatnonzero(np.isfinite(model.pe_s).any(axis=(0, 1)))[1:]
        at = np.unique(usable[np.linspace(0, usable.size - 1, AT).astype(np.int64)])
        tables = [model.pe_s[:, :, processes] for processes in at.tolist()]
    found = []
    for table in tables:
        limited = table.copy()
        for place, kind in enumerate(kinds):
            limited[place, kind.most :] = np.inf
        found.append(limited)
    return found
