"""`apportion reproduce`: the papers' tables, computed again."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from advisor.cli.options import Json, Seed, print_json

PAPERS = {
    "gbbp": "advisor.reproduce.gbbp",
    "scopred": "advisor.reproduce.scopred",
}
"""Name on the command line -> module with `reproduce() -> dict` and `text(result) -> str`."""
LEAST_BUDGET_S, MOST_BUDGET_S = 30.0, 24 * 3600.0


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("reproduce")(reproduce)


def reproduce(
    paper: Annotated[str, typer.Argument(help=f"{', '.join(PAPERS)} or all.")] = "all",
    recorded: Annotated[
        bool, typer.Option("--recorded", help="gbbp: on shipped recordings with a simulated clock; nothing is run.")
    ] = False,
    budget: Annotated[str, typer.Option(help="gbbp: about how long the runs may take in all.")] = "5min",
    cpu: Annotated[int | None, typer.Option(min=0, help="gbbp: processor to pin to; by default the last core.")] = None,
    output: Annotated[
        Path,
        typer.Option("--output", "-o", help="gbbp: folder for bands, figures and points; started again, it goes on."),
    ] = Path("out/gbbp"),
    seed: Seed = 1,
    json_output: Json = False,
) -> None:
    """Compute a paper's tables again and set them beside what it printed; gbbp really runs its kernels for minutes.

    Example: apportion reproduce gbbp --budget 5min -o out/gbbp
    """
    import importlib

    if paper not in (*PAPERS, "all"):
        raise typer.BadParameter(f"paper: {paper!r} found, {', '.join(PAPERS)} or all allowed")
    chosen = list(PAPERS) if paper == "all" else [paper]
    modules = {name: importlib.import_module(PAPERS[name]) for name in chosen}
    given: dict[str, list[Any]] = {name: [] for name in chosen}
    if "gbbp" in chosen and not recorded:
        given["gbbp"] = [_run_gbbp(output, budget=budget, cpu=cpu, seed=seed)]
    results = {name: module.reproduce(*given[name]) for name, module in modules.items()}
    if json_output:
        print_json(results if paper == "all" else results[paper])
        return
    print("\n\n".join(modules[name].text(result) for name, result in results.items()))


def _run_gbbp(output: Path, *, budget: str, cpu: int | None, seed: int) -> dict[str, Any]:
    """Table 1 by real runs, with progress on standard error."""
    from advisor.cli.progress import progress_lines
    from advisor.reproduce import gbbp_live
    from simulator import ScenarioError, this_machine, units

    budget_s = units.parse_duration(budget, field="--budget")
    if not LEAST_BUDGET_S <= budget_s <= MOST_BUDGET_S:
        raise ScenarioError(f"--budget: {budget!r} found, {LEAST_BUDGET_S:g}s to {MOST_BUDGET_S / 3600:g}h allowed")
    machine = this_machine()
    print(f"{machine.summary()}; about {units.show_duration(budget_s)} of runs, points in {output}", file=sys.stderr)
    for line in gbbp_live.load_warnings(machine):
        print(f"warning: {line}", file=sys.stderr)
    with progress_lines(budget_s) as on_progress:
        return gbbp_live.table(
            output,
            budget_s=budget_s,
            cpu=machine.cores[-1].cpu if cpu is None else cpu,
            seed=seed,
            on_progress=on_progress,
        )
