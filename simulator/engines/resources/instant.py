"""Ticks as SimPy's time, events that are set after they are waited for, and what is decided as an instant ends."""

from collections.abc import Callable
from enum import IntEnum
from operator import itemgetter
from typing import Any

import simpy
from simpy.events import EventPriority

from simulator.engines.costs import LAST_TICK, TickOverflowError

AFTER_PROCESSES = EventPriority(2)
"""Priority of the end of an instant: above NORMAL, so that every process has advanced before it."""


class Clock(simpy.Environment):
    """SimPy's environment with ticks, whole numbers, as its time."""

    def __init__(self) -> None:
        super().__init__(initial_time=0)

    @property
    def now(self) -> int:
        """The current tick."""
        return self._now  # type: ignore[return-value]  # exact: every delay is an int


class Occurrence(simpy.Event):
    """An event that can be waited for before it is known when it happens."""

    env: Clock
    callbacks: list[Callable[[simpy.Event], object]]  # type: ignore[assignment]  # None once it is over

    def __init__(self, env: Clock) -> None:
        super().__init__(env)

    def after(self, ticks: int, value: Any = None) -> "Occurrence":
        """Let it happen so many ticks from now.

        Raises TickOverflowError if that is past the last tick.
        """
        env = self.env
        if env.now + ticks > LAST_TICK:
            raise TickOverflowError
        self._ok = True
        self._value = value
        env.schedule(self, delay=ticks)
        return self

    @property
    def over(self) -> bool:
        """Whether it has happened."""
        return self.processed


class Phase(IntEnum):
    """What is decided at the end of an instant, in this order: grants (c), then shares and rates (d)."""

    JOBS = 0
    ANYONE = 1
    PULLS = 2
    LINKS = 3
    QUOTAS = 4
    NEIGHBOURS = 5
    PES = 6
    FLOWS = 7


class Instant:
    """The end of the current tick: runs each settlement asked for once, after all processes have advanced."""

    def __init__(self, env: Clock) -> None:
        self._env = env
        self._asked: list[dict[int, Callable[[], None]]] = [{} for _ in Phase]
        self._planned = False

    def ask(self, phase: Phase, settle: Callable[[], None], key: int = 0) -> None:
        """Ask that `settle` runs at the end of this instant, once per phase and key, in their order."""
        self._asked[phase][key] = settle
        if not self._planned:
            self._planned = True
            end = Occurrence(self._env)
            end.callbacks.append(self._settle)
            end._ok, end._value = True, None  # noqa: SLF001 - how SimPy's own events carry a priority
            self._env.schedule(end, priority=AFTER_PROCESSES)

    def _settle(self, _event: simpy.Event) -> None:
        for asked in self._asked:  # a grant may ask for a later phase of the same instant
            if asked:
                due = sorted(asked.items(), key=itemgetter(0))
                asked.clear()
                for _, settle in due:
                    settle()
        self._planned = False
