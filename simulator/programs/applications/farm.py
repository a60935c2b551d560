"""A farm: units of work that processes pull in chunks, the next free one first (self-scheduling).

Each of `units` units has `volume` units of volume and the problem size `size`. A process pulls `chunk` units, which
takes `pull` whether or not anything is left, computes them, and pulls again until nothing is left. The pool is no
process: handing out costs nothing but the pull's time, and requests do not wait for each other. So of U units in
chunks of c, ceil(U / c) + P pulls are made by P processes, and there are no other messages. A process holds 8 bytes
per element of a unit.

A partition does not decide who computes what: a process with units takes part, one without does not.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from simulator.programs import program
from simulator.programs.applications.parameters import Counted, Duration, Positive, Whole
from simulator.programs.applications.work import Team, Work
from simulator.programs.configuration import Configuration
from simulator.programs.program import Compute, Program

WORD_BYTES = 8


@dataclass(frozen=True)
class Farm(Work):
    """Units that are pulled."""

    count: int
    """Units of work."""
    volume: float
    """Of a unit."""
    size: int
    """Elements of a unit."""
    chunk: int
    """Units per pull."""
    pull_s: float
    """Seconds that a pull takes."""

    @property
    def units(self) -> int:
        """Units of work."""
        return self.count

    def compute(self, processes: int) -> Callable[[int], Compute]:  # noqa: ARG002 - the same for any number
        """So many units."""
        return lambda units: Compute(units * self.volume, self.size)

    def messages_bytes(self, units: int) -> tuple[int, ...]:  # noqa: ARG002 - pulls carry no payload
        """None."""
        return ()

    def program(self, configuration: Configuration) -> Program:
        """One farm; a process without units takes no part."""
        team = Team(np.array(configuration.partition, dtype=np.int64))
        volumes = np.full(self.count, self.volume)
        pool = program.Farm(volumes, self.size, self.chunk, self.pull_s, team.group)
        return team.program((pool,), np.full(team.units.size, WORD_BYTES * self.size))


APPLICATION = Counted(
    "farm",
    lambda units, pull, **others: Farm(units, pull_s=pull, **others),
    {
        "units": Whole(most=10**8, meaning="pieces of work"),
        "volume": Positive(meaning="volume of a unit"),
        "size": Whole(most=10**16, meaning="elements of a unit"),
        "chunk": Whole(1, meaning="units that are pulled at once"),
        "pull": Duration(0.0, "time of a pull, such as `10us`"),
    },
)
