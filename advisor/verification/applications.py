"""What can really be run under a configuration: applications of ours, and any command line."""

import re
import shlex
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Protocol

from advisor.verification.places import Places, Seat
from simulator import Application, Configuration, Scenario, ScenarioError, balance_text
from simulator.calibration import CommandRanks, Ranks, RealProgram, RealRun, Usage

PLACES = ("rank", "first", "units", "processes")
"""What a command line may ask for in braces; `first` is a rank's first unit of work."""
LIMIT_S = 300.0
"""How long a rank may take to answer where nothing is predicted."""
_PLACE = re.compile(r"\{(\w+)\}")
Beside = Callable[[], AbstractContextManager[None]]
"""What is on during a run, and only then: a load."""


class RealApplication(Protocol):
    """An application on real processes of this machine."""

    def prepare(self, configurations: Sequence[Configuration]) -> None:
        """Make ready for runs under each, and run each once, which is not counted."""

    def run(self, configuration: Configuration, beside: Beside = nullcontext) -> RealRun:
        """Run it once, while `beside` is on; `compute` of the answer has an entry for each PE, see `by_pe`."""


@dataclass(frozen=True)
class ProgramRuns:
    """An application of ours: each rank does what the simulated process does, with the kernel that was measured."""

    ranks: Ranks
    """As many as the configuration with most has, or more."""
    application: Application
    places: Places
    limit_s: float = LIMIT_S
    scenario: Scenario | None = None
    """What speeds and costs of moving units are taken from, where they move."""

    def prepare(self, configurations: Sequence[Configuration]) -> None:
        """Give every rank its operands, and warm pages and buffers."""
        for configuration in configurations:
            self.ranks.prepare_program(self._program(configuration), limit_s=self.limit_s)
        for configuration in configurations:
            self.run(configuration)

    def run(self, configuration: Configuration, beside: Beside = nullcontext) -> RealRun:
        """Run it once; every rank checks its answer."""
        run = self.ranks.run_program(self._program(configuration), limit_s=self.limit_s, beside=beside)
        return by_pe(run, self.places.seats(configuration), len(self.places.cpus))

    def _program(self, configuration: Configuration) -> RealProgram:
        asked, seats = self.application, self.places.seats(configuration)
        units, cpus = tuple(seat.units for seat in seats), tuple(seat.cpus for seat in seats)
        program = RealProgram(asked.name, asked.kernel, dict(asked.parameters), units, cpus)
        if configuration.repartition is None or self.scenario is None:
            return program
        balance = balance_text(self.scenario, configuration)
        return replace(program, balance=balance, every=configuration.repartition.every)


@dataclass(frozen=True)
class CommandRuns:
    """A command line per rank, all started at once, each on its core."""

    ranks: CommandRanks
    """As many as the configuration with most has, or more."""
    words: tuple[str, ...]
    places: Places
    limit_s: float

    def prepare(self, configurations: Sequence[Configuration]) -> None:
        """Run each once: files and libraries are then in memory."""
        for configuration in configurations:
            self.run(configuration)

    def run(self, configuration: Configuration, beside: Beside = nullcontext) -> RealRun:
        """Start all ranks and wait for them; a master without units has nothing to do."""
        seats = [seat for seat in self.places.seats(configuration) if seat.units]
        words = []
        for rank, seat in enumerate(seats):
            values = {"rank": rank, "first": seat.first, "units": seat.units, "processes": len(seats)}
            words.append(tuple(filled(word, values) for word in self.words))
        with beside():
            run = self.ranks.run(words, limit_s=self.limit_s, places=[seat.cpus for seat in seats])
        return by_pe(run, seats, len(self.places.cpus))


def by_pe(run: RealRun, seats: Sequence[Seat], pes: int) -> RealRun:
    """A run with the cost of computing by PE: that of ranks with a core to themselves, nothing where they share one."""
    found = [Usage()] * pes
    for seat, used in zip(seats, run.compute, strict=True):
        if seat.alone:
            found[seat.pe] = found[seat.pe] + used
    return replace(run, compute=tuple(found))


def parse_command(text: str) -> tuple[str, ...]:
    """The words of a command line, split as a shell would but without one.

    Raises ScenarioError if it is empty, a quotation does not end, or a place in braces is none of `PLACES`.
    """
    try:
        words = tuple(shlex.split(text))
    except ValueError as error:
        raise ScenarioError(f"--command {text!r} has {str(error).lower()}; close every quotation") from error
    check_command(words)
    return words


def check_command(words: Sequence[str]) -> None:
    """Refuse a command line that says nothing of its units, or has places that are unknown.

    Raises ScenarioError with what is wrong.
    """
    if not words:
        raise ScenarioError("--command is empty; give the command line that each rank runs")
    unknown = [name for word in words for name in _PLACE.findall(word) if name not in PLACES]
    if unknown:
        known = ", ".join(f"{{{name}}}" for name in PLACES)
        raise ScenarioError(f"--command has the place {{{unknown[0]}}}, which is unknown; known are {known}")
    if not any("{units}" in word for word in words):
        text = shlex.join(words)
        raise ScenarioError(f"--command {text!r} has no {{units}}, so ranks cannot know how much work is theirs")


def filled(word: str, values: dict[str, int]) -> str:
    """A word with its places in braces filled."""
    return _PLACE.sub(lambda place: str(values[place[1]]), word)
