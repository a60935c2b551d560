"""What is free when: PEs as counts or by number over the time to come, with holes to look for and to take.

PEs by number are bits of an integer: bit i is PE i.
"""

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["CountedProfile", "Hole", "NamedProfile", "numbers_of"]


@dataclass(frozen=True)
class Hole:
    """Where a job may run: from a tick on, for so long, with one of its choices, on PEs (0 if these are counted)."""

    start: int
    lasting: int
    choice: int
    pes: int = 0

    @property
    def end(self) -> int:
        """The planned end."""
        return self.start + self.lasting


class CountedProfile:
    """How many PEs are free, from each of `times` on up to the next; the last one holds for ever."""

    def __init__(self, now: int, free: int) -> None:
        self.times, self.free = [now], [free]

    def take(self, begin: int, end: int, count: int) -> None:
        """Have so many PEs fewer in [begin, end), or more if the count is negative."""
        for place in range(edge(self.times, self.free, begin), edge(self.times, self.free, end)):
            self.free[place] -= count

    def earliest(self, count: int, lasting: int) -> int:
        """The earliest time from which so many PEs are free for so long."""
        start = 0
        for place, free in enumerate(self.free):
            if self.times[place] >= self.times[start] + lasting and start < place:
                break
            if free < count:
                start = place + 1
        return self.times[start]


class NamedProfile:
    """Which PEs are free, from each of `times` on up to the next; the last one holds for ever."""

    def __init__(self, now: int, free: int) -> None:
        self.times, self.free = [now], [free]

    def take(self, begin: int, end: int, pes: int) -> None:
        """Occupy PEs in [begin, end)."""
        for place in range(edge(self.times, self.free, begin), edge(self.times, self.free, end)):
            self.free[place] &= ~pes

    def give(self, begin: int, end: int, pes: int) -> None:
        """Free PEs in [begin, end)."""
        for place in range(edge(self.times, self.free, begin), edge(self.times, self.free, end)):
            self.free[place] |= pes

    def common(self, place: int, lasting: int) -> int:
        """The PEs that are free from the begin of a place on for so long."""
        end, found = self.times[place] + lasting, self.free[place]
        while place + 1 < len(self.times) and self.times[place + 1] < end and found:
            place += 1
            found &= self.free[place]
        return found


def edge(times: list[int], free: list[int], time: int) -> int:
    """The place from which a time on counts, a new one where none begins there; 0 for what is over."""
    place = bisect_right(times, time) - 1
    if place < 0:
        return 0
    if times[place] != time:
        times.insert(place + 1, time)
        free.insert(place + 1, free[place])
        place += 1
    return place


def numbers_of(pes: int) -> Iterator[int]:
    """The numbers of PEs, ascending."""
    while pes:
        lowest = pes & -pes
        yield lowest.bit_length() - 1
        pes ^= lowest
