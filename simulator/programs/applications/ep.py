"""Samples that have nothing to do with each other, and one all-reduce of what was counted (EP of the NAS benchmarks).

A process with s samples computes `volume` units of volume for each, 1 by default; its problem size is s. Then all
processes combine `result_bytes`, by default the 12 words of EP (ten counts and two sums). A process holds the result
only.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import get_args

import numpy as np

from simulator.programs.applications.parameters import Counted, choice, positive, whole
from simulator.programs.applications.work import Team, Work
from simulator.programs.configuration import Configuration
from simulator.programs.moves import Moves
from simulator.programs.program import AllReduce, AllReduceAlgorithm, Compute, Program

RESULT_BYTES = 96


@dataclass(frozen=True)
class Samples(Work):
    """Independent samples, divided among the processes."""

    samples: int
    volume: float
    result_bytes: int
    reduce: AllReduceAlgorithm

    @property
    def units(self) -> int:
        """Samples."""
        return self.samples

    def compute(self, processes: int) -> Callable[[int], Compute]:  # noqa: ARG002 - the same for any number
        """So many samples."""
        return lambda samples: Compute(samples * self.volume, samples)

    def messages_bytes(self, units: int) -> tuple[int, ...]:
        """The result, once."""
        return (self.result_bytes,) if units else ()

    def moves(self, partition: tuple[int, ...]) -> Moves:
        """Nothing to speak of."""
        return Moves.of(len(partition))

    def program(self, configuration: Configuration) -> Program:
        """The operations of all processes; one without samples takes no part."""
        team = Team.of(configuration, total=self.samples, noun="samples", name="samples")
        combine = AllReduce(self.result_bytes, self.reduce, team.group)
        return team.program(
            (Compute(np.asarray(team.units * self.volume), team.units), combine),
            np.full(team.units.size, self.result_bytes),
        )


APPLICATION = Counted(
    "ep",
    Samples,
    {
        "samples": whole(meaning="independent samples"),
        "volume": positive(1.0, "volume of a sample"),
        "result_bytes": whole(RESULT_BYTES, least=0, meaning="bytes of a process's result"),
        "reduce": choice(
            get_args(AllReduceAlgorithm),
            "recursive_doubling",
            "the all-reduce: `recursive_doubling`, `ring` or `reduce_broadcast`",
        ),
    },
    chosen=("reduce",),
)
