"""A sweep of Apex-MAP: every cell visited in passes of random order, until the budget is spent."""

import math
import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from simulator.base import files, units
from simulator.base.errors import ScenarioError
from simulator.base.machine import Machine
from simulator.base.randomness import stream
from simulator.calibration.apex.plan import MOST_PASSES, Cell, SweepPlan
from simulator.calibration.bench.group import Group
from simulator.calibration.bench.journal import Journal, read_entries
from simulator.calibration.bench.point_store import plain, refuse_others
from simulator.calibration.kernels.sized import WORD_BYTES

# Visits on disk: one line in a file as soon as a cell was measured once more, with the machine it was measured on.


FORMAT, KIND = 1, "apexmap visits"
WHAT = "measurements of a memory sweep"


@dataclass(frozen=True)
class Visit:
    """One measurement of one cell."""

    number: int
    """Which pass it belongs to."""
    cell: int
    """Index of the cell in its plan."""
    word_s: tuple[float, ...]
    """Seconds per word, for each process."""
    switches: int
    """How often the system took a PE away meanwhile."""
    cost_s: float
    """Wall seconds of the visit in all, drawing and warming up included."""


class Visits:
    """All visits of a sweep; a context manager that closes its file. Without a path they are kept in memory only.

    Raises
    ------
    ScenarioError
        If the file holds anything but visits of the same sweep on this machine.
    """

    def __init__(self, path: Path | None, *, subject: Mapping[str, Any], machine: Machine) -> None:
        self.made: list[Visit] = []
        self.spent_s = 0.0
        """Wall seconds of all visits."""
        self._journal: Journal | None = None
        if path is not None:
            here = {"subject": plain(dict(subject)), "machine": plain(machine.to_dict())}

            def check(found: dict[str, Any]) -> None:
                theirs = found.get("subject"), dict(found.get("machine") or {})
                refuse_others(path, "measurements", found=theirs, here=(here["subject"], here["machine"]))

            head = {"format": FORMAT, "kind": KIND, **here}
            self._journal = Journal(path, head=head, what=WHAT, check=check, take=self._take)
        self.reused = len(self.made)
        """How many visits the file held already."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._journal is not None:
            self._journal.close()

    @property
    def warnings(self) -> tuple[str, ...]:
        """A line if a part of the file was damaged."""
        return (self._journal.damage,) if self._journal is not None and self._journal.damage else ()

    def keep(self, visit: Visit) -> None:
        """Remember a visit."""
        self._hold(visit)
        if self._journal is not None:
            self._journal.keep(asdict(visit))

    def sync(self) -> None:
        """Wait until the disk has every visit: at the end of a pass."""
        if self._journal is not None:
            self._journal.sync()

    def _take(self, entry: dict[str, Any]) -> None:
        visit = Visit(**entry | {"word_s": tuple(map(float, entry["word_s"]))})
        numbers = visit.number, visit.cell, visit.switches
        if any(number != int(number) for number in numbers) or min(*numbers, *visit.word_s, visit.cost_s) < 0:
            raise ValueError("whole numbers and times of 0 or more belong here")
        self._hold(visit)

    def _hold(self, visit: Visit) -> None:
        self.made.append(visit)
        self.spent_s += visit.cost_s


def visits_kept(path: Path) -> int:
    """How many visits a file holds; 0 if there is none."""
    return sum("cell" in entry for entry in read_entries(path))


# Drives the processes of a sweep: memory made once, then visits, on which all of them read at the same time.


class Readers:
    """Real processes, one pinned to each PE; a context manager that ends them and gives their memory back.

    One process has memory of its own. Several share a segment without a name, which holds memory of M words for
    every M: each process owns, that is, touches first and fills, an equal block, and all read everywhere.

    Parameters
    ----------
    plan
        Who takes part, and the largest M.
    warm_bytes
        How much memory a visit reads through before it begins: the last-level cache.
    """

    def __init__(self, plan: SweepPlan, *, warm_bytes: int) -> None:
        self._plan, self._warm_words = plan, max(1, warm_bytes // WORD_BYTES)
        self._stack = ExitStack()
        try:
            self._group = self._stack.enter_context(self._started(plan.m_words[-1]))
            self._group.ask_all({"do": "wait"})
        except BaseException:
            self._stack.close()
            raise

    def _started(self, words: int) -> Group:
        cpus = self._plan.cpus
        count = len(cpus)
        if self._plan.over == "mpi":
            return Group("apex-mpi", [(cpu, words) for cpu in cpus], mpi=True)
        shared = -1
        if count > 1:
            shared = os.memfd_create("apexmap")
            self._stack.callback(os.close, shared)
            os.ftruncate(shared, 2 * words * WORD_BYTES)
        rows = [(cpu, rank, count, words, shared) for rank, cpu in enumerate(cpus)]
        return Group("apex", rows, inherited=[[shared]] * count if count > 1 else None)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def visit(self, cell: Cell, *key: int) -> tuple[tuple[float, ...], int]:
        """Read a cell once, all processes at the same time.

        Parameters
        ----------
        key
            What the draws are for; each process adds its own number.

        Returns
        -------
        tuple
            Seconds per word of each process, CPU seconds or by MPI wall seconds; how often they lost their PE.

        Raises
        ------
        CalibrationError
            If a process ends or does not answer.
        """
        over = self._plan.over
        draw = {"do": "draw", "cell": asdict(cell), "stretches": cell.stretches(over)}
        ranks = range(len(self._plan.cpus))
        self._group.ask({rank: draw | {"key": [self._plan.seed, *key, rank]} for rank in ranks})
        read = {
            "do": "read",
            "length": cell.length,
            "repeats": cell.repeats(over),
            "warm_words": min(cell.m_words, self._warm_words),
        }
        answers = self._group.ask_all(read)
        return tuple(answer["word_s"] for answer in answers), sum(answer["switches"] for answer in answers)

    def vectors(self, m_words: int, *, times: int) -> tuple[float, float]:
        """Sweep M words by vector loops, the first process alone.

        Returns
        -------
        tuple
            CPU seconds of a word that is read, and of a pair of words, one read and one written.

        Raises
        ------
        CalibrationError
            If the process ends or does not answer.
        """
        answer = self._group.ask({0: {"do": "sweep", "m_words": m_words, "times": times}})[0]
        return answer["read_s"], answer["pair_s"]


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
            with readers_of(plan, machine) as readers:
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


def readers_of(plan: SweepPlan, machine: Machine) -> Readers:
    """The processes of a plan on this machine."""
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
