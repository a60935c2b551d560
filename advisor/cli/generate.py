"""`apportion lab generate`: load traces and streams of jobs, drawn from a model."""

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import simulator
from advisor.cli.convert import LOGS, write_log
from advisor.cli.declared import REQUIRED, Given, Only, argument, only_with, option
from advisor.cli.inputs import INPUT
from advisor.cli.models import lines, stream_blocks, stream_facts, trace_facts
from advisor.cli.options import Seed, file, named_values, offered
from advisor.cli.outputs import finish, show
from simulator import ScenarioError, files, provenance, units

TRACES = ("constant", "on-off", "bootstrap")
STREAMS = "lublin"


def _drawn(given: Given) -> str:
    return f"with {given['kind']}"


def _of(*kinds: str, why: str = "") -> Only:
    return Only(tuple(f"with {kind}" for kind in kinds), _drawn, why)


TRACE, STREAM = _of(*TRACES), _of(STREAMS)


@dataclass(frozen=True)
class Trace:
    """A load trace: how long, and by which parameters."""

    duration: str = option("Length of the trace, such as 1h.", TRACE, default="1h")
    interval: str = option(
        "Step of the trace.",
        _of("constant", "bootstrap", why="whose changes lie at exact times"),
        default="1s",
    )
    settings: list[str] | None = option(
        "A parameter, such as mean_on=10s. Repeatable.", TRACE, names=("--set",), metavar="NAME=VALUE"
    )
    recording: Path | None = option("What blocks are taken of.", _of("bootstrap"), metavar="TRACE.csv", **INPUT)


@dataclass(frozen=True)
class Jobs:
    """A stream of jobs of the model by Lublin and Feitelson."""

    jobs_kind: Literal["batch", "combined"] = option(
        "Batch jobs, or batch and interactive jobs that are not told apart.",
        STREAM,
        default="batch",
        names=("--class",),
    )
    count: int = option("How many.", STREAM, default=50_000, names=("--jobs",), min=1, metavar="N")
    processors: int = option("Of the machine.", STREAM, default=128, min=1, metavar="N")
    load: float | None = option("Offered load, by stretching gaps between arrivals; as drawn by default.", STREAM)
    estimates: Literal["none", "exact", "tsafrir"] = option(
        "Limits: none, the run times, or as users state them (Tsafrir, Etsion and Feitelson).", STREAM, default="none"
    )
    most: str | None = option(
        "Greatest estimate, such as 60h; 100min or more.", only_with("estimates", "tsafrir"), metavar="DURATION"
    )


def generate(
    kind: str = argument(
        f"Of a load trace {', '.join(TRACES)}; lublin a stream of jobs (Lublin and Feitelson).",
        autocompletion=offered(*TRACES, STREAMS),
    ),
    output: Path = file("TRACE.csv|STREAM.swf[.gz]", "the trace, or the log", default=REQUIRED),
    *,
    trace: Trace,
    jobs: Jobs,
    seed: Annotated[Seed, _of("on-off", "bootstrap", STREAMS, why="where nothing is drawn")] = 0,
) -> None:
    """Draw a load trace or a stream of jobs; the same options and seed give the same file, byte for byte.

    On-off changes at exact times; bootstrap takes blocks of a recording. Examples:

    apportion lab generate on-off --set load=1 --set mean_on=10s --set mean_off=30s --duration 1h -o load.csv

    apportion lab generate lublin --jobs 5000 --load 0.8 --estimates tsafrir -o stream.swf.gz
    """
    if kind != STREAMS:
        _trace(kind, output, trace, seed)
        return
    if not output.name.endswith(LOGS):
        raise ScenarioError(f"--output: {output} is no name of a log; let it end in {' or '.join(LOGS)}")
    shape: Any = {"kind": jobs.jobs_kind, "load": jobs.load}
    try:
        stream = simulator.lublin(jobs.count, processors=jobs.processors, seed=seed, **shape)
        stream = _with_limits(stream, jobs.estimates, jobs.most, seed)
    except ScenarioError as error:
        raise ScenarioError([_as_given(line) for line in error.lines]) from error
    document = {"model": STREAMS, "kind": jobs.jobs_kind, "load_asked": jobs.load, "log": str(output)}
    facts = stream_facts(stream)
    document |= facts | {"seed": seed, "provenance": provenance.provenance(seed=seed)}
    shown, write = stream_blocks(facts), partial(write_log, stream)
    finish(document, shown, output, write=write, said=f"written to {output}")


def _trace(kind: str, output: Path, asked: Trace, seed: int) -> None:
    from simulator.load_traces import make_generator, read_trace, trace_text

    found = named_values(asked.settings or (), "--set", "NAME=VALUE, such as mean_on=10s", str)
    duration_s = units.parse_duration(asked.duration, field="--duration")
    interval_s = units.parse_duration(asked.interval, field="--interval")
    recorded = None if asked.recording is None else read_trace(asked.recording)
    model = make_generator(kind, found, recorded=recorded)
    drawn = model.draw(duration_s, interval_s, simulator.randomness.stream(seed, "generate", kind))
    # without the recording that it may hold
    described = {name: value for name, value in vars(model).items() if isinstance(value, float | int | str)}
    parameters = ", ".join(f"{name} {value}" for name, value in described.items())
    files.write_text(output, trace_text(drawn, comment=f"generated: {kind}, seed {seed}, {parameters}"))
    about = {"seed": seed, "parameters": described}
    said = f"{output}: {drawn.values.size} rows, {drawn.end_s:g} s, mean {drawn.mean():.3f}"
    show(about | trace_facts(output, drawn, "load"), [lines(said, f"  {parameters}")])


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
