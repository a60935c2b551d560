"""What a launcher's answer says of a run that did not go well."""

from collections.abc import Mapping
from typing import Any


def failure(answer: Mapping[str, Any], *, limit_s: float, memory_bytes: float | None = None) -> str | None:
    """Why a run is of no use, None if it is.

    Parameters
    ----------
    answer
        What `launcher.run_once` returned.
    limit_s
        The time it had.
    memory_bytes
        What it was allowed, to tell a silent end at that limit.
    """
    if "failed" in answer:
        return str(answer["failed"])
    if answer["timed_out"]:
        return f"no end within {limit_s:g} s, stopped with all that it started"
    status = answer["status"]
    if not status:
        return None
    ended = f"ended by signal {-status}" if status < 0 else f"ended with exit status {status}"
    reached = memory_bytes is not None and answer["peak_bytes"] >= 0.9 * memory_bytes
    return f"{ended}: {answer['said'] or ('out of memory' if reached else 'no message')}"
