"""Fits of models: measured against fitted, of links, memory, run times, neighbours and process counts."""

import itertools
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from simulator.base import intervals, units
from simulator.base.figures import INK, PAPER, Drawing, Panel, series

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from simulator.base.arrays import Floats
    from simulator.models.memory.model import MemoryModel
    from simulator.models.neighbours_file import NeighboursModel
    from simulator.models.network import FittedForm
    from simulator.models.network.file import NetworkFile
    from simulator.models.process_count.file import AllocationFit
    from simulator.models.regression.runtime_model import RuntimeModel


_AXES = {"M_words": "M in words", "alpha": "alpha", "L": "L in words"}
_DASHES: Final = ((0, (1, 1.5)), (0, (6, 2)), (0, (6, 2, 1, 2)), "-")
_STEPS: Final = 400
_MOST_CONFIGURATIONS: Final = 4


def memory_fit(columns: "Mapping[str, Floats]", modelled_s: "Floats", *, title: str) -> Drawing:
    """Draw modelled times against measured ones, and residuals; a residual is `(modelled - measured) / measured`.

    `columns`: `M_words`, `alpha`, `L` and `time_per_word_s` of the cells, each (cells,).
    """
    measured_s = columns["time_per_word_s"]
    residuals = 100 * (modelled_s - measured_s) / measured_s

    def against(axes: "Axes") -> None:
        ends = [float(min(measured_s.min(), modelled_s.min())), float(max(measured_s.max(), modelled_s.max()))]
        axes.plot(ends, ends, lw=1, color=INK)
        axes.plot(measured_s, modelled_s, ".", ms=4, color=series(0))
        axes.set(xlabel="measured, s per word", ylabel="modelled, s per word", xscale="log", yscale="log")

    def off(axes: "Axes", name: str) -> None:
        axes.plot(columns[name], residuals, ".", ms=4, color=series(0))
        axes.axhline(0, lw=1, color=INK)
        axes.set(xlabel=_AXES[name], ylabel="residual, % of the time", xscale="log")

    panels: dict[str, Panel] = {"times": against, **{name: partial(off, name=name) for name in _AXES}}
    return Drawing("fit", title, panels, title, (8.0, 2.2), shared=False)


def network(found: "NetworkFile", *, every: bool = False) -> Drawing:
    """Draw message times over bytes: what was measured, and the chosen form as a line; that alone of a bare model.

    `every`: whether all fitted forms are drawn, at the most hops and at the least.
    """
    title, heights = "Message time by size", (2.8, 2.1)
    if not found.points:
        return Drawing("time", title, {"all": partial(_draw_form, form=found.model.form)}, "the model", heights)
    distances = sorted(set(found.points["hops"]))
    ends = [distances[-1], distances[0]][-len(distances) :] if every else distances[:1]
    panels: dict[str, Panel] = {
        f"{hops:g} hop{'s' if hops != 1 else ''}": partial(_draw_distance, found=found, hops=hops, every=every)
        for hops in ends
    }
    said = f"{len(found.points['bytes'])} measured message times and {len(_forms(found))} fitted forms"
    return Drawing("time", title, panels, f"{said}; chosen: {found.chosen}", (0.8 + 2.2 * len(panels), 2.1))


def _draw_form(axes: "Axes", *, form: "FittedForm") -> None:
    """A form of which nothing measured is kept."""
    import numpy as np

    at = np.geomspace(1.0, 2.0**24, _STEPS)
    axes.plot(at, form.time_s(at, 1.0), color=series(0), lw=1.8, label="model")
    _message_axes(axes, "one-way time")


def _message_axes(axes: "Axes", text: str) -> None:
    from matplotlib.ticker import LogLocator, NullFormatter

    axes.set(xscale="log", yscale="log", xlabel="message size in bytes", ylabel=text)
    axes.grid(visible=True)
    axes.xaxis.set_major_locator(LogLocator(numticks=5))
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.yaxis.set_major_formatter(lambda value, _: units.show_duration(value))
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_minor_formatter(NullFormatter())


def _forms(found: "NetworkFile") -> "list[tuple[str, FittedForm, bool]]":
    """Name of each fitted form, the form, and whether it is physical."""
    from simulator.models.network import FORMS

    return [
        (one.name, FORMS[one.name].from_dict(one.model), bool(one.physical))
        for one in found.models
        if one.model is not None
    ]


def _draw_distance(axes: "Axes", *, found: "NetworkFile", hops: float, every: bool) -> None:
    """Times and forms over bytes at one number of hops."""
    import numpy as np

    size, distance, time = (np.array(found.points[name]) for name in ("bytes", "hops", "one_way_s"))
    mine = distance == hops
    at = np.unique(np.concatenate((np.geomspace(max(size.min(), 1), size.max(), _STEPS), size[size > 0])))
    for dash, (title, form, physical) in zip(itertools.cycle(_DASHES), _forms(found), strict=False):
        if title == found.chosen or every:
            _draw(axes, form, at, hops, style=(title, dash, physical, title == found.chosen))
    axes.plot(np.maximum(size[mine], 1), time[mine], "o", color=INK, markerfacecolor=PAPER, ms=3.5, label="measured")
    _message_axes(axes, f"at {hops:g} hop{'s' if hops != 1 else ''}" if every else "one-way time")


def memory(model: "MemoryModel") -> Drawing:
    """Draw the modelled time per word over the words that are swept, a line for each of some temporal localities."""

    def draw(axes: "Axes") -> None:
        import numpy as np

        (low, high), alphas = model.trained[0], _spread(*model.trained[1])
        words = np.geomspace(max(low, 1.0), high, _STEPS)
        run = float(np.sqrt(np.prod(model.trained[2])))
        for place, (dash, alpha) in enumerate(zip(itertools.cycle(_DASHES), alphas, strict=False)):
            found = model.predict(words, np.full(words.size, alpha), np.full(words.size, min(run, low)), level=0.9)
            axes.fill_between(words, 1e9 * found.low_s, 1e9 * found.high_s, color=series(place), alpha=0.2, lw=0)
            axes.plot(words, 1e9 * found.mean_s, color=series(place), ls=dash, lw=1.6, label=f"alpha {alpha:.3g}")
        axes.set(xscale="log", yscale="log", xlabel="data set in words", ylabel="time per word in ns")
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.grid(axis="y")

    return Drawing("time", "Time per word", {"all": draw}, "by size and temporal locality", (2.8, 2.1))


def _spread(low: float, high: float) -> list[float]:
    """Both ends and the middle on a logarithmic scale, each once."""
    return list(dict.fromkeys((high, float((low * high) ** 0.5), low)))


def runtime(model: "RuntimeModel", *, over: str | None = None, level: float = intervals.LEVEL) -> Drawing:
    """Draw the predicted run time over one parameter, the others at their largest trained values, with where runs lie.

    `over`: the parameter; the first one by default.
    """
    shown = model.names[0] if over is None else over
    largest = dict(zip(model.names, (float(high) for high in model.high), strict=True))
    others = ", ".join(f"{name} = {high:g}" for name, high in largest.items() if name != shown)

    def draw(axes: "Axes") -> None:
        import numpy as np

        ends = float(model.low[model.names.index(shown)]), largest[shown]
        at = np.linspace(*ends, 60) if ends[0] <= 0 or ends[1] / ends[0] < 30 else np.geomspace(*ends, 60)
        columns = {name: np.full(at.size, high) for name, high in largest.items()} | {shown: at}
        found = model.predict(columns, level=level)
        text = f"{100 * level:.4g} % of runs"
        axes.fill_between(at, *found.prediction_s.T, color=series(0), alpha=0.25, lw=0, label=text)
        axes.plot(at, found.mean_s, color=series(0), lw=1.8, label="mean")
        axes.set(xlabel=f"{shown}{f' ({others})' if others else ''}", ylabel="run time in s")
        axes.set_ylim(0, axes.get_ylim()[1])
        axes.grid(axis="y")

    return Drawing(shown, f"Run time over {shown}", {"all": draw}, others, (2.8, 2.0))


def neighbours(model: "NeighboursModel") -> Drawing:
    """Draw which part of its lone speed each measured kernel keeps, over how many PEs compute it at once."""

    def draw(axes: "Axes") -> None:
        import numpy as np
        from matplotlib.ticker import MaxNLocator

        counts = list(range(1, model.pe_count + 1))
        for place, (dash, name) in enumerate(zip(itertools.cycle(_DASHES), sorted(model.kernels), strict=False)):
            size = float(np.max(model.kernel_uses[name].sizes))
            kept = [model.together_share(name, size, count) for count in counts]
            axes.plot(counts, kept, color=series(place), ls=dash, marker="o", ms=5, lw=1.6, label=name)
        axes.set(xlabel="PEs that compute at once", ylabel="speed kept by each", ylim=(0, 1.05))
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.grid(axis="y")

    return Drawing("kept", "Speed kept next to others", {"all": draw}, ", ".join(sorted(model.kernels)), (2.8, 2.0))


def process_counts(fit: "AllocationFit", *, level: float = intervals.LEVEL) -> Drawing:
    """Draw the predicted run time over the problem size, with intervals, of those that are best at some size.

    `fit`: what `apportion fit` found; the configurations are those that were measured.
    """

    def draw(axes: "Axes") -> None:
        import numpy as np

        sizes = np.geomspace(float(fit.measured.sizes.min()), float(fit.measured.sizes.max()), 25)
        found = [fit.model.estimate(float(size), fit.measured.allocations, level=level) for size in sizes]
        mean, low, high = (np.array([getattr(one, name) for one in found]) for name in ("mean_s", "low_s", "high_s"))
        best = [int(index) for index in dict.fromkeys(np.nanargmin(mean, axis=1).tolist())][:_MOST_CONFIGURATIONS]
        for place, (dash, row) in enumerate(zip(itertools.cycle(_DASHES), best, strict=False)):
            given = zip(fit.measured.kinds, fit.measured.allocations[row].tolist(), strict=True)
            text = " + ".join(f"{pes} {kind} x {each}" for kind, (pes, each) in given if pes)
            axes.fill_between(sizes, low[:, row], high[:, row], color=series(place), alpha=0.2, lw=0)
            axes.plot(sizes, mean[:, row], color=series(place), ls=dash, lw=1.6, label=text)
        axes.set(xlabel="problem size N", ylabel="run time in s", yscale="log")
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.grid(axis="y")

    return Drawing("time", "Run time over problem size", {"all": draw}, ", ".join(fit.measured.kinds), (2.8, 2.1))


def _draw(
    axes: "Axes",
    form: "FittedForm",
    at: "Floats",
    hops: float,
    *,
    style: tuple[str, Any, bool, bool],
) -> None:
    """One form; the jump of equation 5 is left open, with a mark on either side."""
    import numpy as np

    from simulator.models.network import FORMS, PacketisedModel

    title, dash, physical, is_chosen = style
    colour = series(list(FORMS).index(title))
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
