"""The search for process counts: all configurations where they are few, else thinned out and improved kind by kind."""

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simulator import ApportionError, ScenarioError, expanded, formula, ties, units
from simulator.models import ProcessCountModel

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Allocations = NDArray[np.int64]
"""(allocation, kind, 2): PEs that take part, and processes on each of them; both 0 for a kind that takes no part."""
Counts = Mapping[str, Mapping[str, int]]
"""A configuration: per kind, `pes` that take part and `procs` on each of them."""
MOST_CONFIGURATIONS = 10_000
"""More than these are thinned out."""
WORTH, DOUBTED = 0.005, 0.04
"""Shares by which more processes have to be faster to be advised: in any case, and at most where runs cannot tell."""
SURE = 2.0
"""Standard deviations from which the runs tell two configurations apart."""
SAVED = 0.07
"""What the share of processes that is saved may cost in time where runs cannot tell."""
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


def configurations(counts: Sequence[tuple[int, int]], *, most: int = MOST_CONFIGURATIONS) -> tuple[Allocations, float]:
    """Configurations with at least one PE, and how many there are for each of them.

    Where there are too many, PE counts are halved from all of a kind's down to 1; then processes per PE likewise.

    `counts`: PEs of each kind, and most processes on one of them.
    """
    whole = math.prod(pes * each + 1.0 for pes, each in counts) - 1
    every: list[list[tuple[int, int]]] = []
    for pes, processes in ((_all, _all), (_halved, _all), (_halved, _halved), (_ends, _ends)):
        if math.prod(len(pes(count)) * len(processes(own)) + 1.0 for count, own in counts) <= most + 1 or pes is _ends:
            every = [[(0, 0), *itertools.product(pes(count), processes(own))] for count, own in counts]
            break
    found = np.array(list(itertools.islice(itertools.product(*every), 1, most + 1)), dtype=np.int64)
    return found, whole / len(found)


def _all(count: int) -> range:
    return range(1, count + 1)


def _halved(count: int) -> list[int]:
    return sorted({max(1, count // 2**step) for step in range(count.bit_length())})


def _ends(count: int) -> list[int]:
    return sorted({1, count})


@dataclass(frozen=True)
class Space:
    """What may be used, and the model that judges it, at one problem size."""

    model: ProcessCountModel
    kinds: Kinds
    size: float
    limits: Limits | None = None

    def __post_init__(self) -> None:
        unknown = [name for name in self.kinds if name not in self.model.kinds]
        if unknown or not self.kinds:
            known = ", ".join(self.model.kinds)
            faults = [f"--kinds: the model has no runs of kind {name}; it has runs of {known}" for name in unknown]
            raise ScenarioError(faults or "--kinds names no kind; name at least one")

    @property
    def count(self) -> int:
        """How many configurations there are, whatever memory allows."""
        return math.prod(1 + pes * most for pes, most in self.kinds.values()) - 1

    def wide(self, allocations: Allocations) -> Allocations:
        """The same over all kinds of the model."""
        found = np.zeros((allocations.shape[0], len(self.model.kinds), 2), dtype=np.int64)
        found[:, [self.model.kinds.index(name) for name in self.kinds]] = allocations
        return found

    def held(self, allocations: Allocations) -> Flags:
        """Which of them memory holds."""
        if self.limits is None:
            return np.ones(len(allocations), np.bool_)
        needed = allocations[:, :, 1] * self._footprints_bytes(self.limits.footprint, allocations)[:, None]
        memory = [self.limits.memory_bytes.get(name, np.inf) for name in self.kinds]
        return np.asarray(np.all(needed <= np.array(memory), axis=1))

    def _footprints_bytes(self, footprint: str, allocations: Allocations) -> Floats:
        """Of one process of each configuration; (n,)."""
        parsed = formula.parse(footprint, names=("N", "P"), place="--footprint")
        processes = processes_of(allocations).astype(np.float64)
        try:
            found = parsed.evaluate({"N": np.full_like(processes, self.size), "P": processes})
        except ApportionError as error:
            raise ScenarioError([f"--footprint: {line.removeprefix('formula: ')}" for line in error.lines]) from error
        if np.any(found < 0):
            least = f"{np.min(found):.3g} bytes at N = {self.size:g}"
            raise ScenarioError(f"--footprint is {least}; give a formula of at least 0")
        return np.broadcast_to(found, processes.shape)

    @property
    def every(self) -> tuple[Allocations, bool]:
        """Configurations, whatever memory allows, and whether these are all."""
        found, _ = configurations(list(self.kinds.values()))
        return found, len(found) == self.count

    def looked_at(self) -> Allocations:
        """All configurations that memory holds; where there are too many, some, among them the best that was found."""
        every, complete = self.every
        found = every[self.held(every)]
        if not len(found) and self.limits is not None:
            raise ScenarioError(self._nothing(self.limits, every))
        best = None
        while not complete:
            behind, _ = self.model.behind(self.size, self.wide(found))
            if best is not None and np.array_equal(found[ties.first_least(behind, floor=ties.SAME)], best):
                break
            found = found[ties.in_order(behind, floor=ties.SAME)[:MOST_CONFIGURATIONS]]
            best = found[0]
            others = np.concatenate([self._with_other(best, place) for place in range(len(self.kinds))])
            found = np.unique(np.concatenate((found, others[self.held(others)])), axis=0)
        return found

    def _with_other(self, allocation: Allocations, place: int) -> Allocations:
        """One configuration with all, or nearby and thinned, PEs and processes of one kind."""
        pes, most = list(self.kinds.values())[place]
        own = [(0, 0), *itertools.product(_near(pes, allocation[place, 0]), _near(most, allocation[place, 1]))]
        found = np.repeat(allocation[None], len(own), axis=0)
        found[:, place] = own
        return found[processes_of(found) > 0]

    def _nothing(self, limits: Limits, every: Allocations) -> str:
        least = units.show_size(float(self._footprints_bytes(limits.footprint, every).min()))
        held = ", ".join(f"{name} {units.show_size(bound)}" for name, bound in limits.memory_bytes.items())
        return f"--size {self.size:g}: each process needs at least {least}, which no PE holds ({held})"


def _near(most: int, here: int) -> list[int]:
    """Up to a few hundred numbers from 1 to the most, all around one of them."""
    around = range(max(1, here - 50), min(most, here + 50) + 1)
    return sorted({*around, *_halved(most), *range(1, most + 1, max(1, most // 100))})


def processes_of(allocations: Allocations) -> Allocations:
    """Processes of each configuration; (n,)."""
    return np.asarray(allocations.prod(axis=2).sum(axis=1))


def configuration_dict(allocation: Allocations, kinds: Sequence[str], known: Sequence[str] = ()) -> Counts:
    """A configuration of kinds; known kinds that are not among these take no part."""
    found = {
        name: {"pes": int(pes), "procs": int(each)}
        for name, (pes, each) in zip(kinds, allocation.tolist(), strict=True)
    }
    return found | {name: {"pes": 0, "procs": 0} for name in known if name not in found}


def fewest_of_near(behind: Floats, sd: Floats, processes: Allocations) -> int:
    """The place of the advised one: of those that the runs cannot tell from the best, the fewest processes.

    `behind`, `sd`: see `ProcessCountModel.behind`.
    """
    saved = 1 - processes / processes[ties.first_least(behind, floor=ties.SAME)]
    may = np.clip(np.minimum(SURE * sd, SAVED * saved), WORTH, DOUBTED)
    near = np.flatnonzero(behind <= np.log1p(may))
    return int(near[ties.in_order(processes[near], behind[near], floor=ties.SAME)[0]])


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
