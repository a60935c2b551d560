"""One fitted model of the memory hierarchy: measured against modelled times, and residuals over M, alpha and L."""

from pathlib import Path
from typing import TYPE_CHECKING

from simulator.results.plots.speed_model import figure_kind, save

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

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
