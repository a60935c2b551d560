"""Outcomes: predicted makespans of the strategies, and predictions against real runs."""

import math
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from simulator.base import units
from simulator.results.plots.frame import INK, SERIES, Entry, drawing, label, legend, number, numbers, svg

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def baselines_svg(
    baselines: Sequence[Entry],
    recommended: str | None,
    *,
    mark: str = "recommended",
    level: float = 0.9,
    name: str = "baselines",
) -> str:
    """Draw each strategy's predicted makespan: the mean, its interval, and where one run lies.

    Parameters
    ----------
    baselines
        One entry per strategy: `name`, `predicted_makespan_s` with `mean`, `low`, `high`, `run_low`, `run_high`.
    recommended
        The name to emphasise.
    mark
        What the emphasised one is.
    level
        How often the intervals hold.
    name
        Begins the ids of the figure.
    """
    rows = [entry for entry in baselines if number(_predicted(entry).get("mean")) is not None]
    if not rows:
        return ""
    largest = max(number(_predicted(entry).get("mean")) or 0.0 for entry in rows)
    decimals = min(9, max(0, 2 - math.floor(math.log10(largest)))) if largest > 0 else 0
    told = []
    with drawing(height_in=1.05 + 0.42 * len(rows)) as figure:
        axes = figure.subplots()
        for row, entry in enumerate(rows):
            best = entry.get("name") == recommended
            how = partial(_draw_prediction, axes, _predicted(entry), decimals=decimals, level=f"{100 * level:.4g} %")
            mean = how(row=row, mark=mark if best else "")
            told.append(f"{label(entry.get('name'))}{f' ({mark})' if best else ''} {mean}")
        axes.set_yticks(range(len(rows)), [label(entry.get("name")) for entry in rows])
        for tick, entry in zip(axes.get_yticklabels(), rows, strict=True):
            tick.set_fontweight("bold" if entry.get("name") == recommended else "normal")
        axes.tick_params(axis="y", length=0)
        axes.set(ylim=(len(rows) - 0.5, -0.6), xlim=(0, axes.get_xlim()[1] * 1.04))
        axes.set_xlabel("predicted makespan in s")
        axes.grid(axis="x")
        legend(figure, [axes])
        title, description = "Predicted makespan of each strategy", "mean makespan: " + "; ".join(told)
        return svg(figure, name=name, title=title, description=description)


def verification_svg(verification: Sequence[Entry], *, name: str = "verification") -> str:
    """Draw predicted against measured: the predicted median and range above, every measured repetition below.

    Parameters
    ----------
    verification
        One entry per configuration that was run: `name`, `predicted_s`, `predicted_range_s`, `measured_s`,
        `measured_median_s`.
    name
        Begins the ids of the figure.
    """
    rows = [entry for entry in verification if numbers([entry.get("predicted_s"), *(entry.get("measured_s") or ())])]
    if not rows:
        return ""
    with drawing(height_in=1.05 + 0.66 * len(rows)) as figure:
        axes = figure.subplots()
        for row, entry in enumerate(rows):
            _draw_predicted(axes, entry, row=row)
            _draw_measured(axes, entry, row=row)
        axes.set_yticks(range(len(rows)), [label(entry.get("name")) for entry in rows])
        axes.tick_params(axis="y", length=0)
        axes.set_ylim(len(rows) - 0.5, -0.5)
        axes.set_xlabel("makespan in s (axis does not begin at 0)")
        axes.grid(axis="x")
        legend(figure, [axes])
        title = "Predicted against measured makespan"
        return svg(figure, name=name, title=title, description="; ".join(_tell(entry) for entry in rows))


def _predicted(entry: Entry) -> Any:
    return entry.get("predicted_makespan_s") or {}


def _draw_prediction(axes: "Axes", predicted: Entry, *, row: int, mark: str, decimals: int, level: str) -> str:
    """A row of the baselines; returns its mean as it is written there."""
    best = bool(mark)
    colour = SERIES[1] if best else SERIES[0]
    mean = number(predicted.get("mean")) or 0.0
    spread = numbers([predicted.get("run_low"), predicted.get("run_high")])
    interval = numbers([predicted.get("low"), predicted.get("high")])
    if len(interval) == 2:
        text = _own(f"{level} interval of the mean", best=best)
        axes.plot(interval, [row, row], color=colour, lw=13, alpha=0.35, solid_capstyle="butt", label=text)
    if len(spread) == 2:
        text = _own(f"{level} of runs", best=best)
        axes.plot(spread, [row, row], color=colour, lw=1.4, marker="|", ms=7, label=text)
    text = mark or "mean"
    axes.plot(mean, row, color=colour, ls="", marker="D" if best else "o", ms=5, label=text)
    written = f"{mean:.{decimals}f} s"
    axes.annotate(
        written,
        (max([mean, *spread, *interval]), row),
        xytext=(8, -4),
        textcoords="offset points",
        fontweight="bold" if best else "normal",
        annotation_clip=False,
    )
    return written


def _own(text: str, *, best: bool) -> str | None:
    """A label once for all rows: the recommended one explains itself by its mark."""
    return None if best else text


def _draw_predicted(axes: "Axes", entry: Entry, *, row: int) -> None:
    span = numbers(entry.get("predicted_range_s"))
    if len(span) == 2:
        axes.plot(span, [row - 0.2] * 2, color=SERIES[0], lw=1.4, marker="|", ms=7, label="predicted, 90 % of runs")
    if (predicted := number(entry.get("predicted_s"))) is not None:
        axes.plot(predicted, row - 0.2, color=SERIES[0], ls="", marker="D", ms=6.5, label="predicted median")


def _draw_measured(axes: "Axes", entry: Entry, *, row: int) -> None:
    """Every repetition, neighbours on three heights so that none hides another, and their median."""
    measured = sorted(numbers(entry.get("measured_s")))
    if (median := number(entry.get("measured_median_s"))) is not None:
        axes.plot([median] * 2, [row + 0.05, row + 0.41], color=INK, lw=1.8, label="measured median")
    if measured:
        heights = [row + 0.16 + 0.07 * (index % 3) for index in range(len(measured))]
        axes.plot(measured, heights, color=SERIES[1], ls="", marker="o", ms=5, mfc="none", label="measured run")


def _tell(entry: Entry) -> str:
    parts = [
        f"{what} {units.show_duration(value)}"
        for what, key in (("predicted median", "predicted_s"), ("measured median", "measured_median_s"))
        if (value := number(entry.get(key))) is not None
    ]
    count = len(numbers(entry.get("measured_s")))
    return f"{label(entry.get('name'))}: {', '.join([*parts, f'{count} measured runs'])}"
