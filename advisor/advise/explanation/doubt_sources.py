"""Where doubt comes from: which sources the truths of a table of runs differ by, and what each of them explains."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from simulator import randomness, ties

Floats = NDArray[np.float64]

UNSTATED = "as stated"
"""Cause of a doubt whose model or entry does not say what it is made of."""
SHARE_DIGITS = 6
"""Decimals of a share: it is what is left of a difference, so that more of them depend on the processor."""
UNEXPLAINED = "interactions and noise"
MOST_DEGREE = 4
"""Of the polynomials of one deviate."""
TRUTHS_PER_TERM = 2.5
"""Truths for each term that is fitted, at the least."""
LEAST_BETTER = 0.05
"""Share of the error on truths left out by which a further term has to lower it."""
MOST_TRUTHS = 2000
"""Truths that are looked at: more tell the same."""
MOST_ROWS = 12
"""Rows that a decision is between: those that are best in most truths."""
NODES = 1024
"""Places at which an expectation over deviates is taken, evenly likely."""
SHUFFLES = 40
"""Fits to what a source without effect would show, whose mean is what chance alone shows."""


@dataclass(frozen=True)
class Source:
    """Something that was measured, or said, with doubt: a model's file or an entry of the scenario."""

    name: str
    deviates: Floats
    """What was drawn for it: independent standard normal deviates; (truth, part)."""
    causes: Mapping[str, float]
    """Share of the variance of its doubt by cause; empty where that is not said."""
    what: str = "speed"
    """What it is the doubt of: `speed`, `link`, `load` ..."""
    pes: tuple[int, ...] = ()
    """PEs that have it; empty for links."""

    @property
    def shares(self) -> dict[str, float]:
        """The causes' shares, which add up to 1."""
        whole = sum(self.causes.values())
        return {name: share / whole for name, share in self.causes.items() if share > 0} if whole > 0 else {UNSTATED: 1}


@dataclass(frozen=True)
class Share:
    """What one source explains of a variance over truths."""

    source: str
    share: float
    causes: Mapping[str, float]
    """Its parts by cause, which add up to it."""


def truth_means(samples: Floats, truths: NDArray[np.int64]) -> Floats:
    """Mean of each row's replications by truth, truths ascending; samples (row, replication), (row, truth)."""
    numbers, places = np.unique(truths, return_inverse=True)
    counts = np.bincount(places)
    return np.array([np.bincount(places, weights=row, minlength=numbers.size) / counts for row in samples])


def mean_error(samples: Floats, truths: NDArray[np.int64]) -> float:
    """Variance of the mean of a truth by its replications (the Monte Carlo error), 0 where truths have one; (R,)."""
    numbers, places = np.unique(truths, return_inverse=True)
    counts = np.bincount(places)
    means = np.bincount(places, weights=samples) / counts
    free = samples.size - numbers.size
    within = float(((samples - means[places]) ** 2).sum() / free) if free > 0 else 0.0
    return within * float(np.mean(1 / counts))


class Regression:
    """Truth means of some rows as a sum of low polynomials of each source's deviates.

    The polynomials are Hermite's, which are uncorrelated for normal deviates: variances of terms add up, and a term of
    degree d keeps the part rho^d if only a signal that correlates by rho with the deviate is known (Mehler). Degrees
    are those with which truths that are left out are predicted best (PRESS, Allen 1974).

    `sources`: at least one; terms are fitted for as many parts as there are truths for, the first ones of each source
    first.
    `rows`: (row, truth).
    """

    def __init__(self, sources: Sequence[Source], rows: Floats) -> None:
        self.sources, self.rows = tuple(sources), rows[:, :MOST_TRUTHS]
        self._columns = self._chosen()
        self.degrees = self._best_degrees()
        """Of each source's polynomials."""
        self._terms, self._of = self._basis(self.degrees)
        self._solve = np.linalg.pinv(self._terms)
        self._leverage = np.diag(self._solve @ self._solve.T)
        self._fitted = self._fit(self.rows)

    @property
    def means(self) -> Floats:
        """Of each row over truths; (row,)."""
        return np.asarray(self.rows.mean(axis=1))

    def explained(self) -> Floats:
        """Variance of each row that each source explains, less what chance would; (source, row), at least 0."""
        return np.array([self._signal(place, *self._fitted)[0] for place in range(len(self.sources))])

    def shares(self, row: int, *, error: float = 0.0) -> tuple[Share, ...]:
        """Who explains how much of the variance of a row over truths, largest first; with the rest they add up to 1.

        `error`: variance of a truth's mean by its replications (the Monte Carlo error), which is no doubt and taken
        off.
        """
        parts = self.explained()[:, row]
        whole = max(float(np.var(self.rows[row], ddof=1)) - error, float(parts.sum()))
        parts = np.round(parts / whole, SHARE_DIGITS) if whole > 0 else parts
        found = [
            Share(source.name, part, {cause: part * share for cause, share in source.shares.items()})
            for source, part in zip(self.sources, parts.tolist(), strict=True)
        ]
        return tuple(sorted(found, key=lambda one: -one.share))

    def worth(self, kept: Mapping[int, float], *, seed: int) -> float:
        """How much less the best row takes in expectation if more is known of some sources before it is chosen.

        The expected value of partial information by regression (Strong & Oakley, Medical Decision Making 34, 2014), of
        sample information where less than all of a source gets known. What chance alone shows is taken off: the mean of
        what a source without effect seems to be worth, its residuals shuffled (Freedman & Lane 1983).

        `kept`: by the source's place, the share of its variance that gets known, 0 to 1.
        """
        deviates = self._nodes(kept, seed)
        seems = _gained(self.means, self._moved(kept, deviates, *self._fitted))
        return max(0.0, seems - self._chance(kept, deviates, seed))

    def _chance(self, kept: Mapping[int, float], deviates: Mapping[int, Floats], seed: int) -> float:
        """What `worth` would seem to be of sources without effect."""
        coefficients, _ = self._fitted
        columns = [place for place, (source, _, _) in enumerate(self._of) if source in kept]
        theirs = self._terms[:, columns] @ coefficients[columns]
        residuals = self.rows.T - self._terms @ coefficients
        without = self.rows.T - residuals - theirs
        generator = randomness.stream(seed, "worth of measuring", "chance", *sorted(kept))
        free = max(1, self.rows.shape[1] - self._terms.shape[1])
        residuals = residuals * np.sqrt(self.rows.shape[1] / free)  # a fit leaves less than there was
        found = []
        for _ in range(SHUFFLES):
            shuffled = without + residuals[generator.permutation(residuals.shape[0])]
            fitted = self._fit(shuffled.T)
            found.append(_gained(self.means, self._moved(kept, deviates, *fitted)))
        return float(np.mean(found))

    def _chosen(self) -> list[tuple[int, int]]:
        """Source and part of each deviate that is looked at: the first parts of all, then the second ones and so on."""
        most = max(1, int(self.rows.shape[1] / TRUTHS_PER_TERM) - 1)
        parts = max(source.deviates.shape[1] for source in self.sources)
        found = [
            (place, part)
            for part in range(parts)
            for place, source in enumerate(self.sources)
            if part < source.deviates.shape[1]
        ]
        return found[:most]

    def _basis(self, degrees: Sequence[int]) -> tuple[Floats, list[tuple[int, int, int]]]:
        """Terms at every truth, a constant first, (truth, term); and source, part and degree of each, -1 for it."""
        truths = self.rows.shape[1]
        columns, of = [np.ones(truths)], [(-1, 0, 0)]
        for source, part in self._columns:
            deviates, powers = self.sources[source].deviates[:truths, part], range(1, degrees[source] + 1)
            columns += [_hermite(deviates, power) for power in powers]
            of += [(source, part, power) for power in powers]
        return np.array(columns).T, of

    def _best_degrees(self) -> list[int]:
        """Degrees by which truths that are left out are predicted best: straight lines, raised source by source."""
        degrees = [1] * len(self.sources)
        error = self._left_out(degrees)
        while True:
            raised = [
                [degree + (place == other) for other, degree in enumerate(degrees)] for place in range(len(degrees))
            ]
            errors = [self._left_out(one) if max(one) <= MOST_DEGREE else np.inf for one in raised]
            place = ties.first_least(errors)
            if not ties.is_less(errors[place], error * (1 - LEAST_BETTER)):
                return degrees
            degrees, error = raised[place], errors[place]

    def _left_out(self, degrees: Sequence[int]) -> float:
        """Mean square of what is wrongly predicted of truths that are left out; infinite for too many terms."""
        terms, _ = self._basis(degrees)
        if max(degrees) > 1 and TRUTHS_PER_TERM * terms.shape[1] > terms.shape[0]:
            return np.inf
        scale = np.maximum(np.var(self.rows, axis=1), np.finfo(float).tiny)
        hat = terms @ np.linalg.pinv(terms)
        left = (self.rows.T - hat @ self.rows.T) / np.maximum(1 - np.diag(hat), 1e-9)[:, np.newaxis]
        return float(np.mean(np.mean(left**2, axis=0) / scale))

    def _fit(self, rows: Floats) -> tuple[Floats, Floats]:
        """Coefficients (term, row), and the variance of what they leave, (row,)."""
        coefficients = self._solve @ rows.T
        left = rows.T - self._terms @ coefficients
        free = max(1, self._terms.shape[0] - self._terms.shape[1])
        return coefficients, np.asarray((left**2).sum(axis=0) / free)

    def _signal(self, source: int, coefficients: Floats, noise: Floats) -> tuple[Floats, Floats]:
        """Variance by a source less what noise adds to it, and by what its coefficients shrink therefore; (row,)."""
        columns = [place for place, (own, _, _) in enumerate(self._of) if own == source]
        seen = (coefficients[columns] ** 2).sum(axis=0)
        signal = np.maximum(0.0, seen - noise * self._leverage[columns].sum())
        return signal, np.sqrt(np.divide(signal, seen, out=np.zeros_like(seen), where=seen > 0))

    def _nodes(self, kept: Mapping[int, float], seed: int) -> dict[int, Floats]:
        """Evenly likely deviates of the sources' parts, as uncorrelated as independent ones are; (node, part) each."""
        from scipy.special import ndtri

        parts = [(place, part) for place, part in self._columns if place in kept]
        generator = randomness.stream(seed, "worth of measuring", *sorted(kept))
        levels = np.array([generator.permutation(NODES) for _ in parts]).reshape(-1, NODES).T
        drawn = ndtri((levels + 0.5) / NODES)
        drawn = drawn @ np.linalg.inv(np.linalg.cholesky(drawn.T @ drawn / NODES)).T
        found = {place: np.zeros((NODES, self.sources[place].deviates.shape[1])) for place in kept}
        for column, (place, part) in enumerate(parts):
            found[place][:, part] = drawn[:, column]
        return found

    def _moved(
        self, kept: Mapping[int, float], deviates: Mapping[int, Floats], coefficients: Floats, noise: Floats
    ) -> Floats:
        """How far the expectation of each row moves with what gets known of some sources; (node, row)."""
        moved = np.zeros((NODES, self.rows.shape[0]))
        for source, share in kept.items():
            _, shrink = self._signal(source, coefficients, noise)
            for term, (own, part, power) in enumerate(self._of):
                if own == source:
                    values = share ** (power / 2) * _hermite(deviates[source][:, part], power)
                    moved += values[:, np.newaxis] * (coefficients[term] * shrink)
        return moved


@dataclass(frozen=True)
class Doubts:
    """The sources of a table of rows, and what each is worth to the decision between them."""

    sources: tuple[Source, ...]
    rows: Floats
    """What each row takes by truth, in what shall be least; (row, truth)."""
    chosen: int
    """The row that is advised."""
    reference: int
    """The row that gains are counted from."""
    errors: tuple[float, float] = (0.0, 0.0)
    """Variance of a truth's makespan and of its gain by its replications; see `mean_error`."""

    @cached_property
    def makespan(self) -> tuple[Share, ...]:
        """Shares of the variance of what the advised row takes."""
        return Regression(self.sources, self.rows[[self.chosen]]).shares(0, error=self.errors[0])

    @cached_property
    def gain(self) -> tuple[Share, ...] | None:
        """Shares of the variance of its gain over the reference; None where that is the advised row itself."""
        if self.reference == self.chosen:
            return None
        gains = self.rows[self.reference] / self.rows[self.chosen]
        return Regression(self.sources, gains[np.newaxis]).shares(0, error=self.errors[1])

    @cached_property
    def decision(self) -> Regression:
        """Of what rows that may be best take more than the one that is best in the mean."""
        best = int(np.argmin(self.rows.mean(axis=1)))
        firsts = np.bincount(np.argmin(self.rows, axis=0), minlength=self.rows.shape[0])
        order = np.argsort(-firsts, kind="stable")[:MOST_ROWS]
        rivals = [int(row) for row in order if firsts[row] and row != best]
        return Regression(self.sources, self.rows[[best, *rivals]] - self.rows[best])

    @property
    def least(self) -> float:
        """What the row takes that is best in the mean."""
        return float(self.rows.mean(axis=1).min())

    def loss(self, *, seed: int) -> float:
        """What the advised row is expected to lose to the best of each truth, as a share; noise does not count."""
        passed_over = float(self.rows[self.chosen].mean()) / self.least - 1 if self.least > 0 else 0.0
        return passed_over + self.worth(dict.fromkeys(range(len(self.sources)), 1.0), seed=seed)

    def worth(self, kept: Mapping[int, float], *, seed: int) -> float:
        """See `Regression.worth`, as a share of what the best row takes."""
        return self.decision.worth(kept, seed=seed) / self.least if self.least > 0 else 0.0


def _hermite(values: Floats, degree: int) -> Floats:
    """Hermite's polynomials with mean 0 and variance 1 for standard normal values."""
    before, found = np.ones_like(values), values
    for power in range(1, degree):
        before, found = found, (values * found - np.sqrt(power) * before) / np.sqrt(power + 1)
    return np.asarray(found)


def _gained(means: Floats, moved: Floats) -> float:
    """Least of the means less the mean of the least, both in expectation."""
    centred = moved - moved.mean(axis=0)
    return float(means.min() - (means + centred).min(axis=1).mean())
