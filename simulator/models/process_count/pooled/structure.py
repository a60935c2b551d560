"""One fitted structure as a predictor: log times, their slopes, and what single configurations keep of their own."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from simulator.models.process_count.pooled.cells import Cells
from simulator.models.process_count.pooled.fitting import Posterior
from simulator.models.process_count.pooled.problem import amplitude_of, log_times, slowest_of, used_columns
from simulator.models.process_count.pooled.residuals import Groups, groups_of, kernel
from simulator.models.process_count.pooled.terms import WORK
from simulator.models.process_count.runs import Floats, Ints

ADAPTED = 0.5
"""Part of the effective coefficients that adapts to configurations; the rest to the growth with the size."""
OWN_LEAST_SD = 0.01
"""Least standard deviation of what a configuration keeps of its own: closer than this no two are told apart."""
MOST_CAUTION = 1.0
"""Most that the mean may exceed the median, in log seconds."""


@dataclass(frozen=True)
class Predicted:
    """What a structure says at n points."""

    of_kind: Floats
    """Log seconds of the PEs of each kind, minus infinity where it takes no part; (n, kind)."""
    parts: Floats
    """Share of each term in them, (n, kind, terms)."""
    shift: Floats
    """What the own runs of the configuration add to the log makespan, (n,)."""
    pull: Floats
    """By how much less the log makespan follows the log coefficients for that, (n, kind * terms)."""
    own: Floats
    """Variance of what else the configuration keeps of its own, (n,)."""
    caution: Floats
    """How much the mean of the seconds of a kind exceeds their median, in log seconds; (n, kind)."""

    @cached_property
    def slopes(self) -> Floats:
        """Of the log makespan by the log coefficients, (n, kind * terms)."""
        rows = np.arange(len(self.shift))
        found = np.zeros_like(self.parts)
        slowest = slowest_of(self.of_kind)
        found[rows, slowest] = self.parts[rows, slowest]
        found = found.reshape(len(rows), -1)
        found -= self.pull
        return found


@dataclass(frozen=True)
class Structure:
    """A posterior and the cells that it rests on."""

    posterior: Posterior
    cells: Cells

    @cached_property
    def groups(self) -> Groups:
        """The cells by configuration."""
        count = len(self.cells.size)
        return groups_of(self.cells.size, self.cells.configuration).scaled(self.posterior.amplitude[:count])

    @cached_property
    def _numbers(self) -> dict[bytes, int]:
        """Number of each measured configuration."""
        first = np.ascontiguousarray(self.cells.allocations[self.cells.first()], dtype=np.int64)
        return {row.tobytes(): number for number, row in enumerate(first)}

    @cached_property
    def _known(self) -> tuple[Floats, Floats, Floats, Floats]:
        """By configuration: inverse covariance of the residuals, amplitudes, residuals, slopes."""
        fitted, groups = self.posterior, self.groups
        count = len(self.cells.size)
        inverse = np.asarray(np.linalg.inv(groups.covariance(fitted.noise[:count], fitted.likeness)), dtype=np.float64)
        mean, slopes = log_times(self.terms(self.cells.size, self.cells.allocations), fitted.mode)
        residuals = groups.rows(np.log(self.cells.time_s) - mean)
        return inverse, groups.rows(fitted.amplitude[:count]), residuals, groups.rows(slopes)

    @property
    def _newness(self) -> float:
        """How much more a configuration that was not measured may keep of its own than those the fit has adapted to."""
        count = float(self.cells.configuration[-1] + 1)
        return count / (count - min(ADAPTED * self.posterior.effective, 2.0 * count / 3.0))

    def terms(self, size: Floats, allocations: Ints) -> Floats:
        """Scaled terms, (n, kind, terms)."""
        return used_columns(self.posterior.shape, size, allocations) * self.posterior.prior.scale

    def measured(self, allocations: Ints) -> Ints:
        """Number of each measured configuration, -1 for others."""
        rows = np.ascontiguousarray(allocations, dtype=np.int64)
        return np.array([self._numbers.get(row.tobytes(), -1) for row in rows], dtype=np.int64)

    def predict(self, size: float, terms: Floats, number: Ints) -> Predicted:
        """Everything about configurations at one problem size.

        Parameters
        ----------
        terms
            As by `terms`.
        number
            As by `measured`.
        """
        fitted = self.posterior
        parts = terms * np.exp(fitted.mode)
        seconds = parts.sum(axis=2)
        spread = amplitude_of(seconds, parts[:, :, :WORK].sum(axis=2))
        parts /= np.where(seconds > 0, seconds, 1.0)[:, :, None]
        with np.errstate(divide="ignore"):
            of_kind = np.log(seconds)
        own = fitted.likeness * spread**2
        shift, pull = np.zeros(len(own)), np.zeros((len(own), fitted.mode.size))
        own[number < 0] *= self._newness
        seen = np.flatnonzero(number >= 0)
        if len(seen):
            which = number[seen]
            inverse, amplitudes, residuals, slopes = self._known
            near = kernel(np.log(size), self.groups.logs[which]) * amplitudes[which]
            near *= fitted.likeness * spread[seen, None]
            gain = (near[:, None, :] @ inverse[which])[:, 0]
            shift[seen] = (gain * residuals[which]).sum(axis=1)
            pull[seen] = (gain[:, None, :] @ slopes[which])[:, 0]
            own[seen] = np.maximum(own[seen] - (gain * near).sum(axis=1), 0.0)
        own = np.maximum(own * fitted.variance, OWN_LEAST_SD**2)
        return Predicted(of_kind, parts, shift, pull, own, self.caution(parts))

    def caution(self, parts: Floats) -> Floats:
        """Half the variance of the log seconds of a kind, by the share of each of its terms, (..., kind, terms).

        It matters for kinds that were never the slowest of a run, or never ran: their median would look too good.
        """
        kinds, terms = self.posterior.mode.shape
        whole = self.posterior.covariance.reshape(kinds, terms, kinds, terms)
        found = [
            ((parts[..., kind, :] @ whole[kind, :, kind]) * parts[..., kind, :]).sum(axis=-1) for kind in range(kinds)
        ]
        return np.asarray(np.minimum(np.stack(found, axis=-1) / 2.0, MOST_CAUTION))
