"""What engines and advisor ask of an application whose units of work are divided among processes."""

from collections.abc import Callable
from typing import Protocol

from simulator.configuration import Configuration
from simulator.program import Compute, Program


class Work(Protocol):
    """An application with its parameters."""

    @property
    def units(self) -> int:
        """How many units a partition divides."""

    @property
    def varies_with_processes(self) -> bool:
        """Whether the computation of a unit depends on how many processes take part."""

    def compute(self, processes: int) -> Callable[[int], Compute]:
        """What a process with so many units computes, if so many processes take part."""

    def messages_bytes(self, units: int) -> tuple[int, ...]:
        """Payloads between process 0 and another process with so many units, one after the other."""

    def program(self, configuration: Configuration) -> Program:
        """The operations of all processes.

        Raises
        ------
        ScenarioError
            If the partition does not fit.
        """

    def warnings(self, processes: int) -> tuple[str, ...]:
        """What to know before the costs are trusted, if so many processes take part; one line each."""
