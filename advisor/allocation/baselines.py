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
    estimate_s: dict[str, float] | None
    """`mean`, `low`, `high`; None where memory does not hold it or the model does not know it."""
    times_longer: dict[str, float] | None
    """Times as long as the advised one: by the estimates, and the interval over the model's members, paired."""

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {"estimate_s": self.estimate_s, "times_longer": self.times_longer}


def baselines_of(space: Space, size: float, advised: Allocations, level: float) -> tuple[Baseline, ...]:
    """The baselines, in order.

    - `one-per-pe`: every PE, one process on each;
    - `fastest-kind`, `fastest-pe`: one process on each PE of the fastest kind, or on one of them;
    - `speed-ratio`: every PE, processes in proportion to its speed, the slowest has one.

    Speeds are the model's, of PEs with one process among as many as there are PEs.
    """
    named, here, ends = _allocations(space, size), space.at(size), (1 - level) / 2
    found = []
    for name, allocation in named.items():
        if not np.isfinite(here.times_s(allocation[np.newaxis])[0]):
            found.append(Baseline(name, allocation, None, None))
            continue
        both = space.wide(np.stack([advised, allocation]))
        mine, members_s = space.model.estimate(size, both, level=level), space.model.members(size, both)
        low, high = np.quantile(members_s[:, 1] / members_s[:, 0], (ends, 1 - ends)).tolist()
        estimate = {"mean": float(mine.mean_s[1]), "low": float(mine.low_s[1]), "high": float(mine.high_s[1])}
        longer = {"mean": float(mine.mean_s[1] / mine.mean_s[0]), "low": low, "high": high}
        found.append(Baseline(name, allocation, estimate, longer))
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
