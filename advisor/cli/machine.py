"""`apportion machine`: what is known of this machine, as the YAML block of a node."""

import sys
from pathlib import Path
from typing import Annotated

import typer

import simulator
from advisor.cli.options import Json, print_json
from simulator import files


def machine(
    hwloc: Annotated[
        Path | None,
        typer.Option(metavar="FILE.xml", help="Describe the machine of an lstopo export (hwloc 1, 2, 3) instead."),
    ] = None,
    name: Annotated[
        str | None, typer.Option(help="Name of the node, or a pattern such as 'fast[01-08]'; by default the host's.")
    ] = None,
    speed: Annotated[
        list[Path] | None,
        typer.Option(metavar="MODEL.json", help="Speed model measured here (calibrate speed); once per kernel."),
    ] = None,
    memory: Annotated[
        Path | None, typer.Option(metavar="MEMORY.json", help="Memory model measured here: fills in levels.")
    ] = None,
    neighbours: Annotated[
        Path | None,
        typer.Option(metavar="NEIGHBOURS.json", help="Model of neighbours measured here: fills in domains."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Write to a file: NODE.json for `apportion platform`, models included; any other ending: the YAML.",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Print this machine as the block of a node for a scenario file; all else that is known stands in its comments.

    The YAML goes to standard output, warnings to standard error, so that > node.yaml keeps the block. PEs are distinct
    physical cores within affinity mask and CPU quota.

    Example: apportion machine > node.yaml
    """
    found = simulator.describe_node(hwloc=hwloc, name=name, speeds=speed or (), memory=memory, neighbours=neighbours)
    if output is not None and output.suffix == ".json":
        files.write_json(output, found.document)
    elif output is not None:
        files.write_text(output, found.text)
    if as_json:
        print_json(found.document | {"command": "machine"})
        return
    if output is None:
        print(found.text, end="")
    else:
        print(f"written to {output}")
    for line in found.warnings:
        print(f"warning: {line}", file=sys.stderr)
