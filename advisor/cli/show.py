"""`apportion show`: what a speed model says, as text and as a picture; what a folder of results holds."""

from pathlib import Path
from typing import Annotated, Any

import typer

import simulator
from advisor.cli.declared import Given, Only, only_with
from advisor.cli.options import Json, Plot, print_answers, print_json, print_warnings
from advisor.cli.scenarios import INPUT
from simulator import ApportionError, calibration, files, models, units

WRITER = "apportion calibrate"
MANIFEST = "manifest.json"
JOBS = {"jobs run": MANIFEST, "jobs compare": "comparison.json", "jobs advise": "advice.json"}
"""Which file of a folder holds the document of a command on job streams."""
SIZES_BYTES = (1, 2**10, 2**16, 2**20, 2**24)
"""Messages of a network model that are shown."""
MOST_BYTES = 2**24
"""Of a document of job streams."""
MOST_ROWS = 40
"""Rows of results that are shown."""


def _shown(given: Given) -> str:
    if given["model"].is_dir() or document_of_jobs(given["model"]) is not None:
        return "with a folder of results"
    for kind in ("network", "neighbours"):
        if given["memory"] is None and is_model_of(given["model"], kind):
            return f"with a {kind} model"
    return "with a speed model alone" if given["memory"] is None else "with a speed model and --memory"


def _shown_with_memory(given: Given) -> str:
    mode = _shown(given)
    return "with a speed model" if "speed model" in mode else mode


ModelOption = Annotated[
    Path,
    typer.Argument(
        metavar="PATH",
        help="Model of `calibrate speed`, `network` or `neighbours`, or results of `simulate -o`, `whatif -o` or "
        "`jobs run|compare|advise -o`.",
        **INPUT,
    ),
]
HeldOut = Annotated[
    Path | None,
    typer.Option(metavar="SIZES.csv", help="Held-out points size_elements,volume,cpu_s to compare.", **INPUT),
    Only(("with a speed model alone",), _shown),
]
Memory = Annotated[
    Path | None,
    typer.Option(
        metavar="MEMORY.json", help="Compare it with what this memory model predicts (kernels triad, matmul)."
    ),
    Only(("with a speed model",), _shown_with_memory),
]
Kernel = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="The kernel, where the model does not say it."),
    only_with("memory"),
]
AsJson = Annotated[
    Json,
    Only(
        (
            "with a folder of results",
            "with a network model",
            "with a neighbours model",
            "with a speed model and --memory",
        ),
        _shown,
    ),
]


def show(
    model: ModelOption,
    plot: Annotated[Plot, Only(("with a speed model alone", "with a speed model and --memory"), _shown)] = None,
    held_out: HeldOut = None,
    memory: Memory = None,
    kernel: Kernel = None,
    as_json: AsJson = False,
) -> None:
    """Show a speed model: its points, its band, and what was assumed; or compare it with what a memory model predicts.

    Of a network model: message times, and what messages cost in CPU and memory.

    Of a model of neighbours: what was measured together, and the domains.

    Of a folder of results: its table, and how each point of a what-if is run again; of job streams the answer.

    Example: apportion show model.json --plot model.svg

    Example: apportion show triad.json --memory memory.json --plot triad.svg

    Example: apportion show out/whatif
    """
    if model.is_dir() or document_of_jobs(model) is not None:
        _show_results(model, as_json=as_json)
        return
    if memory is not None:
        with files.understood(f"{model} or {memory}", WRITER):
            _predict(model, memory, kernel=kernel, plot=plot, as_json=as_json)
        return
    with files.understood(model, WRITER):
        if is_model_of(model, "network"):
            _show_network(model, as_json=as_json)
            return
        if is_model_of(model, "neighbours"):
            _show_neighbours(model, as_json=as_json)
            return
        _show_model(model, plot=plot, held_out=held_out)


def is_model_of(path: Path, kind: str) -> bool:
    """Whether a file says that it is a model of a kind; what cannot be read is refused by what reads it."""
    try:
        return path.is_file() and calibration.model_kind(path) == kind
    except ApportionError:
        return False


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


def _show_jobs(path: Path, document: dict[str, Any], *, as_json: bool) -> None:
    """What the page of the document says first."""
    from advisor.report.pages import page_of, read_answer

    answer = read_answer(document, path)
    if as_json:
        print_json(document | {"command": "show", "shown": document["command"]})
        return
    page = page_of(answer)
    print(f"{page.title}\n\n{page.answer}")
    for name, text in page.key_figures.items:
        print(f"  {name}: {text}")
    print_warnings(page.warnings)


def _show_network(path: Path, *, as_json: bool) -> None:
    """Message times at a few sizes, and what messages cost."""
    model, document = calibration.load_network_model(path)
    cost = calibration.message_cost(document, path)
    if as_json:
        print_json(document | {"command": "show"})
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


def _show_model(model: Path, *, plot: Path | None, held_out: Path | None) -> None:
    """Points, assumptions, warnings; a picture and held-out points if asked for."""
    from simulator.calibration.bands import read_recorded_sizes

    band, document = calibration.load_speed_model(model)
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


def _show_neighbours(model: Path, *, as_json: bool) -> None:
    """Domains, what was measured, and what to know."""
    from advisor.cli.calibrate_neighbours import tell

    document = calibration.read_neighbours(model).to_dict()
    if as_json:
        print_json(document | {"command": "show"})
        return
    print(f"{model}: what computations on {document['pe_count']} PEs lose to each other")
    tell(document)


def _show_results(path: Path, *, as_json: bool) -> None:
    """What a folder holds, or a document of job streams says."""
    if (found := document_of_jobs(path)) is not None:
        _show_jobs(*found, as_json=as_json)
        return
    with files.understood(path / MANIFEST, "simulate -o` or `whatif -o"):
        _show_runs(path, as_json=as_json)


def _show_runs(folder: Path, *, as_json: bool) -> None:
    """The table of a folder, of a what-if each parameter, the mean makespan and the difference to the base."""
    from advisor.report.pages import READ, read_answer

    results = simulator.load_results(folder)
    if results.manifest.get("command") in READ:
        read_answer(results.manifest, folder / MANIFEST)
    frame = results.to_dataframe()
    if as_json:
        rows = frame.astype(object).where(frame.notna(), None).to_dict(orient="records")
        print_json({"command": "show", "manifest": dict(results.manifest), "rows": rows})
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


def _predict(model: Path, memory: Path, *, kernel: str | None, plot: Path | None, as_json: bool) -> None:
    """Measured speeds and predicted ones, with their mean errors."""
    found = calibration.predict_speed(model, memory, kernel=kernel)
    if plot is not None:
        simulator.plots.predicted(found).save(plot)
    if as_json:
        print_json(found.to_dict() | {"command": "show"})
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
