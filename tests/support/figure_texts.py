"""Texts of a figure that a reader cannot read."""

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def cut_texts(figure: "Figure") -> list[str]:
    """Texts of a drawn figure that do not lie within it, and names of ticks that lie upon others."""
    from matplotlib.text import Text

    canvas: Any = figure.canvas
    renderer = canvas.get_renderer()
    width, height = figure.bbox.width, figure.bbox.height
    axis = [side for axes in figure.axes for side in (axes.xaxis, axes.yaxis)]
    hidden = {label for side in axis for label in side.get_ticklabels(which="both")}
    shown = [_seen_names(side) for side in axis]
    texts = [text for text in figure.findobj(Text) if text not in hidden]
    lost = []
    for text in (*texts, *itertools.chain(*shown)):
        if text.get_visible() and str(text.get_text()).strip():
            box = text.get_window_extent(renderer)
            if box.x0 < -1 or box.y0 < -1 or box.x1 > width + 1 or box.y1 > height + 1:
                lost.append(str(text.get_text()))
    for side, names in zip(axis, shown, strict=True):
        lost += _upon_each_other(names, renderer, side.axis_name)
    return lost


def _seen_names(axis: Any) -> list[Any]:
    """The names of ticks that lie in what the axis shows."""
    low, high = sorted(axis.get_view_interval())
    room = 1e-9 * (high - low)
    shown = [tick for tick in axis.get_major_ticks() if low - room <= tick.get_loc() <= high + room]
    return [tick.label1 for tick in shown if tick.label1.get_visible()]


def _upon_each_other(names: Sequence[Any], renderer: Any, side: str) -> list[str]:
    """Names of ticks that overlap the one before them."""
    boxes = [(name.get_window_extent(renderer), str(name.get_text())) for name in names if name.get_text().strip()]
    ends = sorted((((box.x0, box.x1) if side == "x" else (box.y0, box.y1)), text) for box, text in boxes)
    return [text for ((_, before), _), ((start, _), text) in itertools.pairwise(ends) if start < before - 0.5]
