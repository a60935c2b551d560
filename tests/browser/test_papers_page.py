"""The page of `reproduce all` in Chromium: a silent console, no request leaves, readable on a phone and in the dark."""

import shutil

import pytest

from advisor.cli import _run

sync_api = pytest.importorskip("playwright.sync_api", reason="needs the package playwright (pip)")
CHROMIUM = shutil.which("chromium")
PHONE, DESK = {"width": 360, "height": 740}, {"width": 1180, "height": 900}

pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="needs the Debian package chromium"),
]


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    folder = tmp_path_factory.mktemp("papers")
    assert _run(["lab", "reproduce", "all", "-o", str(folder)]) == 0
    return folder / "report.html"


@pytest.fixture
def opened(browser, report):
    """Open the page; afterwards, nothing may have been said on the console or asked from anywhere."""
    heard, contexts = [], []

    def open_page(**settings):
        context = browser.new_context(**settings)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: heard.append(message.text))
        page.on("pageerror", lambda error: heard.append(str(error)))
        page.on("request", lambda request: heard.append(request.url) if request.url != report.as_uri() else None)
        page.goto(report.as_uri())
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert heard == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_table_opens_and_tells_why(opened, scheme):
    page = opened(viewport=DESK, color_scheme=scheme)
    assert page.get_by_role("heading", level=1).count() == 1
    fold = page.locator("details", has=page.locator("summary", has_text="Table 13"))
    fold.locator("summary").click()
    assert fold.locator("table").is_visible()
    assert "confidence / prediction interval" in fold.inner_text()
    text = page.locator("section", has_text="Not reproduced, and why").last.inner_text()
    assert "UltraSparc" in text
    assert "class" in text.lower()
    assert page.locator("svg.figure").count() >= 4


def test_it_is_small_enough_to_send(report):
    assert report.stat().st_size < 1.5e6
