"""Tables in the place of runs, and a finished model against pairs that are measured after it was frozen."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from simulator.base import files
from simulator.base.errors import ScenarioError
from simulator.base.machine import Machine, this_machine
from simulator.base.provenance import provenance
from simulator.base.randomness import stream
from simulator.calibration.bench.campaign import Progress, no_progress
from simulator.calibration.kernels.table import SIZED_KERNELS
from simulator.calibration.neighbours.campaign import (
    MeasuredNeighbours,
    NeighboursWishes,
    measure_neighbour_visits,
)
from simulator.calibration.neighbours.plan import MEMORY_SHARE, CellPlan, Item, command_name
from simulator.calibration.speed.subjects import KernelSubject, Subject
from simulator.models.neighbours_file import NeighboursModel, errors_of, fit_neighbours, read_visits
from simulator.models.neighbours_fit import COMPUTES, Computation, Proposed, Together, cells_of

_PAIRS = 24
"""Pairs drawn for a check, at most."""
_SIZES = 2
"""Sizes drawn of each kernel."""


def replay_neighbours(table: Path, *, caches: Sequence[tuple[str, float]] = (), seed: int = 0) -> NeighboursModel:
    """Fit a recorded table of visits; the same table gives the same bits.

    Parameters
    ----------
    caches
        Name and bytes of each cache that all PEs of the table's machine share.

    Raises
    ------
    ScenarioError
        If the table cannot be used.
    """
    visits = read_visits(table)
    count = max(max((*visit.pes, len(visit.beside))) + 1 for visit in visits)
    if count < 2:
        raise ScenarioError(f"{table}: no row has anything beside its subject; add at least one")
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
    for one in {one for visit in visits for one in (visit.subject, *visit.beside)}:
        kernel = SIZED_KERNELS.get(one.kernel)
        if one.kernel == COMPUTES:
            found[one] = 0.0
        elif kernel is not None and kernel.memory_bytes is not None:
            found[one] = float(kernel.bytes_of(kernel.n_of(one.size)))
    return found


def judge_neighbours(
    model: NeighboursModel,
    wishes: NeighboursWishes,
    *,
    budget_s: float,
    on_progress: Progress = no_progress,
) -> dict[str, Any]:
    """Measure random pairs of random sizes of the model's kernels, and say how far it is off.

    Raises
    ------
    ScenarioError
        If the budget is too small, or nothing that the model knows can be run here.
    """
    items = _drawn_items(model, wishes, this_machine())
    chosen = measure_neighbour_visits(
        wishes,
        budget_s=budget_s,
        on_progress=on_progress,
        make_plan=lambda found, count: _drawn_cells(found, count, wishes.seed),
        items=(items, []),
    )
    return judged_document(model, chosen)


def judged_document(model: NeighboursModel, measured: MeasuredNeighbours) -> dict[str, Any]:
    """Errors of a model on what was measured, and each pair."""
    cells = cells_of(measured.visits)
    pairs = [cell for cell in cells if not cell.is_copies]
    predicted = np.array([1 / model.kept(cell.subject, cell.beside, pes=cell.pes) for cell in pairs])
    rows = [
        cell.to_dict() | {"predicted": float(value), "measured_twice": cell.twice}
        for cell, value in zip(pairs, predicted, strict=True)
    ]
    return {
        "kind": "neighbours check",
        "errors": errors_of(pairs, predicted, all_cells=cells),
        "pairs": rows,
        "warnings": list(measured.warnings),
    }


def _drawn_items(model: NeighboursModel, wishes: NeighboursWishes, machine: Machine) -> list[Item]:
    """Two random sizes of each kernel of the model that can be run here, within the sizes that it knows."""
    commands = {command_name(subject): number for number, subject in enumerate(wishes.commands)}
    known: dict[str, list[float]] = {}
    for cell in model.cells:
        known.setdefault(cell["subject"], []).append(float(cell["size_elements"]))
    names = [name for name in model.kernels if (name in SIZED_KERNELS or name in commands) and name != COMPUTES]
    if not names:
        raise ScenarioError("--against: no kernel that this model knows can be run here; --command gives commands")
    allowed = MEMORY_SHARE * machine.memory_available_bytes / (2 * len(wishes.cpus) * _SIZES * len(names))
    draws, items = stream(wishes.seed, "neighbours", "against"), []
    for name in names:
        number = commands.get(name)
        subject: Subject = KernelSubject(SIZED_KERNELS[name]) if number is None else wishes.commands[number]
        sizes = known.get(name, [2.0**14])
        low, high = np.log(max(1.0, min(sizes) / 2)), np.log(max(sizes))
        for value in np.exp(low + (high - low) * draws.random(_SIZES)):
            n = subject.n_of(min(float(value), allowed / 8))
            size = subject.size(n)
            items.append(Item(name, n, size, subject.bytes_of(n), subject.volume(n), "kernel", number))
    return list({(item.kernel, item.n): item for item in items}.values())


def _drawn_cells(items: list[Item], pe_count: int, seed: int) -> list[CellPlan]:
    """Random pairs, and on all PEs copies of what they are made of, for the answer `all busy`."""
    draws = stream(seed, "neighbours", "pairs")
    usable = [number for number, item in enumerate(items) if item.inner]
    every = [(one, other) for one in usable for other in usable if one != other]
    chosen = [every[place] for place in draws.permutation(len(every))[:_PAIRS]]
    cells = [CellPlan(pair, (0, 1), 0 if place < 4 else 1) for place, pair in enumerate(chosen)]
    whole = tuple(range(pe_count))
    return cells + [CellPlan((one,) * pe_count, whole, 1) for one in dict.fromkeys(pair[0] for pair in chosen)]
