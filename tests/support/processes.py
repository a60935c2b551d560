"""What a test leaves running."""

import psutil

STAYING = ("multiprocessing.resource_tracker", "chromium", "playwright")
"""Python's own helper, which stays until the process that first shared a lock ends; the browser of all pages."""


def relatives():
    """Numbers of the children of the test's own process, and of theirs, that have not ended."""
    return [child.pid for child in psutil.Process().children(recursive=True) if _lives(child)]


def _lives(child):
    try:
        words = " ".join(child.cmdline())
        return child.status() != psutil.STATUS_ZOMBIE and not any(one in words for one in STAYING)
    except psutil.NoSuchProcess:
        return False


def without_progress(errors):
    """The lines of standard error that do not say how far a search, a sweep or a measurement is."""
    said = (" runs in ", " points, about ", " % after ")
    return [line for line in errors.splitlines() if not any(words in line for words in said)]
