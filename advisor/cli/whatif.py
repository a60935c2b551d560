"""`apportion whatif`: a scenario with fields changed, point by point, and which change pays most."""

import json
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import simulator
from advisor.cli.asked import next_line
from advisor.cli.declared import Given, Only, only_with, only_without
from advisor.cli.inputs import SCENARIO
from advisor.cli.options import LEVEL, Json, Level, Replications, ScenarioSeed, TableForm, folder, print_json
from advisor.cli.outputs import check_room, finish, report_in
from advisor.cli.progress import counting_lines
from simulator import ScenarioError, files, units

if TYPE_CHECKING:
    from advisor.whatif import ScalingPlan
    from simulator.experiments.sweep import Plan, Swept, Where

ALL_POINTS = only_without("only", why="which runs one point, here")
VARY_HELP = "A field and its values, as --set takes them; 0..8 or 0..8..2 for numbers. Repeatable: all combinations."
SCALING_HELP = "In place of --vary: the same problem on more --nodes, or one that grows with them."
ADVISE_HELP = "Divide the work again at each point, or keep the scenario's configurations; again where machines change."
NODES_HELP = "With --scaling: numbers of nodes; copies of the scenario's where it has fewer."
REPORT = "report.html"
PAGE_BYTES, POINT_BYTES, RUN_BYTES = 2**20, 2_000, 60
"""About what results write in all, for each point, and for each of its replications."""
MOST_ERRORS = 20
"""Points that failed, named one by one."""


def _varied(given: Given) -> str:
    return "with several --vary" if len(given["vary"] or ()) > 1 else "with one --vary"


Scenario = Annotated[
    Path, typer.Argument(metavar="SCENARIO", help="The base: a scenario file, or a shipped one.", **SCENARIO)
]
Zipped = Annotated[
    bool,
    typer.Option("--zip", help="Values side by side in place of all combinations."),
    Only(("with several --vary",), _varied),
]
Workers = Annotated[
    int | None,
    typer.Option(min=1, help="Processes here; by default one per core."),
    ALL_POINTS,
]
DaskOption = Annotated[
    str | None,
    typer.Option(metavar="ADDRESS", help="A Dask scheduler: tcp://host:8786."),
    ALL_POINTS,
]
Resume = Annotated[
    bool,
    typer.Option("--resume", help="Go on with what is finished in -o."),
    ALL_POINTS,
    only_with("output", why="where no table is written"),
]
OnlyOption = Annotated[
    str | None, typer.Option(metavar="HASH", help="Run one point again, here; the beginning of its hash will do.")
]


def whatif(  # noqa: PLR0913, PLR0917 - one per option
    scenario: Scenario,
    vary: Annotated[list[str] | None, typer.Option("--vary", metavar="PATH=V1,V2,...", help=VARY_HELP)] = None,
    zipped: Zipped = False,
    scaling: Annotated[str | None, typer.Option(metavar="strong|weak", help=SCALING_HELP)] = None,
    nodes: Annotated[str | None, typer.Option(metavar="1,2,4,8", help=NODES_HELP)] = None,
    replications: Replications = None,
    seed: ScenarioSeed = None,
    advise: Annotated[bool | None, typer.Option("--advise/--as-is", help=ADVISE_HELP)] = None,
    workers: Workers = None,
    dask: DaskOption = None,
    output: Annotated[Path | None, folder("points, their table, report.html, manifest.json")] = None,
    table_form: Annotated[TableForm, ALL_POINTS] = "csv",
    resume: Resume = False,
    only: OnlyOption = None,
    level: Annotated[Level, ALL_POINTS] = LEVEL,
    as_json: Json = False,
) -> None:
    """Simulate a scenario with fields changed, all points on the same draws, and say which change pays most.

    Example: apportion whatif scenarios/tutorial/three-pes.yaml --vary platform.link.bandwidth=x1,x2,x10 -o out/whatif
    """
    from simulator.experiments.sweep import sweep

    if workers is not None and dask is not None:
        raise ScenarioError("--workers and --dask exclude each other; give one of them")
    here = dask is None
    drawn: dict[str, Any] = {"replications": replications, "seed": seed, "advise": advise, "level": level}
    scaled = _scaling(scenario, scaling, nodes, vary, zipped=zipped, **drawn, here=here)
    plan = _plan(scenario, vary or [], **drawn, zipped=zipped, here=here) if scaled is None else scaled.plan
    if only is not None:
        _again(plan, only, output, as_json=as_json)
        return
    check_room(output, folder=True, needed_bytes=_needed_bytes(plan))
    with counting_lines("points", hint="" if here else f"start some with: dask worker {dask}") as said:
        swept = sweep(
            plan,
            _where(plan, workers, dask),
            folder=output,
            resume=resume,
            form="parquet" if table_form == "parquet" else "csv",
            progress=said,
            waiting=lambda: said(-1, 0),
        )
    _tell(swept, scaled, output, as_json=as_json, form=table_form)


def _scaling(
    path: Path, kind: str | None, nodes: str | None, vary: list[str] | None, *, zipped: bool, **asked: Any
) -> "ScalingPlan | None":
    """The plan of a scaling, if that is asked for."""
    from advisor.whatif.scaling import plan_scaling, read_nodes

    if kind is None and nodes is None:
        return None
    if kind is None or nodes is None:
        raise ScenarioError(
            "--scaling and --nodes belong together, such as --scaling strong --nodes 1,2,4,8; give both"
        )
    if vary or zipped:
        raise ScenarioError("--scaling varies the nodes alone; leave --vary and --zip out")
    return plan_scaling(path, kind, read_nodes(nodes), **asked)


def _needed_bytes(plan: "Plan") -> int:
    """About what `-o` writes: the makespans of every point, with a few configurations each."""
    return PAGE_BYTES + len(plan.points) * (POINT_BYTES + RUN_BYTES * plan.replications)


def _tell(swept: "Swept", scaled: "ScalingPlan | None", output: Path | None, *, as_json: bool, form: str) -> None:
    """The findings; points that failed on standard error, and exit 1 for them."""
    from advisor.report.html import render_page
    from advisor.report.whatif import changes_that_pay, whatif_page
    from advisor.report.whatif_scaling import scaling_page
    from advisor.whatif import Findings, findings_of, scaling_of

    found = findings_of(swept) if scaled is None else scaling_of(swept, scaled)
    if isinstance(found, Findings):
        changes = changes_that_pay(found)
        changed = next_line("simulate", "simulated with the change that pays most", changes=changes)
        page = whatif_page(found, (changed if changes else next_line("advise", "advice", output="out/advice"),))
    else:
        page = scaling_page(found)

    def write() -> None:
        if output is not None:
            files.write_text(output / REPORT, render_page(page))

    finish(found, page, as_json=as_json, write=write, said=report_in(output), form=form)
    if scaled is not None:
        raise typer.Exit(1 if swept.failed else 0)
    lost = [point for point in swept.plan.points if point.hash in swept.failed]
    for point in lost[:MOST_ERRORS]:
        named = ", ".join(point.changes) or "the base"
        print(f"error: point {point.hash[:12]} ({named}): {swept.failed[point.hash]}", file=sys.stderr)
    if len(lost) > MOST_ERRORS:
        print(f"error: {len(lost) - MOST_ERRORS} more points; all with --json, or in points.csv of -o", file=sys.stderr)
    if lost:
        raise typer.Exit(1)


def _plan(path: Path, vary: list[str], **asked: Any) -> "Plan":
    from advisor.whatif import plan_whatif

    if not vary:
        raise ScenarioError("--vary is missing; give at least one PATH=v1,v2,..., or --scaling with --nodes")
    varied = [simulator.whatif.read_varied(text) for text in vary]
    return plan_whatif(path, varied, **asked)


def _where(plan: "Plan", workers: int | None, dask: str | None) -> "Where":
    """What was asked to answer; never more processes here than points."""
    if dask is not None:
        return partial(simulator.sweep.existing, dask)
    return partial(simulator.sweep.local, min(len(plan.points), workers or simulator.sweep.cores_here()))


def _again(plan: "Plan", prefix: str, output: Path | None, *, as_json: bool) -> None:
    """One point alone, and whether its bits are those that were kept."""
    point = plan.find(prefix)
    text = simulator.sweep.answer_alone(plan, point)
    kept = None if output is None else output / "points" / f"{point.hash}.json"
    same = None if kept is None or not kept.exists() else files.read_text(kept) == text
    document: dict[str, Any] = json.loads(text)
    if as_json:
        print_json(document | {"same_as_kept": same})
    else:
        print(f"point {point.hash[:12]}: {', '.join(point.changes) or 'the base'}")
        for name, makespans_s in simulator.sweep.configurations_of(document).items():
            print(f"{name}: mean makespan {units.show_duration(float(makespans_s.mean()))}")
        print({None: "nothing kept to compare with", True: "the bits that were kept", False: "other bits"}[same])
    if same is False:
        raise typer.Exit(1)
