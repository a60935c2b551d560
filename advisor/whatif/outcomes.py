"""What a sweep found, as arrays: makespans of each point and configuration, and which configuration is best there."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simulator import ties
from simulator.experiments.sweep import Swept, configurations_of, more_truths

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Outcomes:
    """Makespans of a sweep."""

    names: tuple[str, ...]
    """Configurations, those of the base first."""
    makespans_s: Floats
    """(point, configuration, replication); NaN where there is no answer."""
    means_s: Floats
    """(point, configuration)."""
    best: NDArray[np.int64]
    """The configuration with the least mean at each point, -1 where the point has no answer; (point,)."""
    told: tuple[Mapping[str, Any], ...]
    """What each point's document says beside makespans: `advice`, `rates`, `warnings`; per point."""
    deterministic: bool
    """Whether nothing was drawn at any point: one replication then tells all."""
    truths: NDArray[np.int64] | None
    """Number of the truth of each replication, (replication,); None where nothing is doubted at any point."""
    level: float
    """How often stated intervals hold."""

    @property
    def how(self) -> dict[str, Any]:
        """What those who state intervals of these makespans are told."""
        return {"truths": self.truths, "level": self.level, "deterministic": self.deterministic}

    @property
    def truth_count(self) -> int | None:
        """How many truths the replications share; None where nothing is doubted."""
        return None if self.truths is None else int(self.truths.max()) + 1

    @property
    def answered(self) -> NDArray[np.int64]:
        """Points that have an answer."""
        return np.flatnonzero(self.best >= 0)

    def own_s(self, points: NDArray[np.int64]) -> Floats:
        """Makespans of some points that have an answer, each under its own best configuration; (point, replication)."""
        return np.asarray(self.makespans_s[points, self.best[points]])

    def mean_s(self, point: int) -> float:
        """Mean makespan of a point under its best configuration."""
        return float(self.means_s[point, self.best[point]])


def outcomes_of(swept: Swept) -> Outcomes:
    """The makespans of a sweep."""
    points = swept.plan.points
    found: dict[int, dict[str, Floats]] = {}
    told: list[dict[str, Any]] = []
    deterministic, count = True, None
    for number, point in enumerate(points):
        document = swept.documents.get(point.hash, {})  # once each: they may be read from a disk
        if document:
            found[number] = configurations_of(document)
            deterministic &= document.get("deterministic") is True
            count = more_truths(count, document.get("truths"))
        told.append({key: document[key] for key in ("advice", "rates", "warnings") if key in document})
    names = tuple(dict.fromkeys(name for times in found.values() for name in times))
    makespans_s = np.full((len(points), len(names), swept.plan.replications), np.nan)
    for number, times in found.items():
        for name, row in times.items():
            makespans_s[number, names.index(name)] = row
    means_s = np.mean(makespans_s, axis=2)
    best = np.full(len(points), -1)
    some = np.flatnonzero(~np.all(np.isnan(means_s), axis=1))
    if some.size:
        best[some] = np.argmax(ties.near_least(means_s[some], axis=1), axis=1)
    truths = None if count is None else np.arange(swept.plan.replications) % count
    return Outcomes(names, makespans_s, means_s, best, tuple(told), deterministic, truths, swept.plan.level)
