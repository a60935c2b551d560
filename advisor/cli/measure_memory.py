"""`apportion calibrate memory` without a table: Apex-MAP is measured here, fitted, and judged on cells held out."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from advisor.cli.options import print_warnings, read_number

if TYPE_CHECKING:
    from simulator.calibration import MeasuredMemory

Budget = Annotated[
    str | None, typer.Option(help="Real runs: time for measuring, by default 60s; the fit comes after it.")
]
MaxMemory = Annotated[
    str | None,
    typer.Option(help="Real runs: memory to take, such as 2GiB or 10%; by default a quarter of what is available."),
]
Alpha = Annotated[str | None, typer.Option(help="Real runs: localities; by default 0.001,0.01,0.1,0.25,0.5,1.")]
Length = Annotated[str | None, typer.Option(help="Real runs: L in words; by default 1,4,16,64,256,1024,4096.")]
Processes = Annotated[
    int | None,
    typer.Option(min=1, help="Real runs: processes that read each other's memory, one per PE; else 1."),
]
Over = Annotated[str | None, typer.Option(help="Real runs: shared (memory) or mpi (one-sided; extra mpi).")]
Cpu = Annotated[int | None, typer.Option(min=0, help="Real runs: processor to pin to; by default the last core.")]
SweepTable = Annotated[
    Path | None,
    typer.Option("--table", metavar="TABLE.csv", help="Real runs: write the medians here, as --replay reads them."),
]
BUDGET = "60s"


def measure(options: dict[str, Any], *, table: Path | None, output: Path | None, seed: int) -> "MeasuredMemory":
    """Measure as the options say, fit, and write what was asked for; None stands for an option not given."""
    from advisor.cli.progress import progress_bar
    from simulator import files, this_machine, units
    from simulator.calibration import fit_sweep, make_sweep, measure_sweep, write_sweep_table

    budget_s = units.parse_duration(options["budget"] or BUDGET, field="--budget")
    firm = (
        options["budget"] is not None
    )  # on a busy machine the default one may take longer, and is no reason to refuse
    machine = this_machine()
    plan = make_sweep(
        machine,
        **{
            "max_memory": options["max_memory"],
            "processes": options["processes"] or 1,
            "over": options["over"] or "shared",
            "cpu": options["cpu"],
            "seed": seed,
        }
        | {name: _numbers(text, f"--{field}") for name, field, text in _lists(options) if text is not None},
    )
    store = Path("calibrate-memory.partial") if output is None else output.with_name(f"{output.name}.partial")
    with _kept(store), progress_bar(budget_s) as on_progress:
        sweep = measure_sweep(plan, machine=machine, budget_s=budget_s, store=store, on_progress=on_progress, firm=firm)
        if table is not None:
            write_sweep_table(sweep.cells, table)
        measured = fit_sweep(sweep, machine)
        if output is not None:
            files.write_json(output, measured.to_dict())
    files.remove(store)
    return measured


def tell(measured: "MeasuredMemory") -> None:
    """What was measured, and every model's errors on the cells held out."""
    from simulator import units

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


def _lists(options: dict[str, Any]) -> tuple[tuple[str, str, str | None], ...]:
    return (("alphas", "alpha", options["alpha"]), ("lengths", "length", options["length"]))


def _numbers(text: str, field: str) -> tuple[float, ...]:
    return tuple(read_number(part, field) for part in text.split(","))


@contextmanager
def _kept(store: Path) -> Iterator[None]:
    """Say, when the work ends early, where its visits are."""
    from simulator import CalibrationError, Interrupted, files
    from simulator.calibration import visits_kept

    try:
        with files.alone(store):
            yield
    except CalibrationError as error:
        raise CalibrationError([f"{line}{_goes_on(store, visits_kept(store))}" for line in error.lines]) from error
    except KeyboardInterrupt as error:
        raise Interrupted(f"interrupted{_goes_on(store, visits_kept(store))}") from error


def _goes_on(store: Path, count: int) -> str:
    if not count:
        return "; nothing was measured"
    return f"; {store} keeps {count} visits, the same command goes on from there"
