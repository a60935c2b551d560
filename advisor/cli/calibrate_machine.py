"""`apportion calibrate machine | load`: this machine as the node of a scenario, and its load written down."""

import sys
from pathlib import Path
from typing import Annotated

import typer

import simulator
from advisor.cli.asked import as_json
from advisor.cli.declared import REQUIRED, only_without, option
from advisor.cli.options import Overwrite, file, gave_json
from simulator import calibration, files, units


def machine(
    hwloc: Path | None = option(
        "Describe the machine of an lstopo export (hwloc 1, 2, 3) instead.", metavar="FILE.xml"
    ),
    name: str | None = option("Name of the node, or a pattern such as 'fast[01-08]'; by default the host's."),
    speed: list[Path] | None = option(
        "Speed model measured here (calibrate speed); once per kernel.", metavar="MODEL.json"
    ),
    memory: Path | None = option("Memory model measured here: fills in levels.", metavar="MEMORY.json"),
    neighbours: Path | None = option("Model of neighbours measured here: fills in domains.", metavar="NEIGHBOURS.json"),
    output: Path | None = file(
        "NODE", "NODE.json for `apportion cluster --join`, models included; called otherwise, the block in YAML"
    ),
) -> None:
    """Print this machine as the block of a node for a scenario file; all else that is known stands in its comments.

    The YAML goes to standard output, warnings to standard error, so that > node.yaml keeps the block. PEs are distinct
    physical cores within affinity mask and CPU quota.

    Example: apportion calibrate machine > node.yaml
    """
    found = simulator.describe_node(hwloc=hwloc, name=name, speeds=speed or (), memory=memory, neighbours=neighbours)
    if output is not None and output.suffix == ".json":
        files.write_json(output, found.file.to_dict())
    elif output is not None:
        files.write_text(output, found.text)
    if gave_json(found.file.to_dict()):
        return
    if output is None:
        print(found.text, end="")
    else:
        print(f"written to {output}")
    for line in found.warnings:
        print(f"warning: {line}", file=sys.stderr)


def load(
    output: Path = file("TRACE.csv", "the load trace", default=REQUIRED),
    interval: str = option("Time between two rows, such as 1s.", default="1s"),
    duration: str = option("How long to record, such as 10min.", default="10min"),
    per_core: bool = option("A column for each processor's busy share."),
    append: bool = option("Continue the recording in the file."),
    overwrite: Annotated[Overwrite, only_without("append")] = False,
) -> None:
    """Record the load of this machine: a row per interval, each in the file at once. Ctrl-C ends it and keeps all rows.

    Example: apportion calibrate load -o load.csv --interval 1s --duration 2h --per-core
    """
    interval_s = units.parse_duration(interval, field="--interval")
    duration_s = units.parse_duration(duration, field="--duration")
    if not as_json():
        print(f"recording to {output} for {duration}, a row every {interval}; Ctrl-C ends it", file=sys.stderr)
    done = calibration.record_load(
        output,
        interval_s=interval_s,
        duration_s=duration_s,
        per_core=per_core,
        append=append,
        overwrite=overwrite,
    )
    if not gave_json(done.to_dict()):
        shares = ", ".join(f"cpu{cpu} {share:.1%}" for cpu, share in done.mean_busy.items())
        print(f"{done.rows} rows in {done.path}: mean load {done.mean_load:.2f}, busy {shares or 'unknown'}")
    if done.interrupted:
        raise typer.Exit(130)
