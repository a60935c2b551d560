"""What one would do without a model, with its estimate and how much longer it takes."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from advisor.advise.problem import Allocations, Floats
from advisor.advise.process_counts.regret import possible
from advisor.advise.process_counts.space import Space, SpaceAt
from simulator import ties


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


def baselines_of(here: SpaceAt, advised: Allocations, level: float) -> tuple[Baseline, ...]:
    """The baselines at one size, in order.

    - `one-per-pe`: every PE, one process on each;
    - `fastest-kind`, `fastest-pe`: one process on each PE of the fastest kind, or on one of them;
    - `speed-ratio`: every PE, processes in proportion to its speed, the slowest has one.

    Speeds are the model's, of PEs with one process among as many as there are PEs.
    """
    space, size, ends = here.space, here.size, (1 - level) / 2
    named = _allocations(space, size)
    told = np.isfinite(here.times_s(np.stack(list(named.values())))).tolist()
    both = space.wide(np.stack([advised, *(one for one, known in zip(named.values(), told, strict=True) if known)]))
    mine, members_s = space.model.estimate(size, both, level=level), possible(space.model.members(size, both))
    lows, highs = np.quantile(members_s / members_s[:, :1], (ends, 1 - ends), axis=0)
    found = []
    for name, known, place in zip(named, told, np.cumsum(told).tolist(), strict=True):
        if not known:
            found.append(Baseline(name, named[name], None, None))
            continue
        estimate = {"mean": mine.mean_s[place], "low": mine.low_s[place], "high": mine.high_s[place]}
        longer = {"mean": mine.mean_s[place] / mine.mean_s[0], "low": lows[place], "high": highs[place]}
        plain = [{key: float(value) for key, value in part.items()} for part in (estimate, longer)]
        found.append(Baseline(name, named[name], plain[0], plain[1]))
    return tuple(found)


def _allocations(space: Space, size: float) -> dict[str, Allocations]:
    """Each baseline; (kind, 2)."""
    counts, most = (np.array([getattr(kind, name) for kind in space.kinds]) for name in ("count", "most"))
    ones = np.ones_like(counts)
    speeds = _speeds(space, size, int(counts.sum()))
    only = (np.arange(counts.size) == ties.first_most(speeds)).astype(np.int64)
    ratio = np.clip(np.rint(speeds / speeds.min() * (1 + ties.SAME)), 1, most).astype(np.int64)
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
