"""Which sums can be reached with numbers from sets, as the bits of one long integer."""

import numpy as np
from numpy.typing import NDArray

Offer = tuple[int, tuple[int, ...]]
"""PEs of a kind, and the numbers of processes that each of them may run (all the same number)."""


def reachable(offers: list[Offer]) -> list[int]:
    """After each kind, bit P of the integer says whether P processes can be reached; the first entry is none: P = 0.

    A kind of c PEs that may run m processes offers 0, m, 2 m ... c m; shifts double, so that a kind costs log c of
    them.
    """
    found = [1]
    for count, processes in offers:
        total = found[-1]
        for each in processes:
            total |= multiples(found[-1], each, count)
        found.append(total)
    return found


def allocation(found: list[int], offers: list[Offer], processes: int) -> NDArray[np.int64]:
    """One way to reach so many processes; (kind, 2)."""
    chosen = np.zeros((len(offers), 2), dtype=np.int64)
    for place in reversed(range(len(offers))):
        if found[place] >> processes & 1:
            continue
        count, choices = offers[place]
        ways = [
            (pes, each)
            for each in choices
            for pes in range(1, min(count, processes // each) + 1)
            if found[place] >> (processes - pes * each) & 1
        ]
        chosen[place] = min(ways)  # the fewest PEs
        processes -= int(np.prod(chosen[place]))
    return chosen


def as_numbers(bits: int) -> NDArray[np.int64]:
    """The numbers whose bits are set, ascending."""
    raw = np.frombuffer(bits.to_bytes(bits.bit_length() // 8 + 1, "little"), dtype=np.uint8)
    return np.flatnonzero(np.unpackbits(raw, bitorder="little"))


def multiples(bits: int, step: int, most: int) -> int:
    """The bits shifted by 0, 1 ... `most` steps, all together."""
    done = 0
    while done < most:
        further = min(done + 1, most - done)
        bits |= bits << (step * further)
        done += further
    return bits
