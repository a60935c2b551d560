"""All configurations of some kinds at any problem size, with what a fitted model and memory say of them."""

import contextlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from advisor.advise.allocate import branch_and_bound, ranked
from advisor.advise.allocate.exhaustive import MOST, all_times_s, combined, offers, places_of
from advisor.advise.candidates import distinct, neighbours, threshold_candidates
from advisor.advise.problem import Allocations, Floats, Kind, Problem, ShareTimes, model_times_s, processes_of
from simulator import ApportionError, ScenarioError, expanded, formula, ties, units
from simulator.models import ProcessCountModel, ShareTables

# What may be used, as options say it: kinds with their PEs and most processes, memory, and hosts.

MOST_PES = 100_000
"""PEs of a kind, or processes on one of them."""
MOST_FAULTS = 20
Kinds = Mapping[str, tuple[int, int]]
"""Name -> how many PEs there are, and most processes on one of them."""


@dataclass(frozen=True)
class Limits:
    """What memory allows."""

    memory_bytes: Mapping[str, float]
    """Of a PE of that kind; kinds that are not named have enough."""
    footprint: str
    """Bytes of one process: a formula of N (problem size) and P (processes in all)."""


def parse_kinds(text: str) -> dict[str, tuple[int, int]]:
    """`fast:1:4,slow:3:2` as kinds: name, how many PEs, most processes on one.

    Raises
    ------
    ScenarioError
        For every part that is none, and for a kind that is named twice.
    """
    found: dict[str, tuple[int, int]] = {}
    faults = []
    for part in text.split(","):
        name, *numbers = part.strip().split(":")
        whole = [int(number) if number.isascii() and number.isdecimal() else 0 for number in numbers]
        if not name or len(whole) != 2 or not all(1 <= number <= MOST_PES for number in whole):
            wanted = f"give NAME:PES:MOST with whole numbers from 1 to {MOST_PES} (PEs, and processes on each)"
            faults.append(f"--kinds: {part.strip()!r} is no kind; {wanted}")
        elif name in found:
            faults.append(f"--kinds names {name} twice; name it once")
        else:
            found[name] = whole[0], whole[1]
    if faults:
        raise ScenarioError(faults[:MOST_FAULTS])
    return found


def parse_memory(texts: list[str], kinds: Kinds) -> dict[str, float]:
    """`fast=4GiB` as bytes by kind; see `parse_kinds` for errors."""
    found: dict[str, float] = {}

    def add(name: str, size: str) -> None:
        found[name] = units.parse(size, units.SIZE, field=f"--memory: {name}")
        if found[name] <= 0:
            raise ScenarioError(f"--memory of {name} is {size!r}; give a size above 0")

    _named(texts, "--memory", kinds, add, example="fast=4GiB", several=False)
    return found


def parse_hosts(texts: list[str], kinds: Kinds) -> dict[str, list[str]]:
    """`fast=node1,slow=node[2-4]` as host names by kind; a name without a kind goes with the kind before it."""
    found: dict[str, list[str]] = {}

    def add(name: str, host: str) -> None:
        found.setdefault(name, []).extend(expanded(host))

    _named(texts, "--hosts", kinds, add, example="slow=node[2-4]", several=True)
    return found


def _named(
    texts: list[str], option: str, kinds: Kinds, add: Callable[[str, str], None], *, example: str, several: bool
) -> None:
    """Take apart `KIND=VALUE,...`, given once or repeated; with `several`, `VALUE` alone goes with the kind before."""
    faults: list[str] = []
    seen: set[str] = set()
    for text in texts:
        name = ""
        for part in text.split(","):
            before, mark, value = part.strip().partition("=")
            if not mark:
                before, value = (name, part.strip()) if several else ("", "")
            name = before
            if not (name and value):
                faults.append(f"{option}: {part.strip()!r} has no kind and value; give both, such as {example}")
            elif name not in kinds:
                faults.append(f"{option}: {name!r} is none of the kinds {', '.join(kinds)}")
            elif mark and not several and name in seen:
                faults.append(f"{option} names {name} twice; name it once")
            else:
                seen.add(name)
                try:
                    add(name, value)
                except ScenarioError as error:
                    faults += [line if line.startswith(option) else f"{option}: {line}" for line in error.lines]
    if faults:
        raise ScenarioError(faults[:MOST_FAULTS])


# All configurations of some kinds at any problem size, with what a fitted model and memory say of them.

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

    @property
    def table_size(self) -> int:
        """Estimates in the model's tables."""
        return len(self.model.kinds) * max(kind.most for kind in self.kinds) * self.most_processes

    def at(self, size: float) -> "SpaceAt":
        """The same at one size, by the model's tables; what memory does not hold takes for ever."""
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
                pe_s[place][each * needed > self.limits.memory_bytes.get(kind.name, np.inf)] = np.inf
        model = ShareTimes(pe_s, tables.comm_s)
        return SpaceAt(self, size, model, Problem.of_model(self.kinds, model), *self._own(tables))

    def _own(self, tables: ShareTables) -> tuple[Allocations, Floats]:
        """Those of the measured configurations that are among ours, and their factors."""
        measured = tables.measured.reshape(-1, len(self.model.kinds), 2)
        mine, rest = measured[:, list(self.places)], np.delete(measured, self.places, axis=1)
        most = np.array([(kind.count, kind.most) for kind in self.kinds])
        within = np.all(mine <= most, axis=(1, 2)) & ~np.any(rest, axis=(1, 2))
        return mine[within], tables.factor[within]

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
            raise ScenarioError(f"--footprint is {found.min():.3g} bytes at N = {size:g}; give a formula of at least 0")
        return found

    def wide(self, allocations: Allocations) -> Allocations:
        """The same over all kinds of the model."""
        found = np.zeros((allocations.shape[0], len(self.model.kinds), 2), dtype=np.int64)
        found[:, list(self.places)] = allocations
        return found

    def every(self) -> Allocations:
        """All configurations."""
        every = [offers(range(1, kind.count + 1), range(1, kind.most + 1)) for kind in self.kinds]
        return combined(every, np.arange(1, self.most_configurations + 1))

    def best_somewhere(self, sizes: Sequence[float], most: int) -> list[Allocations]:
        """Up to `most` of the best at each of some sizes; sizes where nothing is allowed have none."""
        found = []
        for size in sizes:
            with contextlib.suppress(ScenarioError):
                found.append(self.at(size).best(most)[0])
        return found

    def times_s(self, size: float, allocations: Allocations) -> Floats:
        """Point estimates of some allocations at a size, infinite where memory does not hold one; (n,)."""
        if allocations.shape[0] * len(self.kinds) >= self.table_size:
            return self.at(size).times_s(allocations)
        times_s = self.model.estimate(size, self.wide(allocations)).mean_s
        needed = self.footprints_bytes(size)
        if needed is not None and self.limits is not None:
            held = np.array([self.limits.memory_bytes.get(kind.name, np.inf) for kind in self.kinds])
            own = allocations[:, :, 1] * needed[processes_of(allocations)][:, np.newaxis]
            times_s = np.where(np.any(own > held, axis=1), np.inf, times_s)
        return _possible(times_s)


@dataclass(frozen=True)
class SpaceAt:
    """A space at one problem size."""

    space: Space
    size: float
    model: ShareTimes
    """Its tables at this size."""
    problem: Problem
    """By these tables."""
    measured: Allocations
    """Configurations whose own runs say more than the tables; (c, kind, 2)."""
    factor: Floats
    """What their times by the tables are multiplied with; (c,)."""

    def best(self, most: int) -> tuple[Allocations, str]:
        """Up to `most` of the best allocations, best first, and the allocator that found them.

        Raises
        ------
        ScenarioError
            If nothing is allowed, or the model is too large for any allocator.
        """
        if self.problem.size <= MOST:
            times_s = self._all_s.copy()
            times_s[places_of(self.problem, self.measured)] *= self.factor
            times_s = _possible(times_s)
            if not np.any(np.isfinite(times_s)):
                raise ScenarioError(self._nothing())
            return ranked(self.problem, most=most, times_s=times_s)[1], "exhaustive"
        if not np.any(np.isfinite(self.model.pe_s)):
            raise ScenarioError(self._nothing())
        found = branch_and_bound(self.problem).allocation
        near = [found[np.newaxis], self.measured, threshold_candidates(self.problem)]
        near += [neighbours(self.problem, found, step) for step in STEPS]
        some = distinct(np.concatenate(near))
        times_s = self.times_s(some)
        order = ties.in_order(times_s)[: min(most, int(np.sum(np.isfinite(times_s))))]
        return some[order], "branch_and_bound"

    def times_s(self, allocations: Allocations) -> Floats:
        """Point estimates of some allocations; (n,)."""
        times_s = model_times_s(self.model, allocations)
        if len(self.measured):
            own = places_of(self.problem, self.measured)
            order = np.argsort(own, kind="stable")
            places = places_of(self.problem, allocations)
            at = order[np.minimum(np.searchsorted(own[order], places), own.size - 1)]
            times_s[own[at] == places] *= self.factor[at][own[at] == places]
        return _possible(times_s)

    def fitting(self) -> int | None:
        """How many configurations memory holds, None without limits or where they are too many to count."""
        if self.space.limits is None or self.problem.size > MOST:
            return None
        return int(np.count_nonzero(np.isfinite(self._all_s)))

    def impossible(self) -> int:
        """How many configurations the model gives a time of 0 and less; not counted where they are too many."""
        if self.problem.size > MOST:
            return 0
        return int(np.count_nonzero(self._all_s <= 0))

    @cached_property
    def _all_s(self) -> Floats:
        """By the tables, of every configuration, in the order of `all_allocations`."""
        return all_times_s(self.problem)

    def _nothing(self) -> str:
        """Why no configuration is left."""
        needed, limits = self.space.footprints_bytes(self.size), self.space.limits
        if needed is None or limits is None:
            return f"--size {self.size:g}: the model knows no configuration of these kinds; fit it to runs of them"
        least = units.show_size(float(needed[1:].min()))
        held = ", ".join(f"{name} {units.show_size(found)}" for name, found in limits.memory_bytes.items())
        return f"--size {self.size:g}: each process needs at least {least}, which no PE holds ({held})"


def _possible(times_s: Floats) -> Floats:
    """Estimates of 0 and less, which separate cubics give, are none."""
    return np.where(times_s > 0, times_s, np.inf)


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
        raise ScenarioError(
            [f"--kinds: the model has no runs of kind {name}; it has runs of {known}" for name in unknown]
        )
    if not kinds:
        raise ScenarioError("--kinds names no kind; name at least one")
    named, first = [], 0
    for name, (count, most) in kinds.items():
        named.append(Kind(name, tuple(range(first, first + count)), most))
        first += count
    space = Space(model, tuple(named), tuple(model.kinds.index(name) for name in kinds), limits)
    if space.table_size > MOST_NUMBERS:
        estimates = (
            f"{space.table_size:.3g} estimates for {space.most_processes} processes, more than {MOST_NUMBERS:.3g}"
        )
        raise ScenarioError(f"--kinds: the model would need {estimates}; give fewer PEs or processes on each")
    return space
