"""Speed over problem size: bands with cuts and held-out points, kernels on PEs."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from simulator.base import units
from simulator.base.figures import INK, NOTHING, PAPER, Drawing, Panel, label, series

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from simulator.base.arrays import Floats
    from simulator.base.machine import Cache
    from simulator.models.speed import SpeedBand, SpeedPoint, SpeedSurface

_MARKERS: Final = ("o", "s", "^", "D", "v", "P")
_DASHES: Final = ("-", (0, (6, 2)), (0, (1, 1.5)), (0, (6, 2, 1, 2)), (0, (3, 1)), (0, (10, 3)))
ELEMENT_BYTES: Final = 8
_SCALES: Final = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (0.0, ""))


def speed(
    found: "SpeedBand | SpeedSurface",
    points: "Sequence[SpeedPoint]" = (),
    *,
    held_out: "tuple[Floats, Floats] | None" = None,
) -> Drawing:
    """Draw speed over problem size: band, cuts and held-out points; of a surface, a band per number of columns.

    `held_out`: sizes and speeds that no builder saw.
    """
    bands: Any = getattr(found, "bands", None) or (found,)
    columns = [f"{count:g} columns" for count in getattr(found, "columns", ())] or ["band"]
    shown = [(columns[place], bands[place]) for place in sorted({0, len(bands) // 2, len(bands) - 1})]
    draw = partial(_draw_bands, bands=shown, points=points, held_out=held_out)
    return Drawing("band", "Speed over problem size", {"all": draw}, ", ".join(columns), (3.0, 2.1))


def builders(
    found: "Mapping[str, tuple[SpeedBand, Sequence[SpeedPoint]]]", *, title: str, held_out: "tuple[Floats, Floats]"
) -> Drawing:
    """Draw the bands of several builders over problem size, one below the other.

    `found`: heading -> band and measured points, as of `speed`.
    `held_out`: sizes and speeds that no builder saw.
    """
    panels: dict[str, Panel] = {
        heading: partial(_draw_bands, bands=[(heading, band)], points=points, held_out=held_out)
        for heading, (band, points) in found.items()
    }
    return Drawing("builders", title, panels, ", ".join(found), (2.6, 2.2))


def _draw_bands(
    axes: "Axes",
    *,
    bands: "Sequence[tuple[str, SpeedBand]]",
    points: "Sequence[SpeedPoint]",
    held_out: "tuple[Floats, Floats] | None",
) -> None:
    """Each band with its middle as a line of a pattern of its own; cuts as bars, held-out points as crosses."""
    import numpy as np

    scale, prefix = _scale(max(float(band.high.max()) for _, band in bands))
    for place, (text, band) in enumerate(bands):
        sizes = np.union1d(band.sizes, np.geomspace(band.sizes[0], band.sizes[-1], 400))
        if sizes.size == 1:  # the same speed at every size
            sizes = np.geomspace(sizes[0] / 10, sizes[0] * 10, 3)
        low, mid, high = (band.speed(sizes, position=position) / scale for position in (0.0, 0.5, 1.0))
        axes.fill_between(sizes, low, high, color=series(place), alpha=0.25, lw=0)
        axes.plot(sizes, mid, color=series(place), ls=_DASHES[place], lw=1.6, label=text)
    for place, point in enumerate(points):
        text, ends = "cuts" if place == 0 else "", [point.speed.low / scale, point.speed.high / scale]
        axes.plot([point.size_elements] * 2, ends, color=INK, lw=2.4, label=text or None)
    if held_out is not None:
        axes.plot(held_out[0], held_out[1] / scale, "x", color=series(2), ms=5, label="held out")
    axes.set(xlabel="problem size in elements", ylabel=f"speed in {prefix}units/s", xscale="log")
    axes.set_ylim(0, axes.get_ylim()[1])
    axes.grid(axis="y")


def _scale(largest: float) -> tuple[float, str]:
    """What speeds are divided by, and the prefix of their unit."""
    return next((scale or 1.0, prefix) for scale, prefix in _SCALES if largest >= scale)


class CurvePoint(NamedTuple):
    """A speed at a size."""

    size: float
    low: float
    mid: float
    high: float
    stable: bool = True
    """Whether it is known as well as was asked for."""


class Curve(NamedTuple):
    """What a kernel does on a PE, by size."""

    kernel: str
    pe: str
    points: list[CurvePoint]


def kernels(curves: Sequence[Curve], *, caches: "Sequence[Cache]" = ()) -> Drawing:
    """Draw each kernel's speed over problem size: a band, a line through its middle, hollow marks where not stable.

    `caches`: those whose capacity is marked on the axis of size.
    """
    curves = [Curve(label(one.kernel), label(one.pe), sorted(one.points)) for one in curves if one.points]
    if not curves:
        return NOTHING
    pes = list(dict.fromkeys(curve.pe for curve in curves))
    scale = _scale(max(point.high for curve in curves for point in curve.points))

    def draw(axes: "Axes", kernel: str) -> None:
        for curve in curves:
            if curve.kernel == kernel:
                _draw_curve(axes, curve, index=pes.index(curve.pe), scale=scale[0])
        _finish(axes, text=f"{kernel}, {scale[1]}flop/s")
        _mark_caches(axes, caches)

    panels: dict[str, Panel] = {curve.kernel: partial(draw, kernel=curve.kernel) for curve in curves}
    said = "; ".join(_tell(curve) for curve in curves[:16])
    return Drawing("speed", "Speed of each kernel by problem size", panels, said, (0.6 + 2.2 * len(panels), 2.1))


def _draw_curve(axes: "Axes", curve: Curve, *, index: int, scale: float) -> None:
    """A band and its middle; PEs beyond the colours are thin and alike."""
    sizes = [point.size for point in curve.points]
    low, mid, high = ([getattr(point, side) / scale for point in curve.points] for side in ("low", "mid", "high"))
    if index >= len(_MARKERS):
        axes.plot(sizes, mid, color=INK, alpha=0.4, lw=0.8, label="more PEs")
        return
    colour, marker = series(index), _MARKERS[index]
    axes.fill_between(sizes, low, high, color=colour, alpha=0.2, lw=0)
    axes.plot(sizes, mid, color=colour, ls=_DASHES[index], lw=1.6, marker=marker, ms=5, label=curve.pe)
    shaky = [(point.size, point.mid / scale) for point in curve.points if not point.stable]
    if shaky:
        axes.plot(*zip(*shaky, strict=True), color=colour, ls="", marker=marker, ms=5, mfc=PAPER)


def _finish(axes: "Axes", *, text: str) -> None:
    from matplotlib.ticker import EngFormatter, NullFormatter

    axes.set(xscale="log", xlabel="problem size in elements", ylabel=text)
    axes.set_ylim(0, axes.get_ylim()[1] * 1.05)
    axes.xaxis.set_major_formatter(EngFormatter(sep=" "))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.grid(axis="y")


def _mark_caches(axes: "Axes", caches: "Sequence[Cache]") -> None:
    """A line at each data cache's capacity, where the axis reaches it."""
    left, right = axes.get_xlim()
    for cache in caches:
        elements = cache.size_bytes / ELEMENT_BYTES
        if cache.kind != "instruction" and left < elements < right:
            axes.axvline(elements, color=INK, alpha=0.5, lw=0.9, ls=(0, (1, 2)))
            axes.annotate(
                f"L{cache.level}",
                (elements, 0),
                xycoords=("data", "axes fraction"),
                xytext=(3, 4),
                textcoords="offset points",
                alpha=0.8,
                fontsize=10,
            )


def _tell(curve: Curve) -> str:
    low, high = min(point.low for point in curve.points), max(point.high for point in curve.points)
    return (
        f"{curve.kernel} on {curve.pe}: {units.show_rate(low, 'flop/s')} to {units.show_rate(high, 'flop/s')} "
        f"at {curve.points[0].size:,.0f} to {curve.points[-1].size:,.0f} elements"
    )
