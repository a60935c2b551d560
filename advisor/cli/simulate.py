"""`apportion simulate`: run a scenario."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from advisor.cli.options import LEVEL, Changes, Json, Level, ResourceModel, TableForm, load_changed, print_warnings
from advisor.cli.outputs import check_room, finish
from advisor.cli.progress import counting_bar
from advisor.cli.scenarios import SCENARIO, SCENARIO_HELP

Form = Literal["csv", "parquet"]

if TYPE_CHECKING:
    from collections.abc import Mapping

    from simulator import RunSet, Scenario

ScenarioFile = Annotated[Path, typer.Argument(metavar="SCENARIO", help=SCENARIO_HELP, **SCENARIO)]
TIMELINES = (".json", ".json.gz", ".csv", ".csv.gz", ".paje", ".svg")
"""What the name of a timeline may end in."""
MOST_ROWS = 12
"""Processes up to which each one's time is printed; beyond, the configuration's extremes."""
MOST_IDLE = 3
"""Configurations that leave cores idle, told one by one."""


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
    level: Level = LEVEL,
    as_json: Json = False,
) -> None:
    """Simulate every configuration of a scenario on the same draws and print the makespans.

    Example: apportion simulate scenarios/tutorial/two-cores.yaml --replications 1000 --set platform.link.latency=x2
    """
    from advisor.report import simulation
    from simulator import JOB_FILES, check_form, files, job_lines, on_compile, run

    check_form(table_form)
    check_endings({"timeline": (timeline, TIMELINES), "jobs": (jobs, JOB_FILES)})
    on_compile.append(say_compiling)
    loaded = load_changed(scenario, changes=changes, resource_model=resource_model)
    shown = None if timeline is None else simulation.shown_in_timeline(loaded, replications, replication, configuration)
    check_room(output, folder=True, needed_bytes=simulation.needed_bytes(loaded, replications))
    drawn = output is not None or (shown is not None and replication == 0)
    with counting_bar("simulating") as told:
        runs = run(
            loaded, replications=replications, seed=seed, engine=engine, log_replications=int(drawn), progress=told
        )
    document = simulation.simulation_document(loaded, runs, level=level)

    def write() -> None:
        if output is not None:
            simulation.save_simulation(loaded, runs, output, document, table_form)
        if jobs is not None:
            files.write_pieces(jobs, job_lines(loaded, runs, jobs.suffix))
        if timeline is not None and shown is not None:
            simulation.save_timeline(loaded, runs, timeline, document=document, replication=replication, shown=shown)

    finish(document, lambda: _print(loaded, runs, document), as_json=as_json, write=write, said=None)


def check_endings(named: dict[str, tuple[Path | None, tuple[str, ...]]]) -> None:
    """Refuse a file whose name says another kind than an option writes.

    Parameters
    ----------
    named
        Option -> what was given, and the endings that it knows.
    """
    from simulator import ScenarioError

    for option, (path, endings) in named.items():
        if path is not None and not path.name.endswith(endings):
            allowed = f"give a name that ends in {', '.join(endings[:-1])} or {endings[-1]}"
            raise ScenarioError(f"--{option} is {path.name}; {allowed}")


def _print(loaded: "Scenario", runs: "RunSet", document: "Mapping[str, Any]") -> None:
    from advisor import wording
    from advisor.report.simulation import simulation_warnings
    from simulator import units

    show = units.show_duration
    print(f"{'configuration':<16}{'mean':>28}{'median':>12}{wording.runs_text(document):>24}")
    for one in document["configurations"]:
        row = one["makespan_s"]
        mean, runs_lie = wording.with_interval(row), wording.of_runs(row)
        print(f"{one['name']:<16}{mean:>28}{show(row['median']):>12}{runs_lie:>24}")
    if told := wording.interval_line(document):
        print(told)
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
    _print_idle(loaded)
    count = runs.makespan_ticks.shape[1]
    known = "; deterministic: nothing is drawn, every replication takes the same time" if runs.deterministic else ""
    print(f"\n{count} replication{'' if count == 1 else 's'}, seed {runs.seed}, engine {runs.engine}{known}")
    for change in loaded.changes:
        print(f"set: {change.path}: {change.after} in place of {change.before}")
    print_warnings(simulation_warnings(loaded, runs))


def _print_idle(loaded: "Scenario") -> None:
    from advisor.report.simulation import idle_of

    idle = idle_of(loaded)
    lines = [f"configuration {found.configuration}: {found.text}" for found in idle[:MOST_IDLE]]
    if len(idle) > MOST_IDLE:
        lines.append(f"{len(idle) - MOST_IDLE} more configurations leave cores idle; all with --json")
    print("".join(f"\n{line}" for line in lines), end="\n" if lines else "")


def say_compiling(kernel: str) -> None:
    """The first use of a new version takes seconds; what is compiled is kept where nobody else can change it."""
    from simulator import cache_folder

    nowhere = "for this command alone: no folder that only you can write was found; set XDG_CACHE_HOME to one"
    print(f"compiling the simulator's kernel {kernel!r}, {'once' if cache_folder() else nowhere} ...", file=sys.stderr)
