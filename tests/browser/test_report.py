from pathlib import Path

import pytest

from tests.support.browser import CHROMIUM, DESK, PHONE, colour, contrast
from tests.support.rendered import render_html
from tests.support.report_sample import one_core_document, sample_document

sync_api = pytest.importorskip("playwright.sync_api", reason="needs the package playwright (pip)")
DOCUMENTS = {
    "full": sample_document,
    "many": lambda: sample_document(pes=12),
    "one core": one_core_document,
}

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="needs the Debian package chromium"),
]


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("reports")
    paths = {name: folder / f"{name}.html" for name in DOCUMENTS}
    for name, path in paths.items():
        path.write_text(render_html(DOCUMENTS[name]()), encoding="utf-8")
    return paths


@pytest.fixture
def opened(browser, files):
    """Open a report; afterwards, nothing may have been said on the console or asked from anywhere."""
    heard: list[str] = []
    contexts = []

    def open_report(name: str = "full", *, size: dict[str, int] = DESK, **settings) -> "sync_api.Page":
        context = browser.new_context(viewport=size, **settings)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: heard.append(message.text))
        page.on("pageerror", lambda error: heard.append(str(error)))
        page.on("request", lambda request: heard.append(request.url) if request.url != files[name].as_uri() else None)
        page.goto(files[name].as_uri())
        return page

    yield open_report
    for context in contexts:
        context.close()
    assert heard == []


def test_a_phone_shows_figures_whole_with_text_that_can_be_read(opened):
    page = opened(size=PHONE)
    sizes = page.eval_on_selector_all(
        "svg.figure", "all => all.map(svg => 11 * svg.getBoundingClientRect().width / svg.viewBox.baseVal.width)"
    )
    assert len(sizes) == 7
    assert min(sizes) > 8


@pytest.mark.slow
def test_tables_fit_a_desk_without_scrolling(opened):
    page = opened(size=DESK)
    cut = page.eval_on_selector_all(
        ".pair .scroll", "all => all.filter(e => e.scrollWidth > e.clientWidth).map(e => e.innerText.slice(0, 40))"
    )
    assert cut == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.slow
def test_text_and_lines_stand_out_in_light_and_dark(opened, scheme):
    page = opened(color_scheme=scheme)
    paper = colour(page, "body", "backgroundColor")
    assert (sum(paper) < 3 * 60) == (scheme == "dark")
    for selector in ("body", "figcaption", ".kicker", ".facts dt", "thead th", "svg text"):
        what = "fill" if selector == "svg text" else "color"
        assert contrast(paper, colour(page, selector, what)) > 4.5, selector
    assert contrast(paper, colour(page, ".warnings.fine h2", "color")) > 4.5
    page.eval_on_selector(".warnings", "box => box.classList.remove('fine')")  # as where it is not usable
    assert contrast(colour(page, ".warnings", "backgroundColor"), colour(page, ".warnings h2", "color")) > 4.5
    for index in range(1, 7):
        page.evaluate(f"document.body.style.outlineColor = 'var(--ap-{index})'")
        assert contrast(paper, colour(page, "body", "outlineColor")) > 3, f"series {index}"


@pytest.mark.slow
def test_figures_take_their_colours_from_the_page(opened):
    bar = "svg[aria-labelledby^=timeline] path[style*='--ap-1']"
    shown = {scheme: colour(opened(color_scheme=scheme), bar, "fill") for scheme in ("light", "dark")}
    assert shown["light"] == (0, 114, 178)
    assert shown["dark"] == (92, 179, 236)


def test_a_screen_reader_finds_headings_figures_and_tables(opened):
    page = opened()
    assert page.get_by_role("heading", level=1).count() == 1
    assert page.get_by_role("heading", level=2).count() == 9
    names = [
        "Speed of each kernel by problem size",
        "Background load over time",
        "Timeline of one replication",
        "Predicted makespan of each strategy",
        "Predicted against measured makespan",
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


@pytest.mark.slow
def test_paper_shows_what_the_screen_folds_away(opened):
    page = opened(color_scheme="dark")
    hidden = page.get_by_text("Version of numpy")
    assert not hidden.is_visible()
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    assert hidden.is_visible()
    assert colour(page, "h1", "color") == (27, 31, 36), "dark ink, though the screen is dark"
    page.emulate_media(media="screen")
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert not hidden.is_visible()


def test_a_foreign_script_does_not_run(browser, tmp_path):
    document = sample_document()
    text = render_html(document).replace("</main>", "<script>document.title = 'owned'</script></main>")
    path = tmp_path / "report.html"
    path.write_text(text, encoding="utf-8")
    page = browser.new_page()
    page.goto(path.as_uri())
    assert page.title().endswith("Apportion quickstart")
    page.close()
