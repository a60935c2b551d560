"""A sweep of Apex-MAP: every cell visited in passes of random order, until the budget is spent."""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simulator.base import files, units
from simulator.base.errors import ScenarioError
from simulator.base.machine import Machine
from simulator.base.randomness import stream
from simulator.calibration.apex.plan import MOST_PASSES, Cell, SweepPlan
from simulator.calibration.apex.readers import Readers
from simulator.calibration.apex.visits import Visit, Visits

LEAST_PASSES = 3
"""Fewest visits to a cell: a median that one disturbed visit does not move."""
_PROBED = 12
"""Visits after which the cost of a pass is foretold."""
_CACHE_BYTES = 32 * 2**20
"""Assumed last-level cache where the system does not tell."""
_UNSTEADY = 0.25
"""A spread of visits above it is worth a warning."""

Progress = Callable[[str, float], None]


@dataclass(frozen=True)
class CellTime:
    """What was seen of one cell."""

    cell: Cell
    visits: tuple[float, ...]
    """Seconds per word on each visit; for several processes their mean."""

    @property
    def word_s(self) -> float:
        """Median seconds per word."""
        return float(np.median(self.visits))

    @property
    def spread(self) -> float:
        """Difference of the quartiles of the visits, as a share of the median."""
        low, high = np.quantile(self.visits, (0.25, 0.75))
        return float((high - low) / self.word_s)

    def to_dict(self) -> dict[str, Any]:
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
    """Visits that an earlier call had made."""
    switches: int
    damage: tuple[str, ...] = ()
    """A line if the file of earlier visits was damaged."""

    @property
    def visits(self) -> int:
        """How many measurements there are."""
        return sum(len(cell.visits) for cell in self.cells)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON: what was done; the times are in `cells`."""
        return self.plan.to_dict() | {
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


COLUMNS = ("M_words", "alpha", "L", "time_per_word_s")


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

    Parameters
    ----------
    budget_s
        Wall seconds for everything, the visits of earlier calls included; no visit starts after it.
    store
        File that keeps every visit as soon as it is made; see `Visits`.
    on_progress
        Told what is done and the share of the budget used.
    most_passes
        Visits to each cell after which the rest of the budget is left, at least 3.
    firm
        Whether a budget too small is refused; otherwise three visits are made however long they take.

    Raises
    ------
    ScenarioError
        If a firm budget is too small for three visits to each cell, with what is needed; or if the store holds another
        sweep.
    CalibrationError
        If a process ends.
    """
    cells = plan.cells
    with Visits(store, subject=plan.to_dict(), machine=machine) as visits:
        done = np.bincount([visit.cell for visit in visits.made], minlength=len(cells))
        short = not firm and done.min() < LEAST_PASSES
        if (visits.spent_s < budget_s or short) and done.min() < most_passes:
            limits = _Limits(time.monotonic() - visits.spent_s, budget_s, most_passes, firm)
            with _readers(plan, machine) as readers:
                _spend(plan, readers, visits, done=done, limits=limits, on_progress=on_progress)
        elif done.min() < LEAST_PASSES:
            _refuse(visits, len(cells), int(np.maximum(LEAST_PASSES - done, 0).sum()), visits.spent_s, budget_s)
        return _summed(plan, visits)


@dataclass(frozen=True)
class _Limits:
    """When a sweep ends."""

    begin: float
    budget_s: float
    most_passes: int
    firm: bool


def _readers(plan: SweepPlan, machine: Machine) -> Readers:
    return Readers(plan, warm_bytes=machine.last_level_cache_bytes or _CACHE_BYTES)


def _spend(
    plan: SweepPlan,
    readers: Readers,
    visits: Visits,
    *,
    done: NDArray[np.int64],
    limits: _Limits,
    on_progress: Progress,
) -> None:
    """Pass after pass; within a pass the cells in an order of its own, without those that it has visited already."""
    begin, budget_s = limits.begin, limits.budget_s
    cells, made = plan.cells, 0
    for number in range(int(done.min()), limits.most_passes):
        order = stream(plan.seed, "apexmap", "order", number).permutation(len(cells))
        for index in (int(index) for index in order if done[index] <= number):
            started = time.monotonic()
            word_s, switches = readers.visit(cells[index], number, index)
            now = time.monotonic()
            visits.keep(Visit(number, index, word_s, switches, now - started))
            done[index] += 1
            made += 1
            left = int(np.maximum(LEAST_PASSES - done, 0).sum())
            if limits.firm and made == _PROBED and left:
                _refuse(visits, len(cells), left, now - begin, budget_s, clearly=2.0)
            if limits.firm and now - begin > budget_s and left:
                _refuse(visits, len(cells), left, now - begin, budget_s)
            if now - begin > budget_s and not left:
                return
            on_progress(f"pass {number + 1}", (now - begin) / budget_s)
        visits.sync()


def _refuse(visits: Visits, cells: int, left: int, elapsed_s: float, budget_s: float, clearly: float = 1.0) -> None:
    """Say how much is needed if three visits to each cell need more than the budget, `clearly` times as much."""
    needed_s = elapsed_s + left * visits.spent_s / len(visits.made)
    if needed_s > clearly * budget_s:
        shown = units.show_duration(math.ceil(1.1 * needed_s))
        raise ScenarioError(
            f"--budget: {units.show_duration(budget_s)} found, about {shown} or more needed for {LEAST_PASSES} visits "
            f"to each of {cells} cells; what was measured is kept; less of --alpha, --length or --max-memory needs less"
        )


def _summed(plan: SweepPlan, visits: Visits) -> Sweep:
    seen: list[list[float]] = [[] for _ in plan.cells]
    for visit in visits.made:
        seen[visit.cell].append(float(np.mean(visit.word_s)))
    times = tuple(CellTime(cell, tuple(row)) for cell, row in zip(plan.cells, seen, strict=True))
    switches = sum(visit.switches for visit in visits.made)
    return Sweep(plan, times, visits.spent_s, visits.reused, switches, visits.warnings)


def write_sweep_table(cells: Sequence[CellTime], path: Path) -> None:
    """Write medians as a table that fits read: `M_words,alpha,L,time_per_word_s`."""
    lines = [",".join(COLUMNS)]
    for cell in cells:
        row = cell.to_dict()
        lines.append(",".join(f"{row[name]:.10g}" for name in COLUMNS))
    files.write_text(path, "\n".join(lines) + "\n")
