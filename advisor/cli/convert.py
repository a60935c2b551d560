"""`apportion convert`: platforms, load traces, runs, recordings and logs of jobs from and for other programs."""

import gzip
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import simulator
from advisor.cli.declared import Given, Only, argument, only_with, option
from advisor.cli.inputs import INPUT
from advisor.cli.options import APP, VERSION, Changes, ScenarioSeed, gave_json, offered
from simulator import ScenarioError, calibration, files, units

TRACES = ("csv", "sadf", "collectl", "prometheus", "simgrid", "dinda", "bitbrains", "google", "swf")
RUNS = ("csv", "extrap", "extrap-json", "sacct")
HISTORIES, SCENARIOS, LOGS = (".sqlite", ".db"), (".yaml", ".yml", ".toml", ".json"), (".swf", ".swf.gz")
_BUSY, _NOT_BUSY = "with a busy share", "with a load or an availability"
_MEASURES = {
    **dict.fromkeys(("busy", "busy-percent", "bitbrains", "google", "swf"), _BUSY),
    **dict.fromkeys(("load", "available", "available-percent", "simgrid", "dinda"), _NOT_BUSY),
}
"""What a source measures, by its kind or as it is said to."""


def subject_of(source: Path, output: Path) -> str:
    """What is converted, by the names of both files, and by what a benchmark printed."""
    if output.suffix == ".ti":
        return "from a recording"
    if source.suffix in HISTORIES:
        return "from a run history"
    if output.suffix in HISTORIES:
        return "into a run history"
    if output.name.endswith(LOGS):
        return "into a log"
    if source.suffix in SCENARIOS and not output.suffix:
        return "from a scenario"
    return "into a load trace" if calibration.format_in(source) is None else "into a table"


def _subject(given: Given) -> str:
    return subject_of(given["source"], given["output"])


def _measured(given: Given) -> str | None:
    """What a source measures, where it is known before the source is read."""
    return _MEASURES.get(given["from"]) or _MEASURES.get(given["measures"])


PLATFORM, TRACE = Only(("from a scenario",), _subject), Only(("into a load trace",), _subject)
KEPT = Only(("into a run history", "from a run history"), _subject)


@dataclass(frozen=True)
class Imported:
    """How a file of another program is read as a load trace."""

    measures: str | None = option(
        "load, busy, busy-percent, available or available-percent.",
        only_with("from", "csv", "sadf", "collectl", "prometheus"),
    )
    cores: int | None = option(
        "Cores of the PE that the trace is for; by default those that the file tells of, else 1.",
        Only((_BUSY,), _measured, why="which does not hang on the number of cores"),
        min=1,
    )
    time_column: str | None = option(
        "Column of the times: numbers, or dates, with a zone or all without.", TRACE, only_with("from", "csv")
    )
    value_column: str | None = option("Column of the values.", TRACE, only_with("from", "csv", "sadf", "collectl"))
    time_unit: str | None = option("s, ms or us.", TRACE, only_with("from", "csv"))
    cpu: str | None = option("Number of a processor, or all.", only_with("from", "sadf", "collectl"))
    series: str | None = option(
        "Which of several: prometheus label=VALUE, google machine=NUMBER, sadf hostname=NAME, csv COLUMN=TEXT.",
        only_with("from", "prometheus", "google", "sadf", "csv"),
    )
    processors: int | None = option("Size of the log's machine.", only_with("from", "swf"), min=1)
    start: str | None = option("Where the window begins, such as 2d.", only_with("from", "swf"))
    duration: str | None = option(
        "Length of the window; with simgrid how far to play.", only_with("from", "swf", "simgrid")
    )


@dataclass(frozen=True)
class Kept:
    """Runs that go into a history or come out of it."""

    to: str = option("csv or extrap-json.", Only(("from a run history",), _subject), default="csv")
    application: Annotated[str | None, APP, KEPT] = None
    version: Annotated[str | None, VERSION, Only(("from a run history",), _subject)] = None
    time: list[str] | None = option(
        "Column of seconds in a CSV (*_s), or Extra-P's metric. Repeatable.", Only(("into a run history",), _subject)
    )


@dataclass(frozen=True)
class Exported:
    """What of a scenario is written for SimGrid."""

    replication: int = option(
        "The one whose draws are written: where loads start, speeds in their bands.", PLATFORM, default=0, min=0
    )
    seed: Annotated[ScenarioSeed, PLATFORM] = None
    size: float | None = option("Problem size at which speeds are taken that depend on it.", PLATFORM)
    approximate: bool = option("Leave out what SimGrid does not have, and say so.", PLATFORM)
    changes: Annotated[Changes, PLATFORM] = None


def convert(
    source: Path = argument("A scenario, a run history, or a file of another program.", metavar="IN", **INPUT),
    output: Path = argument(
        "A folder for SimGrid, TRACE.csv, RUNS.sqlite, LOG.swf[.gz], RUN.ti or RUNS.", metavar="OUT"
    ),
    kind: str | None = option(
        f"What IN is: for a load trace {', '.join(TRACES)}; for runs {', '.join(RUNS)}, by default as its "
        "content says.",
        Only(("into a load trace", "into a run history"), _subject),
        names=("--from",),
        autocompletion=offered(*dict.fromkeys((*TRACES, *RUNS))),
    ),
    *,
    imported: Imported,
    kept: Kept,
    exported: Exported,
) -> None:
    """Turn a file of another program into ours, or ours into another's; the names of both say which.

    What cannot be expressed, or is not stated, is refused by name, never guessed. Examples:

    apportion convert sar.txt load.csv --from sadf --cpu 0

    apportion convert scenarios/tutorial/cluster.yaml out/simgrid --size 1e6 --approximate

    apportion convert jobs.txt runs.sqlite --from sacct

    apportion convert osu_latency.txt messages.csv

    apportion convert run run.ti
    """
    subject = subject_of(source, output)
    if subject == "from a run history":
        done = _written_runs(source, output, kept)
    elif subject == "into a run history":
        done = _kept_runs(source, output, kind, kept)
    elif subject == "into a log":
        done = _log(source, output)
    elif subject == "from a recording":
        done = _recording(source, output)
    elif subject == "from a scenario":
        done = _platform(source, output, exported)
    elif subject == "into a table":
        done = _table(source, output)
    else:
        done = _trace(source, output, kind, imported)
    if not gave_json({"output": str(output), "said": done.said, "notes": list(done.notes)} | dict(done.found)):
        print("\n".join([done.said, *(f"  {note}" for note in done.notes)]))


@dataclass(frozen=True)
class Converted:
    """What was done, in a line, what to know of it, and what more a document says."""

    said: str
    notes: Sequence[str]
    found: Mapping[str, Any]


def _table(source: Path, output: Path) -> Converted:
    """What a benchmark printed, as the table that our commands read."""
    found = calibration.format_in(source)
    assert found is not None  # else it is no table  # noqa: S101
    printed = found.read(files.read_text(source), str(source))
    files.write_text(output, files.csv_lines([printed.table.names, *printed.table.rows]))
    said = f"{output}: {len(printed.table.rows)} rows of {found.name}, which gives {found.gives}"
    return Converted(said, printed.notes, {"columns": list(printed.table.names), "rows": len(printed.table.rows)})


def _trace(source: Path, output: Path, kind: str | None, asked: Imported) -> Converted:
    """What a source measures is stated by it or by the user."""
    from advisor.cli.models import trace_facts
    from simulator.load_traces import ImportOptions, import_trace, trace_text

    if kind is None:
        raise ScenarioError(f"--from is missing: say what {source} is; give one of {', '.join(TRACES)}")
    start, duration = asked.start, asked.duration
    names = ("measures", "time_column", "value_column", "time_unit", "cpu", "series", "processors")
    options = ImportOptions(
        **{name: getattr(asked, name) for name in names},
        start_s=None if start is None else units.parse_duration(start, field="--start", positive=False),
        duration_s=None if duration is None else units.parse_duration(duration, field="--duration"),
    )
    found = import_trace(source, kind, options=options, cores=asked.cores)
    comment = "\n".join([f"imported from {source.name} ({kind})", *found.notes])
    files.write_text(output, trace_text(found.trace, column=found.column, comment=comment))
    said = f"{output}: {found.trace.values.size} rows, {found.trace.end_s:g} s, mean {found.trace.mean():.3f}"
    return Converted(said, found.notes, trace_facts(output, found.trace, found.column))


def _kept_runs(source: Path, history: Path, kind: str | None, kept: Kept) -> Converted:
    """Times of day without a zone, as Slurm writes them, count as this machine's local time."""
    about: Any = {"application": kept.application, "times": kept.time or ()}
    records, left_out = calibration.import_runs(source, kind=kind, **about)
    runs = calibration.add_runs(history, records)
    return Converted(f"{len(records)} runs added to {history}", left_out, {"added": len(records), "runs": runs})


def _written_runs(history: Path, output: Path, kept: Kept) -> Converted:
    records = calibration.list_runs(history, application=kept.application, version=kept.version)
    calibration.save_export(records, kept.to, output)
    return Converted(f"{len(records)} runs written to {output}", (), {"runs": len(records)})


def _recording(source: Path, output: Path) -> Converted:
    """As SimGrid's replay takes it: a list, and a trace of each rank; computing at 1 Gflop/s."""
    written = simulator.write_ti(simulator.Recording.load(source), output)
    said = f"{output} lists {len(written) - 1} traces of ranks, for smpirun -replay {output}; 1 CPU second is 1e9 flop"
    return Converted(said, (), {"files": [str(one) for one in written]})


def _log(source: Path, output: Path) -> Converted:
    """A stream of jobs, all of it; without the time that gzip would note, the same stream is the same file."""
    stream = simulator.read_stream(source, cleaning="none")
    write_log(stream, output)
    return Converted(f"{len(stream)} jobs written to {output}", stream.notes, {"jobs": len(stream)})


def write_log(stream: "simulator.Stream", output: Path) -> None:
    """As SWF; packed if the name ends in .gz, the same stream as the same bytes."""
    lines = simulator.stream_lines(stream, ".swf")
    if output.suffix == ".gz":
        files.write_bytes(output, gzip.compress("".join(lines).encode(), mtime=0))
    else:
        files.write_pieces(output, lines)


def _platform(path: Path, folder: Path, asked: Exported) -> Converted:
    """As SimGrid has it: platform.xml and a profile for each load."""
    scenario, replication = simulator.load_scenario(path, changes=asked.changes or ()), asked.replication
    scenario = scenario if asked.seed is None else replace(scenario, seed=asked.seed)
    about: Any = {"size": asked.size, "approximate": asked.approximate}
    try:
        found = simulator.export_simgrid(scenario, replication=replication, **about)
    except ScenarioError as error:
        options = [
            line.replace("; approximate:", "; --approximate:").replace("; size:", "; --size:") for line in error.lines
        ]
        raise ScenarioError([f"{path}: {line}" for line in options]) from error
    files.make_folder(folder)
    for name, text in found.files.items():
        files.write_text(folder / name, text)
    for note in found.notes:
        print(f"note: {note}", file=sys.stderr)
    written = f"{folder / 'platform.xml'} with profiles of {len(found.files) - 1} PEs, as in replication {replication}"
    drawn = {"files": list(found.files), "seed": scenario.seed, "replication": replication}
    said = f"{written}\nread it back with {found.read_back}"
    return Converted(said, (), drawn | {"read_back": found.read_back})
