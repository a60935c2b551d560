"""`apportion lab resource`: what operations cost on a PE of this machine, by every method."""

from pathlib import Path

from advisor.cli.declared import option
from advisor.cli.models import lines, warned
from advisor.cli.options import Seed, file, read_budget
from advisor.cli.outputs import nothing_lost, show
from advisor.cli.progress import of_time_here
from simulator import blocks, calibration, characterisation, files, models, units

RESOURCE_BUDGET = "60s"
LEAST_BUDGET_S, RESOURCE_ENDING_S = 10.0, 1.0


def resource(
    output: Path | None = file("HARDWARE.json", "the costs; by default in this user's cache"),
    budget: str = option(
        "About how long it may take; what it did not come to is done by the next call.", default=RESOURCE_BUDGET
    ),
    seed: Seed = 1,
) -> None:
    """Calibrate cost vectors: micro-benchmarks per source construct, fits for intermediate and machine code, flop rate.

    About a hundred small programs are compiled, counted and timed in turns. Counts and times are kept next to the
    model, so that the same command goes on where an earlier one ended.

    Example: apportion lab resource -o hardware.json --budget 2min
    """
    model, path = calibrated(output, budget=budget, seed=seed)
    document = model.to_dict()
    document["provenance"] = {name: value for name, value in document["provenance"].items() if name != "runs"}
    shown = [*_shown(model), lines(f"model written to {path}")]
    show(document | {"file": str(path)}, shown)


def calibrated(output: Path | None, *, budget: str, seed: int) -> tuple["models.HardwareModel", Path]:
    """Calibrate with progress on standard error, and write the model; the model and where it is."""
    budget_s = read_budget(budget, least_s=LEAST_BUDGET_S, ending_s=RESOURCE_ENDING_S)
    path = output or characterisation.kept_here()
    files.check_room(path, folder=False)
    model = characterisation.calibrate_resource(
        budget_s=budget_s,
        seed=seed,
        store=characterisation.runs_beside(output),
        on_progress=of_time_here(budget_s, "calibration"),
    )
    with nothing_lost(model.to_dict(), lambda: show(model.to_dict(), _shown(model))):
        calibration.save_resource_model(model, path)
    return model, path


def _shown(model: "models.HardwareModel") -> list[blocks.Block]:
    """By which methods costs are known, and how far off they are."""
    fits, memory, rows = model.provenance["fits"], model.provenance["memory"], []
    for method in model.methods:
        fit = fits.get(method, {})
        errors = [fit.get(f"{name}_error_percent") for name in ("mean", "held_out_mean")]
        said = ("-" if error is None else f"{error:.0f} %" for error in errors)
        rows.append([method, *said, "; ".join(model.vector(method).notes[:1])])
    sizes = zip(memory["working_sets_bytes"], memory["word_s"], strict=True)
    words = ", ".join(f"{1e9 * time_s:.3g} at {units.show_size(round(size))}" for size, time_s in sizes)
    return [
        blocks.Text(model.name),
        blocks.table("", ("method", "mean error", "on programs left out", "by"), rows),
        lines(f"memory ({memory['source']}), ns per word: {words}", *warned(model.warnings)),
    ]
