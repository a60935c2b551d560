"""Collectives as algorithms over messages: what one process sends and receives, in order, for several at a time."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simulator.columns import COLLECTIVE_TAG, Kind, Slot
from simulator.errors import ScenarioError
from simulator.program import Broadcast, Collective

__all__ = ["expand"]

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Party:
    """Who takes part in a collective; ranks and root are counted in the group, from 0."""

    members: Ints
    """Process of each rank; (G,)."""
    rank: Ints
    """Of the processes that are expanded; (process, 1...), to broadcast against iterations."""
    root: Ints
    """Rank of the root; (1, iterations...) or without iterations."""
    size_bytes: NDArray[np.float64]
    """As `root`."""

    @property
    def size(self) -> int:
        """G."""
        return int(self.members.size)

    @property
    def distance(self) -> Ints:
        """Ranks after the root, around the ring; (process, iterations...)."""
        return np.asarray((self.rank - self.root) % self.size)

    def process(self, distance: Ints) -> Ints:
        """The process so many ranks after the root."""
        return np.asarray(self.members[(distance + self.root) % self.size])


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
        Primitive operations in order; each field broadcasts to (process, iterations...).

    Raises
    ------
    ScenarioError
        If the root is no member, or there is no such algorithm.
    """
    rank_of = np.full(int(members.max()) + 1, -1, dtype=np.int64)
    rank_of[members] = np.arange(members.size)
    root = np.asarray(getattr(operation, "root", members[0]), dtype=np.int64)
    if np.any(root < 0) or np.any(root >= rank_of.size) or np.any(rank_of[np.clip(root, 0, rank_of.size - 1)] < 0):
        raise ScenarioError(f"program: {type(operation).__name__.lower()}: root: a member of its group allowed")
    party = Party(
        members=members,
        rank=rank_of[ids].reshape(-1, *(1 for _ in shape)),
        root=np.broadcast_to(rank_of[root], shape)[np.newaxis],
        size_bytes=np.broadcast_to(np.asarray(operation.size_bytes, dtype=np.float64), shape)[np.newaxis],
    )
    known = ALGORITHMS[type(operation)]
    if operation.algorithm not in known:
        where = f"program: {type(operation).__name__.lower()}: algorithm"
        raise ScenarioError(f"{where}: {operation.algorithm!r} found, one of {', '.join(known)} allowed")
    return known[operation.algorithm](party)


def ring_broadcast(party: Party) -> list[Slot]:
    """Each passes it on to the next rank, the root first (HPL's increasing ring)."""
    distance = party.distance
    return [
        message(Kind.RECV, distance > 0, party.process(distance - 1), party.size_bytes),
        message(Kind.SEND, distance < party.size - 1, party.process(distance + 1), party.size_bytes),
    ]


def message(kind: Kind, takes_part: NDArray[np.bool_], partner: Ints, size_bytes: NDArray[np.float64]) -> Slot:
    """A message of a collective for those that take part."""
    kinds = np.where(takes_part, kind, Kind.NONE).astype(np.int8)
    return Slot(kinds, partner, np.asarray(-1), size_bytes, np.asarray(0.0), COLLECTIVE_TAG)


Algorithm = Callable[[Party], list[Slot]]
ALGORITHMS: dict[type[Collective], dict[str, Algorithm]] = {Broadcast: {"ring": ring_broadcast}}
"""The algorithms of each collective, by name."""
