"""The exact search for process counts: every configuration of some kinds by a fitted model and memory, the best first.

By the model a run takes as long as the slowest of its kinds, and a kind's time follows from N, P and the processes on
each of its PEs. So configurations with the same processes on each PE of each kind and the same P are a class that takes
one time. There are few classes, however many PEs there are: all are looked at, and of each it is counted, without
listing them, how many configurations it has.
"""

import heapq
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby, islice

import numpy as np
from numpy.typing import NDArray

from advisor.advise.kinds import Kind
from simulator import ApportionError, ScenarioError, expanded, formula, ties, units
from simulator.models import ProcessCountModel

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Allocations = Ints
"""(allocation, kind, 2): PEs that take part, and processes on each of them; both 0 for a kind that takes no part."""
Configuration = tuple[tuple[int, int], ...]
"""One of them."""

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

    Raises ScenarioError for every part that is none, and for a kind that is named twice.
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


# The search.

MOST_NUMBERS = 5_000_000
"""Of a model's tables: kinds times processes on a PE times processes in all."""
MOST_CLASSES, MOST_CONFIGURATIONS = 20_000_000, 2**62
"""That are looked at, and that can be counted."""


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

    @cached_property
    def ways(self) -> Ints:
        """How many configurations there are of each class; (processes on each PE of the first kind, ..., P)."""
        found = np.zeros(self.most_processes + 1, dtype=np.int64)
        found[0] = 1
        for kind in self.kinds:
            joined = [_joined(found, each, kind.count) for each in range(1, kind.most + 1)]
            found = np.stack([found, *joined], axis=-2)
        return found

    def at(self, size: float) -> "SpaceAt":
        """The same at one size; what memory does not hold takes for ever."""
        most = [1] * len(self.model.kinds)
        for place, kind in zip(self.places, self.kinds, strict=True):
            most[place] = kind.most
        tables = self.model.tables(size, most, self.most_processes)
        needed, longest = self.footprints_bytes(size), np.zeros(self.most_processes + 1)
        for place, kind in zip(self.places, self.kinds, strict=True):
            times_s = tables.pe_s[place, : kind.most]
            if needed is not None and self.limits is not None:
                held = self.limits.memory_bytes.get(kind.name, np.inf)
                times_s = np.where(np.arange(1, kind.most + 1)[:, np.newaxis] * needed > held, np.inf, times_s)
            rows = np.concatenate((np.zeros((1, longest.shape[-1])), times_s))
            longest = np.maximum(longest[..., np.newaxis, :], rows)
        longest = np.where(self.ways > 0, longest, np.inf)
        longest[..., 0] = np.inf
        measured = tables.measured.reshape(-1, len(self.model.kinds), 2)
        mine, rest = measured[:, list(self.places)], np.delete(measured, self.places, axis=1)
        counts = np.array([(kind.count, kind.most) for kind in self.kinds])
        within = np.all(mine <= counts, axis=(1, 2)) & ~np.any(rest, axis=(1, 2))
        own = {as_configuration(one): float(f) for one, f in zip(mine[within], tables.factor[within], strict=True)}
        return SpaceAt(self, size, longest, own)

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

    def of_class(self, each: Sequence[int], processes: int) -> Iterator[Configuration]:
        """The configurations of a class, in order.

        `each`: processes on each PE of the kinds.
        """
        if not each:
            yield ()
            return
        kinds = self.kinds[-len(each) :]
        later = sum(kind.count * own for kind, own in zip(kinds[1:], each[1:], strict=True))
        least = max(1, -((later - processes) // each[0])) if each[0] else 0
        most = min(kinds[0].count, processes // each[0]) if each[0] else 0
        for pes in range(least, most + 1):
            rest = processes - pes * each[0]
            if self.ways[(*[0] * (len(self.kinds) - len(kinds) + 1), *each[1:], rest)]:
                for others in self.of_class(each[1:], rest):
                    yield ((pes, each[0]), *others)


@dataclass(frozen=True)
class SpaceAt:
    """A space at one problem size."""

    space: Space
    size: float
    times_s: Floats
    """Seconds of each class, infinite where there is none or memory does not hold it; see `Space.ways`."""
    own: Mapping[Configuration, float]
    """Measured configurations whose runs say more than the tables, and what their seconds are multiplied with."""

    @property
    def fitting(self) -> int:
        """How many configurations memory holds."""
        return int(self.space.ways[np.isfinite(self.times_s)].sum())

    def best(self, most: int) -> Allocations:
        """Up to `most` of the best configurations, best first; of equals, the first in order (PEs before processes).

        Raises ScenarioError if memory holds none.
        """
        if not np.any(np.isfinite(self.times_s)):
            raise ScenarioError(self._nothing())
        others = (one for one in self._in_order(most + len(self.own)) if one not in self.own)
        found = np.array(sorted([*islice(others, most), *self.own]), dtype=np.int64)
        times_s = self.of(found)
        order = ties.in_order(times_s)
        return found[order[np.isfinite(times_s[order])][:most]]

    def of(self, allocations: Allocations) -> Floats:
        """Point estimates of some configurations, infinite where memory does not hold one; (n,)."""
        processes = allocations.prod(axis=2).sum(axis=1)
        factors = [self.own.get(as_configuration(one), 1.0) for one in allocations]
        return np.asarray(self.times_s[(*allocations[:, :, 1].T, processes)] * factors)

    def _in_order(self, count: int) -> Iterator[Configuration]:
        """At least so many configurations by their class, where there are: the fastest first, equals in order."""
        flat = self.times_s.ravel()
        count = min(count, int(np.isfinite(flat).sum()))
        last_s = np.partition(flat, count - 1)[count - 1]
        near = np.flatnonzero(flat <= last_s * (1 + 2 * ties.SAME))
        levels = ties.levels(flat[near])
        order = np.argsort(levels, kind="stable")
        for _, places in groupby(order.tolist(), key=levels.__getitem__):
            classes = np.array(np.unravel_index(near[list(places)], self.times_s.shape)).T.tolist()
            yield from heapq.merge(*(self.space.of_class(each, processes) for *each, processes in classes))

    def _nothing(self) -> str:
        """Why no configuration is left."""
        needed, limits = self.space.footprints_bytes(self.size), self.space.limits
        if needed is None or limits is None:
            return f"--size {self.size:g}: the model knows no configuration of these kinds; fit it to runs of them"
        least = units.show_size(float(needed[1:].min()))
        held = ", ".join(f"{name} {units.show_size(found)}" for name, found in limits.memory_bytes.items())
        return f"--size {self.size:g}: each process needs at least {least}, which no PE holds ({held})"


def _joined(ways: Ints, each: int, count: int) -> Ints:
    """Ways to have P processes after 1 to `count` PEs of a further kind take part with so many on each; as `ways`."""
    found = np.zeros_like(ways)
    for first in range(min(each, ways.shape[-1])):
        before = np.cumsum(ways[..., first::each], axis=-1)
        column = found[..., first::each]
        column[..., 1:] = before[..., :-1]
        column[..., count + 1 :] -= before[..., : -count - 1]
    return found


def as_configuration(allocation: Ints) -> Configuration:
    """One allocation, (kind, 2), as plain numbers."""
    return tuple((pes, each) for pes, each in allocation.tolist())


def space_of(model: ProcessCountModel, kinds: Kinds, limits: Limits | None = None) -> Space:
    """The space of some kinds.

    Raises ScenarioError if the model does not know a kind, or no kind is given.
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
    numbers = len(model.kinds) * max(kind.most for kind in named) * space.most_processes
    classes = math.prod(1 + kind.most for kind in named) * (space.most_processes + 1)
    if numbers > MOST_NUMBERS:
        estimates = f"{numbers:.3g} estimates for {space.most_processes} processes, more than {MOST_NUMBERS:.3g}"
        raise ScenarioError(f"--kinds: the model would need {estimates}; give fewer PEs or processes on each")
    if classes > MOST_CLASSES or space.most_configurations > MOST_CONFIGURATIONS:
        many = f"{len(named)} kinds have more than {MOST_CLASSES:.3g} classes of configurations, too many to look at"
        raise ScenarioError(f"--kinds: {many}; give fewer kinds, or fewer processes on each")
    return space
