"""Collectives as algorithms over messages: what each process sends and receives, in order, for several at a time.

All messages of an algorithm have one tag: those of one sender and receiver match in program order, and so do those of
collectives that follow each other. Every algorithm is free of deadlock under rendezvous.
"""

from collections.abc import Callable

import numpy as np

from simulator.base.errors import ScenarioError
from simulator.programs.collectives import broadcast, everyone, trees
from simulator.programs.collectives.party import Ints, Party
from simulator.programs.columns import Kind, Slot
from simulator.programs.program import AllReduce, AllToAll, Broadcast, Collective, Gather, Reduce, Scatter

__all__ = ["ALGORITHMS", "expand"]

Algorithm = Callable[[Party], list[Slot]]

ALGORITHMS: dict[type[Collective], dict[str, Algorithm]] = {
    Broadcast: {
        "ring": broadcast.ring,
        "modified_ring": broadcast.modified_ring,
        "two_rings": broadcast.two_rings,
        "binomial": broadcast.binomial,
        "linear": broadcast.linear,
        "scatter_ring": broadcast.scatter_ring,
    },
    Scatter: {"linear": trees.linear_scatter, "binomial": trees.binomial_scatter},
    Gather: {"linear": trees.linear_gather, "binomial": trees.binomial_gather},
    Reduce: {"linear": trees.linear_reduce, "binomial": trees.binomial_reduce},
    AllToAll: {"pairwise": everyone.pairwise, "linear": everyone.linear},
    AllReduce: {
        "recursive_doubling": everyone.recursive_doubling,
        "ring": everyone.ring,
        "reduce_broadcast": everyone.reduce_broadcast,
    },
}
"""The algorithms of each collective, by name."""


def expand(operation: Collective, ids: Ints, members: Ints, shape: tuple[int, ...]) -> list[Slot]:
    """What processes `ids` do in a collective of `members`.

    Parameters
    ----------
    operation
        Its `root` and `size_bytes` broadcast to the iterations.
    ids, members
        Processes to expand for, and all that take part, in ring order.
    shape
        Iterations of the loops around it.

    Returns
    -------
    list[Slot]
        Primitive operations in order, those left out that none of `ids` has; each field broadcasts to
        (process, iterations...).

    Raises
    ------
    ScenarioError
        If the root is no member, the size is no number of bytes, or there is no such algorithm.
    """
    name = type(operation).__name__.lower()
    rank_of = np.full(int(members.max()) + 1, -1, dtype=np.int64)
    rank_of[members] = np.arange(members.size)
    root = _per_iteration(f"{name}: root", getattr(operation, "root", members[0]), shape).astype(np.int64)
    if np.any(root < 0) or np.any(root >= rank_of.size) or np.any(rank_of[np.clip(root, 0, rank_of.size - 1)] < 0):
        raise ScenarioError(f"program: {name}: root is not in its group; give a member")
    size_bytes = _per_iteration(f"{name}: size_bytes", operation.size_bytes, shape).astype(np.float64)
    if not np.all(np.isfinite(size_bytes) & (size_bytes >= 0)):
        raise ScenarioError(f"program: {name}: size_bytes: give finite numbers of at least 0")
    known = ALGORITHMS[type(operation)]
    if operation.algorithm not in known:
        where = f"program: {name}: algorithm"
        raise ScenarioError(f"{where}: {operation.algorithm!r} is unknown; take {', '.join(known)}")
    rank = rank_of[ids].reshape(-1, *(1 for _ in shape))
    slots = known[operation.algorithm](Party(members, rank, rank_of[root], size_bytes))
    return [slot for slot in slots if np.any(slot.kind != Kind.NONE)]


def _per_iteration(name: str, values: object, shape: tuple[int, ...]) -> Ints:
    """One value, or one for each iteration, as (1, iterations...); it stays one value if it is."""
    given = np.asarray(values)
    if given.ndim == 0:
        return given.reshape((1,) * (1 + len(shape)))
    try:
        return np.broadcast_to(given, shape)[np.newaxis]
    except ValueError:
        wanted = f"one that fits (iterations...) = {shape}"
        raise ScenarioError(f"program: {name}: an array has the shape {given.shape}; give {wanted}") from None
