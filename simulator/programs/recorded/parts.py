"""Collectives as MPI libraries do them whose ranks have parts of unlike size; scans and barriers.

As in `programs/collectives.py`, of which these go on with: what the processes of a party send and receive, in order.
`parts` are the bytes of each rank's part in the order of the group, (G, iterations); of `all_to_all` those that each
rank sends to each, (G, G, iterations). A rank that posts requests numbers them from 0 and waits for all of them.
"""

from collections.abc import Callable

import numpy as np

from simulator.base.arrays import Flags, Floats, Ints
from simulator.programs.collectives import Party, exchange, recv, send
from simulator.programs.columns import COLLECTIVE_TAG, Kind, Slot

Algorithm = Callable[[Party, Floats], list[Slot]]


def _request(kind: Kind, takes_part: Flags, partner: Ints, number: int, size_bytes: Floats) -> Slot:
    kinds = np.where(takes_part, kind, Kind.NONE).astype(np.int8)
    return Slot(kinds, partner, np.asarray(number), size_bytes, np.zeros(()), COLLECTIVE_TAG)


def _waits(takes_part: Flags, count: int) -> list[Slot]:
    nobody, nothing = np.asarray(-1), np.zeros(())
    return [_request(Kind.WAIT, takes_part, nobody, number, nothing) for number in range(count)]


def _of(parts: Floats, rank: Ints) -> Floats:
    """The part of a rank of the group, by (process, iteration)."""
    return np.asarray(np.take_along_axis(parts, np.broadcast_to(rank, (rank.shape[0], parts.shape[1])), axis=0))


def posted_gather(party: Party, parts: Floats) -> list[Slot]:
    """The root posts receives from all others, the next in the ring first, and waits for them; these send."""
    distance = party.distance
    is_root, others = distance == 0, range(1, party.size)
    slots = [send(~is_root, party.process(np.zeros_like(distance)), _of(parts, party.rank))]
    if not np.any(is_root):
        return slots
    nothing = np.zeros(())
    posts = [_request(Kind.POST_RECV, is_root, party.process(distance + step), step - 1, nothing) for step in others]
    return [*slots, *posts, *_waits(is_root, party.size - 1)]


def posted_scatter(party: Party, parts: Floats) -> list[Slot]:
    """The root posts sends to all others, the next in the ring first, and waits for them; these receive."""
    distance = party.distance
    is_root, others = distance == 0, range(1, party.size)
    slots = [recv(~is_root, party.process(np.zeros_like(distance)))]
    if not np.any(is_root):
        return slots
    posts = []
    for step in others:
        size_bytes = _of(parts, (party.rank + step) % party.size)
        posts.append(_request(Kind.POST_SEND, is_root, party.process(distance + step), step - 1, size_bytes))
    return [*slots, *posts, *_waits(is_root, party.size - 1)]


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
    rank, size = party.rank, party.size
    posts: list[Slot] = []
    waits: list[Slot] = []
    for turn in range(1, size):
        source = (rank - turn) % size
        there = parts[source[:, 0], rank[:, 0]] > 0
        posts.append(_request(Kind.POST_RECV, there, party.process(source), turn - 1, np.zeros(())))
        waits.append(_request(Kind.WAIT, there, np.asarray(-1), turn - 1, np.zeros(())))
    for turn in range(1, size):
        to = (rank + turn) % size
        size_bytes = parts[rank[:, 0], to[:, 0]]
        posts.append(_request(Kind.POST_SEND, size_bytes > 0, party.process(to), size + turn - 2, size_bytes))
        waits.append(_request(Kind.WAIT, size_bytes > 0, np.asarray(-1), size + turn - 2, np.zeros(())))
    return [*posts, *waits]


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
