"""`apportion simulate`: run a scenario."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from advisor.cli.options import Changes, Json, ResourceModel, TableForm, load_changed, print_warnings
from advisor.cli.outputs import check_room, finish
from advisor.cli.progress import counting_bar
from advisor.cli.scenarios import SCENARIO, SCENARIO_HELP

Form = Literal["csv", "parquet"]

if TYPE_CHECKING:
    from simulator import RunSet, Scenario

ScenarioFile = Annotated[Path, typer.Argument(metavar="SCENARIO", help=SCENARIO_HELP, **SCENARIO)]
TIMELINES = (".json", ".json.gz", ".csv", ".csv.gz", ".paje", ".svg")
"""What the name of a timeline may end in."""
MOST_PROCESS_ROWS = 2_000_000
"""Rows up to which `processes.csv` is written; the manifest has the means anyway."""
ROW_BYTES, PAGE_BYTES = 80, 2**20
"""About what a row of a table takes, and everything else."""
MOST_ROWS = 12
"""Processes up to which each one's time is printed; beyond, the configuration's extremes."""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("simulate")(simulate)


def simulate(  # noqa: PLR0913, PLR0917 - one per option
    scenario: ScenarioFile,
    replications: Annotated[int | None, typer.Option(min=1, help="In place of the scenario's own.")] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="In place of the scenario's own.")] = None,
    engine: Annotated[
        Literal["auto", "process", "compiled"], typer.Option(help="process is SimPy, compiled is Numba: same results.")
    ] = "auto",
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="Folder for report.html, runs.csv, processes.csv, manifest.json, charts."),
    ] = None,
    jobs: Annotated[
        Path | None, typer.Option(help="Every run as a job of a batch system: .swf, or .csv as Batsim writes it.")
    ] = None,
    table_form: TableForm = "csv",
    timeline: Annotated[
        Path | None,
        typer.Option(help="One replication: .json(.gz) for Perfetto, .csv(.gz), .paje for ViTE, .svg a chart."),
    ] = None,
    replication: Annotated[int, typer.Option(min=0, help="The one that --timeline shows.")] = 0,
    configuration: Annotated[
        str | None, typer.Option(help="The one that --timeline shows; all by default, in .svg the first.")
    ] = None,
    changes: Changes = None,
    resource_model: ResourceModel = None,
    as_json: Json = False,
) -> None:
    """Simulate every configuration of a scenario on the same draws and print the makespans.

    Example: apportion simulate scenarios/tutorial/two-cores.yaml --replications 1000 --set platform.link.latency=x2
    """
    from simulator import JOB_FILES, check_form, files, job_lines, on_compile, run

    check_form(table_form)
    _check_endings({"timeline": (timeline, TIMELINES), "jobs": (jobs, JOB_FILES)})
    on_compile.append(_say_compiling)
    loaded = load_changed(scenario, changes=changes, resource_model=resource_model)
    shown = None if timeline is None else _shown(loaded, replications, replication, configuration)
    check_room(output, folder=True, needed_bytes=_needed_bytes(loaded, replications))
    drawn = output is not None or (shown is not None and replication == 0)
    with counting_bar("simulating") as told:
        runs = run(
            loaded, replications=replications, seed=seed, engine=engine, log_replications=int(drawn), progress=told
        )
    document = _document(loaded, runs)

    def write() -> None:
        if output is not None:
            _save(loaded, runs, output, document, table_form)
        if jobs is not None:
            files.write_pieces(jobs, job_lines(loaded, runs, jobs.suffix))
        if timeline is not None and shown is not None:
            _save_timeline(loaded, runs, timeline, document=document, replication=replication, shown=shown)

    finish(document, lambda: _print(loaded, runs), as_json=as_json, write=write, said=None)


def _check_endings(named: dict[str, tuple[Path | None, tuple[str, ...]]]) -> None:
    from simulator import ScenarioError

    for option, (path, endings) in named.items():
        if path is not None and not path.name.endswith(endings):
            allowed = f"a name that ends in {', '.join(endings[:-1])} or {endings[-1]} allowed"
            raise ScenarioError(f"--{option}: {path.name} found, {allowed}")


def _needed_bytes(loaded: "Scenario", replications: int | None) -> int:
    """About what `-o` writes: a row per run, and one per process of a run as long as these are not too many."""
    count = loaded.replications if replications is None else replications
    rows = count * sum(len(one.partition) for one in loaded.configurations)
    runs = count * len(loaded.configurations)
    return PAGE_BYTES + ROW_BYTES * (runs + (rows if rows <= MOST_PROCESS_ROWS else 0))


def _document(loaded: "Scenario", runs: "RunSet") -> dict[str, Any]:
    from advisor.advise.advice import application_facts
    from simulator import describe, provenance

    pes = loaded.platform.pes
    return {
        "format": 1,
        "command": "simulate",
        **loaded.application.prepared_as,
        "application": application_facts(loaded),
        "pes": [pe.name for pe in pes],
        "engine": runs.engine,
        "tick_s": runs.tick_s,
        "replications": runs.makespan_ticks.shape[1],
        "deterministic": runs.deterministic,
        "seed": runs.seed,
        "configurations": [
            {
                "name": configuration.name,
                "partition": list(configuration.partition),
                "makespan_s": describe(runs.of(configuration.name), deterministic=runs.deterministic),
                "processes": [
                    {"process": process, "pe": pes[place].name, **spent}
                    for process, (place, spent) in enumerate(
                        zip(configuration.placement, runs.breakdown(configuration.name), strict=True)
                    )
                ],
            }
            for configuration in loaded.configurations
        ],
        "changes": [{"path": change.path, "before": change.before, "after": change.after} for change in loaded.changes],
        "extrapolation": [found.to_dict() for found in loaded.extrapolations],
        "warnings": _warnings(loaded, runs),
        "provenance": provenance.provenance(seed=runs.seed, inputs=loaded.inputs),
    }


def _warnings(loaded: "Scenario", runs: "RunSet") -> list[str]:
    """What the scenario warns of, and that one replication has no interval."""
    note = runs.interval_note
    return [*loaded.warnings, *([] if note is None or runs.deterministic else [note])]


def _save(
    loaded: "Scenario", runs: "RunSet", folder: Path, document: dict[str, Any], form: Literal["csv", "parquet"]
) -> None:
    from advisor.report import render_html
    from advisor.report.illustrated import compared, illustrated
    from simulator import files, plots, process_lines, save_runs

    changed = {change["path"]: change["after"] for change in document["changes"]}
    save_runs(runs, folder, manifest=document, parameters=changed, form=form)
    if sum(busy.size for busy in runs.busy_ticks) <= MOST_PROCESS_ROWS:
        files.write_pieces(folder / "processes.csv", process_lines(loaded, runs))
    judged = compared(loaded, runs)
    shown = (judged["recommended"], *runs.configurations)
    files.write_text(folder / "report.html", render_html(illustrated(document | judged, loaded, runs, shown)))
    for number, name in enumerate(runs.configurations):
        drawing = plots.gantt_svg(runs.timeline(name), name=f"timeline-{number}")
        if drawing:
            files.write_text(folder / f"timeline-{number}.svg", drawing)


def _shown(
    loaded: "Scenario", replications: int | None, replication: int, configuration: str | None
) -> tuple[str, ...]:
    """Names of the configurations that a timeline shows."""
    from simulator import ScenarioError

    count = loaded.replications if replications is None else replications
    if replication >= count:
        raise ScenarioError(f"--replication: {replication} found, 0 to {count - 1} allowed")
    names = tuple(one.name for one in loaded.configurations)
    if configuration is None:
        return names
    if configuration not in names:
        raise ScenarioError(f"--configuration: {configuration!r} found, one of {', '.join(names)} allowed")
    return (configuration,)


def _save_timeline(
    loaded: "Scenario",
    runs: "RunSet",
    path: Path,
    *,
    document: dict[str, Any],
    replication: int,
    shown: tuple[str, ...],
) -> None:
    """One file: all configurations for a trace viewer, one as a chart. Only replication 0 is logged with the others."""
    from simulator import files, plots, run, write_timeline

    if replication:
        alone = loaded.with_configurations(tuple(one for one in loaded.configurations if one.name in shown))
        known: Any = runs.engine
        again = {"replications": 1, "first_replication": replication, "seed": runs.seed, "engine": known}
        loaded, runs = alone, run(alone, log_replications=1, **again)
    if path.suffix == ".svg":
        files.write_text(path, plots.gantt_svg(runs.timeline(shown[0])))
        return
    about = {
        "command": "simulate --timeline",
        "application": loaded.application.name,
        "replication": replication,
        "makespan_s": {name: float(runs.of(name)[0]) for name in shown},
        **{name: document[name] for name in ("engine", "tick_s", "seed", "changes", "warnings", "provenance")},
    }
    write_timeline(path, loaded, runs=runs, configurations=shown, first_replication=replication, about=about)


def _print(loaded: "Scenario", runs: "RunSet") -> None:
    from simulator import units

    show = units.show_duration
    print(f"{'configuration':<16}{'mean':>10}{'95 % interval':>24}{'median':>10}{'5 % to 95 %':>24}")
    for row in runs.summary():
        interval, middle = units.show_range(row["low"], row["high"]), units.show_range(row["p05"], row["p95"])
        print(f"{row['name']:<16}{show(row['mean']):>10}{interval:>24}{show(row['median']):>10}{middle:>24}")
    print(f"\n{'configuration':<16}{'process':>8}  {'PE':<12}{'computing':>11}{'waiting':>11}{'done, idle':>12}")
    for configuration in loaded.configurations:
        spent = runs.breakdown(configuration.name)
        rows = sorted(range(len(spent)), key=lambda process: (spent[process]["idle_s"], process))
        shown = range(len(rows)) if len(rows) <= MOST_ROWS else sorted({rows[0], rows[len(rows) // 2], rows[-1]})
        for process in shown:
            pe = loaded.platform.pes[configuration.placement[process]].name
            times = [show(spent[process][name]) for name in ("busy_s", "waiting_s", "idle_s")]
            print(f"{configuration.name:<16}{process:>8}  {pe:<12}{times[0]:>11}{times[1]:>11}{times[2]:>12}")
        if len(rows) > MOST_ROWS:
            print(f"{'':<16}last to end, median and first of {len(rows)} processes; all with --json")
    count = runs.makespan_ticks.shape[1]
    known = "; deterministic: nothing is drawn, every replication takes the same time" if runs.deterministic else ""
    print(f"\n{count} replication{'' if count == 1 else 's'}, seed {runs.seed}, engine {runs.engine}{known}")
    for change in loaded.changes:
        print(f"set: {change.path}: {change.after} in place of {change.before}")
    print_warnings(_warnings(loaded, runs))


def _say_compiling(kernel: str) -> None:
    """The first use of a new version takes seconds; what is compiled is kept where nobody else can change it."""
    from simulator import cache_folder

    nowhere = "for this command alone: no folder that only you can write was found; set XDG_CACHE_HOME to one"
    print(f"compiling the simulator's kernel {kernel!r}, {'once' if cache_folder() else nowhere} ...", file=sys.stderr)
