"""Stated intervals: where one run, a mean, a ratio or a difference lies, noise and doubt included.

Samples are replications of many rows on the same draws. A row's replications belong to truths: what one truth takes is
the mean of its replications, and truths differ by doubt. What few replications leave open of a truth's mean (the Monte
Carlo error) is taken off the spread of truths, and only decides whether more are run. Without truths nothing is
doubted, and what remains open of a mean is its Monte Carlo error.
"""

from dataclasses import dataclass

import numpy as np

from simulator.base import randomness, ties
from simulator.base.arrays import Flags, Floats, Ints

Truths = Ints
"""Number of the truth that each replication has; (replication,)."""

LEVEL = 0.9
"""How often a stated interval holds, unless something else is asked for."""
FEWEST_EQUAL = 6
"""From so many equal replications on, equal values are an interval: smallest to largest holds the median with 95 %."""
EQUAL = 1e-12
"""Spread, as a share of the values, below which replications are equal."""
FEW = 12
"""Values up to which quantiles are not read off them; of n values a part `FEW / n` is as if they were normal."""
SAME_PLACE = 0.005
"""Part of an interval within which values at its end are one, as gains that one of two PEs alone decides are."""
WIDENED = 0.35
"""Part of what independent values need: truths are stratified by source, but not by what sources do together."""
DRAWS = 2_000
"""For chances: a stated one has a standard error of at most 0.011."""
MOST_LOG = 700.0
"""Logarithm of a ratio up to which it is a number."""
SMOOTHED = 1.0
"""Bandwidth of draws around truths, as a share of the standard deviation, times the number of truths to the -1/2."""


@dataclass(frozen=True)
class Interval:
    """Both ends per row, NaN where replications tell none; (row,) each."""

    low: Floats
    high: Floats

    def reaching(self, values: Floats) -> "Interval":
        """So wide that it holds some values, too, where these are numbers; (row,)."""
        low, high = (np.where(np.isnan(values), end, values) for end in (self.low, self.high))
        return Interval(np.minimum(self.low, low), np.maximum(self.high, high))


@dataclass(frozen=True)
class Chances:
    """Who is best over truths; (row,) each."""

    best: Floats
    """Share of the truths in which no other row takes less in the mean; rows that are alike share it."""
    near: Floats
    """Share of the truths in which it takes at most a margin more than the best."""
    loss: Floats
    """Expected loss: how much more it takes than the best one of each truth, as a share, in the mean over truths."""


def of_run(samples: Floats, truths: Truths | None, *, level: float = LEVEL, deterministic: bool = False) -> Interval:
    """Where one run lies, whatever the truth is; samples (row, replication).

    Quantiles of all replications. They count the less, the more of what they vary by is their truth (the design effect
    of clusters, Kish 1965), which widens the interval a little.
    """
    if deterministic:
        return _points(samples)
    rows, count = samples.shape
    if count < 2:
        return _nothing(rows)
    known = _Truths.of(truths, count)
    if known is not None and known.count < 2:
        return _nothing(rows)
    runs = np.full(rows, float(count))
    if known is not None:
        means, within = known.split(samples)
        between = np.maximum(np.var(means, axis=1, ddof=1) - within / known.each, 0.0)
        whole = between + within
        common = np.divide(between, whole, out=np.zeros(rows), where=whole > 0)
        runs = count / (1 + (known.each - 1) * common)
    found = _quantiles(samples, runs, level)
    return _unless_equal(found, samples, np.max(np.abs(samples), axis=1))


def of_mean(samples: Floats, truths: Truths | None, *, level: float = LEVEL, deterministic: bool = False) -> Interval:
    """Where the true mean lies; samples (row, replication).

    Without truths Student's t; with them the quantiles of their means, drawn together by what replications add to them.
    """
    if deterministic:
        return _points(samples)
    known = _Truths.of(truths, samples.shape[1])
    if known is None:
        means = samples.mean(axis=1)
        half = _half(samples, np.max(np.abs(samples), axis=1), level)
        return Interval(means - half, means + half)
    if known.count < 2:
        return _nothing(samples.shape[0])
    means, within = known.split(samples)
    centres = samples.mean(axis=1)
    drawn = _drawn_together(means, within, known, centres)
    found = _quantiles(drawn, np.full(centres.size, float(known.count)), level)
    return _unless_equal(found, samples, np.max(np.abs(samples), axis=1))


def of_ratio(
    base: Floats, others: Floats, truths: Truths | None, *, level: float = LEVEL, deterministic: bool = False
) -> Interval:
    """Where the base's true mean over each other row's lies (a gain); base (replication,) or as others.

    Truth by truth on the logarithm; without truths by the delta method and Student's t.
    """
    base = np.broadcast_to(base, others.shape)
    means = others.mean(axis=1)
    ratios = base.mean(axis=1) / means
    if deterministic:
        return Interval(ratios, ratios)
    rest = base - ratios[:, np.newaxis] * others
    known = _Truths.of(truths, others.shape[1])
    if known is None:
        half = _half(rest, base.mean(axis=1), level) / means
        return Interval(np.maximum(ratios - half, 0.0), ratios + half)
    if known.count < 2:
        return _nothing(ratios.size)
    of_base, of_others = known.split(base)[0], known.split(others)[0]
    logs = np.log(of_base / of_others)
    # what replications add to a truth's ratio, from what is left of each run when its truth's own ratio is taken off
    own = base - (of_base / of_others)[:, known.places] * others
    within = known.split(own)[1] / base.mean(axis=1) ** 2
    drawn = _drawn_together(logs, within, known, logs.mean(axis=1))
    found = _quantiles(drawn, np.full(ratios.size, float(known.count)), level)
    found = Interval(np.exp(found.low), np.exp(np.minimum(found.high, MOST_LOG))).reaching(ratios)
    return _unless_equal(found, rest, base.mean(axis=1))


def of_difference(
    base: Floats, others: Floats, truths: Truths | None, *, level: float = LEVEL, deterministic: bool = False
) -> Interval:
    """Where the true mean of each other row minus that of the base lies; as `of_ratio`."""
    base = np.broadcast_to(base, others.shape)
    rest = others - base
    if deterministic or truths is not None:
        return of_mean(rest, truths, level=level, deterministic=deterministic)
    means, half = rest.mean(axis=1), _half(rest, np.abs(base).mean(axis=1), level)
    return Interval(means - half, means + half)


def of_share(found: int, count: int, *, level: float = LEVEL) -> tuple[float, float]:
    """Where a share lies of which `found` of `count` were seen: Clopper and Pearson's exact interval."""
    from scipy.stats import binomtest

    ends = binomtest(found, count).proportion_ci(level, method="exact")
    return float(ends.low), float(ends.high)


def chances(
    samples: Floats, truths: Truths | None, *, seed: int, margin: float = 0.01, deterministic: bool = False
) -> Chances:
    """How likely each row is the best one, over truths; samples (row, replication) of what shall be least.

    Truths are drawn around those that are there (a smoothed bootstrap that keeps the variance, Silverman and Young
    1987): as if doubt were normal where there are few, by their own shape where there are many. They are seldom normal:
    one row is best on one side, another on the other. Of what replications add, see `_around`. Without truths what is
    drawn are means: normal weights of replications, widened for few ones by the chi-square of their variance. Nobody is
    surer than so few truths, or replications, allow (`surest`). Rows that are alike share one chance, as if they were
    one row; NaN where nothing is known.
    """
    first = alike(samples)
    rows = np.unique(first)
    known = _Truths.of(truths, samples.shape[1])
    independent = known.count if known is not None else samples.shape[1]
    if deterministic or rows.size == 1:
        centres = np.log(samples[rows].mean(axis=1))
        surely = likely = _behind(centres[np.newaxis])
    elif independent < 2:
        nothing = np.full(first.size, np.nan)
        return Chances(nothing, nothing, nothing)
    else:
        generator = randomness.stream(seed, "chances")
        some = samples[rows]
        centres = np.log(some.mean(axis=1))
        around = _of_means(some, generator) if known is None else _of_truths(some, known, generator)
        # what so few values leave open of their spread, as in Student's t, whose tails have no expectation
        widened = np.sqrt((independent - 1) / generator.chisquare(independent - 1, (DRAWS, 1)))
        surely, likely = _behind(centres + around), _behind(centres + widened * around)
    best = likely <= ties.SAME
    shares = np.mean(best / best.sum(axis=1, keepdims=True), axis=0)
    near = np.mean(likely <= np.log1p(margin) + ties.SAME, axis=0)
    if not deterministic and rows.size > 1:
        most = surest(independent, doubted=known is not None)
        shares, near = no_surer(shares, most), np.minimum(near, most)
    place = np.searchsorted(rows, first)
    return Chances(shares[place], near[place], np.mean(np.expm1(surely), axis=0)[place])


def alike(samples: Floats) -> Ints:
    """The first row that has the same values in every replication, but for rounding; (row,)."""
    known: dict[int, list[int]] = {}
    found = np.arange(samples.shape[0])
    for place, level in enumerate(ties.levels(samples.mean(axis=1)).tolist()):
        others = known.setdefault(level, [])
        alike = (np.allclose(samples[place], samples[other], ties.SAME, 0, equal_nan=True) for other in others)
        first = next((other for other, same in zip(others, alike, strict=True) if same), None)
        if first is None:
            others.append(place)
        else:
            found[place] = first
    return found


def surest(count: int, *, doubted: bool = False) -> float:
    """The largest chance that so many replications, or truths where there is doubt, can tell.

    1 - 0.5^n for replications: so likely is it that n do not all fall on one side of the typical one. 1 - 0.5 / (n + 1)
    for truths, as if half a truth more were the other way round: what is drawn again may have another one.
    """
    return 1 - 0.5 / (count + 1) if doubted and count > 1 else 1 - 0.5**count


def no_surer(chances: Floats, most: float) -> Floats:
    """Chances of which none is larger than `surest`, what is beyond shared by the others; (row,)."""
    top = int(np.argmax(chances))
    if chances.size < 2 or chances[top] <= most:
        return chances
    found: Floats = chances + (chances[top] - most) / (chances.size - 1)
    found[top] = most
    return found


@dataclass(frozen=True)
class _Truths:
    """Which replications share a truth."""

    places: Truths
    """Of each replication's truth among those that are there; (replication,)."""
    runs: Floats
    """Replications of each truth; (truth,)."""

    @classmethod
    def of(cls, truths: Truths | None, replications: int) -> "_Truths | None":
        """Of these replications; None where nothing is doubted."""
        if truths is None:
            return None
        _, places = np.unique(truths[:replications], return_inverse=True)
        return cls(places.astype(np.int64), np.bincount(places).astype(np.float64))

    @property
    def count(self) -> int:
        """How many there are."""
        return int(self.runs.size)

    @property
    def each(self) -> float:
        """Replications that a truth has, typically (harmonic mean)."""
        return float(self.runs.size / np.sum(1 / self.runs))

    def split(self, samples: Floats) -> tuple[Floats, Floats]:
        """Means by truth, (row, truth), and the variance within truths, (row,), 0 where each has one replication."""
        if self.count == samples.shape[1]:
            found = np.empty_like(samples)
            found[:, self.places] = samples
            return found, np.zeros(samples.shape[0])
        order = np.argsort(self.places, kind="stable")
        starts = np.concatenate(([0], np.cumsum(self.runs)[:-1])).astype(np.int64)
        means = np.add.reduceat(samples[:, order], starts, axis=1) / self.runs
        rest = samples - means[:, self.places]
        return means, np.sum(rest**2, axis=1) / (samples.shape[1] - self.count)


def _drawn_together(means: Floats, within: Floats, known: _Truths, centres: Floats) -> Floats:
    """Truth means around their centre with the spread that truths have; (row, truth)."""
    return np.asarray(centres[:, np.newaxis] + _around(means, within, known))


def _around(means: Floats, within: Floats, known: _Truths) -> Floats:
    """How far truths are from their centre, without what replications add (analysis of variance); (row, truth)."""
    around = means - means.mean(axis=1, keepdims=True)
    seen = np.sum(around**2, axis=1) / (known.count - 1)
    added = within / known.each
    least = _no_less(seen - added, seen * np.sqrt(2 / (known.count - 1)))
    spread = np.where(added > 0, np.minimum(least, seen) + added / known.count, seen)
    factor = np.sqrt(np.divide(spread, seen, out=np.zeros_like(seen), where=seen > 0))
    return np.asarray(factor[:, np.newaxis] * around)


def _no_less(found: Floats, error: Floats) -> Floats:
    """What is expected of a number that is at least 0, if this was found with a normal error."""
    from scipy.special import log_ndtr

    errors = np.where(error > 0, error, 1.0)
    apart = np.clip(found / errors, -30, 30)
    tail = np.exp(-(apart**2) / 2 - np.log(np.sqrt(2 * np.pi)) - log_ndtr(apart))
    return np.where(error > 0, np.maximum(found + errors * tail, 0.0), np.maximum(found, 0.0))


def _quantiles(values: Floats, counts: Floats, level: float) -> Interval:
    """Ends of rows (row, n) as of so many independent values: Student's t of few, plotting positions of many."""
    size, tail = values.shape[1], (1 - level) / 2
    few = _of_few(values, level)
    if size <= FEW:
        return few
    ordered = np.sort(values, axis=1)
    turned = -ordered[:, ::-1]
    beyond = (0.5 - tail) * WIDENED / np.maximum(counts, 1.0)
    low, high = _at(ordered, tail - beyond), -_at(turned, tail - beyond)
    below, above = (_heaped(rows, tail, SAME_PLACE * (high - low)) for rows in (ordered, turned))
    if np.any(below | above):  # nothing lies beyond a heap at one end, so that as much more may beyond the other one
        whole = _at(ordered, 2 * tail - beyond), -_at(turned, 2 * tail - beyond)
        low = np.where(below, ordered[:, 0], np.where(above, whole[0], low))
        high = np.where(above, ordered[:, -1], np.where(below, whole[1], high))
    share = FEW / size
    return Interval(low + share * (few.low - low), high + share * (few.high - high))


def _heaped(ordered: Floats, tail: float, near: Floats) -> Flags:
    """Whether the least values of ascending rows are one: more than a tail, not counting the very first; (row,)."""
    return np.asarray(ordered[:, int(tail * ordered.shape[1]) + 1] - ordered[:, 0] <= near)


def _at(ordered: Floats, tails: Floats) -> Floats:
    """Lower quantiles of ascending rows by Hazen's positions, extrapolated; (row,)."""
    position = tails * ordered.shape[1] - 0.5
    below = np.clip(np.floor(position), 0, ordered.shape[1] - 2).astype(np.int64)
    rows = np.arange(ordered.shape[0])
    first, second = ordered[rows, below], ordered[rows, below + 1]
    return np.asarray(first + (position - below) * (second - first))


def _of_few(values: Floats, level: float) -> Interval:
    from scipy.special import stdtrit

    positive = np.all(values > 0, axis=1)
    known = np.where(positive[:, np.newaxis], np.log(np.where(positive[:, np.newaxis], values, 1.0)), values)
    means, size = known.mean(axis=1), values.shape[1]
    half = stdtrit(size - 1, (1 + level) / 2) * known.std(axis=1, ddof=1)
    low, high = means - half, means + half
    return Interval(np.where(positive, np.exp(low), low), np.where(positive, np.exp(high), high))


def _half(samples: Floats, scale: Floats, level: float) -> Floats:
    """Half the interval of each row's mean (Student's t), NaN where none is known; equal is judged by the scale."""
    from scipy.special import stdtrit

    count = samples.shape[1]
    if count < 2:
        return np.full(samples.shape[0], np.nan)
    half = np.asarray(stdtrit(count - 1, (1 + level) / 2) * np.std(samples, axis=1, ddof=1) / np.sqrt(count))
    return half if count >= FEWEST_EQUAL else np.where(np.ptp(samples, axis=1) <= EQUAL * scale, np.nan, half)


def _behind(drawn: Floats) -> Floats:
    """How far each row is behind the least of its draw; (draw, row)."""
    return np.asarray(drawn - drawn.min(axis=1, keepdims=True))


def _of_means(samples: Floats, generator: np.random.Generator) -> Floats:
    """Draws of how far the logarithms of means may be off, less what all rows share; (draw, row)."""
    count, means = samples.shape[1], samples.mean(axis=1)
    rest = (samples / means[:, np.newaxis] - 1) / np.sqrt(count * (count - 1))
    weights = generator.standard_normal((DRAWS, count))
    return np.asarray(weights @ (rest - rest[np.argmin(means)]).T)


def _of_truths(samples: Floats, known: _Truths, generator: np.random.Generator) -> Floats:
    """Draws of how far the logarithms of rows are from those of their means in a truth; as `_of_means`."""
    count = known.count
    means, _ = known.split(samples)
    whole = samples.mean(axis=1)
    best = int(np.argmin(whole))
    own = samples / whole[:, np.newaxis] - samples[best] / whole[best]
    around = _around(np.log(means / means[best]), known.split(own)[1], known)
    smooth = min(1.0, SMOOTHED * count**-0.5)
    weights = smooth * generator.standard_normal((DRAWS, count)) / np.sqrt(count - 1)
    weights[np.arange(DRAWS), generator.integers(0, count, DRAWS)] += np.sqrt(1 - smooth**2)
    return np.asarray(weights @ around.T)


def _points(samples: Floats) -> Interval:
    means = samples.mean(axis=1)
    return Interval(means, means)


def _nothing(rows: int) -> Interval:
    nothing = np.full(rows, np.nan)
    return Interval(nothing, nothing)


def _unless_equal(found: Interval, samples: Floats, scale: Floats) -> Interval:
    """NaN where a few replications are equal, perhaps by chance."""
    equal = (np.ptp(samples, axis=1) <= EQUAL * scale) & (samples.shape[1] < FEWEST_EQUAL)
    return Interval(np.where(equal, np.nan, found.low), np.where(equal, np.nan, found.high))
