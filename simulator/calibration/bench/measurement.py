"""A measured point: all samples of a problem size, which of them other programs disturbed, how well it is known."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simulator.base.documents import Record, at, read, read_keys
from simulator.base.errors import ScenarioError
from simulator.base.machine import Machine
from simulator.calibration.bench.journal import Entry, Journal, belongs_to, plain
from simulator.calibration.bench.usage import Usage
from simulator.models.speed import Cut, cut_from_samples

LEAST_SAMPLE_S = 0.02
"""A sample repeats its kernel until it lasts this long, far above the clock's grain."""
LEAST_SAMPLES = 6
"""Fewest samples whose extremes hold the median with 95 % confidence."""
MOST_SAMPLES = 30
PRECISION = 0.03
"""A median is known well enough when the half width of its 95 % interval is at most this share of it."""
DISTURBED = 0.03
"""Share of its wall time from which on what others took of a sample counts."""
LEAST_CLEAN = 3
"""Undisturbed samples that say more than all samples together."""


@dataclass(frozen=True)
class Workload(Record):
    """What is measured, and where: a kernel of ours, or a command with its formulas; nothing of a recorded table."""

    kernel: str | None = None
    columns: int | None = None
    """Of the panels that it is measured on."""
    depth: int | None = None
    command: tuple[str, ...] = field(default_factory=tuple)
    size: str | None = None
    volume: str | None = None
    cpu: int | None = None
    beside: tuple[int, ...] = field(default_factory=tuple)
    """Logical processors on which the same runs at the same time."""
    device: str | None = None
    """The GPU that it is measured on, hosted by `cpu`."""


@dataclass(frozen=True)
class Measurement:
    """All samples of one problem size, and what taking them was like; of a recorded run only its times."""

    size: float
    """The size really measured, in elements; a source may snap the size asked for to one that exists."""
    volume: float
    """Volume of computation of one run."""
    samples: tuple[Usage, ...]
    """Each the mean of its runs in CPU and wall seconds; switches are those of the whole sample."""
    cost_s: float = 0.0
    """Experimental seconds that the point took in all."""
    visits: tuple[int, ...] = ()
    """How many samples each visit took in a row, in their order; empty where each sample is a visit of its own."""
    n: int = 0
    """The parameter of what was run; 0 for a recorded run."""
    inner: int = 1
    ended_by: str = ""
    """`precision`, `most samples`, `time cap` or `visits`; empty while more samples are to come."""
    warm_up_kept: bool = False
    started: str = ""
    """Date and time in UTC."""
    load_average: float = 0.0
    """Mean runnable processes over the last minute, at the start."""

    @classmethod
    def of_times(
        cls,
        size: float,
        volume: float,
        cpu_s: Sequence[float],
        wall_s: Sequence[float],
        cost_s: float,
        visits: Sequence[int] = (),
    ) -> "Measurement":
        """A recorded run: CPU and wall seconds, sample by sample."""
        samples = tuple(Usage(cpu, wall) for cpu, wall in zip(cpu_s, wall_s, strict=True))
        return cls(size, volume, samples, cost_s, tuple(visits))

    @property
    def key(self) -> float:
        """What no two points of a subject share: its n, or its size."""
        return self.n or self.size

    @property
    def finished(self) -> bool:
        """Whether no more samples are to come."""
        return bool(self.ended_by) or not self.n

    @cached_property
    def clean(self) -> tuple[Usage, ...]:
        """The samples that no other program disturbed; all of them where too few are: then `may_be_off` is above 0."""
        return clean_samples(self.samples)

    @cached_property
    def cpu_s(self) -> tuple[float, ...]:
        """User and system CPU seconds of one run, per clean sample."""
        return tuple(sample.cpu_s for sample in self.clean)

    @cached_property
    def wall_s(self) -> tuple[float, ...]:
        """Wall seconds likewise.

        Where other programs disturbed too many samples, CPU seconds stand for them: a band's lower end must not hold a
        load that was there by chance.
        """
        return self.cpu_s if all_disturbed(self.samples) else tuple(sample.wall_s for sample in self.clean)

    @property
    def clean_visits(self) -> tuple[int, ...]:
        """How many clean samples each visit took; visits without any are left out."""
        if not self.visits:
            return ()
        clean = {id(sample) for sample in self.clean}
        of_visit = np.repeat(np.arange(len(self.visits)), self.visits).tolist()
        kept = [place for sample, place in zip(self.samples, of_visit, strict=True) if id(sample) in clean]
        return tuple(count for count in np.bincount(kept).tolist() if count)

    @property
    def ideal_s(self) -> float:
        """CPU seconds of one run, the median of the clean samples: the time on an idle PE."""
        return float(np.median(self.cpu_s))

    @property
    def speed(self) -> float:
        """Ideal speed in volume per second."""
        return self.volume / self.ideal_s

    @property
    def disturbed(self) -> int:
        """How many samples other programs disturbed."""
        return sum(map(is_disturbed, self.samples))

    @property
    def may_be_off(self) -> float:
        """By which share the true speed may lie above what is said, since other programs ran meanwhile."""
        return may_be_off(self.samples)

    @property
    def waited(self) -> float:
        """Share of the wall time of all samples in which they did not compute."""
        return 1 - sum(sample.cpu_s for sample in self.samples) / sum(sample.wall_s for sample in self.samples)

    @property
    def half_interval(self) -> float:
        """Half width of the 95 % interval of the median CPU time as a share of it; infinite below six clean samples."""
        return half_interval_of_median(np.array(self.cpu_s))

    @property
    def stable(self) -> bool:
        """Whether the median is known as well as was asked for."""
        return self.half_interval <= PRECISION

    def cut(self) -> Cut:
        """The speeds seen at this point, by the CPU seconds of the clean samples.

        A load that a scenario has is simulated on top of it, so its lower end must hold no load that was met by chance.
        """
        speeds = self.volume / np.array(self.cpu_s)
        return cut_from_samples(self.size, speeds, speeds)

    @property
    def interval_percent(self) -> float | None:
        """The half interval in percent; None where it is not known."""
        half = self.half_interval
        return 100 * half if math.isfinite(half) else None

    def row(self) -> Entry:
        """What a journal keeps; the interval is there for the reader only."""
        return asdict(self) | {"interval_percent": self.interval_percent}

    @classmethod
    def from_row(cls, row: Entry) -> "Measurement":
        """The inverse of `row`; see `documents.read` for what is refused."""
        found = read(cls, {name: value for name, value in row.items() if name != "interval_percent"})
        if found.visits and sum(found.visits) != len(found.samples):
            raise ScenarioError(f"visits: {sum(found.visits)} samples, and {len(found.samples)} are there")
        return found


def one_of(usage: Usage, inner: int) -> Usage:
    """Seconds of one run of several in a row."""
    return Usage(usage.cpu_s / inner, usage.wall_s / inner, usage.voluntary_switches, usage.involuntary_switches)


def half_interval_of_median(samples: NDArray[np.float64]) -> float:
    """Half width of the distribution-free 95 % interval of the median, as a share of it; infinite below six samples.

    The interval lies between order statistics whose ranks the binomial distribution gives.
    """
    from scipy.special import bdtr

    count = samples.size
    if count < LEAST_SAMPLES:
        return float("inf")
    ranks = np.arange(count // 2)
    outside = 2 * bdtr(ranks, count, 0.5)  # chance that the median lies outside ranks k .. count-1-k
    rank = int(ranks[outside <= 0.05].max())
    ordered = np.sort(samples)
    return float((ordered[count - 1 - rank] - ordered[rank]) / 2 / np.median(samples))


def taken_share(sample: Usage) -> float:
    """Share of a sample's wall time in which other programs held its processor; 0 where it waited by itself.

    A sample that waits by its own will (a command that reads a file) has voluntary switches and no involuntary ones.
    """
    if sample.wall_s <= 0 or not sample.involuntary_switches:
        return 0.0
    return max(0.0, 1 - sample.cpu_s / sample.wall_s)


def is_disturbed(sample: Usage) -> bool:
    """Whether other programs took more than a few per cent of it."""
    return taken_share(sample) > DISTURBED


def clean_samples(samples: Sequence[Usage]) -> tuple[Usage, ...]:
    """The undisturbed samples; all of them where too few are."""
    clean = tuple(sample for sample in samples if not is_disturbed(sample))
    return clean if len(clean) >= min(LEAST_CLEAN, len(samples)) else tuple(samples)


def all_disturbed(samples: Sequence[Usage]) -> bool:
    """Whether too few samples are clean to leave the others out."""
    return sum(not is_disturbed(sample) for sample in samples) < min(LEAST_CLEAN, len(samples))


def may_be_off(samples: Sequence[Usage]) -> float:
    """By which share the true speed may lie above the median of these samples, 0 where enough of them are clean.

    Two figures say so, and the larger one counts: how far the fastest sample is above the median, for the fastest met
    least of the others; and a third of what the others took, for what they leave in caches slows what follows them. (A
    program that took 20 % of a core by turns of 2 ms cost dgemm 2 % of its speed in CPU time on top of that.)
    """
    if not samples or not all_disturbed(samples):
        return 0.0
    speeds = 1 / np.array([sample.cpu_s for sample in samples])
    spread = float(np.max(speeds) / np.median(speeds) - 1)
    return max(spread, float(np.median([taken_share(sample) for sample in samples])) / 3)


# Points by their key, each written again when it has more samples.

FORMAT, KIND = 2, "points"


class PointStore:
    """The points of one subject on one PE; without a path they are kept in memory only.

    `path`: file of a line for each point; read if it is there, appended to after each point. See `Journal`.
    `subject`: what is measured and on which processor, as plain data: other points are refused.
    `machine`: where: points of an unlike machine are refused. None if they belong to no machine.
    """

    def __init__(self, path: Path | None, *, subject: Mapping[str, Any], machine: Machine | None) -> None:
        self._ends: Entry | None = None
        self.points: dict[float, Measurement] = {}
        self.open: dict[float, Measurement] = {}
        """Points of which more samples are to come, by key."""
        belongs = belongs_to(subject, machine)
        self.journal = Journal(path, kind=KIND, version=FORMAT, what="points", take=self._take, belongs=belongs)
        self.before = set(self.points)
        """Keys of the points that the file held when it was opened and that have not been measured since."""

    @property
    def warnings(self) -> tuple[str, ...]:
        """A line if a part of the file was damaged."""
        return self.journal.warnings

    def get(self, key: float) -> Measurement | None:
        """A point, finished or as far as it is."""
        return self.points.get(key) or self.open.get(key)

    def ends(self, settings: Mapping[str, Any]) -> Entry | None:
        """The ends found before under the same settings."""
        if self._ends is None or self._ends["settings"] != plain(settings):
            return None
        ends: Entry = self._ends["found"]
        return ends

    def keep_ends(self, settings: Mapping[str, Any], ends: Mapping[str, Any]) -> None:
        """Remember the ends of the sizes."""
        self._ends = {"settings": plain(settings), "found": dict(ends)}
        self.journal.keep({"ends": self._ends})

    def keep(self, point: Measurement) -> None:
        """Remember a point, finished or as far as it is."""
        self._hold(point)
        self.before.discard(point.key)
        self.journal.keep({"key": point.key, "finished": point.finished, "point": point.row()})

    def forget(self, key: float) -> None:
        """Forget a finished point, so that it is measured again; the file has it until then."""
        del self.points[key]
        self.before.discard(key)

    def _hold(self, point: Measurement) -> None:
        self.points.pop(point.key, None)
        self.open.pop(point.key, None)
        (self.points if point.finished else self.open)[point.key] = point

    def _take(self, line: Entry) -> None:
        if "ends" in line:
            found = read_keys(line, ends=Any)["ends"]
            with at("ends"):
                self._ends = read_keys(found, settings=Entry, found=Entry)
        else:
            self._hold(point_of(line))


def point_of(line: Entry) -> Measurement:
    """The point that a line keeps."""
    said = read_keys(line, key=float, finished=bool, point=Entry)
    with at("point"):
        found = Measurement.from_row(said["point"])
    if found.key != said["key"]:
        raise ScenarioError(f"key: {said['key']:g} is not that of its point, {found.key:g}")
    return found
