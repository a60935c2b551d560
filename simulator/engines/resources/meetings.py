"""Where processes meet: barriers, and farms whose work they pull."""

from collections.abc import Sequence
from dataclasses import dataclass

import simpy

from simulator.engines.resources.instant import Clock, Instant, Occurrence, Phase


class Barriers:
    """All barriers of one run; each ends when its last process arrives."""

    def __init__(self, env: Clock, sizes: Sequence[int]) -> None:
        self._env = env
        self._missing = list(sizes)
        self._open: dict[int, simpy.Event] = {}

    def arrive(self, number: int) -> simpy.Event | None:
        """The event at which all are there; None for the last one, who need not wait."""
        self._missing[number] -= 1
        if self._missing[number]:
            if number not in self._open:
                self._open[number] = self._env.event()
            return self._open[number]
        if number in self._open:
            self._open.pop(number).succeed()
        return None


@dataclass(frozen=True)
class FarmTerms:
    """What a pull gets and how long it lasts."""

    units: int
    chunk: int
    pull_ticks: int


class Farms:
    """All farms of one run: hands out the next units of work in the order in which they are asked for."""

    def __init__(self, env: Clock, instant: Instant, terms: Sequence[FarmTerms]) -> None:
        self._env, self._instant, self._terms = env, instant, terms
        self._handed_out = [0] * len(terms)
        self._asked: list[tuple[int, int, Occurrence]] = []

    def pull(self, number: int, process: int) -> Occurrence:
        """Ask for work; the event has as its value the first of the units that are handed out, and the one after."""
        pulled = Occurrence(self._env)
        self._asked.append((process, number, pulled))
        self._instant.ask(Phase.PULLS, self._grant)
        return pulled

    def _grant(self) -> None:
        for _, number, pulled in sorted(self._asked, key=lambda request: request[0]):
            terms, first = self._terms[number], self._handed_out[number]
            after = min(first + terms.chunk, terms.units)
            self._handed_out[number] = after
            pulled.after(terms.pull_ticks, (first, after))
        self._asked.clear()
