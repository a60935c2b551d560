"""`apportion trace ...`: import, generate, show and study load traces."""

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import simulator
from advisor.cli.declared import Given, Only, only_with
from advisor.cli.options import LENGTH, Json, Plot, Seed, file, offered, print_json, print_warnings
from advisor.cli.scenarios import INPUT
from simulator import files, models, units

if TYPE_CHECKING:
    from simulator.load_traces import FitReport

TraceFile = Annotated[Path, typer.Argument(metavar="TRACE.csv", help="A load trace (traces/README.md).", **INPUT)]
Output = Annotated[Path, file("TRACE.csv", "the load trace")]
OldPicture = Annotated[Path | None, typer.Option("--output", "-o", hidden=True)]
"""How a picture was asked for before `--plot`."""
Column = Annotated[str | None, typer.Option(help="Column to read, where the file has several.")]
Resample = Annotated[str | None, typer.Option(help="Make equal steps of this length first, such as 1s.")]
_BUSY = "with a busy share"
_NOT_BUSY = "with a load or an availability"
_MEASURES = {
    **dict.fromkeys(("busy", "busy-percent", "bitbrains", "google", "swf"), _BUSY),
    **dict.fromkeys(("load", "available", "available-percent", "simgrid", "dinda"), _NOT_BUSY),
}
"""What a source measures, by its kind or as it is said to."""


def _measured(given: Given) -> str | None:
    """What a source measures, where it is known before the source is read."""
    return _MEASURES.get(given["from"]) or _MEASURES.get(given["measures"])


def _drawn(given: Given, *, but: str) -> str | None:
    """The kind of generator for which an option has no effect."""
    return f"with {but}" if given["kind"] == but else None


FEW_WINDOWS = 5
"""Futures that do not overlap, below which a study says that they are few."""


Kind = Annotated[
    str,
    typer.Option(
        "--from",
        help="csv, sadf, collectl, prometheus, simgrid, dinda, bitbrains, google or swf.",
        autocompletion=offered(
            "csv", "sadf", "collectl", "prometheus", "simgrid", "dinda", "bitbrains", "google", "swf"
        ),
    ),
]
Measures = Annotated[
    str | None,
    typer.Option(help="load, busy, busy-percent, available or available-percent."),
    only_with("from", "csv", "sadf", "collectl", "prometheus"),
]
CoresOption = Annotated[
    int,
    typer.Option(min=1, help="Cores of the PE that the trace is for."),
    Only(("with a busy share",), _measured, why="which does not hang on the number of cores"),
]
TimeColumn = Annotated[
    str | None,
    typer.Option(help="Column of the times: numbers, or dates, UTC where without a zone."),
    only_with("from", "csv"),
]
ValueColumn = Annotated[
    str | None,
    typer.Option(help="Column of the values."),
    only_with("from", "csv", "sadf", "collectl"),
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


def import_file(  # noqa: PLR0913, PLR0917 - one option per thing that a source may leave open
    source: Annotated[Path, typer.Argument(metavar="FILE", help="The foreign file.", **INPUT)],
    output: Output,
    kind: Kind,
    measures: Measures = None,
    cores: CoresOption = 1,
    time_column: TimeColumn = None,
    value_column: ValueColumn = None,
    time_unit: Annotated[str | None, typer.Option(help="s, ms or us."), only_with("from", "csv")] = None,
    cpu: Cpu = None,
    series: Series = None,
    processors: Processors = None,
    start: Start = None,
    duration: Duration = None,
    as_json: Json = False,
) -> None:
    """Turn foreign load data into a load trace; what a source measures is stated by it or by you, never guessed.

    Example: apportion trace import --from sadf sar.txt -o load.csv --cpu 0
    """
    from simulator.load_traces import ImportOptions, import_trace, trace_text

    options = ImportOptions(
        measures=measures,  # type: ignore[arg-type]  # the importer says what it allows
        time_column=time_column,
        value_column=value_column,
        time_unit=time_unit,
        cpu=cpu,
        series=series,
        processors=processors,
        start_s=None if start is None else units.parse_duration(start, field="--start", positive=False),
        duration_s=None if duration is None else units.parse_duration(duration, field="--duration"),
    )
    found = import_trace(source, kind, options=options, cores=cores)
    comment = "\n".join([f"imported from {source.name} ({kind})", *found.notes])
    files.write_text(output, trace_text(found.trace, column=found.column, comment=comment))
    if as_json:
        print_json(_summary("trace import", output, found.trace, found.column) | {"notes": list(found.notes)})
        return
    print(f"{output}: {found.trace.values.size} rows, {found.trace.end_s:g} s, mean {found.trace.mean():.3f}")
    print("\n".join(f"  {note}" for note in found.notes))


def generate(
    kind: Annotated[str, typer.Argument(help="constant, on-off, ar1, diurnal or bootstrap.")],
    output: Output,
    duration: Annotated[str, typer.Option(help="Length of the trace, such as 1h.")] = "1h",
    interval: Annotated[
        str,
        typer.Option(help="Step of the trace."),
        Only(
            ("with constant, ar1, diurnal or bootstrap",),
            partial(_drawn, but="on-off"),
            why="whose changes lie at exact times",
        ),
    ] = "1s",
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="A parameter, such as mean_on=10s.")
    ] = None,
    recording: Annotated[
        Path | None,
        typer.Option("--fit", metavar="TRACE.csv", help="Estimate the parameters from a recording.", **INPUT),
    ] = None,
    seed: Annotated[
        Seed,
        Only(
            ("with on-off, ar1, diurnal or bootstrap",), partial(_drawn, but="constant"), why="where nothing is drawn"
        ),
    ] = 0,
    as_json: Json = False,
) -> None:
    """Draw a load trace from a model, its parameters given or fitted to a recording; on-off changes at exact times.

    Example: apportion trace generate on-off --set load=1 --set mean_on=10s --set mean_off=30s --duration 1h -o load.csv
    """
    from simulator.load_traces import chosen_generator, fit_document, trace_text

    found: dict[str, str] = {}
    for name, _, value in (text.partition("=") for text in settings or ()):
        simulator.given.check_once(name, found, where="--set")
        found[name] = value
    model, report = chosen_generator(kind, found, recording, seed)
    step_s = units.parse_duration(interval, field="--interval")
    drawn = model.draw(
        units.parse_duration(duration, field="--duration"), step_s, simulator.randomness.stream(seed, "generate", kind)
    )
    described = _parameters(model)
    comment = f"generated: {kind}, seed {seed}, " + ", ".join(f"{name} {value}" for name, value in described.items())
    files.write_text(output, trace_text(drawn, comment=comment))
    if as_json:
        fitted = None if report is None else fit_document(report)
        print_json(
            _summary("trace generate", output, drawn, "load") | {"seed": seed, "parameters": described, "fit": fitted}
        )
        return
    print(f"{output}: {drawn.values.size} rows, {drawn.end_s:g} s, mean {drawn.mean():.3f}")
    print("  " + ", ".join(f"{name} {value}" for name, value in described.items()))
    if report is not None:
        _print_fit(report)


def show(
    trace: TraceFile, plot: Plot = None, output: OldPicture = None, column: Column = None, as_json: Json = False
) -> None:
    """Draw a load trace, as text or into a picture, with its mean and spread.

    Example: apportion trace show load.csv --plot load.png
    """
    from simulator.load_traces import text_chart, trace_column

    found = simulator.read_trace(trace, column=column)
    name = column or trace_column(trace)
    picture = _picture(plot, output)
    if picture is not None:
        simulator.plots.load(found, rule="given" if name == "available" else "fair").save(picture)
    if as_json:
        print_json(_summary("trace show", trace, found, name) | {"picture": None if picture is None else str(picture)})
        return
    print(f"{trace}: {name}, {found.values.size} rows, {found.end_s:g} s")
    print(text_chart(found))
    print(f"mean {found.mean():.4g}, least {found.values.min():.4g}, greatest {found.values.max():.4g}")


def _picture(plot: Path | None, output: Path | None) -> Path | None:
    """Where to draw; what `-o` names is drawn too, and the new spelling said."""
    if output is not None:
        print(f"note: write --plot {output} for a picture; -o is for what a command writes", file=sys.stderr)
    return output if plot is None else plot


def functions(  # noqa: PLR0913, PLR0917 - one per option
    trace: TraceFile,
    window: Annotated[str, LENGTH],
    history: Annotated[
        str | None, typer.Option(help="Latest samples that count, or a duration; all by default.")
    ] = None,
    ideal: Annotated[
        str | None, typer.Option(help="Run times on an idle PE, such as 10s,1min: predict theirs.")
    ] = None,
    column: Column = None,
    resample: Resample = None,
    plot: Plot = None,
    output: OldPicture = None,
    as_json: Json = False,
) -> None:
    """Least and greatest mean load seen over every window length, and what they predict for runs.

    Example: apportion trace functions load.csv --window 60 --history 240 --ideal 10s
    """
    from simulator.load_traces import in_samples, predicted_runs, regular_load

    found, step_s = regular_load(trace, column, resample)
    width = in_samples(window, step_s, field="--window")
    length = found.values.size if history is None else in_samples(history, step_s, field="--history")
    curves = models.build_load_functions(found, window=width, history=length)
    ideals = [units.parse_duration(text, field="--ideal") for text in ideal.split(",")] if ideal else []
    runs = predicted_runs(curves, ideals)
    picture = _picture(plot, output)
    if picture is not None:
        simulator.plots.load_functions(curves).save(picture)
    if as_json:
        print_json(
            {"format": 1, "command": "trace functions", "step_s": step_s, "window": width, "history": length}
            | {name: getattr(curves, name).tolist() for name in ("t_s", "l_min", "l_max")}
            | {"runs": runs}
        )
        return
    _print_functions(curves, runs)


def _print_functions(curves: "models.LoadFunctions", runs: list[dict[str, float | None]]) -> None:
    print(f"{'window':>12}{'l_min':>12}{'l_max':>12}")
    for index in sorted({0, *(curves.t_s.size * part // 10 - 1 for part in range(1, 11))} - {-1}):
        print(f"{curves.t_s[index]:>10g} s{curves.l_min[index]:>12.4f}{curves.l_max[index]:>12.4f}")
    for run in runs:
        longest = "never ends" if run["time_max_s"] is None else f"{run['time_max_s']:.4g} s"
        shortest = "never ends" if run["time_min_s"] is None else f"{run['time_min_s']:.4g} s"
        print(f"{run['ideal_s']:g} s on an idle PE: {shortest} under the least load, {longest} under the greatest")


def study(  # noqa: PLR0913, PLR0917 - one per option
    trace: TraceFile,
    window: Annotated[str, LENGTH],
    history: Annotated[str, typer.Option(metavar="H1,H2,...", help="History lengths, in samples or durations.")],
    every: Annotated[int | None, typer.Option(min=1, help="Samples between two forecasts; a window's 60th.")] = None,
    column: Column = None,
    resample: Resample = None,
    plot: Plot = None,
    output: OldPicture = None,
    as_json: Json = False,
) -> None:
    """How often later loads stay within the load functions, and how far these lie apart, per history length.

    Example: apportion trace study load.csv --window 60s --history 2min,4min,16min --plot study.png
    """
    from simulator.load_traces import in_samples, load_study, regular_load

    found, step_s = regular_load(trace, column, resample)
    width = in_samples(window, step_s, field="--window")
    lengths = [in_samples(text, step_s, field="--history") for text in history.split(",")]
    rows = load_study(found, lengths, window=width, every=every)
    picture = _picture(plot, output)
    if picture is not None:
        simulator.plots.load_study(rows, step_s=step_s).save(picture)
    if as_json:
        print_json(
            {"format": 1, "command": "trace study", "step_s": step_s, "window": width}
            | {"rows": [row.to_dict() for row in rows]}
        )
        return
    print(f"{'history':>10}{'hit ratio':>12}{'at window':>12}{'area':>14}{'distance':>12}{'forecasts':>12}")
    for row in rows:
        hits = f"{row.hit_ratio:>12.1%}{row.hit_ratio_at_window:>12.1%}"
        print(f"{row.history * step_s:>8g} s{hits}{row.area_s:>12.4g} s{row.width:>12.4f}{row.instants:>12}")
    fewest = min(row.windows for row in rows)
    if fewest < FEW_WINDOWS:
        counted = "one window" if fewest == 1 else f"{fewest} windows that do not overlap"
        print_warnings([f"the forecasts look at {counted} only: shares of so few say little; record for longer"])


def _summary(command: str, path: Path, trace: "simulator.LoadTrace", column: str) -> dict[str, Any]:
    return {
        "format": 1,
        "command": command,
        "trace": str(path),
        "column": column,
        "rows": int(trace.values.size),
        "duration_s": trace.end_s,
        "mean": trace.mean(),
        "least": float(trace.values.min()),
        "greatest": float(trace.values.max()),
    }


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
