"""Message times of one medium as measured: one way, by size."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

import numpy as np

from simulator.base import units
from simulator.base.documents import FLAT, NOT_WRITTEN, SPARE, by_field
from simulator.base.errors import ScenarioError
from simulator.base.machine import Machine, require_linux, this_machine
from simulator.base.provenance import provenance
from simulator.calibration.bench.campaign import Progress, no_progress
from simulator.calibration.history.learnt import keep_calibration, learnt_drift
from simulator.calibration.pingpong.campaign import Plan, measure_sizes, message_sizes, open_store
from simulator.calibration.pingpong.ends import MAX_BYTES as MAX_BYTES_EVER
from simulator.calibration.pingpong.pairs import local_pair
from simulator.models.network import fit_network, make_points
from simulator.models.network.file import NetworkFile

MEDIA: Final = {"processes": "unix", "tcp": "tcp", "mpi": "mpi"}
"""What lies between the processes -> its medium."""
MAX_BYTES = 64 * 2**20
LEAST_MAX_BYTES = 64
"""Fewer sizes than there are up to here are too few for every form."""
WIDE = 0.2
"""Share of the median by which the middle half of the samples may spread without a warning."""
BUSY_LOAD = 0.5
"""Load average from which others are said to use the machine."""


@dataclass(frozen=True)
class LinkPlan:
    """What to measure."""

    between: str = "processes"
    max_bytes: int = MAX_BYTES
    budget_s: float = 30.0
    firm: bool = True
    """Whether a budget too small is refused."""
    seed: int = 0

    def __post_init__(self) -> None:
        if self.between not in MEDIA:
            raise ScenarioError(f"--between is {self.between!r}; name one of {', '.join(MEDIA)}")
        if not LEAST_MAX_BYTES <= self.max_bytes <= MAX_BYTES_EVER:
            bounds = f"{units.show_size(LEAST_MAX_BYTES)} to {units.show_size(MAX_BYTES_EVER)}"
            raise ScenarioError(f"--max-bytes is {self.max_bytes} B; give {bounds}")


@dataclass(frozen=True)
class SizeTimes:
    """Message times of one size: half of a round trip, median over samples."""

    size_bytes: int
    one_way_s: float
    quartiles_s: tuple[float, float]
    samples: int

    @classmethod
    def of(cls, size_bytes: int, samples_s: Sequence[float]) -> "SizeTimes":
        """What the samples of a size come to."""
        low, middle, high = np.quantile(samples_s, (0.25, 0.5, 0.75)).tolist()
        return cls(size_bytes, middle, (low, high), len(samples_s))


@dataclass(frozen=True)
class Link:
    """Over what messages go."""

    between: str
    medium: str
    cpus: tuple[int, int]
    library: str = field(default="", metadata=SPARE)
    """Of MPI."""


@dataclass(frozen=True, kw_only=True)
class LinkMeasurement:
    """All samples of one medium, and what to know before they are trusted."""

    link: Link = field(metadata=FLAT)
    samples_reused: int
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
    campaign = Plan(message_sizes(plan.max_bytes), plan.budget_s, plan.seed, plan.firm)
    link = Link(plan.between, MEDIA[plan.between], pair_places(machine))
    kept = open_store(store, campaign, subject={"what": "ping-pong", **by_field(link)}, machine=machine)
    with local_pair(link.medium, link.cpus) as pair:
        taken = measure_sizes(campaign, pair.sample_s, kept, on_progress=on_progress)
        link = replace(link, library=pair.library)
    sizes = tuple(SizeTimes.of(size, samples_s) for size, samples_s in taken.items())
    warnings = (*kept.journal.warnings, *_load_warnings(machine), *_spread_warnings(sizes))
    return LinkMeasurement(link=link, samples_reused=kept.reused, sizes=sizes, warnings=warnings)


def pair_places(machine: Machine) -> tuple[int, int]:
    """Processors of two PEs."""
    if machine.pe_count < 2:
        raise ScenarioError(
            "this machine has 1 PE, and messages between PEs need 2; `apportion cluster --hosts` measures between hosts"
        )
    return machine.pe_cpus[0], machine.pe_cpus[1]


def _load_warnings(machine: Machine) -> list[str]:
    """A line where others use the machine, as it was looked at before measuring."""
    load = machine.load_average[0]
    if load <= BUSY_LOAD:
        return []
    return [f"busy machine: load average {load:.2f} on {len(machine.cores)} cores before the run, best run when idle"]


def _spread_warnings(sizes: Sequence[SizeTimes]) -> list[str]:
    wide = sum(high - low > WIDE * size.one_way_s for size in sizes for low, high in [size.quartiles_s])
    if not wide:
        return []
    return [
        f"the middle half of the samples spreads by more than {WIDE:.0%} of the median at {wide} of {len(sizes)} sizes"
    ]


def link_lines(measured: LinkMeasurement) -> list[str]:
    """A table at a few sizes for the terminal."""
    by_size = {size.size_bytes: size for size in measured.sizes}
    wanted = [1, 2**10, 2**14, 2**16, 2**18, 2**20, 2**22, 2**24, max(by_size)]
    lines = [f"{'bytes':>10}{'one way':>12}{'middle half':>24}"]
    for near in dict.fromkeys(min(by_size, key=lambda size: abs(size - want)) for want in wanted):
        size = by_size[near]
        spread = " to ".join(units.show_duration(value) for value in size.quartiles_s)
        lines.append(f"{units.show_size(size.size_bytes):>10}{units.show_duration(size.one_way_s):>12}{spread:>24}")
    return lines


def fit_measured_link(measured: LinkMeasurement, *, seed: int) -> NetworkFile:
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
    return NetworkFile.of_fit(fit, made, measured.warnings, by_field(measured))
