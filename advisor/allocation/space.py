"""All configurations of some kinds at any problem size, with what a fitted model and memory say of them."""

import contextlib
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from advisor.allocation.kinds import Kinds, Limits
from advisor.allocators import branch_and_bound, ranked
from advisor.allocators.exhaustive import MOST
from advisor.allocators.ranked import all_times_s, allocations_at
from advisor.candidates import distinct, neighbours, threshold_candidates
from advisor.problem import Allocations, Floats, Kind, Problem, ShareTimes, model_times_s, processes_of
from simulator import ApportionError, ScenarioError, formula, units
from simulator.models import ProcessCountModel

MOST_NUMBERS = 5_000_000
"""Of a model's tables: kinds times processes on a PE times processes in all."""
STEPS = (0.2, 0.05)
"""Moves around an optimum that was bounded, as shares of a kind's PEs."""


@dataclass(frozen=True)
class Space:
    """What may be used, and the model."""

    model: ProcessCountModel
    kinds: tuple[Kind, ...]
    places: tuple[int, ...]
    """Of these kinds among the model's."""
    limits: Limits | None = None

    @property
    def most_processes(self) -> int:
        """With everything taking part."""
        return sum(kind.count * kind.most for kind in self.kinds)

    @property
    def most_configurations(self) -> int:
        """How many there are, whatever memory allows."""
        return math.prod(1 + kind.count * kind.most for kind in self.kinds) - 1

    def problem(self, size: float) -> Problem:
        """The problem of one size, by the model's tables; what memory does not hold takes for ever."""
        most = [1] * len(self.model.kinds)
        for place, kind in zip(self.places, self.kinds, strict=True):
            most[place] = kind.most
        tables = self.model.tables(size, most, self.most_processes)
        pe_s = np.array(tables.pe_s[list(self.places)])
        pe_s[np.isnan(pe_s)] = np.inf
        needed = self.footprints_bytes(size)
        if needed is not None and self.limits is not None:
            each = np.arange(1, pe_s.shape[1] + 1)[:, np.newaxis]
            for place, kind in enumerate(self.kinds):
                held = self.limits.memory_bytes.get(kind.name, np.inf)
                pe_s[place][each * needed > held] = np.inf
        return Problem.of_model(self.kinds, ShareTimes(pe_s, tables.comm_s))

    def footprints_bytes(self, size: float) -> Floats | None:
        """Of one of P processes; (P,), None without limits."""
        if self.limits is None:
            return None
        parsed = formula.parse(self.limits.footprint, names=("N", "P"), place="--footprint")
        processes = np.maximum(np.arange(self.most_processes + 1), 1).astype(np.float64)
        try:
            found = parsed.evaluate({"N": np.full_like(processes, size), "P": processes})
        except ApportionError as error:
            raise ScenarioError([f"--footprint: {line.removeprefix('formula: ')}" for line in error.lines]) from error
        found = np.broadcast_to(found, processes.shape)
        if np.any(found < 0):
            raise ScenarioError(f"--footprint: {found.min():.3g} bytes found at N = {size:g}, at least 0 allowed")
        return found

    def wide(self, allocations: Allocations) -> Allocations:
        """The same over all kinds of the model."""
        found = np.zeros((allocations.shape[0], len(self.model.kinds), 2), dtype=np.int64)
        found[:, list(self.places)] = allocations
        return found

    def best(self, size: float, most: int) -> tuple[Allocations, Floats, str]:
        """Up to `most` of the best allocations at a size, best first, their times, and the allocator that found them.

        Raises
        ------
        ScenarioError
            If nothing is allowed, or the model is too large for any allocator.
        """
        problem = self.problem(size)
        if not np.any(np.isfinite(problem.model.pe_s) if problem.model else False):
            raise ScenarioError(self.nothing_fits(size))
        if problem.size <= MOST:
            try:
                _, allocations, times_s = ranked(problem, most=most)
            except ScenarioError as error:
                raise ScenarioError(self.nothing_fits(size)) from error
            return allocations, times_s, "exhaustive"
        found = branch_and_bound(problem).allocation
        near = [found[np.newaxis], threshold_candidates(problem)]
        near += [neighbours(problem, found, step) for step in STEPS]
        some = distinct(np.concatenate(near))
        times_s = self.times_s(problem, some)
        order = np.argsort(times_s, kind="stable")[: min(most, int(np.sum(np.isfinite(times_s))))]
        return some[order], times_s[order], "branch_and_bound"

    def every(self) -> Allocations:
        """All configurations."""
        problem = Problem(self.kinds, lambda allocations, _: np.zeros((allocations.shape[0], 1)))
        return allocations_at(problem, np.arange(problem.size))

    def best_somewhere(self, sizes: Sequence[float], most: int) -> Allocations:
        """Up to `most` of the best at each of some sizes, each once; sizes where nothing is allowed have none."""
        found = []
        for size in sizes:
            with contextlib.suppress(ScenarioError):
                found.append(self.best(size, most)[0])
        return distinct(np.concatenate(found)) if found else np.zeros((0, len(self.kinds), 2), dtype=np.int64)

    def fitting(self, size: float) -> int | None:
        """How many configurations memory holds, None without limits or where they are too many to count."""
        if self.limits is None or self.most_configurations > MOST:
            return None
        return int(np.count_nonzero(np.isfinite(all_times_s(self.problem(size)))))

    def times_s(self, problem: Problem, allocations: Allocations) -> Floats:
        """Point estimates of some allocations; (n,)."""
        assert problem.model is not None  # noqa: S101 - made here with one
        return model_times_s(problem.model, allocations)

    def nothing_fits(self, size: float) -> str:
        """Why no configuration is left at a size."""
        needed = self.footprints_bytes(size)
        if needed is None or self.limits is None:
            return f"--size {size:g}: the model allows no configuration of these kinds, at least one allowed"
        least = units.show_size(float(needed[1:].min()))
        held = ", ".join(f"{name} {units.show_size(found)}" for name, found in self.limits.memory_bytes.items())
        return f"--size {size:g}: a footprint of at least {least} per process found, no PE holds it: {held} allowed"


def space_of(model: ProcessCountModel, kinds: Kinds, limits: Limits | None = None) -> Space:
    """The space of some kinds.

    Raises
    ------
    ScenarioError
        If the model does not know a kind, or no kind is given.
    """
    unknown = [name for name in kinds if name not in model.kinds]
    if unknown:
        known = ", ".join(model.kinds)
        allowed = f"those that the model has runs of allowed: {known}"
        raise ScenarioError([f"--kinds: {name}: a kind without runs found, {allowed}" for name in unknown])
    if not kinds:
        raise ScenarioError("--kinds: none found, at least one allowed")
    named, first = [], 0
    for name, (count, most) in kinds.items():
        named.append(Kind(name, tuple(range(first, first + count)), most))
        first += count
    widest, total = max(kind.most for kind in named), sum(kind.count * kind.most for kind in named)
    if (numbers := len(model.kinds) * widest * total) > MOST_NUMBERS:
        told = f"{total} processes on these kinds, for which the model has {numbers:.3g} estimates, found"
        raise ScenarioError(f"--kinds: {told}, at most {MOST_NUMBERS:.3g} allowed: fewer PEs or fewer processes on each")
    return Space(model, tuple(named), tuple(model.kinds.index(name) for name in kinds), limits)


def processes(allocations: Allocations) -> list[int]:
    """P of each."""
    return [int(found) for found in processes_of(allocations)]
