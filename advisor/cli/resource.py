"""`apportion lab resource`: what operations cost on a PE of this machine, by every method."""

from pathlib import Path

from advisor.cli.declared import option
from advisor.cli.options import (
    Seed,
    file,
    gave_json,
    print_warnings,
    read_budget,
)
from advisor.cli.outputs import nothing_lost
from advisor.cli.progress import timed_work
from simulator import calibration, characterisation, files, models, units

RESOURCE_BUDGET = "60s"
LEAST_BUDGET_S, RESOURCE_ENDING_S = 10.0, 1.0


def resource(
    output: Path | None = file("HARDWARE.json", "the costs; by default in this user's cache"),
    budget: str = option(
        "About how long it may take; what it did not come to is done by the next call.", default=RESOURCE_BUDGET
    ),
    memory: Path | None = option(
        "Model of `calibrate memory` for the memory term, in place of a sweep.", metavar="MODEL.json"
    ),
    seed: Seed = 1,
) -> None:
    """Calibrate cost vectors: micro-benchmarks per source construct, fits for intermediate and machine code, flop rate.

    About a hundred small programs are compiled, counted and timed in turns. Counts and times are kept next to the
    model, so that the same command goes on where an earlier one ended.

    Example: apportion lab resource -o hardware.json --budget 2min
    """
    model, path = calibrated(output, budget=budget, memory=memory, seed=seed)
    document = model.to_dict()
    document["provenance"] = {name: value for name, value in document["provenance"].items() if name != "runs"}
    if gave_json(document | {"command": "lab resource", "file": str(path)}):
        return
    _tell_resource(model)
    print(f"model written to {path}")


def calibrated(
    output: Path | None, *, budget: str, memory: Path | None, seed: int
) -> tuple["models.HardwareModel", Path]:
    """Calibrate with progress on standard error, and write the model; the model and where it is."""
    budget_s = read_budget(budget, least_s=LEAST_BUDGET_S, ending_s=RESOURCE_ENDING_S)
    times = (
        None
        if memory is None
        else characterisation.times_of_model(calibration.load_memory_model(memory)[0], str(memory))
    )
    path = output or characterisation.kept_here()
    files.check_room(path, folder=False)
    with timed_work(budget_s, "calibration") as on_progress:
        model = characterisation.calibrate_resource(
            budget_s=budget_s,
            seed=seed,
            store=characterisation.runs_beside(output),
            memory=times,
            on_progress=on_progress,
        )
    with nothing_lost(model.to_dict(), lambda: _tell_resource(model)):
        calibration.save_resource_model(model, path)
    return model, path


def _tell_resource(model: "models.HardwareModel") -> None:
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
