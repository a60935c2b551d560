"""How often stated intervals held, how wide they were, and by what factor they are widened where they hold too seldom.

A group is a kind of prediction with one version of a model. Its factor is the least one on the half-widths at which the
share that holds reaches the level: a quantile of the factors that each case needs (`Comparison.stretch`), taken at
`level (n + 1) / n` as split conformal prediction does, since n cases do not show the tails. Cases count less the older
they are (half as much after `HALF_LIFE` sittings), so that the factor falls again once intervals hold; cases of one
sitting share most of their truth and count as fewer: `m / (1 + (m - 1) COMMON)`. With n of those in all the logarithm
of the factor is drawn to 0 by `n / (n + PRIOR)`: few cases change little.

A *bias* is no doubt: residuals of one sign are reported with the cause that the cases show, and where sittings, which
share a truth each, show it too, their median is taken out before the factor is estimated. Neither is what other
programs took while the runs were made: cases with less than `LEFT` of a PE left to us are counted, and teach nothing.

Source of the quantile: Vovk, Gammerman, Shafer (2005), Algorithmic Learning in a Random World; with weights for what
is older: Barber, Candes, Ramdas, Tibshirani (2023), Conformal prediction beyond exchangeability.
"""

import datetime
import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from simulator.base.arrays import Floats
from simulator.base.documents import FLAT, by_field, read
from simulator.base.errors import ScenarioError
from simulator.base.intervals import LEVEL, of_share
from simulator.base.machine import Machine
from simulator.calibration.history.learnt import keep, kept
from simulator.models.doubt import COMMON, Doubt

_KIND = "verification"
"""Of the lines in the state file."""
Kind = Literal["kernel", "command", "allocation", "regression"]
RUNS_OF_ALL = 4.0
"""Runs that the scatter of all cases counts as, added to those of one."""
LEAST_SD = 1e-9
HALF_LIFE = 20.0
"""Sittings after which a case counts half."""
PRIOR = 2.0
"""Cases that say that nothing is to be widened."""
MOST = 10.0
"""Largest factor: what misses by more is no doubt too small."""
LEAST_CASES = 6
"""Residuals that can show a bias."""
SIGNIFICANT = 0.05
LEFT = 0.9
"""Share of a PE left to us below which other programs ran there."""
LEARNT = "learnt"
"""Name of the source of doubt that a factor adds."""
UNKNOWN = "cause unknown"


@dataclass(frozen=True)
class Comparison:
    """One prediction, and the real runs that tested it; times in seconds.

    A measured median of n runs is neither one run nor the true mean. So the stated interval of the mean is taken around
    what a median of runs is expected to be, and widened by the median's own sampling error: with half-width h and
    standard deviation s of the median, both of logarithms, it reaches to `sqrt(h^2 + (z s)^2)`, z being the normal
    quantile of the level. Of single runs, the share inside the interval of one run counts.
    """

    kind: Kind
    """What was predicted: runs of one of our kernels, of a command, of an allocation, or by a regression."""
    subject: str
    model: str
    """Name of the model's file; empty where the scenario says it."""
    version: str
    """Hash of what was predicted with: a model that is made again has another one."""
    case: str
    level: float
    predicted_s: float
    """The mean."""
    low_s: float | None
    high_s: float | None
    """The mean's interval; None where none was stated."""
    runs: int
    measured_median_s: float
    median_sd: float
    """Standard deviation of the logarithm of the measured median."""
    median_ratio: float = 1.0
    """What a median of runs is expected to be over their mean."""
    run_low_s: float | None = None
    run_high_s: float | None = None
    """The interval of one run."""
    runs_inside: int | None = None
    learnt: float = 1.0
    """The factor that the model's doubt had been widened by."""
    pes: int = 1
    size: float | None = None
    """Problem size in elements, of the busiest PE."""
    left: float | None = None
    """Least share of a PE without load that was left to us: below 1 others ran there."""
    sitting: str = ""
    """What was measured together has one, and shares its truth."""
    made: str = ""

    @property
    def stated(self) -> bool:
        """Whether an interval with a width was stated."""
        return self.low_s is not None and self.high_s is not None and 0 < self.low_s < self.high_s

    @property
    def residual(self) -> float:
        """Logarithm of the measured over the predicted median: above 0 it took longer than predicted."""
        return math.log(self.measured_median_s / self.expected_s)

    def half_width(self, *, above: bool, level: float) -> float:
        """Of the mean's interval to one side, as a logarithm; at another level as a normal distribution has it."""
        if self.low_s is None or self.high_s is None:
            return math.nan
        end = math.log(self.high_s / self.predicted_s) if above else math.log(self.predicted_s / self.low_s)
        return max(end, 0.0) * _deviate(level) / _deviate(self.level)

    def stretch(self, level: float, *, shift: float = 0.0) -> float:
        """The least factor on the half-width at which the interval holds the median; 0 if noise alone explains it.

        `shift` is a bias, as a logarithm, that is taken off the residual before.
        """
        error = self.residual - shift
        own = self.half_width(above=error > 0, level=level)
        beyond = math.sqrt(max(0.0, error**2 - (_deviate(level) * self.median_sd) ** 2))
        return beyond / max(own, LEAST_SD)

    def holds(self, level: float | None = None) -> bool | None:
        """Whether the mean's interval, widened by the error of the median, holds the median; None without interval."""
        return self.stretch(level or self.level) <= 1 + LEAST_SD if self.stated else None

    @property
    def expected_s(self) -> float:
        """What a median of runs is predicted to be."""
        return self.predicted_s * self.median_ratio

    @property
    def interval_s(self) -> tuple[float, float] | None:
        """Where the measured median should lie: the mean's interval, widened by the median's own sampling error."""
        if not self.stated:
            return None
        own = _deviate(self.level) * self.median_sd
        below, above = (math.hypot(self.half_width(above=side, level=self.level), own) for side in (False, True))
        return self.expected_s * math.exp(-below), self.expected_s * math.exp(above)

    def __post_init__(self) -> None:
        above = (self.predicted_s, self.measured_median_s, self.median_ratio, self.learnt, self.level)
        perhaps = (self.low_s, self.high_s, self.run_low_s, self.run_high_s, self.runs_inside, self.size, self.left)
        sound = all(0 < value < math.inf for value in (*above, self.runs, self.pes))
        sound = sound and all(value is None or 0 <= value < math.inf for value in (*perhaps, self.median_sd))
        if not (sound and self.level < 1):
            raise ValueError("no comparison of a prediction with real runs")


def _deviate(level: float) -> float:
    """Standard deviations to each side that hold a share of a normal distribution."""
    from scipy.special import ndtri

    return float(ndtri((1 + level) / 2))


def median_errors(samples: Sequence[Floats]) -> list[float]:
    """Standard deviation of the logarithm of each sample's median.

    The scatter of each sample's runs is drawn towards that of all, since few runs tell little of it.

    `samples` are times above 0, of any number each, measured in one sitting.
    """
    logs = [np.log(np.asarray(sample, np.float64)) for sample in samples]
    squares = [float(np.sum((row - row.mean()) ** 2)) for row in logs]
    degrees = [max(0, row.size - 1) for row in logs]
    common = sum(squares) / max(1, sum(degrees))
    found = []
    for row, square, free in zip(logs, squares, degrees, strict=True):
        variance = (RUNS_OF_ALL * common + square) / (RUNS_OF_ALL + free)
        found.append(math.sqrt(variance * _median_factor(row.size) / row.size))
    return found


def _median_factor(count: int) -> float:
    """Variance of a normal sample's median over that of its mean, for odd counts; even ones have a little less."""
    return 1 + (math.pi / 2 - 1) * (1 - 1 / count)


def keep_comparisons(found: Sequence[Comparison], *, machine: Machine | None = None) -> None:
    """Keep what was compared in one sitting, a line each; see `kept.keep`."""
    sitting = datetime.datetime.now(datetime.UTC).isoformat(timespec="microseconds")
    for one in found:
        named = by_field(one if one.sitting else replace(one, sitting=sitting))
        named.pop("made")  # the line says it
        keep(_KIND, named, machine=machine)


def kept_comparisons() -> tuple[Comparison, ...]:
    """What was compared on this machine, oldest first; damaged entries are left out."""
    found = list[Comparison]()
    for line in kept(_KIND):
        with suppress(ScenarioError):
            found.append(read(Comparison, line.entry, made=line.made))
    return tuple(found)


@dataclass(frozen=True)
class Held:
    """How often something held, with the exact binomial interval of the share."""

    held: int
    of: int
    share: float
    low: float
    high: float


@dataclass(frozen=True)
class Coverage:
    """How often stated intervals held, how wide they were, and how far predictions were off."""

    cases: int
    sittings: int
    busy: int
    held: Held | None
    runs: Held | None
    """Single runs in the intervals of one run."""
    median_half_width_percent: float | None
    median_error_percent: float | None


@dataclass(frozen=True)
class Bias:
    """Residuals of one sign: a fixed error of a model, not doubt."""

    percent: float
    """Median of measured over predicted, minus 1."""
    cases: int
    of: int
    p: float
    sittings: int
    cause: str
    text: str
    """All of it for a reader."""


@dataclass(frozen=True)
class OfKind:
    """What intervals of a kind of prediction were worth, over all models."""

    kind: str
    seen: Coverage = field(metadata=FLAT)


@dataclass(frozen=True)
class OfModel(OfKind):
    """The same of one version of a model."""

    subject: str
    model: str
    version: str
    learnt: float
    factor: float
    bias: Bias | None
    first: str
    last: str


@dataclass(frozen=True)
class History:
    """All of that, in the order in which models began."""

    level: float
    comparisons: int
    groups: tuple[OfModel, ...]
    kinds: tuple[OfKind, ...]


def coverage(found: Sequence[Comparison], *, level: float = LEVEL) -> History:
    """What stated intervals were worth; those of another level are stretched as of a normal distribution."""
    groups = []
    for kind, subject, version in dict.fromkeys((one.kind, one.subject, one.version) for one in found):
        own = [one for one in found if (one.kind, one.subject, one.version) == (kind, subject, version)]
        last, learnt = own[-1], (own[-1].learnt, factor(own, level=level), bias_of(own))
        seen = summary_of(own, level=level)
        groups.append(OfModel(kind, seen, subject, last.model, version, *learnt, own[0].made, last.made))
    kinds = {one.kind: [other for other in found if other.kind == one.kind] for one in found}
    pooled = tuple(OfKind(kind, summary_of(own, level=level)) for kind, own in kinds.items())
    return History(level, len(found), tuple(groups), pooled)


def summary_of(cases: Sequence[Comparison], *, level: float) -> Coverage:
    """How many intervals of some cases held, how wide they were, and how far predictions were off."""
    stated, judged = [one for one in cases if one.stated], [one for one in cases if one.runs_inside is not None]
    inside, runs = sum(one.runs_inside or 0 for one in judged), sum(one.runs for one in judged)
    sides = [[one.half_width(above=above, level=level) for above in (False, True)] for one in stated]
    error = float(np.median([abs(one.residual) for one in cases])) if cases else None
    return Coverage(
        cases=len(cases),
        sittings=len({one.sitting for one in cases}),
        busy=sum(map(is_busy, cases)),
        held=share_held(sum(bool(one.holds(level)) for one in stated), len(stated)),
        runs=share_held(inside, runs),
        median_half_width_percent=100 * math.expm1(float(np.median(np.mean(sides, axis=1)))) if sides else None,
        median_error_percent=None if error is None else 100 * math.expm1(error),
    )


def share_held(held: int, of: int, *, level: float = 0.95) -> Held | None:
    """A share with its exact binomial interval (Clopper and Pearson); None of nothing."""
    return Held(held, of, held / of, *of_share(held, of, level=level)) if of else None


def factor(cases: Sequence[Comparison], *, level: float = LEVEL) -> float:
    """The factor, at least 1, by which intervals of cases, the oldest first, would hold as often as stated."""
    stated = [one for one in cases if one.stated and not is_busy(one)]
    if not stated:
        return 1.0
    shift = _lasting(stated)
    needed = np.array([one.stretch(level, shift=shift) * one.learnt for one in stated])
    weights = _weights([one.sitting for one in stated])
    count = float(weights.sum())
    order = np.argsort(needed, kind="stable")
    reached = np.cumsum(weights[order]) / count
    place = min(int(np.searchsorted(reached, min(1.0, level * (count + 1) / count) - 1e-12)), needed.size - 1)
    found = max(1.0, float(needed[order[place]]))
    return float(min(found ** (count / (count + PRIOR)), MOST))


def bias_of(cases: Sequence[Comparison]) -> Bias | None:
    """The bias of some cases, None where their residuals have two signs, or are too few to tell."""
    residuals = np.array([one.residual for one in cases])
    slower, of = int(np.sum(residuals > 0)), int(np.sum(residuals != 0))
    if of < LEAST_CASES:
        return None
    p, middle = _sign_test(residuals), float(np.median(residuals))
    if p >= SIGNIFICANT or middle == 0:
        return None
    sittings = len({one.sitting for one in cases})
    counted = slower if middle > 0 else of - slower
    percent, cause = 100 * math.expm1(middle), _cause(cases, residuals, middle)
    seen = f"{counted} of {of} cases, {'one sitting' if sittings == 1 else f'{sittings} sittings'}"
    how = "slower" if percent > 0 else "faster"
    text = f"{abs(percent):.1f} % {how} than predicted (median; {seen}): {cause}"
    return Bias(percent, counted, of, p, sittings, cause, text)


def _lasting(cases: Sequence[Comparison]) -> float:
    """The median residual where those of sittings have one sign too, else 0: one sitting's may be its truth alone."""
    sittings: dict[str, list[float]] = {}
    for one in cases:
        sittings.setdefault(one.sitting, []).append(one.residual)
    if bias_of(cases) is None or _sign_test(np.array([np.median(own) for own in sittings.values()])) >= SIGNIFICANT:
        return 0.0
    return float(np.median([one.residual for one in cases]))


def _sign_test(residuals: Floats) -> float:
    """Chance of as many of one sign, two-sided."""
    from scipy.stats import binomtest

    of = int(np.sum(residuals != 0))
    return float(binomtest(int(np.sum(residuals > 0)), of).pvalue) if of else 1.0


def _cause(cases: Sequence[Comparison], residuals: Floats, middle: float) -> str:
    """What the cases themselves suggest; the first that fits."""
    left = [one.left for one in cases if one.left is not None]
    if middle > 0 and left and np.median(left) < LEFT:
        return f"the machine was busy: other programs left us {np.median(left):.0%} of PEs without load"
    if middle > 0 and _grows(np.array([one.pes for one in cases], np.float64), residuals):
        return "it grows with the number of PEs at work: speeds were measured with one alone; measure them together"
    sizes = np.array([math.nan if one.size is None else one.size for one in cases])
    if middle > 0 and _grows(-sizes, residuals):
        return "it falls with the problem size: starting, or a fixed cost of each run, is not in the model"
    if _alike(cases, residuals, middle):
        return "all configurations are shifted alike: the machine has drifted since the model was measured"
    return UNKNOWN


def _grows(values: Floats, residuals: Floats) -> bool:
    """Whether residuals clearly ascend with values (rank correlation), and by half of what they are in the median."""
    known = np.isfinite(values)
    values, residuals = values[known], residuals[known]
    if values.size < LEAST_CASES or np.unique(values).size == 1:
        return False
    from scipy.stats import spearmanr

    found = spearmanr(values, residuals, alternative="greater")
    least, most = (np.median(residuals[values == end]) for end in (values.min(), values.max()))
    return bool(found.pvalue < SIGNIFICANT and most - least > abs(np.median(residuals)) / 2)


def _alike(cases: Sequence[Comparison], residuals: Floats, middle: float) -> bool:
    """Whether the residuals of a sitting differ from its own median by clearly less than they are."""
    apart: list[Floats] = []
    for sitting in dict.fromkeys(one.sitting for one in cases):
        own = residuals[[one.sitting == sitting for one in cases]]
        if own.size > 1:
            apart.append(np.abs(own - np.median(own)))
    return bool(apart) and float(np.median(np.concatenate(apart))) < abs(middle) / 2


def is_busy(case: Comparison) -> bool:
    """Whether other programs took a part of a PE that the scenario has no load on."""
    return case.left is not None and case.left < LEFT


def _weights(sittings: Sequence[str]) -> Floats:
    """How much each case counts: less the older its sitting is, and those of one sitting as few."""
    ordered = list(dict.fromkeys(sittings))
    numbers = np.array([ordered.index(one) for one in sittings])
    many = np.bincount(numbers).astype(np.float64)
    each = 0.5 ** ((len(ordered) - 1 - np.arange(many.size)) / HALF_LIFE) / (1 + (many - 1) * COMMON)
    return np.asarray(each[numbers])


def widening(kernel: str | None = None, *, model: str = "") -> float:
    """The factor that the doubt of a new model of a kernel is widened by: what verifications on this machine taught.

    All versions of the kernel's models count, each by what it stated before it was widened.

    `kernel` as the scenarios that were verified name it; of a command's speeds, which have no kernel's name, `model` is
    the name of their file.
    """
    found = [
        one
        for one in kept_comparisons()
        if one.kind in {"kernel", "command"} and ((kernel and one.subject == kernel) or (model and one.model == model))
    ]
    return factor(found)


def widened(doubt: Doubt, by: float) -> Doubt:
    """A doubt with standard deviations so many times as large, which its sources say."""
    if by <= 1:
        return doubt
    shares = {name: value / by**2 for name, value in doubt.sources.items() if name != LEARNT}
    before = 1 - doubt.sources.get(LEARNT, 0.0)
    return replace(doubt.widened(by), sources=shares | {LEARNT: 1 - before / by**2})


def learnt_in(doubt: Doubt | None) -> float:
    """The factor that a doubt was widened by."""
    before = 1.0 if doubt is None else 1 - doubt.sources.get(LEARNT, 0.0)
    return 1 / math.sqrt(before) if before > 0 else 1.0
