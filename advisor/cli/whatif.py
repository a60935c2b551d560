"""`apportion whatif`: a scenario with fields changed, point by point, and which change pays most."""

import json
import sys
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import simulator
from advisor.cli import signs
from advisor.cli.asked import next_line
from advisor.cli.declared import Only, argument, only_with, only_without, option
from advisor.cli.inputs import SCENARIO
from advisor.cli.options import LEVEL, Level, Replications, ScenarioSeed, TableForm, folder, gave_json
from advisor.cli.outputs import finish
from advisor.cli.progress import counting, waiting
from simulator import ScenarioError, files, units

if TYPE_CHECKING:
    from advisor.whatif.scaling import ScalingPlan
    from simulator.experiments.sweep import Plan, Swept, Where

ALL_POINTS = only_without("only", why="which runs one point, here")
SEVERAL = Only(
    ("with several --vary",), lambda given: f"with {'several' if len(given['vary'] or ()) > 1 else 'one'} --vary"
)
VARY_HELP = "A field and its values, as --set takes them; 0..8 or 0..8..2 for numbers. Repeatable: all combinations."
BUY_HELP = "In place of --vary: nodes to add (new: 1), a network (25GbE) or any PATH=VALUE; what pays most per price."
SCALING_HELP = "In place of --vary: the same problem on more --nodes, or one that grows with them."
ADVISE_HELP = "Divide the work again at each point, or keep the scenario's configurations; again where machines change."
NODES_HELP = "With --scaling: numbers of nodes; copies of the scenario's where it has fewer."
REPORT = "report.html"
MOST_ERRORS = 20
"""Points that failed, named one by one."""


@dataclass(frozen=True)
class Points:
    """Which points there are, and what is simulated at each."""

    vary: list[str] | None = option(VARY_HELP, metavar="PATH=V1,V2,...")
    zipped: bool = option("Values side by side in place of all combinations.", SEVERAL, names=("--zip",))
    buy: str | None = option(BUY_HELP, metavar="'WHAT at PRICE, ...'")
    scaling: str | None = option(SCALING_HELP, metavar="strong|weak")
    nodes: str | None = option(NODES_HELP, metavar="1,2,4,8")
    replications: Replications = None
    seed: ScenarioSeed = None
    runs: int | None = option(
        "Simulated runs that each search of a point may take.", only_without("budget", why="which finds it"), min=1
    )
    budget: str | None = option(
        "What all points may take together, such as 60s: equal runs for each.",
        only_without("dask", why="whose workers are not measured"),
        metavar="TIME",
    )
    advise: bool | None = option(ADVISE_HELP, names=("--advise/--as-is",))
    level: Annotated[Level, ALL_POINTS] = LEVEL


@dataclass(frozen=True)
class Workers:
    """Where points are simulated, and which of them."""

    workers: int | None = option("Processes here; by default one per core.", ALL_POINTS, min=1)
    dask: str | None = option("A Dask scheduler: tcp://host:8786.", ALL_POINTS, metavar="ADDRESS")
    resume: bool = option(
        "Go on with what is finished in -o.", ALL_POINTS, only_with("output", why="where no table is written")
    )
    only: str | None = option("Run one point again, here; the beginning of its hash will do.", metavar="HASH")


def whatif(
    points: Points,
    where: Workers,
    scenario: Path = argument("The base: a scenario file, or a shipped one.", metavar="SCENARIO", **SCENARIO),
    output: Path | None = folder("points, their table, report.html, manifest.json"),
    table_form: Annotated[TableForm, ALL_POINTS] = "csv",
) -> None:
    """Simulate a scenario with fields changed, all points on the same draws, and say which change pays most.

    Example: apportion whatif scenarios/tutorial/three-pes.yaml --vary platform.link.bandwidth=x1,x2,x10 -o out/whatif
    """
    from simulator.experiments.sweep import sweep

    if where.workers is not None and where.dask is not None:
        raise ScenarioError("--workers and --dask exclude each other; give one of them")
    budget_s = None if points.budget is None else units.parse_duration(points.budget, field="--budget")
    with simulator.in_time(budget_s):
        plan, scaled = _planned(scenario, points, here=where.dask is None)
        if budget_s is not None:
            plan, scaled = _within_budget(plan, scenario, points, where, output, budget_s=budget_s)
        if where.only is not None:
            _again(plan, where.only, output)
            return
        swept = sweep(
            plan,
            _where(plan, where),
            folder=output,
            resume=where.resume,
            form="parquet" if table_form == "parquet" else "csv",
            progress=counting("points"),
            waiting=waiting("" if where.dask is None else f"start some with: dask worker {where.dask}"),
        )
    _tell(swept, scaled, points.buy, output, form=table_form)


def _within_budget(
    plan: "Plan", path: Path, points: Points, where: Workers, output: Path | None, *, budget_s: float
) -> "tuple[Plan, ScalingPlan | None]":
    """What a budget allows each point; of a folder that is gone on with, what it was begun with."""
    from advisor.whatif.budget import Allowed, allowed, begun_in

    def planned(of: Allowed | None) -> "tuple[Plan, ScalingPlan | None]":
        return _planned(path, points if of is None else replace(points, **vars(of)), here=True)

    found = begun_in(output) if where.resume or where.only else None
    if found is None:
        signs.say("trying all points, to see what the budget allows")
        found = allowed(
            lambda of: planned(of)[0],
            budget_s,
            where=_where(plan, where),
            workers=_workers(plan, where),
            spent_s=signs.spent_s(),
        )
    return planned(found)


def _planned(path: Path, points: Points, *, here: bool) -> "tuple[Plan, ScalingPlan | None]":
    """What is simulated, and the scaling if that is asked for."""
    from advisor.whatif.asking import plan_whatif
    from advisor.whatif.scaling import plan_scaling, read_nodes

    asked: Any = {name: getattr(points, name) for name in ("replications", "runs", "seed", "advise", "level")}
    asked["here"] = here
    if points.scaling is None and points.nodes is None:
        if points.buy is None and not points.vary:
            raise ScenarioError("--vary is missing; give at least one PATH=v1,v2,..., --buy, or --scaling with --nodes")
        if points.buy is not None and points.vary:
            raise ScenarioError("--buy looks at each purchase alone; leave --vary out, or write PATH=VALUE at PRICE")
        varied = [simulator.whatif.read_varied(text) for text in points.vary or ()]
        return plan_whatif(path, varied, buy=points.buy, zipped=points.zipped, **asked), None
    if points.scaling is None or points.nodes is None:
        raise ScenarioError(
            "--scaling and --nodes belong together, such as --scaling strong --nodes 1,2,4,8; give both"
        )
    if points.vary or points.zipped or points.buy is not None:
        raise ScenarioError("--scaling varies the nodes alone; leave --vary, --zip and --buy out")
    scaled = plan_scaling(path, points.scaling, read_nodes(points.nodes), **asked)
    return scaled.plan, scaled


def _tell(swept: "Swept", scaled: "ScalingPlan | None", buy: str | None, output: Path | None, *, form: str) -> None:
    """The findings; points that failed on standard error, and exit 1 for them."""
    from advisor.report.html import render_page
    from advisor.report.whatif import changes_that_pay, whatif_page
    from advisor.report.whatif_scaling import scaling_page
    from advisor.whatif.findings import Findings
    from advisor.whatif.judging import findings_of
    from advisor.whatif.scaling import scaling_of

    found = findings_of(swept, buy) if scaled is None else scaling_of(swept, scaled)
    if isinstance(found, Findings):
        changes = changes_that_pay(found)
        changed = next_line("simulate", "simulated with the change that pays most", changes=changes)
        divided = next_line("advise", "advice", output="out/advice", vary=None, budget=None)
        page = whatif_page(found, (changed if changes else divided,))
    else:
        page = scaling_page(found)

    def write(folder: Path) -> None:
        files.write_text(folder / REPORT, render_page(page))

    finish(found, page, output, write=write, form=form)
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


def _where(plan: "Plan", where: Workers) -> "Where | None":
    """What was asked to answer; never more processes here than points, and this one where there is little time."""
    if where.dask is not None:
        return partial(simulator.sweep.existing, where.dask)
    workers = _workers(plan, where)
    return partial(simulator.sweep.local, workers) if workers else None


def _workers(plan: "Plan", where: Workers) -> int:
    if not simulator.may_compile():
        return 0
    return min(len(plan.points), where.workers or simulator.sweep.cores_here())


def _again(plan: "Plan", prefix: str, output: Path | None) -> None:
    """One point alone, and whether its bits are those that were kept."""
    point = plan.find(prefix)
    text = simulator.sweep.answer_alone(plan, point)
    kept = None if output is None else output / "points" / f"{point.hash}.json"
    same = None if kept is None or not kept.exists() else files.read_text(kept) == text
    document = json.loads(text)
    if not gave_json(document | {"same_as_kept": same}):
        print(f"point {point.hash[:12]}: {', '.join(point.changes) or 'the base'}")
        for name, makespans_s in simulator.sweep.configurations_of(document).items():
            print(f"{name}: mean makespan {units.show_duration(float(makespans_s.mean()))}")
        print({None: "nothing kept to compare with", True: "the bits that were kept", False: "other bits"}[same])
    if same is False:
        raise typer.Exit(1)
