"""What a configuration keeps of its own: residuals that are alike at all sizes of one configuration."""

from dataclasses import dataclass, replace

import numpy as np

from simulator.base import ties
from simulator.models.process_count.runs import Floats, Ints

LASTING = 0.6
"""Part of a configuration's own variance that does not change with the size."""
REACH = 0.7
"""Distance in the log size over which the rest is alike."""
LIKENESS = (0.1, 0.5, 2.0, 8.0)
"""Variances of the own part, relative to the noise, that are tried."""


def kernel(logs: Floats, others: Floats) -> Floats:
    """Covariance of a configuration's own parts, relative to their variance, at broadcast log sizes."""
    distance = np.abs(logs - others) / REACH
    return np.asarray(LASTING + (1.0 - LASTING) * np.exp(-distance))


@dataclass(frozen=True)
class Groups:
    """Cells by configuration, padded to the longest one."""

    index: Ints
    """Cell of each place, (configurations, places); 0 where there is none."""
    there: Floats
    """1 where there is a cell, else 0."""
    logs: Floats
    """Log size of each place."""
    alike: Floats
    """`kernel` between places of a configuration, 0 where one is missing; (configurations, places, places)."""
    full: bool
    """Whether no place is empty, so that a table of cells need only be reshaped."""

    def rows(self, table: Floats) -> Floats:
        """A table of cells, by configuration and place, 0 where there is no cell."""
        if self.full:
            return table.reshape(self.index.shape + table.shape[1:])
        found = table[self.index]
        return np.asarray(found * self.there.reshape(self.there.shape + (1,) * (table.ndim - 1)))

    def scaled(self, amplitude: Floats) -> "Groups":
        """With own parts of an amplitude that varies, (cells,)."""
        rows = self.rows(amplitude)
        return replace(self, alike=self.alike * rows[:, :, None] * rows[:, None, :])

    def covariance(self, noise: Floats, likeness: float) -> Floats:
        """Of the residuals, relative to the noise variance; `noise` of each cell, (cells,)."""
        found = likeness * self.alike
        places = np.arange(self.index.shape[1])
        found[:, places, places] += self.rows(noise) + (1.0 - self.there)
        return found


def groups_of(size: Floats, configuration: Ints) -> Groups:
    """Lay cells out by configuration; those of one configuration are neighbours."""
    first = np.flatnonzero(np.diff(configuration, prepend=-1))
    number = np.diff(first, append=len(size))
    places = np.arange(int(number.max()))
    there = places[None] < number[:, None]
    index = np.where(there, first[:, None] + places[None], 0)
    logs = np.log(size)[index]
    both = there[:, :, None] & there[:, None, :]
    return Groups(
        index, there.astype(np.float64), logs, kernel(logs[:, :, None], logs[:, None, :]) * both, bool(there.all())
    )


def choose_likeness(groups: Groups, noise: Floats, residuals: Floats) -> float:
    """The tried value under which the residuals are likeliest."""
    places, count = groups.index.shape[1], float(groups.there.sum())
    # All Cholesky factors column by column; the residuals as one more row become the whitened ones.
    root = np.empty((places + 1, places, len(LIKENESS), len(groups.index)))
    for number, likeness in enumerate(LIKENESS):
        root[:places, :, number] = groups.covariance(noise, likeness).transpose(1, 2, 0)
    root[places] = groups.rows(residuals).T[:, np.newaxis]
    for k in range(places):
        if k:
            root[k:, k] -= (root[k:, :k] * root[k, :k]).sum(axis=1)
        root[k:, k] /= np.sqrt(root[k, k])
    each = np.arange(places)
    log_det = 2 * np.log(root[each, each]).sum(axis=(0, 2))
    score = count * np.log((root[places] ** 2).sum(axis=(0, 2)) / count + 1e-12) + log_det
    return LIKENESS[ties.first_least(score)]


def inverse_roots(covariance: Floats) -> Floats:
    """Inverses of the Cholesky factors of many small matrices, (..., n, n)."""
    return np.asarray(np.linalg.inv(np.linalg.cholesky(covariance)), dtype=np.float64)
