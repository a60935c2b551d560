"""`apportion calibrate resource`: what operations cost on a PE of this machine, by every method."""

import sys
from pathlib import Path
from typing import Annotated

import typer

import simulator
from advisor.cli.options import Json, Seed, print_json, print_warnings
from advisor.cli.outputs import nothing_lost
from advisor.cli.progress import progress_lines
from simulator import ScenarioError, calibration, characterisation, files, models, units

BUDGET = "60s"
LEAST_BUDGET_S, MOST_BUDGET_S = 10.0, 24 * 3600.0
Budget = Annotated[
    str, typer.Option(help="About how long it may take; what it did not come to is done by the next call.")
]
Memory = Annotated[
    Path | None,
    typer.Option(metavar="MODEL.json", help="Model of `calibrate memory` for the memory term, in place of a sweep."),
]
Output = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="HARDWARE.json", help="Where to write it; by default this user's cache."),
]


def resource(
    output: Output = None, budget: Budget = BUDGET, memory: Memory = None, seed: Seed = 1, as_json: Json = False
) -> None:
    """Calibrate cost vectors: micro-benchmarks per source construct, fits for intermediate and machine code, flop rate.

    About a hundred small programs are compiled, counted and timed in turns. Counts and times are kept beside the model,
    so that the same command goes on where an earlier one ended.

    Example: apportion calibrate resource -o hardware.json --budget 2min
    """
    model, path = calibrated(output, budget=budget, memory=memory, seed=seed)
    if as_json:
        document = model.to_dict()
        document["provenance"] = {name: value for name, value in document["provenance"].items() if name != "runs"}
        print_json(document | {"command": "calibrate resource", "file": str(path)})
        return
    _tell(model)
    print(f"model written to {path}")


def calibrated(
    output: Path | None, *, budget: str, memory: Path | None, seed: int
) -> tuple["models.HardwareModel", Path]:
    """Calibrate with progress on standard error, and write the model; the model and where it is."""
    budget_s = units.parse_duration(budget, field="--budget")
    if not LEAST_BUDGET_S <= budget_s <= MOST_BUDGET_S:
        raise ScenarioError(f"--budget is {budget!r}; give {LEAST_BUDGET_S:g}s to {MOST_BUDGET_S / 3600:g}h")
    times = (
        None
        if memory is None
        else characterisation.times_of_model(calibration.load_memory_model(memory)[0], str(memory))
    )
    path = output or characterisation.kept_here()
    files.check_room(path, folder=False)
    print(
        f"{simulator.this_machine().summary()}; about {units.show_duration(budget_s)} of calibration", file=sys.stderr
    )
    with progress_lines(budget_s) as on_progress:
        model = characterisation.calibrate_resource(
            budget_s=budget_s,
            seed=seed,
            store=characterisation.runs_beside(output),
            memory=times,
            on_progress=on_progress,
        )
    with nothing_lost(model.to_dict(), lambda: _tell(model)):
        calibration.save_resource_model(model, path)
    return model, path


def _tell(model: "models.HardwareModel") -> None:
    rests_on = model.provenance
    print(model.name)
    for method in model.methods:
        vector = model.vector(method)
        print(f"{method}: {'; '.join(vector.notes[:1])}")
        fit = rests_on["fits"].get(method)
        if fit:
            held = fit["held_out_mean_error_percent"]
            print(
                f"  {fit['operations']} operations; mean error {fit['mean_error_percent']:.0f} % where it was fitted, "
                f"{held:.0f} % on programs left out"
            )
        if method in {"dbc", "poc", "hllc"}:
            costs = ", ".join(f"{name} {1e9 * cost.seconds:.3g}" for name, cost in vector.costs.items())
            print(f"  ns: {costs}")
    memory = rests_on["memory"]
    print(f"memory ({memory['source']}), ns per word: {_by_size(memory['working_sets_bytes'], memory['word_s'])}")
    print_warnings(model.warnings)


def _by_size(sizes: list[float], times_s: list[float]) -> str:
    pairs = zip(sizes, times_s, strict=True)
    return ", ".join(f"{1e9 * time:.3g} at {units.show_size(round(size))}" for size, time in pairs)
