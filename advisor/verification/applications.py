"""What can really be run under a configuration: the row-partitioned matrix product, and any command line."""

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from simulator import Configuration, ScenarioError
from simulator.calibration import CommandRanks, Ranks, RealRun

PLACES = ("rank", "first", "units", "processes")
"""What a command line may ask for in braces; `first` is a rank's first unit of work."""
_PLACE = re.compile(r"\{(\w+)\}")


class RealApplication(Protocol):
    """An application on real processes of this machine."""

    def prepare(self, configurations: Sequence[Configuration]) -> None:
        """Make ready for runs under each, and run each once, which is not counted."""

    def run(self, configuration: Configuration) -> RealRun:
        """Run it once."""


@dataclass(frozen=True)
class MatmulRuns:
    """C = A x B by rows, one process per PE."""

    ranks: Ranks
    kernel: str

    def prepare(self, configurations: Sequence[Configuration]) -> None:
        """Give every rank its operands, and warm pages and buffers.

        Raises
        ------
        ScenarioError
            If a configuration does not have one process per PE in order.
        """
        for configuration in configurations:
            if configuration.placement != tuple(range(len(self.ranks.cpus))):
                found = f"configuration {configuration.name}: processes on PEs {list(configuration.placement)} found"
                raise ScenarioError(f"{found}, one on each PE in order allowed for real runs of matmul")
        n = sum(configurations[0].partition)
        for configuration in configurations:
            self.ranks.prepare_matmul(self.kernel, n, configuration.partition)
        for configuration in configurations:
            self.run(configuration)

    def run(self, configuration: Configuration) -> RealRun:
        """Distribute, multiply, collect, check."""
        return self.ranks.matmul(configuration.partition)


@dataclass(frozen=True)
class CommandRuns:
    """A command line per rank that has units, all started at once, each pinned to its PE."""

    ranks: CommandRanks
    """One per process of the largest configuration, see `places_of`."""
    words: tuple[str, ...]
    cpus: tuple[int, ...]
    """Of the platform's PEs."""
    limit_s: float

    def prepare(self, configurations: Sequence[Configuration]) -> None:
        """Run each once: files and libraries are then in memory."""
        for configuration in configurations:
            self.run(configuration)

    def run(self, configuration: Configuration) -> RealRun:
        """Start all ranks and wait for them."""
        free = {cpu: [rank for rank, own in enumerate(self.ranks.cpus) if own == cpu] for cpu in set(self.ranks.cpus)}
        words: list[tuple[str, ...] | None] = [None] * len(self.ranks.cpus)
        first, processes = 0, sum(units > 0 for units in configuration.partition)
        rank = 0
        for units, pe in zip(configuration.partition, configuration.placement, strict=True):
            if units:
                values = {"rank": rank, "first": first, "units": units, "processes": processes}
                words[free[self.cpus[pe]].pop(0)] = tuple(_filled(word, values) for word in self.words)
                rank += 1
            first += units
        return self.ranks.run(words, limit_s=self.limit_s)


def ranks_cpus(configurations: Sequence[Configuration], cpus: Sequence[int]) -> list[int]:
    """The processor of each rank that any of some configurations needs: the most on each PE."""
    most = [max(configuration.placement.count(pe) for configuration in configurations) for pe in range(len(cpus))]
    return [cpu for cpu, count in zip(cpus, most, strict=True) for _ in range(count)]


def parse_command(text: str) -> tuple[str, ...]:
    """The words of a command line, split as a shell would but without one.

    Raises
    ------
    ScenarioError
        If it is empty, a quotation does not end, or a place in braces is none of `PLACES`.
    """
    try:
        words = tuple(shlex.split(text))
    except ValueError as error:
        raise ScenarioError(f"--command: {text!r}: {str(error).lower()} found, closed quotations allowed") from error
    if not words:
        raise ScenarioError("--command: nothing found, a command line allowed")
    unknown = [name for word in words for name in _PLACE.findall(word) if name not in PLACES]
    if unknown:
        allowed = ", ".join(f"{{{name}}}" for name in PLACES)
        raise ScenarioError(f"--command: {{{unknown[0]}}} found, {allowed} allowed")
    if not any("{units}" in word for word in words):
        raise ScenarioError(f"--command: {text!r} found, {{units}} needed in it: each rank's work")
    return words


def _filled(word: str, values: dict[str, int]) -> str:
    return _PLACE.sub(lambda place: str(values[place[1]]), word)
