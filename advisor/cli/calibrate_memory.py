"""`apportion calibrate memory`: a model of the memory hierarchy from measured times per word."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

import simulator
from advisor.cli.declared import only_with, only_without, option
from advisor.cli.inputs import INPUT
from advisor.cli.options import (
    PinnedTo,
    Seed,
    file,
    gave_json,
    print_warnings,
    read_budget,
    read_number,
    stated_budget,
)
from advisor.cli.outputs import finish
from advisor.cli.progress import progress_lines
from simulator import calibration, files, units

# `apportion calibrate memory` without a table: Apex-MAP is measured here, fitted, and judged on cells held out.


REAL = only_without("replay", why="where nothing is measured")
BUDGET = "60s"
VECTORS = 0.1
"""What vector loops may take, as a share of the budget."""
ENDING_S = 2.0
"""What the fits take."""


def tell(measured: "calibration.MeasuredMemory") -> None:
    """What was measured, and every model's errors on the cells held out."""
    sweep, judged = measured.sweep, measured.judged
    spread = sorted(cell.spread for cell in sweep.cells)[len(sweep.cells) // 2]
    print(
        f"{len(sweep.cells)} cells (M, alpha, L), {sweep.visits} visits in {units.show_duration(sweep.spent_s)}; "
        f"quartiles of a cell's visits {spread:.0%} apart (median)"
    )
    if sweep.reused:
        print(f"{sweep.reused} of the visits were made before and not again")
    print(f"{int(judged.held_out.sum())} cells held out at random, seen by no fit:")
    print(f"{'model':<36}{'mean':>8}{'max':>8}")
    for one in judged.judged:
        mark = "  chosen" if one is judged.chosen else "" if one.physical else "  not physical"
        print(f"{one.name:<36}{one.mean:>8.1%}{one.max:>8.1%}{mark}")
    print_warnings(measured.warnings)


def _numbers(text: str, field: str) -> tuple[float, ...]:
    return tuple(read_number(part, field) for part in text.split(","))


Swept = Annotated[
    Path | None,
    typer.Option(
        metavar="SPEED.json",
        help="A measured kernel (triad, matmul) whose speeds say what swept words take, in place of vector loops.",
        **INPUT,
    ),
]


@dataclass(frozen=True)
class Sweep:
    """What is swept on this machine, and for how long."""

    budget: str | None = option("What it may take in all, by default 60s; vector loops get a tenth.", REAL)
    max_memory: str | None = option(
        "Memory to take, such as 2GiB or 10%; by default a quarter of what is available.", REAL
    )
    alpha: str | None = option("Localities; by default 0.001,0.01,0.1,0.25,0.5,1.", REAL)
    length: str | None = option("L in words; by default 1,4,16,64,256,1024,4096.", REAL)
    cpu: Annotated[PinnedTo, REAL] = None
    table: Path | None = option("Write the medians here, as --replay reads them.", REAL, metavar="TABLE.csv")
    seed: Annotated[Seed, REAL] = 0


@dataclass(frozen=True)
class Table:
    """A recorded table in its place."""

    replay: Path | None = option(
        "A recorded table M_words,alpha,L,time_per_word_s to fit.", metavar="TABLE.csv", **INPUT
    )
    compare: bool = option(
        "Compare fitted capacities with what this system reports.",
        only_with("replay", why="where this machine is compared with anyway"),
        names=("--compare-with-this-machine",),
    )


def memory(
    given: Table, sweep: Sweep, swept: Swept = None, output: Path | None = file("MODEL.json", "the model")
) -> None:
    """Fit Apex-MAP's models of the memory hierarchy, level sizes too, and choose how many levels the times support.

    Without a table Apex-MAP is really run here: every measurement is on disk at once, and interrupted or killed, the
    same command goes on where it was. One cell (M, alpha, L) in five is kept from the fits and judges them.

    Example: apportion calibrate memory --replay table.csv -o memory.json
    """
    if given.replay is None:
        _tell_measured(_measure(sweep, swept, output), output)
        return
    sweeps = None if swept is None else calibration.swept_by_kernel(swept)
    machine = simulator.this_machine() if given.compare else None
    fitted = calibration.fit_memory_table(given.replay, machine=machine, sweeps=sweeps)
    document = fitted.to_dict() | {"command": "calibrate memory"}
    write = None if output is None else partial(calibration.save_memory_model, fitted, output)
    finish(document, lambda: _tell(fitted), write=write, said=f"model written to {output}")


def _measure(asked: Sweep, swept: Path | None, output: Path | None) -> "calibration.MeasuredMemory":
    """Measure, fit, and write what was asked for."""
    known = None if swept is None else calibration.swept_by_kernel(swept)
    budget_s = (1 - VECTORS) * read_budget(asked.budget or BUDGET, ending_s=ENDING_S)
    firm = asked.budget is not None  # on a busy machine the default one may take longer, and is no reason to refuse
    machine, lists = (
        simulator.this_machine(),
        {"alphas": (asked.alpha, "--alpha"), "lengths": (asked.length, "--length")},
    )
    numbers: Any = {name: _numbers(text, field) for name, (text, field) in lists.items() if text is not None}
    plan = calibration.make_sweep(machine, max_memory=asked.max_memory, cpu=asked.cpu, seed=asked.seed, **numbers)
    store = Path("calibrate-memory.partial") if output is None else output.with_name(f"{output.name}.partial")
    given = stated_budget(asked.budget or BUDGET, budget_s)
    with calibration.kept(store, "visits"), progress_lines(budget_s) as on_progress, given:
        sweep = calibration.measure_sweep(
            plan, machine=machine, budget_s=budget_s, store=store, on_progress=on_progress, firm=firm
        )
        if asked.table is not None:
            calibration.write_sweep_table(sweep.cells, asked.table)
        sweeps = known or calibration.measure_vectors(
            plan, machine, budget_s=VECTORS / (1 - VECTORS) * budget_s, on_progress=on_progress
        )
        measured = calibration.fit_sweep(sweep, machine, sweeps=sweeps)
        if output is not None:
            files.write_json(output, measured.to_dict())
    files.remove(store)
    return measured


def _tell_measured(measured: "calibration.MeasuredMemory", output: Path | None) -> None:
    if gave_json(measured.to_dict() | {"command": "calibrate memory"}):
        return
    _tell(measured.judged.fit, ends=False)
    tell(measured)
    _tell_verdict(measured.judged.chosen.mean)
    if output is not None:
        print(f"model written to {output}")


def _tell_verdict(error: float | None) -> None:
    from advisor import wording

    print(wording.verdict(wording.WORDS, error, by="in the mean, on cells that it was not fitted to"))


def _tell(fitted: "calibration.MemoryFit", *, ends: bool = True) -> None:
    document = fitted.to_dict()
    print(f"{len(fitted.selection.points)} times per word; relative errors of the fit, and of points held out from it")
    print(f"{'model':<36}{'mean':>8}{'max':>8}{'held out':>10}{'max':>8}{'SSE in s^2':>12}  physical")
    for entry in document["models"]:
        held = _share(entry["held_out_mean"], 10) + _share(entry["held_out_max"], 8)
        print(
            f"{entry['name']:<36}{_share(entry['mean_relative_error'], 8)}{_share(entry['max_relative_error'], 8)}"
            f"{held}{entry['sse']:>12.3g}  {'yes' if entry['physical'] else 'no'}"
        )
    print(f"chosen: {document['chosen']}")
    _tell_levels(next(entry for entry in document["models"] if entry["name"] == document["chosen"]))
    for one in document["comparison"]:
        print(_compared(one))
    for entry in document["models"]:
        for fault in entry["faults"]:
            print(f"not physical: {entry['name']}: {fault}")
    print_warnings(document["warnings"])
    if ends:
        chosen = next(entry for entry in document["models"] if entry["name"] == document["chosen"])
        _tell_verdict(chosen["held_out_mean"])


def _tell_levels(chosen: dict[str, Any]) -> None:
    print(f"{'level':>7}{'capacity':>24}{'latency':>24}{'gap':>24}")
    for k, level in enumerate(chosen["parameters"], 1):
        capacity, error = level["capacity_bytes"], level["capacity_bytes_error"]
        size = "the rest" if capacity is None else f"{_size(capacity)} {_error(capacity, error)}"
        latency, gap = (
            f"{1e9 * level[name]:.3g} ns {_error(level[name], level[name + '_error'])}"
            for name in ("latency_s", "gap_s")
        )
        print(f"{k:>7}{size:>24}{latency:>24}{gap:>24}")


def _compared(one: dict[str, Any]) -> str:
    near = one["nearest_fitted_bytes"]
    says = "no fitted capacity" if near is None else f"nearest fitted {_size(near)}"
    alike = ", within a factor of 2" if one["agrees"] else ""
    return f"{one['name']}: the system reports {_size(one['reported_bytes'])}, {says}{alike}"


def _size(size_bytes: float) -> str:
    return units.show_size(round(size_bytes))


def _share(value: float | None, width: int) -> str:
    return f"{'-' if value is None else format(value, '.1%'):>{width}}"


def _error(value: float, error: float | None) -> str:
    if error is None:
        return "(not determined)"
    return f"+-{error / value:.0%}" if value else f"+-{error:.2g}"
