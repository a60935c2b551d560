"""Speed bands: how fast each kernel is on each PE, over problem size.

Also the speed that a memory model predicts across the edges of memory levels, and bands by several builders.

One speed model: its band, its measured cuts and held-out points, written to one file.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from simulator.base import units
from simulator.results.plots.frame import (
    INK,
    PAPER,
    SERIES,
    Entry,
    drawing,
    figure_kind,
    label,
    legend,
    number,
    on_axes,
    save,
    svg,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from simulator.models.predicted_speed_check import SpeedPrediction
    from simulator.models.speed import Floats, SpeedBand, SpeedSurface


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


def plot_speed(
    speed: "SpeedBand | SpeedSurface",
    points: Sequence[Mapping[str, Any]] = (),
    *,
    held_out: "tuple[Floats, Floats] | None" = None,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw speed over problem size: band, cuts and held-out points; of a surface, a band per number of columns.

    Parameters
    ----------
    points, held_out
        As of `plot_speed_model`.
    """
    bands: Any = getattr(speed, "bands", None) or (speed,)
    columns = [f"{count:g} columns" for count in getattr(speed, "columns", ())] or ["band"]
    shown = sorted({0, len(bands) // 2, len(bands) - 1})  # more bands lie upon each other
    largest = max(float(band.high.max()) for band in bands)
    scale, prefix = next((scale or 1.0, prefix) for scale, prefix in _SCALES if largest >= scale)
    with on_axes(ax, height_in=2.1) as axes:
        for place, number_of in enumerate(shown):
            _draw_printed(axes, bands[number_of], columns[number_of], place=place, scale=scale)
        for place, point in enumerate(points):
            low, high = (point["speed"][end] / scale for end in ("low", "high"))
            text = "cuts" if place == 0 else None
            axes.plot([point["size_elements"]] * 2, [low, high], color=INK, lw=2.4, label=text)
        if held_out is not None:
            axes.plot(held_out[0], held_out[1] / scale, "x", color=SERIES[2], ms=5, label="held out")
        axes.set(xlabel="problem size in elements", ylabel=f"speed in {prefix}units/s", xscale="log")
        axes.set_ylim(0, axes.get_ylim()[1])
        axes.grid(axis="y")
    return axes


def _draw_printed(axes: "Axes", band: "SpeedBand", text: str, *, place: int, scale: float) -> None:
    """A band with its middle as a line of a pattern of its own."""
    import numpy as np

    sizes = np.union1d(band.sizes, np.geomspace(band.sizes[0], band.sizes[-1], 400))
    if sizes.size == 1:  # the same speed at every size
        sizes = np.geomspace(sizes[0] / 10, sizes[0] * 10, 3)
    low, mid, high = (band.speed(sizes, position=position) / scale for position in (0.0, 0.5, 1.0))
    colour = SERIES[place % len(SERIES)]
    axes.fill_between(sizes, low, high, color=colour, alpha=0.25, lw=0)
    axes.plot(sizes, mid, color=colour, ls=_DASHES[place], lw=1.6, label=text)


def plot_kernel(
    kernels: Sequence[Entry], kernel: str | None = None, *, unit: str = "flop/s", ax: "Axes | None" = None
) -> "Axes":
    """Draw one kernel's speed over problem size on each PE; see `speed_bands_svg`.

    Parameters
    ----------
    kernel
        Its name; the first one by default.
    """
    curves = [curve for entry in kernels if (curve := _curve(entry)).points]
    chosen = kernel or (curves[0].kernel if curves else "")
    curves = [curve for curve in curves if curve.kernel == chosen]
    largest = max((point.high for curve in curves for point in curve.points), default=1.0)
    scale, prefix = next((scale or 1.0, prefix) for scale, prefix in _SCALES if largest >= scale)
    with on_axes(ax, height_in=2.1) as axes:
        for index, curve in enumerate(curves):
            _draw_curve(axes, curve, index=index, scale=scale)
        _finish(axes, title="")
        axes.set(xlabel="problem size in elements", ylabel=f"{chosen}, {prefix}{unit}")
    return axes


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


def plot_predicted_speed(found: "SpeedPrediction", path: str | Path) -> None:
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


def predicted_speeds_svg(all_found: "Sequence[SpeedPrediction]", *, name: str = "predicted") -> str:
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


def _title(found: "SpeedPrediction") -> str:
    return f"{found.kernel}: mean error {found.errors(found.by_model).mean():.1%}"


def _draw(axes: "Axes", found: "SpeedPrediction", *, colours: Sequence[str] = ("C0", "C1", "C2")) -> None:
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


_MARKERS: Final = ("o", "s", "^", "D", "v", "P")
_DASHES: Final = ("-", (0, (6, 2)), (0, (1, 1.5)), (0, (6, 2, 1, 2)), (0, (3, 1)), (0, (10, 3)))
_SCALES: Final = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (0.0, ""))


class _Point(NamedTuple):
    size: float
    low: float
    mid: float
    high: float
    stable: bool


class _Curve(NamedTuple):
    kernel: str
    pe: str
    points: list[_Point]


def speed_bands_svg(
    kernels: Sequence[Entry],
    *,
    caches: Sequence[Entry] = (),
    element_bytes: int = 8,
    unit: str = "flop/s",
    name: str = "speed",
) -> str:
    """Draw each kernel's speed over problem size: a band, a line through its middle, hollow marks where not stable.

    Parameters
    ----------
    kernels
        One entry per kernel and PE: `name`, `pe`, `points` with `size_elements`, `speed`, `stable`.
    caches
        Caches (`level`, `kind`, `size_bytes`) whose capacity is marked on the axis of size.
    element_bytes
        Bytes of one element, for that mark.
    unit
        Of the speeds.
    name
        Begins the ids of the figure.
    """
    curves = [curve for entry in kernels if (curve := _curve(entry)).points]
    if not curves:
        return ""
    panels = list(dict.fromkeys(curve.kernel for curve in curves))
    pes = list(dict.fromkeys(curve.pe for curve in curves))
    largest = max(point.high for curve in curves for point in curve.points)
    scale, prefix = next((scale or 1.0, prefix) for scale, prefix in _SCALES if largest >= scale)
    with drawing(height_in=0.6 + 2.2 * len(panels)) as figure:
        grid = figure.subplots(len(panels), 1, sharex=True, squeeze=False)[:, 0]
        for axes, kernel in zip(grid, panels, strict=True):
            for curve in curves:
                if curve.kernel == kernel:
                    _draw_curve(axes, curve, index=pes.index(curve.pe), scale=scale)
            _finish(axes, title=f"{kernel}, {prefix}{unit}")
            _mark_caches(axes, caches, element_bytes=element_bytes)
        grid[-1].set_xlabel("problem size in elements")
        legend(figure, grid)
        description = "; ".join(_tell(curve, unit) for curve in curves[:16])
        return svg(figure, name=name, title="Speed of each kernel by problem size", description=description)


def _curve(entry: Entry) -> _Curve:
    """One kernel on one PE, its drawable points by size."""
    points = []
    for point in entry.get("points") or ():
        speed = point.get("speed") or {}
        size, mid = number(point.get("size_elements")), number(speed.get("mid"))
        if size is not None and size > 0 and mid is not None and mid >= 0:
            low, high = number(speed.get("low")), number(speed.get("high"))
            low, high = mid if low is None else low, mid if high is None else high
            points.append(_Point(size, low, mid, high, bool(point.get("stable", True))))
    return _Curve(label(entry.get("name")), label(entry.get("pe")), sorted(points))


def _draw_curve(axes: "Axes", curve: _Curve, *, index: int, scale: float) -> None:
    """A band and its middle; PEs beyond the colours are thin and alike."""
    sizes = [point.size for point in curve.points]
    low, mid, high = ([getattr(point, side) / scale for point in curve.points] for side in ("low", "mid", "high"))
    if index >= len(SERIES):
        axes.plot(sizes, mid, color=INK, alpha=0.4, lw=0.8, label="more PEs")
        return
    colour, marker = SERIES[index], _MARKERS[index]
    axes.fill_between(sizes, low, high, color=colour, alpha=0.2, lw=0)
    axes.plot(sizes, mid, color=colour, ls=_DASHES[index], lw=1.6, marker=marker, ms=5, label=curve.pe)
    shaky = [(point.size, point.mid / scale) for point in curve.points if not point.stable]
    if shaky:
        axes.plot(*zip(*shaky, strict=True), color=colour, ls="", marker=marker, ms=5, mfc=PAPER)


def _finish(axes: "Axes", *, title: str) -> None:
    from matplotlib.ticker import EngFormatter, NullFormatter

    axes.set_title(title)
    axes.set_xscale("log")
    axes.set_ylim(0, axes.get_ylim()[1] * 1.05)
    axes.xaxis.set_major_formatter(EngFormatter(sep=" "))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.grid(axis="y")


def _mark_caches(axes: "Axes", caches: Sequence[Entry], *, element_bytes: int) -> None:
    """A line at each data cache's capacity, where the axis reaches it."""
    left, right = axes.get_xlim()
    for cache in caches:
        elements = (number(cache.get("size_bytes")) or 0) / element_bytes
        if cache.get("kind") != "instruction" and left < elements < right:
            axes.axvline(elements, color=INK, alpha=0.5, lw=0.9, ls=(0, (1, 2)))
            axes.annotate(
                f"L{label(cache.get('level'))}",
                (elements, 0),
                xycoords=("data", "axes fraction"),
                xytext=(3, 4),
                textcoords="offset points",
                alpha=0.8,
                fontsize=10,
            )


def _tell(curve: _Curve, unit: str) -> str:
    low, high = min(point.low for point in curve.points), max(point.high for point in curve.points)
    return (
        f"{curve.kernel} on {curve.pe}: {units.show_rate(low, unit)} to {units.show_rate(high, unit)} "
        f"at {curve.points[0].size:,.0f} to {curve.points[-1].size:,.0f} elements"
    )
