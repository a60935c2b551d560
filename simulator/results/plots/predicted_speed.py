"""Measured speed of a kernel beside what a memory model foretells, across the edges of memory levels."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simulator.base import units
from simulator.results.plots.frame import INK, PAPER, SERIES, drawing, label, legend, svg
from simulator.results.plots.speed_model import draw_band, figure_kind, save

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from simulator.models.predicted_speed_check import SpeedForetold


def plot_predicted_speed(found: "SpeedForetold", path: str | Path) -> None:
    """Draw the measured band, its points, and both predictions, with the edges of levels, to a file.

    Raises
    ------
    ScenarioError
        If the file's ending is none of png, svg and pdf.
    """
    path = Path(path)
    kind = figure_kind(path)
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 4.5), layout="constrained")
    axes = figure.subplots()
    draw_band(axes, found.band, ())
    _draw(axes, found)
    axes.set_title(_title(found))
    axes.legend()
    save(figure, path, kind)


def predicted_speeds_svg(all_found: "Sequence[SpeedForetold]", *, name: str = "predicted") -> str:
    """Draw one panel per kernel as an inline figure of a page; the empty string for none."""
    if not all_found:
        return ""
    with drawing(height_in=0.6 + 2.6 * len(all_found)) as figure:
        grid = figure.subplots(len(all_found), 1, squeeze=False)[:, 0]
        for axes, found in zip(grid, all_found, strict=True):
            axes.fill_between(found.band.sizes, found.band.low, found.band.high, color=SERIES[0], alpha=0.2, lw=0)
            _draw(axes, found, colours=SERIES)
            axes.set_title(label(_title(found)))
        legend(figure, grid)
        description = "; ".join(_title(found) for found in all_found)
        return svg(figure, name=name, title="Predicted and measured speed", description=description)


def _title(found: "SpeedForetold") -> str:
    return f"{found.kernel}: mean error {found.errors(found.by_model).mean():.1%}"


def _draw(axes: "Axes", found: "SpeedForetold", *, colours: Sequence[str] = ("C0", "C1", "C2")) -> None:
    """Points, predictions, the reference and the edges of levels."""
    lines: dict[str, dict[str, Any]] = {
        "predicted by the memory model": {"y": found.by_model, "color": colours[1], "ls": "-"},
        "by its levels alone": {"y": found.by_levels, "color": colours[2], "ls": "--"},
    }
    axes.plot(found.sizes, found.measured, "o", color=colours[0], ms=4, label="measured")
    for text, line in lines.items():
        axes.plot(found.sizes, line.pop("y"), lw=1.5, label=text, **line)
    at = found.sizes[found.reference], found.measured[found.reference]
    axes.plot(*at, "o", color=colours[0], ms=9, mfc=PAPER, label="taken as known")
    axes.set(xlabel="problem size in elements", ylabel="volume per second", xscale="log", ylim=(0, None))
    left, right = axes.get_xlim()
    for level, edge in zip(found.levels, found.edges_elements.tolist(), strict=False):
        if left < edge < right:
            axes.axvline(edge, color=INK, alpha=0.5, lw=0.9, ls=(0, (1, 2)))
            text = f"{level.name} {units.show_size(level.capacity_bytes, 2)}"
            axes.annotate(
                text,
                (edge, 0),
                xycoords=("data", "axes fraction"),
                xytext=(3, 4),
                textcoords="offset points",
                fontsize=8,
            )
