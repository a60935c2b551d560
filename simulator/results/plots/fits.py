"""Fits of models: what was measured against every fitted form, of links, memory and run times."""

import io
import itertools
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from simulator.base import files, units
from simulator.results.plots.frame import (
    INK,
    PAPER,
    SERIES,
    Entry,
    drawing,
    figure_kind,
    legend,
    on_axes,
    save,
    svg,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from simulator.models.memory.model import MemoryModel
    from simulator.models.neighbours_file import NeighboursModel
    from simulator.models.network import FittedForm
    from simulator.models.process_count.file import AllocationFit
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

    size, hops, _ = _message_times(document)
    if not size.size:
        return ""
    forms = _forms(document)
    distances = np.unique(hops)[[0, -1]][: np.unique(hops).size]
    chosen = str(document.get("chosen"))
    with drawing(height_in=0.8 + 2.6 * distances.size) as figure:
        grid = figure.subplots(distances.size, 1, sharex=True, squeeze=False)[:, 0]
        for axes, distance in zip(grid, distances, strict=True):
            _draw_distance(axes, document, float(distance))
            axes.set_title(f"{distance:g} hop{'s' if distance != 1 else ''}")
        grid[-1].set_xlabel("message size in bytes")
        legend(figure, grid)
        summary = f"{size.size} measured message times and {len(forms)} fitted forms; chosen: {chosen}"
        return svg(figure, name=name, title="Message time by size", description=summary)


def _message_times(document: Entry) -> "tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]":
    """Bytes, hops and seconds of what was measured; (message,) each."""
    import numpy as np

    points = document.get("points") or {}
    size, hops, time = (np.asarray(points.get(name, ()), dtype=np.float64) for name in ("bytes", "hops", "one_way_s"))
    return size, hops, time


def _forms(document: Entry) -> "list[tuple[str, FittedForm, bool]]":
    """Name of each fitted form, the form, and whether it is physical."""
    from simulator.models.network import FORMS

    return [
        (str(entry["name"]), FORMS[entry["name"]].from_dict(entry["model"]), bool(entry.get("physical")))
        for entry in document.get("models") or ()
        if entry.get("model") is not None and entry.get("name") in FORMS
    ]


def _draw_distance(axes: "Axes", document: Entry, hops: float, *, chosen_only: bool = False) -> None:
    """Times and forms over bytes at one number of hops."""
    import numpy as np

    size, distance, time = _message_times(document)
    mine, chosen = distance == hops, str(document.get("chosen"))
    at = np.unique(np.concatenate((np.geomspace(max(size.min(), 1), size.max(), _STEPS), size[size > 0])))
    for dash, (title, form, physical) in zip(itertools.cycle(_DASHES), _forms(document), strict=False):
        if title == chosen or not chosen_only:
            _draw(axes, form, at, hops, style=(title, dash, physical, title == chosen))
    axes.plot(np.maximum(size[mine], 1), time[mine], "o", color=INK, markerfacecolor=PAPER, ms=3.5, label="measured")
    axes.set(xscale="log", yscale="log")
    axes.grid(visible=True)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.yaxis.set_major_formatter(lambda value, _: units.show_duration(value))
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_minor_formatter("")


def plot_network(
    document: Entry, *, form: "FittedForm | None" = None, hops: float | None = None, ax: "Axes | None" = None
) -> "Axes":
    """Draw message times over bytes: what was measured, and the chosen form as a line.

    Parameters
    ----------
    document
        A network model's, as `apportion calibrate network` writes it.
    form
        Drawn alone where the document has no measured times.
    hops
        At which distance; the least one measured by default.
    """
    import numpy as np
    from matplotlib.ticker import LogLocator

    _, distances, _ = _message_times(document)
    with on_axes(ax, height_in=2.1) as axes:
        if distances.size:
            least = float(distances.min()) if hops is None else hops
            _draw_distance(axes, document, least, chosen_only=True)
        elif form is not None:
            at = np.geomspace(1.0, 2.0**24, _STEPS)
            axes.plot(at, form.time_s(at, hops or 1.0), color=SERIES[0], lw=1.8, label="model")
            axes.set(xscale="log", yscale="log")
            axes.yaxis.set_major_formatter(lambda value, _: units.show_duration(value))
            axes.grid(visible=True)
        axes.xaxis.set_major_locator(LogLocator(numticks=5))
        axes.set(xlabel="message size in bytes", ylabel="one-way time")
    return axes


def plot_memory(model: "MemoryModel", *, ax: "Axes | None" = None) -> "Axes":
    """Draw the modelled time per word over the words that are swept, a line for each of some temporal localities."""
    import numpy as np

    (low, high), alphas = model.trained[0], _spread(*model.trained[1])
    words = np.geomspace(max(low, 1.0), high, _STEPS)
    run = float(np.sqrt(np.prod(model.trained[2])))
    with on_axes(ax, height_in=2.1) as axes:
        for place, (dash, alpha) in enumerate(zip(itertools.cycle(_DASHES), alphas, strict=False)):
            found = model.predict(words, np.full(words.size, alpha), np.full(words.size, min(run, low)), level=0.9)
            colour = SERIES[place]
            axes.fill_between(words, 1e9 * found.low_s, 1e9 * found.high_s, color=colour, alpha=0.2, lw=0)
            axes.plot(words, 1e9 * found.mean_s, color=colour, ls=dash, lw=1.6, label=f"alpha {alpha:.3g}")
        axes.set(xscale="log", yscale="log", xlabel="data set in words", ylabel="time per word in ns")
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.grid(axis="y")
    return axes


def _spread(low: float, high: float) -> list[float]:
    """Both ends and the middle on a logarithmic scale, each once."""
    return list(dict.fromkeys((high, float((low * high) ** 0.5), low)))


def plot_runtime(
    model: "RuntimeModel", *, over: str | None = None, level: float = 0.9, ax: "Axes | None" = None
) -> "Axes":
    """Draw the predicted run time over one parameter, the others at their largest trained values, with where runs lie.

    Parameters
    ----------
    over
        The parameter; the first one by default.
    level
        How often a run lies in the band.
    """
    import numpy as np

    place = 0 if over is None else model.names.index(over)
    ends = float(model.low[place]), float(model.high[place])
    at = np.linspace(*ends, 60) if ends[0] <= 0 or ends[1] / ends[0] < 30 else np.geomspace(*ends, 60)
    columns = {name: np.full(at.size, float(high)) for name, high in zip(model.names, model.high, strict=True)}
    columns[model.names[place]] = at
    found = model.predict(columns, level=level)
    others = ", ".join(
        f"{name} = {high:g}" for name, high in zip(model.names, model.high, strict=True) if name != model.names[place]
    )
    with on_axes(ax, height_in=2.0) as axes:
        axes.fill_between(
            at, *found.prediction_s.T, color=SERIES[0], alpha=0.25, lw=0, label=f"{100 * level:.4g} % of runs"
        )
        axes.plot(at, found.mean_s, color=SERIES[0], lw=1.8, label="mean")
        axes.set(xlabel=f"{model.names[place]}{f' ({others})' if others else ''}", ylabel="run time in s")
        axes.set_ylim(0, axes.get_ylim()[1])
        axes.grid(axis="y")
    return axes


def plot_neighbours(model: "NeighboursModel", *, ax: "Axes | None" = None) -> "Axes":
    """Draw which part of its lone speed each measured kernel keeps, over how many PEs compute it at once."""
    import numpy as np

    counts = list(range(1, model.pe_count + 1))
    with on_axes(ax, height_in=2.0) as axes:
        for place, (dash, name) in enumerate(zip(itertools.cycle(_DASHES), sorted(model.kernels), strict=False)):
            size = float(np.max(model.kernels[name].sizes))
            kept = [model.together_share(name, size, count) for count in counts]
            axes.plot(counts, kept, color=SERIES[place % len(SERIES)], ls=dash, marker="o", ms=5, lw=1.6, label=name)
        axes.set(xlabel="PEs that compute at once", ylabel="speed kept by each", ylim=(0, 1.05))
        axes.xaxis.set_major_locator(_whole_numbers())
        axes.grid(axis="y")
    return axes


def _whole_numbers() -> Any:
    from matplotlib.ticker import MaxNLocator

    return MaxNLocator(integer=True)


_MOST_CONFIGURATIONS: Final = 4


def plot_process_counts(fit: "AllocationFit", *, level: float = 0.9, ax: "Axes | None" = None) -> "Axes":
    """Draw the predicted run time over the problem size, with intervals, of those that are best at some size.

    Parameters
    ----------
    fit
        What `apportion allocate fit` found; the configurations are those that were measured.
    """
    import numpy as np

    sizes = np.geomspace(float(fit.measured.sizes.min()), float(fit.measured.sizes.max()), 25)
    found = [fit.model.estimate(float(size), fit.measured.allocations, level=level) for size in sizes]
    mean, low, high = (np.array([getattr(one, name) for one in found]) for name in ("mean_s", "low_s", "high_s"))
    best = [int(one) for one in dict.fromkeys(np.nanargmin(mean, axis=1).tolist())][:_MOST_CONFIGURATIONS]
    with on_axes(ax, height_in=2.1) as axes:
        for place, (dash, row) in enumerate(zip(itertools.cycle(_DASHES), best, strict=False)):
            text = " + ".join(
                f"{pes} {kind} x {each}"
                for kind, (pes, each) in zip(fit.measured.kinds, fit.measured.allocations[row].tolist(), strict=True)
                if pes
            )
            axes.fill_between(sizes, low[:, row], high[:, row], color=SERIES[place], alpha=0.2, lw=0)
            axes.plot(sizes, mean[:, row], color=SERIES[place], ls=dash, lw=1.6, label=text)
        axes.set(xlabel="problem size N", ylabel="run time in s", yscale="log")
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.grid(axis="y")
    return axes


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
