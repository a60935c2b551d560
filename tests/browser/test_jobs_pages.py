"""The pages of `jobs compare` and `jobs advise` in Chromium: silent, nothing fetched, whole on a phone."""

import pytest

from advisor.report.pages import render_html
from tests.support.browser import CHROMIUM, DESK, PHONE
from tests.support.jobs_documents import advised, compared

sync_api = pytest.importorskip("playwright.sync_api", reason="needs the package playwright (pip)")
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="needs the Debian package chromium"),
]


@pytest.mark.parametrize("size", [PHONE, DESK], ids=["phone", "desk"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(("made", "figures"), [(compared, 1), (advised, 1)])
def test_a_page_is_whole_and_silent(browser, tmp_path, made, figures, size, scheme):
    path, heard = tmp_path / "report.html", []
    path.write_text(render_html(made()), encoding="utf-8")
    page = browser.new_page(viewport=size, color_scheme=scheme)
    page.on("console", lambda message: heard.append(message.text))
    page.on("pageerror", lambda error: heard.append(str(error)))
    page.on("request", lambda request: heard.append(request.url) if request.url != path.as_uri() else None)
    page.goto(path.as_uri())
    page.eval_on_selector_all("details", "all => all.forEach(details => details.open = true)")
    assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]
    assert page.locator("svg.figure").count() == figures
    assert page.locator("p.answer").is_visible()
    inside = """all => all.every(text => {
        const own = text.getBoundingClientRect(), whole = text.ownerSVGElement.getBoundingClientRect()
        return own.left >= whole.left - 1 && own.right <= whole.right + 1
    })"""
    assert page.eval_on_selector_all("svg.figure text", inside), "a label is cut off"
    page.close()
    assert heard == []
