"""One browser for all pages: it is started once."""

import os

import pytest

from tests.support.browser import ARGUMENTS, CHROMIUM


@pytest.fixture(scope="session")
def browser():
    sync_api = pytest.importorskip("playwright.sync_api", reason="needs the package playwright (pip)")
    root = ["--no-sandbox"] if os.geteuid() == 0 else []  # chromium refuses to run as root with its sandbox
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS + root)
        yield browser
        browser.close()
