"""What a computation keeps of its lone speed next to others: demand and sensitivity by level, and a law per domain.

A *sharing domain* is what some PEs share: a core, a cache, a memory channel, a clock. A computation is described by two
numbers for each level: its *demand*, what it takes there when it runs alone (bytes per second of a memory channel,
bytes of a cache), and its *sensitivity*, how much of its time hangs on it. A law says from the demands of the others
that compute at the same time what share of its lone speed it keeps: demands add up, so pairs and groups that were never
measured are predicted (as in Bubble-Up: Mars, Tang et al., MICRO 2011, with demands in place of bubbles).
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from simulator.base.arrays import Floats
from simulator.base.errors import ScenarioError
from simulator.models.doubt import Doubt

Kind = Literal["core", "cache", "memory", "clock"]
KINDS: tuple[Kind, ...] = get_args(Kind)
"""In the order in which shares of different kinds are multiplied."""
MOST_SOFTNESS = 64.0
"""Beyond it a law of bandwidth has a sharp edge."""


@dataclass(frozen=True)
class Use:
    """What one computation takes of one level when it runs alone, and how much of its time hangs on it."""

    demand: float
    """Bytes per second of a memory channel; bytes that it would hold of a cache; 1 for a core or a clock."""
    sensitivity: float
    """Memory channel: the part of its lone time that it waits for it, 0 to 1. Cache: what its time grows by, as a share
    of it, if it had nothing of that cache. Not looked at for a core or a clock."""

    def __post_init__(self) -> None:
        if not (0 <= self.demand < np.inf and 0 <= self.sensitivity < np.inf):
            found = f"demand {self.demand:g} and sensitivity {self.sensitivity:g}"
            raise ScenarioError(f"use: {found} are not both numbers of at least 0")


NO_USE = Use(0.0, 0.0)
BUSY = Use(1.0, 0.0)
"""Of a core or a clock."""


@dataclass(frozen=True)
class KernelUses:
    """What a kernel takes of each level over its problem size: straight lines over log(size), constant beyond."""

    sizes: Floats
    """Elements stored and processed, ascending; (K,)."""
    demands: Mapping[str, Floats]
    """By level: `memory`, or the name of a cache; (K,)."""
    sensitivities: Mapping[str, Floats]

    def at(self, level: str, size: float) -> Use:
        """Its use of one level at a problem size; nothing of a level that it does not name."""
        if level not in self.demands:
            return NO_USE
        where = np.log(max(size, 1e-300))
        demand, sensitivity = (
            float(np.interp(where, np.log(self.sizes), values[level])) for values in (self.demands, self.sensitivities)
        )
        return Use(demand, sensitivity)


@dataclass(frozen=True)
class ShareTable:
    """A core with siblings, or a clock: the share that each keeps by how many compute."""

    shares: tuple[float, ...]
    """When one computes (1), two, three ...; the last holds for more."""

    def __post_init__(self) -> None:
        if not self.shares or self.shares[0] != 1.0:
            raise ScenarioError("shares: the first share, of a PE that computes alone, has to be 1")
        if any(not 0 < share <= 1 for share in self.shares):
            raise ScenarioError("shares: each share has to be above 0 and at most 1: no neighbour speeds a PE up")
        if any(after > before for before, after in zip(self.shares, self.shares[1:], strict=False)):
            raise ScenarioError("shares: a share is above the one before it, and one more neighbour speeds no PE up")

    def kept(self, use: Use, others: ArrayLike) -> Floats:  # noqa: ARG002 - as the other laws are asked
        """Share of its lone speed next to so many others (straight lines between whole numbers); of their shape."""
        return np.asarray(np.interp(np.asarray(others, float), np.arange(len(self.shares)), self.shares))


@dataclass(frozen=True)
class Bandwidth:
    """A memory channel: what is asked for against what it delivers.

    With demands `u` of all and `d` of one alone, as parts of the capacity, its waiting is stretched by
    `((1 + u^k) / (1 + d^k))^(1/k)`: 1 alone; with a large softness exponent `k` the excess of demand over capacity,
    with a small one queues form before.
    """

    capacity: float
    """Bytes per second that all together get."""
    softness: float = 4.0
    """k, above 0."""
    lone: float | None = None
    """Bytes per second that one PE gets at most; the capacity if None."""

    def __post_init__(self) -> None:
        if not (0 < self.capacity < np.inf and 0 < self.softness < np.inf and (self.lone is None or self.lone > 0)):
            raise ScenarioError("bandwidth: capacity, softness and lone have to be numbers above 0")

    def kept(self, use: Use, others: ArrayLike) -> Floats:
        """Share of its lone speed that a use keeps against others' demands in bytes per second; of their shape."""
        own, exponent = use.demand / self.capacity, min(self.softness, MOST_SOFTNESS)
        together = own + np.asarray(others, float) / self.capacity
        logs = np.logaddexp(0.0, exponent * np.log(np.maximum(together, 1e-300)))
        alone = np.logaddexp(0.0, exponent * np.log(max(own, 1e-300)))
        stretch = np.exp((logs - alone) / exponent)
        return np.asarray(1 / (1 + min(use.sensitivity, 1.0) * (np.maximum(stretch, 1.0) - 1)))


@dataclass(frozen=True)
class Occupancy:
    """A cache: each of those that compute holds the part that its bytes are of all, if they do not all fit."""

    capacity: float
    """Bytes."""

    def __post_init__(self) -> None:
        if not 0 < self.capacity < np.inf:
            raise ScenarioError("capacity: a cache has to hold more than 0 bytes")

    def held(self, use: Use, others: ArrayLike) -> Floats:
        """Bytes of the cache that a use has next to others' bytes; of their shape."""
        together = np.maximum(use.demand + np.asarray(others, float), 1e-300)
        return np.asarray(np.minimum(use.demand, self.capacity * use.demand / together))

    def kept(self, use: Use, others: ArrayLike) -> Floats:
        """Share of its lone speed that a use keeps next to others' bytes; of their shape."""
        alone = min(use.demand, self.capacity)
        lost = 1 - self.held(use, others) / alone if alone > 0 else np.zeros(np.shape(others))
        return np.asarray(1 / (1 + use.sensitivity * np.maximum(lost, 0.0)))


Law = ShareTable | Bandwidth | Occupancy


@dataclass(frozen=True)
class SharingDomain:
    """PEs that share a core, a cache, a memory channel or a clock, and the law by which they do."""

    kind: Kind
    name: str
    """What it is called in outputs, such as `memory of node1`."""
    level: str
    """What uses name it by: the kind, or for a cache its level's name."""
    pes: tuple[int, ...]
    """Places in the platform, ascending."""
    law: Law
    doubt: Doubt | None = None
    """What is not known of the loss `1 / kept - 1` that the law says: the logarithm of its true value over it, over
    what the law says was lost. So a computation without neighbours has no doubt. None: nothing is doubted."""
    deviate: float = 0.0
    """Of one truth: the standard normal deviate of its losses, by `loss_doubt`."""
    loss_doubt: Doubt | None = None
    """Of one truth: the doubt that it was drawn from; None: losses are what the law says."""

    def drawn(self, deviate: float) -> "SharingDomain":
        """The domain in one truth, by a standard normal deviate."""
        return replace(self, doubt=None, deviate=deviate, loss_doubt=self.doubt)

    def truly(self, kept: Floats) -> Floats:
        """Shares that are kept where the law says these; of their shape."""
        if self.loss_doubt is None:
            return kept
        lost = 1 / kept - 1
        return np.asarray(1 / (1 + lost * self.loss_doubt.factor(lost, self.deviate)))
