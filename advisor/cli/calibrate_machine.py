"""`apportion calibrate machine | load`: this machine as the node of a scenario, and its load written down."""

import sys
from pathlib import Path
from typing import Annotated

import typer

import simulator
from advisor.cli.declared import only_without
from advisor.cli.options import Json, Overwrite, file, print_json
from simulator import calibration, files, units


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
        file("NODE", "NODE.json for `apportion cluster --join`, models included; called otherwise, the block in YAML"),
    ] = None,
    as_json: Json = False,
) -> None:
    """Print this machine as the block of a node for a scenario file; all else that is known stands in its comments.

    The YAML goes to standard output, warnings to standard error, so that > node.yaml keeps the block. PEs are distinct
    physical cores within affinity mask and CPU quota.

    Example: apportion calibrate machine > node.yaml
    """
    found = simulator.describe_node(hwloc=hwloc, name=name, speeds=speed or (), memory=memory, neighbours=neighbours)
    if output is not None and output.suffix == ".json":
        files.write_json(output, found.document)
    elif output is not None:
        files.write_text(output, found.text)
    if as_json:
        print_json(found.document | {"command": "calibrate machine"})
        return
    if output is None:
        print(found.text, end="")
    else:
        print(f"written to {output}")
    for line in found.warnings:
        print(f"warning: {line}", file=sys.stderr)


def load(
    output: Annotated[Path, file("TRACE.csv", "the load trace")],
    interval: Annotated[str, typer.Option(help="Time between two rows, such as 1s.")] = "1s",
    duration: Annotated[str, typer.Option(help="How long to record, such as 10min.")] = "10min",
    per_core: Annotated[bool, typer.Option("--per-core", help="A column for each processor's busy share.")] = False,
    append: Annotated[bool, typer.Option("--append", help="Continue the recording in the file.")] = False,
    overwrite: Annotated[Overwrite, only_without("append")] = False,
    as_json: Json = False,
) -> None:
    """Record the load of this machine: a row per interval, each in the file at once. Ctrl-C ends it and keeps all rows.

    Example: apportion calibrate load -o load.csv --interval 1s --duration 2h --per-core
    """
    interval_s = units.parse_duration(interval, field="--interval")
    duration_s = units.parse_duration(duration, field="--duration")
    if not as_json:
        print(f"recording to {output} for {duration}, a row every {interval}; Ctrl-C ends it", file=sys.stderr)
    done = calibration.record_load(
        output,
        interval_s=interval_s,
        duration_s=duration_s,
        per_core=per_core,
        append=append,
        overwrite=overwrite,
    )
    if as_json:
        print_json({"format": 1, "command": "calibrate load", **done.to_dict()})
    else:
        shares = ", ".join(f"cpu{cpu} {share:.1%}" for cpu, share in done.mean_busy.items())
        print(f"{done.rows} rows in {done.path}: mean load {done.mean_load:.2f}, busy {shares or 'unknown'}")
    if done.interrupted:
        raise typer.Exit(130)
