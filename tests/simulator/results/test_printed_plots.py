"""Figures for papers: on whose axes they draw, whether their text fits a column, and in which colours."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from simulator import LoadTrace, ScenarioError, Share, SpeedBand, plots
from simulator.base.figures import _STAND_INS
from tests.support.figure_texts import cut_texts

ROWS = [
    plots.Makespan(name, m, (m - 0.1, m + 0.1), (m - 0.3, m + 0.4))
    for name, m in (("equal", 2.9), ("one process per core with equal units", 1.76))
]
VERIFIED = [plots.Checked("equal", 2.9, (2.7, 3.1), (2.91, 2.95, 3.02), 2.95)]
DIFFERENCES = [plots.Apart("sjf easy, not fcfs easy", -3.0, (-5.0, -1.0), sure=True)]
TIMELINE = [
    {"process": 0, "pe": "core0", "operation": "compute", "start_s": 0.0, "end_s": 1.2},
    {"process": 1, "pe": "core1", "operation": "recv", "start_s": 0.0, "end_s": 0.2},
]
BAND = SpeedBand(*(np.array(row, float) for row in ([1e3, 1e6], [1e9, 7e8], [2e9, 9e8], [3e9, 1e9])))
TRACE = LoadTrace(np.arange(500.0), np.random.default_rng(3).integers(0, 3, 500).astype(float), 500.0)
GAINS = [plots.Apart("a", 2.0, (1.5, 2.5))]
SHARES = [Share(f"core{k}", "", 5, units, 2.0, left=1.0) for k, units in enumerate((7, 3))]
RUN = plots.Run("as now", 2.0, (plots.RunRow("p", np.array([1, 0.5]), np.array([0, 0.5])),))
DRAWN = {
    "makespans": plots.makespans(ROWS, "equal"),
    "shares": plots.shares(SHARES, unit="rows"),
    "verification": plots.verification(VERIFIED),
    "differences": plots.differences(DIFFERENCES, axis="difference in s"),
    "gains": plots.gains(GAINS),
    "runs": plots.runs([RUN, RUN]),
    "timeline": plots.timeline(TIMELINE),
    "waits": plots.waits({"easy": np.array([0.0, 10.0, 4000.0])}),
    "load": plots.load(TRACE),
    "speed": plots.speed(BAND),
}
drawn = pytest.mark.parametrize("name", DRAWN)


def hexes(artist):
    from matplotlib.colors import to_hex, to_rgba_array

    for get in ("get_color", "get_facecolor", "get_edgecolor", "get_markerfacecolor"):
        found = getattr(artist, get, lambda: None)()
        if found is not None and not (isinstance(found, str) and found in {"none", "auto"}):
            yield from (to_hex(one) for one in to_rgba_array(found))


@drawn
def test_a_figure_of_a_column_holds_all_its_text(name, tmp_path):
    axes = DRAWN[name].axes()
    figure = axes.figure
    assert figure.get_figwidth() == plots.COLUMN_IN
    DRAWN[name].save(tmp_path / "f.png", width_in=plots.COLUMN_IN)
    figure.canvas.draw()
    assert cut_texts(figure) == []
    sizes = {text.get_fontsize() for text in figure.findobj(lambda one: hasattr(one, "get_fontsize"))}
    assert min(sizes) >= 7
    assert max(sizes) <= 8
    assert figure.findobj(lambda one: getattr(one, "get_text", str)().strip())


@drawn
def test_on_axes_of_the_callers_it_draws_there_and_in_real_colours(name):
    own = Figure().subplots()
    assert DRAWN[name].axes(own) is own
    assert own.has_data() or own.collections
    found = {colour for artist in own.findobj() for colour in hexes(artist)}
    assert not found & set(_STAND_INS)


def test_the_same_figure_is_the_same_file(tmp_path):
    """As PDF; the drawing in a page: test_plots.py."""
    paths = [tmp_path / f"{number}.pdf" for number in range(2)]
    for path in paths:
        DRAWN["makespans"].save(path)
    assert paths[0].read_bytes() == paths[1].read_bytes()


def test_text_outside_and_names_upon_each_other_are_seen():
    axes = plots.waits({"equal": np.array([1.0, 2.0])}).axes()
    figure = axes.figure
    axes.text(2.0, 0.5, "far away", transform=axes.transAxes)
    axes.set_xticks([1.0, 1.01, 2.0], ["one name", "another", "third"])
    figure.set_layout_engine("none")
    figure.canvas.draw()
    assert {"far away", "another"} <= set(cut_texts(figure))


def test_one_function_draws_any_model_or_trace():
    assert plots.plot(BAND).get_xlabel() == "problem size in elements"
    assert plots.plot(TRACE).get_ylabel() == "competing processes"
    with pytest.raises(ScenarioError, match="nothing draws int"):
        plots.plot(3)
