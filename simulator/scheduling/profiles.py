"""What is free when: a number of PEs, PEs as bits of an integer (bit i: PE i), or an array of what nodes have left."""

from bisect import bisect_right
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Protocol

Held = Any
"""What a job holds, of the kind that its profile has: a number, bits, or (node, 3)."""
Span = tuple[int, int, Held]
"""Begin, end, and what is held in between."""


@dataclass(frozen=True)
class Hole:
    """Where a job may run: from a tick on, for so long, with one of its choices, on what it then holds."""

    start: int
    lasting: int
    choice: int
    held: Held = field(default=0, compare=False)

    @property
    def end(self) -> int:
        """The planned end."""
        return self.start + self.lasting


class Profile:
    """What is free from each of `times` on up to the next; the last one holds for ever.

    `least`: of two things that are free, what is free in both.
    """

    def __init__(self, now: int, free: Held, least: Callable[[Held, Held], Held], held: Iterable[Span] = ()) -> None:
        self.times, self.free, self._least = [now], [free], least
        for begin, end, some in held:
            self.take(begin, end, some)

    def take(self, begin: int, end: int, held: Held) -> None:
        """Have something in [begin, end) that was free."""
        for place in range(self._edge(begin), self._edge(end)):
            self.free[place] = self.free[place] - held

    def change(self, begin: int, end: int, left: Callable[[Held], Held]) -> None:
        """Have in [begin, end) what is left of what was free."""
        first = self._edge(begin)
        for place in range(first, self._edge(end)):
            self.free[place] = left(self.free[place])

    def give(self, begin: int, end: int, held: Held) -> None:
        """Have something free in [begin, end) that was held."""
        for place in range(self._edge(begin), self._edge(end)):
            self.free[place] = self.free[place] + held

    def common(self, place: int, lasting: int) -> Held:
        """What is free from the begin of a place on for so long."""
        end, found = self.times[place] + lasting, self.free[place]
        while place + 1 < len(self.times) and self.times[place + 1] < end:
            place += 1
            found = self._least(found, self.free[place])
        return found

    def _edge(self, time: int) -> int:
        """The place from which a time on counts, a new one where none begins there; 0 for what is over."""
        place = bisect_right(self.times, time) - 1
        if place < 0:
            return 0
        if self.times[place] != time:
            self.times.insert(place + 1, time)
            self.free.insert(place + 1, self.free[place])
            place += 1
        return place


class Pool(Protocol):
    """What jobs share, and where one is best placed."""

    def profile(self, now: int) -> Profile:
        """With all free from now on that no reservation holds."""

    def best(self, profile: Profile, job: int) -> Hole | None:
        """The hole that a job gets; None where it never fits."""

    def slowest(self, held: Held) -> int:
        """The class of the slowest PE of what is held."""


class PlannedPool(Pool, Protocol):
    """What Slurm can plan for, too."""

    def best(self, profile: Profile, job: int, *, beyond: int = 0) -> Hole | None:
        """The hole that a job gets, free so long beyond its end."""

    def hold(self, profile: Profile, hole: Hole, span: tuple[int, int]) -> None:
        """Keep a span for a start that Slurm plans within it."""

    def close(self, profile: Profile, job: int) -> None:
        """Let nobody have anything of the partition of a job."""


@dataclass(frozen=True)
class Counted:
    """PEs that are only counted."""

    pes: int
    choices: list[list[tuple[int, int]]]
    plan: list[list[int]]
    reserved: tuple[Span, ...] = ()

    def profile(self, now: int) -> Profile:
        """See `Pool`."""
        return Profile(now, self.pes, min, self.reserved)

    def best(self, profile: Profile, job: int, *, beyond: int = 0) -> Hole | None:
        """The earliest one."""
        choice, size = self.choices[job][0]
        lasting = self.plan[choice][0]
        for place, start in enumerate(profile.times):
            if profile.free[place] >= size and profile.common(place, lasting + beyond) >= size:
                return Hole(start, lasting, choice, size)
        return None

    def hold(self, profile: Profile, hole: Hole, span: tuple[int, int]) -> None:
        """Until it starts no more PEs are free than it leaves then."""
        profile.take(hole.start, span[1], hole.held)
        left = profile.free[bisect_right(profile.times, hole.start) - 1]
        profile.change(span[0], hole.start, lambda free: min(free, left))

    def close(self, profile: Profile, job: int) -> None:  # noqa: ARG002 - there is one partition
        """See `Pool`."""
        profile.free = [0] * len(profile.free)

    def slowest(self, held: Held) -> int:  # noqa: ARG002 - all are alike
        """See `Pool`."""
        return 0
