"""`apportion lab characterise`: one function by every method, predicted and measured."""

import sys
from pathlib import Path
from typing import Any

from advisor.cli import resource
from advisor.cli.declared import Given, Only, argument, option
from advisor.cli.models import lines, warned
from advisor.cli.options import HOUR_S, Seed, read_budget, whole_numbers
from advisor.cli.outputs import show
from advisor.cli.progress import of_time
from simulator import ScenarioError, blocks, calibration, characterisation, documents, models, units

LEAST_BUDGET_S = 8.0
"""What analysing, compiling and three rounds of a kernel of ours take on a busy machine."""
ENDING_S = 2.0
"""What fitting costs takes, once all is timed."""


def _argued(given: Given) -> str:
    """For a kernel n is the only argument, and `--sizes` says it."""
    own = ".py" in given["subject"] or "/" in given["subject"]
    return "with --sizes and a kernel" if given["sizes"] is not None and not own else "without --sizes, or with FILE.py"


def characterise(
    subject: str = argument("A kernel of ours, or a function.", metavar="KERNEL|FILE.py:FUNCTION"),
    method: str = option("Methods, with commas between.", default="all", metavar="all|dbc,poc,hllc,intcc,icc,ct"),
    args: list[str] | None = option(
        "Arguments: numbers, or arrays by type, size and fill.",
        Only(("without --sizes, or with FILE.py",), _argued),
        metavar="'n=1000 a=float64[n,n]'",
    ),
    sizes: str | None = option("Values of n that are judged, in place of the usual ones.", metavar="200,400,800"),
    hardware: Path | None = option("What `lab resource -o` wrote; by default this machine's.", metavar="FILE"),
    budget: str = option("What it may take in all, analysis and compilation included.", default="15s"),
    seed: Seed = 1,
) -> None:
    """Predict a function's time from design, flops, source, intermediate code, machine code and timings; measure it.

    The graph is derived from its source; a function of yours is run, in a process of its own to count and in this one
    to be timed. Example: apportion lab characterise matmul --method all --json
    """
    chosen = _methods(method)
    budget_s = read_budget(budget, least_s=LEAST_BUDGET_S, most_s=HOUR_S, ending_s=ENDING_S)
    judged = [] if sizes is None else whole_numbers(sizes, "--sizes")
    wanted = characterisation.make_subject(subject, args=args or (), sizes=judged)
    if wanted.kernel is None:
        print(f"{subject} is compiled and run: this executes your file", file=sys.stderr)
    model = hardware_here(seed=seed) if hardware is None else calibration.load_resource_model(hardware)
    said = of_time(budget_s + ENDING_S)
    found = characterisation.characterise(wanted, model, methods=chosen, budget_s=budget_s, seed=seed, on_progress=said)
    show(documents.by_field(found), _shown(found))


def _methods(text: str) -> list[Any]:
    names = [name.strip() for name in text.split(",")]
    unknown = [name for name in names if name not in characterisation.METHODS and text != "all"]
    if unknown:
        raise ScenarioError(f"--method has {unknown[0]!r}; give all or some of {','.join(characterisation.METHODS)}")
    return [known for known in characterisation.METHODS if known in names or text == "all"]


def hardware_here(*, seed: int) -> "models.HardwareModel":
    """The resource model of this machine; calibrated first, and kept, if there is none."""
    model = characterisation.known_here()
    if model is not None:
        return model
    about = f"calibrated first, once: {resource.RESOURCE_BUDGET} that --budget does not count"
    print(f"no resource model of this machine yet: it is {about}", file=sys.stderr)
    model, kept = resource.calibrated(None, budget=resource.RESOURCE_BUDGET, seed=seed)
    print(f"kept in {kept}; `apportion lab resource` makes it better", file=sys.stderr)
    return model


HEAD = ("method", "size", "predicted", "range", "measured", "error", "model", "untaught")


def _shown(found: "characterisation.Characterised") -> list[blocks.Block]:
    """What a function costs by each method, and what was measured."""
    rows = [_row(entry) for entry in found.methods]
    note = "model: error minus that of component timing; untaught: error by costs that no run of this kernel taught"
    return [
        blocks.Text(f"{found.subject['name']}: {found.subject['meaning']}"),
        lines(*found.timing_formula, f"costs of {found.hardware['name']}"),
        blocks.table("", HEAD, rows, text_columns=2, note=note),
        lines(*warned(found.warnings)),
    ]


def _row(entry: "characterisation.Judged") -> list[str]:
    low, high = map(units.show_duration, (entry.predicted_low_s, entry.predicted_high_s))
    errors = (entry.error_percent, entry.resource_model_error_percent, entry.left_out_error_percent)
    return [
        entry.name,
        ", ".join(f"{name}={value:g}" for name, value in entry.arguments.items()),
        units.show_duration(entry.predicted_s),
        "" if low == high else f"{low} to {high}",
        units.show_duration(entry.measured_s),
        *("-" if error is None else f"{error:+.1f}%" for error in errors),
    ]
