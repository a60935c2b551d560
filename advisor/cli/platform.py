"""`apportion machine | platform`: this machine as a node, and nodes joined into the scenario of a cluster."""

import sys
from pathlib import Path
from typing import Annotated

import typer

import simulator
from advisor.cli.declared import only_with
from advisor.cli.options import Json, file, print_json
from advisor.cli.scenarios import INPUTS
from simulator import ScenarioError, files, units


def platform(
    inputs: Annotated[
        list[Path],
        typer.Argument(
            metavar="NODE.json... LINK.json",
            help="Each speed model or node file (machine -o) is a node; a memory model is of the node before it.",
            **INPUTS,
        ),
    ],
    names: Annotated[
        str | None,
        typer.Option(
            metavar="PATTERNS",
            help="Such as 'fast[01-08],slow[01-32]': one per node in order, or if there are more nodes, one per kind.",
        ),
    ] = None,
    kernel: Annotated[
        str | None,
        typer.Option(
            help="The application's kernel, and that of models that name none; by default what most nodes have."
        ),
    ] = None,
    topology: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Slurm's topology.conf or topology.yaml: the switches that nodes hang on."),
    ] = None,
    uplink: Annotated[
        str | None,
        typer.Option(metavar="LATENCY,BANDWIDTH", help="Of a switch's link upwards: 1us,400Gbit/s."),
        only_with("topology"),
    ] = None,
    max_age: Annotated[str, typer.Option(help="Warn of calibrations older than this.")] = "30d",
    output: Annotated[Path | None, file("CLUSTER.yaml", "the scenario")] = None,
    as_json: Json = False,
) -> None:
    """Join calibrations of single nodes and a link into a scenario that loads, with an application to edit.

    Without -o the scenario goes to standard output, all else to standard error.

    Example: apportion platform n01.json n02.json link.json --names 'fast[01-08],slow[01-32]' -o cluster.yaml
    """
    days = units.parse_duration(max_age, field="--max-age") / 86400
    if output is not None and output.resolve() in {path.resolve() for path in inputs}:
        raise ScenarioError(f"--output is {output}, which is an input; name another file")
    ends = None if uplink is None else _uplink(uplink)
    joined = simulator.join_platform(inputs, names=names, kernel=kernel, most_days=days, topology=topology, uplink=ends)
    if output is not None:
        files.write_text(output, joined.text)
        simulator.load_scenario(output)  # what is wrong with it is reported now
    if as_json:
        print_json(joined.to_dict() | {"command": "platform", "output": None if output is None else str(output)})
        return
    if output is None:
        print(joined.text, end="")
    _tell(joined, output)


def _uplink(text: str) -> tuple[float, float]:
    """`1us,400Gbit/s` as seconds and bytes per second."""
    latency, comma, rate = text.partition(",")
    if not comma:
        raise ScenarioError(f"--uplink is {text!r}; give LATENCY,BANDWIDTH such as 1us,400Gbit/s")
    return units.parse_duration(latency, field="--uplink"), units.parse(rate, units.BANDWIDTH, field="--uplink")


def _tell(joined: "simulator.JoinedPlatform", output: Path | None) -> None:
    for line in joined.summary:
        print(line, file=sys.stderr)
    for line in joined.warnings:
        print(f"warning: {line}", file=sys.stderr)
    if output is not None:
        print(f"scenario written to {output}")


# `apportion machine`: what is known of this machine, as the YAML block of a node.


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
        file("NODE", "NODE.json for `apportion platform`, models included; called otherwise, the block in YAML"),
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
