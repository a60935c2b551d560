"""What a sweep found, as arrays, and points against each other: gains, differences, products of means."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from advisor.results import Ends
from advisor.whatif.advised import PointAdvice
from simulator import documents, intervals, ties
from simulator.experiments.sweep import Swept, configurations_of, more_truths, reached, reaches_s

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Said:
    """What a point's document says but for makespans."""

    advice: PointAdvice | None = None
    rates: Mapping[str, float] = field(default_factory=dict)
    """What a second of all PEs costs, and what they draw, where each says so."""
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Outcomes:
    """Makespans of a sweep."""

    names: tuple[str, ...]
    """Configurations, those of the base first."""
    makespans_s: Floats
    """(point, configuration, replication); NaN where there is no answer."""
    reach_s: Floats
    """(point, configuration); what intervals of means reach to, NaN where that is not said."""
    means_s: Floats
    """(point, configuration)."""
    best: NDArray[np.int64]
    """The configuration with the least mean at each point, -1 where the point has no answer; (point,)."""
    said: tuple["Said", ...]
    """What each point's document says but for makespans."""
    deterministic: bool
    """Whether nothing was drawn at any point: one replication then tells all."""
    truths: NDArray[np.int64] | None
    """Number of the truth of each replication, (replication,); None where nothing is doubted at any point."""
    level: float
    """How often stated intervals hold."""

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

    def gains(self, base: Any, others: Any, own: int | None = None, *, comparisons: int = 1) -> list[Ends]:
        """How many times longer a point, or each of some, takes than each of the others, by paired replications.

        `own`: the configuration that is compared, by default the best of each point.
        `comparisons`: how many are made: all of their intervals hold together with the level (Bonferroni).
        """
        base_s, others_s, base_reach_s, reach_s = self.compared(base, others, own)
        held = together(self.level, comparisons)
        found = intervals.of_ratio(base_s, others_s, self.truths, level=held, deterministic=self.deterministic)
        found = found.reaching(base_reach_s / reach_s)
        return _rows(np.mean(base_s, axis=-1) / np.mean(others_s, axis=1), found)

    def differences(self, base: Any, others: Any) -> list[Ends]:
        """How much longer each of the others takes than a point, in the mean of paired replications."""
        base_s, others_s, base_reach_s, reach_s = self.compared(base, others)
        found = intervals.of_difference(
            base_s, others_s, self.truths, level=self.level, deterministic=self.deterministic
        )
        found = found.reaching(reach_s - base_reach_s)
        return _rows(np.mean(others_s, axis=1) - np.mean(base_s, axis=-1), found)

    def compared(self, base: Any, others: Any, own: int | None = None) -> tuple[Floats, Floats, Floats, Floats]:
        """Makespans of both, and what their means reach to where either of them does."""
        places = [(points, self.best[points] if own is None else own) for points in (base, others)]
        times = [self.makespans_s[place] for place in places]
        reach = [self.reach_s[place] for place in places]
        return *times, reached(times[0], *reach), reached(times[1], *reversed(reach))


def outcomes_of(swept: Swept) -> Outcomes:
    """The makespans of a sweep."""
    points = swept.plan.points
    found: dict[int, dict[str, Floats]] = {}
    reach: dict[int, dict[str, float]] = {}
    said: list[Said] = []
    deterministic, count = True, None
    for number, point in enumerate(points):
        document = swept.documents.get(point.hash, {})  # once each: they may be read from a disk
        if document:
            found[number], reach[number] = configurations_of(document), reaches_s(document)
            deterministic &= document.get("deterministic") is True
            count = more_truths(count, document.get("truths"))
        kept = {key: document[key] for key in ("advice", "rates", "warnings") if key in document}
        said.append(documents.read(Said, kept))
    names = tuple(dict.fromkeys(name for times in found.values() for name in times))
    makespans_s = np.full((len(points), len(names), swept.plan.replications), np.nan)
    reach_s = np.full(makespans_s.shape[:2], np.nan)
    for number, times in found.items():
        for name, row in times.items():
            makespans_s[number, names.index(name)] = row
            reach_s[number, names.index(name)] = reach[number][name]
    means_s = np.mean(makespans_s, axis=2)
    best = np.full(len(points), -1)
    some = np.flatnonzero(~np.all(np.isnan(means_s), axis=1))
    if some.size:
        best[some] = np.argmax(ties.near_least(means_s[some], axis=1), axis=1)
    truths = None if count is None else np.arange(swept.plan.replications) % count
    return Outcomes(names, makespans_s, reach_s, means_s, best, tuple(said), deterministic, truths, swept.plan.level)


def times(ends: Ends, factor: float) -> Ends:
    """So many times a value and the ends of its interval."""
    return Ends(*(None if end is None else factor * end for end in (ends.mean, ends.low, ends.high)))


def together(level: float, comparisons: int) -> float:
    """How often each of so many intervals has to hold for all to hold at once."""
    return 1 - (1 - level) / max(1, comparisons)


def _rows(means: Floats, found: intervals.Interval) -> list[Ends]:
    """One per row; ends are None where replications are too few to tell."""
    columns = (np.asarray(values).tolist() for values in (means, found.low, found.high))
    return [Ends(*(None if np.isnan(value) else value for value in row)) for row in zip(*columns, strict=True)]
