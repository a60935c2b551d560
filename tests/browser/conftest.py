"""One browser for all pages, started once; pages are opened in silence."""

import os

import pytest

from tests.support.browser import ARGUMENTS, CHROMIUM, DESK


@pytest.fixture(scope="session")
def browser():
    sync_api = pytest.importorskip("playwright.sync_api", reason="needs the package playwright (pip)")
    root = ["--no-sandbox"] if os.geteuid() == 0 else []  # chromium refuses to run as root with its sandbox
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS + root)
        yield browser
        browser.close()


@pytest.fixture
def silently(browser):
    """`silently(path, size=..., **settings)` opens a page without a network.

    Afterwards nothing may have been said on the console or asked from anywhere.
    """
    heard, contexts = [], []

    def open_page(path, *, size=DESK, **settings):
        context = browser.new_context(viewport=size, offline=True, **settings)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: heard.append(message.text))
        page.on("pageerror", lambda error: heard.append(str(error)))
        page.on("request", lambda request: heard.append(request.url) if request.url != path.as_uri() else None)
        page.goto(path.as_uri())
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert heard == []
