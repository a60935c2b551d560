"""`apportion advise`: which partition of a scenario's work is best, and what that gains over the naive ones."""

import json
import math
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import simulator
from advisor.cli import signs
from advisor.cli.asked import next_line
from advisor.cli.declared import Given, Only, argument, only_with, option
from advisor.cli.inputs import INPUT
from advisor.cli.options import (
    LEAST_LEFT_S,
    LEVEL,
    Changes,
    Level,
    PrintedForm,
    Replications,
    ScenarioSeed,
    folder,
    offered,
    read_budget,
)
from advisor.cli.outputs import finish
from advisor.cli.progress import search_sign
from simulator import Interrupted, ScenarioError, blocks, calibration, files, units

if TYPE_CHECKING:
    from advisor.advise.measured_again import MeasuredAgain
    from advisor.advise.partition.result import Partition
    from advisor.advise.recommendation import Recommendation

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


SCENARIO_ONLY = Only((SCENARIOS,), _subject)
OF_SPEEDS, OF_RUNS = Only((SPEEDS,), _subject), Only((RUNS,), _subject)


@dataclass(frozen=True)
class Search:
    """What is sought in a scenario, and how long."""

    replications: Annotated[Replications, SCENARIO_ONLY] = None
    seed: Annotated[ScenarioSeed, SCENARIO_ONLY] = None
    vary: str | None = option(
        VARY_HELP,
        SCENARIO_ONLY,
        metavar="partition|allocation|both|scheduling",
        autocompletion=offered("partition", "allocation", "both", "scheduling"),
    )
    objective: str = option(
        "What is to be least: of makespans, or what a run costs (prices of nodes, costs of PEs) or draws (power).",
        SCENARIO_ONLY,
        default="mean",
        metavar="mean|p95|worst|cost|energy",
        autocompletion=offered("mean", "p95", "worst", "cost", "energy"),
    )
    budget: str | None = option(
        "What the search may take, such as 30s; the answer is then as good as it is.", SCENARIO_ONLY, metavar="TIME"
    )
    runs: int | None = option("Simulated runs that each search may take.", SCENARIO_ONLY, min=1, metavar="N")
    oversubscribe: bool = option(
        "Also more processes than cores on a PE.", only_with("vary", "allocation", "both"), SCENARIO_ONLY
    )
    changes: Annotated[Changes, SCENARIO_ONLY] = None


@dataclass(frozen=True)
class Shown:
    """What is said beside the best configuration, and what is measured for it first."""

    top: int | None = option(
        "Show the K best candidates.", Only(("with a scenario", "with runs"), _subject), min=1, metavar="K"
    )
    pareto: bool = option("Also the front of makespan and cost (or energy) of the PEs.", SCENARIO_ONLY)
    explained: bool = option("Say why, how sensitive it is, what to measure next.", SCENARIO_ONLY, names=("--explain",))
    measure_next: str | None = option(
        "First measure again, on this machine and for so long, what the advice doubts most, such as 60s.",
        SCENARIO_ONLY,
        metavar="TIME",
    )
    command: str | None = option(
        "Agree to run this command line, which a model to be measured again names.",
        only_with("measure-next", why="where nothing is run"),
        SCENARIO_ONLY,
    )
    level: Annotated[Level, Only(("with a scenario", "with runs"), _subject)] = LEVEL


@dataclass(frozen=True)
class Speeds:
    """How a list of speeds has its units divided."""

    units: int | None = option("How many units of work there are.", OF_SPEEDS)
    method: str = option(
        "equal, by-speed or functional.",
        OF_SPEEDS,
        default="functional",
        autocompletion=offered("equal", "by-speed", "functional"),
    )


@dataclass(frozen=True)
class Counts:
    """Which numbers of processes are ranked by runs of a program."""

    kinds: str | None = option(
        "Kinds that may be used: how many PEs, most processes on one.", OF_RUNS, metavar="NAME:PES:MOST,..."
    )
    size: float | None = option("The problem size to run.", OF_RUNS, metavar="N")
    memory: list[str] | None = option(
        "Memory that the processes of one PE may use. Repeatable.", only_with("footprint"), metavar="KIND=SIZE"
    )
    footprint: str | None = option(
        "Bytes of one process, by N and P (processes in all): '8*N**2/P'.", only_with("memory"), metavar="FORMULA"
    )
    hosts: list[str] | None = option(
        "For the host files: fast=node1,slow=node[2-4]. Repeatable.",
        OF_RUNS,
        only_with("hostfile"),
        metavar="KIND=HOSTS",
    )


@dataclass(frozen=True)
class Written:
    """Where the answer goes, and in which form."""

    output: Path | None = folder(
        "report.html, advice.json, what launchers and programs read; if it is called NAME.json, that file alone"
    )
    hostfile: Path | None = option(
        "Write MPICH's host file here; of runs FILE.openmpi, .rankfile, .slurm too.",
        Only(("with a scenario", "with runs"), _subject),
        metavar="FILE",
    )
    table_form: Annotated[PrintedForm, SCENARIO_ONLY] = "text"


def advise(
    search: Search,
    shown: Shown,
    speeds: Speeds,
    counts: Counts,
    written: Written,
    scenario: Path = argument(
        "A scenario; a list {name, sizes, speeds, max_size?, setup_s?, count?}; runs (CSV) or the model of them.",
        metavar="SCENARIO|SPEEDS|RUNS",
        **INPUT,
    ),
) -> None:
    """Find who should get how much for the least makespan, compared with the naive strategies and your own.

    Gains are over as-now, else one process per core with equal units. A speeds file has --units divided without a
    simulation; runs of a program that nobody changes say how many processes to give to which PEs at a --size. Examples:

    apportion advise scenarios/tutorial/two-cores.yaml --replications 1000 -o out/advice

    apportion advise scenarios/tutorial/speeds.json --units 100000 -o partition.csv

    apportion advise model.json --kinds fast:1:4,slow:3:2 --size 6400
    """
    subject = subject_of(scenario, units=speeds.units, kinds=counts.kinds)
    if subject == SPEEDS:
        _divided(scenario, speeds, written.output)
    elif subject == RUNS:
        _counted(scenario, counts, shown, written)
    else:
        _simulated(scenario, search, shown, written)


def _divided(path: Path, speeds: Speeds, output: Path | None) -> None:
    """Divide units so that the PE that ends last ends as early as possible, and say how good that is."""
    from advisor.advise.export.layout import check_hosts
    from advisor.advise.partition.methods import partition, partition_document
    from advisor.advise.partition.speeds_file import read_speeds
    from advisor.report.models import partition_page

    if speeds.units is None:
        raise ScenarioError(f"{path} has speeds; add --units, how many there are to divide")
    read = read_speeds(path)
    if output is not None and output.suffix == ".dist":
        check_hosts(read.pes.names, f"{path}: a .dist file names its devices by host")
    found = partition(speeds.units, read, speeds.method)
    document = partition_document(found, read)
    written = {} if output is None else {"Written": str(output)}
    as_json = output is not None and output.suffix == ".json"
    write = partial(files.write_json, document=document) if as_json else partial(_write_units, found)
    finish(document, partition_page(found, read), output, write=write, said=written)


def _write_units(found: "Partition", output: Path) -> None:
    """In the form that the name's end says."""
    from advisor.advise.export import fupermod_dist
    from advisor.advise.partition.methods import partition_csv

    if output.suffix == ".dist":
        text = fupermod_dist(list(zip(found.pes.pe_names(), found.units.tolist(), strict=True)))
    else:
        text = partition_csv(found)
    files.write_text(output, text)


def _counted(model: Path, counts: Counts, shown: Shown, written: Written) -> None:
    """Rank every configuration at a problem size, by a model or by the runs themselves."""
    from advisor.advise.process_counts.advice import (
        advise_allocation,
        check_kinds,
        host_commands,
        host_files,
        layout_of_advice,
    )
    from advisor.advise.process_counts.answer import render_choice
    from advisor.advise.process_counts.search import Limits, parse_hosts, parse_kinds, parse_memory

    if counts.kinds is None or counts.size is None:
        raise ScenarioError(f"{model} has runs; add --kinds and --size, such as --kinds fast:1:4 --size 6400")
    named, hostfile = parse_kinds(counts.kinds), written.hostfile
    hosts = None if counts.hosts is None else parse_hosts(counts.hosts, named)
    if hostfile is not None:
        check_kinds(named, hosts)
    of_runs = model.suffix == ".csv"
    fitted = calibration.fit_allocation_table(model) if of_runs else calibration.load_allocation_fit(model)
    limits = None
    if counts.memory is not None and counts.footprint is not None:
        limits = Limits(parse_memory(counts.memory, named), counts.footprint)
    asked: Any = {"level": shown.level, "limits": limits, "top": shown.top}
    with files.understood(model, "apportion fit"):
        inputs = {str(model): files.digest(files.read_bytes(model))}
        advice = advise_allocation(fitted, named, counts.size, inputs=inputs, **asked)
    said, texts = "", dict[str, str]()
    if hostfile is not None:
        layout, place = layout_of_advice(advice, hosts), str(hostfile)
        texts, commands = host_files(layout, place), host_commands(layout, place)
        advice = replace(advice, hostfiles=tuple(texts), commands=commands)
        said = f"\nhost files written: {', '.join(texts)}\n{commands.rstrip()}"
    document = advice.to_dict()
    most = {} if shown.top is None else {"top": shown.top}

    def more() -> None:
        for name, text in texts.items():
            files.write_text(Path(name), text)
        if written.output is not None:
            files.write_json(written.output / "advice.json" if _is_folder(written.output) else written.output, document)

    if written.output is not None:
        said = f"\nwritten: {written.output}{said}"
    finish(document, f"{render_choice(advice, **most)}\n", more=more, said=said)


def _simulated(scenario: Path, search: Search, shown: Shown, written: Written) -> None:
    """The answer for a scenario."""
    from advisor.advise.explanation import check_explained
    from advisor.advise.measured_again import measured_first
    from advisor.advise.objectives import check_objective
    from advisor.advise.recommendation import recommend
    from advisor.advise.strategies import vary_of

    def load(more: Sequence[str] = ()) -> simulator.Scenario:
        return simulator.load_scenario(scenario, changes=[*(search.changes or ()), *more], oversized=True)

    loaded, output, measured = load(), written.output, None
    _check_asked(loaded, output, written.hostfile, pareto=shown.pareto)
    check_explained(search.objective if shown.explained else "mean")
    words = search.vary.split(",") if search.vary else ()
    ask = partial(
        recommend,
        replications=search.replications,
        seed=search.seed,
        runs=search.runs,
        oversubscribe=search.oversubscribe,
        vary=vary_of(words, loaded, where="--vary", oversubscribe=search.oversubscribe),
        objective=check_objective(search.objective),
        budget_s=_budget_s(search.budget),
        level=shown.level,
    )
    if shown.measure_next is not None:
        again: Any = {"folder": output if _is_folder(output) else None, "command": shown.command}
        again["budget_s"] = units.parse_duration(shown.measure_next, field="--measure-next")
        again["tell"] = partial(print, file=sys.stderr)
        loaded, measured = measured_first(scenario, load, ask, **again)
    with _kept(output, loaded, ask, search.budget):
        _answer(loaded, ask, shown, written, measured)


def _answer(
    scenario: "simulator.Scenario",
    ask: "partial[Recommendation]",
    shown: Shown,
    written: Written,
    measured: "MeasuredAgain | None",
) -> None:
    """Search, and print and write what is found."""
    from advisor.advise.advice import advice_of
    from advisor.advise.explanation import explain
    from advisor.advise.export import export_files
    from advisor.advise.pareto import pareto_fronts
    from advisor.report.advice import page_of_advice, save_advice

    output, drawn = written.output, _is_folder(written.output)
    made = ask(scenario, tell=search_sign)
    explanation = explain(scenario, made) if shown.explained else None
    made = (explanation and explanation.recommendation) or made
    fronts = pareto_fronts(scenario, made) if shown.pareto else ()
    exports = tuple(export_files(scenario, made.configuration)) if drawn else ()
    more: Any = {"explanation": explanation, "measured": measured, "exports": exports}
    advice = advice_of(scenario, made, top=shown.top, fronts=fronts, **more)
    run = next_line("advise", "host files, launch lines and a report", output=output or "out/advice")
    page = page_of_advice(advice, scenario, made, (run,), drawn=drawn, top=shown.top)
    here = _from_here(page, output, scenario, made) if drawn else page
    save = partial(save_advice, output, written.hostfile, advice, page, scenario, made)
    finish(advice, here, more=save, said=_written(output), form=written.table_form)


def _is_folder(output: Path | None) -> bool:
    """Whether host files and a report are written, not the document alone."""
    return output is not None and output.suffix != ".json"


def _from_here(
    page: "blocks.Page", folder: Path | None, scenario: "simulator.Scenario", recommendation: "Recommendation"
) -> "blocks.Page":
    """The page with lines to launch that work where the user stands; those of the report work in its folder."""
    from advisor.advise.export import commands, layout_of
    from advisor.report.picture import launch_lines

    lines = commands(layout_of(scenario, recommendation.configuration), folder or Path())
    return replace(page, run=launch_lines(lines))


def _written(output: Path | None) -> dict[str, str]:
    """What was written where, for the end of the answer."""
    if output is None or output.suffix == ".json":
        return {} if output is None else {"Written": str(output)}
    return {"Report": f"{output / 'report.html'}, commands.txt beside it"}


def _check_asked(loaded: "simulator.Scenario", output: Path | None, hostfile: Path | None, *, pareto: bool) -> None:
    """Whether costs are known, and what is to be written can be: names of hosts for launchers."""
    from advisor.advise.export.layout import check_hosts_of
    from advisor.advise.pareto import check_rates

    if pareto:
        check_rates(loaded)
    if _is_folder(output) or hostfile is not None:
        check_hosts_of(loaded)


@contextmanager
def _kept(
    output: Path | None, scenario: "simulator.Scenario", ask: "partial[Recommendation]", budget: str | None
) -> Iterator[None]:
    """Keep the runs of the search in or next to what is written, until it is."""
    from simulator.experiments.sweep import keeping, version_of

    text = None
    if output is not None:
        with suppress(ScenarioError):  # what no file can hold cannot be known again
            text = simulator.dump_scenario(scenario, model=None if scenario.application.model is None else "a model")
    if output is None or text is None:
        yield
        return
    about = {"scenario": text, "inputs": dict(scenario.inputs), "version": version_of(ask.func)}
    decides = {name: value for name, value in ask.keywords.items() if name != "level"} | {"budget_s": budget}
    search = files.digest(json.dumps(about | decides, sort_keys=True).encode())
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


def _budget_s(budget: str | None) -> float | None:
    """What is left of the time that all of it may take."""
    if budget is None:
        return None
    left_s = read_budget(budget)
    if left_s <= LEAST_LEFT_S:
        enough_s = max(5, math.ceil(2 * signs.spent_s()))
        raise ScenarioError(f"--budget: {budget} is too little to read the scenario; give at least {enough_s}s")
    return left_s
