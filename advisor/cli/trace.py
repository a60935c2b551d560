"""`apportion lab trace | generate`: load traces studied; load traces, and streams of jobs, drawn from a model."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import simulator
from advisor.cli.declared import argument, only_without, option
from advisor.cli.inputs import INPUT
from advisor.cli.models import lines, warned
from advisor.cli.options import COLUMN, LENGTH
from advisor.cli.outputs import show
from simulator import ScenarioError, blocks, models, units

FEW_WINDOWS = 5
"""Futures that do not overlap, below which a study says that they are few."""


@dataclass(frozen=True)
class Windows:
    """Which windows are looked at, and what is made of them."""

    window: Annotated[str, LENGTH]
    history: str | None = option("Latest samples that count, or durations; all by default.", metavar="H1,H2,...")
    study: bool = option("How often later loads stayed within the bounds, for each --history.")
    ideal: str | None = option("Run times on an idle PE, such as 10s,1min: predict theirs.", only_without("study"))


def trace(
    windows: Windows,
    path: Path = argument("A load trace (traces/README.md).", metavar="TRACE.csv", **INPUT),
    column: Annotated[str | None, COLUMN] = None,
    resample: str | None = option("Make equal steps of this length first, such as 1s."),
) -> None:
    """Least and greatest mean load seen over every window length, what they predict for runs, and whether they held.

    Example: apportion lab trace load.csv --window 60s --history 2min,4min,16min --study
    """
    from simulator.load_traces import in_samples, predicted_runs, regular_load

    found, step_s = regular_load(path, column, resample)
    width = in_samples(windows.window, step_s, field="--window")
    histories, ideal = windows.history.split(",") if windows.history else (), windows.ideal
    lengths = [in_samples(text, step_s, field="--history") for text in histories]
    if windows.study:
        if not lengths:
            raise ScenarioError("--study needs --history, such as 2min,4min; give it")
        _study(found, lengths, step_s, width)
        return
    if len(lengths) > 1:
        raise ScenarioError(f"--history is {windows.history!r}; give one length, or add --study")
    length = lengths[0] if lengths else found.values.size
    curves = models.build_load_functions(found, window=width, history=length)
    ideals = [units.parse_duration(text, field="--ideal") for text in ideal.split(",")] if ideal else []
    asked = {"step_s": step_s, "window": width, "history": length}
    runs, columns = predicted_runs(curves, ideals), ("t_s", "l_min", "l_max")
    document = asked | {name: getattr(curves, name).tolist() for name in columns} | {"runs": runs}
    show(document, _bounds(curves, runs))


def _bounds(curves: "models.LoadFunctions", runs: Sequence[Mapping[str, float | None]]) -> list[blocks.Block]:
    shown = sorted({0, *(curves.t_s.size * part // 10 - 1 for part in range(1, 11))} - {-1})
    rows = [(f"{curves.t_s[row]:g} s", f"{curves.l_min[row]:.4f}", f"{curves.l_max[row]:.4f}") for row in shown]
    ends = [[_ends(run[name]) for name in ("ideal_s", "time_min_s", "time_max_s")] for run in runs]
    return [
        blocks.table("", ("window", "l_min", "l_max"), rows, text_columns=0),
        blocks.table("", ("on an idle PE", "least load", "greatest"), ends, text_columns=0),
    ]


def _ends(run_s: float | None) -> str:
    return "never ends" if run_s is None else f"{run_s:.4g} s"


def _study(found: "simulator.LoadTrace", lengths: list[int], step_s: float, width: int) -> None:
    from simulator.load_traces import load_study

    rows = load_study(found, lengths, window=width)
    about = {"step_s": step_s, "window": width}
    cells = [
        (
            f"{row.history * step_s:g} s",
            *(f"{part:.1%}" for part in (row.hit_ratio, row.hit_ratio_at_window)),
            f"{row.area_s:.4g} s",
            f"{row.width:.4f}",
            str(row.instants),
        )
        for row in rows
    ]
    fewest, few = min(row.windows for row in rows), []
    if fewest < FEW_WINDOWS:
        counted = "one window" if fewest == 1 else f"{fewest} windows that do not overlap"
        few = [f"the forecasts look at {counted} only: shares of so few say little; record for longer"]
    table = blocks.table(
        "", ("history", "hit ratio", "at window", "area", "distance", "forecasts"), cells, text_columns=0
    )
    show(about | {"rows": [row.to_dict() for row in rows]}, [table, lines(*warned(few))])
