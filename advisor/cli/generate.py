"""`apportion lab generate`: load traces and streams of jobs, drawn from a model."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

import simulator
from advisor.cli.convert import write_log
from advisor.cli.declared import Given, Only, only_with
from advisor.cli.described import stream_document, tell_stream, trace_summary
from advisor.cli.inputs import INPUT
from advisor.cli.options import Json, Seed, file, offered, print_json
from advisor.cli.outputs import check_room, finish
from simulator import ScenarioError, files, provenance, units

if TYPE_CHECKING:
    from simulator.load_traces import FitReport

TRACES = ("constant", "on-off", "ar1", "diurnal", "bootstrap")
STREAMS = "lublin"
ENDINGS = (".swf", ".swf.gz")
LINE_BYTES = 80
"""About what a job takes in the log, at most."""


def _drawn(given: Given) -> str:
    return f"with {given['kind']}"


def _of(*kinds: str, why: str = "") -> Only:
    return Only(tuple(f"with {kind}" for kind in kinds), _drawn, why)


TRACE, STREAM = _of(*TRACES), _of(STREAMS)


Kind = Annotated[
    str,
    typer.Argument(
        help=f"Of a load trace {', '.join(TRACES)}; lublin a stream of jobs (Lublin and Feitelson).",
        autocompletion=offered(*TRACES, STREAMS),
    ),
]
Interval = Annotated[
    str,
    typer.Option(help="Step of the trace."),
    _of("constant", "ar1", "diurnal", "bootstrap", why="whose changes lie at exact times"),
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="A parameter, such as mean_on=10s. Repeatable."),
    TRACE,
]
Recording = Annotated[
    Path | None,
    typer.Option("--fit", metavar="TRACE.csv", help="Estimate the parameters from a recording.", **INPUT),
    TRACE,
]
JobsKind = Annotated[
    Literal["batch", "interactive", "both", "combined"],
    typer.Option("--class", help="One kind of jobs, both merged, or combined, which does not tell them apart."),
    STREAM,
]
Load = Annotated[
    float | None,
    typer.Option(help="Offered load, by stretching gaps between arrivals; as drawn by default."),
    STREAM,
]
Users = Annotated[int | None, typer.Option(min=1, metavar="N", help="How many; sqrt(jobs) by default."), STREAM]
Estimates = Annotated[
    Literal["none", "exact", "tsafrir"],
    typer.Option(help="Limits: none, the run times, or as users state them (Tsafrir, Etsion and Feitelson)."),
    STREAM,
]
Most = Annotated[
    str | None,
    typer.Option(metavar="DURATION", help="Greatest estimate, such as 60h; 100min or more."),
    only_with("estimates", "tsafrir"),
]


def generate(  # noqa: PLR0913, PLR0917 - one per option
    kind: Kind,
    output: Annotated[Path, file("TRACE.csv|STREAM.swf[.gz]", "the trace, or the log")],
    duration: Annotated[str, typer.Option(help="Length of the trace, such as 1h."), TRACE] = "1h",
    interval: Interval = "1s",
    settings: Settings = None,
    recording: Recording = None,
    jobs_kind: JobsKind = "batch",
    count: Annotated[int, typer.Option("--jobs", min=1, metavar="N", help="How many."), STREAM] = 50_000,
    processors: Annotated[int, typer.Option(min=1, metavar="N", help="Of the machine."), STREAM] = 128,
    load: Load = None,
    start_hour: Annotated[float, typer.Option(metavar="H", help="Hour of the day at second 0."), STREAM] = 0.0,
    users: Users = None,
    estimates: Estimates = "none",
    most: Most = None,
    seed: Annotated[Seed, _of("on-off", "ar1", "diurnal", "bootstrap", STREAMS, why="where nothing is drawn")] = 0,
    as_json: Json = False,
) -> None:
    """Draw a load trace or a stream of jobs; the same options and seed give the same file, byte for byte.

    Parameters of a load are given or fitted to a recording; on-off changes at exact times. Examples:

    apportion lab generate on-off --set load=1 --set mean_on=10s --set mean_off=30s --duration 1h -o load.csv

    apportion lab generate lublin --jobs 5000 --load 0.8 --estimates tsafrir -o stream.swf.gz
    """
    if kind != STREAMS:
        lengths = units.parse_duration(duration, field="--duration"), units.parse_duration(interval, field="--interval")
        _trace(kind, output, lengths, settings or [], recording, seed, as_json=as_json)
        return
    if not output.name.endswith(ENDINGS):
        raise ScenarioError(f"--output: {output} is no name of a log; let it end in {' or '.join(ENDINGS)}")
    check_room(output, folder=False, needed_bytes=count * LINE_BYTES)
    shape: Any = {"kind": jobs_kind, "load": load, "start_hour": start_hour, "users": users}
    try:
        stream = simulator.lublin(count, processors=processors, seed=seed, **shape)
        stream = _with_limits(stream, estimates, most, seed)
    except ScenarioError as error:
        raise ScenarioError([_as_given(line) for line in error.lines]) from error
    document = {"command": "lab generate", "model": STREAMS, "kind": jobs_kind, "load_asked": load, "log": str(output)}
    document |= stream_document(stream) | {"seed": seed, "provenance": provenance.provenance(seed=seed)}
    write = partial(write_log, stream, output)
    finish(document, partial(tell_stream, document), as_json=as_json, write=write, said=f"written to {output}")


def _trace(
    kind: str,
    output: Path,
    lengths: tuple[float, float],
    settings: list[str],
    recording: Path | None,
    seed: int,
    *,
    as_json: bool,
) -> None:
    from simulator.load_traces import chosen_generator, fit_document, trace_text

    found: dict[str, str] = {}
    for name, _, value in (text.partition("=") for text in settings):
        simulator.given.check_once(name, found, where="--set")
        found[name] = value
    model, report = chosen_generator(kind, found, recording, seed)
    drawn = model.draw(*lengths, simulator.randomness.stream(seed, "generate", kind))
    described = _parameters(model)
    comment = f"generated: {kind}, seed {seed}, " + ", ".join(f"{name} {value}" for name, value in described.items())
    files.write_text(output, trace_text(drawn, comment=comment))
    if as_json:
        fitted = None if report is None else fit_document(report)
        about = {"format": 1, "command": "lab generate", "seed": seed, "parameters": described, "fit": fitted}
        print_json(about | trace_summary(output, drawn, "load"))
        return
    print(f"{output}: {drawn.values.size} rows, {drawn.end_s:g} s, mean {drawn.mean():.3f}")
    print("  " + ", ".join(f"{name} {value}" for name, value in described.items()))
    if report is not None:
        _print_fit(report)


def _parameters(model: Any) -> dict[str, float | str]:
    """Parameters of a generator, without the recording that it may hold."""
    return {name: value for name, value in vars(model).items() if isinstance(value, float | int | str)}


def _print_fit(report: "FitReport") -> None:
    print(f"{'':<22}{'recorded':>12}{'drawn':>12}")
    for name in ("mean", "variance"):
        print(f"{name:<22}{getattr(report.recorded, name):>12.4f}{getattr(report.drawn, name):>12.4f}")
    for lag, value in report.recorded.autocorrelation.items():
        drawn = report.drawn.autocorrelation.get(lag)
        print(
            f"{f'autocorrelation {lag}':<22}{value:>12.3f}" + ("           -" if drawn is None else f"{drawn:>12.3f}")
        )


def _with_limits(stream: "simulator.Stream", estimates: str, most: str | None, seed: int) -> "simulator.Stream":
    if estimates == "exact":
        return replace(stream, limit_s=stream.run_s, notes=(*stream.notes, "limits are the run times"))
    if estimates == "tsafrir":
        most_s = None if most is None else units.parse_duration(most, field="--most")
        return simulator.with_estimates(stream, seed=seed, most_s=most_s)
    return stream


def _as_given(line: str) -> str:
    """A fault with the names of options in the place of those of parameters."""
    field, found, rest = line.partition(": ")
    named = f"--{field.replace('_', '-')}: {rest}" if found and field.replace("_", "").isalpha() else line
    return named.replace("--most-s", "--most").replace("most_s", "--most")
