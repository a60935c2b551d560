"""All-to-all and all-reduce: every process ends with something of every other."""

import numpy as np

from simulator.programs.collectives import broadcast, trees
from simulator.programs.collectives.party import Party, exchange, send_or_recv
from simulator.programs.columns import Slot


def pairwise(party: Party) -> list[Slot]:
    """G - 1 rounds: in round k each sends to the k-th after it and receives from the k-th before it."""
    rank = party.distance
    return [
        exchange(rank >= 0, party.process(rank + turn), party.process(rank - turn), party.size_bytes)
        for turn in range(1, party.size)
    ]


def linear(party: Party) -> list[Slot]:
    """Each exchanges parts with each other, in the order of their ranks: pairs (0, 1), (0, 2) ... (G - 2, G - 1)."""
    rank = party.distance
    slots = []
    for place in range(party.size - 1):
        partner = party.process(np.where(place < rank, place, place + 1))
        slots.append(exchange(rank >= 0, partner, partner, party.size_bytes))
    return slots


def recursive_doubling(party: Party) -> list[Slot]:
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
    for step in trees.steps(party)[: power.bit_length() - 1]:
        other = place ^ step
        partner = party.process(np.where(other < paired // 2, 2 * other + 1, other + paired // 2))
        slots.append(exchange(~even, partner, partner, party.size_bytes))
    return [*slots, send_or_recv(odd, even, neighbour, party.size_bytes)]


def ring(party: Party) -> list[Slot]:
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


def reduce_broadcast(party: Party) -> list[Slot]:
    """A binomial reduce to the group's first process, then a binomial broadcast from it."""
    return [*trees.binomial_reduce(party), *broadcast.binomial(party)]
