"""A sweep of Apex-MAP: every cell visited in passes of random order, until the budget is spent."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from simulator.base import files
from simulator.base.machine import Machine
from simulator.calibration.apex.plan import MOST_PASSES, Cell, SweepPlan
from simulator.calibration.apex.reader import Read, Swept
from simulator.calibration.bench import visits
from simulator.calibration.bench.campaign import Budget, Progress, no_progress, run_campaign
from simulator.calibration.bench.group import Group
from simulator.calibration.bench.usage import Done
from simulator.calibration.kernels.sized import WORD_BYTES
from simulator.models.memory.file import MemoryFile, fit_memory
from simulator.models.memory.forms import MemoryTimes
from simulator.models.memory.model import Sweeps

LEAST_PASSES = 3
"""Fewest visits to a cell: a median that one disturbed visit does not move."""
FASTEST_FILL, FASTEST_VISIT_S = 4e9, 1e-3
"""Bytes that a process fills in a second, and what a visit takes, on the fastest machine."""
USUAL = 4.0
"""What it takes on a usual one, over that."""
_PROBED = 12
"""Visits after which the cost of a pass is predicted."""
_CACHE_BYTES = 32 * 2**20
"""Assumed last-level cache where the system does not tell."""
_UNSTEADY = 0.25
"""A spread of visits above it is worth a warning."""
COLUMNS = ("M_words", "alpha", "L", "time_per_word_s")
PASSES = 5
"""Visits to each size; the median counts."""
LEAST_SIZES = 8
"""Sizes that are visited whatever the budget."""
WORDS = 2**23
"""Words that a visit reads at least, in whole sweeps."""
PAST_CACHE = 2
"""The largest M in last-level caches: beyond it nothing new is met."""
LEAST_SHARE = 0.1
"""Of the time of a pair of words, one read and one written, the least that writing is taken for."""


@dataclass(frozen=True)
class Visit(visits.Visit):
    """One measurement of one cell."""

    word_s: float
    """Seconds per word."""
    switches: int
    """How often the system took a PE away meanwhile."""

    @property
    def times_s(self) -> tuple[float, ...]:
        """See `visits.Visit`."""
        return self.word_s, self.switches


Visits = visits.Visits[Visit]


# Drives the process of a sweep: memory made once, then visits.


class Reader:
    """A real process, pinned to a PE; a context manager that ends it and gives its memory back.

    A visit reads through `warm_bytes` of memory before it begins, as much as the last-level cache holds.
    """

    def __init__(self, plan: SweepPlan, *, warm_bytes: int) -> None:
        self._plan, self._warm_words = plan, max(1, warm_bytes // WORD_BYTES)
        self._group = Group("apex", [(plan.cpu, plan.m_words[-1])])
        try:
            self._group.ask_all({"do": "wait"}, Done)
        except BaseException:
            self._group.end()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._group.end()

    def visit(self, cell: Cell, *key: int) -> Read:
        """Read a cell once, from starts that are drawn for a key."""
        key = (self._plan.seed, *key, 0)
        self._group.ask_all({"do": "draw", "cell": asdict(cell), "stretches": cell.stretches, "key": key}, Done)
        read = {
            "do": "read",
            "length": cell.length,
            "repeats": cell.repeats,
            "warm_words": min(cell.m_words, self._warm_words),
        }
        return self._group.ask_all(read, Read)[0]

    def vectors(self, m_words: int, *, times: int) -> Swept:
        """Sweep M words by vector loops."""
        return self._group.ask_all({"do": "sweep", "m_words": m_words, "times": times}, Swept)[0]


@dataclass(frozen=True)
class CellTime:
    """What was seen of one cell."""

    cell: Cell
    visits: tuple[float, ...]
    """Seconds per word on each visit."""

    @property
    def word_s(self) -> float:
        """Median seconds per word."""
        return float(np.median(self.visits))

    @property
    def spread(self) -> float:
        """Difference of the quartiles of the visits, as a share of the median."""
        low, high = np.quantile(self.visits, (0.25, 0.75))
        return float((high - low) / self.word_s)

    def to_dict(self) -> dict[str, float]:
        """Plain data for JSON."""
        return {
            "M_words": self.cell.m_words,
            "alpha": self.cell.alpha,
            "L": self.cell.length,
            "time_per_word_s": self.word_s,
            "visits": len(self.visits),
            "spread": self.spread,
        }


@dataclass(frozen=True)
class Sweep:
    """A finished sweep."""

    plan: SweepPlan
    cells: tuple[CellTime, ...]
    spent_s: float
    """Wall seconds of all visits, those of earlier calls too."""
    reused: int
    switches: int
    damage: tuple[str, ...] = ()
    """A line if the file of earlier visits was damaged."""

    @property
    def visits(self) -> int:
        """How many measurements there are."""
        return sum(len(cell.visits) for cell in self.cells)

    def to_dict(self) -> dict[str, object]:
        """Plain data for JSON: what was done; the times are in `cells`."""
        return self.plan.subject | {
            "spent_s": self.spent_s,
            "visits": self.visits,
            "visits_reused": self.reused,
            "involuntary_switches": self.switches,
        }

    @property
    def columns(self) -> dict[str, NDArray[np.float64]]:
        """`M_words`, `alpha`, `L` and `time_per_word_s`, each (cells,)."""
        rows = [cell.to_dict() for cell in self.cells]
        return {name: np.array([row[name] for row in rows], dtype=np.float64) for name in COLUMNS}

    @property
    def warnings(self) -> tuple[str, ...]:
        """What to know before the times are trusted."""
        unsteady = sum(cell.spread > _UNSTEADY for cell in self.cells)
        if unsteady <= 0.1 * len(self.cells):
            return self.damage
        found = f"{unsteady} of {len(self.cells)} cells unsteady: quartiles of their visits over {_UNSTEADY:.0%} apart"
        return (*self.damage, f"{found}, {self.switches} involuntary switches: end other work, or measure again")


def measure_sweep(
    plan: SweepPlan,
    *,
    machine: Machine,
    budget_s: float,
    store: Path | None,
    on_progress: Progress,
    most_passes: int = MOST_PASSES,
    firm: bool = True,
) -> Sweep:
    """Measure a sweep, or go on with one that was broken off.

    `budget_s` are wall seconds for everything, visits of earlier calls included, and no visit starts after it; after
    `most_passes` visits to each cell, at least 3, the rest is left. Unless the budget is `firm`, three visits are made
    however long they take.
    """
    kept = Visits(store, Visit, name="apexmap", subject=plan.subject, machine=machine)
    budget, least = Budget(budget_s, kept.spent_s), int(kept.done(len(plan.cells)).min())
    short = least < LEAST_PASSES
    if firm and not kept.made:
        _check_before(plan, budget)
    with kept.journal:
        if (budget.holds() or (short and not firm)) and least < most_passes:
            with reader_of(plan, machine) as reader:
                _spend(plan, reader, kept, budget, most=most_passes, firm=firm, on_progress=on_progress)
        elif short:
            _check_budget(plan, budget, kept)
    return _summed(plan, kept)


def reader_of(plan: SweepPlan, machine: Machine) -> Reader:
    """The process of a plan on this machine."""
    return Reader(plan, warm_bytes=machine.last_level_cache_bytes or _CACHE_BYTES)


def _spend(
    plan: SweepPlan, reader: Reader, kept: Visits, budget: Budget, *, most: int, firm: bool, on_progress: Progress
) -> None:
    cells = plan.cells

    def sample(index: int, number: int) -> None:
        started = time.monotonic()
        read = reader.visit(cells[index], number, index)
        kept.keep(Visit(number, index, time.monotonic() - started, read.word_s, read.switches))
        over = not budget.holds()
        if firm and (over or len(kept.made) - kept.reused == _PROBED):
            _check_budget(plan, budget, kept, clearly=1.0 if over else 2.0)
        on_progress(f"pass {number + 1}", budget.share)

    passes = kept.passes(len(cells), most=most, seed=plan.seed)
    run_campaign(passes, sample, budget=budget, least=LEAST_PASSES, journal=kept.journal)


def _check_before(plan: SweepPlan, budget: Budget) -> None:
    """Refuse at once what cannot hold on any machine: memory is filled first, and every cell visited three times."""
    bytes_filled = plan.m_words[-1] * WORD_BYTES
    least_s = bytes_filled / FASTEST_FILL + LEAST_PASSES * len(plan.cells) * FASTEST_VISIT_S
    if budget.limit_s < least_s:
        purpose = f"{LEAST_PASSES} visits to each of {len(plan.cells)} cells"
        raise budget.refusal(USUAL * least_s, purpose, "; a smaller --max-memory needs less")


def _check_budget(plan: SweepPlan, budget: Budget, kept: Visits, *, clearly: float = 1.0) -> None:
    """Refuse a budget if three visits to each cell need more than it has, `clearly` times as much."""
    count = len(plan.cells)
    left = int(np.maximum(LEAST_PASSES - kept.done(count), 0).sum())
    needed_s = budget.spent_s + left * kept.spent_s / len(kept.made)
    if left and needed_s > clearly * budget.limit_s:
        purpose = f"{LEAST_PASSES} visits to each of {count} cells"
        hint = "; what was measured is kept; a smaller --max-memory needs less"
        raise budget.refusal(1.1 * needed_s, purpose, hint)


def _summed(plan: SweepPlan, kept: Visits) -> Sweep:
    seen: list[list[float]] = [[] for _ in plan.cells]
    for visit in kept.made:
        seen[visit.cell].append(visit.word_s)
    times = tuple(CellTime(cell, tuple(row)) for cell, row in zip(plan.cells, seen, strict=True))
    switches = sum(visit.switches for visit in kept.made)
    return Sweep(plan, times, kept.spent_s, kept.reused, switches, kept.journal.warnings)


def fit_sweep(sweep: Sweep, machine: Machine, *, sweeps: Sweeps | None = None) -> MemoryFile:
    """Fit all models to a sweep measured on this machine, and keep what vector loops took; see `fit_memory`."""
    times = MemoryTimes(*(sweep.columns[name] for name in COLUMNS))
    fit = fit_memory(times, machine=machine, measured_here=True, sweeps=sweeps)
    cells, warnings = [cell.to_dict() for cell in sweep.cells], (*sweep.warnings, *fit.warnings)
    return replace(fit.file, sweep=sweep.to_dict(), cells=cells, warnings=warnings)


def write_sweep_table(cells: Sequence[CellTime], path: Path) -> None:
    """Write medians as a table that fits read: `M_words,alpha,L,time_per_word_s`."""
    lines = [",".join(COLUMNS)]
    for cell in cells:
        row = cell.to_dict()
        lines.append(",".join(f"{row[name]:.10g}" for name in COLUMNS))
    files.write_text(path, "\n".join(lines) + "\n")


# Vector loops over the memory that Apex-MAP reads: what a swept word takes, from the first cache to past the last.


def measure_vectors(
    plan: SweepPlan, machine: Machine, *, budget_s: float, on_progress: Progress = no_progress
) -> Sweeps:
    """Sweep memory of 8 KiB to two last-level caches by vector loops.

    Sizes are visited up and down in turn. Of a first pass that goes on beyond the budget, larger sizes are left out.
    """
    sizes = _sizes(plan, machine)
    seen: dict[int, list[Swept]] = {}

    def passes() -> Iterator[tuple[int, Sequence[int]]]:
        yield 0, sizes[:LEAST_SIZES]
        yield 1, sizes[LEAST_SIZES:]
        for number in range(1, PASSES):
            yield number, sorted(seen, reverse=number % 2 == 1)

    with reader_of(replace(plan, m_words=(plan.m_words[0], sizes[-1])), machine) as reader:
        budget = Budget(budget_s)

        def sample(m_words: int, _number: int) -> None:
            on_progress("vector loops", min(1.0, budget.share))
            seen.setdefault(m_words, []).append(reader.vectors(m_words, times=max(1, WORDS // m_words)))

        run_campaign(passes(), sample, budget=budget, least=1)
    return _sweeps(seen)


def _sizes(plan: SweepPlan, machine: Machine) -> list[int]:
    """Half octaves up to the largest M of the plan, and not far past the last cache."""
    most = plan.m_words[-1]
    if machine.last_level_cache_bytes:
        most = min(most, max(plan.m_words[0], PAST_CACHE * machine.last_level_cache_bytes // 8))
    return [m for power in plan.m_words for m in (power, 3 * power // 2) if m <= most]


def _sweeps(seen: dict[int, list[Swept]]) -> Sweeps:
    sizes = sorted(seen)
    rows = [[(swept.read_s, swept.pair_s) for swept in seen[m]] for m in sizes]
    read_s, pair_s = np.array([np.median(row, axis=0) for row in rows]).T
    return Sweeps(np.array(sizes, dtype=np.float64), read_s, np.maximum(pair_s - read_s, LEAST_SHARE * pair_s))
