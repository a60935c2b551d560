"""Models of process counts that are known: by coefficients, with equally likely truths around them, and by tables."""

from dataclasses import dataclass

import numpy as np

from simulator import randomness
from simulator.calibration import AllocationFit
from simulator.models import AllocationRuns, Estimates

MEMBERS = 20


@dataclass(frozen=True)
class KnownModel:
    """A PE computes N**3/speed x m/P + m x set-up; messages take P x latency + N**2 x gap where P > 1."""

    kinds: tuple[str, ...]
    speeds: tuple[float, ...]
    setup_s: float = 1e-3
    latency_s: float = 2e-3
    gap_s: float = 1e-8
    spread: float = 0.0
    """Relative standard deviation of each kind's speed among the members."""
    warnings: tuple[str, ...] = ()
    wild: int | None = None
    """Seed of a factor that each (kind, m, P) has."""
    own: tuple[tuple[tuple[tuple[int, int], ...], float], ...] = ()
    """Configurations that take so many times as long as the rest says."""

    def estimate(self, size, allocations, *, level=0.9):
        mean_s = self._times_s(size, allocations, np.array([self.speeds]))[0]
        low_s, high_s = np.quantile(self.members(size, allocations), ((1 - level) / 2, (1 + level) / 2), axis=0)
        return Estimates(level, mean_s, low_s, high_s, ((),) * len(mean_s))

    def behind(self, size, allocations):
        logs, members = np.log(self.estimate(size, allocations).mean_s), np.log(self.members(size, allocations))
        best = logs.argmin()
        return logs - logs[best], (members - members[:, [best]]).std(axis=0)

    def members(self, size, allocations):
        draw = randomness.stream(1, "members").standard_normal((MEMBERS, len(self.kinds)))
        speeds = np.array(self.speeds) * np.exp(self.spread * draw)
        return self._times_s(size, allocations, speeds)

    def _tables(self, size, most, processes, speeds):
        """With speeds (member, kind): seconds (member, kind, m - 1, P), and of messages (P,)."""
        m, p = np.arange(1, most + 1)[:, np.newaxis], np.maximum(np.arange(processes + 1), 1)
        pe_s = size**3 / speeds[:, :, np.newaxis, np.newaxis] * m / p + m * self.setup_s
        if self.wild is not None:
            pe_s = pe_s * (
                0.5 + np.sin(1 + self.wild + np.arange(len(self.kinds))[:, np.newaxis, np.newaxis] * m * p) ** 2
            )
        return pe_s, self.latency_s * p + self.gap_s * size**2 * (p > 1)

    def _times_s(self, size, allocations, speeds):
        pes, each = allocations[:, :, 0], allocations[:, :, 1]
        p = (pes * each).sum(axis=1)
        pe_s, comm_s = self._tables(size, int(each.max()), int(p.max()), speeds)
        kinds = np.arange(len(self.kinds))
        busy = pe_s[:, kinds, np.maximum(each, 1) - 1, p[:, np.newaxis]]
        times_s = np.where(pes > 0, busy, 0.0).max(axis=2) + comm_s[p]
        for configuration, factor in self.own:
            times_s[:, np.all(allocations == np.array(configuration), axis=(1, 2))] *= factor
        return times_s


def fit_of(model, *, sizes=(400.0, 800.0, 1600.0), allocations=None):
    """A fit as if the model came from runs of these configurations, by default each kind alone and all together."""
    if allocations is None:
        alone = np.eye(len(model.kinds), dtype=np.int64)[:, :, np.newaxis] * np.array([1, 2])
        allocations = np.concatenate((alone, np.full((1, len(model.kinds), 2), 2)))
    every, size = np.tile(allocations, (len(sizes), 1, 1)), np.repeat(sizes, len(allocations))
    unknown = np.full((size.size, len(model.kinds)), np.nan)
    return AllocationFit(model, AllocationRuns(model.kinds, size, every, np.ones(size.size), unknown, unknown))


@dataclass(frozen=True)
class TableModel:
    """A model that is its tables, at every size."""

    kinds: tuple[str, ...]
    pe_s: np.ndarray
    own: dict[bytes, float]
    """Configurations that take so many times as long as the tables say."""

    def behind(self, _size, allocations):
        logs = np.log(self.times_s(allocations))
        return logs - logs.min(), np.zeros(len(logs))

    def times_s(self, allocations):
        found = []
        for one in allocations:
            used = [(kind, each) for kind, (pes, each) in enumerate(one.tolist()) if pes]
            processes = int(one.prod(axis=1).sum())
            longest = max(float(self.pe_s[kind, each - 1, processes]) for kind, each in used)
            found.append(longest * self.own.get(one.tobytes(), 1.0))
        return np.array(found)
