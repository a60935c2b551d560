"""Collectives as algorithms over messages: what each process sends and receives, in order, for several at a time.

All messages of an algorithm have one tag, as those of one sender and receiver match in program order; every algorithm
is free of deadlock under rendezvous. Those named `posted` are the linear ones as MPI libraries do them, all messages at
once; requests are numbered from 0. In a binomial tree of G processes the one at distance d from the root hangs below
d - b, b the lowest bit of d that is set, with the processes d to min(d + b, G) - 1 below it, itself included. The rings
are HPL's (https://www.netlib.org/benchmark/hpl/algorithm.html): increasing (1rg), modified increasing (1rM), increasing
two rings (2rg), with the second ring's first process as `HPL_bcast_2ring.c` has it.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from simulator.base.arrays import Flags, Floats, Ints
from simulator.base.errors import ScenarioError
from simulator.programs.columns import COLLECTIVE_TAG, Kind, Slot
from simulator.programs.program import AllReduce, AllToAll, Broadcast, Collective, Gather, Reduce, Scatter

NO_BYTES = np.zeros(())


@dataclass(frozen=True)
class Party:
    """Who takes part in a collective; ranks and root are counted in the group, from 0."""

    members: Ints
    """Process of each rank; (G,)."""
    rank: Ints
    """Of the processes that are expanded; (process, 1...), to broadcast against iterations."""
    root: Ints
    """Rank of the root, 0 where there is none; (1, iterations...), or (1, 1...) if it is always the same."""
    size_bytes: Floats

    @property
    def size(self) -> int:
        """G."""
        return int(self.members.size)

    @property
    def rounds(self) -> int:
        """Least number of doublings that reach everyone: ceil(log2 G)."""
        return (self.size - 1).bit_length()

    @property
    def distance(self) -> Ints:
        """Ranks after the root, around the ring; (process, iterations...)."""
        return np.asarray((self.rank - self.root) % self.size)

    def process(self, distance: Ints) -> Ints:
        """The process so many ranks after the root."""
        return np.asarray(self.members[(distance + self.root) % self.size])

    def part_bytes(self, number: Ints) -> Floats:
        """Bytes of one of G parts of `size_bytes`; the first parts get one more where they cannot be equal."""
        each, left = np.divmod(self.size_bytes, self.size)
        return np.asarray(each + np.clip(left - number, 0, 1))

    def parts_bytes(self, first: Ints, last: Ints) -> Floats:
        """Bytes of the parts from one up to another, which is not among them."""
        each, left = np.divmod(self.size_bytes, self.size)
        return np.asarray((last - first) * each + np.minimum(last, left) - np.minimum(first, left))


def send(takes_part: Flags, to: Ints, size_bytes: Floats) -> Slot:
    """A message from those that take part."""
    return _slot(np.where(takes_part, Kind.SEND, Kind.NONE), to, np.asarray(-1), size_bytes)


def recv(takes_part: Flags, source: Ints) -> Slot:
    """A message to those that take part."""
    return _slot(np.where(takes_part, Kind.RECV, Kind.NONE), source, np.asarray(-1), NO_BYTES)


def send_or_recv(sends: Flags, receives: Flags, partner: Ints, size_bytes: Floats) -> Slot:
    """A message, seen from both sides; nobody is on both."""
    kinds = np.where(sends, Kind.SEND, np.where(receives, Kind.RECV, Kind.NONE))
    return _slot(kinds, partner, np.asarray(-1), np.where(sends, size_bytes, 0.0))


def exchange(takes_part: Flags, to: Ints, source: Ints, size_bytes: Floats) -> Slot:
    """A message to one and a message from another at once, for those that take part."""
    return _slot(np.where(takes_part, Kind.EXCHANGE, Kind.NONE), to, source, size_bytes)


def posted(slots: list[Slot], who: Flags) -> list[Slot]:
    """The same messages, but some processes post all of theirs and then wait for them."""
    posts, waits = [], list[Slot]()
    for slot in slots:
        mine, request = who & (slot.kind != Kind.NONE), np.asarray(len(waits))
        kinds = np.where(slot.kind == Kind.SEND, Kind.POST_SEND, Kind.POST_RECV)
        kinds, source = np.where(mine, kinds, slot.kind).astype(np.int8), np.where(mine, request, -1)
        posts.append(replace(slot, kind=kinds, source=source))
        if np.any(mine):
            waits.append(_slot(np.where(mine, Kind.WAIT, Kind.NONE), np.asarray(-1), request, NO_BYTES))
    return [*posts, *waits]


def _slot(kind: Ints, partner: Ints, source: Ints, size_bytes: Floats) -> Slot:
    return Slot(kind.astype(np.int8), partner, source, size_bytes, NO_BYTES, COLLECTIVE_TAG)


# Trees


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
    """The root sends each one its part, or all, the next in the ring first: G - 1 messages, one after the other."""
    distance = party.distance
    others = range(1, party.size) if np.any(distance == 0) else ()  # the root may be expanded elsewhere
    sends = [send(distance == 0, party.process(distance + step), party.size_bytes) for step in others]
    return [recv(distance > 0, party.process(np.zeros_like(distance))), *sends]


def posted_scatter(party: Party) -> list[Slot]:
    """As `linear`, all messages at once."""
    return posted(linear_scatter(party), party.distance == 0)


def binomial_scatter(party: Party) -> list[Slot]:
    """Each sends its children all parts of their branch, the largest branch first: ceil(log2 G) rounds."""
    distance = party.distance
    slots = [recv(distance > 0, party.process(distance - span(party)))]
    for step in reversed(steps(party)):
        size_bytes = party.size_bytes * below(party, distance + step, step)
        slots.append(send(has_child(party, step), party.process(distance + step), size_bytes))
    return slots


def linear_gather(party: Party) -> list[Slot]:
    """The root receives each one's part, or data, the next in the ring first: G - 1 messages, one after the other."""
    distance = party.distance
    others = range(1, party.size) if np.any(distance == 0) else ()
    recvs = [recv(distance == 0, party.process(distance + step)) for step in others]
    return [send(distance > 0, party.process(np.zeros_like(distance)), party.size_bytes), *recvs]


def posted_gather(party: Party) -> list[Slot]:
    """As `linear`, all messages at once."""
    return posted(linear_gather(party), party.distance == 0)


def binomial_gather(party: Party) -> list[Slot]:
    """Each collects from its children all parts of their branch, the smallest first: ceil(log2 G) rounds."""
    return _up_the_tree(party, party.size_bytes * below(party, party.distance, span(party)))


def binomial_reduce(party: Party) -> list[Slot]:
    """Each combines its children's data with its own, the smallest branch first: ceil(log2 G) rounds."""
    return _up_the_tree(party, party.size_bytes)


def _up_the_tree(party: Party, size_bytes: Floats) -> list[Slot]:
    distance = party.distance
    slots = [recv(has_child(party, step), party.process(distance + step)) for step in steps(party)]
    return [*slots, send(distance > 0, party.process(distance - span(party)), size_bytes)]


# Broadcasts


def ring_broadcast(party: Party) -> list[Slot]:
    """Each passes it on to the next, the root first: a chain of G - 1 messages."""
    distance = party.distance
    return [
        recv(distance > 0, party.process(distance - 1)),
        send(distance < party.size - 1, party.process(distance + 1), party.size_bytes),
    ]


def modified_ring_broadcast(party: Party) -> list[Slot]:
    """As `ring`, but the root serves the first two itself, and the first passes nothing on."""
    distance, size = party.distance, party.size
    return [
        recv(distance > 0, party.process(np.where(distance <= 2, 0, distance - 1))),
        send((distance != 1) & (distance < size - 1), party.process(distance + 1), party.size_bytes),
        send((distance == 0) & (size > 2), party.process(distance + 2), party.size_bytes),
    ]


def two_rings_broadcast(party: Party) -> list[Slot]:
    """The root starts two rings, each through half of the others."""
    distance, size = party.distance, party.size
    second = (size + 1) // 2
    passes_on = (distance < size - 1) & (distance != second - 1) | (distance == 0)
    return [
        recv(distance > 0, party.process(np.where(distance == second, 0, distance - 1))),
        send(passes_on & (size > 1), party.process(distance + 1), party.size_bytes),
        send((distance == 0) & (size > 2), party.process(np.full_like(distance, second)), party.size_bytes),
    ]


def binomial_broadcast(party: Party) -> list[Slot]:
    """Down a binomial tree, the largest branch first: ceil(log2 G) rounds of whole messages."""
    distance = party.distance
    return [
        recv(distance > 0, party.process(distance - span(party))),
        *(
            send(has_child(party, step), party.process(distance + step), party.size_bytes)
            for step in reversed(steps(party))
        ),
    ]


def scatter_ring_broadcast(party: Party) -> list[Slot]:
    """For long data: G pieces scattered along a binomial tree, then passed around the ring by all at once.

    Each process sends and receives about twice the data, whatever G is (Barnett, Shuler, Gupta, Payne, van de Geijn,
    Watts: "Building a high-performance collective communication library", 1994; HPL's `long` does alike).
    """
    distance, size = party.distance, party.size
    slots = [recv(distance > 0, party.process(distance - span(party)))]
    for step in reversed(steps(party)):
        child = distance + step
        branch_bytes = party.parts_bytes(child, child + below(party, child, step))
        slots.append(send(has_child(party, step), party.process(child), branch_bytes))
    for turn in range(size - 1):
        piece_bytes = party.part_bytes((distance - turn) % size)
        slots.append(exchange(distance >= 0, party.process(distance + 1), party.process(distance - 1), piece_bytes))
    return slots


# All to all, and all reduce


def pairwise_all_to_all(party: Party) -> list[Slot]:
    """G - 1 rounds: in round k each sends to the k-th after it and receives from the k-th before it."""
    rank = party.distance
    return [
        exchange(rank >= 0, party.process(rank + turn), party.process(rank - turn), party.size_bytes)
        for turn in range(1, party.size)
    ]


def linear_all_to_all(party: Party) -> list[Slot]:
    """Each exchanges parts with each other, in the order of their ranks: pairs (0, 1), (0, 2) ... (G - 2, G - 1)."""
    rank = party.distance
    slots = []
    for place in range(party.size - 1):
        partner = party.process(np.where(place < rank, place, place + 1))
        slots.append(exchange(rank >= 0, partner, partner, party.size_bytes))
    return slots


def posted_all_to_all(party: Party) -> list[Slot]:
    """Each receives from the others before it and sends to those after it, the nearest first, all at once."""
    rank, turns = party.distance, range(1, party.size)
    receives = [recv(rank >= 0, party.process(rank - turn)) for turn in turns]
    sends = [send(rank >= 0, party.process(rank + turn), party.size_bytes) for turn in turns]
    return posted([*receives, *sends], rank >= 0)


def doubling_all_reduce(party: Party) -> list[Slot]:
    """Rounds of exchanges with the process 1, 2, 4 ... away, each of all data.

    Where G is no power of two, the first 2 (G - 2**k) processes are paired: the even ones hand their data to the next
    before and get the result after (Thakur, Rabenseifner, Gropp: "Optimization of collective communication operations
    in MPICH", 2005).
    """
    rank, size = party.distance, party.size
    power = 2 ** (size.bit_length() - 1)
    paired = 2 * (size - power)
    even, odd = (rank < paired) & (rank % 2 == 0), (rank < paired) & (rank % 2 == 1)
    neighbour = party.process(np.where(even, rank + 1, rank - 1))
    slots = [send_or_recv(even, odd, neighbour, party.size_bytes)]
    place = np.where(rank < paired, rank // 2, rank - paired // 2)
    for step in steps(party)[: power.bit_length() - 1]:
        other = place ^ step
        partner = party.process(np.where(other < paired // 2, 2 * other + 1, other + paired // 2))
        slots.append(exchange(~even, partner, partner, party.size_bytes))
    return [*slots, send_or_recv(odd, even, neighbour, party.size_bytes)]


def ring_all_reduce(party: Party) -> list[Slot]:
    """G parts, each combined along the ring, then passed around it: 2 (G - 1) rounds of about 1/G of the data.

    (Thakur, Rabenseifner, Gropp 2005; Patarasuk, Yuan: "Bandwidth optimal all-reduce algorithms", 2009.)
    """
    rank, size = party.distance, party.size
    slots = []
    for turn in range(2 * (size - 1)):
        # combining: own part first, then what came last; passing around: the part that is complete, then what came
        part_bytes = party.part_bytes((rank - turn) % size)
        slots.append(exchange(rank >= 0, party.process(rank + 1), party.process(rank - 1), part_bytes))
    return slots


def reduce_and_broadcast(party: Party) -> list[Slot]:
    """A binomial reduce to the group's first process, then a binomial broadcast from it."""
    return [*binomial_reduce(party), *binomial_broadcast(party)]


Algorithm = Callable[[Party], list[Slot]]

ALGORITHMS: dict[type[Collective], dict[str, Algorithm]] = {
    Broadcast: {
        "ring": ring_broadcast,
        "modified_ring": modified_ring_broadcast,
        "two_rings": two_rings_broadcast,
        "binomial": binomial_broadcast,
        "linear": linear_scatter,
        "scatter_ring": scatter_ring_broadcast,
        "posted": posted_scatter,
    },
    Scatter: {"linear": linear_scatter, "binomial": binomial_scatter, "posted": posted_scatter},
    Gather: {"linear": linear_gather, "binomial": binomial_gather, "posted": posted_gather},
    Reduce: {"linear": linear_gather, "binomial": binomial_reduce, "posted": posted_gather},
    AllToAll: {"pairwise": pairwise_all_to_all, "linear": linear_all_to_all, "posted": posted_all_to_all},
    AllReduce: {
        "recursive_doubling": doubling_all_reduce,
        "ring": ring_all_reduce,
        "reduce_broadcast": reduce_and_broadcast,
    },
}
"""The algorithms of each collective, by name."""


def expand(operation: Collective, ids: Ints, members: Ints, shape: tuple[int, ...]) -> list[Slot]:
    """What processes `ids` do in a collective of `members`: operations in order, of (process, iterations...).

    `operation`: its `root` and `size_bytes` broadcast to the iterations.
    `shape`: iterations of the loops around it.
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
