"""Speed over problem size: bands with cuts and held-out points, kernels on PEs."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from simulator.base import units
from simulator.base.figures import INK, NOTHING, Drawing, Panel, label, series

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from simulator.base.arrays import Floats
    from simulator.models.speed import SpeedBand, SpeedPoint, SpeedSurface

_DASHES: Final = ("-", (0, (6, 2)), (0, (1, 1.5)), (0, (6, 2, 1, 2)), (0, (3, 1)), (0, (10, 3)))
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


def kernels(found: "Sequence[tuple[str, str, SpeedBand]]") -> Drawing:
    """Draw each kernel's speed over problem size: the bands of some PEs.

    `found`: kernel, PE and band of what was measured.
    """
    if not found:
        return NOTHING
    bands: dict[str, list[tuple[str, SpeedBand]]] = {}
    for kernel, pe, band in found:
        bands.setdefault(kernel, []).append((label(pe), band))
    panels: dict[str, Panel] = {
        label(name): partial(_draw_bands, bands=some[: len(_DASHES)], what=f"{label(name)},")
        for name, some in bands.items()
    }
    said = "; ".join(
        f"{label(kernel)} on {label(pe)}: {units.show_range(band.low.min(), band.high.max(), unit='units/s')}"
        for kernel, pe, band in found[:16]
    )
    return Drawing("speed", "Speed of each kernel by problem size", panels, said, (0.6 + 2.2 * len(panels), 2.1))


def _draw_bands(
    axes: "Axes",
    *,
    bands: "Sequence[tuple[str, SpeedBand]]",
    points: "Sequence[SpeedPoint]" = (),
    held_out: "tuple[Floats, Floats] | None" = None,
    what: str = "speed in",
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
    axes.set(xlabel="problem size in elements", ylabel=f"{what} {prefix}units/s", xscale="log")
    axes.set_ylim(0, axes.get_ylim()[1])
    axes.grid(axis="y")


def _scale(largest: float) -> tuple[float, str]:
    """What speeds are divided by, and the prefix of their unit."""
    return next((scale or 1.0, prefix) for scale, prefix in _SCALES if largest >= scale)
