"""One speed model: its band, its measured cuts and held-out points, written to one file."""

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simulator.base import files
from simulator.base.errors import ScenarioError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from simulator.models.speed import Floats, SpeedBand

FORMATS = ("png", "svg", "pdf")


def plot_speed_model(
    band: "SpeedBand",
    points: Sequence[Mapping[str, Any]],
    path: str | Path,
    *,
    held_out: "tuple[Floats, Floats] | None" = None,
) -> None:
    """Draw speed over problem size: the band, its cuts as bars, held-out points as crosses.

    Parameters
    ----------
    band
        Volume per second over elements.
    points
        Measured points: `size_elements` and `speed` with `low`, `mid`, `high`.
    held_out
        Sizes and speeds that no builder saw.

    Raises
    ------
    ScenarioError
        If the file's ending is none of `FORMATS`.
    """
    path = Path(path)
    kind = figure_kind(path)
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 4.5), layout="constrained")
    axes = figure.subplots()
    draw_band(axes, band, points, held_out=held_out)
    axes.set(xlabel="problem size in elements", ylabel="volume per second", xscale="log", ylim=(0, None))
    axes.legend()
    save(figure, path, kind)


def draw_band(
    axes: "Axes",
    band: "SpeedBand",
    points: Sequence[Mapping[str, Any]],
    *,
    held_out: "tuple[Floats, Floats] | None" = None,
) -> None:
    """A band, its cuts and held-out points on given axes; see `plot_speed_model`."""
    import numpy as np

    sizes = np.union1d(
        band.sizes, np.geomspace(band.sizes[0], band.sizes[-1], 400)
    )  # straight lines bend on a log axis
    low, mid, high = (band.speed(sizes, position=position) for position in (0.0, 0.5, 1.0))
    axes.fill_between(sizes, low, high, alpha=0.2, lw=0, label="band")
    axes.plot(sizes, mid, lw=1)
    for k, point in enumerate(points):
        low, high = point["speed"]["low"], point["speed"]["high"]
        axes.plot([point["size_elements"]] * 2, [low, high], color="C0", lw=2, label="cuts" if k == 0 else None)
    if held_out is not None:
        axes.plot(*held_out, "x", color="C1", ms=4, label="held out")


def figure_kind(path: Path) -> str:
    """The format that a file's ending asks for.

    Raises
    ------
    ScenarioError
        If it is none of `FORMATS`.
    """
    kind = path.suffix.lstrip(".").lower()
    if kind not in FORMATS:
        raise ScenarioError(f"{path} ends in {path.suffix!r}; name a file that ends in {', '.join(FORMATS)}")
    return kind


def save(figure: "Figure", path: Path, kind: str) -> None:
    """Write a figure, whole or not at all."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    FigureCanvasAgg(figure)
    out = io.BytesIO()
    figure.savefig(out, format=kind, metadata={"Date": None} if kind == "svg" else None)
    files.write_bytes(path, out.getvalue())
