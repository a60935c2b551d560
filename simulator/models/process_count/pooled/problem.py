"""The least-squares problem of one program shape: scaled terms of the measured cells and phases, log times, groups."""

from dataclasses import dataclass

import numpy as np

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
    count = allocations.astype(np.float64)
    processes = (count[:, :, 0] * count[:, :, 1]).sum(axis=1)
    used = count[:, :, 0] * count[:, :, 1] > 0
    found = columns(shape, size[:, None], np.maximum(count[:, :, 1], 1.0), processes[:, None])
    return np.asarray(found * used[:, :, None])


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
    rows, slowest = np.arange(len(terms)), of_kind.argmax(axis=1)
    longest = of_kind[rows, slowest]
    slopes = np.zeros_like(terms)
    slopes[rows, slowest] = terms[rows, slowest] * factors[slowest] / longest[:, None]
    return np.log(longest), slopes.reshape(len(terms), -1)


def seconds(terms: Floats, factors: Floats) -> Floats:
    """Seconds of the PEs of every kind, (n, kind)."""
    return np.asarray((terms.transpose(1, 0, 2) @ factors[:, :, None])[:, :, 0].T)


def amplitude(terms: Floats, mode: Floats) -> Floats:
    """Size of what a configuration keeps of its own: large where more than the work itself takes time, (n,)."""
    factors = np.exp(mode)
    of_kind = seconds(terms, factors)
    row = np.arange(len(terms)), of_kind.argmax(axis=1)
    rest = 1.0 - seconds(terms[:, :, :WORK], factors[:, :WORK])[row] / of_kind[row]
    return np.asarray(OWN_LEAST + (1.0 - OWN_LEAST) * rest)


def problem_of(shape: Shape, cells: Cells, scale: Floats) -> Problem:
    """The cells, and after them the phases that were measured apart, with the variance of their noise."""
    terms = used_columns(shape, cells.size, cells.allocations) * scale
    rows, size, configuration = [terms], [cells.size], [cells.configuration]
    time_s, noise = [cells.time_s], [cells.doubtfulness]
    speed = np.arange(len(TERMS)) < COMPUTATION
    last = int(cells.configuration[-1]) + 1
    # What a kind communicates holds its waiting for the others, so only the slowest one's counts.
    slowest = np.nan_to_num(cells.comp_s + cells.comm_s, nan=-1.0).argmax(axis=1)
    for phase_s, own in ((cells.comp_s, speed), (cells.comm_s, ~speed)):
        for kind in range(len(cells.kinds)):
            there = (phase_s[:, kind] > 0) & terms[:, kind].any(axis=1)
            if own is not speed:
                there &= (slowest == kind) & (terms[:, kind][:, own].sum(axis=1) > 0)
            if there.any():
                part = np.zeros_like(terms[there])
                part[:, kind] = terms[there, kind] * own
                rows.append(part)
                size.append(cells.size[there])
                configuration.append(cells.configuration[there] + last)
                time_s.append(phase_s[there, kind])
                noise.append(PHASE_DOUBT * cells.doubtfulness[there])
                last = int(configuration[-1][-1]) + 1
    groups = groups_of(np.concatenate(size), np.concatenate(configuration))
    return Problem(np.concatenate(rows), np.log(np.concatenate(time_s)), np.concatenate(noise), groups)
