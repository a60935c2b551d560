"""Fitted run times against observed ones, with bands and residuals, written to one file."""

import io
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from simulator.base import files
from simulator.results.plots.speed_model import figure_kind

if TYPE_CHECKING:
    from simulator.models.regression.runs import Runs
    from simulator.models.regression.runtime_model import RuntimeModel


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
