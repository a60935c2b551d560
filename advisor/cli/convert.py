"""`apportion convert`: platforms, load traces, runs and logs of jobs from and for other programs."""

import gzip
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

import simulator
from advisor.cli.declared import Given, Only, only_with
from advisor.cli.inputs import INPUT
from advisor.cli.options import APP, VERSION, Changes, Json, ScenarioSeed, load_changed, offered, print_json
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
    """What is converted, by the names of both files."""
    if source.suffix in HISTORIES:
        return "from a run history"
    if output.suffix in HISTORIES:
        return "into a run history"
    if output.name.endswith(LOGS):
        return "into a log"
    return "from a scenario" if source.suffix in SCENARIOS and not output.suffix else "into a load trace"


def _subject(given: Given) -> str:
    return subject_of(given["source"], given["output"])


def _measured(given: Given) -> str | None:
    """What a source measures, where it is known before the source is read."""
    return _MEASURES.get(given["from"]) or _MEASURES.get(given["measures"])


PLATFORM, TRACE = Only(("from a scenario",), _subject), Only(("into a load trace",), _subject)
KEPT = Only(("into a run history", "from a run history"), _subject)

Source = Annotated[
    Path, typer.Argument(metavar="IN", help="A scenario, a run history, or a file of another program.", **INPUT)
]
Output = Annotated[
    Path, typer.Argument(metavar="OUT", help="A folder for SimGrid, TRACE.csv, RUNS.sqlite, LOG.swf[.gz] or RUNS.")
]
Kind = Annotated[
    str | None,
    typer.Option(
        "--from",
        help=f"What IN is: for a load trace {', '.join(TRACES)}; for runs {', '.join(RUNS)}, by default as its "
        "content says.",
        autocompletion=offered(*dict.fromkeys((*TRACES, *RUNS))),
    ),
    Only(("into a load trace", "into a run history"), _subject),
]
Measures = Annotated[
    str | None,
    typer.Option(help="load, busy, busy-percent, available or available-percent."),
    only_with("from", "csv", "sadf", "collectl", "prometheus"),
]
CoresOption = Annotated[
    int,
    typer.Option(min=1, help="Cores of the PE that the trace is for."),
    Only((_BUSY,), _measured, why="which does not hang on the number of cores"),
]
TimeColumn = Annotated[
    str | None,
    typer.Option(help="Column of the times: numbers, or dates, UTC where without a zone."),
    TRACE,
    only_with("from", "csv"),
]
ValueColumn = Annotated[
    str | None, typer.Option(help="Column of the values."), TRACE, only_with("from", "csv", "sadf", "collectl")
]
Cpu = Annotated[
    str | None,
    typer.Option(help="Number of a processor, or all."),
    only_with("from", "sadf", "collectl"),
]
Series = Annotated[
    str | None,
    typer.Option(help="prometheus: label=value. google: machine=NUMBER."),
    only_with("from", "prometheus", "google"),
]
Processors = Annotated[int | None, typer.Option(min=1, help="Size of the log's machine."), only_with("from", "swf")]
Start = Annotated[str | None, typer.Option(help="Where the window begins, such as 2d."), only_with("from", "swf")]
Duration = Annotated[
    str | None,
    typer.Option(help="Length of the window; with simgrid how far to play."),
    only_with("from", "swf", "simgrid"),
]
To = Annotated[str, typer.Option(help="csv, extrap or extrap-json."), Only(("from a run history",), _subject)]
Time = Annotated[
    list[str] | None,
    typer.Option(help="CSV column of seconds; those that end in _s by default. Repeatable."),
    Only(("into a run history",), _subject),
]
Replication = Annotated[
    int,
    typer.Option(min=0, help="The one whose draws are written: where loads start, speeds in their bands."),
    PLATFORM,
]
SizeOption = Annotated[
    float | None, typer.Option(help="Problem size at which speeds are taken that depend on it."), PLATFORM
]
Approximate = Annotated[
    bool, typer.Option("--approximate", help="Leave out what SimGrid does not have, and say so."), PLATFORM
]


def convert(  # noqa: PLR0913, PLR0917 - one per option
    source: Source,
    output: Output,
    kind: Kind = None,
    measures: Measures = None,
    cores: CoresOption = 1,
    time_column: TimeColumn = None,
    value_column: ValueColumn = None,
    time_unit: Annotated[str | None, typer.Option(help="s, ms or us."), TRACE, only_with("from", "csv")] = None,
    cpu: Cpu = None,
    series: Series = None,
    processors: Processors = None,
    start: Start = None,
    duration: Duration = None,
    to: To = "csv",
    application: Annotated[str | None, APP, KEPT] = None,
    version: Annotated[str | None, VERSION, Only(("from a run history",), _subject)] = None,
    time: Time = None,
    replication: Replication = 0,
    seed: Annotated[ScenarioSeed, PLATFORM] = None,
    size: SizeOption = None,
    approximate: Approximate = False,
    changes: Annotated[Changes, PLATFORM] = None,
    as_json: Json = False,
) -> None:
    """Turn a file of another program into ours, or ours into another's; the names of both say which.

    What cannot be expressed, or is not stated, is refused by name, never guessed. Examples:

    apportion convert sar.txt load.csv --from sadf --cpu 0

    apportion convert scenarios/tutorial/cluster.yaml out/simgrid --size 1e6 --approximate

    apportion convert jobs.txt runs.sqlite --from sacct
    """
    subject = subject_of(source, output)
    if subject == "from a run history":
        document = _written_runs(source, output, to, application, version)
    elif subject == "into a run history":
        document = _kept_runs(source, output, kind, application, time or ())
    elif subject == "into a log":
        document = _log(source, output)
    elif subject == "from a scenario":
        loaded = load_changed(source, changes=changes, resource_model=None)
        loaded = loaded if seed is None else replace(loaded, seed=seed)
        document = _platform(source, output, loaded, replication, size, approximate=approximate)
    else:
        options: Any = {"measures": measures, "time_column": time_column, "value_column": value_column}
        options |= {"time_unit": time_unit, "cpu": cpu, "series": series, "processors": processors}
        options |= {
            "start_s": None if start is None else units.parse_duration(start, field="--start", positive=False),
            "duration_s": None if duration is None else units.parse_duration(duration, field="--duration"),
        }
        document = _trace(source, output, kind, options, cores)
    if as_json:
        print_json({"format": 1, "command": "convert", "output": str(output)} | document)
        return
    print("\n".join([document["said"], *(f"  {note}" for note in document["notes"])]))


def _trace(source: Path, output: Path, kind: str | None, options: dict[str, Any], cores: int) -> dict[str, Any]:
    """What a source measures is stated by it or by the user."""
    from advisor.cli.described import trace_summary
    from simulator.load_traces import ImportOptions, import_trace, trace_text

    if kind is None:
        raise ScenarioError(f"--from is missing: say what {source} is; give one of {', '.join(TRACES)}")
    found = import_trace(source, kind, options=ImportOptions(**options), cores=cores)
    comment = "\n".join([f"imported from {source.name} ({kind})", *found.notes])
    files.write_text(output, trace_text(found.trace, column=found.column, comment=comment))
    said = f"{output}: {found.trace.values.size} rows, {found.trace.end_s:g} s, mean {found.trace.mean():.3f}"
    return trace_summary(output, found.trace, found.column) | {"said": said, "notes": list(found.notes)}


def _kept_runs(
    source: Path, history: Path, kind: str | None, application: str | None, times: Sequence[str]
) -> dict[str, Any]:
    """Times of day without a zone, as Slurm writes them, count as this machine's local time."""
    records, left_out = calibration.import_runs(source, kind=kind, application=application, times=times)
    runs = calibration.add_runs(history, records)
    said = f"{len(records)} runs added to {history}"
    return {"added": len(records), "runs": runs, "said": said, "notes": left_out}


def _written_runs(
    history: Path, output: Path, kind: str, application: str | None, version: str | None
) -> dict[str, Any]:
    records = calibration.list_runs(history, application=application, version=version)
    calibration.save_export(records, kind, output)
    return {"runs": len(records), "said": f"{len(records)} runs written to {output}", "notes": []}


def _log(source: Path, output: Path) -> dict[str, Any]:
    """A stream of jobs, all of it; without the time that gzip would note, the same stream is the same file."""
    stream = simulator.read_stream(source, cleaning="none")
    write_log(stream, output)
    return {"jobs": len(stream), "said": f"{len(stream)} jobs written to {output}", "notes": list(stream.notes)}


def write_log(stream: "simulator.Stream", output: Path) -> None:
    """As SWF; packed if the name ends in .gz, the same stream as the same bytes."""
    lines = simulator.stream_lines(stream, ".swf")
    if output.suffix == ".gz":
        files.write_bytes(output, gzip.compress("".join(lines).encode(), mtime=0))
    else:
        files.write_pieces(output, lines)


def _platform(
    path: Path,
    folder: Path,
    scenario: "simulator.Scenario",
    replication: int,
    size: float | None,
    *,
    approximate: bool,
) -> dict[str, Any]:
    """As SimGrid has it: platform.xml and a profile for each load."""
    try:
        found = simulator.export_simgrid(scenario, replication=replication, size=size, approximate=approximate)
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
    about = {"files": list(found.files), "seed": scenario.seed, "replication": replication}
    return about | {
        "read_back": found.read_back,
        "said": f"{written}\nread it back with {found.read_back}",
        "notes": [],
    }
