"""`apportion simulate`: run a scenario."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import simulator
from advisor.cli.asked import next_line
from advisor.cli.declared import argument, only_with, option
from advisor.cli.inputs import SCENARIO, SCENARIO_HELP
from advisor.cli.options import (
    LEVEL,
    Changes,
    Engine,
    Level,
    Replications,
    ScenarioSeed,
    TableForm,
    folder,
)
from advisor.cli.outputs import finish
from advisor.cli.progress import counting
from simulator import ScenarioError, files

Form = Literal["csv", "parquet"]

SHOWN = only_with("timeline", why="which they are for")
TIMELINES = (".json", ".json.gz", ".csv", ".csv.gz", ".svg")
"""What the name of a timeline may end in."""


@dataclass(frozen=True)
class Asked:
    """What is simulated of a scenario."""

    replications: Replications = None
    seed: ScenarioSeed = None
    engine: Engine = "auto"
    changes: Changes = None
    level: Level = LEVEL


@dataclass(frozen=True)
class Files:
    """The one run that is shown, and runs as jobs of a batch system."""

    timeline: Path | None = option("One replication: .json(.gz) for Perfetto, .csv(.gz), .svg a chart.")
    replication: int = option("The one that --timeline shows.", SHOWN, default=0, min=0)
    configuration: str | None = option("The one that --timeline shows; all by default, in .svg the first.", SHOWN)
    jobs: Path | None = option("Every run as a job of a batch system: .swf, or .csv as Batsim writes it.")


def simulate(
    asked: Asked,
    files_of: Files,
    scenario: Path = argument(SCENARIO_HELP, metavar="SCENARIO", **SCENARIO),
    output: Path | None = folder("report.html, runs.csv, processes.csv, manifest.json, charts"),
    table_form: TableForm = "csv",
) -> None:
    """Simulate every configuration of a scenario on the same draws and print the makespans.

    Example: apportion simulate scenarios/tutorial/two-cores.yaml --replications 1000 --set platform.link.latency=x2
    """
    from advisor.report import simulation

    stored: Form = "parquet" if table_form == "parquet" else "csv"
    simulator.check_form(stored)
    check_endings({"timeline": (files_of.timeline, TIMELINES), "jobs": (files_of.jobs, simulator.JOB_FILES)})
    loaded = simulator.load_scenario(scenario, changes=asked.changes or ())
    timeline, number = files_of.timeline, files_of.replication
    shown = None
    if timeline is not None:
        shown = simulation.shown_in_timeline(loaded, asked.replications, number, files_of.configuration)
    drawn = output is not None or (shown is not None and number == 0)
    given: Any = {"replications": asked.replications, "seed": asked.seed, "engine": asked.engine}
    runs = simulator.run(loaded, **given, log_replications=int(drawn), progress=counting("simulating"))
    runs = simulator.reaching(loaded, runs)
    found = simulation.simulation_of(loaded, runs, level=asked.level)
    again = () if asked.changes else (next_line("advise", "who should get how much", output="out/advice"),)
    page = simulation.page_of_runs(loaded, runs, found, again, drawn=output is not None)

    def more() -> None:
        if files_of.jobs is not None:
            files.write_pieces(files_of.jobs, simulator.job_lines(loaded, runs, files_of.jobs.suffix))
        if timeline is not None and shown is not None:
            simulation.save_timeline(loaded, runs, timeline, simulation=found, replication=number, shown=shown)

    def write(folder: Path) -> None:
        simulation.save_simulation(loaded, runs, folder, found, page, stored)

    finish(found, page, output, write=write, more=more, form=table_form)


def check_endings(named: dict[str, tuple[Path | None, tuple[str, ...]]]) -> None:
    """Refuse a file whose name says another kind than an option writes.

    `named`: option -> what was given, and the endings that it knows.
    """
    for name, (path, endings) in named.items():
        if path is not None and not path.name.endswith(endings):
            allowed = f"give a name that ends in {', '.join(endings[:-1])} or {endings[-1]}"
            raise ScenarioError(f"--{name} is {path.name}; {allowed}")
