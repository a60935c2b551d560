"""`apportion simulate` and `apportion check`: run a scenario, or only read it."""

import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from advisor.cli.options import Json, print_json, print_warnings

ScenarioFile = Annotated[Path, typer.Argument(metavar="SCENARIO", help="A scenario file (YAML, JSON or TOML).")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("simulate")(simulate)
    app.command("check")(check)


def simulate(
    scenario: ScenarioFile,
    replications: Annotated[int | None, typer.Option(min=1, help="In place of the scenario's own.")] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="In place of the scenario's own.")] = None,
    engine: Annotated[
        Literal["auto", "process", "compiled"], typer.Option(help="process is SimPy, compiled is Numba.")
    ] = "auto",
    as_json: Json = False,
) -> None:
    """Simulate every configuration of a scenario on the same draws and print the makespans.

    Example: apportion simulate scenarios/tutorial/two-cores.yaml --replications 1000 --seed 7
    """
    from simulator import describe, load_scenario, on_compile, provenance, run, units

    on_compile.append(_say_compiling)
    loaded = load_scenario(scenario)
    runs = run(loaded, replications=replications, seed=seed, engine=engine)
    if as_json:
        print_json(
            {
                "format": 1,
                "command": "simulate",
                "engine": runs.engine,
                "replications": runs.makespan_ticks.shape[1],
                "seed": runs.seed,
                "configurations": [
                    {
                        "name": configuration.name,
                        "partition": list(configuration.partition),
                        "makespan_s": describe(runs.of(configuration.name)),
                    }
                    for configuration in loaded.configurations
                ],
                "warnings": list(loaded.warnings),
                "provenance": provenance.provenance(seed=runs.seed, inputs=loaded.inputs),
            }
        )
        return
    print(f"{'configuration':<16}{'mean':>10}{'95 % interval':>24}{'median':>10}{'5 % to 95 %':>24}")
    show = units.show_duration
    for row in runs.summary():
        interval, middle = f"{show(row['low'])} to {show(row['high'])}", f"{show(row['p05'])} to {show(row['p95'])}"
        print(f"{row['name']:<16}{show(row['mean']):>10}{interval:>24}{show(row['median']):>10}{middle:>24}")
    print(f"{runs.makespan_ticks.shape[1]} replications, seed {runs.seed}, engine {runs.engine}")
    print_warnings(loaded.warnings)


def _say_compiling(kernel: str) -> None:
    """The first use of a new version takes seconds; what is compiled is kept."""
    print(f"compiling the simulator's kernel {kernel!r}, once ...", file=sys.stderr)


def check(
    scenario: ScenarioFile,
) -> None:
    """Read a scenario file and say whether it can be used.

    Example: apportion check scenarios/tutorial/two-cores.yaml
    """
    from simulator import load_scenario

    loaded = load_scenario(scenario)
    pes, configurations = len(loaded.platform.pes), len(loaded.configurations)
    print(f"{scenario}: {loaded.application.name} on {pes} PEs, {configurations} configurations")
    print_warnings(loaded.warnings)
