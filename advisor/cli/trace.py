"""`apportion lab trace | generate`: load traces studied; load traces, and streams of jobs, drawn from a model."""

from pathlib import Path
from typing import Annotated, Any

import typer

import simulator
from advisor.cli.declared import only_with, only_without
from advisor.cli.inputs import INPUT
from advisor.cli.options import COLUMN, LENGTH, Json, Plot, print_json, print_warnings
from simulator import ScenarioError, models, units

FEW_WINDOWS = 5
"""Futures that do not overlap, below which a study says that they are few."""


def trace(  # noqa: PLR0913, PLR0917 - one per option
    path: Annotated[Path, typer.Argument(metavar="TRACE.csv", help="A load trace (traces/README.md).", **INPUT)],
    window: Annotated[str, LENGTH],
    history: Annotated[
        str | None,
        typer.Option(metavar="H1,H2,...", help="Latest samples that count, or durations; all by default."),
    ] = None,
    study: Annotated[
        bool, typer.Option("--study", help="How often later loads stayed within the bounds, for each --history.")
    ] = False,
    every: Annotated[
        int | None,
        typer.Option(min=1, help="Samples between two forecasts; a window's 60th by default."),
        only_with("study"),
    ] = None,
    ideal: Annotated[
        str | None,
        typer.Option(help="Run times on an idle PE, such as 10s,1min: predict theirs."),
        only_without("study"),
    ] = None,
    column: Annotated[str | None, COLUMN] = None,
    resample: Annotated[str | None, typer.Option(help="Make equal steps of this length first, such as 1s.")] = None,
    plot: Plot = None,
    as_json: Json = False,
) -> None:
    """Least and greatest mean load seen over every window length, what they predict for runs, and whether they held.

    Example: apportion lab trace load.csv --window 60s --history 2min,4min,16min --study --plot study.png
    """
    from simulator.load_traces import in_samples, regular_load

    found, step_s = regular_load(path, column, resample)
    width = in_samples(window, step_s, field="--window")
    lengths = [in_samples(text, step_s, field="--history") for text in history.split(",")] if history else []
    if study:
        if not lengths:
            raise ScenarioError("--study needs --history, such as 2min,4min; give it")
        _study(found, lengths, step_s, width, every, plot, as_json=as_json)
        return
    if len(lengths) > 1:
        raise ScenarioError(f"--history is {history!r}; give one length, or add --study")
    length = lengths[0] if lengths else found.values.size
    curves = models.build_load_functions(found, window=width, history=length)
    ideals = [units.parse_duration(text, field="--ideal") for text in ideal.split(",")] if ideal else []
    _bounds(curves, ideals, {"step_s": step_s, "window": width, "history": length}, plot, as_json=as_json)


def _bounds(
    curves: "models.LoadFunctions", ideals: list[float], asked: dict[str, Any], plot: Path | None, *, as_json: bool
) -> None:
    from simulator.load_traces import predicted_runs

    runs = predicted_runs(curves, ideals)
    if plot is not None:
        simulator.plots.load_functions(curves).save(plot)
    if as_json:
        columns = {name: getattr(curves, name).tolist() for name in ("t_s", "l_min", "l_max")}
        print_json({"format": 1, "command": "lab trace"} | asked | columns | {"runs": runs})
        return
    print(f"{'window':>12}{'l_min':>12}{'l_max':>12}")
    for index in sorted({0, *(curves.t_s.size * part // 10 - 1 for part in range(1, 11))} - {-1}):
        print(f"{curves.t_s[index]:>10g} s{curves.l_min[index]:>12.4f}{curves.l_max[index]:>12.4f}")
    for run in runs:
        longest = "never ends" if run["time_max_s"] is None else f"{run['time_max_s']:.4g} s"
        shortest = "never ends" if run["time_min_s"] is None else f"{run['time_min_s']:.4g} s"
        print(f"{run['ideal_s']:g} s on an idle PE: {shortest} under the least load, {longest} under the greatest")


def _study(
    found: "simulator.LoadTrace",
    lengths: list[int],
    step_s: float,
    width: int,
    every: int | None,
    plot: Path | None,
    *,
    as_json: bool,
) -> None:
    from simulator.load_traces import load_study

    rows = load_study(found, lengths, window=width, every=every)
    if plot is not None:
        simulator.plots.load_study(rows, step_s=step_s).save(plot)
    if as_json:
        about = {"format": 1, "command": "lab trace", "step_s": step_s, "window": width}
        print_json(about | {"rows": [row.to_dict() for row in rows]})
        return
    print(f"{'history':>10}{'hit ratio':>12}{'at window':>12}{'area':>14}{'distance':>12}{'forecasts':>12}")
    for row in rows:
        hits = f"{row.hit_ratio:>12.1%}{row.hit_ratio_at_window:>12.1%}"
        print(f"{row.history * step_s:>8g} s{hits}{row.area_s:>12.4g} s{row.width:>12.4f}{row.instants:>12}")
    fewest = min(row.windows for row in rows)
    if fewest < FEW_WINDOWS:
        counted = "one window" if fewest == 1 else f"{fewest} windows that do not overlap"
        print_warnings([f"the forecasts look at {counted} only: shares of so few say little; record for longer"])
