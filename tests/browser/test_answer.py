"""Every kind of report opens with its answer, as words, as a picture and as a line to copy, on the first screen."""

import re

import pytest

from tests.support.answer_pages import KINDS, page
from tests.support.browser import CHROMIUM, colour, contrast
from tests.support.screenshot import LIMIT, PICTURE, take

sync_api = pytest.importorskip("playwright.sync_api", reason="needs the package playwright (pip)")
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="needs the Debian package chromium"),
]
WIDE, DESK, PHONE = {"width": 1440, "height": 900}, {"width": 1280, "height": 800}, {"width": 390, "height": 844}
SIZES = {"wide": WIDE, "desk": DESK, "phone": PHONE}
ROOM = 1.0
"""Pixels that a box may lie outside by rounding."""
FIRST = ("p.answer", ".top .facts", ".run .to-copy code", ".run button.copy", ".picture svg.figure")
"""What the first screen shows whole; of the figures a phone shows the first one."""
KNOWN = re.compile("predicted|measured|stated")
CUT = """all => all.flatMap(text => {
    const own = text.getBoundingClientRect(), whole = text.ownerSVGElement.getBoundingClientRect();
    const inside = own.left >= whole.left - 1.5 && own.right <= whole.right + 1.5 && own.bottom <= whole.bottom + 1.5;
    return inside ? [] : [text.textContent];
})"""


SCREENS = (("phone", "dark"), ("wide", "light"), ("desk", "dark"))
QUICK = ("cluster", "many", "quickstart")


@pytest.fixture
def opened(silently, tmp_path):
    """Open a kind's page."""

    def open_page(kind, *, size=DESK, **settings):
        path = tmp_path / f"{kind}.html"
        path.write_text(page(kind), encoding="utf-8")
        return silently(path, size=size, **settings)

    return open_page


def outside(found, selector, size):
    """Elements that the first screen does not show whole."""
    boxes = [one.bounding_box() for one in found.locator(selector).all()]
    assert boxes, f"there is no {selector}"
    return [
        (selector, box)
        for box in boxes
        if min(box["x"], box["y"]) < -ROOM
        or box["x"] + box["width"] > size["width"] + ROOM
        or box["y"] + box["height"] > size["height"] + ROOM
    ]


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=[] if kind in QUICK else pytest.mark.slow) for kind in KINDS]
)
def test_a_page_is_whole_on_screens_and_on_paper(opened, kind):
    found = opened(kind)
    check_first_screen(found)
    for size, scheme in SCREENS:
        found.set_viewport_size(SIZES[size])
        found.emulate_media(color_scheme=scheme)
        check_screen(found, size, scheme)
    check_paper(found)


def check_first_screen(found):
    """Answer, picture, line and what is predicted, measured or stated are on it."""
    for size in (PHONE, DESK):
        found.set_viewport_size(size)
        shown = [f"{one} >> nth=0" if size is PHONE else one for one in FIRST]
        assert [lost for selector in shown for lost in outside(found, selector, size)] == []
    assert KNOWN.search(found.locator(".top").inner_text())
    first_table = found.locator("table:visible").first
    if first_table.count():
        picture = found.locator(".picture").bounding_box()
        assert first_table.bounding_box()["y"] > picture["y"] + picture["height"], "the picture stands before any table"


def check_screen(found, size, scheme):
    assert found.evaluate("document.documentElement.scrollWidth") <= SIZES[size]["width"]
    assert found.eval_on_selector_all(".picture svg text", CUT) == []
    paper = colour(found, "body", "backgroundColor")
    assert (sum(paper) < 3 * 60) == (scheme == "dark")
    assert contrast(paper, colour(found, ".picture svg", "color")) > 7
    button = [colour(found, "button.copy", what) for what in ("backgroundColor", "color")]
    assert contrast(*button) > 4.5
    if size == "phone":
        letters = found.eval_on_selector_all(
            ".picture svg.figure",
            "all => all.map(svg => 10 * svg.getBoundingClientRect().width / svg.viewBox.baseVal.width)",
        )
        assert min(letters) > 7.5, "letters of a phone can be read"
    if size == "wide":
        figures = [one.bounding_box() for one in found.locator(".picture > div").all()]
        assert len(figures) == 1 or figures[0]["y"] == figures[1]["y"], "two columns stand side by side"


def check_paper(found):
    """The answer stands with its picture, and what is folded is open."""
    found.set_viewport_size({"width": 718, "height": 1000})
    found.evaluate("dispatchEvent(new Event('beforeprint'))")
    found.emulate_media(media="print", color_scheme="dark")
    assert found.locator(".picture svg.figure").first.is_visible()
    assert found.locator(".run .to-copy code").first.is_visible()
    assert not found.locator("button.copy").first.is_visible()
    assert found.locator("details:not([open])").count() == 0
    assert found.evaluate("document.documentElement.scrollWidth") <= 718, "A4 without its margins"
    assert sum(colour(found, "h1", "color")) < 3 * 60, "dark ink, though the screen is dark"


def test_a_line_is_copied_as_it_is_written(opened):
    found = opened("advise", permissions=["clipboard-read", "clipboard-write"])
    line = found.locator(".run .to-copy code").first.inner_text()
    assert re.fullmatch(r"mpirun --hostfile hostfile\.openmpi .* -n 2 PROGRAM", line)
    button = found.get_by_role("button", name=re.compile("^Copy: Open MPI 5")).first
    button.click()
    sync_api.expect(button).to_have_text("Copied")
    assert found.evaluate("navigator.clipboard.readText()") == line


def test_without_a_clipboard_the_line_is_selected_and_copied_by_hand(opened):
    found = opened("quickstart")
    found.evaluate("Object.defineProperty(navigator, 'clipboard', {value: undefined})")
    button = found.locator("button.copy").first
    button.click()
    sync_api.expect(button).to_have_text(re.compile("Copied|Press Ctrl"))
    assert found.evaluate("getSelection().toString()") == found.locator(".run .to-copy code").first.inner_text()


def test_without_scripts_the_line_can_be_selected_and_no_button_promises_more(opened):
    found = opened("cluster", java_script_enabled=False)
    assert found.locator(".run .to-copy code").first.is_visible()
    assert not found.locator("button.copy").first.is_visible()
    said = "1 warning: n07 is left out: ssh: connect to host n07 port 22: No ..."
    assert found.locator(".warnings summary").inner_text() == said


def test_a_screen_reader_is_told_who_gets_how_much(opened):
    found = opened("advise")
    figure = found.get_by_role("img", name="Who gets how much: rows")
    told = figure.locator("desc").text_content()
    assert re.search(r"core0: 1,252 rows equal split, 1,\d\d\d advised \([\d,.]+ k? ?rows/s, no load\)", told)
    assert found.get_by_role("group", name="Run it").count() == 1


def test_a_thousand_pes_are_gathered(opened):
    found = opened("many", size=PHONE)
    assert found.locator(".picture svg[aria-labelledby^=picture-1-1] path[style*='--ap-1']").count() <= 9
    assert "1000 PEs" in found.locator(".picture figcaption").first.inner_text()


@pytest.mark.slow
def test_the_picture_of_the_readme_is_made_again(browser, tmp_path):
    take(browser, page("advise"), tmp_path / "answer.png")
    made = (tmp_path / "answer.png").read_bytes()
    assert made.startswith(b"\x89PNG")
    assert len(made) < LIMIT
    assert PICTURE.stat().st_size < LIMIT
