"""Real runs as the source of a band's points: kernels or a command line on one pinned PE, every finished point kept."""

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from simulator.base import units
from simulator.base.documents import read
from simulator.base.errors import ScenarioError, some_names
from simulator.base.machine import Machine, memory_available_bytes, require_linux, this_machine
from simulator.base.randomness import stream
from simulator.calibration.bands.levels import AtOnce
from simulator.calibration.bench.campaign import Budget, run_campaign, shuffled
from simulator.calibration.bench.measurement import PRECISION, Measurement, PointStore, Workload
from simulator.calibration.bench.usage import Usage
from simulator.calibration.kernels.device import on_device, there
from simulator.calibration.kernels.sized import WORD_BYTES, largest_within
from simulator.calibration.kernels.table import panel_kernel, sized_kernel
from simulator.calibration.speed.sampling import Effort, Ends, Room, find_ends, sample_point, visit
from simulator.calibration.speed.subjects import (
    KernelRunner,
    KernelSubject,
    LateRunner,
    Runner,
    Subject,
    command_subject,
    largest_taken,
    open_runner,
)

MEMORY_SHARE = 0.5
"""Share of the memory available now that a kernel may take."""
OVERRUN = 3.0
"""A single run that lasts this many times the time cap is stopped: its prediction was far off, or it never ends."""
MOST_VISITS, VISIT_SAMPLES = 6, 2
"""How often a point is visited at most, and how many samples a further visit takes."""
PANEL_HALVINGS = 6
"""How often the rows of panels are halved: below, calls cost more than rows."""
SLACK_BYTES = 64 * 2**20
"""What a child may take in addition to the operands."""
MUCH_MORE, HARDLY_LONGER = 10.0, 1.5
"""Volume this many times as large should take more than so many times as long."""
FIRST_LEVEL_SHARE = 0.5
"""Share of the first-level data cache that the smallest size fills, so that it truly fits."""
_FIRST_LEVEL_BYTES = 32 * 2**10
"""Assumed where the system does not tell."""


class RealSource:
    """Measures problem sizes on one PE; a context manager that ends its processes. Nothing on the machine is altered.

    `max_size` is in elements, None for no limit; `store` is a file of finished points, which the same source continues;
    `memory_share` is of the memory available now, above 0 and at most 0.9. On the processors `beside` the same kernel
    runs at the same time, as in a parallel run.
    """

    def __init__(
        self,
        subject: Subject,
        *,
        cpu: int,
        effort: Effort,
        max_size: float | None,
        store: Path | None,
        memory_share: float = MEMORY_SHARE,
        seed: int = 0,
        beside: Sequence[int] = (),
    ) -> None:
        require_linux()
        self.machine = machine = this_machine()
        _check(machine, cpu, effort, max_size, memory_share)
        self._subject, self._cpu, self._effort, self._seed = subject, cpu, effort, seed
        self._others = tuple(beside)
        self._room = Room(max_size, int(memory_share * _available_bytes(subject)), memory_share)
        self._started_s = 0.0
        self._samples: list[tuple[int, float, tuple[float, ...]]] = []
        self._child = LateRunner(self._open)
        self._used: dict[int, Measurement] = {}
        self._store = self._store_at(store, machine)
        try:
            self.ends = self._find_ends(machine)
        except BaseException:
            self.close()
            raise

    @classmethod
    def of_kernel(  # noqa: PLR0913 - one option of the command line each
        cls,
        name: str,
        *,
        cpu: int,
        time_cap_s: float,
        max_size: float | None = None,
        store: Path | None = None,
        memory_share: float = MEMORY_SHARE,
        columns: int | None = None,
        depth: int | None = None,
        together: bool = False,
        device: str | None = None,
    ) -> "RealSource":
        """One of `SIZED_KERNELS`; see the class for what the parameters mean and for errors.

        With `columns` panels of so many are measured, over their rows up to as many: what a process of an application
        of that order computes; with `depth` too the product of panels so deep is added, as each step of `matmul_2d`
        does. `together` runs it on all cores at once, as a parallel run does, and takes the times of `cpu`. On a
        `device`, such as `gpu0`, it runs by CuPy, hosted by `cpu`: times are without what moves to it and back.
        """
        if depth is not None and columns is None:
            raise ScenarioError("depth: it is of panels; give --columns too")
        kernel = sized_kernel(name) if columns is None else panel_kernel(name, columns, depth)
        if columns is not None:
            max_size = float(kernel.size(columns)) if max_size is None else min(max_size, float(kernel.size(columns)))
        others = tuple(core.cpu for core in this_machine().cores if core.cpu != cpu) if together else ()
        effort, share = Effort(time_cap_s), memory_share
        subject = KernelSubject(kernel if device is None else on_device(kernel, device), device)
        return cls(subject, cpu=cpu, effort=effort, max_size=max_size, store=store, memory_share=share, beside=others)

    @classmethod
    def of_command(  # noqa: PLR0913 - one option of the command line each
        cls,
        command: str,
        *,
        size: str,
        volume: str,
        cpu: int,
        time_cap_s: float,
        max_size: float | None = None,
        store: Path | None = None,
        memory_share: float = MEMORY_SHARE,
        device: str | None = None,
    ) -> "RealSource":
        """A command line with `{n}` in it, and formulas in n for size and volume; its CPU time includes its children's.

        The command runs with `OMP_NUM_THREADS=1` and the like, on one processor, and counts from its start to its end.
        With a `device`, such as `gpu0`, it sees that GPU alone, `{device}` is its number, and the clock counts.
        """
        subject = command_subject(command, size=size, volume=volume, device=device)
        effort = Effort(time_cap_s)
        return cls(subject, cpu=cpu, effort=effort, max_size=max_size, store=store, memory_share=memory_share)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def smallest(self) -> float:
        """Smallest problem size a in elements: it fits the first-level cache."""
        return self._subject.size(self.ends.smallest_n)

    @property
    def largest(self) -> float:
        """Largest problem size b in elements."""
        return self._subject.size(self.ends.largest_n)

    @property
    def panel_sizes(self) -> tuple[float, ...]:
        """Of panels of a number of columns: sizes at as many rows, and at these halved again and again; else none.

        A GPU takes as long for a row as for some hundred, so that there it goes on to one.
        """
        columns = self._subject.workload.columns
        if columns is None:
            return ()
        most = min(columns, self.ends.largest_n)
        halvings = PANEL_HALVINGS if self._subject.device is None else most.bit_length() - 1
        rows = [most >> times for times in range(halvings + 1)]
        return tuple(self._subject.size(n) for n in rows if n >= max(1, self.ends.smallest_n))

    @property
    def largest_is_memory_limit(self) -> bool:
        """Whether b is the largest size that can be allocated: only then is the speed beyond it 0 by definition."""
        return self.ends.largest_is_memory_limit

    @property
    def largest_reason(self) -> str:
        """What b follows from: memory, --max-size or the time cap."""
        return self.ends.largest_reason

    @property
    def ends_s(self) -> float:
        """Wall seconds that finding a and b took, the start of the processes included."""
        return self.ends.cost_s + self._started_s

    @property
    def points(self) -> tuple[Measurement, ...]:
        """Every point asked for so far, by ascending n, with all its samples."""
        return tuple(self._used[n] for n in sorted(self._used))

    @property
    def longest_run_s(self) -> float:
        """What a single run at b was predicted to take at most: the time cap."""
        return self._effort.time_cap_s

    @property
    def reused(self) -> int:
        """How many of the points asked for an earlier process had finished."""
        return len(self._store.before & self._used.keys())

    @property
    def level_ends(self) -> tuple[tuple[str, float], ...]:
        """Each data cache, and the problem size in elements at which all that is stored no longer fits it."""
        return tuple(
            (f"the {units.show_size(cache.size_bytes)} of L{cache.level}", cache.size_bytes / WORD_BYTES)
            for cache in self.machine.caches
            if cache.kind != "instruction"
        )

    @property
    def at_once(self) -> AtOnce | None:
        """What all PEs took in the samples of the points used that this process took; None where one runs alone."""
        rows = [row for row in self._samples if row[0] in self._used]
        if not rows:
            return None
        cpus = (self._cpu, *self._others)
        sizes = np.repeat([self._subject.size(n) for n, *_ in rows], len(cpus))
        begins_s = np.repeat([began_s for _, began_s, _ in rows], len(cpus))
        pes, times_s = np.tile(np.arange(len(cpus)), len(rows)), np.concatenate([each_s for *_, each_s in rows])
        return AtOnce(sizes, pes, times_s, begins_s, tuple(f"cpu{cpu}" for cpu in cpus))

    @property
    def subject(self) -> Workload:
        """What is measured, and on which logical processors."""
        return replace(self._subject.workload, cpu=self._cpu, beside=self._others)

    @property
    def warnings(self) -> tuple[str, ...]:
        """A line where the store was damaged, where too little is known of a point, and where time does not grow."""
        doubts = (line for point in self.points if (line := self._doubt(point)))
        return (*self._store.warnings, *doubts, *self._busy(), *self._idle())

    def measure(self, size: float) -> Measurement:
        """Measure the problem size nearest to the one asked for, or hand out what is known of it already.

        `size` in elements, from the smallest to the largest.
        """
        if not self.smallest * (1 - 1e-9) <= size <= self.largest * (1 + 1e-9):
            raise ScenarioError(f"size is {size:g}; give {self.smallest:g} to {self.largest:g} elements")
        n = self.n_of(size)
        self._used[n] = self._finished(n)
        return self._used[n]

    def _finished(self, n: int) -> Measurement:
        """A point with all its samples, which are taken in a row unless the store holds it."""
        if n not in self._store.points:
            self._store.keep(sample_point(self._child.running(), self._subject, n=n, effort=self._effort))
        return self._store.points[n]

    def fresh_runs(self, size: float) -> Iterator[tuple[Measurement, Usage]]:
        """Run a size again and again, once per item asked for, and keep nothing: what a finished band is checked with.

        Yields `point`, the point nearest to the size, measured if it was not yet; `usage`, CPU and wall seconds of one
        more run, after a warm-up.
        """
        point = self.measure(size)
        runner = self._child.running()
        runner.prepare(self._subject.n_of(point.size))
        runner.sample(1)
        while True:
            yield point, runner.sample(1)

    def measure_together(self, sizes: Sequence[float]) -> None:
        """Measure sizes known in advance in passes of one sample each, every pass in a new random order."""
        wanted = {self.n_of(size) for size in sizes}
        generator = stream(self._seed, self._subject.label, "passes")

        def passes() -> Iterator[tuple[int, list[int]]]:
            while still_open := sorted(wanted - self._store.points.keys()):
                yield 0, shuffled(still_open, generator)

        run_campaign(passes(), lambda n, _number: self.visit(self._subject.size(n)), journal=self._store.journal)

    def visit(self, size: float) -> Measurement:
        """Take one more sample at a problem size and keep it; a finished point is handed out as it is."""
        n = self.n_of(size)
        if n not in self._store.points:
            known = self._store.open.get(n)
            point = visit(self._child.running(), self._subject, n=n, effort=self._effort, known=known)
            self._store.keep(point)
            return point
        return self._store.points[n]

    def revisit(self, budget_s: float) -> tuple[Measurement, ...]:
        """Visit the points used once more each, in passes of random order, as long as a budget lasts.

        A machine has quick and slow phases of seconds to minutes, which samples in a row cannot show. Visits that the
        store holds from before count.

        Returns all points used, those that were visited again with more samples.
        """
        generator, budget = stream(self._seed, self._subject.label, "visits"), Budget(budget_s)

        def passes() -> Iterator[tuple[int, Iterator[int]]]:
            for done in range(1, MOST_VISITS):
                waiting = sorted(n for n, point in self._used.items() if len(point.visits) <= done)
                yield done, (n for n in shuffled(waiting, generator) if budget.holds(self._visit_s(n)))

        run_campaign(passes(), self._visit_again, journal=self._store.journal)
        return tuple(self._used.values())

    def _visit_s(self, n: int) -> float:
        """Seconds that one more visit of a point is expected to take."""
        point = self._used[n]
        return (VISIT_SAMPLES + 1) * point.inner * point.samples[-1].wall_s

    def _visit_again(self, n: int, _number: int) -> None:
        """One more visit of a finished point, kept."""
        point, runner, reused = self._used[n], self._child.running(), n in self._store.before
        for number in range(VISIT_SAMPLES):
            point = visit(runner, self._subject, n=n, effort=self._effort, known=point, prepared=number > 0)
        self._used[n] = replace(point, ended_by=point.ended_by or "visits")
        self._store.keep(self._used[n])
        if reused:
            self._store.before.add(n)

    def n_of(self, size: float) -> int:
        """The parameter, between the ends, whose problem size is nearest."""
        return min(max(self._subject.n_of(size), self.ends.smallest_n), self.ends.largest_n)

    def cost_s(self, times_s: NDArray[np.float64]) -> NDArray[np.float64]:
        """Predicted seconds of points whose single runs take so long; see `Effort.cost_s`."""
        return self._effort.cost_s(times_s)

    def close(self) -> None:
        """End every process; what was measured stays."""
        self._child.close()

    def _open(self) -> Runner:
        """Start the child."""
        limit_s, memory_bytes = OVERRUN * self._effort.time_cap_s, self._room.memory_bytes + SLACK_BYTES
        begin = time.monotonic()
        runner = open_runner(
            self._subject, cpu=self._cpu, memory_bytes=memory_bytes, limit_s=limit_s, others=self._others
        )
        self._started_s += time.monotonic() - begin
        self._samples = runner.at_once if isinstance(runner, KernelRunner) else []
        return runner

    def _store_at(self, path: Path | None, machine: Machine) -> PointStore:
        store = PointStore(path, subject=self.subject.to_dict(), machine=machine)
        for point in [point for point in store.points.values() if self._hasty(point)]:
            store.forget(point.n)
        return store

    def _find_ends(self, machine: Machine) -> Ends:
        settings = {"max_size": self._room.max_size, "memory_share": self._room.memory_share, **asdict(self._effort)}
        if (known := self._store.ends(settings)) is not None:
            return read(Ends, known)
        smallest_n = _smallest_n(self._subject, machine)
        if self._room.max_size is not None and self._room.max_size <= self._subject.size(smallest_n):
            raise ScenarioError(
                f"--max-size is {self._room.max_size:g}; give more than the smallest size, "
                f"{self._subject.size(smallest_n):g} elements"
            )
        found = find_ends(
            self._child.running(), self._subject, smallest_n=smallest_n, room=self._room, effort=self._effort
        )
        self._store.keep_ends(settings, asdict(found))
        return found

    def _hasty(self, point: Measurement) -> bool:
        """Whether a time cap far below this one cut a kept point off: it took at least half of its own cap."""
        return point.ended_by == "time cap" and point.cost_s < self._effort.time_cap_s / 2

    def _busy(self) -> tuple[str, ...]:
        """A line if other programs disturbed so many samples of a point that none could be left out."""
        off = {point.n: found for point in self.points if (found := point.may_be_off)}
        if not off:
            return ()
        where = f"{len(off)} of {len(self.points)} points, n = {some_names([str(n) for n in off])}"
        said = f"calibrated on a busy machine: up to {100 * max(off.values()):.0f} % too slow at {where}"
        return (f"{self._subject.label}: {said}; end other work on processor {self._cpu}, and measure again",)

    def _idle(self) -> tuple[str, ...]:
        """A line if runs of very unlike volume take the same time: then the speed is that of starting a program.

        Kernels of ours compute what they say, and small ones take as long as their start on a GPU.
        """
        if len(self.points) < 2 or self._subject.device is not None:
            return ()
        least, most = self.points[0], self.points[-1]
        if most.volume < MUCH_MORE * least.volume or most.ideal_s > HARDLY_LONGER * least.ideal_s:
            return ()
        times = " and ".join(f"{point.ideal_s:.3g} s at size {point.size:g}" for point in (least, most))
        found = f"{self._subject.label}: CPU time of {times}: it hardly grows"
        return (f"{found}; either its start is all that was measured, or it does not compute its volume",)

    def _doubt(self, point: Measurement) -> str | None:
        half, count = point.half_interval, len(point.samples)
        if half <= PRECISION:
            return None
        where = f"{self._subject.label}: n = {point.n} (size {point.size:g}): unstable"
        if math.isinf(half):
            return f"{where}: {count} samples within the time cap, and at least 6 tell; raise the time cap per point"
        switches = sum(sample.involuntary_switches for sample in point.samples)
        remedy = "raise the time cap per point" if point.ended_by == "time cap" else "measure again when it is quiet"
        return (
            f"{where}: the median's 95 % interval is +-{100 * half:.1f} % after {count} samples, "
            f"{100 * PRECISION:g} % asked; {switches} involuntary switches: "
            f"end other work on processor {self._cpu}, or {remedy}"
        )


def _available_bytes(subject: Subject) -> int:
    """Memory for operands: of the machine, or of the GPU that a kernel of ours runs on."""
    if subject.device is None or not isinstance(subject, KernelSubject):
        return memory_available_bytes()
    return there(subject.device).free_bytes


def _smallest_n(subject: Subject, machine: Machine) -> int:
    """The largest n that fits the first-level data cache with room to spare; on a GPU the smallest of all."""
    if subject.device is not None:
        return subject.least_n
    levels = [c.size_bytes for c in machine.caches if c.level == 1 and c.kind != "instruction"]
    room = FIRST_LEVEL_SHARE * (levels[0] if levels else _FIRST_LEVEL_BYTES) / WORD_BYTES
    below = largest_within(subject.size, room)
    return max(subject.least_n, largest_taken(subject, below))


def _check(machine: Machine, cpu: int, effort: Effort, max_size: float | None, memory_share: float) -> None:
    """Refuse options out of range."""
    allowed = [number for core in machine.cores for number in (core.cpu, *core.siblings)]
    faults = [] if cpu in allowed else [f"cpu is {cpu}; name one of {', '.join(map(str, allowed))}"]
    numbers: list[tuple[str, float, float]] = [
        ("time cap", effort.time_cap_s, math.inf),
        ("memory share", memory_share, 0.9),
        ("--max-size", 1.0 if max_size is None else max_size, math.inf),
    ]
    for name, value, most in numbers:
        if not 0 < value <= most or math.isinf(value):
            limit = "" if math.isinf(most) else f" and at most {most:g}"
            faults.append(f"{name} is {value:g}; give a number above 0{limit}")
    if faults:
        raise ScenarioError(faults)
