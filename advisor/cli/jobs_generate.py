"""`apportion jobs generate`: a stream of jobs drawn from a workload model, as a log in the Standard Workload Format."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from advisor.cli.options import Json, Seed, print_warnings
from advisor.cli.outputs import check_room, finish

if TYPE_CHECKING:
    from simulator import Stream

ENDINGS = (".swf", ".swf.gz")
LINE_BYTES = 80
"""About what a job takes in the log, at most."""
SHARES = (0.05, 0.25, 0.5, 0.75, 0.95)
"""Of the jobs, for the quantiles that are printed."""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("generate")(generate)


def generate(  # noqa: PLR0913, PLR0917 - one per option
    output: Annotated[Path, typer.Option("--output", "-o", metavar="STREAM.swf[.gz]", help="The log to write.")],
    model: Annotated[Literal["lublin"], typer.Option(help="Lublin and Feitelson's.")] = "lublin",
    kind: Annotated[
        Literal["batch", "interactive", "both", "combined"],
        typer.Option(help="Which jobs: one kind, both merged, or combined, which does not tell them apart."),
    ] = "batch",
    count: Annotated[int, typer.Option("--jobs", min=1, metavar="N", help="How many.")] = 50_000,
    processors: Annotated[int, typer.Option(min=1, metavar="N", help="Of the machine.")] = 128,
    load: Annotated[
        float | None, typer.Option(help="Offered load, by stretching gaps between arrivals; as drawn by default.")
    ] = None,
    start_hour: Annotated[float, typer.Option(metavar="H", help="Hour of the day at second 0.")] = 0.0,
    users: Annotated[int | None, typer.Option(min=1, metavar="N", help="How many; sqrt(jobs) by default.")] = None,
    estimates: Annotated[
        Literal["none", "exact", "tsafrir"],
        typer.Option(help="Limits: none, the run times, or as users state them (Tsafrir, Etsion and Feitelson)."),
    ] = "none",
    most: Annotated[
        str | None, typer.Option(metavar="DURATION", help="Greatest estimate, such as 60h; 100min or more.")
    ] = None,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Draw a stream of jobs from a workload model; the same options and seed give the same file, byte for byte.

    Example: apportion jobs generate --jobs 5000 --load 0.8 --estimates tsafrir -o stream.swf.gz
    """
    from simulator import ScenarioError, lublin

    if not output.name.endswith(ENDINGS):
        raise ScenarioError(f"--output: {output} is no name of a log; let it end in {' or '.join(ENDINGS)}")
    check_room(output, folder=False, needed_bytes=count * LINE_BYTES)
    try:
        stream = lublin(
            count, processors=processors, seed=seed, kind=kind, load=load, start_hour=start_hour, users=users
        )
        stream = _with_limits(stream, estimates, most, seed)
    except ScenarioError as error:
        raise ScenarioError([_as_given(line) for line in error.lines]) from error
    document = _document(stream, model, kind, seed, load) | {"log": str(output)}
    said = f"written to {output}"
    finish(document, lambda: _print(document), as_json=as_json, write=lambda: _write(stream, output), said=said)


def _with_limits(stream: "Stream", estimates: str, most: str | None, seed: int) -> "Stream":
    from simulator import units, with_estimates

    if estimates == "exact":
        return replace(stream, limit_s=stream.run_s, notes=(*stream.notes, "limits are the run times"))
    if estimates == "tsafrir":
        most_s = None if most is None else units.parse_duration(most, field="--most")
        return with_estimates(stream, seed=seed, most_s=most_s)
    return stream


def _as_given(line: str) -> str:
    """A fault with the names of options in the place of those of parameters."""
    field, found, rest = line.partition(": ")
    named = f"--{field.replace('_', '-')}: {rest}" if found and field.replace("_", "").isalpha() else line
    return named.replace("--most-s", "--most").replace("most_s", "--most")


def _write(stream: "Stream", output: Path) -> None:
    """Without the time that gzip would note, so that the same stream is the same file."""
    import gzip

    from simulator import files, stream_lines

    lines = stream_lines(stream, ".swf")
    if output.suffix == ".gz":
        files.write_bytes(output, gzip.compress("".join(lines).encode(), mtime=0))
    else:
        files.write_pieces(output, lines)


def _document(stream: "Stream", model: str, kind: str, seed: int, load: float | None) -> dict[str, Any]:
    import numpy as np

    from simulator import provenance

    processors = stream.machine_processors or 1
    offered = stream.offered_load(processors)
    known = {
        "processors": stream.processors,
        "run_s": stream.run_s,
        "gap_s": np.diff(stream.submit_s),
        "limit_s": stream.limit_s[~np.isnan(stream.limit_s)],
    }
    overloaded = offered >= 1
    return {
        "format": 1,
        "command": "jobs generate",
        "model": model,
        "kind": kind,
        "jobs": len(stream),
        "processors": processors,
        "users": int(np.unique(stream.user).size),
        "load_asked": load,
        "offered_load": offered if np.isfinite(offered) else None,
        "lasts_s": float(stream.submit_s[-1] - stream.submit_s[0]),
        "shares": list(SHARES),
        "quantiles": {name: np.quantile(some, SHARES).tolist() if some.size else None for name, some in known.items()},
        "limits": int(np.unique(known["limit_s"]).size),
        "notes": list(stream.notes),
        "warnings": [_OVERLOADED.format(offered)] if overloaded else [],
        "seed": seed,
        "provenance": provenance.provenance(seed=seed),
    }


_OVERLOADED = "the offered load is {:.3g}: a queue grows to the end, and averages hang on the length of the stream"


def _print(document: dict[str, Any]) -> None:
    days = document["lasts_s"] / 86400
    print(f"{document['jobs']} jobs for {document['processors']} processors over {days:.4g} days")
    load = document["offered_load"]
    print(f"offered load {'-' if load is None else format(load, '.6g')}, {document['users']} users")
    print("\n" + " " * 24 + "".join(f"{f'{share:.0%} below':>14}" for share in document["shares"]))
    names = {"processors": "processors", "run_s": "run time in s", "gap_s": "gap in s", "limit_s": "limit in s"}
    for key, name in names.items():
        if document["quantiles"][key] is not None:
            print(f"{name:<24}" + "".join(f"{value:>14.6g}" for value in document["quantiles"][key]))
    print("".join(f"\n{note}" for note in document["notes"]))
    print_warnings(document["warnings"])
