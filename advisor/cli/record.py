"""`apportion record`: write down the load of this machine."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from advisor.cli.declared import only_without
from advisor.cli.options import Json, Overwrite, file, print_json
from simulator import calibration, units


def record(
    output: Annotated[Path, file("TRACE.csv", "the load trace")],
    interval: Annotated[str, typer.Option(help="Time between two rows, such as 1s.")] = "1s",
    duration: Annotated[str, typer.Option(help="How long to record, such as 10min.")] = "10min",
    per_core: Annotated[bool, typer.Option("--per-core", help="A column for each processor's busy share.")] = False,
    append: Annotated[bool, typer.Option("--append", help="Continue the recording in the file.")] = False,
    overwrite: Annotated[Overwrite, only_without("append")] = False,
    as_json: Json = False,
) -> None:
    """Record the load of this machine: a row per interval, each in the file at once. Ctrl-C ends it and keeps all rows.

    Example: apportion record -o load.csv --interval 1s --duration 2h --per-core
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
        print_json({"format": 1, "command": "record", **done.to_dict()})
    else:
        shares = ", ".join(f"cpu{cpu} {share:.1%}" for cpu, share in done.mean_busy.items())
        print(f"{done.rows} rows in {done.path}: mean load {done.mean_load:.2f}, busy {shares or 'unknown'}")
    if done.interrupted:
        raise typer.Exit(130)
