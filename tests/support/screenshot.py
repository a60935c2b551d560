"""The picture of an answer that README and tutorial show: made again by `python -m tests.support.screenshot`.

It is the first screen of the report of `apportion advise two-cores`, as Debian's Chromium shows it.
"""

import os
from pathlib import Path

from tests.support.answer_pages import page_of_advice
from tests.support.browser import ARGUMENTS, CHROMIUM

PICTURE = Path(__file__).parents[2] / "scenarios" / "tutorial" / "pictures" / "answer.png"
LIMIT = 150_000
"""Bytes of the picture."""
SIZE = {"width": 1180, "height": 620}


def take(browser, text: str, path: Path) -> None:
    """Write the answer of a page, its words, its run box and its picture, as PNG."""
    page = browser.new_page(viewport=SIZE, color_scheme="light")
    page.set_content(text)
    foot = page.locator(".picture").bounding_box()
    clip = {"x": 0, "y": 0, "width": SIZE["width"], "height": round(foot["y"] + foot["height"] + 20)}
    path.parent.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=path, clip=clip, full_page=True)
    page.close()


if __name__ == "__main__":
    from playwright.sync_api import sync_playwright

    root = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS + root)
        take(started, page_of_advice(replications=200, runs=4000), PICTURE)
        started.close()
