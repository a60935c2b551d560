"""Which fields of a scenario can be bought or chosen: changes of these may pay, others are the question itself."""

from typing import Any

from simulator.programs.applications import CHOSEN

_OF_PLATFORM = ("doubt", "noise", "source", "sizes", "sizes_bytes", "knots_bytes", "columns", "name", "notes", "uses")
"""What describes how something was measured, or what it is called; a platform is bought, these are not."""


def can_be_chosen(path: str, application: Any) -> bool:
    """Whether somebody who runs an application may change the field at a path, and still solve the same problem.

    Parts of the platform may: its links, speeds, cores, memory, PEs and the load of own jobs; and configurations, and
    parameters that say how the problem is solved. The problem's size, its iterations, and what decides draws may not.
    """
    first, *rest = path.split(".")
    if first == "platform":
        return not set(rest) & set(_OF_PLATFORM)
    if first == "application":
        return rest[:1] == ["parameters"] and rest[-1] in CHOSEN.get(str(application), ())
    return first == "configurations"
