"""From times together over times alone to sharing domains and uses: which domains can be shown, and their numbers.

What is measured is one computation alone and, right after or before, next to others: the ratio of the two times. Cores
and clocks come from computations that touch no memory; memory and caches from one joint least-squares fit of demands
and sensitivities (`models.neighbours` has the laws), in which memory demand is counted as `triad` reads and writes its
operands. A domain that explains nothing beyond what the visits scatter is not one: the model says up to which effect.
"""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from simulator.base import ties
from simulator.base.arrays import Floats
from simulator.models.neighbours import (
    BUSY,
    MOST_SOFTNESS,
    NO_USE,
    Bandwidth,
    KernelUses,
    Kind,
    Occupancy,
    ShareTable,
    SharingDomain,
    Use,
)

COMPUTES, STREAMS = "integration", "triad"
"""Probes: one that stores nothing, and one whose bytes per second are what memory demand is counted in."""
PROBES = (COMPUTES, STREAMS)
LEAST_EFFECT = 0.02
"""Smaller effects are not modelled."""
WEAK = 0.05
"""Domains of memory and caches whose probes lose less have to show on cells held out that they are worth having."""
SURE = 3.0
"""An effect counts if it is so many standard errors of a cell's ratio."""
SIBLINGS = 1.15
"""Two probes that compute only, slower next to each other by this much and by more than others: threads of one core."""
_LEAST_ERROR = 0.005
_ASSUMED_SPREAD = 0.03
"""Of ratios where no cell was visited twice."""
_SOFTNESSES = (4.0, 2.0, 8.0, 1.0, 16.0)
_PARTS = (1.0, 0.5, 0.25, 0.125, 1 / 16, 1 / 32)
"""Of a cache's reported capacity: what a virtual machine reports may be another's."""
_PENALTY = 4.0
"""Per number that a fit needs, in squared standard errors."""
_MOST_CAPACITY = 1000.0
_FOLDS = 5


@dataclass(frozen=True, order=True)
class Computation:
    """A kernel, or a command, at a problem size."""

    kernel: str
    size: float

    @property
    def label(self) -> str:
        """`KERNEL:SIZE`."""
        return f"{self.kernel}:{self.size:g}"


@dataclass(frozen=True)
class Together:
    """One visit: a computation alone, and together with others from its begin to its end."""

    subject: Computation
    neighbours: tuple[Computation, ...]
    lone_s: float
    together_s: float
    number: int = 0
    pes: tuple[int, ...] = ()
    """Where, among the PEs of the node, the subject first; `()`: on the first ones."""


@dataclass(frozen=True)
class Cell:
    """All visits to the same computations together."""

    subject: Computation
    neighbours: tuple[Computation, ...]
    pes: tuple[int, ...]
    ratios: Floats
    """Time together over time alone of each visit; (visits,)."""
    lone_s: float
    spread: float
    """Of the logarithm of a visit's ratio, a standard deviation."""

    @property
    def ratio(self) -> float:
        """The median."""
        return float(np.median(self.ratios))

    @property
    def error(self) -> float:
        """Standard error of the logarithm of the median."""
        return float(max(_LEAST_ERROR, 1.2533 * self.spread / np.sqrt(self.ratios.size)))

    @property
    def twice(self) -> float | None:
        """How far the medians of its first and second half of visits are apart, as a share; None with one visit."""
        half = self.ratios.size // 2
        first, second = self.ratios[:half], self.ratios[half:]
        return None if not half else float(abs(np.median(first) / np.median(second) - 1))

    @property
    def is_copies(self) -> bool:
        """Whether all compute the same."""
        return all(neighbour == self.subject for neighbour in self.neighbours)

    @property
    def entry(self) -> "CellEntry":
        """As a file says it."""
        beside, visits = tuple(neighbour.label for neighbour in self.neighbours), int(self.ratios.size)
        subject, times = self.subject, (self.lone_s, self.ratio, self.error)
        return CellEntry(subject.kernel, subject.size, beside, self.pes, *times, visits)


@dataclass(frozen=True)
class CellEntry:
    """Visits to the same computations, as a file says them."""

    subject: str
    size_elements: float
    beside: tuple[str, ...]
    """`KERNEL:SIZE` of each neighbour."""
    pes: tuple[int, ...]
    lone_s: float
    """Of one run without neighbours."""
    ratio: float
    """Time together over time alone."""
    error: float
    visits: int


@dataclass(frozen=True)
class Proposed:
    """PEs that may share something, as a machine reports it; whether they do is what measuring finds."""

    kind: Kind
    level: str
    pes: tuple[int, ...]
    capacity: float | None = None


@dataclass(frozen=True)
class Found:
    """What a fit found."""

    domains: tuple[SharingDomain, ...]
    demands: Mapping[str, Floats]
    """By level, of `Fit.items`; memory in bytes per second, caches in bytes."""
    sensitivities: Mapping[str, Floats]
    items: tuple[Computation, ...]
    beyond: Mapping[str, float]
    """Level without a domain -> the effect up to which that was looked at, as a share of time; infinite: not at all."""
    notes: tuple[str, ...] = ()
    structure: "Structure | None" = None
    evidence: float = 0.0
    """The largest effect on probes of memory or caches, logarithmic."""

    @property
    def without(self) -> "Structure":
        """No domain of memory or caches."""
        return Structure(())


def cells_of(visits: Sequence[Together]) -> tuple[Cell, ...]:
    """Visits to the same computations on PEs that are used alike, together, in the order of the first visit.

    A cell's scatter is its own and that of all cells, whichever is larger: a few visits may agree by chance.
    """
    seen: dict[object, list[Together]] = {}
    for visit in visits:
        pes = visit.pes or tuple(range(1 + len(visit.neighbours)))
        seen.setdefault((visit.subject, tuple(sorted(visit.neighbours)), tuple(sorted(pes))), []).append(visit)
    logs = [np.array([np.log(visit.together_s / visit.lone_s) for visit in row]) for row in seen.values()]
    scatters = [_scatter(row) for row in logs]
    known = [scatter for row, scatter in zip(logs, scatters, strict=True) if row.size >= 2]
    whole = float(np.median(known)) if known else _ASSUMED_SPREAD
    found = []
    for (row, ratios), scatter in zip(zip(seen.values(), logs, strict=True), scatters, strict=True):
        own = max(whole, scatter if ratios.size >= 3 else 0.0)
        lone = float(np.median([visit.lone_s for visit in row]))
        first, pes = row[0], row[0].pes or tuple(range(1 + len(row[0].neighbours)))
        neighbours, places = (
            zip(*sorted(zip(first.neighbours, pes[1:], strict=True)), strict=True) if first.neighbours else ((), ())
        )
        found.append(Cell(first.subject, neighbours, (pes[0], *places), np.exp(ratios), lone, own))
    return tuple(found)


def _scatter(logs: Floats) -> float:
    """A standard deviation whose median over cells is the true one (Wilson and Hilferty); (visits,) -> number."""
    free = logs.size - 1
    return float(np.std(logs, ddof=1) / (1 - 2 / (9 * free)) ** 1.5) if free else 0.0


def fit_cells(
    cells: Sequence[Cell],
    proposed: Sequence[Proposed],
    *,
    footprints: Mapping[Computation, float] | None = None,
    structure: "Structure | None" = None,
) -> Found:
    """Find domains, demands and sensitivities.

    `footprints`: bytes of computations that do not store 8 for each element.
    """
    items = tuple(sorted({computation for cell in cells for computation in (cell.subject, *cell.neighbours)}))
    stores = footprints or {}
    held = np.array([stores.get(item, 0.0 if item.kernel == COMPUTES else 8 * item.size) for item in items])
    cores, clock, beyond, notes = _computing(cells, proposed)
    kept = np.array([_kept_computing(cell, (*cores, *clock)) for cell in cells])
    problem = Problem(tuple(cells), items, held, -np.log(kept), tuple(proposed))
    best = _chosen(problem) if structure is None else _solved(problem, structure)
    domains = [*cores, *best.domains(), *clock]
    unseen = problem.resolution(best)
    order = {"core": 0, "cache": 1, "memory": 2, "clock": 3}
    return Found(
        tuple(sorted(domains, key=lambda domain: (order[domain.kind], domain.level, domain.pes))),
        best.demands(),
        best.sensitivities(),
        items,
        beyond | unseen,
        (*notes, *best.notes),
        best.structure,
        max((problem.evidence(level) for level in best.structure.levels), default=0.0),
    )


# Cores and clocks: tables of shares.


def _computing(
    cells: Sequence[Cell], proposed: Sequence[Proposed]
) -> tuple[list[SharingDomain], list[SharingDomain], dict[str, float], list[str]]:
    """Domains of siblings and of clocks, and what was not found, from computations that touch no memory."""
    probes = [cell for cell in cells if cell.subject.kernel == COMPUTES and cell.is_copies]
    clocks = [domain for domain in proposed if domain.kind == "clock"]
    if not probes:
        return [], [], {"clock": np.inf} if clocks else {}, []
    pairs = [cell for cell in probes if len(cell.neighbours) == 1]
    usual = min((cell.ratio for cell in pairs), default=1.0) if len(pairs) > 1 else 1.0
    reported = [set(domain.pes) for domain in proposed if domain.kind == "core"]
    close = [
        cell
        for cell in pairs
        if cell.ratio / max(1.0, usual) > max(SIBLINGS, np.exp(SURE * cell.error))
        and (len(pairs) > 1 or any(set(cell.pes) <= group for group in reported))
    ]
    cores, notes = [], []
    for number, group in enumerate(_joined([cell.pes for cell in close])):
        own = [cell for cell in close if set(cell.pes) <= set(group)]
        share = min(1.0, 1 / float(np.median([cell.ratio for cell in own])))
        cores.append(SharingDomain("core", f"core {number + 1}", "core", group, ShareTable((1.0, share))))
        if not any(set(group) <= one for one in reported):
            where = " and ".join(map(str, group))
            notes.append(f"PEs {where} share a core, which the system does not report: each keeps {share:.0%}")
    notes += [
        f"PEs {sorted(pes)} are reported to share a core, but do not slow each other"
        for pes in reported
        if len(pes) > 1 and not any(pes & set(core.pes) for core in cores)
    ]
    with_probes = [cell for cell in cells if all(neighbour.kernel == COMPUTES for neighbour in cell.neighbours)]
    apart = [cell for cell in with_probes if _kept_computing(cell, cores) == 1]
    tables, beyond = _clocks(apart, clocks)
    return cores, tables, beyond, notes


def _joined(pairs: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Groups of places that pairs join."""
    groups: list[set[int]] = []
    for pair in pairs:
        touching = [group for group in groups if group & set(pair)]
        groups = [group for group in groups if group not in touching] + [set(pair).union(*touching)]
    return sorted(tuple(sorted(group)) for group in groups)


def _clocks(cells: Sequence[Cell], clocks: Sequence[Proposed]) -> tuple[list[SharingDomain], dict[str, float]]:
    """A table of shares by how many compute, where the last of them is clearly below 1."""
    found, beyond = [], {}
    for number, proposed in enumerate(clocks):
        inside = [cell for cell in cells if set(cell.pes) <= set(proposed.pes)]
        counts = sorted({len(cell.pes) for cell in inside})
        if not counts:
            beyond["clock"] = np.inf
            continue
        at = {count: [cell for cell in inside if len(cell.pes) == count] for count in counts}
        logs = [float(np.median([np.log(cell.ratio) for cell in at[count]])) for count in counts]
        error = float(np.median([cell.error for cell in at[counts[-1]]]) / np.sqrt(len(at[counts[-1]])))
        error = max(_LEAST_ERROR, error)
        if logs[-1] <= max(LEAST_EFFECT, SURE * error):
            beyond["clock"] = max(LEAST_EFFECT, max(logs[-1], 0.0) + 2 * error)
            continue
        known = np.interp(np.arange(1, counts[-1] + 1), [1, *counts], [0.0, *logs])
        shares = np.minimum.accumulate(np.exp(-np.maximum(known, 0.0)))
        law = ShareTable(tuple(round(float(share), 4) for share in shares))
        name = "clock" if len(clocks) == 1 else f"clock {number + 1}"
        found.append(SharingDomain("clock", name, "clock", proposed.pes, law))
    return found, beyond


def _kept_computing(cell: Cell, domains: Sequence[SharingDomain]) -> float:
    """What a cell's subject keeps by cores and clocks."""
    share = 1.0
    for domain in domains:
        if cell.pes[0] in domain.pes and isinstance(domain.law, ShareTable):
            others = len(set(cell.pes[1:]) & set(domain.pes))
            share *= float(domain.law.shares[min(others, len(domain.law.shares) - 1)])
    return share


# Memory and caches: one joint fit.


@dataclass(frozen=True)
class Structure:
    """Which domains a fit has, and what is not fitted of their laws."""

    levels: tuple[str, ...]
    softness: float = _SOFTNESSES[0]
    parts: Mapping[str, float] = field(default_factory=dict)
    """Cache level -> part of the capacity reported."""


@dataclass(frozen=True)
class Problem:
    """Cells as arrays: N cells, K computations."""

    cells: tuple[Cell, ...]
    items: tuple[Computation, ...]
    held: Floats
    """Bytes that each computation stores; (K,)."""
    known: Floats
    """Logarithm of what cores and clocks explain of each cell's ratio; (N,)."""
    proposed: tuple[Proposed, ...]

    @cached_property
    def logs(self) -> Floats:
        """Logarithms of ratios that are left to explain; (N,)."""
        return np.array([np.log(cell.ratio) for cell in self.cells]) - self.known

    @cached_property
    def errors(self) -> Floats:
        """Standard errors of these; (N,)."""
        return np.array([cell.error for cell in self.cells])

    @cached_property
    def subjects(self) -> Any:
        """Which computation is the subject of each cell; (N,)."""
        return np.array([self.items.index(cell.subject) for cell in self.cells], dtype=np.int64)

    def _neighbours(self, level: str) -> Floats:
        """How often each computation is a neighbour of a cell's subject in its domain of a level; (N, K)."""
        found = np.zeros((len(self.cells), len(self.items)))
        for row, cell in enumerate(self.cells):
            own = next(
                (domain.pes for domain in self.proposed if domain.level == level and cell.pes[0] in domain.pes), ()
            )
            for neighbour, place in zip(cell.neighbours, cell.pes[1:], strict=True):
                found[row, self.items.index(neighbour)] += place in own
        return found

    @cached_property
    def counts(self) -> dict[str, Floats]:
        """How often each computation is a neighbour of a cell's subject in its domain, by level; (N, K) each."""
        return {level: self._neighbours(level) for level in dict.fromkeys(domain.level for domain in self.proposed)}

    @cached_property
    def stream(self) -> int | None:
        """Which computation is the stream that demand is counted in: the largest `triad` measured."""
        lone = {cell.subject for cell in self.cells}
        found = [place for place, item in enumerate(self.items) if item.kernel == STREAMS and item in lone]
        return max(found, key=lambda place: self.items[place].size) if found else None

    @cached_property
    def stream_rate(self) -> float:
        """Bytes per second that it reads and writes alone."""
        if self.stream is None:
            return 1.0
        own = [cell.lone_s for cell in self.cells if cell.subject == self.items[self.stream]]
        return float(self.held[self.stream] / np.median(own))

    def capacity(self, level: str) -> float:
        """Of a cache, as reported."""
        return next(domain.capacity or 1.0 for domain in self.proposed if domain.level == level)

    def resolution(self, best: "Fitted") -> dict[str, float]:
        """For each level without a domain, up to which effect on its probes none was seen."""
        found = {}
        for level in self.counts:
            if level in best.structure.levels or level in {"core", "clock"}:
                continue
            left = self.logs + self.known - best.explained()
            at = [row for row in range(len(self.cells)) if self._probes(level, row)]
            effects = [max(float(left[row]), 0.0) + 2 * float(self.errors[row]) for row in at]
            found[level] = max(LEAST_EFFECT, *effects) if effects else np.inf
        return found

    def evidence(self, level: str) -> float:
        """The largest effect, logarithmic, that probes of a level clearly show; 0 if they show none."""
        clear = self.logs > np.maximum(LEAST_EFFECT, SURE * self.errors)
        shown = [float(self.logs[row]) for row in np.flatnonzero(clear) if self._probes(level, int(row))]
        return max(shown, default=0.0)

    def _probes(self, level: str, row: int) -> bool:
        """Whether a cell would show a domain of a level: streams next to each other, in it or beyond it."""
        cell = self.cells[row]
        if (
            not all(computation.kernel == STREAMS for computation in (cell.subject, *cell.neighbours))
            or not self.counts[level][row].any()
        ):
            return False
        if level == "memory":
            return self.stream is not None and cell.subject == self.items[self.stream]
        own = float(self.held[self.subjects[row]])
        together = own + float(self.counts[level][row] @ self.held)
        return own <= self.capacity(level) < 2 * together


@dataclass(frozen=True)
class Fitted:
    """A structure with its numbers."""

    problem: Problem
    structure: Structure
    capacity: float
    """Of memory, in parts of the stream's rate."""
    demand: Floats
    """Of memory, likewise; (K,)."""
    waits: Mapping[str, Floats]
    """Level -> sensitivities; (K,) each."""
    score: float
    notes: tuple[str, ...] = ()

    def effects(self, level: str) -> Floats:
        """Logarithm of what a level's domain explains of each cell's ratio; (N,)."""
        return _effects(self.problem, self.structure, level, self.capacity, self.demand, self.waits[level])

    def explained(self) -> Floats:
        """Logarithm of the ratio predicted of each cell; (N,)."""
        return self.problem.known + sum((self.effects(level) for level in self.structure.levels), np.zeros(1))

    def demands(self) -> dict[str, Floats]:
        """By level, in bytes and bytes per second."""
        rate = self.problem.stream_rate
        return {
            level: self.demand * rate if level == "memory" else self.problem.held for level in self.structure.levels
        }

    def sensitivities(self) -> dict[str, Floats]:
        """By level."""
        return {level: self.waits[level] for level in self.structure.levels}

    def domains(self) -> list[SharingDomain]:
        """Those of memory and caches."""
        found = []
        for level in self.structure.levels:
            own = [domain for domain in self.problem.proposed if domain.level == level]
            for number, domain in enumerate(own):
                name = level if len(own) == 1 else f"{level} {number + 1}"
                found.append(SharingDomain(domain.kind, name, level, domain.pes, self._law(level)))
        return found

    def _law(self, level: str) -> Bandwidth | Occupancy:
        if level == "memory":
            rate = self.problem.stream_rate
            return Bandwidth(_short(self.capacity * rate), self.structure.softness, _short(rate))
        return Occupancy(_short(self.problem.capacity(level) * self.structure.parts.get(level, 1.0)))


def _short(value: float) -> float:
    """Six digits: more are not known."""
    return float(f"{value:.6g}")


def _effects(
    problem: Problem, structure: Structure, level: str, capacity: float, demand: Floats, waits: Floats
) -> Floats:
    """The laws of `models.neighbours` on all cells at once; (N,)."""
    subjects, sensitivity = problem.subjects, waits[problem.subjects]
    if level == "memory":
        own, exponent = demand[subjects] / capacity, min(structure.softness, MOST_SOFTNESS)
        together = own + problem.counts[level] @ demand / capacity
        logs = [np.logaddexp(0.0, exponent * np.log(np.maximum(u, 1e-300))) for u in (together, own)]
        stretch = np.maximum(np.exp((logs[0] - logs[1]) / exponent), 1.0)
        return np.asarray(np.log1p(np.minimum(sensitivity, 1.0) * (stretch - 1)))
    size = problem.capacity(level) * structure.parts.get(level, 1.0)
    own = problem.held[subjects]
    together = np.maximum(own + problem.counts[level] @ problem.held, 1e-300)
    lost = 1 - np.minimum(own, size * own / together) / np.maximum(np.minimum(own, size), 1e-300)
    return np.asarray(np.log1p(sensitivity * np.where(own > 0, np.maximum(lost, 0.0), 0.0)))


def _chosen(problem: Problem) -> Fitted:
    """The fit that explains most for the fewest numbers; of equals the one with fewest domains."""
    caches = [domain.level for domain in problem.proposed if domain.kind == "cache"]
    caches = list(dict.fromkeys(caches))
    caches = [level for level in caches if problem.evidence(level)]
    memory = ["memory"] if problem.stream is not None and problem.evidence("memory") else []
    sets = [(), *[(level,) for level in (*memory, *caches)]]
    sets += [(*memory, level) for level in caches if memory] + ([(*memory, *caches)] if len(caches) > 1 else [])
    best = [_tuned(problem, levels) for levels in sets]
    chosen = best[ties.first_least([fit.score for fit in best], floor=1.0)]
    return _pruned(chosen)


def _tuned(problem: Problem, levels: tuple[str, ...]) -> Fitted:
    """A set of domains with the part of each cache and the softness that explain most."""
    best = _solved(problem, Structure(levels))
    for level in levels:
        tried: list[Structure] = []
        if level == "memory":
            tried = [replace(best.structure, softness=softness) for softness in _SOFTNESSES[1:]]
        else:
            tried = [replace(best.structure, parts={**best.structure.parts, level: part}) for part in _PARTS[1:]]
        fits = [best, *(_solved(problem, structure) for structure in tried)]
        best = fits[ties.first_least([fit.score for fit in fits], floor=1.0)]
    return best


def _solved(problem: Problem, structure: Structure, *, frozen: Mapping[str, Any] | None = None) -> Fitted:
    """Least squares of all logarithms of ratios; numbers that nothing shows stay at 0."""
    free, count = frozen or {}, len(problem.items)
    bounds: list[tuple[float, float, float]] = []
    """Least, most and first value of each unknown: capacity, demands, sensitivities of each level."""
    layout: list[tuple[str, Any]] = []
    for level in structure.levels:
        open_ = np.asarray(free.get(level, np.ones(count, dtype=bool)))
        if level == "memory":
            demands = np.asarray(free.get("demand", np.ones(count, dtype=bool))).copy()
            demands[problem.stream] = False
            layout += [("capacity", np.array([0])), ("demand", np.flatnonzero(demands))]
            bounds += [(0.0, np.log(_MOST_CAPACITY), 0.5)] + [(0.0, 2.0, 0.3)] * int(demands.sum())
        layout.append((level, np.flatnonzero(open_)))
        bounds += [(0.0, 1.0 if level == "memory" else 50.0, 0.5)] * int(open_.sum())
    if not layout:
        return _scored(problem, structure, 1.0, np.zeros(count), {})
    from scipy.optimize import least_squares

    low, high, first = (np.array(column) for column in zip(*bounds, strict=True))

    def wrong(values: Floats) -> Floats:
        capacity, demand, waits = _unpacked(problem, structure, layout, values)
        left = problem.logs - sum(
            _effects(problem, structure, level, capacity, demand, waits[level]) for level in structure.levels
        )
        pull = np.concatenate([demand / 3, *(waits[level] / (3 if level == "memory" else 10) for level in waits)])
        stream = [(waits["memory"][problem.stream] - 1) / 0.3] if "memory" in waits else []
        return np.concatenate([left / problem.errors, pull, stream])

    found = least_squares(wrong, np.clip(first, low + 1e-6, high - 1e-6), bounds=(low, high), max_nfev=200).x
    return _scored(problem, structure, *_unpacked(problem, structure, layout, found))


def _unpacked(
    problem: Problem, structure: Structure, layout: Sequence[tuple[str, Any]], values: Floats
) -> tuple[float, Floats, dict[str, Floats]]:
    """Capacity, demands and sensitivities of the unknowns of a fit."""
    count, at, capacity = len(problem.items), 0, 1.0
    demand = np.zeros(count)
    waits = {level: np.zeros(count) for level in structure.levels}
    if problem.stream is not None:
        demand[problem.stream] = 1.0
    for name, places in layout:
        own = values[at : at + places.size]
        at += places.size
        if name == "capacity":
            capacity = float(np.exp(own[0]))
        elif name == "demand":
            demand[places] = own
        else:
            waits[name][places] = own
    return capacity, demand, waits


def _scored(
    problem: Problem, structure: Structure, capacity: float, demand: Floats, waits: dict[str, Floats]
) -> Fitted:
    """With what it leaves unexplained and the numbers that it needs: those that matter to some cell."""
    fitted = Fitted(problem, structure, capacity, demand, waits, 0.0)
    left = (problem.logs - (fitted.explained() - problem.known)) / problem.errors
    needed = sum(_matters(fitted, level)[1].sum() for level in structure.levels)
    needed += _matters(fitted, "memory")[0].sum() + 1 if "memory" in structure.levels else 0
    huber = np.where(np.abs(left) <= 5, left**2, 10 * np.abs(left) - 25)
    return replace(fitted, score=float(np.sum(huber) + _PENALTY * needed))


def _matters(fitted: Fitted, level: str) -> tuple[Any, Any]:
    """Which computations' demands, and which sensitivities, move some cell by more than can be seen; (K,) each."""
    problem = fitted.problem
    seen = fitted.effects(level) > np.maximum(LEAST_EFFECT / 2, 1.5 * problem.errors)
    feels = np.zeros(len(problem.items), dtype=bool)
    feels[problem.subjects[seen]] = True
    present = (problem.counts[level][seen] > 0).any(axis=0)
    return present & (fitted.demand > 0) if level == "memory" else present, feels


def _pruned(fitted: Fitted) -> Fitted:
    """Fitted once more with 0 for what moves no cell by more than can be seen; domains that move none are left out."""
    problem, structure = fitted.problem, fitted.structure
    if not structure.levels:
        return fitted
    notes, free, levels = [], {}, []
    for level in structure.levels:
        takes, feels = _matters(fitted, level)
        strong = fitted.effects(level) > np.maximum(LEAST_EFFECT, SURE * problem.errors)
        if not strong.any():
            continue
        levels.append(level)
        free[level] = feels
        if level == "memory":
            free["demand"] = takes
        part = structure.parts.get(level, 1.0)
        if part < 1:
            notes.append(
                f"{level}: {part:.0%} of the reported capacity explains what was measured better than all of it"
            )
    if not levels:
        return _solved(problem, Structure(()))
    refitted = _solved(problem, replace(structure, levels=tuple(levels)), frozen=free)
    return replace(refitted, notes=tuple(notes))


# What a model predicts.


def kernel_uses(found: Found) -> dict[str, KernelUses]:
    """Uses by kernel over its sizes; between sizes of a cache's kernels a knot at each doubling, as bytes grow."""
    uses = {}
    for kernel in sorted({item.kernel for item in found.items}):
        at = [place for place, item in enumerate(found.items) if item.kernel == kernel]
        sizes = np.array([found.items[place].size for place in at])
        cached = any(level != "memory" for level in found.demands)
        knots = _doublings(sizes) if cached else sizes
        logs = np.log(sizes), np.log(knots)
        demands = {  # rates by the logarithm of size, bytes by size
            level: np.interp(logs[1], logs[0], values[at]) if level == "memory" else np.interp(knots, sizes, values[at])
            for level, values in found.demands.items()
        }
        waits = {level: np.interp(logs[1], logs[0], values[at]) for level, values in found.sensitivities.items()}
        uses[kernel] = KernelUses(knots, demands, waits)
    return uses


def _doublings(sizes: Floats) -> Floats:
    """Sizes, and between any two as many more as bring steps down to a factor of 2."""
    knots = [sizes[:1]]
    for low, high in itertools.pairwise(sizes):
        steps = max(1, int(np.ceil(np.log2(high / low) - 1e-9)))
        knots.append(low * (high / low) ** (np.arange(1, steps + 1) / steps))
    return np.concatenate(knots)


def predict_share(
    domains: Sequence[SharingDomain],
    uses: Mapping[str, KernelUses],
    subject: Computation,
    neighbours: Sequence[Computation],
    pes: Sequence[int],
) -> float:
    """The share of its lone speed that a computation keeps: the product of its domains' laws."""
    share = 1.0
    for domain in domains:
        if pes[0] not in domain.pes:
            continue
        inside = [neighbour for neighbour, place in zip(neighbours, pes[1:], strict=True) if place in domain.pes]
        taken = [_use(uses, domain, neighbour).demand for neighbour in inside]
        share *= float(domain.law.kept(_use(uses, domain, subject), sum(taken)))
    return share


def _use(uses: Mapping[str, KernelUses], domain: SharingDomain, computation: Computation) -> Use:
    if domain.kind in {"core", "clock"}:
        return BUSY
    return uses[computation.kernel].at(domain.level, computation.size) if computation.kernel in uses else NO_USE


def predicted_held_out(
    cells: Sequence[Cell],
    proposed: Sequence[Proposed],
    whole: Found,
    *,
    footprints: Mapping[Computation, float] | None = None,
) -> tuple[Floats, Any]:
    """Ratios of cells predicted by fits that did not see them, and which cells these are; (N,) each.

    One in five is left out at a time; never probes next to copies of themselves, on which everything rests.
    """
    predicted, judged = np.ones(len(cells)), np.zeros(len(cells), dtype=bool)
    mixed = [place for place, cell in enumerate(cells) if not (cell.is_copies and cell.subject.kernel in PROBES)]
    for fold in range(min(_FOLDS, len(mixed))):
        without = set(mixed[fold::_FOLDS])
        known = {
            computation
            for place, cell in enumerate(cells)
            if place not in without
            for computation in (cell.subject, *cell.neighbours)
        }
        out = [place for place in sorted(without) if {cells[place].subject, *cells[place].neighbours} <= known]
        rest = [cell for place, cell in enumerate(cells) if place not in set(out)]
        if not out:
            continue
        found = fit_cells(rest, proposed, footprints=footprints, structure=whole.structure)
        for place in out:
            cell = cells[place]
            predicted[place] = 1 / predict_share(
                found.domains, kernel_uses(found), cell.subject, cell.neighbours, cell.pes
            )
            judged[place] = True
    return predicted, judged
