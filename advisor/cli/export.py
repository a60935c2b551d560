"""`apportion export`: a scenario's platform as another program's files."""

import sys
from pathlib import Path
from typing import Annotated

import typer

import simulator
from advisor.cli.options import Changes, Json, load_changed, print_json
from simulator import ScenarioError, files


def export(  # noqa: PLR0913, PLR0917 - one per option
    scenario: Annotated[Path, typer.Argument(metavar="SCENARIO", help="A scenario file (YAML, JSON or TOML).")],
    simgrid: Annotated[
        bool, typer.Option("--simgrid", help="As a SimGrid platform: platform.xml and a profile for each load.")
    ] = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FOLDER", help="Where to write the files.")
    ] = None,
    replication: Annotated[
        int, typer.Option(min=0, help="The one whose draws are written: where loads start, speeds in their bands.")
    ] = 0,
    seed: Annotated[int | None, typer.Option(min=0, help="In place of the scenario's own.")] = None,
    size: Annotated[
        float | None, typer.Option(help="Problem size at which speeds are taken that depend on it.")
    ] = None,
    approximate: Annotated[
        bool, typer.Option("--approximate", help="Leave out what SimGrid does not have, and say so.")
    ] = False,
    changes: Changes = None,
    as_json: Json = False,
) -> None:
    """Write a scenario's platform for another simulator; what that cannot express is refused by name.

    Example: apportion export scenarios/tutorial/cluster.yaml --simgrid -o out/simgrid --size 1e6 --approximate
    """
    from dataclasses import replace

    if not simgrid:
        raise typer.BadParameter("--simgrid needed, which says for which program")
    if output is None:
        raise typer.BadParameter("--output is missing; name a folder")
    loaded = load_changed(scenario, changes=changes, resource_model=None)
    if seed is not None:
        loaded = replace(loaded, seed=seed)
    try:
        found = simulator.export_simgrid(loaded, replication=replication, size=size, approximate=approximate)
    except ScenarioError as error:
        options = [
            line.replace("; approximate:", "; --approximate:").replace("; size:", "; --size:") for line in error.lines
        ]
        raise ScenarioError([f"{scenario}: {line}" for line in options]) from error
    files.make_folder(output)
    for name, text in found.files.items():
        files.write_text(output / name, text)
    if as_json:
        notes = list(found.notes)
        document = {"files": list(found.files), "seed": loaded.seed, "replication": replication, "notes": notes}
        print_json({"format": 1, "command": "export", **document, "read_back": found.read_back})
        return
    for note in found.notes:
        print(f"note: {note}", file=sys.stderr)
    print(f"{output / 'platform.xml'} with profiles of {len(found.files) - 1} PEs, as in replication {replication}")
    print(f"read it back with {found.read_back}")
