"""Parallel programs that ranks really run: applications by name, computing what a kernel was measured for.

Each rank does what the simulated process of its application does: the same messages in the same order, over channels
that `calibrate network --between processes` measures too, and the computation that `calibrate speed --kernel` measures.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from simulator.calibration.ranks.programs import farm, matmul, stencil
from simulator.calibration.ranks.programs.part import Part, RealProgram, Room, Seat, Told

__all__ = ["PROGRAMS", "Part", "RealProgram", "Room", "Seat", "program_fault"]


@dataclass(frozen=True)
class RealKind:
    """A program that really runs."""

    part: Callable[[Seat, Room], Part]
    """One rank of it."""
    fault: Callable[[str, Mapping[str, Any]], str | None]
    """Why it cannot run with a kernel and parameters."""
    agree: Callable[[RealProgram, Sequence[Told]], str | None] = lambda _program, _told: None
    """What is wrong with what all ranks told together."""


PROGRAMS = {
    "matmul": RealKind(matmul.part, matmul.fault),
    "stencil": RealKind(stencil.part, stencil.fault),
    "farm": RealKind(farm.part, farm.fault, farm.agree),
}
"""By the name of the application."""


def program_fault(name: str, kernel: str, parameters: Mapping[str, Any]) -> str | None:
    """Why an application cannot really run, in one sentence; None if it can."""
    if name not in PROGRAMS:
        return f"{name} has no real program here; matmul, stencil and farm have, others run by --command"
    return PROGRAMS[name].fault(kernel, parameters)
