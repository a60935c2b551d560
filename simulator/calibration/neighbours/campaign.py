"""A campaign: cells visited in passes of random order until the budget is spent, every visit on disk at once."""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from simulator.base import files
from simulator.base.errors import ScenarioError
from simulator.base.machine import Topology, require_linux, this_machine, this_topology
from simulator.base.provenance import provenance
from simulator.base.randomness import stream
from simulator.calibration.bands.levels import AtOnce, who_share
from simulator.calibration.bench import visits
from simulator.calibration.bench.campaign import Budget, BudgetTooShortError, Progress, no_progress, run_campaign
from simulator.calibration.bench.measurement import one_of
from simulator.calibration.bench.usage import Usage
from simulator.calibration.kernels.table import SIZED_KERNELS, sized_kernel
from simulator.calibration.neighbours.plan import (
    KERNELS,
    MEMORY_SHARE,
    CellPlan,
    Item,
    Plan,
    check_cores,
    make_cells,
    make_few_cells,
    make_items,
    proposals,
)
from simulator.calibration.neighbours.processes import Processes
from simulator.calibration.speed.subjects import CommandSubject, command_subject
from simulator.models.neighbours_file import NeighboursModel, fit_neighbours, read_visits
from simulator.models.neighbours_fit import COMPUTES, Computation, Proposed, Together

LEAST_BUDGET_S = 5.0
LEAST_PASSES, MOST_PASSES = 3, 60
SAMPLE_S = 0.1
"""How long a sample of a campaign of minutes lasts at least."""
BUSY = 0.97
"""CPU over wall seconds below which other programs disturbed a sample."""
_TRIES = 2
_BUSY_VISITS = 0.2
"""Share of visits disturbed above which a machine is called busy."""
_OVERHEAD_S = 0.06
_SWITCHES_PER_S = 50.0
"""Involuntary ones of a command that sleeps above which others disturbed it: its wall seconds tell nothing."""
_SLEEPS, _SLEEPS_PER_S = 20, 50.0
"""Voluntary switches of a run, and more for each second, above which a command sleeps."""


@dataclass(frozen=True)
class NeighboursWishes:
    """What is to be measured."""

    cpus: tuple[int, ...]
    kernels: tuple[str, ...] = KERNELS
    commands: tuple[CommandSubject, ...] = ()
    seed: int = 0
    small: bool = False
    """For seconds in the place of minutes."""

    @property
    def sample_s(self) -> float:
        """How long a sample lasts at least."""
        return SAMPLE_S / 2 if self.small else SAMPLE_S

    @property
    def least_passes(self) -> int:
        """Fewest visits to a cell."""
        return LEAST_PASSES - 1 if self.small else LEAST_PASSES

    @property
    def pilot_share(self) -> float:
        """Share of the budget after which no further computation is begun with."""
        return 0.6 if self.small else 0.4

    @property
    def subject(self) -> Mapping[str, object]:
        """What makes two campaigns the same, as plain data."""
        return vars(self) | {"commands": [command.workload.to_dict() for command in self.commands]}


@dataclass(frozen=True)
class Visit(visits.Visit):
    """One visit to a cell."""

    pes: tuple[int, ...]
    lone_s: float
    together_s: float
    disturbed: float
    """Wall over CPU seconds, less 1, of the sample that others disturbed most; 0 if none was."""
    tries: int
    began_s: float = 0.0
    """Seconds since 1970."""
    each_s: tuple[float, ...] = ()
    """CPU seconds of a run on each of its PEs, where all compute the same."""

    @property
    def times_s(self) -> tuple[float, ...]:
        """See `visits.Visit`."""
        return self.lone_s, self.together_s, self.disturbed, *self.each_s


Visits = visits.Visits[Visit]


@dataclass(frozen=True)
class MeasuredNeighbours:
    """A finished campaign."""

    visits: tuple[Together, ...]
    plan: Plan
    wishes: NeighboursWishes
    spent_s: float
    reused: int
    warnings: tuple[str, ...]
    made: int
    disturbed: int
    again: int
    footprints: Mapping[Computation, float] = field(default_factory=dict)

    @property
    def is_busy(self) -> bool:
        """Whether other programs disturbed so many visits that all of it is in doubt."""
        return self.disturbed > _BUSY_VISITS * max(1, self.made)


def measure_neighbour_visits(
    wishes: NeighboursWishes,
    *,
    budget_s: float,
    store: Path | None = None,
    on_progress: Progress = no_progress,
    make_plan: Callable[[list[Item], int], list[CellPlan]] | None = None,
    items: tuple[list[Item], list[str]] | None = None,
    most_passes: int = MOST_PASSES,
) -> MeasuredNeighbours:
    """Measure, or go on with what was broken off.

    `budget_s` are wall seconds for everything, visits of earlier calls included; `make_plan` and `items` say which
    cells of which items, by default those of a calibration.
    """
    if budget_s < LEAST_BUDGET_S:
        raise BudgetTooShortError(budget_s, LEAST_BUDGET_S, (" for processes to start", ""))
    begin_s, machine = time.monotonic(), this_machine()
    count = len(wishes.cpus)
    made, notes = items or make_items(
        machine, pe_count=count, kernels=wishes.kernels, commands=wishes.commands, small=wishes.small
    )
    kept = Visits(store, Visit, name="neighbours", subject=wishes.subject, machine=machine, plan_kind=Plan)
    plan: Plan | None = kept.plan
    budget = Budget(budget_s, kept.spent_s, begin_s)
    known = made if plan is None else list(plan.items)
    memory = int(MEMORY_SHARE * machine.memory_available_bytes)
    with kept.journal, Processes(wishes.cpus, known, wishes.commands, memory_bytes=memory) as processes:
        if plan is None:
            pilot = _pilot(processes, made, wishes, budget_s, lambda share: on_progress("sizes", share * 0.1))
            cells = (make_plan or (make_few_cells if wishes.small else make_cells))(pilot[0], count)
            plan = _affordable(pilot, cells, wishes, budget, notes)
            kept.keep_plan(plan)
        _spend(processes, kept, plan, budget, seed=wishes.seed, most=most_passes, on_progress=on_progress)
    return _summed(kept, plan, wishes)


def _pilot(
    processes: Processes, items: list[Item], wishes: NeighboursWishes, budget_s: float, tell: Callable[[float], None]
) -> tuple[list[Item], list[str]]:
    """Items with how long a run takes and how many make a sample; those that take too long are left out and named."""
    cap_s, kept, notes, begin = max(0.2, budget_s / 90), [], [], time.monotonic()
    slow: dict[str, float] = {}
    for number, item in enumerate(items):
        tell(number / len(items))
        if item.role == "kernel" and time.monotonic() - begin > wishes.pilot_share * budget_s:
            notes.append(f"{item.computation.label}: left out: the budget has no time to begin with it")
            continue
        if item.role == "kernel" and slow.get(item.kernel, 0.0) * item.volume > cap_s:
            notes.append(f"{item.computation.label}: left out: a run takes more than the budget has for it")
            continue
        processes.prepare(number, 0, 1)
        once = processes.sample(number, 0, 1)
        inner = max(1, math.ceil(wishes.sample_s / max(once.wall_s, 1e-6)))
        if inner > 1:  # the first run was slower than those that follow
            switches = once.voluntary_switches
            once = replace(one_of(processes.sample(number, 0, inner), inner), voluntary_switches=switches)
            inner = max(1, math.ceil(wishes.sample_s / max(once.wall_s, 1e-6)))
        slow[item.kernel] = once.wall_s / item.volume
        if item.role == "kernel" and once.wall_s > cap_s:
            notes.append(f"{item.computation.label}: left out: a run takes more than the budget has for it")
            continue
        sleeps = item.command is not None and once.voluntary_switches > _SLEEPS + _SLEEPS_PER_S * once.wall_s
        kept.append((number, replace(item, inner=inner, once_s=once.wall_s, sleeps=sleeps)))
    measured = dict(kept)
    return [measured.get(number, replace(item, inner=0)) for number, item in enumerate(items)], notes


def _affordable(
    pilot: tuple[list[Item], list[str]],
    cells: list[CellPlan],
    wishes: NeighboursWishes,
    budget: Budget,
    notes: list[str],
) -> Plan:
    """Cells for which the budget has the fewest visits, those of the lowest rank first."""
    items, left_out = pilot
    usable = [cell for cell in cells if all(items[number].inner for number in cell.items)]
    ordered = sorted(usable, key=lambda cell: cell.rank)
    costs = np.cumsum([wishes.least_passes * _cost_s(items, cell, wishes.sample_s) for cell in ordered])
    left_s = budget.limit_s - budget.spent_s
    first = sum(cell.rank == 0 for cell in ordered)
    if first == 0:
        raise budget.refusal(2 * budget.limit_s, "a first run of each probe")
    if costs[first - 1] > left_s:
        purpose = f"{wishes.least_passes} visits to each of the {first} cells of the probes"
        raise budget.refusal(1.3 * (budget.spent_s + costs[first - 1]), purpose)
    count = int(np.searchsorted(costs, 0.95 * left_s, side="right"))
    count = max(count, first)
    if count < len(ordered):
        left_out = [
            *left_out,
            f"{len(ordered) - count} of {len(ordered)} cells left out: the budget has no time for them",
        ]
    return Plan(tuple(items), tuple(ordered[:count]), (*notes, *left_out))


def _cost_s(items: Sequence[Item], cell: CellPlan, sample_s: float) -> float:
    own = items[cell.items[0]]
    longest = max(items[number].once_s for number in cell.items)
    return 2 * max(sample_s, own.once_s) * 1.2 + longest + 2 * own.once_s + _OVERHEAD_S


def _spend(
    processes: Processes, kept: Visits, plan: Plan, budget: Budget, *, seed: int, most: int, on_progress: Progress
) -> None:
    def sample(index: int, number: int) -> None:
        on_progress(f"pass {number + 1}", min(1.0, 0.1 + 0.9 * budget.share))
        lone_first = bool(stream(seed, "neighbours", "lone first", number, index).random() < 0.5)
        kept.keep(_visit(processes, plan, index, number=number, lone_first=lone_first))

    passes = kept.passes(len(plan.cells), most=most, seed=seed)
    run_campaign(passes, sample, budget=budget, least=1, journal=kept.journal)


def _visit(processes: Processes, plan: Plan, index: int, *, number: int, lone_first: bool) -> Visit:
    """A computation alone and with the others, in one or the other order; again if other programs disturbed it."""
    cell, started = plan.cells[index], time.monotonic()
    pes = cell.pes[::-1] if len(cell.pes) == 2 and number % 2 else cell.pes
    best: Visit | None = None
    began_s, each_s = time.time(), tuple[float, ...]()
    for tries in range(1, _TRIES + 1):
        times, disturbed = [0.0, 0.0], 0.0
        for together in (False, True) if lone_first else (True, False):
            seconds, lost = _sampled(processes, plan, cell, pes, together=together)
            times[together], disturbed = seconds, max(disturbed, lost)
            if together and len(set(cell.items)) == 1 and len(processes.run_s) + 1 == len(pes):
                each_s = seconds, *(processes.run_s[pe] for pe in pes[1:])
        cost_s = time.monotonic() - started
        if best is None or disturbed < best.disturbed:
            best = Visit(number, index, cost_s, pes, times[0], times[1], disturbed, tries, began_s, each_s)
        best = replace(best, tries=tries, cost_s=cost_s)
        if not disturbed:
            break
    if best is None:
        raise TypeError("no try was made")
    return best


def _sampled(
    processes: Processes, plan: Plan, cell: CellPlan, pes: tuple[int, ...], *, together: bool
) -> tuple[float, float]:
    """Seconds of one run, and wall over CPU seconds less 1 where that says that others were there."""
    own, item = cell.items[0], plan.items[cell.items[0]]
    processes.prepare(own, pes[0])
    others = list(zip(cell.items[1:], pes[1:], strict=True)) if together else []
    with processes.running(others) as neighbours:
        if item.inner > 2:
            processes.sample(own, pes[0], 1)
        used = processes.sample(own, pes[0], item.inner)
    worst = max([_disturbance(used, sleeps=item.sleeps), *(_disturbance(one) for one in neighbours)])
    seconds = used.wall_s if item.sleeps else used.cpu_s
    return max(seconds, 1e-9) / item.inner, worst


def _disturbance(used: Usage, *, sleeps: bool = False) -> float:
    if sleeps:
        return 0.1 if used.involuntary_switches > _SWITCHES_PER_S * max(used.wall_s, 0.1) else 0.0
    lost = used.wall_s / max(used.cpu_s, 1e-9) - 1
    return lost if used.cpu_s < BUSY * used.wall_s else 0.0


def _summed(kept: Visits, plan: Plan, wishes: NeighboursWishes) -> MeasuredNeighbours:
    """Visits that nobody disturbed; of cells that were never visited without, all, which is said."""
    clean = {visit.cell for visit in kept.made if not visit.disturbed}
    used = [visit for visit in kept.made if not visit.disturbed or visit.cell not in clean]
    hurt = [visit for visit in kept.made if visit.disturbed]
    again = sum(visit.tries - 1 for visit in kept.made)
    warnings = [*kept.journal.warnings, *plan.notes]
    if hurt:
        left = len(kept.made) - len(used)
        if len(hurt) > _BUSY_VISITS * len(kept.made):
            warnings.append("a busy machine: end other work and measure again before this is trusted")
        warnings.append(f"{len(hurt)} of {len(kept.made)} visits disturbed by other programs, {left} of them left out")
    warnings += who_share(_at_once(used, wishes.cpus))
    only = [visit for visit in used if visit.disturbed]
    if only:
        cells, lost = len({visit.cell for visit in only}), float(np.median([visit.disturbed for visit in only]))
        warnings.append(
            f"{cells} of {len(plan.cells)} cells rest on disturbed visits alone, in which others had about "
            f"{lost / (1 + lost):.0%} of a core: their ratios may be off by as much"
        )
    found = []
    for visit in used:
        first, *others = (plan.items[number].computation for number in plan.cells[visit.cell].items)
        found.append(Together(first, tuple(others), visit.lone_s, visit.together_s, visit.number, visit.pes))
    footprints = {item.computation: 0.0 if item.role == "computes" else float(item.bytes) for item in plan.items}
    return MeasuredNeighbours(
        tuple(found),
        plan,
        wishes,
        kept.spent_s,
        kept.reused,
        tuple(warnings),
        len(kept.made),
        len(hurt),
        again,
        footprints,
    )


def _at_once(visits: Sequence[Visit], cpus: Sequence[int]) -> AtOnce:
    """The runs of visits to cells in which all PEs compute the same."""
    rows = [
        (visit.cell + 1.0, pe, each_s, visit.began_s)
        for visit in visits
        if len(visit.each_s) == len(cpus)
        for pe, each_s in zip(visit.pes, visit.each_s, strict=True)
    ]
    cells, pes, each_s, began_s = np.array(rows, dtype=np.float64).reshape(-1, 4).T
    return AtOnce(cells, pes.astype(np.int64), each_s, began_s, tuple(f"cpu{cpu}" for cpu in cpus))


def fit_neighbour_visits(measured: MeasuredNeighbours, *, judge: bool = True) -> NeighboursModel:
    """The model of what was measured here.

    `judge`: the errors of what was not measured are judged by fits without a fifth of the cells.
    """
    wishes, topology = measured.wishes, _topology(measured.wishes.cpus)
    stream_bytes = [item.bytes for item in measured.plan.items if item.role == "memory"]
    rests_on = provenance(seed=wishes.seed, machine=this_machine()) | {
        "visits": len(measured.visits),
        "visits_reused": measured.reused,
        "visits_disturbed": measured.disturbed,
        "visits_again": measured.again,
        "busy_machine": measured.is_busy,
        "spent_s": measured.spent_s,
        "stream_bytes": stream_bytes,
    }
    return fit_neighbours(
        measured.visits,
        proposals(topology),
        pe_count=topology.pe_count,
        footprints=measured.footprints,
        warnings=measured.warnings,
        provenance=rests_on,
        judge=judge,
    )


def _topology(cpus: Sequence[int]) -> Topology:
    """The parts of this machine, with these processors as its cores."""
    topology = this_topology()
    return replace(topology, cores=tuple(core for core in topology.cores if core.cpu in set(cpus)))


def neighbours_wishes(
    *,
    kernels: Sequence[str] | None = None,
    commands: Sequence[tuple[str, str, str]] = (),
    seed: int = 0,
    cpus: Sequence[int] | None = None,
    small: bool = False,
) -> NeighboursWishes:
    """What is to be measured on this machine, checked.

    `kernels` are in addition to the probes, six of ours by default; each of `commands` is a line with `{n}` and
    formulas of its size and its volume; `cpus` are by default one of each core that may be used.
    """
    require_linux()
    topology = this_topology() if cpus is None else _topology(cpus)
    check_cores(topology)
    for name in kernels or ():
        sized_kernel(name)
    return NeighboursWishes(
        tuple(core.cpu for core in topology.pes),
        KERNELS if kernels is None else tuple(kernels),
        tuple(command_subject(line, size=size, volume=volume) for line, size, volume in commands),
        seed,
        small,
    )


# Tables in the place of runs.


def replay_neighbours(table: Path, *, caches: Sequence[tuple[str, float]] = (), seed: int = 0) -> NeighboursModel:
    """Fit a recorded table of visits; the same table gives the same bits.

    `caches` are name and bytes of each cache that all PEs of the table's machine share.
    """
    visits = read_visits(table)
    count = max(max((*visit.pes, len(visit.neighbours))) + 1 for visit in visits)
    if count < 2:
        raise ScenarioError(f"{table}: no row has a neighbour of its subject; add at least one")
    everyone = tuple(range(count))
    proposed = [Proposed("cache", name, everyone, capacity) for name, capacity in caches]
    proposed += [Proposed("memory", "memory", everyone), Proposed("clock", "clock", everyone)]
    rests_on = provenance(seed=seed, inputs={str(table): files.digest(files.read_bytes(table))})
    return fit_neighbours(
        visits, proposed, pe_count=count, footprints=_footprints(visits), provenance=rests_on | {"visits": len(visits)}
    )


def _footprints(visits: Sequence[Together]) -> dict[Computation, float]:
    """Bytes of what kernels of ours store; of anything else 8 for each element."""
    found = {}
    for one in {one for visit in visits for one in (visit.subject, *visit.neighbours)}:
        kernel = SIZED_KERNELS.get(one.kernel)
        if one.kernel == COMPUTES:
            found[one] = 0.0
        elif kernel is not None and kernel.memory_bytes is not None:
            found[one] = float(kernel.bytes_of(kernel.n_of(one.size)))
    return found
