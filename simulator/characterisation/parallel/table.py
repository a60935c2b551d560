"""The kernels that are run in parallel too: template, messages, and the steps with their arguments at any share."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from simulator.base.errors import ScenarioError, meant
from simulator.calibration.kernels import operands
from simulator.calibration.kernels.integration import integrate
from simulator.calibration.kernels.matmul import loops
from simulator.calibration.kernels.merge_sort import Numbers, fill_numbers, merge_sort
from simulator.calibration.kernels.sized import compiled
from simulator.characterisation.kernels import study_kernel
from simulator.programs.graphs.work import Asked


@dataclass(frozen=True)
class ParallelStep:
    """A step of a template, done by one function on a process's share."""

    name: str
    function: Callable[..., Any]
    arguments: Callable[[int, int], tuple[Any, ...]]
    """Arguments from the size n and a process's units."""
    design: Mapping[str, str]
    """What its designer expects: operation -> formula of n and units."""
    overwrites: bool = False
    """Whether a run spoils its arguments for the next one."""


@dataclass(frozen=True)
class ParallelKernel:
    """A kernel of the study under its template; its n units are divided among the processes."""

    name: str
    size: int
    """The size that is run by default."""
    steps: tuple[ParallelStep, ...]
    messages: Mapping[str, str]
    turns: bool = False
    """Whether each process in turn begins an iteration, all of them in one column of the template's grid."""

    @property
    def template(self) -> str:
        """As the study names it."""
        return study_kernel(self.name).template

    def asked(self, n: int, processes: int) -> Asked:
        """The template's texts for so many processes; graphs are called as the steps."""
        return Asked(
            self.template,
            "n",
            {"n": n},
            str(processes if self.turns else 1),
            {step.name: (step.name, {}) for step in self.steps},
            self.messages,
            processes if self.turns else 1,
            method="ct",
        )


def shares(n: int, processes: int) -> tuple[int, ...]:
    """Units of each process: equal up to one."""
    return tuple(n // processes + (rank < n % processes) for rank in range(processes))


def numbers(n: int) -> Numbers:
    """The numbers that are sorted."""
    found = np.empty(n, dtype=np.int64)
    compiled(fill_numbers)(found)
    return found


def keep_part(own: Numbers, theirs: Numbers, kept: Numbers, highest: bool) -> None:  # noqa: FBT001 - Numba's argument
    """Merge two sorted rows as far as `kept` goes: the lowest numbers from below, or the highest from above."""
    lower, other = 0, 0
    for place in range(kept.size):
        if highest:
            mine, yours = own.size - 1 - lower, theirs.size - 1 - other
            takes = yours < 0 or own[mine] > theirs[yours]
        else:
            mine, yours = lower, other
            takes = yours >= theirs.size or own[mine] <= theirs[yours]
        target = kept.size - 1 - place if highest else place
        if takes:
            kept[target] = own[mine]
            lower += 1
        else:
            kept[target] = theirs[yours]
            other += 1


def _sorting(_n: int, units: int) -> tuple[Any, ...]:
    return numbers(units), np.zeros(units, dtype=np.int64)


def _merging(_n: int, units: int) -> tuple[Any, ...]:
    own = numbers(2 * units)
    return np.sort(own[:units]), np.sort(own[units:]), np.zeros(units, dtype=np.int64), False


def _multiplying(n: int, units: int) -> tuple[Any, ...]:
    return operands.left(n, units), np.ascontiguousarray(operands.right(n)[:, :units]), np.zeros((units, units))


PARALLEL_KERNELS: dict[str, ParallelKernel] = {
    kernel.name: kernel
    for kernel in (
        ParallelKernel(
            "integration",
            2_000_000,
            (
                ParallelStep(
                    "phase",
                    integrate,
                    lambda n, units: (n, 0, units),
                    {"flop": "5*units", "divide": "units", "step": "units"},
                ),
            ),
            {"combine": "8"},
        ),
        ParallelKernel(
            "sort",
            131_072,
            (
                ParallelStep(
                    "local",
                    merge_sort,
                    _sorting,
                    {
                        "access": "2*units*ceil(log2(units))",
                        "step": "units*ceil(log2(units))",
                        "decide": "units*ceil(log2(units))",
                    },
                    overwrites=True,
                ),
                ParallelStep("merge", keep_part, _merging, {"access": "2*units", "step": "units", "decide": "units"}),
            ),
            {"exchange": "8*units"},
        ),
        ParallelKernel(
            "matmul",
            512,
            (
                ParallelStep(
                    "step",
                    loops,
                    _multiplying,
                    {"flop": "2*n*units**2", "access": "3*n*units**2", "step": "n*units**2"},
                ),
            ),
            {"row": "0", "column": "8*n*n/P"},
            turns=True,
        ),
    )
}
"""Those of the paper."""


def parallel_kernel(name: str) -> ParallelKernel:
    """The parallel form of a kernel.

    Raises
    ------
    ScenarioError
        If it has none, with those that have one.
    """
    if name not in PARALLEL_KERNELS:
        raise ScenarioError(
            f"--parallel: {name!r} is no kernel with a template; name {', '.join(PARALLEL_KERNELS)}"
            f"{meant(name, PARALLEL_KERNELS)}"
        )
    return PARALLEL_KERNELS[name]
