"""The allocation problem: which PEs take part with how many processes each; what may vary, the objective, the budget.

PEs that are alike form a kind, and only counts matter: an allocation is, per kind, how many PEs take part (its first
ones) and how many processes each of them runs. All P processes have equal shares of the work.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from advisor.advise.objectives import Objective, check_objective
from simulator import ScenarioError

Allocations = NDArray[np.int64]
"""(allocation, kind, 2): PEs that take part, and processes on each of them; both 0 for a kind that takes no part."""
Floats = NDArray[np.float64]
Runs = Callable[[Allocations, NDArray[np.int64]], Floats]
"""Makespans in seconds of allocations (n, kind, 2) in replications (r,); (n, r), paired as in `ranking.Makespans`."""


@dataclass(frozen=True)
class Kind:
    """PEs that are alike."""

    name: str
    pes: tuple[int, ...]
    """Their indices; those of an allocation are the first of these."""
    most: int = 1
    """Most processes on one PE."""

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self.pes)


class Model(Protocol):
    """An analytic model of the makespan of an allocation."""

    @property
    def pe_s(self) -> Floats:
        """Seconds that a PE of a kind computes with m of P processes; (kind, m - 1, P), infinite where not allowed."""

    @property
    def comm_s(self) -> Floats:
        """Seconds of messages with P processes; (P,)."""


@dataclass(frozen=True)
class ShareTimes:
    """Makespan = the longest `pe_s` of the kinds that take part + `comm_s`: the model in full."""

    pe_s: Floats
    comm_s: Floats


@dataclass(frozen=True)
class EqualWork:
    """The model where kinds differ by factors only: makespan = largest load x `share_s[P]` + `comm_s[P]`.

    After Kishimoto and Ichikawa, "An execution-time estimation model for heterogeneous clusters", IPDPS 2004.
    """

    loads: Floats
    """How many times longer a PE of a kind with m processes computes than the reference PE with one; (kind, m - 1),
    infinite where m is not allowed."""
    share_s: Floats
    """Seconds of one of P equal shares on the reference PE; (P,), entry 0 is not looked at."""
    comm_s: Floats
    """As in `Model`."""

    @property
    def pe_s(self) -> Floats:
        """As in `Model`."""
        return np.asarray(self.loads[:, :, np.newaxis] * self.share_s)


@dataclass(frozen=True)
class Problem:
    """What may vary, the objective that is to be least, and what may be spent on it."""

    kinds: tuple[Kind, ...]
    runs: Runs
    """Simulated (or otherwise noisy) makespans."""
    model: Model | None = None
    """An analytic model, for bounds and for candidates."""
    objective: Objective = "mean"
    budget: int = 200
    """Simulated runs: one allocation in one replication is one."""
    replications: int = 1
    """Of each allocation, where all have the same number (`exhaustive`)."""
    seed: int = 0

    def __post_init__(self) -> None:
        check_objective(self.objective)
        if not self.kinds or any(kind.count < 1 or kind.most < 1 for kind in self.kinds):
            raise ScenarioError("allocation: give at least one kind, each of at least one PE and one process")
        if self.budget < 1 or self.replications < 1:
            found = f"{self.budget} and {self.replications}"
            raise ScenarioError(f"allocation: budget and replications are {found}; give at least 1")

    @classmethod
    def of_model(cls, kinds: tuple[Kind, ...], model: Model) -> "Problem":
        """A problem whose makespans are those of its model, without noise."""

        def runs(allocations: Allocations, replications: NDArray[np.int64]) -> Floats:
            return np.repeat(model_times_s(model, allocations)[:, np.newaxis], replications.size, axis=1)

        return cls(kinds, runs, model)

    @property
    def most_processes(self) -> int:
        """With everything taking part."""
        return sum(kind.count * kind.most for kind in self.kinds)

    @property
    def size(self) -> int:
        """How many allocations there are."""
        total = 1
        for kind in self.kinds:
            total *= 1 + kind.count * kind.most
        return total - 1

    def check(self, allocations: Allocations) -> None:
        """Refuse what is no allocation of this problem.

        Raises
        ------
        ScenarioError
            For the first kind with too many PEs or processes, or if nobody takes part.
        """
        for place, kind in enumerate(self.kinds):
            pes, each = allocations[:, place, 0], allocations[:, place, 1]
            whole = (pes >= 0) & (pes <= kind.count) & (each >= 0) & (each <= kind.most) & ((pes == 0) == (each == 0))
            if not np.all(whole):
                found = allocations[~whole][0, place].tolist()
                allowed = f"up to {kind.count} PEs with 1 to {kind.most} processes each"
                raise ScenarioError(f"allocation: kind {kind.name} is {found}; give {allowed} or [0, 0]")
        if np.any(processes_of(allocations) == 0):
            raise ScenarioError("allocation: there is no process; give at least one")


@dataclass(frozen=True)
class Found:
    """What an allocator found."""

    allocation: NDArray[np.int64]
    """(kind, 2), as in `Allocations`."""
    value_s: float
    """Its objective: by the model for the analytic ones, by the runs seen for the others."""
    lower_bound_s: float | None
    """No allocation can be below (of the model, for the analytic ones)."""
    evaluations: int
    """Runs, or evaluations of the model."""

    @property
    def gap(self) -> float | None:
        """So much above the lower bound, as a share."""
        return None if self.lower_bound_s is None else self.value_s / self.lower_bound_s - 1

    @property
    def optimal(self) -> bool:
        """Whether the lower bound proves that nothing is better."""
        return self.lower_bound_s is not None and self.value_s <= self.lower_bound_s


def processes_of(allocations: Allocations) -> NDArray[np.int64]:
    """Processes of each allocation; (n,)."""
    return np.asarray(np.prod(allocations, axis=2).sum(axis=1))


def model_times_s(model: Model, allocations: Allocations) -> Floats:
    """The makespans of allocations (n, kind, 2) by a model; (n,)."""
    processes = processes_of(allocations)
    longest = np.zeros(processes.size)
    separable = isinstance(model, EqualWork)
    table = model.loads if isinstance(model, EqualWork) else model.pe_s
    for place in range(allocations.shape[1]):
        each = np.maximum(allocations[:, place, 1], 1) - 1
        mine = table[place, each] if separable else table[place, each, processes]
        longest = np.maximum(longest, np.where(allocations[:, place, 0] > 0, mine, 0.0))
    if isinstance(model, EqualWork):
        longest = longest * model.share_s[processes]
    return np.asarray(longest + model.comm_s[processes])
