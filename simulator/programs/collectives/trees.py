"""Scatter, gather and reduce: one process after the other, or along a binomial tree.

In the tree of G processes the one at distance d from the root hangs below d - b, b the lowest bit of d that is set, and
has the processes d to min(d + b, G) - 1 below it, itself included. So its children are d + 1, d + 2, d + 4 ... below
d + b, each with all that is below it.
"""

import numpy as np

from simulator.programs.collectives.party import Flags, Floats, Ints, Party, recv, send
from simulator.programs.columns import Slot


def span(party: Party) -> Ints:
    """How many distances from its own on each process's part of the tree takes, as if G were a power of two."""
    distance = party.distance
    return np.where(distance == 0, 2**party.rounds, distance & -distance)


def below(party: Party, distance: Ints, width: Ints | int) -> Ints:
    """Processes in the part of the tree that begins at a distance."""
    return np.asarray(np.minimum(distance + width, party.size) - distance)


def steps(party: Party) -> list[int]:
    """Distances from parent to child, the least first."""
    return [2**k for k in range(party.rounds)]


def has_child(party: Party, step: int) -> Flags:
    """Which processes have a child so far away."""
    return np.asarray((step < span(party)) & (party.distance + step < party.size))


def linear_scatter(party: Party) -> list[Slot]:
    """The root sends each one its part, the next in the ring first: G - 1 messages, one after the other."""
    return _from_root(party, party.size_bytes)


def binomial_scatter(party: Party) -> list[Slot]:
    """Each sends its children all parts of their branch, the largest branch first: ceil(log2 G) rounds."""
    distance = party.distance
    slots = [recv(distance > 0, party.process(distance - span(party)))]
    for step in reversed(steps(party)):
        size_bytes = party.size_bytes * below(party, distance + step, step)
        slots.append(send(has_child(party, step), party.process(distance + step), size_bytes))
    return slots


def linear_gather(party: Party) -> list[Slot]:
    """The root receives each one's part, the next in the ring first: G - 1 messages, one after the other."""
    return _to_root(party, party.size_bytes)


def binomial_gather(party: Party) -> list[Slot]:
    """Each collects from its children all parts of their branch, the smallest first: ceil(log2 G) rounds."""
    return _up_the_tree(party, party.size_bytes * below(party, party.distance, span(party)))


def linear_reduce(party: Party) -> list[Slot]:
    """The root receives everyone's data, the next in the ring first: G - 1 messages, one after the other."""
    return _to_root(party, party.size_bytes)


def binomial_reduce(party: Party) -> list[Slot]:
    """Each combines its children's data with its own, the smallest branch first: ceil(log2 G) rounds."""
    return _up_the_tree(party, party.size_bytes)


def _from_root(party: Party, size_bytes: Floats) -> list[Slot]:
    distance = party.distance
    others = range(1, party.size) if np.any(distance == 0) else ()  # the root may be expanded elsewhere
    sends = [send(distance == 0, party.process(distance + step), size_bytes) for step in others]
    return [recv(distance > 0, party.process(np.zeros_like(distance))), *sends]


def _to_root(party: Party, size_bytes: Floats) -> list[Slot]:
    distance = party.distance
    others = range(1, party.size) if np.any(distance == 0) else ()
    recvs = [recv(distance == 0, party.process(distance + step)) for step in others]
    return [send(distance > 0, party.process(np.zeros_like(distance)), size_bytes), *recvs]


def _up_the_tree(party: Party, size_bytes: Floats) -> list[Slot]:
    distance = party.distance
    slots = [recv(has_child(party, step), party.process(distance + step)) for step in steps(party)]
    return [*slots, send(distance > 0, party.process(distance - span(party)), size_bytes)]
