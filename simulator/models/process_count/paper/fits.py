"""The paper's fits of runs of one kind, in one table of curves: N-T and P-T models, composition, memory, adjustment."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simulator.base.errors import ScenarioError
from simulator.models.process_count.runs import AllocationRuns, Floats, Ints, padded, starts

# Memory regimes: which bin a run falls into by the bytes that its processes hold on a PE.


@dataclass(frozen=True)
class MemoryRegimes:
    """Thresholds of the memory in use on one PE, for one model below and one above each (section 3.4).

    A problem of size N takes `coefficient * N**power` bytes, of which a PE with m of P processes holds m/P. Where
    several PEs share a node's memory, a PE's threshold is its part of the node's.
    """

    thresholds_bytes: tuple[tuple[float, ...], ...]
    """Of each kind, ascending."""
    coefficient: float = 8.0
    power: float = 2.0

    def __post_init__(self) -> None:
        faults = [
            f"regimes: thresholds {thresholds} are no ascending numbers above 0"
            for thresholds in self.thresholds_bytes
            if any(not 0 < x < np.inf for x in thresholds) or list(thresholds) != sorted(set(thresholds))
        ]
        for name, value in (("coefficient", self.coefficient), ("power", self.power)):
            if not 0 < value < np.inf:
                faults.append(f"regimes: {name} is {value!r}; give a number above 0")
        if faults:
            raise ScenarioError(faults)

    @property
    def count(self) -> int:
        """Most regimes that a kind has."""
        return 1 + max((len(thresholds) for thresholds in self.thresholds_bytes), default=0)

    def regime(self, size: ArrayLike, kind: Sequence[int] | Ints, share: ArrayLike) -> Ints:
        """Number of the regime, 0 below the first threshold; arrays that broadcast.

        Parameters
        ----------
        size
            Problem size N.
        kind
            Index of the kind.
        share
            m/P, the share of the problem that a PE holds.
        """
        held = self.coefficient * np.asarray(size, float) ** self.power * np.asarray(share, float)
        edges = np.full((len(self.thresholds_bytes), max(self.count - 1, 1)), np.inf)
        for row, thresholds in zip(edges, self.thresholds_bytes, strict=True):
            row[: len(thresholds)] = thresholds
        return np.asarray((held[..., np.newaxis] > edges[np.asarray(kind)]).sum(axis=-1))


# Runs of one kind of PEs, in the order that the fits need: by kind, regime, m, PEs and problem size.


@dataclass(frozen=True)
class Configurations:
    """Runs, ordered, and the configurations (kind, regime, m, PEs) that consecutive ones share."""

    size: Floats
    """(runs,)."""
    processes: Floats
    """P of each run."""
    seconds: Floats
    """Computation and communication, or the whole time; (part, runs)."""
    start: Ints
    """First run of each configuration."""
    stop: Ints
    kind: Ints
    """Of each configuration, as are the next three."""
    regime: Ints
    m: Ints
    pes: Ints
    sizes: Ints
    """Different problem sizes of each configuration."""
    group: Ints
    """A number for the (kind, regime, m) of each configuration, ascending."""
    most_pes: int


def configurations(runs: AllocationRuns, regimes: MemoryRegimes | None) -> Configurations:
    """Take the runs in which one kind takes part, and order them; by parts if all of them have theirs."""
    used = runs.allocations[..., 1] > 0
    rows = np.flatnonzero(used.sum(axis=1) == 1)
    kind = used[rows].argmax(axis=1)
    pes, m = runs.allocations[rows, kind].T
    size = runs.size[rows]
    regime = np.zeros_like(m) if regimes is None else regimes.regime(size, kind, 1 / pes)
    most_m, most_pes = int(m.max(initial=1)), int(pes.max(initial=1))
    group = (kind * (int(regime.max(initial=0)) + 1) + regime) * (most_m + 1) + m
    order = np.lexsort((size, pes, group))
    rows, kind, pes, m, regime, group = (x[order] for x in (rows, kind, pes, m, regime, group))
    seconds = np.stack((runs.comp_s[rows, kind], runs.comm_s[rows, kind]))
    if not np.isfinite(seconds).all():
        seconds = runs.time_s[np.newaxis, rows]
    size, start = size[order], np.flatnonzero(starts(group, pes))
    return Configurations(
        size=size,
        processes=(pes * m).astype(float),
        seconds=seconds,
        start=start,
        stop=np.append(start[1:], len(size)) if len(size) else start,
        kind=kind[start],
        regime=regime[start],
        m=m[start],
        pes=pes[start],
        sizes=np.add.reduceat(starts(group, pes, size).astype(np.int64), start) if len(size) else start,
        group=group[start],
        most_pes=most_pes,
    )


# N-T and P-T models by ordinary least squares, all configurations and all variants of the times at once.
#
# Arrays begin with (variant, part): variants are the measured times, or the times with draws of their noise; parts are
# computation and communication, or the whole time alone. Polynomials are in N over a scale, the constant first.


LEAST_SIZES = 4
"""Of one configuration: Ta has four coefficients in N."""
LEAST_PROCESS_COUNTS = 3
"""Above m, of one kind and m: Tc has three coefficients in P."""
POWERS = 4
UPPER = np.triu(np.ones((3, 3)))
DEPENDENT = 1e-10
"""A column with a smaller rest given the columns before it, relative to its length, adds nothing and gets 0."""


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
    """How far the first variant is from each fit: sum of squares left, what a relative error of 1 would leave, degrees
    of freedom; (part, c + g, 3), zeros if not asked for."""


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
    nt, nt_misfit = _fit_sizes(runs, at, seconds, scale=scale, judged=misfit)
    group_at, last = _groups(runs, at)
    reference = nt[:, :, np.searchsorted(at, group_at)].copy()
    reference[:, 0] *= (runs.pes * runs.m)[group_at, np.newaxis]
    curves = (at, group_at, last)
    pt, pt_misfit = _fit_processes(runs, curves, seconds, reference=reference, scale=scale, judged=misfit)
    return Curves(scale, at, nt, group_at, reference, pt, np.concatenate((nt_misfit, pt_misfit), axis=1))


def powers(size: Floats | float, scale: float) -> Floats:
    """1, N, N^2, N^3 over the scale; (..., 4)."""
    x = np.asarray(size, float) / scale
    found = np.ones((*x.shape, POWERS))
    found[..., 1] = x
    found[..., 2] = x * x
    found[..., 3] = found[..., 2] * x
    return found


def _fit_sizes(runs: Configurations, at: Ints, seconds: Floats, *, scale: float, judged: bool) -> tuple[Floats, Floats]:
    variants, parts = seconds.shape[:2]
    found, misfit = np.zeros((variants, parts, len(at), POWERS)), np.zeros((parts, len(at), 3))
    if not len(at):
        return found, misfit
    rows, mask = padded(runs.start[at], runs.stop[at])
    size = runs.size[rows]
    if mask.all() and (size == size[0]).all():
        design = powers(size[:1], scale)
    else:
        design = powers(size, scale) * mask[..., np.newaxis]
    q, r = np.linalg.qr(design)
    inverse = np.linalg.inv(r)
    y = seconds[:, :, rows] * mask
    for part in range(parts):
        # Communication is of degree 2: with the constant first, its factors are the leading ones of the cubic's.
        columns = POWERS - 1 if part else POWERS
        own, upper = q[..., :columns], inverse[:, :columns, :columns]
        along = y[:, part, :, np.newaxis] @ own
        found[:, part, :, :columns] = (along @ upper.transpose(0, 2, 1))[..., 0, :]
        if judged:
            misfit[part] = _misfit(y[0, part], (along[0] @ own.transpose(0, 2, 1))[:, 0], own, mask)
    return found, misfit


def _groups(runs: Configurations, at: Ints) -> tuple[Ints, Ints]:
    """First and last configuration above one PE of every (kind, regime, m) that has enough of them."""
    above = at[runs.pes[at] > 1]
    if not len(above):
        return above, above
    first = np.flatnonzero(starts(runs.group[above]))
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
    judged: bool,
) -> tuple[Floats, Floats]:
    at, first, last = groups
    variants, parts = seconds.shape[:2]
    if not len(first):
        return np.zeros((variants, parts, 0, 3)), np.zeros((parts, 0, 3))
    rows, mask = padded(runs.start[first], runs.stop[last])
    if len(at) < len(runs.start):
        modelled = np.zeros(len(runs.start), bool)
        modelled[at] = True
        mask &= np.repeat(modelled, runs.stop - runs.start)[rows]
    curve = (reference[..., np.newaxis, :] @ powers(runs.size[rows], scale).transpose(0, 2, 1))[..., 0, :]
    p = runs.processes[rows]
    # The times stand next to the columns, so that triangularising gives their factors too without forming Q.
    design = np.zeros((*curve.shape, 4))
    design[..., 0] = mask
    design[..., 1] = curve * (mask / p)
    # Computation does not grow with P; the last part, communication or the whole time, does.
    design[:, -1, ..., 2] = curve[:, -1] * (mask * p)
    design[..., 3] = seconds[:, :, rows] * mask
    r = np.linalg.qr(design, mode="raw")[0].swapaxes(-1, -2)  # below its diagonal it holds what makes Q
    upper, along = r[..., :3, :3] * UPPER, r[..., :3, 3]
    length = np.sqrt((upper * upper).sum(axis=-2))
    length += length == 0
    upper /= length[..., np.newaxis, :]
    dependent = np.abs(upper.diagonal(axis1=-2, axis2=-1)) < DEPENDENT
    upper += dependent[..., np.newaxis] * np.eye(3)
    along *= ~dependent
    found = (np.linalg.inv(upper) @ along[..., np.newaxis])[..., 0] / length
    if not judged:
        return np.asarray(found), np.zeros((parts, len(first), 3))
    x = design[0, ..., :3]
    q = np.linalg.qr(x)[0] * ~dependent[0, :, :, np.newaxis]
    fitted = (x @ found[0, ..., np.newaxis])[..., 0]
    misfit = [_misfit(design[0, part, ..., 3], fitted[part], q[part], mask) for part in range(parts)]
    return np.asarray(found), np.stack(misfit)


def _misfit(seconds: Floats, fitted: Floats, q: Floats, mask: NDArray[np.bool_]) -> Floats:
    left = (seconds - fitted) * mask
    leverage = np.broadcast_to((q * q).sum(axis=-1), mask.shape) * mask
    expected = (fitted * fitted * (mask - leverage)).sum(axis=-1)
    freedom = mask.sum(axis=-1) - leverage.sum(axis=-1)
    return np.stack(((left * left).sum(axis=-1), expected, freedom), axis=-1)


# Composition: a kind with too few PEs for a P-T model takes another kind's, scaled by factors (section 3.5).


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


def check_composed(given: Mapping[str, Composed], kinds: tuple[str, ...]) -> None:
    """Refuse unknown kinds and factors that are not above 0."""
    faults = []
    for name, composed in given.items():
        if name not in kinds or composed.source not in kinds or composed.source == name:
            faults.append(f"compose: {name!r} from {composed.source!r} are not two of the kinds {', '.join(kinds)}")
        for what, value in (("comp", composed.comp), ("comm", composed.comm)):
            if not 0 < value < np.inf:
                faults.append(f"compose: {name}: {what} is {value!r}; give a number above 0")
    if faults:
        raise ScenarioError(faults)


def fit_compositions(
    runs: AllocationRuns, one: Configurations, seconds: Floats, *, roles: Floats, given: Mapping[str, Composed]
) -> tuple[Composition, ...]:
    """Fill in the P-T models of kinds that have none, in `roles`.

    The factors are given, or fitted by least squares: in mixed runs that have both kinds' parts at the same m, else in
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
    """The factor of x that is nearest to y, 1 where x is 0 throughout; (variant, part)."""
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
    start = np.flatnonzero(starts(row_key, row_kind))
    return start, row_key[start], row_kind[start]


# Adjustment: a line through the communication of a kind with three or more processes per PE (section 4.1).


LEAST_PROCESSES = 3
"""On a PE, from which on the paper adjusts."""


@dataclass(frozen=True)
class Adjustment:
    """Of one kind: communication (or the whole time) becomes `slope` times it plus `offset_s`."""

    kind: int
    size: float
    runs: int
    slope: Floats
    """(variant,)."""
    offset_s: Floats


def fit_adjustments(
    runs: AllocationRuns,
    times: Callable[[int, Ints], Floats],
    *,
    roles: Floats,
    draws: Floats,
    size: float | None = None,
) -> tuple[Adjustment, ...]:
    """Fit lines to mixed runs of one size, the others' processes at their most there, and put them into `roles`.

    Parameters
    ----------
    runs
        All runs.
    times
        Computation and communication, or the whole time, of a kind in some runs; (variant, part, runs).
    roles
        As in `fit_compositions`, changed for m of 3 and more.
    draws
        What the time of each run is multiplied with; (variant, runs).
    size
        The problem size, by default for each kind the largest with such runs.

    Returns
    -------
    tuple of Adjustment
        None for a kind without two different such runs.
    """
    processes = np.prod(runs.allocations, axis=2)
    found = []
    for kind in range(len(runs.kinds)):
        others = processes.sum(axis=1) - processes[:, kind]
        rows = np.flatnonzero((runs.allocations[:, kind, 1] >= LEAST_PROCESSES) & (others > 0))
        rows = rows[np.isfinite(times(kind, rows)[0]).all(axis=0)] if len(rows) else rows
        if not len(rows):
            continue
        at = float(runs.size[rows].max()) if size is None else size
        rows = rows[runs.size[rows] == at]
        rows = rows[others[rows] == others[rows].max(initial=0)]
        if len(rows) < 2:
            continue
        estimate = times(kind, rows)
        x, y = estimate[:, -1], _measured(runs, kind, rows, estimate) * draws[:, rows]
        if np.ptp(x[0]) <= 1e-9 * np.abs(x[0]).max():
            continue
        centred = x - x.mean(axis=1, keepdims=True)
        slope = (centred * y).sum(axis=1) / (centred * centred).sum(axis=1)
        offset = y.mean(axis=1) - slope * x.mean(axis=1)
        above = roles[:, -1, kind, LEAST_PROCESSES - 1 :, :, 1:]
        above *= slope[:, None, None, None, None]
        above[..., 2, 0] += offset[:, None, None]
        found.append(Adjustment(kind, at, len(rows), slope, offset))
    return tuple(found)


def _measured(runs: AllocationRuns, kind: int, rows: Ints, estimate: Floats) -> Floats:
    """What the line should give: the kind's own communication, or what its computation leaves of the whole time."""
    if estimate.shape[1] == 1:
        return runs.time_s[rows]
    own = runs.comm_s[rows, kind]
    return own if np.isfinite(own).all() else np.asarray(runs.time_s[rows] - estimate[0, 0])


# All fits put into one table of curves: N-T and P-T models, composition, memory regimes, adjustment.


ALONE, BY_P, BY_1_P, CONSTANT, ROLES = 0, 1, 2, 3, 4
"""What a curve is: seconds on one PE alone; what P and 1/P are multiplied with, and what stands alone, on several."""


@dataclass(frozen=True)
class Options:
    """What a fit takes besides the runs."""

    compose: Mapping[str, Composed]
    regimes: MemoryRegimes | None
    adjust: bool
    adjust_size: float | None


@dataclass(frozen=True)
class Built:
    """All that was fitted; arrays begin with the variant."""

    curves: Curves
    roles: Floats
    """By (variant, part, kind, m - 1, regime, role, power)."""
    borrowed: NDArray[np.bool_]
    """Where the curves are another regime's: (kind, m - 1, regime, 2), of one PE alone and of several."""
    compositions: tuple[Composition, ...]
    adjustments: tuple[Adjustment, ...]


def build(runs: AllocationRuns, one: Configurations, options: Options, *, draws: Floats | None = None) -> Built:
    """Fit everything, also to times multiplied by draws of their noise.

    Parameters
    ----------
    runs, one
        All runs; those of one kind, in order.
    options
        What to do.
    draws
        Factors of the times (variant, part, runs of one kind) and, after these, of all runs: (variant, part, ...).
    """
    count = len(one.size)
    if draws is None:
        seconds, factors = one.seconds[np.newaxis], np.ones((1, len(runs.size)))
    else:
        seconds, factors = one.seconds * draws[..., :count], draws[:, -1, count:]
    curves = fit_curves(one, seconds)
    count_regimes = 1 if options.regimes is None else options.regimes.count
    most_m = max(int(runs.allocations[..., 1].max(initial=1)), 1)
    shape = (*seconds.shape[:2], len(runs.kinds), most_m, count_regimes, ROLES, POWERS)
    roles = np.full(shape, np.nan)
    alone = one.pes[curves.at] == 1
    at = curves.at[alone]
    roles[:, :, one.kind[at], one.m[at] - 1, one.regime[at], ALONE] = curves.nt[:, :, alone]
    kind, m, regime = one.kind[curves.group_at], one.m[curves.group_at] - 1, one.regime[curves.group_at]
    roles[:, :, kind, m, regime, BY_P] = curves.pt[..., 2, np.newaxis] * curves.reference
    roles[:, :, kind, m, regime, BY_1_P] = curves.pt[..., 1, np.newaxis] * curves.reference
    roles[:, :, kind, m, regime, CONSTANT] = 0.0
    roles[:, :, kind, m, regime, CONSTANT, 0] = curves.pt[..., 0]
    compositions = fit_compositions(runs, one, seconds, roles=roles, given=options.compose)
    borrowed = _borrow(roles)
    adjustments: tuple[Adjustment, ...] = ()
    if options.adjust and len(one.size) < len(runs.size):

        def times(kind: int, rows: Ints) -> Floats:
            """Of one kind's PEs in some mixed runs, by part; (variant, part, rows)."""
            p, m, size, bins = runs.processes[rows], runs.allocations[rows, kind, 1], runs.size[rows], options.regimes
            regime = np.zeros_like(m) if bins is None else bins.regime(size, np.full_like(m, kind), m / p)
            at = (roles[:, :, kind, m - 1, regime] * powers(size, curves.scale)[:, np.newaxis]).sum(axis=-1)
            return np.asarray(at[..., BY_P] * p + at[..., BY_1_P] / p + at[..., CONSTANT])

        adjustments = fit_adjustments(runs, times, roles=roles, draws=factors, size=options.adjust_size)
    return Built(curves, roles, borrowed, compositions, adjustments)


def _borrow(roles: Floats) -> NDArray[np.bool_]:
    """Fill regimes without models from the nearest that has one, the lower first."""
    regimes = roles.shape[4]
    known = np.isfinite(roles[0, 0, ..., :2, 0])
    borrowed = np.zeros(known.shape, bool)
    for regime in range(regimes) if regimes > 1 else ():
        missing = ~known[:, :, regime]
        for other in sorted(range(regimes), key=lambda x: (abs(x - regime), x)):
            for several, own in ((0, slice(ALONE, ALONE + 1)), (1, slice(BY_P, ROLES))):
                kind, m = np.nonzero(missing[..., several] & known[:, :, other, several])
                roles[:, :, kind, m, regime, own] = roles[:, :, kind, m, other, own]
                borrowed[kind, m, regime, several] = True
                missing[kind, m, several] = False
    return borrowed
