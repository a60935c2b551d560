"""One kernel's speed bands by several builders, one below the other, each with its cuts and the held-out sweep."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simulator.results.plots.speed_model import draw_band, figure_kind, save

if TYPE_CHECKING:
    from simulator.models.speed import Floats, SpeedBand


def plot_builders(
    builders: "Mapping[str, tuple[SpeedBand, Sequence[Mapping[str, Any]]]]",
    path: Path,
    *,
    title: str,
    held_out: "tuple[Floats, Floats]",
) -> None:
    """Draw the bands over problem size, on the same axes' ranges.

    Parameters
    ----------
    builders
        Heading -> band and measured points (`size_elements` and `speed` with `low`, `mid`, `high`).
    held_out
        Sizes and speeds that no builder saw.

    Raises
    ------
    ScenarioError
        If the file's ending is none of `FORMATS`.
    """
    kind = figure_kind(path)
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 1 + 2.6 * len(builders)), layout="constrained")
    grid = figure.subplots(len(builders), 1, sharex=True, sharey=True, squeeze=False)[:, 0]
    for axes, (heading, (band, points)) in zip(grid, builders.items(), strict=True):
        draw_band(axes, band, points, held_out=held_out)
        axes.set_title(heading, loc="left", fontsize=10)
        axes.set(ylabel="volume per second", xscale="log", ylim=(0, None))
    grid[0].legend()
    grid[-1].set_xlabel("problem size in elements")
    figure.suptitle(title)
    save(figure, path, kind)
