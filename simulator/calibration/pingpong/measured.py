"""Message times of one medium as measured: one way, both ways at once, and several pairs at once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from simulator.base import units
from simulator.base.documents import FLAT, NOT_WRITTEN, SPARE, by_field
from simulator.base.errors import ScenarioError
from simulator.base.machine import Machine, require_linux, this_machine
from simulator.base.provenance import provenance
from simulator.calibration.bench.campaign import Progress, no_progress
from simulator.calibration.history.learnt import keep_calibration, learnt_drift
from simulator.calibration.pingpong.campaign import (
    Plan,
    SizePoint,
    machine_warnings,
    measure_sizes,
    message_sizes,
    open_store,
)
from simulator.calibration.pingpong.ends import MAX_BYTES as MAX_BYTES_EVER
from simulator.calibration.pingpong.pairs import local_pairs
from simulator.models.network import fit_network, make_points
from simulator.models.network.file import CalibratedNetwork

MEDIA: Final = {"processes": ("unix", "pipe"), "tcp": ("tcp",), "mpi": ("mpi",)}
"""What lies between the processes -> its media, the default first."""
MAX_BYTES = 64 * 2**20
LEAST_MAX_BYTES = 64
"""Fewer sizes than there are up to here are too few for every form."""
PATTERNS: Final = ("one_way", "exchange", "pairs")
FURTHER_SIZES: Final = frozenset(4**power for power in range(16))
"""Where exchanges and pairs are measured; what is fitted gets the rest of the budget."""
WIDE = 0.2
"""Share of the median by which the middle half of the samples may spread without a warning."""


@dataclass(frozen=True)
class LinkPlan:
    """What to measure."""

    between: str = "processes"
    medium: str | None = None
    max_bytes: int = MAX_BYTES
    budget_s: float = 30.0
    firm: bool = True
    """Whether a budget too small is refused."""
    seed: int = 0

    def __post_init__(self) -> None:
        if self.between not in MEDIA:
            raise ScenarioError(f"--between is {self.between!r}; name one of {', '.join(MEDIA)}")
        media = MEDIA[self.between]
        if self.medium is not None and self.medium not in media:
            known = f"{' or '.join(media)} with --between {self.between}"
            raise ScenarioError(f"--medium is {self.medium!r}; name {known}")
        if not LEAST_MAX_BYTES <= self.max_bytes <= MAX_BYTES_EVER:
            bounds = f"{units.show_size(LEAST_MAX_BYTES)} to {units.show_size(MAX_BYTES_EVER)}"
            raise ScenarioError(f"--max-bytes is {self.max_bytes} B; give {bounds}")

    @property
    def chosen_medium(self) -> str:
        """The medium asked for, or the default."""
        return self.medium or MEDIA[self.between][0]


DEFINITIONS: Final = {
    "one_way_s": "half of a round trip, median over samples",
    "exchange_s": "both ends send at once: from the start until each has received, median",
    "exchange_ratio": "exchange_s / one_way_s: 1 if both directions go at once, 2 if one after the other",
    "pairs_s": "half of a round trip while all pairs are at it, mean over pairs, median over samples",
    "slowdown": "pairs_s / one_way_s",
}
"""Of the times of a size, in words."""


@dataclass(frozen=True)
class SizeTimes:
    """Message times of one size; see `DEFINITIONS`."""

    size_bytes: int
    one_way_s: float
    quartiles_s: tuple[float, float]
    samples: Mapping[str, int]
    """By pattern."""
    exchange_s: float | None = field(default=None, metadata=SPARE)
    exchange_ratio: float | None = field(default=None, metadata=SPARE)
    pairs_s: float | None = field(default=None, metadata=SPARE)
    slowdown: float | None = field(default=None, metadata=SPARE)

    @classmethod
    def of(cls, point: SizePoint) -> "SizeTimes":
        """What the samples of a size come to."""
        one_way_s = point.median_s("one_way")
        further = (point.median_s(name) if name in point.samples_s else None for name in PATTERNS[1:])
        exchange_s, pairs_s = further
        exchange_ratio, slowdown = (None if time_s is None else time_s / one_way_s for time_s in (exchange_s, pairs_s))
        counts = {pattern: len(samples) for pattern, samples in point.samples_s.items()}
        ends = point.quartiles_s("one_way")
        return cls(point.size_bytes, one_way_s, ends, counts, exchange_s, exchange_ratio, pairs_s, slowdown)


@dataclass(frozen=True)
class Link:
    """Over what messages go."""

    between: str
    medium: str
    cpus: tuple[tuple[int, int], ...]
    """Processors of each pair."""
    pairs: int
    library: str = field(default="", metadata=SPARE)
    """Of MPI."""


@dataclass(frozen=True, kw_only=True)
class LinkMeasurement:
    """All samples of one medium, and what to know before they are trusted."""

    link: Link = field(metadata=FLAT)
    samples_reused: int
    definitions: Mapping[str, str] = field(default_factory=lambda: DEFINITIONS)
    sizes: tuple[SizeTimes, ...]
    """By ascending size."""
    warnings: tuple[str, ...] = field(default=(), metadata=NOT_WRITTEN)

    def rows(self) -> list[tuple[int, int, float]]:
        """Bytes, hops, median one-way seconds, for fits and tables."""
        return [(size.size_bytes, 1, size.one_way_s) for size in self.sizes]


def measure_link_times(plan: LinkPlan, *, store: Path | None, on_progress: Progress = no_progress) -> LinkMeasurement:
    """Measure message times for real, as far as the budget allows; it goes on from what the store holds."""
    require_linux()
    machine = this_machine()
    cpus = pair_places(machine)
    campaign = Plan(message_sizes(plan.max_bytes), PATTERNS, plan.budget_s, plan.seed, FURTHER_SIZES, plan.firm)
    link = Link(plan.between, plan.chosen_medium, tuple(cpus), len(cpus))
    subject = {"what": "ping-pong", **by_field(link)}
    kept = open_store(store, campaign, subject=subject, machine=machine)
    reused = sum(
        len(taken) for held in (kept.points, kept.open) for point in held.values() for taken in point.samples_s.values()
    )
    with local_pairs(plan.chosen_medium, cpus) as pairs:
        points = measure_sizes(campaign, pairs.sample_s, kept, on_progress=on_progress)
        link = replace(link, library=pairs.library)
    sizes = tuple(map(SizeTimes.of, points))
    warnings = (
        *kept.warnings,
        *machine_warnings(machine),
        *_sharing_warnings(plan, machine, len(cpus)),
        *_spread_warnings(sizes),
    )
    return LinkMeasurement(link=link, samples_reused=reused, sizes=sizes, warnings=warnings)


def pair_places(machine: Machine) -> list[tuple[int, int]]:
    """Processors of as many pairs as the PEs allow, two at least; a PE serves several pairs where there are too few."""
    if machine.pe_count < 2:
        raise ScenarioError(
            "this machine has 1 PE, and messages between PEs need 2; `apportion cluster --hosts` measures between hosts"
        )
    cpus = machine.pe_cpus
    count = max(2, machine.pe_count // 2)
    return [(cpus[2 * pair % len(cpus)], cpus[(2 * pair + 1) % len(cpus)]) for pair in range(count)]


def _sharing_warnings(plan: LinkPlan, machine: Machine, pairs: int) -> list[str]:
    if 2 * pairs <= machine.pe_count:
        return []
    about = "times of pairs at once hold waiting for PEs" + (
        ", and ranks that poll take whole time slices" if plan.between == "mpi" else ""
    )
    return [f"{pairs} pairs share {machine.pe_count} PEs: {about}"]


def _spread_warnings(sizes: Sequence[SizeTimes]) -> list[str]:
    wide = sum(high - low > WIDE * size.one_way_s for size in sizes for low, high in [size.quartiles_s])
    if not wide:
        return []
    return [
        f"the middle half of the samples spreads by more than {WIDE:.0%} of the median at {wide} of {len(sizes)} sizes"
    ]


def _ratio(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def link_lines(measured: LinkMeasurement) -> list[str]:
    """A table at a few sizes for the terminal."""
    by_size = {size.size_bytes: size for size in measured.sizes}
    wanted = [1, 2**10, 2**14, 2**16, 2**18, 2**20, 2**22, 2**24, max(by_size)]
    pairs = f"{measured.link.pairs} pairs"
    lines = [f"{'bytes':>10}{'one way':>12}{'middle half':>24}{'both at once':>14}{pairs:>10}"]
    for near in dict.fromkeys(min(by_size, key=lambda size: abs(size - want)) for want in wanted):
        size = by_size[near]
        spread = " to ".join(units.show_duration(value) for value in size.quartiles_s)
        lines.append(
            f"{units.show_size(size.size_bytes):>10}{units.show_duration(size.one_way_s):>12}{spread:>24}"
            f"{_ratio(size.exchange_ratio):>14}{_ratio(size.slowdown):>10}"
        )
    return [*lines, "both at once, pairs: times over one way"]


def fit_measured_link(measured: LinkMeasurement, *, seed: int) -> CalibratedNetwork:
    """Fit every form to the median one-way times and choose one; what else was measured goes with it.

    The drift of its doubt is what earlier measurements of this machine show; this one is kept for those that follow.
    """
    size, hops, time_s = zip(*measured.rows(), strict=True)
    subject = {"model": "network", **by_field(measured.link)}
    points = make_points(size, hops, time_s)
    fit = fit_network(points, drift=learnt_drift(subject).sd)
    some = points.size_bytes > 0
    keep_calibration(subject, points.size_bytes[some], points.time_s[some])
    made = provenance(seed=seed, machine=this_machine())
    return CalibratedNetwork(fit, made, measured.warnings, by_field(measured))
