"""`apportion history`: the runs that predictions rest on, in one SQLite file."""

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

import simulator
from advisor.cli.declared import Given, Only, only_with
from advisor.cli.options import LEVEL, Json, Level, file
from simulator import calibration, documents, units

DEFAULT = Path("apportion-history.sqlite")

File = Annotated[Path, typer.Option("--history", help="The run history (SQLite).")]
APP = typer.Option("--app", help="Application.")
Application = Annotated[str | None, APP]
Version = Annotated[str | None, typer.Option(help="Version of the application.")]
When = Annotated[
    str | None,
    typer.Option(
        "--when",
        metavar="TIME",
        help="When it ran, such as 2026-11-21T14:30+01:00; without a zone, this machine's local time. Now by default.",
    ),
]


def _table_kind(given: Given) -> str | None:
    kind = given["format"] or (calibration.runs_kind(given["file"]) if given["file"].is_file() else None)
    return f"with --format {kind}" if kind in {"csv", "extrap", "extrap-json", "sacct"} else None


def add(
    application: Annotated[str, APP],
    time: Annotated[list[str], typer.Option(help="NAME=SECONDS, `total` for the whole run; may be repeated.")],
    param: Annotated[list[str] | None, typer.Option(help="NAME=VALUE; may be repeated.")] = None,
    version: Version = None,
    machine: Annotated[str, typer.Option(help="Where it ran.")] = "",
    made: When = None,
    history: File = DEFAULT,
    json_output: Json = False,
) -> None:
    """Add one run.

    Example: apportion history add --app hpl --param N=8000 --param P=4 --time total=174.1 --time communication=12.5
    """
    when = {} if made is None else {"made": units.parse_instant(made, field="--when").isoformat()}
    record_ = calibration.RunRecord(
        application,
        _pairs(param or [], "--param"),
        _pairs(time, "--time"),
        version=version or "",
        machine=machine,
        **when,
    )
    _print_added({"added": 1, "runs": calibration.add_runs(history, [record_])}, history, json_output=json_output)


def list_(
    history: File = DEFAULT, application: Application = None, version: Version = None, json_output: Json = False
) -> None:
    """Show the runs, oldest first.

    Example: apportion history list --app hpl
    """
    records = calibration.list_runs(history, application=application, version=version)
    if json_output:
        _print_json({"history": str(history), "runs": [_plain(record) for record in records]})
        return
    for record in records:
        parameters = " ".join(f"{name}={value:g}" for name, value in record.parameters.items())
        times = " ".join(f"{name} {value:.4g} s" for name, value in record.times_s.items())
        print(f"{record.made or '-'}  {record.application} {record.version or '-'}  {parameters}  {times}")


def import_(
    file: Annotated[Path, typer.Argument(help="File with runs.")],
    kind: Annotated[
        str | None, typer.Option("--format", help="csv, extrap, extrap-json or sacct; by its content if not given.")
    ] = None,
    application: Application = None,
    time: Annotated[
        list[str] | None,
        typer.Option(help="CSV column of seconds; those that end in _s by default."),
        Only(("with --format csv",), _table_kind),
    ] = None,
    history: File = DEFAULT,
    json_output: Json = False,
) -> None:
    """Add the runs of another program's file: CSV, Extra-P text or JSON, `sacct -P`.

    Times of day without a zone, as Slurm writes them, count as this machine's local time and are kept with its offset.

    Example: apportion history import jobs.txt --format sacct
    """
    records, left_out = calibration.import_runs(file, kind=kind, application=application, times=time or ())
    added = {"added": len(records), "runs": calibration.add_runs(history, records), "left_out": left_out}
    _print_added(added, history, json_output=json_output)


def export(
    output: Annotated[Path | None, file("RUNS", "the runs; on standard output if not given")] = None,
    kind: Annotated[str, typer.Option("--format", help="csv, extrap or extrap-json.")] = "csv",
    application: Application = None,
    version: Version = None,
    history: File = DEFAULT,
) -> None:
    """Write the runs for other programs.

    Example: apportion history export --app hpl --format extrap -o hpl.txt
    """
    records = calibration.list_runs(history, application=application, version=version)
    text = calibration.save_export(records, kind, output)
    if output is None:
        print(text, end="")
    else:
        print(f"{len(records)} runs written to {output}")


def record(  # noqa: PLR0913, PLR0917 - one per option
    grid: Annotated[list[str], typer.Option(help="NAME=VALUE:VALUE:...,NAME=...; every combination is run.")],
    application: Annotated[
        str | None, typer.Option("--app", help="Built-in application to run on this machine's PEs: matmul.")
    ] = None,
    command: Annotated[
        str | None, typer.Option(help="Or a command line with {NAME} where a parameter goes; run without a shell.")
    ] = None,
    name: Annotated[
        str | None, typer.Option(help="Application that the runs are kept as; the program's name by default.")
    ] = None,
    kernel: Annotated[
        str, typer.Option(help="What matmul multiplies with: dgemm or matmul."), only_with("app")
    ] = "dgemm",
    budget: Annotated[str, typer.Option(help="Time after which no run goes on, for example 60s or 5min.")] = "60s",
    repetitions: Annotated[int, typer.Option(help="Runs of each combination.")] = 3,
    version: Version = None,
    history: File = DEFAULT,
    json_output: Json = False,
) -> None:
    """Run an application here over a grid of parameters and keep each run's time.

    A built-in one is kept with the times of its parts, and its kernel as version unless one is given. A program may
    print a JSON object as its last line; each NAME_s in it is the time of a part. Examples:

    apportion history record --app matmul --grid N=500:1000:1500,P=1:2 --budget 1min

    apportion history record --command './stencil {N} {P}' --grid N=1000:2000,P=1:2 --budget 2min
    """
    if (application is None) == (command is None):
        raise typer.BadParameter("--app and --command exclude each other; give one of them")
    points = calibration.parse_grid(",".join(grid))
    common: dict[str, Any] = {"budget": budget, "name": name, "repetitions": repetitions}
    plan: Any
    if application is not None:
        plan, version = (
            calibration.make_application_plan(application, points, kernel=kernel, **common),
            version or kernel,
        )
    else:
        plan = calibration.make_plan(command or "", points, **common)
    kept = []

    def keep(run: Any) -> None:
        kept.append(run)
        where = " ".join(f"{name}={value:g}" for name, value in run.parameters.items())
        print(f"{plan.application} {where}: {run.times_s['total']:.4g} s", file=sys.stderr)
        calibration.add_runs(history, [run])

    left_out = calibration.record_runs(plan, keep, version=version or "")
    _print_added({"added": len(kept), "left_out": left_out}, history, json_output=json_output)


def coverage(level: Level = LEVEL, json_output: Json = False) -> None:
    """How often stated intervals held on this machine, by kind of prediction and model, and what is learnt of it.

    Each `verify` is kept, and each `allocate run` with a model. Where intervals held too seldom, a factor widens those
    of models made later; residuals of one sign are named with the cause that they suggest, and widen nothing. Example:

    apportion history coverage --level 0.9
    """
    found, place = calibration.coverage(calibration.kept_comparisons(), level=level), calibration.state_file()
    if json_output:
        document = {"format": 1, "command": "history coverage", **documents.to_dict(found)}
        _print_json(document | {"kept_in": None if place is None else str(place)})
        return
    if not found.comparisons:
        print("no prediction was compared with real runs on this machine yet; `apportion verify SCENARIO` does it")
        return
    _tell_coverage(found)
    print(f"{found.comparisons} comparisons of this machine are kept in {place}")


def _tell_coverage(found: "calibration.History") -> None:
    from advisor import wording

    for group in found.groups:
        model = group.model or "written in the scenario"
        seen = wording.counted(group.seen.sittings, "sitting")
        version = group.version.partition(":")[2][:8]
        print(f"{group.kind} {group.subject}, model {model} ({version}): {group.seen.cases} cases in {seen}")
        for line in wording.held_lines(group.seen, found.level) or ["no interval was stated"]:
            print(f"  {line}")
        if group.seen.busy:
            busy = f"{group.seen.busy} of them while other programs ran there"
            print(f"  {busy}: counted, but nothing is learnt of these")
        if group.seen.held:
            learnt = f"; {group.learnt:.2f} is in it" if group.learnt > 1 else ""
            print(f"  factor to widen by: {group.factor:.2f}{learnt}")
        if group.bias:
            print(f"  bias: {group.bias.text}")
    for kind in found.kinds:
        for line in wording.held_lines(kind.seen, found.level):
            print(f"all {kind.kind} predictions: {line}")
    print(wording.HELD_NOTE)


def _pairs(texts: list[str], option: str) -> dict[str, float]:
    found: dict[str, float] = {}
    for text in texts:
        name, _, value = text.partition("=")
        number = units.to_number(value)
        if number is None or not name.strip():
            raise typer.BadParameter(f"{option} is {text!r}; give NAME=NUMBER")
        simulator.given.check_once(name.strip(), found, where=option)
        found[name.strip()] = number
    return found


def _plain(record_: Any) -> dict[str, Any]:
    return {
        "application": record_.application,
        "version": record_.version,
        "machine": record_.machine,
        "made": record_.made,
        "parameters": dict(record_.parameters),
        "times_s": dict(record_.times_s),
    }


def _print_added(document: dict[str, Any], history: Path, *, json_output: bool) -> None:
    if json_output:
        _print_json({"history": str(history)} | document)
        return
    for line in document.get("left_out", ()):
        print(line)
    print(f"{document['added']} runs added to {history}")


def _print_json(document: dict[str, Any]) -> None:
    print(json.dumps(document, indent=1, allow_nan=False))
