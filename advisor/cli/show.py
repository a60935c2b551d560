"""`apportion show`: what any file or folder says: scenario, model, trace, runs, log of jobs, results; what ships."""

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import simulator
from advisor.cli.check import summary
from advisor.cli.convert import HISTORIES, LOGS
from advisor.cli.declared import Given, Only, argument, option
from advisor.cli.inputs import INPUT
from advisor.cli.models import (
    allocation_blocks,
    lines,
    memory_blocks,
    neighbours_blocks,
    network_blocks,
    speed_blocks,
    stream_blocks,
    stream_facts,
    trace_facts,
    warned,
)
from advisor.cli.options import COLUMN, Plot, folder, gave_json
from advisor.cli.outputs import MANIFEST, width
from advisor.cli.outputs import show as show_result
from simulator import ApportionError, blocks, calibration, documents, files, shipped

WRITER = "apportion calibrate"
MOST_BYTES = 2**24
"""Of an answer."""
MOST_ROWS = 40
"""Rows of results that are shown."""

TEXTS = (".yaml", ".yml", ".toml")
NOTHING, RESULTS, TRACE, SPEED = "without PATH", "with results", "with a load trace", "with a speed model"
RECORDING = "with a recording"


def subject_of(path: Path | None) -> str:
    """What is to be shown, as it stands behind "has no effect"."""
    if path is not None and (path / "recording.json").is_file():
        return RECORDING
    if path is None or path.is_dir() or _answered(path) is not None:
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
    path: Path | None = argument("Any file that a command reads, or what it wrote.", None, metavar="PATH", **INPUT),
    plot: Annotated[Plot, Only((SPEED, TRACE), _shown)] = None,
    held_out: Path | None = option(
        "Held-out points size_elements,volume,cpu_s to compare.",
        OF_SPEEDS,
        metavar="SIZES.csv",
        **INPUT,
    ),
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
    elif subject == RECORDING:
        _show_recording(path)
    elif subject == TRACE:
        _show_trace(path, plot, column)
    elif subject == "with a scenario":
        summary(path, ())
    elif subject == "with a run history":
        _show_runs_kept(path)
    elif subject == "with a log of jobs":
        _show_log(path)
    else:
        _show_model(path, plot, held_out)


def _show_recording(path: Path) -> None:
    """What the ranks of an MPI program did."""
    from advisor.report.recorded import recorded_page

    facts = simulator.RecordingFacts.of(simulator.Recording.load(path))
    show_result(facts.to_dict() | {"command": "show"}, recorded_page(facts, str(path)))


def _show_model(path: Path, plot: Path | None, held_out: Path | None) -> None:
    with files.understood(path, WRITER):
        kind = _kind_of(path)
        if kind is None or kind == "speed":
            _show_speeds(path, plot=plot, held_out=held_out)
            return
        document = files.read_json(path)
        _show_document(path, document, _said_of(kind, path, document))


def _said_of(kind: str, path: Path, document: dict[str, Any]) -> Sequence[blocks.Block]:
    """What is said of a model of any kind but speeds."""
    match kind:
        case "network":
            return network_blocks(calibration.load_network_model(path))
        case "neighbours":
            return neighbours_blocks(calibration.read_neighbours(path).to_dict())
        case "memory":
            return memory_blocks(calibration.load_memory_model(path))
        case "process_count":
            return allocation_blocks(calibration.load_allocation_fit(path), path)
    if kind != "runtime":
        raise KeyError(kind)
    said = [f"  {name}: {value}" for name, value in document.items() if isinstance(value, str | int | float)]
    about = f"a {kind} model; `apportion predict {path}` answers"
    return [blocks.Text(about), lines(*said, *warned(document.get("warnings", ())))]


def _show_document(path: Path, document: dict[str, Any], shown: Sequence[blocks.Block]) -> None:
    first, *others = shown
    title = blocks.Text(f"{path}: {first.text}") if isinstance(first, blocks.Text) else first
    show_result(document | {"command": "show"}, [title, *others])


def _show_speeds(path: Path, *, plot: Path | None, held_out: Path | None) -> None:
    """Points, assumptions, warnings; a picture and held-out points if asked for."""
    from simulator.calibration.bands import read_recorded_sizes

    found = calibration.load_speed_model(path)
    band, document = found.band, files.read_json(path)
    truth = None if held_out is None else read_recorded_sizes(held_out)
    if plot is not None:
        sampled = None if truth is None else (truth.sizes, truth.speeds(truth.sizes))
        simulator.plots.speed(band, found.points, held_out=sampled).save(plot)
    more = [] if truth is None else [f"held out: {truth.accuracy(band)}"]
    more += [] if plot is None else [f"picture written to {plot}"]
    _show_document(path, document, [*speed_blocks(document, band), lines(*more)])


def _show_shipped(output: Path | None) -> None:
    listed = shipped.scenarios()
    copied = [] if output is None else shipped.copy_all(output)
    entries = [{"name": s.name, "file": s.file, "path": str(s.path), "title": s.title} for s in listed]
    if gave_json({"scenarios": entries, "files": list(shipped.names())}):
        return
    wide = max(len(scenario.name) for scenario in listed) + 2
    for scenario in listed:
        print(f"{scenario.name:<{wide}}{textwrap.shorten(scenario.title, width() - wide, placeholder=' ...')}")
    if output is not None:
        print(f"{len(copied)} files copied to {output}")


def _show_trace(path: Path, plot: Path | None, column: str | None) -> None:
    """As text or into a picture, with mean and spread."""
    from simulator.load_traces import text_chart, trace_column

    found, name = simulator.read_trace(path, column=column), column or trace_column(path)
    if plot is not None:
        simulator.plots.load(found, rule="given" if name == "available" else "fair").save(plot)
    about = {"picture": None if plot is None else str(plot)}
    if gave_json(about | trace_facts(path, found, name)):
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
    found = stream_facts(simulator.read_stream(path, cleaning="none"))
    show_result({**found, "log": str(path)}, stream_blocks(found))


def _answered(path: Path) -> tuple[Path, dict[str, Any]] | None:
    """What a command answered, as a file or in a folder, and its file; None for anything else."""
    from advisor.results import ANSWER_FILES

    if not (path.is_dir() or path.is_file()):
        return None
    folder = path if path.is_dir() else path.parent if path.name == MANIFEST else None
    try:
        place = path if folder is None else folder / MANIFEST
        document = files.read_json(place, limit_bytes=MOST_BYTES)
        name = ANSWER_FILES.get(str(document.get("command"))) if isinstance(document, dict) else None
        if folder is not None and name not in {None, MANIFEST}:
            place = folder / str(name)
            document = files.read_json(place, limit_bytes=MOST_BYTES)
    except ApportionError:
        return None  # what reads models and results says what is wrong
    return None if name is None else (place, document)


def _show_answer(path: Path, document: dict[str, Any]) -> None:
    """What the page of the document says first."""
    from advisor.report.pages import page_of, read_answer

    if document["command"] == "advise" and "estimate_s" in document:  # of numbers of processes, by runs of a program
        from advisor.advise.process_counts.answer import FORMAT, ProcessCountAdvice, render_choice

        advice = documents.read_format(ProcessCountAdvice, document, path, newest=FORMAT, writer="apportion advise")
        show_result(document | {"command": "show", "shown": "advise"}, f"{render_choice(advice)}\n")
        return
    answer = read_answer(document, path)
    page = page_of(answer)
    said: list[blocks.Block] = [
        blocks.Text(page.title),
        blocks.Text(page.answer),
        page.facts,
        lines(*warned(page.warnings)),
    ]
    show_result(document | {"command": "show", "shown": document["command"]}, said)


def _show_results(path: Path) -> None:
    """What a folder holds, or an answer says."""
    if (found := _answered(path)) is not None:
        _show_answer(*found)
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
    if gave_json({"manifest": dict(results.manifest), "rows": rows}):
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
