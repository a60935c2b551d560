"""How objects draw themselves: the one way from them to `simulator.results.plots`, which comes after them."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw"]


def draw(name: str, *what: Any, **how: Any) -> "Axes":
    """Draw by a function of `simulator.results.plots`, found by its name when it is asked for; the axes drawn on."""
    axes: Axes = getattr(importlib.import_module("simulator.results.plots"), name)(*what, **how)
    return axes
