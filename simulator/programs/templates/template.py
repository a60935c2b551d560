"""What a parallel template is: its steps, its messages, and what makes the rows of its processes."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simulator.programs.applications.work import Team
from simulator.programs.program import Compute, Row

Ints = NDArray[np.int64]

EVERYWHERE = ("P", "total")
"""Names that every formula of a template may use: processes that take part, and all units."""
STEP_NAMES = ("units", "iteration")
"""Names that formulas of steps may use too: a process's units, and the number of the iteration from 0 on."""


class Stage(Protocol):
    """The processes of one configuration, and what steps and messages cost there."""

    @property
    def team(self) -> Team:
        """Processes with units."""

    @property
    def iterations(self) -> int:
        """How often the whole is done."""

    @property
    def grid_rows(self) -> int:
        """Rows of the grid of processes, where the template has one."""

    def compute(self, step: str, **names: ArrayLike) -> tuple[Compute, ...]:
        """A step on each process's own PE, nothing if the scenario names no graph for it; (process,) or iterations."""

    def size_bytes(self, message: str, **names: ArrayLike) -> Ints:
        """Payload of a message, by the process that sends it; (process,), or (iteration, process)."""

    def sends(self, message: str) -> bool:
        """Whether the message is sent at all: one of 0 bytes by its formula is none."""


Often = Callable[[int], Mapping[str, float]]
"""Processes that take part -> how often one of them does each, per iteration; an estimate for choosing partitions."""


@dataclass(frozen=True)
class Template:
    """A way to be parallel."""

    name: str
    steps: tuple[str, ...]
    """Parts of the computation that are graphs; the first one is needed, the others can be left out."""
    messages: Mapping[str, tuple[str, ...]]
    """Messages, and the names beside `EVERYWHERE` that the formula of each may use."""
    rows: Callable[[Stage], tuple[Row, ...]]
    """What each process does."""
    computes: Often
    handles: Often
    step_names: tuple[str, ...] = STEP_NAMES
    has_master: bool = False


def repeated(iterations: int) -> Ints:
    """The numbers of iterations, as the leading axis of what differs between them; (iteration, 1)."""
    return np.arange(iterations, dtype=np.int64)[:, np.newaxis]
