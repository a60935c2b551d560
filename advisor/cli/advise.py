"""`apportion advise`: which partition of a scenario's work is best, and what that gains over the naive ones."""

import json
import math
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import simulator
from advisor.cli import allocate, signs
from advisor.cli.asked import next_line
from advisor.cli.declared import Given, Only, only_with
from advisor.cli.inputs import SCENARIO
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
from advisor.cli.partition import partition
from advisor.cli.progress import search_sign
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
SCENARIOS, SPEEDS, RUNS = "with a scenario", "with a speeds file", "with runs"


def subject_of(path: Path, *, units: object = None, kinds: object = None) -> str:
    """What advice is asked for: a scenario, a list of speeds, or runs of a program and the model of them.

    The options decide where a file does not say what it is.
    """
    if path.suffix == ".csv":
        return RUNS
    if path.suffix in {".yaml", ".yml", ".toml"}:
        return SCENARIOS
    document: Any = None
    with suppress(ScenarioError):
        document = files.read_json(path)
    if kinds is not None or (isinstance(document, dict) and document.get("kind") == "process_count"):
        return RUNS
    return SPEEDS if units is not None or isinstance(document, list) else SCENARIOS


def _subject(given: Given) -> str:
    return subject_of(given["scenario"], units=given["units"], kinds=given["kinds"] or None)


def _sought(given: Given) -> str:
    subject = _subject(given)
    return f"with --method {given['method']}" if subject == SPEEDS else subject


def _drawing(given: Given) -> str:
    return "with --objective regret" if given["objective"] == "regret" else "with mean, cvar or worst"


SCENARIO_ONLY = Only((SCENARIOS,), _subject)
OF_SPEEDS, OF_RUNS = Only((SPEEDS,), _subject), Only((RUNS,), _subject)
DRAWN = Only(("with mean, cvar or worst",), _drawing, why="which draws nothing")
Vary = Annotated[
    str | None,
    typer.Option(
        metavar="partition|allocation|both|scheduling",
        help=VARY_HELP,
        autocompletion=offered("partition", "allocation", "both", "scheduling"),
    ),
    SCENARIO_ONLY,
]
Sought = Annotated[
    str,
    typer.Option(
        metavar="mean|p95|worst|cost|energy|cvar|regret",
        help="What is to be least: of makespans, or what a run costs (prices of nodes, costs of PEs) or draws (power); "
        "with a speeds file mean, cvar, worst or regret.",
        autocompletion=offered("mean", "p95", "worst", "cost", "energy", "cvar", "regret"),
    ),
    Only((SCENARIOS, "with --method banded"), _sought),
]
Budget = Annotated[
    str | None,
    typer.Option(metavar="TIME", help="What the search may take, such as 30s; the answer is then as good as it is."),
    SCENARIO_ONLY,
]
Runs = Annotated[
    int | None, typer.Option(min=1, metavar="N", help="Simulated runs that each search may take."), SCENARIO_ONLY
]
Oversubscribe = Annotated[
    bool,
    typer.Option("--oversubscribe", help="Also more processes than cores on a PE."),
    only_with("vary", "allocation", "both"),
    SCENARIO_ONLY,
]
Pareto = Annotated[
    bool, typer.Option("--pareto", help="Also the front of makespan and cost (or energy) of the PEs."), SCENARIO_ONLY
]
Output = Annotated[
    Path | None,
    folder("report.html, advice.json, what launchers and programs read; if it is called NAME.json, that file alone"),
]
Explained = Annotated[
    bool, typer.Option("--explain", help="Say why, how sensitive it is, what to measure next."), SCENARIO_ONLY
]
MeasureNext = Annotated[
    str | None,
    typer.Option(
        metavar="TIME",
        help="First measure again, on this machine and for so long, what the advice doubts most, such as 60s.",
    ),
    SCENARIO_ONLY,
]

Command = Annotated[
    str | None,
    typer.Option(help="Agree to run this command line, which a model to be measured again names."),
    only_with("measure-next", why="where nothing is run"),
    SCENARIO_ONLY,
]


Subject = Annotated[
    Path,
    typer.Argument(
        metavar="SCENARIO|SPEEDS|RUNS",
        help="A scenario; a list {name, sizes, speeds, max_size?, setup_s?, count?}; runs (CSV) or the model of them.",
        **SCENARIO,
    ),
]
Units = Annotated[int | None, typer.Option(help="How many units of work there are."), OF_SPEEDS]
Method = Annotated[
    str,
    typer.Option(
        help="equal, proportional, functional, discontinuous, banded or grid2d.",
        autocompletion=offered("equal", "proportional", "functional", "discontinuous", "banded", "grid2d"),
    ),
    OF_SPEEDS,
]
At = Annotated[
    str | None,
    typer.Option(help="Size of the one benchmark, or peak; by default the smallest."),
    only_with("method", "proportional"),
]
Correlation = Annotated[
    float | None,
    typer.Option(help="Of the PEs' places in their bands, from 0 to below 1."),
    only_with("method", "banded"),
    DRAWN,
]
Matrix = Annotated[
    str | None,
    typer.Option(metavar="ROWSxCOLUMNS", help="The matrix whose elements are the units."),
    only_with("method", "grid2d"),
]
Kinds = Annotated[
    str | None,
    typer.Option(metavar="NAME:PES:MOST,...", help="Kinds that may be used: how many PEs, most processes on one."),
    OF_RUNS,
]
Size = Annotated[float | None, typer.Option(metavar="N", help="The problem size to run."), OF_RUNS]
Memory = Annotated[
    list[str] | None,
    typer.Option(metavar="KIND=SIZE", help="Memory that the processes of one PE may use. Repeatable."),
    only_with("footprint"),
]
Footprint = Annotated[
    str | None,
    typer.Option(metavar="FORMULA", help="Bytes of one process, by N and P (processes in all): '8*N**2/P'."),
    only_with("memory"),
]
Hosts = Annotated[
    list[str] | None,
    typer.Option(metavar="KIND=HOSTS", help="For the host files: fast=node1,slow=node[2-4]. Repeatable."),
    OF_RUNS,
    only_with("hostfile"),
]
Hostfile = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Write MPICH's host file here; of runs FILE.openmpi, .rankfile, .slurm too."),
    Only(("with a scenario", "with runs"), _subject),
]
Seeded = Annotated[ScenarioSeed, Only((SCENARIOS, "with --method banded"), _sought), DRAWN]


Top = Annotated[
    int | None,
    typer.Option(min=1, metavar="K", help="Show the K best candidates."),
    Only(("with a scenario", "with runs"), _subject),
]


def advise(  # noqa: PLR0913, PLR0917 - one per option
    scenario: Subject,
    replications: Annotated[Replications, SCENARIO_ONLY] = None,
    seed: Seeded = None,
    vary: Vary = None,
    objective: Sought = "mean",
    top: Top = None,
    budget: Budget = None,
    runs: Runs = None,
    oversubscribe: Oversubscribe = False,
    pareto: Pareto = False,
    explained: Explained = False,
    measure_next: MeasureNext = None,
    command: Command = None,
    resource_model: Annotated[ResourceModel, SCENARIO_ONLY] = None,
    units: Units = None,
    method: Method = "functional",
    at: At = None,
    correlation: Correlation = None,
    matrix: Matrix = None,
    kinds: Kinds = None,
    size: Size = None,
    memory: Memory = None,
    footprint: Footprint = None,
    output: Output = None,
    hostfile: Hostfile = None,
    hosts: Hosts = None,
    level: Annotated[Level, Only(("with a scenario", "with runs"), _subject)] = LEVEL,
    table_form: Annotated[PrintedForm, SCENARIO_ONLY] = "text",
    as_json: Json = False,
) -> None:
    """Find who should get how much for the least makespan, compared with the naive strategies and your own.

    Gains are over as-now, else one process per core with equal units. A speeds file has --units divided without a
    simulation; runs of a program that nobody changes say how many processes to give to which PEs at a --size. Examples:

    apportion advise scenarios/tutorial/two-cores.yaml --replications 1000 -o out/advice

    apportion advise scenarios/tutorial/speeds.json --units 100000 -o partition.csv

    apportion advise model.json --kinds fast:1:4,slow:3:2 --size 6400
    """
    subject = subject_of(scenario, units=units, kinds=kinds)
    if subject == SPEEDS:
        if units is None:
            raise ScenarioError(f"{scenario} has speeds; add --units, how many there are to divide")
        sought = objective if method == "banded" else None
        given = {"at": at, "correlation": correlation, "matrix": matrix, "objective": sought}
        partition(scenario, units, method, given, seed=seed or 0, output=output, as_json=as_json)
        return
    if subject == RUNS:
        if kinds is None or size is None:
            raise ScenarioError(f"{scenario} has runs; add --kinds and --size, such as --kinds fast:1:4 --size 6400")
        shown: Any = {"top": top, "hostfiles": (hostfile, hosts), "as_json": as_json}
        allocate.advise(scenario, kinds, size, level=level, limits=(memory, footprint), **shown)
        return
    search = {"replications": replications, "seed": seed, "runs": runs, "oversubscribe": oversubscribe}
    shows = Shown(top, pareto=pareto, explained=explained, measured=measure_next, command=command, level=level)
    written: Any = {"output": output, "hostfile": hostfile, "form": table_form, "as_json": as_json}
    _simulated((scenario, resource_model), search, (vary, objective, budget), shows, **written)


@dataclass(frozen=True)
class Shown:
    """What is said beside the best configuration, and what is measured for it first."""

    top: int | None
    pareto: bool
    explained: bool
    measured: str | None
    """How long to measure again first."""
    command: str | None
    level: float


def _simulated(
    source: tuple[Path, str | None],
    search: dict[str, Any],
    words: tuple[str | None, str, str | None],
    shown: Shown,
    *,
    output: Path | None,
    hostfile: Path | None,
    form: str,
    as_json: bool,
) -> None:
    """The answer for a scenario.

    Parameters
    ----------
    source
        The scenario's file, and its resource model if another one is asked for.
    words
        What varies, what is to be least, and the time that the search may take.
    """
    from advisor.advise.advice import advice_of
    from advisor.advise.explanation import check_explained, explain
    from advisor.advise.export import export_files
    from advisor.advise.objectives import check_objective
    from advisor.advise.pareto import pareto_fronts
    from advisor.advise.recommendation import recommend

    load = partial(load_changed, source[0], resource_model=source[1], oversized=True)
    loaded, (vary, objective, budget) = load(), words
    _check_asked(loaded, output, hostfile, pareto=shown.pareto)
    check_explained(objective if shown.explained else "mean")
    asked = search | {"vary": _varied(vary, loaded, oversubscribe=search["oversubscribe"])}
    asked |= {"objective": check_objective(objective), "budget_s": _budget_s(budget)}
    measured = None
    if shown.measured is not None:
        about = asked | {"level": shown.level}
        loaded, measured = _measured_first(source[0], load, about, shown.measured, output, command=shown.command)
    with _kept(output, loaded, asked | {"budget_s": budget}):
        made = recommend(loaded, **asked, level=shown.level, tell=search_sign)
        explanation = explain(loaded, made) if shown.explained else None
        made = (explanation and explanation.recommendation) or made
        fronts = pareto_fronts(loaded, made) if shown.pareto else ()
        exports = export_files(loaded, made.configuration) if output is not None and output.suffix != ".json" else ()
        more: Any = {"explanation": explanation, "measured": measured, "exports": tuple(exports)}
        advice = advice_of(loaded, made, top=shown.top, fronts=fronts, **more)
        page = _page(advice, loaded, made, output, shown.top)
        write = partial(_write, output, hostfile, advice, page, loaded, made)
        finish(advice, page, as_json=as_json, write=write, said=_written(output), form=form)


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
