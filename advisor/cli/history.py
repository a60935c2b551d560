"""`apportion lab history`: how well predictions held on this machine, and runs over a grid that are kept."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from advisor.cli.declared import only_with, only_without
from advisor.cli.options import LEVEL, VERSION, Json, Level, print_json
from simulator import ScenarioError, calibration, documents

if TYPE_CHECKING:
    from simulator.calibration import RunRecord

HISTORY = Path("apportion-history.sqlite")
RECORDED = only_with("grid")


Grid = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME=V:V,...", help="Run every combination here, and keep the times. Repeatable."),
]
Command = Annotated[
    str | None,
    typer.Option(help="A command line with {NAME} where a parameter goes; run without a shell."),
    RECORDED,
]
Name = Annotated[
    str | None,
    typer.Option(help="Application that the runs are kept as; the program's name by default."),
    RECORDED,
]
Budget = Annotated[str, typer.Option(help="Time after which no run goes on, for example 60s or 5min."), RECORDED]


def history(  # noqa: PLR0913, PLR0917 - one per option
    grid: Grid = None,
    command: Command = None,
    name: Name = None,
    budget: Budget = "60s",
    repetitions: Annotated[int, typer.Option(help="Runs of each combination."), RECORDED] = 3,
    version: Annotated[str, VERSION, RECORDED] = "",
    kept: Annotated[Path, typer.Option("--history", help="The run history (SQLite)."), RECORDED] = HISTORY,
    level: Annotated[Level, only_without("grid")] = LEVEL,
    as_json: Json = False,
) -> None:
    """How often stated intervals held on this machine, by kind of prediction and model, and what is learnt of it.

    Each `verify` is kept, and each `fit --run` with a model. Where intervals held too seldom, a factor widens those
    of models made later; residuals of one sign are named with the cause that they suggest, and widen nothing.

    With --grid a command is run here over a grid of parameters, and each run's time is kept. A program may print
    a JSON object as its last line; each NAME_s in it is the time of a part, and total_s that of the run. Examples:

    apportion lab history --level 0.9

    apportion lab history --command './stencil {N} {P}' --grid N=1000:2000,P=1:2 --budget 2min
    """
    if grid is None:
        _coverage(level, as_json=as_json)
        return
    if command is None:
        raise ScenarioError("--grid needs --command: give the command line to run")
    points = calibration.parse_grid(",".join(grid))
    plan = calibration.make_plan(command, points, budget=budget, name=name, repetitions=repetitions)
    done = []

    def keep(run: "RunRecord") -> None:
        done.append(run)
        where = " ".join(f"{name}={value:g}" for name, value in run.parameters.items())
        print(f"{plan.application} {where}: {run.times_s['total']:.4g} s", file=sys.stderr)
        calibration.add_runs(kept, [run])

    left_out = calibration.record_runs(plan, keep, version=version)
    if as_json:
        print_json({"command": "lab history", "history": str(kept), "added": len(done), "left_out": left_out})
        return
    print("\n".join([*left_out, f"{len(done)} runs added to {kept}"]))


def _coverage(level: float, *, as_json: bool) -> None:
    found, place = calibration.coverage(calibration.kept_comparisons(), level=level), calibration.state_file()
    if as_json:
        document = {"format": 1, "command": "lab history", **documents.to_dict(found)}
        print_json(document | {"kept_in": None if place is None else str(place)})
        return
    if not found.comparisons:
        print("no prediction was compared with real runs on this machine yet; `apportion verify SCENARIO` does it")
        return
    _tell_coverage(found)
    print(f"{found.comparisons} comparisons of this machine are kept in {place}")


def _tell_coverage(found: "calibration.History") -> None:
    from advisor import wording

    for group in found.groups:
        model = group.model or "written in the scenario"
        seen = wording.counted(group.seen.sittings, "sitting")
        version = group.version.partition(":")[2][:8]
        print(f"{group.kind} {group.subject}, model {model} ({version}): {group.seen.cases} cases in {seen}")
        for line in wording.held_lines(group.seen, found.level) or ["no interval was stated"]:
            print(f"  {line}")
        if group.seen.busy:
            busy = f"{group.seen.busy} of them while other programs ran there"
            print(f"  {busy}: counted, but nothing is learnt of these")
        if group.seen.held:
            learnt = f"; {group.learnt:.2f} is in it" if group.learnt > 1 else ""
            print(f"  factor to widen by: {group.factor:.2f}{learnt}")
        if group.bias:
            print(f"  bias: {group.bias.text}")
    for kind in found.kinds:
        for line in wording.held_lines(kind.seen, found.level):
            print(f"all {kind.kind} predictions: {line}")
    print(wording.HELD_NOTE)
