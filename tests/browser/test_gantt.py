"""The timeline to zoom into, in a browser: by wheel, keys, buttons, mouse and fingers; and what there is without it."""

import re

import pytest

from advisor.report.html import render_page
from simulator import documents
from tests.support.browser import CHROMIUM
from tests.support.illustrated import Shown, simulated
from tests.support.made import made as value_made
from tests.support.pages import HOSTILE, hostile

sync_api = pytest.importorskip("playwright.sync_api", reason="needs the package playwright (pip)")
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="needs the Debian package chromium"),
]
CHART = "canvas[role=application]"
NASTY = ("</script><script>document.title='owned'</script>", "x" * 200, "שלום עולם", "🚀\u202eabc", "a\"b'c&<i>")


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("gantt")
    made = {}

    def file(name="plain"):
        if name not in made:
            made[name] = folder / f"{name}.html"
            made[name].write_text(render_page(DOCUMENTS[name]().page), encoding="utf-8")
        return made[name]

    return file


def named_badly():
    """Every name of another kind of nastiness, linked ones alike."""
    document = hostile(documents.to_dict(simulated()[2]))
    for entry in document["illustration"]["timelines"]:
        entry["pes"] = [NASTY[place % len(NASTY)] for place in range(len(entry["pes"]))]
        entry["configuration"] = NASTY[1]
    return value_made(Shown, document)


DOCUMENTS = {"plain": lambda: simulated()[2], "hostile": named_badly}


@pytest.fixture
def opened(silently, files):
    return lambda name="plain", **how: silently(files(name), **how)


def span(page):
    """What part of the run is seen, in seconds, once it is drawn."""
    page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    shown = page.eval_on_selector(CHART, "canvas => ({...canvas.dataset})")
    return float(shown["from"]), float(shown["to"])


def pixel(page, x, y):
    """Colour at a place of the chart, in parts of its width and pixels from above; read from a copy."""
    span(page)
    return page.eval_on_selector(
        CHART,
        """(canvas, [x, y]) => {
            const copy = document.createElement('canvas'), dots = devicePixelRatio;
            copy.width = canvas.width;
            copy.height = canvas.height;
            const pen = copy.getContext('2d');
            pen.drawImage(canvas, 0, 0);
            return [...pen.getImageData(x * canvas.width, y * dots, 1, 1).data].slice(0, 3);
        }""",
        [x, y],
    )


def wide(page):
    start, end = span(page)
    return end - start


MAKESPAN = 0.63764


def test_keys_and_buttons_zoom_move_and_reset(opened):
    page = opened()
    chart = page.locator(CHART)
    whole = span(page)
    assert whole == (0, pytest.approx(MAKESPAN))
    chart.focus()
    page.keyboard.press("+")
    assert wide(page) == pytest.approx(MAKESPAN / 2, rel=1e-3)
    page.keyboard.press("+")
    start, end = span(page)
    page.keyboard.press("ArrowRight")
    assert span(page) == pytest.approx((start + 0.1 * (end - start), end + 0.1 * (end - start)), rel=1e-3)
    page.keyboard.press("-")
    assert wide(page) == pytest.approx(MAKESPAN / 2, rel=1e-3)
    page.keyboard.press("Home")
    assert span(page) == whole
    page.get_by_role("button", name="Zoom in").click()
    page.get_by_role("button", name="Later").click()
    assert span(page) == pytest.approx((MAKESPAN * 3 / 8, MAKESPAN * 7 / 8), rel=1e-3)
    page.get_by_role("button", name="Zoom out").click()
    page.get_by_role("button", name="Show the whole run").click()
    assert span(page) == whole


@pytest.mark.slow
def test_the_wheel_zooms_about_the_pointer_once_the_chart_was_clicked(opened):
    page = opened()
    box = page.locator(CHART).bounding_box()
    x, y = box["x"] + 0.75 * box["width"], box["y"] + 40
    page.mouse.move(x, y)
    page.mouse.wheel(0, -10)
    page.wait_for_timeout(30)
    assert wide(page) == pytest.approx(MAKESPAN), "who scrolls by is not held up"
    page.locator(CHART).scroll_into_view_if_needed()
    box = page.locator(CHART).bounding_box()
    x, y = box["x"] + 0.75 * box["width"], box["y"] + 40
    page.mouse.click(x, y)
    page.mouse.wheel(0, -240)
    page.wait_for_function(f"document.querySelector('{CHART}').dataset.from > 0.01")
    start, end = span(page)
    assert end - start < 0.6 * MAKESPAN
    assert start > MAKESPAN - end, "nearer the end, where the pointer was"


def test_the_critical_path_is_switched_and_bars_are_told(opened):
    page = opened()
    switch = page.get_by_role("button", name="Critical path")
    assert switch.get_attribute("aria-pressed") == "true"

    foot = 0.5, 26 + 19
    assert pixel(page, *foot) == [27, 31, 36]
    switch.click()
    assert switch.get_attribute("aria-pressed") == "false"
    assert pixel(page, *foot) != [27, 31, 36]
    page.locator(CHART).focus()
    page.keyboard.press("ArrowDown")
    told = page.locator(".gantt-readout")
    says = sync_api.expect(told).to_have_text  # it is written with the next picture
    says(re.compile(r"single, process 0: computing for 576 ms, from .* on the critical path$"))
    page.keyboard.press(".")
    says(re.compile("single, process 0: receiving"))
    page.keyboard.press("ArrowDown")
    says(re.compile("^quad.cpu0, process 1: computing"))
    assert told.get_attribute("aria-live") == "polite"


@pytest.mark.slow
def test_paper_and_readers_without_scripts_have_the_still_figure(opened):
    page = opened()
    still = page.get_by_role("img", name="Timeline of one replication", include_hidden=True)
    assert not still.is_visible()
    page.emulate_media(media="print")
    assert still.is_visible()
    assert not page.locator(CHART).is_visible()
    bare = opened(java_script_enabled=False)
    assert bare.get_by_role("img", name="Timeline of one replication").is_visible()
    assert bare.locator(CHART).count() == 0
    assert bare.get_by_role("table", name="What the predicted makespan of uneven waits for").is_visible()


@pytest.mark.slow
def test_another_configuration_can_be_chosen_and_its_messages_shown(opened):
    page = opened()
    page.get_by_role("combobox", name="Configuration").select_option(label="by-speed")
    assert span(page) == (0, pytest.approx(0.75701))
    assert "6 processes" in page.locator(CHART).get_attribute("aria-label")
    before = page.locator(CHART).screenshot()
    page.get_by_role("button", name="Messages").click()
    span(page)
    assert page.locator(CHART).screenshot() != before


@pytest.mark.slow
def test_dragging_moves_and_dragging_the_axis_zooms(opened):
    page = opened()
    page.locator(CHART).scroll_into_view_if_needed()
    box = page.locator(CHART).bounding_box()
    page.mouse.move(box["x"] + 0.5 * box["width"], box["y"] + 10)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.7 * box["width"], box["y"] + 12, steps=4)
    page.mouse.up()
    start, end = span(page)
    assert end - start == pytest.approx(0.2 * MAKESPAN, rel=0.15)
    page.mouse.move(box["x"] + 0.5 * box["width"], box["y"] + 40)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.3 * box["width"], box["y"] + 42, steps=4)
    page.mouse.up()
    moved = span(page)
    assert moved[0] - start == pytest.approx(0.2 * (end - start), rel=0.2)
    assert moved[1] - moved[0] == pytest.approx(end - start)


@pytest.mark.slow
def test_hostile_names_are_shown_as_they_are(opened):
    page = opened("hostile")
    page.locator(CHART).focus()
    page.keyboard.press("ArrowDown")
    sync_api.expect(page.locator(".gantt-readout")).to_contain_text(NASTY[0])  # it is written with the next picture
    assert HOSTILE in page.content().replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
    assert page.get_by_role("combobox", name="Configuration").locator("option").count() == 3
    assert page.evaluate("document.querySelectorAll('script').length") == 3
