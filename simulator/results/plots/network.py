"""Network fits: measured message times with every fitted form, over message size, and the jump of equation 5."""

from typing import TYPE_CHECKING, Any, Final

from simulator.base import units
from simulator.results.plots.frame import INK, PAPER, SERIES, Entry, drawing, legend, svg

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from simulator.models.network import FittedForm

_DASHES: Final = ((0, (1, 1.5)), (0, (6, 2)), (0, (6, 2, 1, 2)), "-")
_STEPS: Final = 400


def network_fit_svg(document: Entry, *, name: str = "network") -> str:
    """Draw what `calibrate network` found: times over bytes for the least and the most hops, each form as a line.

    Parameters
    ----------
    document
        A network model's: `points`, `models`, `chosen`.
    name
        Begins the ids of the figure.
    """
    import numpy as np

    from simulator.models.network.network_model import FORMS

    points = document.get("points") or {}
    size, hops, time = (np.asarray(points.get(key, ()), dtype=np.float64) for key in ("bytes", "hops", "one_way_s"))
    if not size.size:
        return ""
    forms = [
        (str(entry["name"]), FORMS[entry["name"]].from_dict(entry["model"]), bool(entry.get("physical")))
        for entry in document.get("models") or ()
        if entry.get("model") is not None and entry.get("name") in FORMS
    ]
    distances = np.unique(hops)[[0, -1]][: np.unique(hops).size]
    chosen = str(document.get("chosen"))
    with drawing(height_in=0.8 + 2.6 * distances.size) as figure:
        grid = figure.subplots(distances.size, 1, sharex=True, squeeze=False)[:, 0]
        for axes, distance in zip(grid, distances, strict=True):
            mine = hops == distance
            at = np.unique(np.concatenate((np.geomspace(max(size.min(), 1), size.max(), _STEPS), size[size > 0])))
            for dash, (title, form, physical) in zip(_DASHES, forms, strict=False):
                _draw(axes, form, at, float(distance), style=(title, dash, physical, title == chosen))
            measured = np.maximum(size[mine], 1), time[mine]
            axes.plot(*measured, "o", color=INK, markerfacecolor=PAPER, ms=3.5, label="measured")
            axes.set(xscale="log", yscale="log", title=f"{distance:g} hop{'s' if distance != 1 else ''}")
            axes.grid(visible=True)
            for axis, told in ((axes.xaxis, "{:g}".format), (axes.yaxis, units.show_duration)):
                axis.set_major_formatter(lambda value, _, told=told: told(value))
                axis.set_minor_formatter("")
        grid[-1].set_xlabel("message size in bytes")
        legend(figure, grid)
        summary = f"{size.size} measured message times and {len(forms)} fitted forms; chosen: {chosen}"
        return svg(figure, name=name, title="Message time by size", description=summary)


def _draw(
    axes: "Axes",
    form: "FittedForm",
    at: "NDArray[np.float64]",
    hops: float,
    *,
    style: tuple[str, Any, bool, bool],
) -> None:
    """One form; the jump of equation 5 is left open, with a mark on either side."""
    import numpy as np

    from simulator.models.network import PacketisedModel
    from simulator.models.network.network_model import FORMS

    title, dash, physical, is_chosen = style
    colour = SERIES[list(FORMS).index(title) % len(SERIES)]
    shown = f"{title}{', chosen' if is_chosen else ''}{'' if physical else ', not physical'}"
    time = form.time_s(at, hops)
    if isinstance(form, PacketisedModel) and at[0] < form.packet_bytes < at[-1]:
        ends = np.array([form.packet_bytes, np.nextafter(form.packet_bytes, np.inf)])
        place = int(np.searchsorted(at, form.packet_bytes, side="right"))
        at = np.concatenate((at[:place], ends[:1], [np.nan], ends[1:], at[place:]))
        jump = form.time_s(ends, hops)
        time = np.concatenate((time[:place], jump[:1], [np.nan], jump[1:], time[place:]))
        axes.plot(ends, form.time_s(ends, hops), "|", color=colour, ms=8)
    axes.plot(at, time, color=colour, linestyle=dash, linewidth=2.2 if is_chosen else 1.2, label=shown)
