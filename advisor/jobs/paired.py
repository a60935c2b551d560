"""Where a mean difference lies, from paired draws that are few and skewed, alone and together with many others.

Differences of waits between policies are skewed (a few busy streams have most of them) and have long tails. Student's
interval then misses too often on one side; one that corrects for skewness misses too often where the skewness that is
seen is chance. What is stated here reaches from the outer end of either to the outer end of the other.
"""

from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

FEWEST_STREAMS = 10
"""Independent streams, and differences other than 0 among them, below which no interval is stated."""
FEWEST_UNITS = 40
"""Weeks (or users, as many as count) below which a log tells no interval: of 24, intervals held 90 to 95, not 95 %."""
FEWEST_DRAWS = 30
"""Draws of a log, and differences other than 0 among them, below which their spread and skewness are not known."""
SHOWN_BY_STREAMS, SHOWN_BY_DRAWS = 1.5, 1.25
"""How many times larger true skewness is than what few values of a long tail show, as the coverage study has it."""
STRAIGHT = 1e-9
"""Skewness below which there is none to correct."""


@dataclass(frozen=True)
class Apart:
    """A difference, alone and together with others; see `Differences`."""

    mean: float | None
    low: float | None
    high: float | None
    low_together: float | None
    high_together: float | None
    p: float | None
    holm: float | None


VALUES = tuple(one.name for one in fields(Apart))


@dataclass(frozen=True, eq=False)
class Differences:
    """An entry per difference; NaN where too few draws tell none."""

    mean: Floats
    low: Floats
    high: Floats
    """Each interval holds on its own with the level."""
    low_together: Floats
    high_together: Floats
    """All intervals hold at once with the level (Bonferroni)."""
    p: Floats
    """How likely so large a difference is where there is none: 1 - the largest level whose interval leaves 0 out."""
    holm: Floats
    """The same corrected for all differences (Holm 1979): below 1 - level, a difference is one."""
    alike: NDArray[np.bool_]
    """Whether it is 0 in every draw: the two seldom differ, if ever, which is no interval."""

    def apart(self, place: int) -> "Apart":
        """One of them."""
        values = (float(getattr(self, name)[place]) for name in VALUES)
        return Apart(*(None if np.isnan(value) else value for value in values))

    def without(self, silent: NDArray[np.bool_]) -> "Differences":
        """The same, with nothing but means stated of some; the others are corrected for all."""
        return replace(
            self, **{name: np.where(silent, np.nan, getattr(self, name)) for name in VALUES if name != "mean"}
        )


def differences(
    draws: Floats,
    own: Floats | None = None,
    *,
    units: float = np.inf,
    level: float = 0.95,
    comparisons: int | None = None,
) -> Differences:
    """Where true mean differences lie.

    Two cases. Independent streams: the mean of the draws, its standard error, and the skewness that a mean of so many
    has. One log (`own`) whose parts are resampled: the log's own differences, whose standard error and skewness are
    those of the draws, as in the bootstrap, enlarged for the variance that a draw from so few parts lacks.

    `draws`: (difference, draw).
    `own`: of the log itself, (difference,); None where draws are independent streams.
    `units`: of how many independent parts the log is; see `simulator.job_draws.units_of`.
    `level`: how often an interval is to hold.
    `comparisons`: how many intervals hold together; all rows if not given.

    Sources: P. Hall, "On the removal of skewness by transformation", JRSS B 54, 1992 (its equation for the monotone
    transform); S. Holm, "A simple sequentially rejective multiple test procedure", 1979.
    """
    count = draws.shape[1]
    if own is None:
        centre, error, freedom = draws.mean(axis=1), _spread(draws) / np.sqrt(max(1, count)), count - 1.0
        skewed = SHOWN_BY_STREAMS * _few(count) * _skewness(draws) / np.sqrt(max(1, count))
        said = (np.count_nonzero(draws, axis=1) >= FEWEST_STREAMS) & (count >= FEWEST_STREAMS)
    else:
        parts = min(units, 1e9)
        centre, error, freedom = own, _spread(draws) * np.sqrt(parts / max(parts - 1, 1e-9)), min(parts, count) - 1.0
        skewed = SHOWN_BY_DRAWS * _few(parts) * _skewness(draws)
        said = (np.count_nonzero(draws, axis=1) >= FEWEST_DRAWS) & (parts >= FEWEST_UNITS)
    alike = np.all(draws == 0, axis=1) & (centre == 0) & (count > 0)
    shape = _Shape(centre, np.where(said, error, np.nan), skewed, max(freedom, 1.0))
    alone, together = shape.ends(level), shape.ends(1 - (1 - level) / max(1, comparisons or centre.size))
    p = np.where(alike, 1.0, shape.chance())
    return Differences(centre, *alone, *together, p, holm(p), alike)


def holm(p: Floats) -> Floats:
    """Chances corrected for their number, in the order given; NaN stays, and counts."""
    order = np.argsort(p)  # NaN last
    steps = np.maximum.accumulate(p[order] * (p.size - np.arange(p.size)))
    found = np.empty_like(p)
    found[order] = np.minimum(steps, 1.0)
    return found


@dataclass(frozen=True, eq=False)
class _Shape:
    """What is known of estimates: where they are, standard errors, skewness, and the errors' degrees of freedom."""

    centre: Floats
    error: Floats
    skewed: Floats
    freedom: float

    def ends(self, level: float) -> tuple[Floats, Floats]:
        """The outer ends of Student's interval and Hall's."""
        from scipy.special import stdtrit

        far = float(stdtrit(self.freedom, (1 + level) / 2))
        below, above = self._back(np.full_like(self.centre, far)), self._back(np.full_like(self.centre, -far))
        return self.centre - np.maximum(below, far) * self.error, self.centre - np.minimum(above, -far) * self.error

    def chance(self) -> Floats:
        """1 - the level at which one of these ends is 0."""
        from scipy.special import stdtr

        with np.errstate(divide="ignore", invalid="ignore"):
            apart = self.centre / self.error
        straight = self.skewed * apart
        turned = apart * (1 + straight / 3 + straight**2 / 27) + self.skewed / 6
        # where the skewness puts the whole interval on one side, 0 is as far off as Student's says
        least = np.minimum(np.abs(apart), np.where(turned * apart > 0, np.abs(turned), 0.0))
        return np.asarray(2 * stdtr(self.freedom, -least))

    def _back(self, values: Floats) -> Floats:
        """The inverse of Hall's transform: what a studentised value was before its skewness was taken off."""
        bent = np.abs(self.skewed) > STRAIGHT
        skewed = np.where(bent, self.skewed, 1.0)
        found = 3 / skewed * (np.cbrt(1 + skewed * (values - skewed / 6)) - 1)
        return np.where(bent, found, values)


def _spread(draws: Floats) -> Floats:
    """Standard deviation of each row."""
    return np.asarray(np.std(draws, axis=1, ddof=1)) if draws.shape[1] > 1 else np.full(draws.shape[0], np.nan)


def _few(count: float) -> float:
    """How much less skewness so many values show than there is (the usual correction, G1 over g1)."""
    return float(np.sqrt(count * (count - 1)) / (count - 2)) if count > 3 else 1.0


def _skewness(draws: Floats) -> Floats:
    """Of each row, as it is; 0 where all are equal."""
    rest = draws - draws.mean(axis=1, keepdims=True) if draws.shape[1] else np.zeros((draws.shape[0], 1))
    second, third = np.mean(rest**2, axis=1), np.mean(rest**3, axis=1)
    bent = second > STRAIGHT**2 * np.mean(draws**2, axis=1) if draws.shape[1] else second > 0
    return np.asarray(np.where(bent, third, 0.0) / np.where(bent, second, 1.0) ** 1.5)
