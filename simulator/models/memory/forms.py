"""Forms of Apex-MAP's time per word: models 0 to 3 and n levels, over arrays of (M, alpha, L)."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simulator.base import ties
from simulator.base.arrays import Floats

MOST_LEVELS = 5
"""Levels that are tried: three caches, one between them and main memory (a TLB's reach, say), main memory."""
PER_OCTAVE = 4
"""Level sizes that the search looks at in each octave of memory sizes."""
BELOW = 4.0
"""A level may be this many times smaller than the smallest memory measured: alpha below 1 shows it all the same."""
KEPT = 30
"""Sets of level sizes that the search goes on with."""
STARTS = 3
"""Best sets of the search that are then improved."""
STIFF = 0.05
"""Relative error that is preferred to a level slower than all others by the slowest time measured.

Hardly noticed where points see a level; where they see a trace of it, its latency does not run away.
"""
ABOVE = 1.25
"""A level is at least this many times smaller than the largest memory: more must lie beyond it than a trace."""
SWEEPS = 40
POLISH = (0.6, 0.2, 0.06, 0.02)
"""How far, as a logarithm, each capacity is moved in the end."""


@dataclass(frozen=True)
class MemoryTimes:
    """Measured times per word; all arrays (points,)."""

    m_words: Floats
    alpha: Floats
    run_words: Floats
    time_s: Floats

    def __len__(self) -> int:
        """How many points."""
        return int(self.time_s.size)

    def take(self, rows: NDArray[np.generic]) -> "MemoryTimes":
        """Some of the points, by index or mask."""
        return MemoryTimes(*(column[rows] for column in (self.m_words, self.alpha, self.run_words, self.time_s)))

    def distinct(self) -> NDArray[np.intp]:
        """A number for each point that repetitions of the same (M, alpha, L) share, ascending in that order."""
        points = np.stack((self.m_words, self.alpha, self.run_words), axis=-1)
        return np.asarray(np.unique(points, axis=0, return_inverse=True)[1], dtype=np.intp).reshape(-1)


def scattered(count: int) -> NDArray[np.intp]:
    """0 to count - 1, each once, in an order without pattern that is always the same (splitmix64's mixing).

    What is left out of a grid in such an order is no whole row of it, as with every k-th point.
    """
    mixed = np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return np.asarray(np.argsort(mixed ^ (mixed >> np.uint64(31)), kind="stable"), dtype=np.intp)


@dataclass(frozen=True)
class Form:
    """What a model leaves to be fitted."""

    name: str
    levels: int
    runs: bool
    """Whether latency and gap differ: without, time does not depend on L (models 0 and 1)."""

    @property
    def parameters(self) -> int:
        """How many numbers are fitted, the capacities of all levels but the last among them."""
        return self.levels * (2 if self.runs else 1) + self.levels - 1

    @property
    def points_needed(self) -> int:
        """Distinct points that its fit asks for: two for each parameter, so that an error is left to be seen."""
        return 2 * self.parameters


FORMS = (
    Form("model 0", 1, runs=False),
    Form("model 1", 2, runs=False),
    Form("model 2", 1, runs=True),
    Form("model 3", 2, runs=True),
    *(Form(f"{levels} levels", levels, runs=True) for levels in range(3, MOST_LEVELS + 1)),
)
"""Models 0 to 3 of the paper (apex-map-memory-models, table 2; EQUATIONS section 5) and model 3 for more levels."""
ONE_L = (*FORMS[:2], *(Form(f"{levels} levels, one L", levels, runs=False) for levels in (3, 4)))
"""Where all points have one L, which cannot tell latency from gap."""


def hit_rates(m_words: ArrayLike, alpha: ArrayLike, capacities_words: ArrayLike) -> Floats:
    """`P_k = min(1, c_k/M)^alpha`: chance that an access falls in the first c_k words; shape (points, capacities)."""
    m = np.asarray(m_words, dtype=np.float64)[:, np.newaxis]
    exponent = np.asarray(alpha, dtype=np.float64)[:, np.newaxis]
    return np.asarray(np.minimum(1.0, np.asarray(capacities_words, dtype=np.float64) / m) ** exponent)


def run_shares(run_words: ArrayLike, *, runs: bool) -> Floats:
    """What latency and gap add to a word, `1/L` and `(L-1)/L`; only a column of 1 without runs; shape (points, 2)."""
    run = np.asarray(run_words, dtype=np.float64)
    return np.stack((1 / run, 1 - 1 / run), axis=-1) if runs else np.ones((run.size, 1))


@dataclass(frozen=True)
class Constants:
    """Numbers of a form, whether or not they make physical sense; capacities ascend."""

    capacities_words: Floats
    """c of all levels but the last; (levels - 1,)."""
    latency_s: Floats
    """Seconds until the first word of a run; (levels,)."""
    gap_s: Floats
    """Seconds for each further word; (levels,). Equal to the latency in models 0 and 1."""

    def times_s(self, points: MemoryTimes) -> Floats:
        """`T = sum over k of (P_k - P_(k-1)) * (l_k + g_k*(L-1)) / L`, seconds per word; shape (points,)."""
        shares = self.level_shares(points)
        words_s = run_shares(points.run_words, runs=True) @ np.stack((self.latency_s, self.gap_s))
        return np.asarray(np.sum(shares * words_s, axis=-1))

    def level_shares(self, points: MemoryTimes) -> Floats:
        """`P_k - P_(k-1)`, the share of accesses that each level serves; shape (points, levels)."""
        inside = hit_rates(points.m_words, points.alpha, self.capacities_words)
        edge = np.ones((len(points), 1))
        return np.diff(np.concatenate((0 * edge, inside, edge), axis=-1), axis=-1)


@dataclass(frozen=True)
class Fitted:
    """A form fitted to points."""

    form: Form
    constants: Constants
    ordered: bool
    """Whether latencies and gaps were held to physical order: none negative, none smaller than a level further in."""
    relative_sse: float
    """Sum of squared relative residuals, what the fit makes least."""


def fit_form(form: Form, points: MemoryTimes, *, ordered: bool, near: Constants | None = None) -> Fitted:
    """Fit a form by least squares of the relative residuals `(T_model - T) / T`, capacities among what is fitted.

    Times span three decades, so that squares of seconds would show the slowest alone. Latencies and gaps enter
    linearly: for given capacities they are solved for, and only capacities are searched (variable projection): all
    sets on a grid are grown level by level, the best kept, and the best of those improved. Always the same result
    from the same points.

    `ordered`: keep latencies and gaps physical: at least 0 and never smaller than those of a level further in.
    `near`: a fit of the same form to more points, which then is the one start.
    """
    starts = _starts(form, points, ordered=ordered) if near is None else [np.log(near.capacities_words)]
    found = [_improve(form, points, start, ordered=ordered) for start in starts]
    best = found[ties.first_least([squares for squares, _ in found])]
    capacities = _polished(form, points, *best, ordered=ordered)
    solved, residuals = _solve(form, points, capacities, ordered=ordered)
    relative = residuals[: len(points)]
    return Fitted(form, _constants(form, capacities, solved), ordered, float(relative @ relative))


def _columns(form: Form, points: MemoryTimes, capacities: Floats) -> Floats:
    """`(1 - P_k)` times what latency and gap add, all relative to the time; shape (points, capacities + 1, 1 or 2)."""
    beyond = 1 - hit_rates(points.m_words, points.alpha, capacities)
    beyond = np.concatenate((np.ones((len(points), 1)), beyond), axis=-1)
    word = run_shares(points.run_words, runs=form.runs)
    return np.asarray(beyond[:, :, np.newaxis] * (word / points.time_s[:, np.newaxis])[:, np.newaxis, :])


def _solve(form: Form, points: MemoryTimes, capacities: Floats, *, ordered: bool) -> tuple[Floats, Floats]:
    """Steps of latency and gap that fit best with these capacities, and what is left."""
    from scipy.optimize import nnls

    columns = _columns(form, points, capacities).reshape(len(points), -1)
    columns = np.concatenate((columns, _stiffness(points) * np.eye(columns.shape[1])))
    size = np.sqrt(np.sum(columns**2, axis=0))
    wanted = np.concatenate((np.ones(len(points)), np.zeros(columns.shape[1])))
    solved = _without_rounding(np.linalg.lstsq(columns / size, wanted, rcond=1e-10)[0] / size, columns)
    if ordered and np.any(solved < 0):
        solved = _without_rounding(nnls(columns / size, wanted)[0] / size, columns)
    return solved, columns @ solved - wanted


def _without_rounding(steps: Floats, columns: Floats) -> Floats:
    """Steps that add no more than rounding to any time as 0: their sign would be one of rounding."""
    return np.where(np.max(np.abs(columns * steps), axis=0) <= ties.SAME, 0.0, steps)


def _stiffness(points: MemoryTimes) -> float:
    return STIFF / float(points.time_s.max() * points.run_words.min())


def _improve(form: Form, points: MemoryTimes, start: Floats, *, ordered: bool) -> tuple[float, Floats]:
    """Least sum of squares from a start, and the capacities in words."""
    from scipy.optimize import least_squares

    if not start.size:
        residuals = _solve(form, points, start, ordered=ordered)[1]
        return float(residuals @ residuals), start
    low, high = _range(points)
    found = least_squares(
        lambda logs: _solve(form, points, np.exp(np.sort(logs)), ordered=ordered)[1],
        np.clip(start, np.log(low) + 1e-6, np.log(high) - 1e-6),
        bounds=(np.log(low), np.log(high)),
        diff_step=1e-5,
        xtol=1e-5,
        ftol=1e-6,
        max_nfev=25,
    )
    return float(2 * found.cost), np.exp(np.sort(found.x))


def _polished(form: Form, points: MemoryTimes, least: float, capacities: Floats, *, ordered: bool) -> Floats:
    """Capacities tried one by one around where they are: slopes jump where a capacity is a size that was measured."""
    low, high = _range(points)
    for reach in POLISH:
        for k in range(capacities.size):
            for factor in np.exp(np.linspace(-reach, reach, 12)):
                tried = capacities.copy()
                tried[k] = np.clip(tried[k] * factor, low, high)
                residuals = _solve(form, points, np.sort(tried), ordered=ordered)[1]
                if ties.is_less(sse := float(residuals @ residuals), least):
                    least, capacities = sse, np.sort(tried)
    return capacities


def _range(points: MemoryTimes) -> tuple[float, float]:
    return float(points.m_words.min()) / BELOW, float(points.m_words.max()) / ABOVE


def _starts(form: Form, points: MemoryTimes, *, ordered: bool) -> list[Floats]:
    """Logarithms of the best capacities on the grid; one empty set for one level."""
    wanted = form.levels - 1
    if not wanted:
        return [np.empty(0)]
    low, high = _range(points)
    grid = np.exp(np.linspace(np.log(low), np.log(high), int(PER_OCTAVE * np.log2(high / low)) + 2))[:-1]
    columns = _columns(form, points, grid)
    width = columns.shape[-1]
    columns = columns.reshape(len(points), -1)
    gram = columns.T @ columns + _stiffness(points) ** 2 * np.eye(columns.shape[1])
    target = columns.sum(axis=0)
    kept = np.empty((1, 0), dtype=np.intp)
    for _ in range(wanted):
        kept = _grown(kept, grid.size)
        # Block 0 is the first level, block k + 1 the step at grid[k].
        blocks = np.concatenate((np.zeros((len(kept), 1), dtype=np.intp), kept + 1), axis=-1)
        chosen = (blocks[:, :, np.newaxis] * width + np.arange(width)).reshape(len(kept), -1)
        gain = _gains(gram[chosen[:, :, np.newaxis], chosen[:, np.newaxis, :]], target[chosen], ordered=ordered)
        kept = kept[ties.in_order(-gain)[:KEPT]]
    return [np.log(grid[row]) for row in _spread(kept)]


def _grown(kept: NDArray[np.intp], count: int) -> NDArray[np.intp]:
    """Every set with one more capacity of the grid, at least half an octave from the others."""
    more = np.concatenate(
        (np.repeat(kept, count, axis=0), np.tile(np.arange(count), len(kept))[:, np.newaxis]), axis=-1
    )
    more = np.sort(more, axis=-1)
    apart = np.all(np.diff(more, axis=-1) >= PER_OCTAVE // 2, axis=-1)
    return np.unique(more[apart], axis=0)


def _gains(grams: Floats, targets: Floats, *, ordered: bool) -> Floats:
    """How much each set takes off the sum of squares; (sets,). Coordinate descent keeps steps at 0 or above."""
    size = np.sqrt(np.maximum(np.einsum("sii->si", grams), 1e-300))
    scaled = grams / (size[:, :, np.newaxis] * size[:, np.newaxis, :])
    wanted = targets / size
    scaled = scaled + 1e-9 * np.eye(wanted.shape[1])
    solved = np.linalg.solve(scaled, wanted[:, :, np.newaxis])[:, :, 0]
    if ordered:
        solved = np.maximum(solved, 0.0)
        for _ in range(SWEEPS):
            for i in range(wanted.shape[1]):
                rest = wanted[:, i] - np.einsum("sj,sj->s", scaled[:, i], solved) + scaled[:, i, i] * solved[:, i]
                solved[:, i] = np.maximum(rest / scaled[:, i, i], 0.0)
    fitted = np.einsum("si,sij,sj->s", solved, scaled, solved)
    return np.asarray(2 * np.einsum("si,si->s", solved, wanted) - fitted)


def _spread(ranked: NDArray[np.intp]) -> list[NDArray[np.intp]]:
    """The best sets that are not neighbours of a better one."""
    found: list[NDArray[np.intp]] = []
    for row in ranked:
        if all(np.max(np.abs(row - other)) > PER_OCTAVE // 2 for other in found):
            found.append(row)
        if len(found) == STARTS:
            break
    return found


def _constants(form: Form, capacities: Floats, steps: Floats) -> Constants:
    by_level = np.cumsum(steps.reshape(form.levels, -1), axis=0)
    return Constants(capacities, by_level[:, 0], by_level[:, -1])


@dataclass(frozen=True)
class StandardErrors:
    """How well points determine each constant, in its own unit; infinite where they do not."""

    capacities_words: Floats
    latency_s: Floats
    gap_s: Floats


def standard_errors(fitted: Fitted, points: MemoryTimes) -> StandardErrors:
    """Standard errors from the Jacobian of the relative residuals at the optimum, with their variance.

    A constant is not identifiable, and its error infinite, where the points leave a direction free that changes it.
    """
    form, constants = fitted.form, fitted.constants
    shares = constants.level_shares(points)
    word = run_shares(points.run_words, runs=form.runs)
    linear = (shares[:, :, np.newaxis] * word[:, np.newaxis, :]).reshape(len(points), -1)
    words_s = run_shares(points.run_words, runs=True) @ np.stack((constants.latency_s, constants.gap_s))
    inside = hit_rates(points.m_words, points.alpha, constants.capacities_words)
    slopes = np.where(inside < 1, points.alpha[:, np.newaxis] * inside, 0.0) * (words_s[:, :-1] - words_s[:, 1:])
    jacobian = np.concatenate((slopes, linear), axis=-1) / points.time_s[:, np.newaxis]
    free = max(1, len(points) - form.parameters)
    errors = _errors(jacobian, fitted.relative_sse / free)
    count = form.levels - 1
    by_level = errors[count:].reshape(form.levels, -1)
    return StandardErrors(errors[:count] * constants.capacities_words, by_level[:, 0], by_level[:, -1])


def _errors(jacobian: Floats, variance: float) -> Floats:
    """Standard error of each column's parameter."""
    size = np.sqrt(np.sum(jacobian**2, axis=0))
    known = size > 0
    errors = np.full(size.size, np.inf)
    _, singular, directions = np.linalg.svd(jacobian[:, known] / size[known], full_matrices=False)
    lost = singular <= 1e-7 * singular[0]
    spread = np.sum((directions[~lost] / singular[~lost, np.newaxis]) ** 2, axis=0) * variance
    found = np.sqrt(spread) / size[known]
    found[np.sqrt(np.sum(directions[lost] ** 2, axis=0)) > 1e-3] = np.inf  # any of a plane's
    if jacobian.shape[0] < int(known.sum()):
        found[:] = np.inf
    errors[known] = found
    return errors
