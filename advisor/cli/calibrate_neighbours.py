"""`apportion calibrate neighbours`: what computations on this machine lose to each other."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated

from advisor.cli.declared import only_with, option
from advisor.cli.inputs import INPUT
from advisor.cli.models import neighbours_blocks
from advisor.cli.options import REAL, Seed, budget_left, file, named_values, partial_of
from advisor.cli.outputs import finish
from advisor.cli.progress import of_time_here
from simulator import ScenarioError, calibration, files, units

BUDGET = "3min"
ENDING_S = 0.5
"""What the fit takes."""


@dataclass(frozen=True)
class Visits:
    """Which computations are measured together, and for how long."""

    kernel: list[str] | None = option(
        "A kernel measured together with the probes; repeatable; by default six of ours.", REAL
    )
    command: list[str] | None = option("A command line measured too; {n} stands for its parameter. Repeatable.", REAL)
    size: list[str] | None = option("Of each --command: elements stored and processed, such as 3*n**2.", REAL)
    volume: list[str] | None = option("Of each --command: volume of computation, such as 2*n**3.", REAL)
    budget: str | None = option("Time for everything that is run, by default 3min.", REAL)
    table: Path | None = option("Write the visits here, as --replay reads them.", REAL, metavar="TABLE.csv")
    seed: Annotated[Seed, REAL] = 0


@dataclass(frozen=True)
class Table:
    """A recorded table in their place."""

    replay: Path | None = option(
        "A table subject,size_elements,beside,lone_s,together_s[,pass][,pes] to fit.", metavar="TABLE.csv", **INPUT
    )
    cache: list[str] | None = option(
        "A cache that all PEs share, such as L3=32MiB. Repeatable.", only_with("replay"), metavar="NAME=SIZE"
    )


def neighbours(given: Table, visits: Visits, output: Path | None = file("MODEL.json", "the model")) -> None:
    """Measure computations alone and together, and find what PEs share: cores, caches, memory, clocks.

    Every visit is on disk at once: interrupted or killed, the same command goes on where it was. What the system tells
    of sharing is checked; where no interaction can be shown there is no domain, and the model says up to which effect.

    Example: apportion calibrate neighbours --budget 3min -o neighbours.json
    """
    if given.replay is not None:
        known = partial(units.parse, units=units.SIZE, field="--cache")
        caches = named_values(given.cache or (), "--cache", "NAME=SIZE, such as L3=32MiB", known)
        model = calibration.replay_neighbours(given.replay, caches=[*caches.items()], seed=visits.seed)
        _finish(model, output)
        return
    store, wishes = partial_of(output, "calibrate-neighbours"), _wishes(visits)
    with budget_left(visits.budget or BUDGET, ending_s=ENDING_S) as budget_s, calibration.kept(store, "visits"):
        said = of_time_here(budget_s, "runs")
        measured = calibration.measure_neighbour_visits(wishes, budget_s=budget_s, store=store, on_progress=said)
        if visits.table is not None:
            files.write_text(visits.table, calibration.visits_table(measured.visits))
        model = calibration.fit_neighbour_visits(measured)
    _finish(model, output)
    files.remove(store)


def _wishes(visits: Visits) -> "calibration.NeighboursWishes":
    """What to measure on this machine."""
    lines, sizes, volumes = visits.command or [], visits.size or [], visits.volume or []
    if not len(lines) == len(sizes) == len(volumes):
        found = f"{len(lines)} --command, {len(sizes)} --size and {len(volumes)} --volume"
        raise ScenarioError(f"--command: {found} do not belong together; give one --size and one --volume for each")
    commands = list(zip(lines, sizes, volumes, strict=True))
    return calibration.neighbours_wishes(kernels=visits.kernel, commands=commands, seed=visits.seed)


def _finish(model: "calibration.NeighboursModel", output: Path | None) -> None:
    document = model.to_dict()
    finish(document, neighbours_blocks(document), output, write=partial(calibration.save_neighbours, model))
