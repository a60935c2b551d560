"""`apportion lab trace | generate`: load traces studied; load traces, and streams of jobs, drawn from a model."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

import simulator
from advisor.cli.declared import only_with, only_without, option
from advisor.cli.inputs import INPUT
from advisor.cli.options import COLUMN, LENGTH, Plot, gave_json, print_warnings
from simulator import ScenarioError, models, units

FEW_WINDOWS = 5
"""Futures that do not overlap, below which a study says that they are few."""


@dataclass(frozen=True)
class Windows:
    """Which windows are looked at, and what is made of them."""

    window: Annotated[str, LENGTH]
    history: str | None = option("Latest samples that count, or durations; all by default.", metavar="H1,H2,...")
    study: bool = option("How often later loads stayed within the bounds, for each --history.")
    every: int | None = option("Samples between two forecasts; a window's 60th by default.", only_with("study"), min=1)
    ideal: str | None = option("Run times on an idle PE, such as 10s,1min: predict theirs.", only_without("study"))


def trace(
    path: Annotated[Path, typer.Argument(metavar="TRACE.csv", help="A load trace (traces/README.md).", **INPUT)],
    windows: Windows,
    column: Annotated[str | None, COLUMN] = None,
    resample: str | None = option("Make equal steps of this length first, such as 1s."),
    plot: Plot = None,
) -> None:
    """Least and greatest mean load seen over every window length, what they predict for runs, and whether they held.

    Example: apportion lab trace load.csv --window 60s --history 2min,4min,16min --study --plot study.png
    """
    from simulator.load_traces import in_samples, regular_load

    found, step_s = regular_load(path, column, resample)
    width = in_samples(windows.window, step_s, field="--window")
    histories, ideal = windows.history.split(",") if windows.history else (), windows.ideal
    lengths = [in_samples(text, step_s, field="--history") for text in histories]
    if windows.study:
        if not lengths:
            raise ScenarioError("--study needs --history, such as 2min,4min; give it")
        _study(found, lengths, step_s, width, windows.every, plot)
        return
    if len(lengths) > 1:
        raise ScenarioError(f"--history is {windows.history!r}; give one length, or add --study")
    length = lengths[0] if lengths else found.values.size
    curves = models.build_load_functions(found, window=width, history=length)
    ideals = [units.parse_duration(text, field="--ideal") for text in ideal.split(",")] if ideal else []
    _bounds(curves, ideals, {"step_s": step_s, "window": width, "history": length}, plot)


def _bounds(curves: "models.LoadFunctions", ideals: list[float], asked: dict[str, Any], plot: Path | None) -> None:
    from simulator.load_traces import predicted_runs

    runs = predicted_runs(curves, ideals)
    if plot is not None:
        simulator.plots.load_functions(curves).save(plot)
    columns = {name: getattr(curves, name).tolist() for name in ("t_s", "l_min", "l_max")}
    if gave_json({"format": 1, "command": "lab trace"} | asked | columns | {"runs": runs}):
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
) -> None:
    from simulator.load_traces import load_study

    rows = load_study(found, lengths, window=width, every=every)
    if plot is not None:
        simulator.plots.load_study(rows, step_s=step_s).save(plot)
    about = {"format": 1, "command": "lab trace", "step_s": step_s, "window": width}
    if gave_json(about | {"rows": [row.to_dict() for row in rows]}):
        return
    print(f"{'history':>10}{'hit ratio':>12}{'at window':>12}{'area':>14}{'distance':>12}{'forecasts':>12}")
    for row in rows:
        hits = f"{row.hit_ratio:>12.1%}{row.hit_ratio_at_window:>12.1%}"
        print(f"{row.history * step_s:>8g} s{hits}{row.area_s:>12.4g} s{row.width:>12.4f}{row.instants:>12}")
    fewest = min(row.windows for row in rows)
    if fewest < FEW_WINDOWS:
        counted = "one window" if fewest == 1 else f"{fewest} windows that do not overlap"
        print_warnings([f"the forecasts look at {counted} only: shares of so few say little; record for longer"])
