"""Composition: a kind with too few PEs for a P-T model takes another kind's, scaled by factors (section 3.5)."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from simulator.base.errors import ScenarioError
from simulator.models.process_count.paper.runs_of_one_kind import Configurations
from simulator.models.process_count.runs import AllocationRuns, Floats, Ints

PAPER_COMP, PAPER_COMM = 0.27, 0.85


@dataclass(frozen=True)
class Composed:
    """Where a kind's models come from, with given factors; those of the paper by default."""

    source: str
    comp: float = PAPER_COMP
    comm: float = PAPER_COMM


@dataclass(frozen=True)
class Composition:
    """How a kind's models were composed."""

    target: int
    source: int
    factors: Floats
    """(variant, part)."""
    fitted: bool
    single: bool
    """Whether the models of one PE are composed too, as the kind has no run of its own."""


def check(given: Mapping[str, Composed], kinds: tuple[str, ...]) -> None:
    """Refuse unknown kinds and factors that are not above 0."""
    faults = []
    for name, composed in given.items():
        if name not in kinds or composed.source not in kinds or composed.source == name:
            allowed = f"two of {', '.join(kinds)} allowed"
            faults.append(f"compose: {name!r} from {composed.source!r} found, {allowed}")
        for what, value in (("comp", composed.comp), ("comm", composed.comm)):
            if not 0 < value < np.inf:
                faults.append(f"compose: {name}: {what}: {value!r} found, above 0 allowed")
    if faults:
        raise ScenarioError(faults)


def fit_compositions(
    runs: AllocationRuns, one: Configurations, seconds: Floats, *, roles: Floats, given: Mapping[str, Composed]
) -> tuple[Composition, ...]:
    """Fill in the P-T models of kinds that have none, in `roles`.

    The factors are given, or fitted by least squares: in mixed runs that tell both kinds' parts at the same m, else in
    runs of either kind alone with the same N, PEs and m. The source is the kind with the most such runs.

    Parameters
    ----------
    runs, one, seconds
        All runs; those of one kind, in order, and their times (variant, part, runs).
    roles
        Models by (variant, part, kind, m - 1, regime, role, power); role 0 is one PE alone, 1 to 3 are P-T.
    given
        Factors by name of the kind.
    """
    known = np.any(np.isfinite(roles[0, 0, ..., 0]), axis=(1, 2)).reshape(len(runs.kinds), -1)
    alone, have = known[:, 0], known[:, 1]
    measured = roles.copy()
    found = []
    for target, name in enumerate(runs.kinds):
        if have[target] and name not in given:
            continue
        if name in given:
            composed = given[name]
            source = runs.kinds.index(composed.source)
            factors = np.array([[composed.comp, composed.comm][: seconds.shape[1]]] * len(seconds))
        else:
            sources = [kind for kind in np.flatnonzero(have).tolist() if kind != target]
            common = [_pairs(runs, one, seconds, kinds=(target, kind)) for kind in sources]
            counts = [x.shape[-1] for x, _ in common]
            if not any(counts):
                continue
            best = int(np.argmax(counts))
            source, factors = sources[best], _ratio(*common[best])
        several = measured[:, :, source, ..., 1:, :] * factors[..., None, None, None, None]
        roles[:, :, target, ..., 1:, :] = several
        single = not alone[target]
        if single:
            roles[:, :, target, ..., 0, :] = measured[:, :, source, ..., 0, :] * factors[..., None, None, None]
        found.append(Composition(target, source, factors, name not in given, single))
    return tuple(found)


def _ratio(x: Floats, y: Floats) -> Floats:
    """The factor of x that is nearest to y; 1 where x is 0 throughout. (variant, part)."""
    square = (x * x).sum(axis=-1)
    some = square > 0
    return np.asarray(np.where(some, (x * y).sum(axis=-1) / np.where(some, square, 1.0), 1.0))


def _pairs(
    runs: AllocationRuns, one: Configurations, seconds: Floats, *, kinds: tuple[int, int]
) -> tuple[Floats, Floats]:
    """Times of the source and of the target, second and first of `kinds`, in runs in common; (variant, part, n)."""
    target, source = kinds
    if seconds.shape[1] > 1:
        m = runs.allocations[..., 1]
        mixed = (m[:, target] > 0) & (m[:, target] == m[:, source])
        for part in (runs.comp_s, runs.comm_s):
            mixed &= np.isfinite(part[:, target]) & np.isfinite(part[:, source])
        if mixed.any():
            shape = (len(seconds), 2, int(mixed.sum()))
            x, y = (np.stack([runs.comp_s[mixed, kind], runs.comm_s[mixed, kind]]) for kind in (source, target))
            return np.broadcast_to(x, shape), np.broadcast_to(y, shape)
    start, key, kind = _cells(one)
    count = np.diff(np.append(start, len(one.size)))
    if not len(start):
        return seconds, seconds
    mean = np.add.reduceat(seconds, start, axis=-1) / count
    mine, theirs = np.flatnonzero(kind == target), np.flatnonzero(kind == source)
    _, i, j = np.intersect1d(key[mine], key[theirs], return_indices=True)
    return mean[..., theirs[j]], mean[..., mine[i]]


def _cells(one: Configurations) -> tuple[Ints, Ints, Ints]:
    """First run of each (configuration, N), a number for its (N, PEs, m), and its kind."""
    length = one.stop - one.start
    size = np.unique(one.size, return_inverse=True)[1]
    row_key = np.repeat(one.m * (one.most_pes + 1) + one.pes, length) * len(one.size) + size
    row_kind = np.repeat(one.kind, length)
    new = np.ones(len(row_key), bool)
    new[1:] = (row_key[1:] != row_key[:-1]) | (row_kind[1:] != row_kind[:-1])
    start = np.flatnonzero(new)
    return start, row_key[start], row_kind[start]
