"""Fits of models: what was measured against every fitted form, of links, memory and run times."""

import io
import itertools
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from simulator.base import files, units
from simulator.results.plots.frame import INK, PAPER, SERIES, Entry, drawing, figure_kind, legend, save, svg

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from simulator.models.network import FittedForm
    from simulator.models.regression.runs import Runs
    from simulator.models.regression.runtime_model import RuntimeModel

_AXES = {"M_words": "M in words", "alpha": "alpha", "L": "L in words"}


def plot_memory_fit(
    columns: "Mapping[str, NDArray[np.float64]]",
    modelled_s: "NDArray[np.float64]",
    path: str | Path,
    *,
    title: str,
    held_out: "NDArray[np.bool_]",
) -> None:
    """Draw four panels; a residual is `(modelled - measured) / measured`.

    Parameters
    ----------
    columns
        `M_words`, `alpha`, `L` and `time_per_word_s` of the cells, each (cells,).
    modelled_s
        What the model says of them.
    held_out
        Which of them its fit did not see.

    Raises
    ------
    ScenarioError
        If the file's ending is none of png, svg, pdf.
    """
    path = Path(path)
    kind = figure_kind(path)
    import matplotlib as mpl
    from matplotlib.figure import Figure

    measured_s = columns["time_per_word_s"]
    residuals = 100 * (modelled_s - measured_s) / measured_s
    figure = Figure(figsize=(9, 7))
    figure.subplots_adjust(left=0.09, right=0.97, bottom=0.08, top=0.93, wspace=0.27, hspace=0.25)  # a layout costs 1 s
    (first, *others) = figure.subplots(2, 2).ravel()
    ends = [float(min(measured_s.min(), modelled_s.min())), float(max(measured_s.max(), modelled_s.max()))]
    first.plot(ends, ends, lw=1, color="0.5")
    first.set(xlabel="measured, s per word", ylabel="modelled, s per word", xscale="log", yscale="log")
    for marks, chosen, label in ((".", ~held_out, "fitted"), ("x", held_out, "held out")):
        first.plot(measured_s[chosen], modelled_s[chosen], marks, ms=4, label=label)
        for axes, name in zip(others, _AXES, strict=True):
            axes.plot(columns[name][chosen], residuals[chosen], marks, ms=4)
    for axes, (_, label) in zip(others, _AXES.items(), strict=True):
        axes.axhline(0, lw=1, color="0.5")
        axes.set(xlabel=label, ylabel="residual, % of the measured time", xscale="log")
    first.legend()
    figure.suptitle(title)
    with mpl.rc_context({"svg.hashsalt": "apportion", "svg.fonttype": "none"}):
        save(figure, path, kind)


def plot_runtime_fit(model: "RuntimeModel", runs: "Mapping[str, Runs]", path: str | Path) -> None:
    """Prediction against observation with 90 % bands, and relative residuals, of each response.

    Raises
    ------
    ScenarioError
        If the file's ending is none of png, svg, pdf.
    """
    path = Path(path)
    kind = figure_kind(path)
    import numpy as np
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    from simulator.models.regression.runs import cells_of

    figure = Figure(figsize=(10, 4.5 * len(model.parts)), layout="constrained")
    FigureCanvasAgg(figure)
    rows = figure.subplots(len(model.parts), 2, squeeze=False)
    for (left, right), part in zip(rows, model.parts, strict=True):
        own = runs[part.response]
        cells = cells_of(own)
        alone = replace(model, parts=(part,), correlation=np.eye(1), warnings=())
        predicted = alone.predict(cells.columns())
        order = np.argsort(predicted.mean_s)
        at, band = predicted.mean_s[order], predicted.prediction_s[order]
        left.fill_between(at, band[:, 0], band[:, 1], alpha=0.25, label="90 % of runs")
        left.plot(at, at, linewidth=1)
        mean = predicted.mean_s[cells.cell_of_run]
        left.plot(mean, own.times_s, ".", label="runs")
        left.set(xlabel="predicted, s", ylabel="observed, s", title=part.response, xscale="log", yscale="log")
        left.legend()
        right.axhline(0, linewidth=1)
        right.plot(mean, (own.times_s / mean - 1) * 100, ".")
        right.set(xlabel="predicted, s", ylabel="residual, % of the prediction", xscale="log")
    out = io.BytesIO()
    figure.savefig(out, format=kind)
    files.write_bytes(path, out.getvalue())


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

    from simulator.models.network import FORMS

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
            for dash, (title, form, physical) in zip(itertools.cycle(_DASHES), forms, strict=False):
                _draw(axes, form, at, float(distance), style=(title, dash, physical, title == chosen))
            measured = np.maximum(size[mine], 1), time[mine]
            axes.plot(*measured, "o", color=INK, markerfacecolor=PAPER, ms=3.5, label="measured")
            axes.set(xscale="log", yscale="log", title=f"{distance:g} hop{'s' if distance != 1 else ''}")
            axes.grid(visible=True)
            for axis, shown in ((axes.xaxis, "{:g}".format), (axes.yaxis, units.show_duration)):
                axis.set_major_formatter(lambda value, _, shown=shown: shown(value))
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

    from simulator.models.network import FORMS, PacketisedModel

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
