"""What a search may spend on simulation, what it has spent, and the best so far, reported while it goes on."""

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from simulator import RunSet, Scenario
from simulator.experiments.sweep import run_or_recall


@dataclass(frozen=True)
class Progress:
    """How far a search is."""

    stage: str
    runs: int
    """Simulated so far."""
    elapsed_s: float
    best: str | None
    """The configuration that is the best so far, None before the first one was simulated."""
    value: float | None
    """Its objective, as far as it was simulated."""


Tell = Callable[[Progress], None]


class OutOfBudgetError(Exception):
    """The runs or the time that a stage may take are spent."""


class Spending:
    """Simulated runs and seconds of a search: what it may take and what it has taken.

    `runs`, `time_s`: simulated runs that each stage may take, and seconds for all of it; as many as it wants by
    default.
    `tell`: called after each call of the simulator.
    """

    def __init__(self, *, runs: int | None = None, time_s: float | None = None, tell: Tell | None = None) -> None:
        self.runs = 0
        """Simulated so far."""
        self.time_s = time_s
        self.cut: list[str] = []
        """Stages that ended because what they may take was spent."""
        self.most = runs
        """Simulated runs that it may take, if they are limited."""
        self._tell, self._begun = tell, time.monotonic()
        self._stage, self._until, self._before = "start", 1.0, 0
        self._best: tuple[str, float] | None = None

    @contextmanager
    def stage(self, name: str, *, until: float = 1.0) -> Iterator[None]:
        """Name what is done; it ends where it has had the runs, or this share of the time is gone."""
        self._stage, self._until, self._before = name, until, self.runs
        self._report()
        try:
            yield
        except OutOfBudgetError:
            self.cut.append(name)
        finally:
            self._until = 1.0

    @property
    def timed(self) -> bool:
        """Whether the time is limited, so that long calls have to be divided."""
        return self.time_s is not None

    @property
    def left_s(self) -> float:
        """Seconds that are left, infinite without a limit."""
        return math.inf if self.time_s is None else self.time_s - (time.monotonic() - self._begun)

    def simulate(self, scenario: Scenario, **how: Any) -> RunSet:
        """As `simulator.run`, if the stage may go on.

        Raises OutOfBudgetError if what the stage may take is spent.
        """
        over_time = self.time_s is not None and self.left_s < (1 - self._until) * self.time_s
        if over_time or (self.most is not None and self.runs - self._before >= self.most):
            raise OutOfBudgetError(self._stage)
        found = run_or_recall(scenario, **how)
        self.runs += found.makespan_ticks.size
        self._report()
        return found

    def found(self, name: str, value: float) -> None:
        """Keep what is the best so far, for the next report."""
        self._best = name, value

    def _report(self) -> None:
        if self._tell is not None:
            name, value = self._best or (None, None)
            self._tell(Progress(self._stage, self.runs, time.monotonic() - self._begun, name, value))
