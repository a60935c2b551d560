"""The what-if page in a browser: sliders by mouse and keyboard show what `points.csv` says; nothing leaves the page."""

import csv
import re

import pytest

from tests.support.browser import CHROMIUM, PHONE
from tests.support.made_up_sweeps import LATENCY, LINK, N, plan_of, swept_of, whatif_document
from tests.support.rendered import render_html

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="needs the Debian package chromium"),
]
NAMES = ("equal", "other")
SCALES = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Results of two fields, one point failed: report.html and points.csv, as `whatif -o` writes them."""
    import numpy as np

    folder = tmp_path_factory.mktemp("whatif")
    plan = plan_of(folder, f"{LINK}=x1,x2,x4", f"{LATENCY}=x1,/2,/4,/8")
    generator = np.random.default_rng(3)
    common = generator.normal(0, 0.01, 20)

    def makespans_s(point, name):
        down, across = divmod(point - 1, 4) if point else (0, 0)
        mean = 0.05 / (1 + down) + 0.004 / (1 + across) + (0.01 if name == "other" else 0)
        return mean * (1 + common + generator.normal(0, 0.003, 20))

    swept = swept_of(plan, makespans_s, names=NAMES, failed={6})
    swept.table.to_csv(folder / "points.csv", index=False)
    document = whatif_document(swept)
    (folder / "report.html").write_text(render_html(document), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def rows(folder):
    """`points.csv` by its fields and configuration; that of the base by its configuration."""
    with (folder / "points.csv").open(newline="") as stream:
        found = list(csv.DictReader(stream))
    base = {row["configuration"]: row for row in found if row["point"] == "0"}
    return base | {(row[LINK], row[LATENCY], row["configuration"]): row for row in found if row["point"] != "0"}


@pytest.fixture
def opened(silently, folder):
    return lambda **how: silently(folder / "report.html", **how)


def slider(page, name):
    return page.get_by_role("slider", name=name)


def shown(page):
    """Configuration -> cells of the table of the shown point."""
    found = page.get_by_role("table", name="The shown point, 90 % intervals").locator("tbody tr").all_inner_texts()
    return {line.split("\t")[0].split("\n")[0].strip(): line.split("\t")[1:] for line in found}


def agrees(text, wanted):
    """Whether what is written is that number, to the last digit written; seconds where a unit follows."""
    found = re.fullmatch(r"([−+]?)([\d.]+)(?: (s|ms|us|ns))?(?: \([−+]?[\d.]+ to [−+]?[\d.]+\))?", text.strip())
    scale = SCALES.get(found[3], 1.0)
    digits = len(found[2].partition(".")[2])
    value = float(found[2]) * scale * (-1 if found[1] == "−" else 1)
    return abs(value - wanted) <= 0.501 * scale * 10**-digits


def check_shown(page, rows, link, latency):
    table = shown(page)
    assert set(table) == set(NAMES)
    for name, cells in table.items():
        row, base = rows[link, latency, name], rows[name]
        assert agrees(cells[0], float(row["mean_s"])), (cells, row)
        assert agrees(cells[1], float(row["difference_mean_s"])), (cells, row)
        assert agrees(cells[2], float(base["mean_s"]) / float(row["mean_s"])), (cells, row)


def test_sliders_by_keyboard_show_what_the_table_of_results_says(opened, rows):
    page = opened()
    link, latency = slider(page, LINK), slider(page, LATENCY)
    assert link.get_attribute("aria-valuetext") == "1 Gbit/s (x1), as it is"
    assert latency.get_attribute("aria-valuetext") == "50 us (x1), as it is"
    check_shown(page, rows, "1 Gbit/s", "50 us")
    link.focus()
    page.keyboard.press("End")
    assert link.get_attribute("aria-valuetext") == "4 Gbit/s (x4)"
    check_shown(page, rows, "4 Gbit/s", "50 us")
    latency.focus()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    assert latency.get_attribute("aria-valuetext") == "12.5 us (/4)"
    check_shown(page, rows, "4 Gbit/s", "12.5 us")
    said = page.get_by_role("status").inner_text()
    ends = r"\([\d.]+ to [\d.]+\)"
    assert re.match(rf"equal: [\d.]+ ms {ends}; [\d.]+ {ends} times as fast as the base, pays; ", said)
    page.get_by_role("button", name="What pays most").click()
    check_shown(page, rows, "4 Gbit/s", "6.25 us")
    page.get_by_role("button", name="As it is").click()
    check_shown(page, rows, "1 Gbit/s", "50 us")


@pytest.mark.slow
def test_sliders_by_mouse_and_a_click_into_map_and_chart(opened, rows):
    page = opened()
    slider(page, LINK).scroll_into_view_if_needed()
    box = slider(page, LINK).bounding_box()
    page.mouse.move(box["x"] + 6, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, steps=4)
    page.mouse.up()
    assert slider(page, LINK).get_attribute("aria-valuetext") == "2 Gbit/s (x2)"
    check_shown(page, rows, "2 Gbit/s", "50 us")
    cells = page.locator(".map tbody td")
    assert cells.count() == 12
    assert page.locator(".map td[aria-current=true]").count() == 1
    cells.nth(8).click()
    check_shown(page, rows, "4 Gbit/s", "6.25 us")
    chart = page.get_by_role("img", name=f"Makespan along {LINK}")
    assert chart.locator("polyline").count() == len(NAMES)
    chart.scroll_into_view_if_needed()
    line = chart.bounding_box()
    page.mouse.click(line["x"] + 0.16 * line["width"], line["y"] + 40)
    check_shown(page, rows, "1 Gbit/s", "6.25 us")


@pytest.mark.slow
def test_a_failed_point_is_shown_as_such_with_its_reason(opened):
    page = opened()
    assert page.locator(".map td.failed").all_inner_texts() == ["failed"]
    page.locator(".map td.failed").click()
    assert page.get_by_role("status").inner_text() == f"This point failed: {N}: 0 found, more allowed"
    assert shown(page) == {}
    slider(page, LATENCY).focus()
    page.keyboard.press("ArrowRight")
    assert set(shown(page)) == set(NAMES)


def test_a_phone_shows_it_without_scrolling_sideways(opened):
    page = opened(size=PHONE)
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    assert slider(page, LINK).bounding_box()["width"] > 250
    text = page.locator(".line svg").evaluate(
        "svg => 11 * svg.getBoundingClientRect().width / svg.viewBox.baseVal.width"
    )
    assert text > 8
