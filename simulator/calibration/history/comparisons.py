"""Predictions beside real runs: what each verification compared, kept for `apportion history coverage`.

What is compared. A measured median of n runs is neither one run nor the true mean, so two things are asked:

- The stated interval of the mean, around what a median of runs is expected to be (by simulated noise a median is a
  little off the mean), widened by the median's own sampling error: with half-width h and standard deviation s of the
  median, both of logarithms, it reaches to `sqrt(h^2 + (z s)^2)`, z being the normal quantile of the level.
- Of single runs, the share inside the interval that is stated of one run.
"""

import datetime
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from simulator.base.errors import MALFORMED
from simulator.base.machine import Machine
from simulator.calibration.history.kept import keep, kept

KIND = "verification"
"""Of the lines in the state file."""
Kind = Literal["kernel", "command", "allocation", "regression"]
KINDS: tuple[Kind, ...] = ("kernel", "command", "allocation", "regression")
PRIOR = 4.0
"""Runs that the scatter of all cases counts as, beside those of one."""
LEAST_SD = 1e-9
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Comparison:
    """One prediction, and the real runs that tested it; times in seconds."""

    kind: Kind
    """What was predicted: runs of one of our kernels, of a command, of an allocation, or by a regression."""
    subject: str
    """The kernel, or what was run."""
    model: str
    """Name of the model's file; empty where the scenario says it."""
    version: str
    """Hash of what was predicted with: a model made anew has another one."""
    case: str
    """The configuration, or the parameters."""
    level: float
    """How often the intervals are to hold."""
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
    """Single runs inside that."""
    learnt: float = 1.0
    """The factor that the model's doubt had been widened by."""
    pes: int = 1
    """How many computed at once."""
    size: float | None = None
    """Problem size in elements, of the busiest PE."""
    left: float | None = None
    """Least share of a PE without load that was left to us: below 1 others ran there."""
    sitting: str = ""
    """What was measured together has one, and shares its truth."""
    made: str = ""
    """When it was kept."""

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

        Parameters
        ----------
        shift
            A bias, as a logarithm, that is taken off the residual before.
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

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Comparison":
        """The comparison that `to_dict` wrote; KeyError, TypeError or ValueError for what is none."""
        found = cls(**{field.name: data[field.name] for field in fields(cls) if field.name in data})
        found.check()
        return found

    def check(self) -> None:
        """Refuse numbers that no comparison has.

        Raises
        ------
        ValueError
            With what is wrong.
        """
        data = self.to_dict()
        texts = ("kind", "subject", "model", "version", "case", "sitting", "made")
        above = ("predicted_s", "measured_median_s", "median_ratio", "learnt", "level", "runs", "pes")
        perhaps = ("low_s", "high_s", "run_low_s", "run_high_s", "runs_inside", "size", "left")
        sound = all(isinstance(data[name], str) for name in texts) and data["kind"] in KINDS
        sound = sound and all(_is_number(data[name]) and data[name] > 0 for name in above)
        sound = sound and all(data[name] is None or _is_number(data[name]) for name in perhaps)
        sound = sound and _is_number(data["median_sd"])
        whole = all(isinstance(data[name], int | None) for name in ("runs", "pes", "runs_inside"))
        if not (sound and whole and self.level < 1):
            raise ValueError("no comparison of a prediction with real runs")


def _is_number(value: object) -> bool:
    """Whether it is finite and at least 0."""
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < math.inf


def _deviate(level: float) -> float:
    """Standard deviations to each side that hold a share of a normal distribution."""
    from scipy.special import ndtri

    return float(ndtri((1 + level) / 2))


def median_errors(samples: Sequence[Floats]) -> list[float]:
    """Standard deviation of the logarithm of each sample's median.

    The scatter of each sample's runs is drawn towards that of all, since few runs tell little of it.

    Parameters
    ----------
    samples
        Times of repeated runs, above 0, of any number each; they are measured in one sitting.
    """
    logs = [np.log(np.asarray(sample, np.float64)) for sample in samples]
    squares = [float(np.sum((row - row.mean()) ** 2)) for row in logs]
    degrees = [max(0, row.size - 1) for row in logs]
    common = sum(squares) / max(1, sum(degrees))
    found = []
    for row, square, free in zip(logs, squares, degrees, strict=True):
        variance = (PRIOR * common + square) / (PRIOR + free)
        found.append(math.sqrt(variance * _median_factor(row.size) / row.size))
    return found


def _median_factor(count: int) -> float:
    """Variance of a normal sample's median over that of its mean, for odd counts; even ones have a little less."""
    return 1 + (math.pi / 2 - 1) * (1 - 1 / count)


def keep_comparisons(found: Sequence[Comparison], *, machine: Machine | None = None) -> None:
    """Keep what was compared in one sitting, a line each; see `kept.keep`."""
    sitting = datetime.datetime.now(datetime.UTC).isoformat(timespec="microseconds")
    for one in found:
        one.check()
        named = one if one.sitting else replace(one, sitting=sitting)
        keep(KIND, {name: value for name, value in named.to_dict().items() if name != "made"}, machine=machine)


def kept_comparisons(*, machine: Machine | None = None) -> tuple[Comparison, ...]:
    """What was compared on this machine, oldest first; damaged entries are left out."""
    found = []
    for entry in kept(KIND, machine=machine):
        try:
            found.append(Comparison.from_dict(entry))
        except MALFORMED:
            continue
    return tuple(found)
