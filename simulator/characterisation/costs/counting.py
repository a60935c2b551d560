"""How often a function of ours uses each operation, by every method: its graph evaluated at sizes."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from simulator.characterisation.costs.observations import Counts
from simulator.characterisation.derive.arguments import of_sizes
from simulator.characterisation.derive.derivation import Derived, derive_seg
from simulator.programs.graphs.evaluate import total_ruv, used_methods
from simulator.programs.graphs.nodes import Seg

PROFILE_LIMIT_S = 20.0
"""Longest that one profiled run may take."""


def derive_sized(
    function: Callable[..., Any], make: Callable[[int], tuple[Any, ...]], *, n: int, points: Sequence[int]
) -> Derived:
    """The graph of a function of ours whose arguments one n gives, counted at some n."""
    return derive_seg(function, of_sizes(make, n, points=points), limit_s=PROFILE_LIMIT_S, here=True)


def counts_at(seg: Seg, values: Mapping[str, float]) -> Counts:
    """Total amounts of every operation at one set of values, by each method that the graph has."""
    found = {}
    for method in used_methods(seg):
        totals = total_ruv(seg, method, values)
        found[method] = {
            name: float(amount) for name, amount in zip(totals.operations, totals.amounts, strict=True) if amount
        }
    return found
