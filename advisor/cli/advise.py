"""`apportion advise`: which partition of a scenario's work is best, and what that gains over the naive ones."""

import json
import math
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import simulator
from advisor.cli import signs
from advisor.cli.asked import next_line
from advisor.cli.declared import only_with
from advisor.cli.options import (
    LEAST_LEFT_S,
    LEVEL,
    Json,
    Level,
    PrintedForm,
    Replications,
    ResourceModel,
    ScenarioSeed,
    folder,
    load_changed,
    offered,
    read_budget,
)
from advisor.cli.outputs import check_room, finish
from advisor.cli.progress import search_sign
from advisor.cli.scenarios import ScenarioFile
from simulator import Interrupted, ScenarioError, blocks, files, units

if TYPE_CHECKING:
    from advisor.advise.advice import Advice
    from advisor.advise.measured_again import MeasuredAgain
    from advisor.advise.recommendation import Recommendation

PAGE_BYTES, PE_BYTES = 2**20, 4_000
"""About what an advice writes in all, and for each PE in all its files."""
VARY_HELP = (
    "What may vary. By default both where PEs have several cores, for hpl the allocation, else the partition; "
    "scheduling: also whether units move while it runs."
)


Vary = Annotated[
    str | None,
    typer.Option(
        metavar="partition|allocation|both|scheduling",
        help=VARY_HELP,
        autocompletion=offered("partition", "allocation", "both", "scheduling"),
    ),
]
Sought = Annotated[
    str,
    typer.Option(
        metavar="mean|p95|worst|cost|energy",
        help="What is to be least: of makespans, or what a run costs (prices of nodes, costs of PEs) or draws (power).",
        autocompletion=offered("mean", "p95", "worst", "cost", "energy"),
    ),
]
Budget = Annotated[
    str | None,
    typer.Option(metavar="TIME", help="What the search may take, such as 30s; the answer is then as good as it is."),
]
Runs = Annotated[int | None, typer.Option(min=1, metavar="N", help="Simulated runs that each search may take.")]
Oversubscribe = Annotated[
    bool,
    typer.Option("--oversubscribe", help="Also more processes than cores on a PE."),
    only_with("vary", "allocation", "both"),
]
Pareto = Annotated[bool, typer.Option("--pareto", help="Also the front of makespan and cost (or energy) of the PEs.")]
Output = Annotated[
    Path | None,
    folder("report.html, advice.json, what launchers and programs read; if it is called NAME.json, that file alone"),
]
Explained = Annotated[bool, typer.Option("--explain", help="Say why, how sensitive it is, what to measure next.")]
MeasureNext = Annotated[
    str | None,
    typer.Option(
        metavar="TIME",
        help="First measure again, on this machine and for so long, what the advice doubts most, such as 60s.",
    ),
]

Command = Annotated[
    str | None,
    typer.Option(help="Agree to run this command line, which a model to be measured again names."),
    only_with("measure-next", why="where nothing is run"),
]


def advise(  # noqa: PLR0913, PLR0917 - one per option
    scenario: ScenarioFile,
    replications: Replications = None,
    seed: ScenarioSeed = None,
    vary: Vary = None,
    objective: Sought = "mean",
    top: Annotated[int | None, typer.Option(min=1, metavar="K", help="Show the K best candidates.")] = None,
    budget: Budget = None,
    runs: Runs = None,
    oversubscribe: Oversubscribe = False,
    pareto: Pareto = False,
    output: Output = None,
    hostfile: Annotated[Path | None, typer.Option(metavar="FILE", help="Write MPICH's host file here.")] = None,
    explained: Explained = False,
    measure_next: MeasureNext = None,
    command: Command = None,
    resource_model: ResourceModel = None,
    level: Level = LEVEL,
    table_form: PrintedForm = "text",
    as_json: Json = False,
) -> None:
    """Find who should get how much for the least makespan, compared with the naive strategies and your own.

    The scenario's configurations are compared too; gains are over as-now, else one process per core with equal units.

    apportion advise scenarios/tutorial/two-cores.yaml --replications 1000 -o out/advice
    """
    asked: dict[str, Any] = {"replications": replications, "seed": seed, "runs": runs, "oversubscribe": oversubscribe}
    from advisor.advise.advice import advice_of
    from advisor.advise.explanation import check_explained, explain
    from advisor.advise.export import export_files
    from advisor.advise.objectives import check_objective
    from advisor.advise.pareto import pareto_fronts
    from advisor.advise.recommendation import recommend

    loaded = load_changed(scenario, resource_model=resource_model, oversized=True)
    _check_asked(loaded, output, hostfile, pareto=pareto)
    check_explained(objective if explained else "mean")
    asked["vary"] = _varied(vary, loaded, oversubscribe=oversubscribe)
    asked |= {"objective": check_objective(objective), "budget_s": _budget_s(budget)}
    measured = None
    if measure_next is not None:
        load = partial(load_changed, scenario, resource_model=resource_model, oversized=True)
        loaded, measured = _measured_first(
            scenario, load, asked | {"level": level}, measure_next, output, command=command
        )
    with _kept(output, loaded, asked | {"budget_s": budget}):
        made = recommend(loaded, **asked, level=level, tell=search_sign)
        explanation = explain(loaded, made) if explained else None
        made = (explanation and explanation.recommendation) or made
        fronts = pareto_fronts(loaded, made) if pareto else ()
        exports = export_files(loaded, made.configuration) if output is not None and output.suffix != ".json" else ()
        advice = advice_of(
            loaded, made, top=top, fronts=fronts, explanation=explanation, measured=measured, exports=tuple(exports)
        )
        page, written = _page(advice, loaded, made, output, top), _written(output)
        write = partial(_write, output, hostfile, advice, page, loaded, made)
        finish(advice, page, as_json=as_json, write=write, said=written, form=table_form)


def _page(
    advice: "Advice",
    scenario: "simulator.Scenario",
    recommendation: "Recommendation",
    output: Path | None,
    top: int | None,
) -> "blocks.Page":
    """The page, with all that is drawn where it is written."""
    from advisor.report.advice import advice_page
    from advisor.report.illustrated import Illustration, illustration
    from advisor.report.strategies import MOST_RANKED

    compared, chosen = scenario.with_configurations(recommendation.candidates), recommendation.configuration
    also = recommendation.strategies.also
    before = also.get(recommendation.reference, recommendation.reference)
    if output is None or output.suffix == ".json":
        drawn = Illustration((), "", None, simulator.shares_of(compared, None, chosen))
    else:
        shown = (chosen.name, before, *_rivals(recommendation))
        drawn = illustration(compared, recommendation.runs, shown, before=before, launched=True)
    run = next_line("advise", "host files, launch lines and a report", output=output or "out/advice")
    return advice_page(advice, drawn, (run,), top=top or MOST_RANKED)


def _written(output: Path | None) -> dict[str, str]:
    """What was written where, for the end of the answer."""
    if output is None or output.suffix == ".json":
        return {} if output is None else {"Written": str(output)}
    return {"Report": f"{output / 'report.html'}, commands.txt beside it"}


def _check_asked(loaded: "simulator.Scenario", output: Path | None, hostfile: Path | None, *, pareto: bool) -> None:
    """Whether costs are known, and what is to be written can be: names of hosts for launchers, and room."""
    from advisor.advise.export.layout import check_hosts_of
    from advisor.advise.pareto import check_rates

    if pareto:
        check_rates(loaded)
    exported = output is not None and output.suffix != ".json"
    if exported or hostfile is not None:
        check_hosts_of(loaded)
    if output is not None:
        pes = len(loaded.platform.pes)
        check_room(output, folder=exported, needed_bytes=PAGE_BYTES + PE_BYTES * pes)


def _measured_first(
    path: Path,
    load: "partial[simulator.Scenario]",
    asked: dict[str, Any],
    budget: str,
    output: Path | None,
    *,
    command: str | None,
) -> tuple["simulator.Scenario", "MeasuredAgain"]:
    """The scenario with what is doubted most measured again, and what is said of that."""
    from advisor.advise.measured_again import measured_first

    budget_s = units.parse_duration(budget, field="--measure-next")
    folder = None if output is None or output.suffix == ".json" else output
    return measured_first(
        path,
        lambda changes: load(changes=changes),
        asked,
        budget_s=budget_s,
        folder=folder,
        command=command,
        tell=partial(print, file=sys.stderr),
    )


@contextmanager
def _kept(output: Path | None, scenario: "simulator.Scenario", asked: dict[str, Any]) -> Iterator[None]:
    """Keep the runs of the search in or next to what is written, until it is."""
    from advisor.advise.recommendation import recommend
    from simulator.experiments.sweep import keeping, version_of

    text = None
    if output is not None:
        with suppress(ScenarioError):  # what no file can hold cannot be known again
            text = simulator.dump_scenario(scenario, model=None if scenario.application.model is None else "a model")
    if output is None or text is None:
        yield
        return
    about = {"scenario": text, "inputs": dict(scenario.inputs), "version": version_of(recommend)}
    search = files.digest(json.dumps(about | asked, sort_keys=True).encode())
    name = f"search-{search.partition(':')[2][:8]}.partial"  # another search's runs are not ours to remove
    path = output.with_name(f"{output.name}.{name}") if output.suffix == ".json" else output / name
    with keeping(path, search) as kept:
        if kept.kept:
            print(f"{kept.kept} runs were simulated before and are not again ({path})", file=sys.stderr)
        try:
            yield
        except KeyboardInterrupt as error:
            said = f"{path} keeps {kept.kept} simulated runs, the same command goes on from there"
            raise Interrupted(f"interrupted; {said if kept.kept else 'nothing was simulated yet'}") from error
    files.remove(path)


def _write(
    output: Path | None,
    hostfile: Path | None,
    advice: "Advice",
    page: "blocks.Page",
    scenario: "simulator.Scenario",
    recommendation: "Recommendation",
) -> None:
    """The document alone, or a folder of it, the scenario with the candidates, and the exports; MPICH's host file."""
    from advisor.advise.export import export_files, save_exports
    from advisor.report.html import render_page

    if output is not None and output.suffix == ".json":
        files.write_json(output, advice.to_dict())
    elif output is not None:
        save_exports(scenario, recommendation.configuration, output)
        compared = scenario.with_configurations(recommendation.candidates)
        files.write_text(output / "scenario.yaml", simulator.dump_scenario(compared))
        files.write_json(output / "advice.json", advice.to_dict())
        files.write_text(output / "report.html", render_page(page))
    if hostfile is not None:
        files.write_text(hostfile, export_files(scenario, recommendation.configuration)["hostfile"])


def _rivals(recommendation: "Recommendation") -> tuple[str, ...]:
    """The best of the others, and the equal split."""
    names = [candidate.name for candidate in recommendation.candidates]
    ranked = [names[entry.candidate] for entry in recommendation.ranking.ranked]
    best = [name for name in ranked if name != recommendation.configuration.name][:1]
    return (*best, *(["equal"] if "equal" in names else []))


def _varied(vary: str | None, scenario: "simulator.Scenario", *, oversubscribe: bool) -> tuple[str, ...]:
    """What varies, by the option or as is usual for the scenario; more processes are for allocations."""
    from advisor.advise.strategies import usual_vary

    named = {"partition": ("partition",), "allocation": ("allocation",), "both": ("partition", "allocation")}
    named["scheduling"] = (*usual_vary(scenario, oversubscribe=oversubscribe), "scheduling")
    if vary is not None and vary not in named:
        raise ScenarioError(f"--vary: {vary!r} cannot vary; name {', '.join(named)}")
    return usual_vary(scenario, oversubscribe=oversubscribe) if vary is None else named[vary]


def _budget_s(budget: str | None) -> float | None:
    """What is left of the time that all of it may take."""
    if budget is None:
        return None
    left_s = read_budget(budget)
    if left_s <= LEAST_LEFT_S:
        enough_s = max(5, math.ceil(2 * signs.spent_s()))
        raise ScenarioError(f"--budget: {budget} is too little to read the scenario; give at least {enough_s}s")
    return left_s
