"""`apportion calibrate memory`: a model of the memory hierarchy from measured times per word."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from advisor.cli import measure_memory as real
from advisor.cli.options import Json, Seed, print_json, print_warnings
from advisor.cli.outputs import finish
from advisor.cli.scenarios import INPUT

if TYPE_CHECKING:
    from simulator.calibration import MeasuredMemory, MemoryFit

Replay = Annotated[
    Path | None,
    typer.Option(metavar="TABLE.csv", help="A recorded table M_words,alpha,L,time_per_word_s to fit.", **INPUT),
]
Compare = Annotated[
    bool,
    typer.Option("--compare-with-this-machine", help="Compare fitted capacities with what this system reports."),
]
Output = Annotated[Path | None, typer.Option("--output", "-o", metavar="MODEL.json", help="Where to write the model.")]


def memory(  # noqa: PLR0913, PLR0917 - one per option
    replay: Replay = None,
    compare: Compare = False,
    budget: real.Budget = None,
    max_memory: real.MaxMemory = None,
    alpha: real.Alpha = None,
    length: real.Length = None,
    processes: real.Processes = None,
    over: real.Over = None,
    cpu: real.Cpu = None,
    table: real.SweepTable = None,
    output: Output = None,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Fit Apex-MAP's models of the memory hierarchy, level sizes too, and choose how many levels the times support.

    Without a table Apex-MAP is really run here: every measurement is on disk at once, and interrupted or killed, the
    same command goes on where it was. One cell (M, alpha, L) in five is kept from the fits and judges them.

    Example: apportion calibrate memory --replay table.csv -o memory.json
    """
    from simulator import this_machine
    from simulator.calibration import fit_memory_table, save_memory_model

    options: dict[str, Any] = {"budget": budget, "max_memory": max_memory, "alpha": alpha, "length": length}
    options |= {"processes": processes, "over": over, "cpu": cpu}
    if replay is None:
        _tell_measured(real.measure(options, table=table, output=output, seed=seed), output, as_json=as_json)
        return
    fitted = fit_memory_table(replay, machine=this_machine() if compare else None)
    document = fitted.to_dict() | {"command": "calibrate memory"}
    write = None if output is None else partial(save_memory_model, fitted, output)
    finish(document, lambda: _tell(fitted), as_json=as_json, write=write, said=f"model written to {output}")


def _tell_measured(measured: "MeasuredMemory", output: Path | None, *, as_json: bool) -> None:
    if as_json:
        print_json(measured.to_dict() | {"command": "calibrate memory"})
        return
    _tell(measured.judged.fit)
    real.tell(measured)
    if output is not None:
        print(f"model written to {output}")


def _tell(fitted: "MemoryFit") -> None:
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
    from simulator import units

    return units.show_size(round(size_bytes))


def _share(value: float | None, width: int) -> str:
    return f"{'-' if value is None else format(value, '.1%'):>{width}}"


def _error(value: float, error: float | None) -> str:
    if error is None:
        return "(not determined)"
    return f"+-{error / value:.0%}" if value else f"+-{error:.2g}"
