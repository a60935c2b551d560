import re
import subprocess
import sys
from dataclasses import replace
from functools import cache
from types import SimpleNamespace
from xml.etree import ElementTree

import numpy as np
import pytest

from simulator import LoadTrace, SpeedBand, plots

SVG = "{http://www.w3.org/2000/svg}"
SIZES, FLAT = 3.0 * 4.0 ** np.arange(6, 10), np.full(4, 1e9)
KERNELS = [
    (kernel, f"core{pe}", SpeedBand(SIZES, FLAT, (2 + pe) * FLAT, 6 * FLAT))
    for kernel in ("dgemm", "<matmul>")
    for pe in (0, 1)
]
LOAD = LoadTrace([0.0, 1.0, 3.0], [1.0, 2.0, 1.0], 4.0)
TIMELINE = [
    {"process": 0, "pe": "core0", "operation": "compute", "start_s": 0.0, "end_s": 1.2},
    {"process": 1, "pe": "core1", "operation": "recv", "start_s": 0.0, "end_s": 0.2},
    {"process": 1, "pe": "core1", "operation": "compute", "start_s": 0.2, "end_s": 1.4},
]
BASELINES = [
    plots.Makespan(name, m, (m - 0.1, m + 0.1), (m - 0.3, m + 0.4))
    for name, m in (("equal", 2.9), ("functional", 1.76))
]
VERIFICATION = [plots.Checked("equal", 2.9, (2.7, 3.1), (2.91, 2.95, 3.02), 2.95)]
FIGURES = {
    "speed": lambda: plots.kernels(KERNELS),
    "load": lambda: plots.load(LOAD, pe="core1"),
    "timeline": lambda: plots.timeline(TIMELINE),
    "baselines": lambda: plots.makespans(BASELINES, "functional"),
    "verification": lambda: plots.verification(VERIFICATION),
}
figures = pytest.mark.parametrize("name", FIGURES)


@cache
def drawn(name: str) -> str:
    return FIGURES[name]().svg(name)


def tree(svg: str) -> ElementTree.Element:
    return ElementTree.fromstring(svg)  # noqa: S314  (our own)


def texts(svg: str) -> list[str]:
    return ["".join(element.itertext()) for element in tree(svg).iter(f"{SVG}text")]


def description(svg: str) -> str:
    return tree(svg).findtext(f"{SVG}desc") or ""


@figures
def test_a_figure_names_and_describes_itself_to_a_screen_reader(name):
    root = tree(drawn(name))
    assert root.get("role") == "img"
    labels = [root.find(f".//*[@id='{label}']") for label in root.get("aria-labelledby").split()]
    assert [label.tag for label in labels] == [f"{SVG}title", f"{SVG}desc"]
    assert all(len(label.text) > 15 for label in labels)


@figures
def test_the_same_data_give_the_same_bytes_whatever_the_callers_style(name):
    import matplotlib

    first = drawn(name)
    with matplotlib.rc_context({"font.size": 30, "xtick.direction": "in", "svg.hashsalt": None}):
        assert FIGURES[name]().svg(name) == first
        assert matplotlib.rcParams["font.size"] == 30


@figures
def test_a_figure_holds_no_date_no_style_sheet_and_no_fixed_colour(name):
    svg = drawn(name)
    assert not re.search(r"<metadata|<style|<\?xml|<!DOCTYPE|20\d\d-\d\d", svg)
    colours = {value for value in re.findall(r"(?:fill|stroke): ([^;\"]+)", svg) if value != "none"}
    assert colours
    assert {colour for colour in colours if not colour.startswith(("var(--ap-", "currentColor", "url(#"))} == set()


def test_ids_differ_across_the_figures_of_a_page_and_every_reference_has_its_target():
    svgs = [draw().svg() for draw in FIGURES.values()] + [plots.load(LOAD, pe="core2").svg("own")]
    ids = [found for svg in svgs for found in re.findall(r'\bid="([^"]+)"', svg)]
    assert len(ids) == len(set(ids)) > 20
    assert all(found.startswith("own-") for found in re.findall(r'\bid="([^"]+)"', svgs[-1]))
    references = {found for svg in svgs for found in re.findall(r'href="#([^"]+)"|url\(#([^)]+)\)', svg)}
    assert {a or b for a, b in references} <= set(ids)
    assert references


@pytest.mark.parametrize(
    ("draw", "arguments"),
    [
        (plots.kernels, ([],)),
        (plots.load, (None,)),
        (plots.load, (SimpleNamespace(times_s=[], values=[], end_s=None),)),
        (plots.timeline, ([],)),
        (plots.makespans, ([], None)),
        (plots.verification, ([],)),
        (plots.differences, ([],)),
    ],
)
def test_nothing_to_draw_gives_no_figure(draw, arguments):
    found = draw(*arguments, **({"axis": "s"} if draw is plots.differences else {}))
    assert not found
    assert found.svg() == ""


def test_incomplete_entries_are_drawn_as_far_as_they_go():
    assert plots.makespans([plots.Makespan("equal", 2.0)], None).svg()
    assert plots.gains([plots.Apart("a", 2.0, (1.0, float("inf"))), plots.Apart.of("b", None)]).svg()
    assert plots.timeline([{"process": 0, "pe": "core0", "operation": "compute", "start_s": 1.0, "end_s": 1.0}]).svg()
    assert plots.load(LoadTrace([0.0], [0.0], 1.0)).svg()
    assert plots.waits({"a": np.array([0.0, 0.5])}).svg()
    assert not plots.waits({"a": np.zeros(2)})


def test_names_from_outside_are_escaped_shortened_and_never_mathematics():
    hostile = '<script>alert("x")</script>' + "y" * 100
    named = ("dgemm", hostile, KERNELS[0][2]), ("$\\frac{$", "日本\x1b[0m", KERNELS[1][2])
    svg = plots.kernels(named).svg()
    assert "<script" not in svg
    assert any(text.startswith("<script>") and len(text) <= 24 for text in texts(svg))
    assert any(text.startswith("$\\frac{$") for text in texts(svg))
    assert any("日本" in text for text in texts(svg))


def test_a_text_that_looks_like_our_markup_is_left_alone():
    svg = plots.timeline([TIMELINE[0] | {"pe": 'id="a" #0a0001'}]).svg()
    assert 'id="a" #0a0001' in texts(svg)


def test_speed_says_kernels_and_units_of_six_pes():
    many = [("dgemm", f"core{pe}", KERNELS[0][2]) for pe in range(30)]
    found = texts(plots.kernels([*many, KERNELS[2]]).svg())
    assert {"dgemm, Gunits/s", "<matmul>, Gunits/s"} <= set(found)
    assert [text for text in found if text.startswith("core")] == [f"core{pe}" for pe in range(6)]


def test_load_says_its_mean_weighted_by_time():
    svg = plots.load(LOAD, pe="core1").svg()
    assert "mean 1.50" in texts(svg)
    assert "between 1 and 2" in description(svg)


@pytest.mark.slow
def test_a_long_load_is_thinned_without_losing_extremes_or_the_mean():
    count = 100_000
    values = [float(k % 2) for k in range(count)]
    values[77_777] = 9.0
    svg = plots.load(LoadTrace([0.1 * k for k in range(count)], values, 0.1 * count)).svg()
    assert len(svg) < 60_000
    assert "mean 0.50" in texts(svg)
    assert "between 0 and 9" in description(svg)


def test_a_load_of_equal_samples_is_one_step():
    assert len(plots.load(LoadTrace([0.1 * k for k in range(5000)], [1.5] * 5000, 500.0)).svg()) < 20_000


def test_the_timeline_has_a_row_for_each_process():
    svg = plots.timeline(TIMELINE).svg()
    assert {"core0", "core1", "computing", "messages, waiting", "Makespan of one run: 1.4 s"} <= set(texts(svg))
    one_pe = texts(plots.timeline([entry | {"pe": "core0"} for entry in TIMELINE]).svg())
    assert {"core0, process 0", "core0, process 1"} <= set(one_pe)
    many = [TIMELINE[0] | {"process": process, "pe": f"core{process}"} for process in range(60)]
    assert "The first 48 of 60 processes: 1.2 s" in texts(plots.timeline(many).svg())


def test_the_recommended_strategy_stands_out():
    svg = plots.makespans(BASELINES, "functional").svg()
    assert {"equal", "functional", "2.90 s", "1.76 s", "recommended"} <= set(texts(svg))
    bold = [text.text for text in tree(svg).iter(f"{SVG}text") if "700" in (text.get("style") or "")]
    assert sorted(bold) == ["1.76 s", "functional"]


def test_every_repetition_is_a_mark():
    def marks(measured: list[float]) -> int:
        return plots.verification([VERIFICATION[0]._replace(measured_s=measured)]).svg().count("<use ")

    assert marks([2.91, 2.95, 3.02, 3.1, 3.2]) - marks([2.91, 3.2]) == 3


def test_pyplot_is_never_loaded_and_matplotlib_only_when_drawing():
    code = (
        "import sys; from simulator import plots; assert 'matplotlib' not in set(sys.modules);"
        f"assert plots.timeline({TIMELINE!r}).svg(); assert 'matplotlib' in sys.modules;"
        "assert 'matplotlib.pyplot' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def network_fit():
    import numpy as np

    from simulator.models.network import PacketisedModel, fit_network, make_points
    from simulator.models.network.file import NetworkFile

    packets = PacketisedModel(300e-6, 200e-6, 100e-6, 0.5e-6, 1000.0, 400.0)
    size, hops = (column.reshape(-1) for column in np.meshgrid(np.arange(100, 20_001, 900), [1, 4]))
    fit = fit_network(make_points(size, hops, packets.time_s(size, hops)))
    return NetworkFile.of_fit(fit, {})


@pytest.mark.slow
def test_a_network_fit_is_drawn_for_its_least_and_most_hops():
    drawn = plots.network(network_fit(), every=True).svg("link")
    for text in ("1 hop<", "4 hops<", "packetised, chosen", "hockney", "piecewise", "smooth", "measured"):
        assert text in drawn
    assert "mathdefault" not in drawn
    assert drawn == plots.network(network_fit(), every=True).svg("link")
    assert "measured" not in plots.network(replace(network_fit(), points={})).svg()
