"""`apportion allocate plan`: which few runs to make so that the best processes per PE can be found."""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

import simulator
from advisor.cli.options import Json, Seed, print_warnings
from advisor.cli.outputs import finish
from advisor.cli.scenarios import SCENARIO
from simulator import ScenarioError, calibration, files, units

MOST_SIZE = 10**9


def plan(  # noqa: PLR0913, PLR0917 - one per option
    cluster: Annotated[
        Path, typer.Argument(metavar="CLUSTER.yaml", help="A scenario, or a file of its platform.", **SCENARIO)
    ],
    sizes: Annotated[str, typer.Option(metavar="N,N,...", help="Problem sizes that may be run, three or more.")],
    at: Annotated[
        str | None,
        typer.Option(metavar="N,N,...", help="Sizes that advice is wanted for; by default twice the largest."),
    ] = None,
    budget: Annotated[
        str | None,
        typer.Option(help="Seconds for all runs, such as 600s; by default 15 % of running everything at those sizes."),
    ] = None,
    most: Annotated[
        str | None, typer.Option(metavar="KIND=M,...", help="Most processes on each PE, such as fast=4,slow=2.")
    ] = None,
    work: Annotated[
        str, typer.Option(help="Units of volume of a run over N; with the speeds it guesses what runs cost.")
    ] = "2/3*N**3",
    kernel: Annotated[
        str | None, typer.Option(help="Kernel whose speeds are taken; by default dgemm, or the first one known.")
    ] = None,
    start: Annotated[str, typer.Option(help="How long the processes of a run take to start.")] = "0.5s",
    seed: Seed = 1,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="PLAN.json", help="Where to write the plan.")
    ] = None,
    json_output: Json = False,
) -> None:
    """Propose construction runs with their cost: few, cheap ones that show what a model has to know.

    Alike PEs of the file are a kind, named after what their names have in common. Each kind runs alone, with every
    number of processes per PE, on several PEs, and together with the others; then whatever makes estimates at the sizes
    asked about surer per second. Example:

    apportion allocate plan cluster.yaml --sizes 400,800,1200 --at 2400 --budget 600s --most fast=4,slow=2 -o plan.json
    """
    from advisor.advise.process_counts.construction import Wishes, plan_construction

    asked = _sizes(sizes, "--sizes")
    wishes = Wishes(
        asked,
        (2 * max(asked),) if at is None else _sizes(at, "--at"),
        None if budget is None else units.parse_duration(budget, field="--budget"),
        units.parse_duration(start, field="--start"),
        seed,
    )
    made = plan_construction(simulator.load_platform(cluster), wishes, most=_most(most), work=work, kernel=kernel)
    document = made.to_dict()
    write = None if output is None else partial(files.write_json, output, document)
    finish(
        document,
        lambda: _print(made),
        as_json=json_output,
        write=write,
        said=f"plan written to {output}; next: apportion allocate run {output} --command ... -o runs.csv",
    )


def _sizes(text: str, field: str) -> tuple[float, ...]:
    cells = [cell.strip() for cell in text.split(",")]
    wrong = [cell for cell in cells if not (cell.isascii() and cell.isdigit() and 0 < int(cell[:12]) <= MOST_SIZE)]
    if wrong:
        raise ScenarioError(f"{field}: {wrong[0]!r} is no size; give whole numbers from 1 to {MOST_SIZE}")
    if len({int(cell) for cell in cells}) < len(cells):
        raise ScenarioError(f"{field}: {text!r} names a size twice; name each once")
    return tuple(sorted(map(float, cells)))


def _most(text: str | None) -> dict[str, int]:
    found: dict[str, int] = {}
    for cell in text.split(",") if text else ():
        name, mark, count = (part.strip() for part in cell.partition("="))
        if not (mark and name and count.isascii() and count.isdigit() and 1 <= int(count) <= 64) or name in found:
            raise ScenarioError(f"--most: {cell!r} does not fit; give KIND=M with M from 1 to 64, each kind once")
        found[name] = int(count)
    return found


def _print(made: "calibration.ConstructionPlan") -> None:
    for kind in made.kinds:
        speed = "speed not known" if kind.speed is None else units.show_rate(kind.speed, "units/s")
        load = f", {kind.competitors:g} competitors" if kind.competitors else ""
        print(f"kind {kind.name}: {len(kind.pes)} PEs, up to {kind.most} processes on each, {speed}{load}")
    inside = [run for run in made.runs if not run.reserve]
    print(f"{'run':<44}{'times':>6}{'seconds':>10}  why")
    for run in inside:
        print(f"{made.label(*run.key):<44}{run.repetitions:>6}{run.expected_s:>10.3g}  {run.why}")
    count = sum(run.repetitions for run in inside)
    print(f"{count} runs, about {made.expected_s:.3g} s of the budget of {made.budget_s:.3g} s; ", end="")
    sizes = ", ".join(f"{size:g}" for size in made.at)
    print(f"every configuration at N {sizes} would take about {made.full_s:.3g} s ", end="")
    print(f"({made.expected_s / made.full_s:.1%})")
    if reserve := sum(run.repetitions for run in made.runs if run.reserve):
        print(f"{reserve} more runs are listed in case these cost less than guessed")
    print_warnings(made.notes)
