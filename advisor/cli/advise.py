"""`apportion advise`: which partition of a scenario's work is best, and what that gains over the naive ones."""

from pathlib import Path
from typing import Annotated

import typer

from advisor.cli.options import Json, print_json


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("advise")(advise)


def advise(
    scenario: Annotated[Path, typer.Argument(metavar="SCENARIO", help="A scenario file (YAML, JSON or TOML).")],
    replications: Annotated[int | None, typer.Option(min=1, help="In place of the scenario's own.")] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="In place of the scenario's own.")] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="A folder for advice.json and what launchers and programs read; NAME.json: that alone.",
        ),
    ] = None,
    hostfile: Annotated[Path | None, typer.Option(metavar="FILE", help="Write MPICH's host file here.")] = None,
    explained: Annotated[
        bool, typer.Option("--explain", help="Say why, where it switches, how sensitive it is, what to measure next.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Find the partition with the least mean makespan and compare it with the naive strategies on the same draws.

    The scenario's own configurations are not looked at. Example:

    apportion advise scenarios/tutorial/two-cores.yaml --replications 1000 -o out/advice
    """
    from advisor import advice_document, explain, export_files, recommend, save_exports
    from advisor.report import render_advice, render_explanation
    from simulator import dump_scenario, files, load_scenario

    loaded = load_scenario(scenario)
    recommendation = recommend(loaded, replications=replications, seed=seed)
    document = advice_document(loaded, recommendation)
    if explained:
        document |= explain(loaded, recommendation).to_dict()
    if output is not None and output.suffix == ".json":
        files.write_json(output, document)
    elif output is not None:
        document["exports"] = save_exports(loaded, recommendation.configuration, output)
        compared = loaded.with_configurations(recommendation.candidates)
        files.write_text(output / "scenario.yaml", dump_scenario(compared))
        files.write_json(output / "advice.json", document)
    if hostfile is not None:
        files.write_text(hostfile, export_files(loaded, recommendation.configuration)["hostfile"])
    if as_json:
        print_json(document)
        return
    print(render_advice(document))
    if explained:
        print(f"\n{render_explanation(document)}")
    if output is not None:
        print(f"advice written to {output}")
    if "exports" in document:
        print(f"for launchers and programs there: {', '.join(document['exports'])}; commands.txt says how each is used")
