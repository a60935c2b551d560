"""Memory regimes: which bin a run falls into by the bytes that its processes hold on a PE."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from simulator.base.errors import ScenarioError
from simulator.models.process_count.runs import Ints


@dataclass(frozen=True)
class MemoryRegimes:
    """Thresholds of the memory in use on one PE, for one model below and one above each (section 3.4).

    A problem of size N takes `coefficient * N**power` bytes, of which a PE with m of P processes holds m/P. Where
    several PEs share a node's memory, a PE's threshold is its part of the node's.
    """

    thresholds_bytes: tuple[tuple[float, ...], ...]
    """Of each kind, ascending."""
    coefficient: float = 8.0
    power: float = 2.0

    def __post_init__(self) -> None:
        faults = [
            f"regimes: thresholds {thresholds} found, above 0 and ascending allowed"
            for thresholds in self.thresholds_bytes
            if any(not 0 < x < np.inf for x in thresholds) or list(thresholds) != sorted(set(thresholds))
        ]
        for name, value in (("coefficient", self.coefficient), ("power", self.power)):
            if not 0 < value < np.inf:
                faults.append(f"regimes: {name}: {value!r} found, above 0 allowed")
        if faults:
            raise ScenarioError(faults)

    @classmethod
    def at_sizes(cls, kinds: int, sizes: Sequence[float]) -> "MemoryRegimes":
        """Regimes of all kinds that change at the problem sizes at which one PE holds the whole of them."""
        return cls((tuple(8.0 * float(size) ** 2 for size in sizes),) * kinds)

    @property
    def count(self) -> int:
        """Most regimes that a kind has."""
        return 1 + max((len(thresholds) for thresholds in self.thresholds_bytes), default=0)

    def regime(self, size: ArrayLike, kind: Sequence[int] | Ints, share: ArrayLike) -> Ints:
        """Number of the regime, 0 below the first threshold; arrays that broadcast.

        Parameters
        ----------
        size
            Problem size N.
        kind
            Index of the kind.
        share
            m/P, the share of the problem that a PE holds.
        """
        held = self.coefficient * np.asarray(size, float) ** self.power * np.asarray(share, float)
        edges = np.full((len(self.thresholds_bytes), max(self.count - 1, 1)), np.inf)
        for row, thresholds in zip(edges, self.thresholds_bytes, strict=True):
            row[: len(thresholds)] = thresholds
        return np.asarray((held[..., np.newaxis] > edges[np.asarray(kind)]).sum(axis=-1))
