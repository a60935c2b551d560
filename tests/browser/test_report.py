import pytest

from tests.support.browser import CHROMIUM, PHONE
from tests.support.rendered import render_html
from tests.support.report_sample import sample_document

sync_api = pytest.importorskip("playwright.sync_api", reason="needs the package playwright (pip)")
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="needs the Debian package chromium"),
]


@pytest.fixture
def opened(silently, tmp_path):
    (tmp_path / "report.html").write_text(render_html(sample_document()), encoding="utf-8")
    return lambda **how: silently(tmp_path / "report.html", **how)


def test_a_phone_shows_figures_whole_with_text_that_can_be_read(opened):
    page = opened(size=PHONE)
    sizes = page.eval_on_selector_all(
        "svg.figure", "all => all.map(svg => 11 * svg.getBoundingClientRect().width / svg.viewBox.baseVal.width)"
    )
    assert len(sizes) == 5
    assert min(sizes) > 8


def test_a_screen_reader_finds_headings_figures_and_tables(opened):
    page = opened()
    assert page.get_by_role("heading", level=1).count() == 1
    assert page.get_by_role("heading", level=2).count() == 7
    names = [
        "Speed of each kernel by problem size",
        "Background load over time",
        "Predicted makespan of each strategy",
        "Predicted against measured",
    ]
    assert all(page.get_by_role("img", name=name).count() == 1 for name in names)
    assert page.get_by_role("table", name="Predicted makespan", exact=True).count() == 1
    assert page.get_by_role("rowheader", name="functional recommended").count() == 2
    assert page.get_by_role("columnheader", name="faster in").count() == 1


def test_a_keyboard_reaches_what_is_folded_and_what_scrolls(opened):
    page = opened(size=PHONE)
    reached = set()
    for _ in range(24):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.tagName + '.' + document.activeElement.className"))
    assert {"DIV.scroll", "SUMMARY."} <= reached


def test_a_foreign_script_does_not_run(browser, tmp_path):
    document = sample_document()
    text = render_html(document).replace("</main>", "<script>document.title = 'owned'</script></main>")
    path = tmp_path / "report.html"
    path.write_text(text, encoding="utf-8")
    page = browser.new_page()
    page.goto(path.as_uri())
    assert page.title().endswith("Apportion quickstart")
    page.close()
