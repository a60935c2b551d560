"""What a test leaves running."""

import psutil

TRACKER = "multiprocessing.resource_tracker"
"""Python's own helper, which stays until the process that first shared a lock ends."""


def relatives():
    """Numbers of the children of the test's own process, and of theirs, that have not ended."""
    return [child.pid for child in psutil.Process().children(recursive=True) if _lives(child)]


def _lives(child):
    try:
        return child.status() != psutil.STATUS_ZOMBIE and TRACKER not in " ".join(child.cmdline())
    except psutil.NoSuchProcess:
        return False


def without_progress(errors):
    """The lines of standard error that do not say how far a search, a sweep or a measurement is."""
    said = (" runs in ", " points, about ", " % after ")
    return [line for line in errors.splitlines() if not any(words in line for words in said)]
