"""The least-squares problem of one program shape: scaled terms of the measured cells and phases, log times, groups."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simulator.base import ties
from simulator.models.process_count.pooled.cells import Cells
from simulator.models.process_count.pooled.residuals import Groups, groups_of
from simulator.models.process_count.pooled.terms import COMPUTATION, TERMS, WORK, Shape, columns
from simulator.models.process_count.runs import Floats, Ints

PHASE_DOUBT = 4.0
"""Variance of a phase measured apart, relative to that of a whole run: programs draw the line in different places."""
OWN_LEAST = 0.25
"""Amplitude of a configuration's own part where the work takes all the time."""


@dataclass(frozen=True)
class Problem:
    """Cells and phases."""

    terms: Floats
    """Scaled, of every kind, 0 where it takes no part; (rows, kind, terms)."""
    log_time: Floats
    noise: Floats
    """Variance of each row's noise relative to that of a long run, (rows,)."""
    groups: Groups


def used_columns(shape: Shape, size: Floats, allocations: Ints) -> Floats:
    """Terms of every kind, 0 where it takes no part, shape (n, kind, terms)."""
    each = allocations[:, :, 1].astype(np.float64)
    own = allocations[:, :, 0] * each
    found = columns(shape, size[:, None], np.maximum(each, 1.0), own.sum(axis=1)[:, None])
    found *= (own > 0)[:, :, None]
    return found


def log_times(terms: Floats, mode: Floats) -> tuple[Floats, Floats]:
    """Log makespans, (n,), and their slopes by the log coefficients, (n, kind * terms).

    Parameters
    ----------
    terms
        As in `Problem`.
    mode
        Log coefficients, (kind, terms).
    """
    factors = np.exp(mode)
    of_kind = seconds(terms, factors)
    rows, slowest = np.arange(len(terms)), slowest_of(of_kind)
    longest = of_kind[rows, slowest]
    slopes = np.zeros_like(terms)
    slopes[rows, slowest] = terms[rows, slowest] * factors[slowest] / longest[:, None]
    return np.log(longest), slopes.reshape(len(terms), -1)


def seconds(terms: Floats, factors: Floats) -> Floats:
    """Seconds of the PEs of every kind, (n, kind)."""
    return np.asarray((terms.transpose(1, 0, 2) @ factors[:, :, None])[:, :, 0].T)


def slowest_of(of_kind: Floats) -> Ints:
    """The kind that takes longest, the first of equals, by the seconds of each, (n, kind); (n,)."""
    return np.asarray((of_kind >= (1 - ties.SAME) * of_kind.max(axis=1, keepdims=True)).argmax(axis=1))


def amplitude(terms: Floats, mode: Floats) -> Floats:
    """Size of what a configuration keeps of its own: large where more than the work itself takes time, (n,)."""
    factors = np.exp(mode)
    return amplitude_of(seconds(terms, factors), seconds(terms[:, :, :WORK], factors[:, :WORK]))


def amplitude_of(of_kind: Floats, work: Floats) -> Floats:
    """The same by the seconds of every kind and those of the work in them, (n, kind)."""
    row = np.arange(len(of_kind)), slowest_of(of_kind)
    rest = 1.0 - work[row] / of_kind[row]
    return np.asarray(OWN_LEAST + (1.0 - OWN_LEAST) * rest)


def problem_of(shape: Shape, cells: Cells, scale: Floats) -> Problem:
    """The cells, and after them the phases that were measured apart, with the variance of their noise."""
    terms = used_columns(shape, cells.size, cells.allocations)
    terms *= scale
    rows, size, configuration = [terms], [cells.size], [cells.configuration]
    time_s, noise = [cells.time_s], [cells.doubtfulness]
    last = int(cells.configuration[-1]) + 1
    for kind, own, there, phase_s in _phases(terms, cells):
        part = np.zeros((len(there), *terms.shape[1:]))
        part[:, kind] = terms[there, kind] * own
        rows.append(part)
        size.append(cells.size[there])
        configuration.append(cells.configuration[there] + last)
        time_s.append(phase_s)
        noise.append(PHASE_DOUBT * cells.doubtfulness[there])
        last = int(configuration[-1][-1]) + 1
    # In memory kind by kind, as the seconds of each kind are asked for most.
    table = np.concatenate([part.transpose(1, 0, 2) for part in rows], axis=1).transpose(1, 0, 2)
    groups = groups_of(np.concatenate(size), np.concatenate(configuration))
    return Problem(table, np.log(np.concatenate(time_s)), np.concatenate(noise), groups)


def _phases(terms: Floats, cells: Cells) -> Iterator[tuple[int, NDArray[np.bool_], Ints, Floats]]:
    """Kind, its terms in the phase, cells that tell the phase, and its seconds."""
    if not (np.isfinite(cells.comp_s).any() or np.isfinite(cells.comm_s).any()):
        return
    speed = np.arange(len(TERMS)) < COMPUTATION
    # What a kind communicates holds its waiting for the others, so only the slowest one's counts.
    whole = cells.comp_s + cells.comm_s
    slowest = np.where(np.isnan(whole), -1.0, whole).argmax(axis=1)
    for phase_s, own in ((cells.comp_s, speed), (cells.comm_s, ~speed)):
        for kind in range(len(cells.kinds)):
            there = (phase_s[:, kind] > 0) & terms[:, kind].any(axis=1)
            if own is not speed:
                there &= (slowest == kind) & (terms[:, kind, COMPUTATION:].sum(axis=1) > 0)
            if there.any():
                yield kind, own, np.flatnonzero(there), phase_s[there, kind]
