"""`apportion simulate`: run a scenario."""

from pathlib import Path
from typing import Annotated, Literal

import typer

import simulator
from advisor.cli.asked import next_line
from advisor.cli.declared import only_with
from advisor.cli.options import (
    LEVEL,
    Changes,
    Engine,
    Json,
    Level,
    Replications,
    ResourceModel,
    ScenarioSeed,
    TableForm,
    folder,
    load_changed,
)
from advisor.cli.outputs import check_room, finish, report_in
from advisor.cli.progress import counting
from advisor.cli.scenarios import ScenarioFile
from simulator import ScenarioError, files

Form = Literal["csv", "parquet"]

SHOWN = only_with("timeline", why="which they are for")
TIMELINES = (".json", ".json.gz", ".csv", ".csv.gz", ".svg")
"""What the name of a timeline may end in."""


def simulate(  # noqa: PLR0913, PLR0917 - one per option
    scenario: ScenarioFile,
    replications: Replications = None,
    seed: ScenarioSeed = None,
    engine: Engine = "auto",
    output: Annotated[Path | None, folder("report.html, runs.csv, processes.csv, manifest.json, charts")] = None,
    jobs: Annotated[
        Path | None, typer.Option(help="Every run as a job of a batch system: .swf, or .csv as Batsim writes it.")
    ] = None,
    table_form: TableForm = "csv",
    timeline: Annotated[
        Path | None,
        typer.Option(help="One replication: .json(.gz) for Perfetto, .csv(.gz), .svg a chart."),
    ] = None,
    replication: Annotated[int, typer.Option(min=0, help="The one that --timeline shows."), SHOWN] = 0,
    configuration: Annotated[
        str | None,
        typer.Option(help="The one that --timeline shows; all by default, in .svg the first."),
        SHOWN,
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

    stored: Form = "parquet" if table_form == "parquet" else "csv"
    simulator.check_form(stored)
    check_endings({"timeline": (timeline, TIMELINES), "jobs": (jobs, simulator.JOB_FILES)})
    loaded = load_changed(scenario, changes=changes, resource_model=resource_model)
    shown = None if timeline is None else simulation.shown_in_timeline(loaded, replications, replication, configuration)
    check_room(output, folder=True, needed_bytes=simulation.needed_bytes(loaded, replications))
    drawn = output is not None or (shown is not None and replication == 0)
    with counting("simulating") as text:
        runs = simulator.run(
            loaded, replications=replications, seed=seed, engine=engine, log_replications=int(drawn), progress=text
        )
    found = simulation.simulation_of(loaded, runs, level=level)
    again = () if changes else (next_line("advise", "who should get how much", output="out/advice"),)
    page = simulation.page_of_runs(loaded, runs, found, again, drawn=output is not None)

    def write() -> None:
        if output is not None:
            simulation.save_simulation(loaded, runs, output, found, page, stored)
        if jobs is not None:
            files.write_pieces(jobs, simulator.job_lines(loaded, runs, jobs.suffix))
        if timeline is not None and shown is not None:
            simulation.save_timeline(loaded, runs, timeline, simulation=found, replication=replication, shown=shown)

    finish(found, page, as_json=as_json, write=write, said=report_in(output), form=table_form)


def check_endings(named: dict[str, tuple[Path | None, tuple[str, ...]]]) -> None:
    """Refuse a file whose name says another kind than an option writes.

    Parameters
    ----------
    named
        Option -> what was given, and the endings that it knows.
    """
    for option, (path, endings) in named.items():
        if path is not None and not path.name.endswith(endings):
            allowed = f"give a name that ends in {', '.join(endings[:-1])} or {endings[-1]}"
            raise ScenarioError(f"--{option} is {path.name}; {allowed}")
