"""A recorded MPI program: what its ranks did, at the speed of other PEs; a rank each, so only their places vary.

Its computing is CPU seconds on the PE where it was recorded. On another PE it takes so many times as long as a kernel
does there, at the rank's working set, or a mix of two kernels by their shares of the time: w r1 / s1 + (1 - w) r2 / s2,
r the speeds of the recording PE and s those of the other. So a PE's speed, in CPU seconds per second, is the inverse.

Of several recordings of the same calls it is known how computing differs from run to run; see `spread_of`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from simulator.base.arrays import Floats, Ints
from simulator.base.errors import ScenarioError
from simulator.base.identity import Same
from simulator.models.doubt import Doubt
from simulator.models.memory.levels import MemoryUse
from simulator.models.neighbours import KernelUses
from simulator.programs.applications.parameters import Counted, Parameters, choice, share, text
from simulator.programs.applications.work import Work
from simulator.programs.columns import ComputeSpread
from simulator.programs.configuration import Configuration
from simulator.programs.program import Compute, Program
from simulator.programs.recorded.expansion import CHOICES, USUAL, WORD_BYTES, Expansion, expanded
from simulator.programs.recorded.recording import Action, Recording

if TYPE_CHECKING:
    from simulator.models.speed import SpeedBand

NAME = "recorded"
"""Of the application, and of the kernel whose speeds follow."""
WITHIN_90 = 1.645
"""Standard deviations on each side of 90 % of a normal distribution."""
FEWEST_DEGREES = 3
"""Degrees of freedom that two recordings count for too: the tails of fewer are beyond all that was seen."""
KEPT = 8
"""Programs that are remembered: what-ifs and searches ask for the same ones again and again."""
LEAST_RATIO, DECADES = 1e-3, 64
FEWEST_BLOCKS = 3
"""Computations of a call site from which it is known how they differ."""


@dataclass(frozen=True)
class Mix:
    """Kernels that stand for what a program computes, and their speeds on the PE where it was recorded."""

    kernels: tuple[str, ...]
    """One, or two."""
    reference: "tuple[SpeedBand, ...]"
    weight: float = 1.0
    """The first one's share of the time there."""
    recorded_on: str = ""
    """The PE, where it is one of the platform: then its speeds of now are known from those of then."""

    @property
    def shares(self) -> tuple[float, ...]:
        """Of the time on the recording PE."""
        return (self.weight, 1 - self.weight)[: len(self.kernels)]

    def times(self, speeds: Sequence[Floats], sizes: Floats) -> Floats:
        """Seconds of each kernel for a CPU second there, where these are the speeds at some sizes; (kernel, sizes)."""
        there = [np.interp(sizes, band.sizes, band.mid) for band in self.reference]
        return np.array([w * r / s for w, r, s in zip(self.shares, there, speeds, strict=True)])

    def band(
        self, speeds: "Mapping[str, SpeedBand]", sizes: Floats, *, pe: str = "", quiet: bool = False
    ) -> "SpeedBand":
        """CPU seconds per second of a PE at ascending problem sizes."""
        from simulator.models.speed import SpeedBand  # workers that import applications need none

        bands = [speeds[kernel] for kernel in self.kernels]
        low, mid, high = (
            1 / self.times([np.interp(sizes, band.sizes, getattr(band, name)) for band in bands], sizes).sum(axis=0)
            for name in ("low", "mid", "high")
        )
        if not any(band.stated for band in bands):
            return SpeedBand(sizes, low, mid, high, source=bands[0].source)
        times = self.times([np.interp(sizes, band.sizes, band.mid) for band in bands], sizes)
        sd = sum(
            part * _ratio_sd(band, reference, sizes, same=bool(pe) and pe == self.recorded_on)
            for part, band, reference in zip(times / times.sum(axis=0), bands, self.reference, strict=True)
        )
        main = bands[int(np.argmax(self.shares))]
        doubt = replace(main.doubt, sizes=sizes, sd=sd) if main.doubt is not None else Doubt(sizes, np.asarray(sd))
        noise = None if quiet else main.noise
        return SpeedBand(sizes, mid, mid, mid, doubt=doubt, noise=noise, source=main.source)

    def uses(
        self, known: Mapping[str, KernelUses], speeds: "Mapping[str, SpeedBand]", sizes: Floats
    ) -> KernelUses | None:
        """What the program takes of shared levels on a PE: what the kernels do, by their shares of the time there."""
        found = [(place, known[kernel]) for place, kernel in enumerate(self.kernels) if kernel in known]
        if not found or any(kernel not in speeds for kernel in self.kernels):
            return None
        bands = [speeds[kernel] for kernel in self.kernels]
        times = self.times([np.interp(sizes, band.sizes, band.mid) for band in bands], sizes)
        shares = times / times.sum(axis=0)

        def mixed(name: str) -> dict[str, Floats]:
            taken = dict[str, Floats]()
            for place, uses in found:
                for level, values in getattr(uses, name).items():
                    part = shares[place] * np.interp(np.log(sizes), np.log(uses.sizes), values)
                    taken[level] = taken.get(level, 0.0) + part
            return taken

        return KernelUses(sizes, mixed("demands"), mixed("sensitivities"))

    def memory_use(self, known: Mapping[str, MemoryUse], size: float) -> MemoryUse | None:
        """Accesses of a CPU second on the recording PE, of the kernels that are known; the one with most says which."""
        found = [
            (share * float(np.interp(size, band.sizes, band.mid)), known[kernel])
            for kernel, band, share in zip(self.kernels, self.reference, self.shares, strict=True)
            if kernel in known and share > 0
        ]
        if not found:
            return None
        accesses = sum(units * use.accesses_per_unit for units, use in found)
        written = sum(units * use.written_per_unit for units, use in found)
        main = max(found, key=lambda one: one[0] * one[1].accesses_per_unit)[1]
        return replace(main, accesses_per_unit=accesses, written_per_unit=written)


def _ratio_sd(band: "SpeedBand", reference: "SpeedBand", sizes: Floats, *, same: bool) -> Floats:
    """Standard deviation of the logarithm of a speed over that of the recording PE.

    Of one PE nothing is doubted, of two of one kind what they do not share.
    """
    if same and np.array_equal(band.sizes, reference.sizes) and np.array_equal(band.mid, reference.mid):
        return np.zeros(sizes.size)
    own, other = _sd(band, sizes), _sd(reference, sizes)
    if band.source and band.source == reference.source:
        common = 0.0 if band.doubt is None else band.doubt.common
        return np.asarray(np.sqrt(1 - common) * np.hypot(own, other))
    return np.hypot(own, other)


def _sd(band: "SpeedBand", sizes: Floats) -> Floats:
    if band.stated:
        return np.zeros(sizes.size) if band.doubt is None else band.doubt.at(sizes)
    low, high = (np.interp(sizes, band.sizes, curve) for curve in (band.low, band.high))
    return np.asarray(np.log(high / low) / (2 * WITHIN_90))


@dataclass(frozen=True)
class RecordedWork(Work):
    """A recording with the kernels that stand for its computing."""

    recording: Recording
    mix: Mix
    algorithms: Mapping[str, str] = field(default_factory=dict)
    """Of collectives, by the names of `CHOICES`."""
    polls: bool = True
    path: str = field(default="", compare=False)
    """The folder, for files that name it."""

    @property
    def units(self) -> int:
        """Ranks."""
        return self.recording.ranks

    @property
    def by_rank(self) -> bool:
        """No rank is like another."""
        return True

    @property
    def draws(self) -> bool:
        """Whether several recordings say how computing differs from run to run."""
        return self.spread is not None

    @property
    def sizes(self) -> Floats:
        """The unlike working sets of its ranks in elements, ascending."""
        return np.unique(np.maximum(1.0, self.recording.memory_bytes / WORD_BYTES))

    def memory_use(self, known: Mapping[str, MemoryUse]) -> MemoryUse | None:
        """How it uses memory, where that is known of its kernels."""
        return self.mix.memory_use(known, float(self.sizes[-1]))

    def rounds(self, processes: int) -> int:
        """A third of the operations of a rank."""
        return 1 + self.expansion.action.size // (3 * max(1, processes))

    def compute(self, processes: int) -> Callable[[int], Compute]:  # noqa: ARG002 - the same for any number
        """What a rank computes in the mean."""
        each = float(self.recording.computing_s.mean())
        return lambda units: Compute(units * each, float(np.median(self.sizes)))

    def messages_bytes(self, units: int) -> tuple[int, ...]:
        """All that a rank sends in the mean, as one message."""
        columns = self.expansion.columns
        talks = columns.partner >= 0
        return (units * int(columns.amount[talks].sum() / self.units),) if np.any(talks) else ()

    def fitting(self, partition: tuple[int, ...], grid: tuple[int, int] | None = None) -> tuple[int, ...]:  # noqa: ARG002
        """A rank for each process, if there are as many."""
        return (1,) * self.units if len(partition) == self.units else partition

    def program(self, configuration: Configuration) -> Program:
        """What its ranks did."""
        if configuration.partition != (1,) * self.units:
            where = f"configuration {configuration.name}: partition"
            count = len(configuration.partition)
            has = f"it has {count} processes" if count != self.units else "not each process has 1 rank"
            raise ScenarioError(f"{where}: {has} and the recording {self.units} ranks; give 1 to each of {self.units}")
        return self.expansion.program

    @property
    def expansion(self) -> Expansion:
        """The program, and which action each of its operations is part of."""
        return _expanded(Same(self.recording), tuple(self.algorithms.items()), polls=self.polls)

    @property
    def spread(self) -> ComputeSpread | None:
        """How its computing differs from run to run."""
        return _spread(Same(self.recording))

    def with_parameters(self, parameters: Parameters) -> "RecordedWork":
        """The same with other algorithms, weight and waiting."""
        given = APPLICATION.values(parameters)
        mix = replace(self.mix, weight=given["weight"] if len(self.mix.kernels) > 1 else 1.0)
        algorithms = {name: given[name] for name in CHOICES}
        return replace(self, mix=mix, algorithms=algorithms, polls=given["waiting"] == "polling")

    def site_of(self, process: int, index: int) -> str:
        """The call site of an operation of a process, empty if it is not known."""
        at = int(self.recording.site[self.expansion.action[self.expansion.columns.first[process] + index]])
        return self.recording.described.sites[at] if at >= 0 else ""

    def warnings(self, processes: int) -> tuple[str, ...]:  # noqa: ARG002 - the same for any number
        """What was to be said when it was recorded, and what it lacks."""
        lines = list(self.recording.described.warnings)
        if not np.all(self.recording.memory_bytes) and any(band.sizes.size > 1 for band in self.mix.reference):
            lines.append("recording: it does not say how much memory ranks held; speeds are taken at 1 element")
        return tuple(lines)


@lru_cache(maxsize=KEPT)
def _expanded(of: Same[Recording], algorithms: tuple[tuple[str, str], ...], *, polls: bool) -> Expansion:
    found, spread = expanded(of.value, dict(algorithms), polls=polls), _spread(of)
    columns = replace(found.columns, spread=spread)
    return replace(found, columns=columns, program=replace(found.program, assembled=columns))


@lru_cache(maxsize=KEPT)
def _spread(of: Same[Recording]) -> ComputeSpread | None:
    return spread_of(of.value)


def spread_of(recording: Recording) -> ComputeSpread | None:
    """How computing differs from run to run; None where there is one recording only, or all are alike.

    The time of a block is its median times what all of the run share, what its rank and call site share, and its own:
    the first two are normal in their logarithms (with the tails of so few runs), the last is one of those of its call
    site and decade of length.
    """
    at = np.flatnonzero(recording.action == Action.COMPUTE)
    kept = recording.amount[at] > 0
    times, rows = recording.computed_s[:, kept], at[kept]
    runs, medians = times.shape[0], recording.amount[rows]
    if runs < 2 or not rows.size or np.all(times == times[0]):
        return None
    site = recording.site[rows].astype(np.int64) + 1
    group = np.unique(recording.rank[rows] * (site.max() + 1) + site, return_inverse=True)[1].reshape(-1)
    totals = np.array([np.bincount(group, weights=row) for row in times])
    usual = np.bincount(group, weights=medians)
    logs = np.log(np.maximum(totals / usual, LEAST_RATIO))
    shared = np.log(np.maximum(totals.sum(axis=1) / usual.sum(), LEAST_RATIO))
    left = logs - logs.mean(axis=0) - (shared - shared.mean())[:, np.newaxis]
    kinds = np.unique(site * DECADES + np.floor(np.log10(medians)).astype(np.int64), return_inverse=True)[1].reshape(-1)
    pool, first = _own_factors(times / (medians * np.exp(logs[:, group])), kinds)
    # what the factors of single blocks make of a group's time, and groups of the whole, is theirs
    squares = np.add.reduceat((pool - 1) ** 2, first[:-1]) / np.diff(first)
    of_blocks = np.bincount(group, weights=medians**2 * squares[kinds]) / usual**2
    own = np.maximum(0.0, (left**2).sum(axis=0) / (runs - 1) - of_blocks)
    of_groups = np.sum(usual**2 * (own + of_blocks)) / usual.sum() ** 2
    together = max(0.0, float(np.var(shared, ddof=1)) - of_groups)
    return ComputeSpread(
        site=kinds,
        group=group,
        own_sd=np.sqrt(own),
        shared_sd=float(np.sqrt(together * (1 + 1 / runs))),
        degrees=max(FEWEST_DEGREES, runs - 1),
        pool=pool,
        pool_first=first,
    )


def _own_factors(factors: Floats, kinds: Ints) -> tuple[Floats, Ints]:
    """Factors of blocks (run, block) by their kinds, of mean 1 in each; 1 where there are too few blocks to know."""
    order, counts = np.argsort(kinds, kind="stable"), np.bincount(kinds) * factors.shape[0]
    first = np.concatenate(([0], np.cumsum(counts)))
    pool = factors[:, order].T.reshape(-1)
    means = np.repeat(np.add.reduceat(pool, first[:-1]) / counts, counts)
    few = np.repeat(counts < FEWEST_BLOCKS * factors.shape[0], counts) | (means == 0)
    return np.where(few, 1.0, pool / np.where(means == 0, 1.0, means)), first


def fitted_weight(
    recordings: tuple[Recording, Recording], reference: "Sequence[SpeedBand]", there: "Sequence[SpeedBand]"
) -> float:
    """The first kernel's share of the time, from recordings on two PEs; least squares over ranks."""
    one, other = recordings
    if one.ranks != other.ranks or not np.array_equal(one.action, other.action):
        raise ScenarioError("second_recording: its calls are others; record the same program with the same arguments")
    sizes = np.maximum(1.0, one.memory_bytes / WORD_BYTES)
    both = zip(reference, there, strict=True)
    first, second = (np.interp(sizes, r.sizes, r.mid) / np.interp(sizes, s.sizes, s.mid) for r, s in both)
    computing, apart = one.computing_s, first - second
    if not np.any(np.abs(apart * computing) > 1e-3 * np.abs(first * computing)):
        raise ScenarioError("second_recording: both kernels are as much quicker there; give weight in its place")
    found = np.sum((other.computing_s - second * computing) * apart * computing) / np.sum((apart * computing) ** 2)
    return float(np.clip(found, 0.0, 1.0))


def _unmade(**_: Any) -> Work:
    raise ScenarioError(f"application: name: {NAME!r} needs a recording; read it from a scenario file")


APPLICATION = Counted(
    NAME,
    _unmade,
    {
        "recorded_on": text(
            "", meaning="the PE that it was recorded on, if it is one of the platform; else say its `speeds`"
        ),
        "second": text("", "another kernel, which its computations are like for the rest of the time"),
        "weight": share(1.0, "share of the time on the recording PE that is like `kernel`, from 0 to 1"),
        "second_recorded_on": text("", "the PE of `second_recording`, from which the weight follows"),
        "waiting": choice(("polling", "sleeping"), "polling", "whether a rank that waits keeps its PE busy"),
        **{
            name: choice(choices, USUAL, f"its algorithm: {', '.join(f'`{one}`' for one in choices)}")
            for name, choices in CHOICES.items()
        },
    },
    chosen=tuple(CHOICES),
)
