"""Builders of sizes known in advance: 20 equidistant ones (speed-bands-gbbp, section 3), or halved rows of panels."""

from collections.abc import Sequence

import numpy as np

from simulator.calibration.bands.session import BudgetSpentError, Session, tell
from simulator.models.speed import Cut

POINTS = 20


def grid_sizes(smallest: float, largest: float) -> list[float]:
    """The grid's problem sizes in elements."""
    return [float(size) for size in np.linspace(smallest, largest, POINTS)]


def build_grid(session: Session) -> None:
    """Measure the grid, smallest size first; at a memory limit the last cut is (0, 0) by definition."""
    source = session.source
    sizes = grid_sizes(source.smallest, source.largest)
    if source.largest_is_memory_limit:
        session.cuts[sizes.pop()] = Cut(source.largest, 0.0, 0.0, 0.0)
        session.say("the cut at b is (0, 0): b is the memory limit")
    _measure_all(session, sizes, "grid")


def build_panels(session: Session, sizes: Sequence[float]) -> None:
    """Measure panels of so many columns at their rows halved again and again: the fewest, then all of them and down.

    Their sizes hardly differ, since each holds the same columns; so steps in size would miss what few rows cost.

    Parameters
    ----------
    sizes
        In elements, in any order.
    """
    few, *others = sorted(sizes)
    _measure_all(session, [few, *reversed(others)], "panel")


def _measure_all(session: Session, sizes: list[float], what: str) -> None:
    together = getattr(session.source, "measure_together", None)
    if together is not None and session.budget_s is None:  # a budget needs each point's cost before the next
        together(sizes)
    try:
        for size in sizes:
            session.say(f"{what}, {tell(session.measure(size))}")
    except BudgetSpentError:
        session.ended_early()
