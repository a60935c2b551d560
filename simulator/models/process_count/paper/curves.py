"""N-T and P-T models by ordinary least squares, all configurations and all variants of the times at once.

Arrays begin with (variant, part): variants are the measured times, or the times with draws of their noise; parts are
computation and communication, or the whole time alone. Polynomials are in N over a scale, the constant first.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simulator.models.process_count.paper.runs_of_one_kind import Configurations
from simulator.models.process_count.runs import Floats, Ints

LEAST_SIZES = 4
"""Of one configuration: Ta has four coefficients in N."""
LEAST_PROCESS_COUNTS = 3
"""Above m, of one kind and m: Tc has three coefficients in P."""
POWERS = 4
DEPENDENT = 1e-10
"""A column with a smaller rest beside the columns before it, relative to its length, adds nothing and gets 0."""


@dataclass(frozen=True)
class Curves:
    """N-T models of configurations and P-T models of groups of them."""

    scale: float
    """Problem size that N is divided by."""
    at: Ints
    """Configurations with an N-T model, as indices into `Configurations`; (c,)."""
    nt: Floats
    """k3, k2, k1, k0 of computation, k6, k5, k4 and 0 of communication; (variant, part, c, 4)."""
    group_at: Ints
    """The reference configuration of each P-T model, as an index into `Configurations`; (g,)."""
    reference: Floats
    """Its N-T curve, computation (or the whole time) times its P; (variant, part, g, 4)."""
    pt: Floats
    """Constant, then what stands before curve/P, then before P*curve; (variant, part, g, 3)."""
    misfit: Floats
    """Of each fit: sum of squares left, what a relative error of 1 would leave, degrees of freedom; (part, c + g, 3).

    Empty if not asked for.
    """


def fit_curves(runs: Configurations, seconds: Floats, *, misfit: bool = False) -> Curves:
    """Fit N-T models where there are 4 sizes, and P-T models where there are 3 process counts above m.

    The reference of a P-T model is the configuration with the fewest PEs above one.

    Parameters
    ----------
    runs
        In order.
    seconds
        Times to fit; (variant, part, runs).
    misfit
        Whether to say how far the first variant is from its fits.

    Notes
    -----
    Sections 3.2 and 3.3: `Ta = k7*A/P + k8` and `Tc = k9*P*C + k10*C/P + k11` with the curves A and C of the reference
    (the paper prints those of the same P, which would count 1/P twice, and k12 for k11); the whole time, where it
    alone is known, has the sum of both forms.
    """
    scale = float(runs.size.max(initial=1.0))
    at = np.flatnonzero(runs.sizes >= LEAST_SIZES)
    left: list[Floats] | None = [] if misfit else None
    nt = _fit_sizes(runs, at, seconds, scale=scale, left=left)
    group_at, last = _groups(runs, at)
    where = np.searchsorted(at, group_at)
    reference = nt[:, :, where].copy()
    reference[:, 0] *= (runs.pes * runs.m)[group_at, np.newaxis]
    curve = (at, group_at, last)
    pt = _fit_processes(runs, curve, seconds, reference=reference, scale=scale, left=left)
    shape = (seconds.shape[1], -1, 3)
    told = np.concatenate([x.reshape(shape) for x in left], axis=1) if left else np.zeros((seconds.shape[1], 0, 3))
    return Curves(scale, at, nt, group_at, reference, pt, told)


def powers(size: Floats | float, scale: float) -> Floats:
    """1, N, N^2, N^3 over the scale; (..., 4)."""
    x = np.asarray(size, float) / scale
    found = np.ones((*x.shape, POWERS))
    found[..., 1] = x
    found[..., 2] = x * x
    found[..., 3] = found[..., 2] * x
    return found


def _fit_sizes(runs: Configurations, at: Ints, seconds: Floats, *, scale: float, left: list[Floats] | None) -> Floats:
    variants, parts = seconds.shape[:2]
    found = np.zeros((variants, parts, len(at), POWERS))
    if not len(at):
        return found
    rows, mask = _padded(runs.start[at], runs.stop[at])
    size = runs.size[rows]
    if mask.all() and (size == size[0]).all():
        design = powers(size[:1], scale)
    else:
        design = powers(size, scale) * mask[..., np.newaxis]
    q, r = np.linalg.qr(design)
    inverse = np.linalg.inv(r)
    y = seconds[:, :, rows] * mask
    misfit: list[Floats] = []
    for part in range(parts):
        # Communication is of degree 2: with the constant first, its factors are the leading ones of the cubic's.
        columns = POWERS - 1 if part else POWERS
        own, upper = q[..., :columns], inverse[:, :columns, :columns]
        along = y[:, part, :, np.newaxis] @ own
        found[:, part, :, :columns] = (along @ upper.transpose(0, 2, 1))[..., 0, :]
        if left is not None:
            fitted = (along[0] @ own.transpose(0, 2, 1))[:, 0]
            misfit.append(_misfit(y[0, part], fitted, own, mask))
    if left is not None:
        left.append(np.stack(misfit))
    return found


def _groups(runs: Configurations, at: Ints) -> tuple[Ints, Ints]:
    """First and last configuration above one PE of every (kind, regime, m) that has enough of them."""
    above = at[runs.pes[at] > 1]
    if not len(above):
        return above, above
    group = runs.group[above]
    first = np.flatnonzero(np.concatenate(([True], group[1:] != group[:-1])))
    count = np.diff(np.append(first, len(above)))
    enough = count >= LEAST_PROCESS_COUNTS
    return above[first[enough]], above[(first + count - 1)[enough]]


def _fit_processes(
    runs: Configurations,
    groups: tuple[Ints, Ints, Ints],
    seconds: Floats,
    *,
    reference: Floats,
    scale: float,
    left: list[Floats] | None,
) -> Floats:
    at, first, last = groups
    variants, parts = seconds.shape[:2]
    if not len(first):
        return np.zeros((variants, parts, 0, 3))
    rows, mask = _padded(runs.start[first], runs.stop[last])
    if len(at) < len(runs.start):
        modelled = np.zeros(len(runs.start), bool)
        modelled[at] = True
        mask &= np.repeat(modelled, runs.stop - runs.start)[rows]
    curve = (reference[..., np.newaxis, :] @ powers(runs.size[rows], scale).transpose(0, 2, 1))[..., 0, :]
    p = runs.processes[rows]
    # The times stand beside the columns, so that triangularising gives their factors too without forming Q.
    design = np.zeros((*curve.shape, 4))
    design[..., 0] = mask
    design[..., 1] = curve * (mask / p)
    # Computation does not grow with P; the last part, communication or the whole time, does.
    design[:, -1, ..., 2] = curve[:, -1] * (mask * p)
    design[..., 3] = seconds[:, :, rows] * mask
    r: Floats = np.asarray(np.linalg.qr(design, mode="r"))
    upper, along = r[..., :3, :3], r[..., :3, 3]
    length = np.sqrt((upper * upper).sum(axis=-2))
    length += length == 0
    upper /= length[..., np.newaxis, :]
    dependent = np.abs(upper.diagonal(axis1=-2, axis2=-1)) < DEPENDENT
    upper += dependent[..., np.newaxis] * np.eye(3)
    along *= ~dependent
    found = (np.linalg.inv(upper) @ along[..., np.newaxis])[..., 0] / length
    if left is not None:
        x = design[0, ..., :3]
        q = np.linalg.qr(x)[0] * ~dependent[0, :, :, np.newaxis]
        fitted = (x @ found[0, ..., np.newaxis])[..., 0]
        left.append(np.stack([_misfit(design[0, part, ..., 3], fitted[part], q[part], mask) for part in range(parts)]))
    return np.asarray(found)


def _padded(start: Ints, stop: Ints) -> tuple[Ints, NDArray[np.bool_]]:
    """Runs of each entry as a row of indices, and which of them are its own."""
    length = stop - start
    offset = np.arange(int(length.max()))
    mask = offset < length[:, np.newaxis]
    return np.where(mask, start[:, np.newaxis] + offset, start[:, np.newaxis]), mask


def _misfit(seconds: Floats, fitted: Floats, q: Floats, mask: NDArray[np.bool_]) -> Floats:
    left = (seconds - fitted) * mask
    leverage = np.broadcast_to((q * q).sum(axis=-1), mask.shape) * mask
    expected = (fitted * fitted * (mask - leverage)).sum(axis=-1)
    freedom = mask.sum(axis=-1) - leverage.sum(axis=-1)
    return np.stack(((left * left).sum(axis=-1), expected, freedom), axis=-1)
