"""What every process-count model answers: seconds by kind, m and P, and estimates of configurations with intervals."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from simulator.models.process_count.runs import Floats, Ints


@dataclass(frozen=True)
class ShareTables:
    """The point estimate at one problem size: makespan = the longest `pe_s` of the kinds that take part + `comm_s`."""

    pe_s: Floats
    """Seconds of a PE of a kind that runs m of P processes; (kind, m - 1, P), infinite where not allowed."""
    comm_s: Floats
    """Seconds that all wait for; (P,), entry 0 is not looked at."""
    measured: Ints = field(default_factory=lambda: np.empty((0, 0, 2), dtype=np.int64))
    """Configurations whose own runs lie off the rest, as in `AllocationRuns`; (c, kind, 2)."""
    factor: Floats = field(default_factory=lambda: np.empty(0))
    """What their makespan by the tables is multiplied with, (c,)."""


@dataclass(frozen=True)
class Estimates:
    """Of n configurations at one problem size."""

    level: float
    mean_s: Floats
    """(n,)."""
    low_s: Floats
    """Lower end of the interval of one run; (n,)."""
    high_s: Floats
    warnings: tuple[tuple[str, ...], ...]
    """Why an estimate is weak, per configuration."""


class ProcessCountModel(Protocol):
    """A fitted model, by whatever method."""

    @property
    def kinds(self) -> tuple[str, ...]:
        """Names of the kinds."""

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the runs cannot tell."""

    def tables(self, size: float, most: Sequence[int], processes: int) -> ShareTables:
        """For up to `most[kind]` processes on a PE and up to so many processes in all."""

    def estimate(self, size: float, allocations: Ints, *, level: float = 0.9) -> Estimates:
        """Of allocations of shape (n, kind, 2), as in `AllocationRuns`."""

    def members(self, size: float, allocations: Ints) -> Floats:
        """Equally likely truths, paired over the allocations: seconds of shape (member, n)."""

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON: `kind` is `process_count`, `method` names the model."""
