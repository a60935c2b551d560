"""What one would do without a model, with its estimate and how much longer it takes."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from advisor.allocation.space import Space
from advisor.problem import Allocations, Floats


@dataclass(frozen=True)
class Baseline:
    """A naive configuration beside the advised one."""

    name: str
    allocation: Allocations
    """(kind, 2)."""
    estimate_s: tuple[float, float, float]
    """Mean, lower and upper end of the interval."""
    times_longer: tuple[float, float, float]
    """Times as long as the advised one: by the estimates, and the interval over the model's members, paired."""
    fits: bool
    """Whether memory holds it."""

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        keys = ("mean", "low", "high")
        return {
            "estimate_s": dict(zip(keys, self.estimate_s, strict=True)),
            "times_longer": dict(zip(keys, self.times_longer, strict=True)),
            "fits": self.fits,
        }


def baselines_of(space: Space, size: float, advised: Allocations, level: float) -> tuple[Baseline, ...]:
    """The baselines, in order.

    - `one-per-pe`: every PE, one process on each;
    - `fastest-kind`, `fastest-pe`: one process on each PE of the fastest kind, or on one of them;
    - `speed-ratio`: every PE, processes in proportion to its speed, the slowest has one.

    Speeds are the model's, of PEs with one process among as many as there are PEs.
    """
    named = _allocations(space, size)
    both = space.wide(np.stack([advised, *named.values()]))
    estimates, members_s = space.model.estimate(size, both, level=level), space.model.members(size, both)
    fits = np.isfinite(space.times_s(space.problem(size), both[:, list(space.places)]))
    ends = (1 - level) / 2
    found = []
    for place, (name, allocation) in enumerate(named.items(), 1):
        low, high = np.quantile(members_s[:, place] / members_s[:, 0], (ends, 1 - ends))
        ratio = float(estimates.mean_s[place] / estimates.mean_s[0])
        estimate = tuple(float(part[place]) for part in (estimates.mean_s, estimates.low_s, estimates.high_s))
        longer = ratio, float(low), float(high)
        found.append(Baseline(name, allocation, (estimate[0], estimate[1], estimate[2]), longer, bool(fits[place])))
    return tuple(found)


def _allocations(space: Space, size: float) -> dict[str, Allocations]:
    """Each baseline; (kind, 2)."""
    counts, most = (np.array([getattr(kind, name) for kind in space.kinds]) for name in ("count", "most"))
    ones = np.ones_like(counts)
    speeds = _speeds(space, size, int(counts.sum()))
    only = (np.arange(counts.size) == int(np.argmax(speeds))).astype(np.int64)
    ratio = np.clip(np.rint(speeds / speeds.min()), 1, most).astype(np.int64)
    pairs = {
        "one-per-pe": (counts, ones),
        "fastest-kind": (only * counts, only),
        "fastest-pe": (only, only),
        "speed-ratio": (counts, ratio),
    }
    return {name: np.stack(pair, axis=1) for name, pair in pairs.items()}


def _speeds(space: Space, size: float, processes: int) -> Floats:
    """Shares per second of a PE of each kind with one of so many processes; (kind,)."""
    most = [1] * len(space.model.kinds)
    times_s = space.model.tables(size, most, processes).pe_s[list(space.places), 0, processes]
    usable = np.isfinite(times_s) & (times_s > 0)
    return np.asarray(1 / np.where(usable, times_s, times_s[usable].max() if usable.any() else 1.0))
