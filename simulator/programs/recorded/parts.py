"""Collectives as MPI libraries do them whose ranks have parts of unlike size; scans and barriers.

As in `programs/collectives.py`, of which these go on with: what the processes of a party send and receive, in order.
`parts` are the bytes of each rank's part in the order of the group, (G, iterations); of `all_to_all` those that each
rank sends to each, (G, G, iterations). A rank that posts requests numbers them from 0 and waits for all of them.
"""

from collections.abc import Callable

import numpy as np

from simulator.base.arrays import Floats, Ints
from simulator.programs.collectives import Party, exchange, posted, recv, send
from simulator.programs.columns import Slot

Algorithm = Callable[[Party, Floats], list[Slot]]


def _of(parts: Floats, rank: Ints) -> Floats:
    """The part of a rank of the group, by (process, iteration)."""
    return np.asarray(np.take_along_axis(parts, np.broadcast_to(rank, (rank.shape[0], parts.shape[1])), axis=0))


def posted_gather(party: Party, parts: Floats) -> list[Slot]:
    """The root posts receives from all others, the next in the ring first, and waits for them; these send."""
    distance = party.distance
    is_root = distance == 0
    others = range(1, party.size) if np.any(is_root) else ()
    sends = send(~is_root, party.process(np.zeros_like(distance)), _of(parts, party.rank))
    return posted([sends, *(recv(is_root, party.process(distance + step)) for step in others)], is_root)


def posted_scatter(party: Party, parts: Floats) -> list[Slot]:
    """The root posts sends to all others, the next in the ring first, and waits for them; these receive."""
    distance = party.distance
    is_root = distance == 0
    slots = [recv(~is_root, party.process(np.zeros_like(distance)))]
    for step in range(1, party.size) if np.any(is_root) else ():
        size_bytes = _of(parts, (party.rank + step) % party.size)
        slots.append(send(is_root, party.process(distance + step), size_bytes))
    return posted(slots, is_root)


def ring_all_gather(party: Party, parts: Floats) -> list[Slot]:
    """G - 1 rounds: each passes on to the next what came last, its own part first."""
    return [
        exchange(
            party.rank >= 0,
            party.process(party.rank + 1),
            party.process(party.rank - 1),
            _of(parts, (party.rank - turn) % party.size),
        )
        for turn in range(party.size - 1)
    ]


def bruck_all_gather(party: Party, parts: Floats) -> list[Slot]:
    """ceil(log2 G) rounds: each sends all that it has to the one 1, 2, 4 ... before it, at most what is lacking there.

    (Bruck, Ho, Kipnis, Upfal, Weathersby: "Efficient algorithms for all-to-all communications in multiport
    message-passing systems", 1997.)
    """
    before = np.concatenate((np.zeros((1, parts.shape[1])), np.cumsum(np.concatenate((parts, parts)), axis=0)))
    slots = []
    for step in (2**turn for turn in range(party.rounds)):
        has = min(step, party.size - step)
        size_bytes = _of(before, party.rank + has) - _of(before, party.rank)
        to, source = party.process(party.rank - step), party.process(party.rank + step)
        slots.append(exchange(party.rank >= 0, to, source, size_bytes))
    return slots


def pairwise_all_to_all(party: Party, parts: Floats) -> list[Slot]:
    """G - 1 rounds: in round k each sends to the k-th after it and receives from the k-th before it."""
    slots = []
    for turn in range(1, party.size):
        to = (party.rank + turn) % party.size
        size_bytes = parts[party.rank[:, 0], to[:, 0]]
        slots.append(exchange(party.rank >= 0, party.process(to), party.process(party.rank - turn), size_bytes))
    return slots


def posted_all_to_all(party: Party, parts: Floats) -> list[Slot]:
    """Each posts its receives and then its sends of all parts that have bytes, and waits for all of them."""
    rank, slots = party.rank, list[Slot]()
    for turn in range(1, party.size):
        source = (rank - turn) % party.size
        slots.append(recv(parts[source[:, 0], rank[:, 0]] > 0, party.process(source)))
    for turn in range(1, party.size):
        to = (rank + turn) % party.size
        size_bytes = parts[rank[:, 0], to[:, 0]]
        slots.append(send(size_bytes > 0, party.process(to), size_bytes))
    return posted(slots, rank >= 0)


def pairwise_reduce_scatter(party: Party, parts: Floats) -> list[Slot]:
    """G - 1 rounds: in round k each sends the part of the k-th after it, and gets its own from the k-th before it."""
    slots = []
    for turn in range(1, party.size):
        to, source = party.process(party.rank + turn), party.process(party.rank - turn)
        slots.append(exchange(party.rank >= 0, to, source, _of(parts, (party.rank + turn) % party.size)))
    return slots


def doubling_scan(party: Party, parts: Floats) -> list[Slot]:
    """Rounds of exchanges with the rank 1, 2, 4 ... away, if there is one, each of all data; as MPICH has it."""
    slots = []
    for step in (2**turn for turn in range(party.rounds)):
        other = party.rank ^ step
        partner = party.process(np.minimum(other, party.size - 1))
        slots.append(exchange(other < party.size, partner, partner, _of(parts, party.rank)))
    return slots


def linear_scan(party: Party, parts: Floats) -> list[Slot]:
    """Each waits for the one before it and passes on to the next."""
    rank = party.rank
    return [
        recv(rank > 0, party.process(rank - 1)),
        send(rank < party.size - 1, party.process(rank + 1), _of(parts, rank)),
    ]


def dissemination_barrier(party: Party, parts: Floats) -> list[Slot]:
    """ceil(log2 G) rounds: each tells the one 1, 2, 4 ... after it (Hensgen, Finkel, Manber 1988)."""
    return [
        exchange(party.rank >= 0, party.process(party.rank + step), party.process(party.rank - step), parts[:1] * 0)
        for step in (2**turn for turn in range(party.rounds))
    ]
