"""Software execution graphs, what counts operations in source, intermediate and machine code, and what costs them."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from simulator.characterisation.seg.check import check
    from simulator.characterisation.seg.evaluate import Totals, expected_time, total_ruv, used_methods, visits
    from simulator.characterisation.seg.nodes import Branch, Call, Graph, Loop, Processing, Seg, Sequence
    from simulator.characterisation.seg.text import timing_formula, timing_formulas

_HOMES = {
    "Branch": "simulator.characterisation.seg.nodes",
    "Call": "simulator.characterisation.seg.nodes",
    "Graph": "simulator.characterisation.seg.nodes",
    "Loop": "simulator.characterisation.seg.nodes",
    "Processing": "simulator.characterisation.seg.nodes",
    "Seg": "simulator.characterisation.seg.nodes",
    "Sequence": "simulator.characterisation.seg.nodes",
    "Totals": "simulator.characterisation.seg.evaluate",
    "check": "simulator.characterisation.seg.check",
    "expected_time": "simulator.characterisation.seg.evaluate",
    "timing_formula": "simulator.characterisation.seg.text",
    "timing_formulas": "simulator.characterisation.seg.text",
    "total_ruv": "simulator.characterisation.seg.evaluate",
    "used_methods": "simulator.characterisation.seg.evaluate",
    "visits": "simulator.characterisation.seg.evaluate",
}
"""Public name -> the module that it comes from."""

__all__ = [
    "Branch",
    "Call",
    "Graph",
    "Loop",
    "Processing",
    "Seg",
    "Sequence",
    "Totals",
    "check",
    "expected_time",
    "timing_formula",
    "timing_formulas",
    "total_ruv",
    "used_methods",
    "visits",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)
