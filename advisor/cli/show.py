"""`apportion show`: what any file or folder says: scenario, model, trace, runs, log of jobs, results; what ships."""

from pathlib import Path
from typing import Annotated, Any

import typer

import simulator
from advisor.cli.check import summary
from advisor.cli.declared import Given, Only, only_with, only_without, option
from advisor.cli.described import stream_document, tell_stream, trace_summary
from advisor.cli.inputs import INPUT
from advisor.cli.options import COLUMN, Plot, folder, gave_json, print_answers, print_warnings
from simulator import ApportionError, calibration, files, models, shipped, units

WRITER = "apportion calibrate"
MANIFEST = "manifest.json"
JOBS = {
    "jobs run": MANIFEST,
    "jobs compare": "comparison.json",
    "jobs advise": "advice.json",
    "advise": "advice.json",
    "verify": "verification.json",
    "cluster": "cluster.json",
    "quickstart": "result.json",
}
"""Which file of a folder holds the document of a command."""
SIZES_BYTES = (1, 2**10, 2**16, 2**20, 2**24)
"""Messages of a network model that are shown."""
MOST_BYTES = 2**24
"""Of a document of job streams."""
MOST_ROWS = 40
"""Rows of results that are shown."""

LOGS, HISTORIES, TEXTS = (".swf", ".swf.gz"), (".sqlite", ".db"), (".yaml", ".yml", ".toml")
NOTHING, RESULTS, TRACE, SPEED = "without PATH", "with results", "with a load trace", "with a speed model"


def subject_of(path: Path | None) -> str:
    """What is to be shown, as it stands behind "has no effect"."""
    if path is None or path.is_dir() or document_of_jobs(path) is not None:
        return NOTHING if path is None else RESULTS
    if path.suffix == ".json":
        kind = _kind_of(path)
        return SPEED if kind is None else f"with a {kind} model"
    known = {"with a log of jobs": LOGS, "with a run history": HISTORIES, "with a scenario": TEXTS}
    return next((subject for subject, ends in known.items() if path.name.endswith(ends)), TRACE)


def _kind_of(path: Path) -> str | None:
    """The kind that a model's file says; what cannot be read is refused by what reads it."""
    try:
        return calibration.model_kind(path)
    except ApportionError:
        return None


def _shown(given: Given) -> str:
    return subject_of(given["path"])


OF_SPEEDS = Only((SPEED,), _shown)


def show(
    path: Annotated[
        Path | None,
        typer.Argument(metavar="PATH", help="Any file that a command reads, or what it wrote.", **INPUT),
    ] = None,
    plot: Annotated[Plot, Only((SPEED, TRACE), _shown)] = None,
    held_out: Path | None = option(
        "Held-out points size_elements,volume,cpu_s to compare.",
        OF_SPEEDS,
        only_without("memory"),
        metavar="SIZES.csv",
        **INPUT,
    ),
    memory: Path | None = option(
        "Compare it with what this memory model predicts (kernels triad, matmul).", OF_SPEEDS, metavar="MEMORY.json"
    ),
    kernel: str | None = option("The kernel, where the model does not say it.", only_with("memory"), metavar="NAME"),
    column: Annotated[str | None, COLUMN, Only((TRACE,), _shown)] = None,
    output: Path | None = folder("all shipped files, to edit them", Only((NOTHING,), _shown)),
) -> None:
    """Show what a file or a folder says; without one, the scenarios that ship: commands take them by name.

    Of results the table, and how each point of a what-if is run again; of a model its points, its band and what was
    assumed; of a load trace a drawing. Examples:

    apportion show

    apportion show out/whatif

    apportion show model.json --plot model.svg
    """
    subject = subject_of(path)
    if path is None:
        _show_shipped(output)
    elif subject == RESULTS:
        _show_results(path)
    elif subject == TRACE:
        _show_trace(path, plot, column)
    elif subject == "with a scenario":
        summary(path, ())
    elif subject == "with a run history":
        _show_runs_kept(path)
    elif subject == "with a log of jobs":
        _show_log(path)
    else:
        _show_model(path, plot, held_out, memory, kernel)


def _show_model(path: Path, plot: Path | None, held_out: Path | None, memory: Path | None, kernel: str | None) -> None:
    with files.understood(path if memory is None else f"{path} or {memory}", WRITER):
        kind = _kind_of(path)
        if memory is not None:
            _predict(path, memory, kernel=kernel, plot=plot)
        elif kind == "network":
            _show_network(path)
        elif kind == "neighbours":
            _show_neighbours(path)
        elif kind in {"runtime", "memory", "process_count"}:
            _show_fields(path, kind)
        else:
            _show_speeds(path, plot=plot, held_out=held_out)


def _show_shipped(output: Path | None) -> None:
    listed = shipped.scenarios()
    copied = [] if output is None else shipped.copy_all(output)
    entries = [{"name": s.name, "file": s.file, "path": str(s.path), "title": s.title} for s in listed]
    if gave_json({"format": 1, "command": "show", "scenarios": entries, "files": list(shipped.names())}):
        return
    wide = max(len(scenario.name) for scenario in listed) + 2
    for scenario in listed:
        print(f"{scenario.name:<{wide}}{scenario.title}")
    if output is not None:
        print(f"{len(copied)} files copied to {output}")


def _show_trace(path: Path, plot: Path | None, column: str | None) -> None:
    """As text or into a picture, with mean and spread."""
    from simulator.load_traces import text_chart, trace_column

    found, name = simulator.read_trace(path, column=column), column or trace_column(path)
    if plot is not None:
        simulator.plots.load(found, rule="given" if name == "available" else "fair").save(plot)
    about = {"format": 1, "command": "show", "picture": None if plot is None else str(plot)}
    if gave_json(about | trace_summary(path, found, name)):
        return
    print(f"{path}: {name}, {found.values.size} rows, {found.end_s:g} s")
    print(text_chart(found))
    print(f"mean {found.mean():.4g}, least {found.values.min():.4g}, greatest {found.values.max():.4g}")


def _show_runs_kept(path: Path) -> None:
    """Runs of a history, oldest first."""
    records = calibration.list_runs(path)
    names = ("application", "version", "machine", "made", "parameters", "times_s")
    if gave_json({"history": str(path), "runs": [{name: getattr(one, name) for name in names} for one in records]}):
        return
    for record in records:
        parameters = " ".join(f"{name}={value:g}" for name, value in record.parameters.items())
        times = " ".join(f"{name} {value:.4g} s" for name, value in record.times_s.items())
        print(f"{record.made or '-'}  {record.application} {record.version or '-'}  {parameters}  {times}")


def _show_log(path: Path) -> None:
    """A stream of jobs as it is, not cleaned."""
    document = stream_document(simulator.read_stream(path, cleaning="none")) | {"command": "show", "log": str(path)}
    if not gave_json(document):
        tell_stream(document)


def _show_fields(path: Path, kind: str | None) -> None:
    """Of a model that `predict` or `advise` asks: what it says in its file in few words."""
    document = files.read_json(path)
    if gave_json(document | {"command": "show"}):
        return
    print(f"{path}: a {kind} model; `apportion {'advise' if kind == 'process_count' else 'predict'} {path}` answers")
    for name, value in document.items():
        if isinstance(value, str | int | float):
            print(f"  {name}: {value}")
    print_warnings(document.get("warnings", ()))


def document_of_jobs(path: Path) -> tuple[Path, dict[str, Any]] | None:
    """What a command on job streams wrote, as a file or in a folder, and its file; None for anything else."""
    if not (path.is_dir() or path.is_file()):
        return None
    folder = path if path.is_dir() else path.parent if path.name == MANIFEST else None
    try:
        place = path if folder is None else folder / MANIFEST
        document = files.read_json(place, limit_bytes=MOST_BYTES)
        name = JOBS.get(str(document.get("command"))) if isinstance(document, dict) else None
        if folder is not None and name not in {None, MANIFEST}:
            place = folder / str(name)
            document = files.read_json(place, limit_bytes=MOST_BYTES)
    except ApportionError:
        return None  # what reads models and results says what is wrong
    return None if name is None else (place, document)


def _show_jobs(path: Path, document: dict[str, Any]) -> None:
    """What the page of the document says first."""
    from advisor.report.pages import page_of, read_answer

    answer = read_answer(document, path)
    if gave_json(document | {"command": "show", "shown": document["command"]}):
        return
    page = page_of(answer)
    print(f"{page.title}\n\n{page.answer}")
    for name, text in page.facts.items:
        print(f"  {name}: {text}")
    print_warnings(page.warnings)


def _show_network(path: Path) -> None:
    """Message times at a few sizes, and what messages cost."""
    model, document = calibration.load_network_model(path)
    cost = calibration.message_cost(document, path)
    if gave_json(document | {"command": "show"}):
        return
    print(f"{path}: {model.name}, {len(document.get('points', {}).get('bytes', ()))} message times")
    predicted = model.predict(SIZES_BYTES, 1.0)
    for size, mean_s in zip(SIZES_BYTES, predicted.mean_s.tolist(), strict=True):
        print(f"{units.show_size(size):>10}{units.show_duration(mean_s):>12}")
    if model.form.doubt is not None:
        print(models.noise_and_doubt(model.form.doubt, sizes=SIZES_BYTES))
    for line in ("CPU of messages: not measured",) if cost is None else cost.lines():
        print(line)
    print_warnings(document.get("warnings", ()))


def _show_speeds(model: Path, *, plot: Path | None, held_out: Path | None) -> None:
    """Points, assumptions, warnings; a picture and held-out points if asked for."""
    from simulator.calibration.bands import read_recorded_sizes

    band, document = calibration.load_speed_model(model)
    if gave_json(document | {"command": "show"}):
        return
    points = sorted(document.get("points", ()), key=lambda point: float(point["size_elements"]))
    spent = units.show_duration(float(document.get("experimental_s", 0)))
    print(f"{model}: speed by {document.get('method', '?')}, {len(points)} points in {spent} of runs")
    print(f"{'elements':>14}{'low':>12}{'mean':>12}{'high':>12}   volume per second")
    for point in points:
        speed = point["speed"]
        print(f"{point['size_elements']:>14.6g}{speed['low']:>12.4g}{speed['mid']:>12.4g}{speed['high']:>12.4g}")
    if document.get("largest_reason"):
        print(document["largest_reason"])
    print(models.noise_and_doubt(band.doubt, band.noise, sizes=band.sizes))
    for line in document.get("assumptions", ()):
        print(f"assumed: {line}")
    print_answers((check["assumption"], check["holds"]) for check in document.get("shape", ()))
    print_warnings(document.get("warnings", ()))
    truth = None if held_out is None else read_recorded_sizes(held_out)
    if truth is not None:
        print(f"held out: {truth.accuracy(band)}")
    if plot is not None:
        sampled = None if truth is None else (truth.sizes, truth.speeds(truth.sizes))
        simulator.plots.speed(band, points, held_out=sampled).save(plot)
        print(f"picture written to {plot}")


def _show_neighbours(model: Path) -> None:
    """Domains, what was measured, and what to know."""
    from advisor.cli.calibrate_neighbours import tell

    document = calibration.read_neighbours(model).to_dict()
    if gave_json(document | {"command": "show"}):
        return
    print(f"{model}: what computations on {document['pe_count']} PEs lose to each other")
    tell(document)


def _show_results(path: Path) -> None:
    """What a folder holds, or a document of job streams says."""
    if (found := document_of_jobs(path)) is not None:
        _show_jobs(*found)
        return
    with files.understood(path / MANIFEST, "simulate -o` or `whatif -o"):
        _show_runs(path)


def _show_runs(folder: Path) -> None:
    """The table of a folder, of a what-if each parameter, the mean makespan and the difference to the base."""
    from advisor.report.pages import READ, read_answer

    results = simulator.load_results(folder)
    if results.manifest.get("command") in READ:
        read_answer(results.manifest, folder / MANIFEST)
    frame = results.to_dataframe()
    rows = frame.astype(object).where(frame.notna(), None).to_dict(orient="records")
    if gave_json({"command": "show", "manifest": dict(results.manifest), "rows": rows}):
        return
    print(results.headline(len(frame)))
    failed = results.manifest.get("failed", {})
    if results.kind == "sweep":
        parameters = list(results.manifest["parameters"])
        frame["hash"] = frame["hash"].str[:12]
        shown = ["mean_s", "low_s", "high_s", "difference_mean_s", "difference_low_s", "difference_high_s"]
        frame = frame[["point", "hash", *parameters, "configuration", *shown]]
    print(frame.to_string(index=False, float_format="{:.4g}".format, max_rows=MOST_ROWS, na_rep=""))
    for name, reason in list(failed.items())[:MOST_ROWS]:
        print(f"failed: {name[:12]} ({', '.join(results.manifest['points'][name])}): {reason}")
    if len(failed) > MOST_ROWS:
        print(f"{len(failed) - MOST_ROWS} more points failed; all with --json")
    if results.kind == "sweep":
        print("a point alone, the same bits: the same command with --only HASH")


def _predict(model: Path, memory: Path, *, kernel: str | None, plot: Path | None) -> None:
    """Measured speeds and predicted ones, with their mean errors."""
    found = calibration.predict_speed(model, memory, kernel=kernel)
    if plot is not None:
        simulator.plots.predicted(found).save(plot)
    if gave_json(found.to_dict() | {"command": "show"}):
        return
    print(f"{found.kernel}: measured speed, and speed predicted by the levels of {memory} and by all of that model")
    print(f"{'elements':>14}{'measured':>12}{'levels':>12}{'model':>12}   volume per second")
    rows = zip(found.sizes, found.measured, found.by_levels, found.by_model, strict=True)
    for place, row in enumerate(rows):
        known = "   taken as known" if place == found.reference else ""
        print(f"{row[0]:>14.6g}" + "".join(f"{speed:>12.4g}" for speed in row[1:]) + known)
    for name, predicted in (("levels", found.by_levels), ("model", found.by_model)):
        errors, above = found.errors(predicted), found.errors_above(predicted)
        beyond = f"; {above.mean():.1%} on average above the size taken as known" if above.size else ""
        print(f"by the {name}: error {errors.mean():.1%} on average, {errors.max():.1%} at most{beyond}")
    print_warnings(found.warnings)
    if plot is not None:
        print(f"picture written to {plot}")
