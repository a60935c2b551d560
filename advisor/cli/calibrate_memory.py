"""`apportion calibrate memory`: a model of the memory hierarchy from measured times per word."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import simulator
from advisor.cli.declared import option
from advisor.cli.inputs import INPUT
from advisor.cli.models import memory_blocks
from advisor.cli.options import (
    REAL,
    PinnedTo,
    Seed,
    budget_left,
    file,
    partial_of,
)
from advisor.cli.outputs import finish
from advisor.cli.progress import of_time
from simulator import calibration, files, units

BUDGET = "60s"
VECTORS = 0.1
"""What vector loops may take, as a share of the budget."""
ENDING_S = 2.0
"""What the fits take."""


@dataclass(frozen=True)
class Sweep:
    """What is swept on this machine, and for how long."""

    budget: str | None = option("What it may take in all, by default 60s; vector loops get a tenth.", REAL)
    max_memory: str | None = option(
        "Memory to take, such as 2GiB or 10%; by default a quarter of what is available.", REAL
    )
    cpu: Annotated[PinnedTo, REAL] = None
    table: Path | None = option("Write the medians here, as --replay reads them.", REAL, metavar="TABLE.csv")
    seed: Annotated[Seed, REAL] = 0


@dataclass(frozen=True)
class Table:
    """A recorded table in its place."""

    replay: Path | None = option(
        "A recorded table M_words,alpha,L,time_per_word_s to fit.", metavar="TABLE.csv", **INPUT
    )


def memory(
    given: Table,
    sweep: Sweep,
    swept: Path | None = option(
        "A measured kernel (triad, matmul) whose speeds say what swept words take, in place of vector loops.",
        metavar="SPEED.json",
        **INPUT,
    ),
    output: Path | None = file("MODEL.json", "the model"),
) -> None:
    """Fit Apex-MAP's models of the memory hierarchy, level sizes too, and choose how many levels the times support.

    Without a table Apex-MAP is really run here: every measurement is on disk at once, and interrupted or killed, the
    same command goes on where it was. Cells (M, alpha, L) are left out of the fits in turn, which judges them.

    Example: apportion calibrate memory --replay table.csv -o memory.json
    """
    if given.replay is None:
        store = partial_of(output, "calibrate-memory")
        _finish(*_measure(sweep, swept, store), output)
        files.remove(store)
        return
    sweeps = None if swept is None else calibration.swept_by_kernel(swept)
    _finish(calibration.fit_memory_table(given.replay, sweeps=sweeps).file, [], output)


def _finish(found: "calibration.MemoryFile", more: Sequence[str], output: Path | None) -> None:
    document = found.to_dict()
    finish(document, memory_blocks(found, *more), output, write=partial(files.write_json, document=document))


def _measure(asked: Sweep, swept: Path | None, store: Path) -> "tuple[calibration.MemoryFile, list[str]]":
    """Measure and fit; every visit is kept in the store."""
    known = None if swept is None else calibration.swept_by_kernel(swept)
    firm = asked.budget is not None  # on a busy machine the default one may take longer, and is no reason to refuse
    machine = simulator.this_machine()
    plan = calibration.make_sweep(machine, max_memory=asked.max_memory, cpu=asked.cpu, seed=asked.seed)
    with budget_left(asked.budget or BUDGET, ending_s=ENDING_S) as left_s, calibration.kept(store, "visits"):
        budget_s = (1 - VECTORS) * left_s
        on_progress = of_time(budget_s)
        sweep = calibration.measure_sweep(
            plan, machine=machine, budget_s=budget_s, store=store, on_progress=on_progress, firm=firm
        )
        if asked.table is not None:
            calibration.write_sweep_table(sweep.cells, asked.table)
        sweeps = known or calibration.measure_vectors(plan, machine, budget_s=VECTORS * left_s, on_progress=on_progress)
        return calibration.fit_sweep(sweep, machine, sweeps=sweeps), _swept(sweep)


def _swept(sweep: Any) -> list[str]:
    """What was measured."""
    spread = sorted(cell.spread for cell in sweep.cells)[len(sweep.cells) // 2]
    took = f"{len(sweep.cells)} cells (M, alpha, L), {sweep.visits} visits in {units.show_duration(sweep.spent_s)}"
    known = [f"{sweep.reused} of the visits were made before and not again"] if sweep.reused else []
    return [f"{took}; quartiles of a cell's visits {spread:.0%} apart (median)", *known]
