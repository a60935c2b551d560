"""Who takes part in a collective, and the messages between them; every field broadcasts to (process, iterations...)."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simulator.programs.columns import COLLECTIVE_TAG, Kind, Slot

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
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
    """As `root`."""

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


def _slot(kind: NDArray[np.int64], partner: Ints, source: Ints, size_bytes: Floats) -> Slot:
    return Slot(kind.astype(np.int8), partner, source, size_bytes, NO_BYTES, COLLECTIVE_TAG)
