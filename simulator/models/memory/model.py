"""A fitted memory model: levels, correction, and time per word with an interval."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from simulator.base import notebook, units
from simulator.base.arrays import Flags, Floats, Vector
from simulator.base.documents import Data, FormError, Record, at, named, read
from simulator.base.errors import ScenarioError
from simulator.models.doubt import Doubt
from simulator.models.file import check_level
from simulator.models.memory.correction import Correction
from simulator.models.memory.forms import Constants, MemoryTimes
from simulator.models.memory.levels import WORD_BYTES, MemoryLevel, MemoryUse

AXES = ("M_words", "alpha", "L")
"""Names of what a time depends on, in the order of all ranges and distances."""


@dataclass(frozen=True)
class Sweeps(Record):
    """Seconds per word of vector loops; straight lines between the logarithms, constant beyond; n sizes."""

    m_words: Vector = field(metadata=named("M_words"))
    """M: words swept again and again, ascending; (n,)."""
    read_s: Vector
    """Seconds of a word that is read; (n,)."""
    write_s: Vector
    """Seconds of a word that is written without being read, its line's way there and back in it; (n,)."""

    def __post_init__(self) -> None:
        columns = (self.m_words, self.read_s, self.write_s)
        if self.m_words.size < 1 or any(column.shape != self.m_words.shape for column in columns):
            raise ValueError("sweeps: as many sizes as times, at least one")
        if not all(np.all((column > 0) & np.isfinite(column)) for column in columns):
            raise ValueError("sweeps: numbers above 0")
        if np.any(np.diff(self.m_words) <= 0):
            raise ValueError("sweeps: M_words ascending")

    def unit_s(self, use: MemoryUse, footprints_bytes: ArrayLike) -> Floats:
        """Seconds that the words of a unit of volume take; of the shape of `footprints_bytes`."""
        words = use.footprint_share * np.asarray(footprints_bytes, dtype=np.float64) / WORD_BYTES
        where, known = np.log(np.maximum(words, self.m_words[0])), np.log(self.m_words)
        read_s, write_s = (np.exp(np.interp(where, known, np.log(times))) for times in (self.read_s, self.write_s))
        return np.asarray(use.read_per_unit * read_s + use.written_per_unit * write_s)


@dataclass(frozen=True)
class MemoryPredictions:
    """Predicted times per word of n targets, in their order."""

    level: float
    mean_s: Floats
    """Shape (n,)."""
    low_s: Floats
    """Ends of the interval that holds a measured time with that probability; (n,)."""
    high_s: Floats
    physical_s: Floats
    """What the levels alone say, without the correction; (n,)."""
    distance: Floats
    """Factor by which M, alpha and L lie outside what was trained on, 1 inside; (n, 3)."""

    @property
    def outside_training_range(self) -> Flags:
        """Whether any of the three lies outside; (n,)."""
        return np.asarray((self.distance > 1.0).any(axis=1))


@dataclass(frozen=True)
class FitStatistics:
    """Relative errors of the fit, and of points held out from it where any could be."""

    points: int
    mean_relative_error: float
    max_relative_error: float
    held_out_mean: float | None
    held_out_max: float | None


@dataclass(frozen=True)
class _Trained:
    """Least and most of each axis, as a file says them."""

    M_words: tuple[float, float]
    alpha: tuple[float, float]
    L: tuple[float, float]


@dataclass(frozen=True)
class MemoryModel(Record):
    """Time per word of a memory hierarchy as a function of M, alpha and L, fitted to measured times."""

    form: str
    """Name of the chosen form, such as `model 3` or `4 levels`."""
    levels: tuple[MemoryLevel, ...]
    correction: Correction | None
    """What is added to the log of the levels' time; None where that helps no held-out time."""
    spread: float
    """Standard deviation of log residuals without a correction."""
    scores: tuple[tuple[float, float], ...]
    """Probability, and how many standard deviations held that share of the held-out times; ascending."""
    trained: tuple[tuple[float, float], ...]
    """Least and most of M, alpha and L trained on."""
    statistics: FitStatistics
    sweeps: Sweeps | None = None
    """What words take that vector loops sweep; None where that was not measured."""
    doubt: Doubt | None = None
    """What is not known of its times per word, over M in words. None in files of before: nothing is known of it."""

    def knows_sweeps(self, use: MemoryUse) -> bool:
        """Whether these accesses are sweeps, and what their words take was measured."""
        return use.swept and self.sweeps is not None

    def knows_more(self, use: MemoryUse) -> bool:
        """Whether it says of these accesses what its levels alone do not."""
        return self.correction is not None or self.knows_sweeps(use)

    def unit_s(self, use: MemoryUse, footprints_bytes: ArrayLike) -> Floats:
        """Seconds that the accesses of a unit of volume take by all that was measured; shape of `footprints_bytes`.

        Words that are swept as vector loops sweep them, where that is known; others by levels and correction.
        Less memory than the least M trained on takes as long as that.
        """
        footprints = np.asarray(footprints_bytes, dtype=np.float64)
        if self.sweeps is not None and use.swept:
            return self.sweeps.unit_s(use, footprints)
        words = np.maximum(self.trained[0][0], use.footprint_share * footprints / WORD_BYTES).reshape(-1)
        found = self.predict(words, use.alpha, np.minimum(use.run_words, words))
        return np.asarray(use.accesses_per_unit * found.mean_s.reshape(footprints.shape))

    def time_per_word_s(self, m_words: ArrayLike, alpha: ArrayLike, run_words: ArrayLike) -> Floats:
        """Seconds per word by the levels alone: what a changed level, as in a what-if, is asked of.

        The three are broadcast against each other, any shape; M and L in words of 8 bytes.
        """
        m, a, run = np.broadcast_arrays(*(np.asarray(x, dtype=np.float64) for x in (m_words, alpha, run_words)))
        flat = MemoryTimes(m.reshape(-1), a.reshape(-1), run.reshape(-1), np.ones(m.size))
        return self._constants().times_s(flat).reshape(m.shape)

    def predict(
        self, m_words: ArrayLike, alpha: ArrayLike, run_words: ArrayLike, *, level: float = 0.95
    ) -> MemoryPredictions:
        """Seconds per word with the correction, and the interval that a measured time lies in.

        Raises ScenarioError if the level is not between 0 and 1, or a target is not within 1 <= L <= M and 0 < alpha <=
        1.

        `m_words`, `alpha`, `run_words`: M, alpha and L of n targets; (n,) or one number for all.
        `level`: probability that an interval is meant to hold; its width is calibrated on held-out points.
        """
        check_level(level)
        m, a, run = (
            np.array(x)
            for x in np.broadcast_arrays(*(np.atleast_1d(np.asarray(x, float)) for x in (m_words, alpha, run_words)))
        )
        if not (np.all(run >= 1) and np.all(run <= m) and np.all((a > 0) & (a <= 1)) and np.all(np.isfinite(m))):
            raise ScenarioError("target: give 1 <= L <= M and 0 < alpha <= 1")
        points = MemoryTimes(m, a, run, np.ones(m.size))
        physical = self._constants().times_s(points)
        shift, deviation = np.zeros(m.size), np.full(m.size, self.spread)
        if self.correction is not None:
            shift, deviation = self.correction.at(points)
        mean = physical * np.exp(shift)
        width = np.exp(deviation * self._score(level))
        return MemoryPredictions(level, mean, mean / width, mean * width, physical, self._distance(points))

    def __repr__(self) -> str:
        return f"MemoryModel({self.form}: {', '.join(level.name for level in self.levels)})"

    def _repr_html_(self) -> str:
        low, high = self.trained[0]
        words = np.geomspace(max(low, 1.0), max(high, 2.0), 97)
        times = {f"L = {run:g}": self.time_per_word_s(words, 1.0, np.minimum(run, words)) for run in (1.0, 16.0)}
        chart = notebook.curves(words, times, labels=("M (words), alpha 1", "s per word"), log=(True, True))
        rows = [
            {
                "level": level.name,
                "capacity": units.show_size(level.capacity_bytes) if np.isfinite(level.capacity_bytes) else "the rest",
                "latency": units.show_duration(level.latency_s),
                "further word": units.show_duration(level.gap_s),
            }
            for level in self.levels
        ]
        return notebook.page(f"Memory model, {self.form}", notebook.table(rows), chart)

    def to_dict(self) -> Data:
        """Plain data for JSON."""
        data = super().to_dict()
        data["levels"][-1]["capacity_bytes"] = None
        return data | {"trained": dict(zip(AXES, data["trained"], strict=True))}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "MemoryModel":
        """The model that `to_dict` wrote; see `documents.read` for what is refused."""
        plain = dict(data)
        levels, trained = plain.get("levels"), plain.get("trained")
        if levels == []:
            raise FormError([(("levels",), "there is none; give one at least")])
        if isinstance(levels, list) and isinstance(levels[-1], dict):
            last = levels[-1]
            unbounded = {"capacity_bytes": np.inf} if last.get("capacity_bytes", 0) is None else {}
            plain["levels"] = [*levels[:-1], last | unbounded]
        if "trained" in plain:
            with at("trained"):
                plain["trained"] = [vars(read(_Trained, trained))[name] for name in AXES]
        return read(cls, plain)

    def _constants(self) -> Constants:
        capacities = np.array([level.capacity_bytes / WORD_BYTES for level in self.levels[:-1]])
        return Constants(
            np.maximum.accumulate(capacities),
            np.array([level.latency_s for level in self.levels]),
            np.array([level.gap_s for level in self.levels]),
        )

    def _score(self, level: float) -> float:
        from scipy.special import ndtri

        shares, scores = np.transpose(self.scores)
        # Between the shares kept, in proportion to the normal distribution's own; beyond them at the outer ratio.
        own = ndtri((1 + shares) / 2)
        wanted = float(ndtri((1 + level) / 2))
        return wanted * float(np.interp(wanted, own, scores / own))

    def _distance(self, points: MemoryTimes) -> Floats:
        values = np.stack((points.m_words, points.alpha, points.run_words), axis=-1)
        low, high = np.transpose(self.trained)
        return np.asarray(np.maximum(1.0, np.maximum(low / values, values / high)))
