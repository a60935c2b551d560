"""Construction plans: the few runs that tell most about the sizes asked about, their cost, and their files."""

import itertools
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from simulator.base import files, ties
from simulator.base.arrays import Floats, Ints
from simulator.base.documents import Record, at, read_format
from simulator.base.errors import ScenarioError, meant
from simulator.base.formula import Formula, parse
from simulator.platform.nodes import PE, Platform

MOST_DEFAULT = 4
"""Most processes per PE that are looked at where nobody says."""
_PLAIN = re.compile(r"[^A-Za-z0-9_-]+")
ASSUMED_SPEED = 1e9
"""Units per second of a kind whose speed nobody knows, until a pilot run tells."""
_PER_SQUARE = 500.0
"""Units of volume per N^2 besides the work proper: panels and row swaps, at about their cost in real HPL runs."""
_CROWDED = 0.2
"""How much of its computation several processes on a PE may lose or win, as far as one knows before."""
_SLICE_S, _WAITS = 1e-3, 1 / 64
"""What a process waits where another one has its PE, and how often that happens per row of the matrix."""
FORMAT = 2
KIND, WRITER = "allocation plan", "allocate plan"
PILOT = "pilot"
"""What the reasons of the first runs begin with."""
Allocation = tuple[tuple[int, int], ...]
"""PEs that take part and processes on each of them, by kind; both 0 for a kind that does not take part."""


@dataclass(frozen=True)
class PlacedPE:
    """One PE of a kind, and how launchers reach it."""

    name: str
    node: str
    host: str
    cpu: int | None = None
    """The logical processor that it stands for, where it is known."""


@dataclass(frozen=True)
class PEKind:
    """PEs that are alike."""

    name: str
    pes: tuple[PlacedPE, ...]
    most: int
    speed: float | None = None
    """Units of volume per second of one core, for the guess of costs; None: nobody knows."""
    cores: int = 1
    competitors: float = 0.0
    steady: bool = True
    """Whether these are always as many, a whole number: what can be made real by busy loops."""


def kinds_of(platform: Platform, *, kernel: str | None, size: float, most: Mapping[str, int]) -> tuple[PEKind, ...]:
    """The kinds of a platform, in the order of their first PEs.

    PEs are alike if their speeds, cores and loads are, and the memory of their nodes. A kind is named after what the
    names of its PEs have in common: `fast[01-08]` gives `fast`.

    `kernel`: whose speeds the guess takes; by default dgemm's, or those of the first kernel that a PE has.
    `size`: problem size, elements, at which speeds are taken.
    `most`: most processes per PE by kind; by default as many as the kind is faster than the slowest, at least 2 and at
    most `MOST_DEFAULT`, and as many as it has cores.
    """
    nodes = {node.name: node for node in platform.known_nodes}
    groups: dict[tuple[Any, ...], list[PE]] = {}
    for pe in platform.pes:
        groups.setdefault((_alike(pe), nodes[pe.node].memory_bytes), []).append(pe)
    speeds = [_speed(pes[0], kernel, size) for pes in groups.values()]
    names = _names(list(groups.values()))
    if unknown := [name for name in most if name not in names]:
        raise ScenarioError(
            f"--most: {unknown[0]!r} is no kind of PEs; name one of {', '.join(names)}{meant(unknown[0], names)}"
        )
    shares = [
        None if speed is None else speed / (1 + _competitors(pes[0]))
        for speed, pes in zip(speeds, groups.values(), strict=True)
    ]
    slowest = min((share for share in shares if share is not None), default=1.0)
    kinds = []
    for name, pes, speed, share in zip(names, groups.values(), speeds, shares, strict=True):
        ratio = 1 if share is None else min(MOST_DEFAULT, math.ceil(share / slowest))
        placed = tuple(PlacedPE(pe.name, pe.node, nodes[pe.node].host or pe.node, pe.cpu) for pe in pes)
        own = most.get(name, max(2, ratio, pes[0].cores))
        count = _competitors(pes[0])
        kinds.append(PEKind(name, placed, own, speed, pes[0].cores, count, steady=_steady(pes[0])))
    return tuple(kinds)


def _alike(pe: PE) -> tuple[Any, ...]:
    speeds = tuple((name, band.sizes.tobytes(), band.mid.tobytes()) for name, band in sorted(pe.speeds.items()))
    load = pe.load and (pe.load.trace.times_s.tobytes(), pe.load.trace.values.tobytes(), pe.load.rule)
    return speeds, load, pe.cores


def _speed(pe: PE, kernel: str | None, size: float) -> float | None:
    wanted = kernel or ("dgemm" if "dgemm" in pe.speeds else next(iter(pe.speeds), None))
    if wanted is None or wanted not in pe.speeds:
        return None
    return float(pe.speeds[wanted].cut(size).mid) or None


def _competitors(pe: PE) -> float:
    """Mean load, also where a trace says what share is left."""
    if pe.load is None:
        return 0.0
    mean = pe.load.trace.mean()
    return mean if pe.load.rule != "given" else max(0.0, 1 / max(mean, 1e-3) - 1)


def _steady(pe: PE) -> bool:
    if pe.load is None:
        return True
    values = pe.load.trace.values
    return pe.load.rule == "fair" and bool(np.all(values == values[0]) and values[0] == np.rint(values[0]))


def _names(groups: Sequence[Sequence[PE]]) -> list[str]:
    """A short name for each group, none twice."""
    found: list[str] = []
    for pes in groups:
        columns = itertools.takewhile(lambda column: len(set(column)) == 1, zip(*(pe.name for pe in pes), strict=False))
        common = "".join(column[0] for column in columns)
        name = _PLAIN.sub("-", common if len(pes) == 1 else common.rstrip("0123456789")).strip("-_")
        if not name or name in found:
            name = _PLAIN.sub("-", pes[0].name).strip("-_") or f"kind{len(found) + 1}"
        while name in found:
            name += "x"
        found.append(name)
    return found


# A guess of what runs of a process-count program take, by cost terms: to choose and to price runs before any is
# made.
#
# Every process has the same part of the work. A process on a PE with m of them and l competitors has `min(1, c /
# (l+m))` of a core (DESIGN, CPU semantics); a run lasts as long as its slowest kind and the communication. The
# guess is only as good as the speeds; measured times correct it (`campaign.expected_s`).


@dataclass(frozen=True)
class CostGuess:
    """What is known of costs before any run."""

    kinds: tuple[PEKind, ...]
    work: Formula
    """Units of volume of a whole run, over N."""
    latency_s: float
    byte_s: float

    def time_s(self, size: Floats, allocations: Ints) -> Floats:
        """Seconds of runs; (runs,); sizes (runs,), PEs and processes on each (runs, kind, 2)."""
        own, processes = self._of_kinds(size, allocations), allocations.prod(axis=2).sum(axis=1)
        together = processes > 1
        messages = 4 * size**2 * self.byte_s + _WAITS * size * processes * self.latency_s
        slowest = self.slowest(size, allocations)
        m = allocations[np.arange(size.size), slowest, 1]
        work = np.take_along_axis(own[0], slowest[:, np.newaxis], 1)[:, 0]
        squares = np.take_along_axis(own[1], slowest[:, np.newaxis], 1)[:, 0]
        crowd = np.where(m > 1, _CROWDED * work + _SLICE_S * _WAITS * size, 0.0)
        return np.asarray(work + squares + crowd + np.where(together, messages, 0.0) + 1e-3)

    def slowest(self, size: Floats, allocations: Ints) -> Ints:
        """The kind that computes longest in each run; (runs,)."""
        own_s = self._of_kinds(size, allocations).sum(axis=0)
        return np.asarray(np.argmax(ties.near_least(-own_s, axis=1), axis=1))

    def _of_kinds(self, size: Floats, allocations: Ints) -> Floats:
        """Seconds of the work and of what grows with N^2 only, by kind; (2, runs, kind)."""
        work = np.broadcast_to(self.work.evaluate({"N": size}), size.shape) / allocations.prod(axis=2).sum(axis=1)
        m, size = allocations[:, :, 1], size[:, np.newaxis]
        kinds = self.kinds
        speed = np.array([kind.speed or ASSUMED_SPEED for kind in kinds])
        cores, competitors = (np.array([getattr(kind, name) for kind in kinds]) for name in ("cores", "competitors"))
        rate = speed * np.minimum(1.0, cores / np.maximum(1.0, competitors + m))
        return np.where(m > 0, np.stack((work[:, np.newaxis] / rate, _PER_SQUARE * size**2 / rate)), 0.0)


def as_arrays(runs: Sequence[tuple[float, tuple[tuple[int, int], ...]]]) -> tuple[Floats, Ints]:
    """Sizes and allocations of runs as arrays; see `CostGuess.time_s`."""
    return np.array([size for size, _ in runs], dtype=np.float64), np.array([a for _, a in runs], dtype=np.int64)


@dataclass(frozen=True)
class PlannedRun:
    """One run, and how often it is made."""

    size: float
    allocation: Allocation
    repetitions: int
    expected_s: float
    why: str
    reserve: bool = False
    """Beyond the budget as costs are guessed; made if they prove lower."""

    def __post_init__(self) -> None:
        if not (self.size > 0 and self.repetitions > 0 and self.expected_s > 0 and self.processes > 0):
            raise ScenarioError("a run has no size, processes, repetitions or cost; give all above 0")
        if any((pes > 0) != (procs > 0) or min(pes, procs) < 0 for pes, procs in self.allocation):
            raise ScenarioError("a kind has PEs without processes, or processes without PEs; give both or neither")

    @property
    def processes(self) -> int:
        """P."""
        return sum(pes * procs for pes, procs in self.allocation)

    @property
    def is_pilot(self) -> bool:
        """Whether it is the first look at a kind."""
        return self.why.startswith(PILOT)

    @property
    def key(self) -> tuple[float, Allocation]:
        """What repetitions share."""
        return self.size, self.allocation


@dataclass(frozen=True)
class ConstructionPlan(Record):
    """Runs in order of their use: those that teach most for their price come first."""

    kinds: tuple[PEKind, ...]
    work: str
    latency_s: float
    byte_s: float
    """These four: see `CostGuess`."""
    sizes: tuple[float, ...]
    at: tuple[float, ...]
    budget_s: float
    start_s: float
    """Seconds until the processes of a run have started."""
    full_s: float
    """What running every configuration once at the sizes `at` would take."""
    seed: int
    runs: tuple[PlannedRun, ...]
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not (self.runs and self.kinds and self.budget_s > 0 and self.full_s > 0):
            raise ScenarioError(f"this plan has no runs, no kinds or no budget; make it again with `{WRITER}`")
        with at("work"):
            parse(self.work)
        for number, run in enumerate(self.runs):
            with at("runs", str(number)):
                self._check(run.allocation)

    def _check(self, allocation: Allocation) -> None:
        if len(allocation) != len(self.kinds):
            raise ScenarioError(f"there are {len(allocation)} pairs of PEs and processes; give one for each kind")
        for kind, (pes, procs) in zip(self.kinds, allocation, strict=True):
            if pes > len(kind.pes) or procs > np.iinfo(np.int32).max:
                raise ScenarioError(f"{kind.name} has {pes} x {procs}; give at most {len(kind.pes)} PEs")

    @cached_property
    def guess(self) -> CostGuess:
        """What is known of costs before any run."""
        return CostGuess(self.kinds, parse(self.work), self.latency_s, self.byte_s)

    @property
    def expected_s(self) -> float:
        """Seconds of all runs within the budget."""
        return sum(run.repetitions * run.expected_s for run in self.runs if not run.reserve)

    def label(self, size: float, allocation: Allocation) -> str:
        """A run in words: `N 800, fast 1 x 2, slow 3 x 1`."""
        parts = [
            f"{kind.name} {pes} x {procs}" for kind, (pes, procs) in zip(self.kinds, allocation, strict=True) if pes
        ]
        return f"N {size:g}, {', '.join(parts)}"

    @property
    def kinds_option(self) -> str:
        """The kinds as `allocate advise --kinds` takes them."""
        return ",".join(f"{kind.name}:{len(kind.pes)}:{kind.most}" for kind in self.kinds)

    def to_dict(self) -> dict[str, object]:
        """Plain data for JSON, with what the runs take; allocations have PEs and processes of each kind, in order."""
        taken = {"expected_s": self.expected_s, "share_of_full": self.expected_s / self.full_s}
        return {"format": FORMAT, "kind": KIND, **super().to_dict(), **taken}


def read_plan(path: str | Path) -> ConstructionPlan:
    """Read the file of a plan."""
    document = files.read_json(Path(path))
    if not isinstance(document, dict) or document.get("kind") != KIND:
        raise ScenarioError(f"{path}: this is no allocation plan; name a file of `{WRITER} -o`")
    said = {name: value for name, value in document.items() if name not in {"expected_s", "share_of_full"}}
    return read_format(ConstructionPlan, said, path, newest=FORMAT, writer=WRITER)
