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
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Where to write the advice (JSON).")] = None,
    as_json: Json = False,
) -> None:
    """Find the partition with the least mean makespan and compare it with the naive strategies on the same draws.

    The scenario's own configurations are not looked at. Example:

    apportion advise scenarios/tutorial/two-cores.yaml --replications 1000 -o advice.json
    """
    from advisor import advice_document, recommend
    from advisor.report import render_advice
    from simulator import files, load_scenario

    loaded = load_scenario(scenario)
    document = advice_document(loaded, recommend(loaded, replications=replications, seed=seed))
    if output is not None:
        files.write_json(output, document)
    if as_json:
        print_json(document)
        return
    print(render_advice(document))
    if output is not None:
        print(f"advice written to {output}")
