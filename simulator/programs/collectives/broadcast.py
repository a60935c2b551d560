"""Broadcast: rings, trees and pieces.

The rings are those of HPL, which calls all of them increasing ("HPL algorithm", section "Panel broadcast",
https://www.netlib.org/benchmark/hpl/algorithm.html): `ring` is its increasing ring (1rg), `modified_ring` its modified
increasing ring (1rM), `two_rings` its increasing two rings (2rg), with the second ring's first process as
`HPL_bcast_2ring.c` has it. Distances below are those from the root.
"""

import numpy as np

from simulator.programs.collectives import trees
from simulator.programs.collectives.party import Party, exchange, recv, send
from simulator.programs.columns import Slot


def ring(party: Party) -> list[Slot]:
    """Each passes it on to the next, the root first: a chain of G - 1 messages."""
    distance = party.distance
    return [
        recv(distance > 0, party.process(distance - 1)),
        send(distance < party.size - 1, party.process(distance + 1), party.size_bytes),
    ]


def modified_ring(party: Party) -> list[Slot]:
    """As `ring`, but the root serves the first two itself, and the first passes nothing on."""
    distance, size = party.distance, party.size
    return [
        recv(distance > 0, party.process(np.where(distance <= 2, 0, distance - 1))),
        send((distance != 1) & (distance < size - 1), party.process(distance + 1), party.size_bytes),
        send((distance == 0) & (size > 2), party.process(distance + 2), party.size_bytes),
    ]


def two_rings(party: Party) -> list[Slot]:
    """The root starts two rings, each through half of the others."""
    distance, size = party.distance, party.size
    second = (size + 1) // 2
    passes_on = (distance < size - 1) & (distance != second - 1) | (distance == 0)
    return [
        recv(distance > 0, party.process(np.where(distance == second, 0, distance - 1))),
        send(passes_on & (size > 1), party.process(distance + 1), party.size_bytes),
        send((distance == 0) & (size > 2), party.process(np.full_like(distance, second)), party.size_bytes),
    ]


def binomial(party: Party) -> list[Slot]:
    """Down a binomial tree, the largest branch first: ceil(log2 G) rounds of whole messages."""
    distance = party.distance
    return [
        recv(distance > 0, party.process(distance - trees.span(party))),
        *(
            send(trees.has_child(party, step), party.process(distance + step), party.size_bytes)
            for step in reversed(trees.steps(party))
        ),
    ]


def linear(party: Party) -> list[Slot]:
    """The root sends to each one, the next in the ring first: G - 1 messages, one after the other."""
    return trees.linear_scatter(party)


def scatter_ring(party: Party) -> list[Slot]:
    """For long data: G pieces scattered along a binomial tree, then passed around the ring by all at once.

    Each process sends and receives about twice the data, whatever G is (Barnett, Shuler, Gupta, Payne, van de Geijn,
    Watts: "Building a high-performance collective communication library", 1994; HPL's `long` does alike).
    """
    distance, size = party.distance, party.size
    slots = [recv(distance > 0, party.process(distance - trees.span(party)))]
    for step in reversed(trees.steps(party)):
        child = distance + step
        branch_bytes = party.parts_bytes(child, child + trees.below(party, child, step))
        slots.append(send(trees.has_child(party, step), party.process(child), branch_bytes))
    for turn in range(size - 1):
        piece_bytes = party.part_bytes((distance - turn) % size)
        slots.append(exchange(distance >= 0, party.process(distance + 1), party.process(distance - 1), piece_bytes))
    return slots
