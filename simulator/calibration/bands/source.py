"""Where a builder's points come from: real runs or a recorded table, both seen through one Protocol."""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

import numpy as np

from simulator.base import files, ties
from simulator.base.arrays import Floats
from simulator.base.documents import in_file, read_keys
from simulator.base.errors import ScenarioError
from simulator.base.tables import MAX_FAULTS, Table, read_table
from simulator.calibration.bands.levels import AtOnce
from simulator.calibration.bands.panels import KERNELS, by_columns, check_one_subject, holds_panels
from simulator.calibration.bench.journal import belongs_to, check_head, parse_entry, read_entries
from simulator.calibration.bench.measurement import FORMAT, KIND, Measurement, Workload, point_of
from simulator.models.foreign import SPEED, read_as
from simulator.models.foreign.speeds import RATE, sized
from simulator.models.speed import SpeedBand, TableError

COLUMNS = ("size_elements", "volume", "cpu_s")
"""Columns that a recorded table has; `wall_s` may follow, and of PEs that ran at once `pe` and `at_s`."""
SPEEDS = (1e-100, 1e100)
"""Volume per second of a recorded run: beyond, products of speeds are no numbers."""


class Source(Protocol):
    """What builders measure."""

    @property
    def smallest(self) -> float:
        """Smallest problem size `a`, in elements."""

    @property
    def largest(self) -> float:
        """Largest problem size `b`, in elements."""

    @property
    def largest_is_memory_limit(self) -> bool:
        """Whether `b` is the largest size that can be allocated: only then is the cut at `b` (0, 0), unmeasured."""

    def measure(self, size: float) -> Measurement:
        """Measure one problem size between the smallest and the largest."""

    def cost_s(self, times_s: Floats) -> Floats:
        """Predicted experimental seconds of points whose single runs take so long; any shape."""


@dataclass(frozen=True)
class ReplaySource:
    """A recorded table in the place of runs, straight lines in log-log between its rows; a point costs its `cpu_s`."""

    sizes: Floats
    """Ascending problem sizes in elements."""
    volumes: Floats
    cpu_s: Floats
    wall_s: Floats
    largest_is_memory_limit: bool = False
    repeats: tuple[tuple[Floats, Floats], ...] = ()
    """CPU and wall seconds of each repetition over their medians, of each row; empty where each size ran once."""
    subject: Workload = field(default_factory=Workload, compare=False)
    """What was measured, where that is known; as `BuiltBand.subject`."""
    at_once: AtOnce | None = field(default=None, compare=False)
    """Its runs, where it says on which PEs they were made at the same time."""
    warnings: tuple[str, ...] = ()
    """What to know of the table."""
    narrower: tuple["ReplaySource", ...] = ()
    """The same kernel on panels of fewer columns, by columns."""

    def __post_init__(self) -> None:
        if self.repeats and len(self.repeats) != self.sizes.size:
            raise ScenarioError("recorded sizes: some sizes have repetitions; give them for every size or for none")
        columns = (self.sizes, self.volumes, self.cpu_s, self.wall_s)
        if any(c.ndim != 1 or c.shape != self.sizes.shape for c in columns) or self.sizes.size < 2:
            raise ScenarioError("recorded sizes: give columns of equal length with two rows or more")
        if not all(np.all(np.isfinite(c)) and np.all(c > 0) for c in columns) or np.any(np.diff(self.sizes) <= 0):
            raise ScenarioError("recorded sizes: give finite numbers above 0 and sizes that ascend")

    @property
    def smallest(self) -> float:
        """The table's smallest size, in elements."""
        return float(self.sizes[0])

    @property
    def largest(self) -> float:
        """The table's largest size, in elements."""
        return float(self.sizes[-1])

    def measure(self, size: float) -> Measurement:
        """The recorded time at a size, where sizes were repeated those of the nearest one."""
        if not self.smallest * (1 - 1e-9) <= size <= self.largest * (1 + 1e-9):
            raise ScenarioError(f"size is {size:g}; give {self.smallest:g} to {self.largest:g} elements")
        if self.repeats:
            place = ties.first_least(np.abs(np.log(self.sizes / size)))
            cpu, wall = self.repeats[place]
            each = tuple((self.cpu_s[place] * cpu).tolist()), tuple((self.wall_s[place] * wall).tolist())
            return Measurement.of_times(
                float(self.sizes[place]), float(self.volumes[place]), *each, float(sum(each[0]))
            )
        volume, cpu_s, wall_s = (float(self.at(size, column)) for column in (self.volumes, self.cpu_s, self.wall_s))
        return Measurement.of_times(float(size), volume, (cpu_s,), (wall_s,), cpu_s)

    def cost_s(self, times_s: Floats) -> Floats:
        """A point costs its time once, or as often as sizes were repeated."""
        often = float(np.median([cpu.size for cpu, _ in self.repeats])) if self.repeats else 1.0
        return often * times_s

    @property
    def table(self) -> "ReplaySource":
        """The table that points come from, against which a band can be judged: this one."""
        return self

    def up_to(self, largest: float) -> "ReplaySource":
        """The same table cut off at a largest size."""
        if largest >= self.largest:
            return self
        if largest <= self.smallest:
            raise ScenarioError(f"b is {largest:g} elements; give more than a, which is {self.smallest:g}")
        part = replace(self, largest_is_memory_limit=False)
        if self.repeats:
            count = max(2, int(np.searchsorted(self.sizes, largest, side="right")))
            sizes, volumes = self.sizes[:count], self.volumes[:count]
            cpu_s, wall_s, repeats = self.cpu_s[:count], self.wall_s[:count], self.repeats[:count]
            return replace(part, sizes=sizes, volumes=volumes, cpu_s=cpu_s, wall_s=wall_s, repeats=repeats)
        sizes = np.append(self.sizes[self.sizes < largest], largest)
        volumes, cpu_s, wall_s = (self.at(sizes, column) for column in (self.volumes, self.cpu_s, self.wall_s))
        return replace(part, sizes=sizes, volumes=volumes, cpu_s=cpu_s, wall_s=wall_s)

    def at(self, sizes: Floats | float, column: Floats) -> Floats:
        """A column at any sizes, by straight lines in log-log; exact at the rows."""
        return np.asarray(np.exp(np.interp(np.log(sizes), np.log(self.sizes), np.log(column))))

    def speeds(self, sizes: Floats) -> Floats:
        """Recorded ideal speeds at any sizes, in volume per second."""
        return np.asarray(self.at(sizes, self.volumes) / self.at(sizes, self.cpu_s))

    def accuracy(self, band: SpeedBand) -> TableError:
        """How far a band's middle curve is from the table, at every recorded size (but a memory limit's: 0 there)."""
        sizes = self.sizes[:-1] if self.largest_is_memory_limit else self.sizes
        error = np.abs(band.speed(sizes) / self.speeds(sizes) - 1)
        return TableError(sizes.size, float(np.mean(error)), float(np.max(error)), float(sizes[np.argmax(error)]))


def read_recorded_sizes(path: Path) -> ReplaySource:
    """Read a recorded table `size_elements,volume,cpu_s[,wall_s][,pe[,at_s]]`; rows of one size are repetitions.

    Rows with `pe` are of PEs that all ran at once: the k-th runs of a size on each. `at_s` is when a run began.
    """
    return recorded_sizes(read_table(path))


def recorded_sizes(table: Table) -> ReplaySource:
    """The source that a table stands for; see `read_recorded_sizes`."""
    missing = [name for name in COLUMNS if name not in table.names]
    if missing:
        raise ScenarioError(
            [f"{table.place}: column {name!r} is missing; the columns are {', '.join(table.names)}" for name in missing]
        )
    names = [*COLUMNS, *(["wall_s"] if "wall_s" in table.names else [])]
    columns = {name: table.numbers(name) for name in names}
    faults = [
        f"{table.place}:{table.lines[i]}: {name} is {column[i]:g}; give a number above 0"
        for name, column in columns.items()
        for i in np.flatnonzero(column <= 0)
    ]
    with np.errstate(all="ignore"):
        speeds = {name: columns["volume"] / columns[name] for name in names[2:]}
    faults = faults or [
        f"{table.place}:{table.lines[i]}: volume over {name} is {speed[i]:g} per second; check the units"
        for name, speed in speeds.items()
        for i in np.flatnonzero(~((speed > SPEEDS[0]) & (speed < SPEEDS[1])))
    ]
    sizes = columns["size_elements"]
    if np.unique(sizes).size < 2:
        faults.append(f"{table.place}:{table.lines[0]}: size_elements: all rows have one size; give two sizes or more")
    if faults:
        raise ScenarioError(faults[:MAX_FAULTS])
    order = np.argsort(sizes, kind="stable")  # repetitions stay in the order in which they were made
    sizes, volumes, cpu_s, wall_s = (columns[name][order] for name in (*COLUMNS, names[-1]))
    return replace(recorded(sizes, volumes, cpu_s, wall_s), at_once=_at_once(table, columns["cpu_s"]))


def _at_once(table: Table, cpu_s: Floats) -> AtOnce | None:
    """The runs of a table that names PEs."""
    if "pe" not in table.names:
        return None
    begins_s = table.numbers("at_s") if "at_s" in table.names else None
    names, pes = np.unique(table.text("pe"), return_inverse=True)
    return AtOnce(table.numbers("size_elements"), pes, cpu_s, begins_s, tuple(names.tolist()))


def recorded(sizes: Floats, volumes: Floats, cpu_s: Floats, wall_s: Floats) -> ReplaySource:
    """The source of runs by size, not descending: of several of one size the medians, and how they scatter."""
    known, first, counts = np.unique(sizes, return_index=True, return_counts=True)
    if np.all(counts == 1):
        return ReplaySource(sizes, volumes, cpu_s, wall_s)
    rows = [slice(start, start + count) for start, count in zip(first, counts, strict=True)]
    volume, cpu, wall = (np.array([np.median(column[row]) for row in rows]) for column in (volumes, cpu_s, wall_s))
    repeats = tuple((cpu_s[row] / cpu[k], wall_s[row] / wall[k]) for k, row in enumerate(rows))
    return ReplaySource(known, volume, cpu, wall, repeats=repeats)


# Recorded runs in the place of real ones: a table of sizes, or a file of points that a calibration kept.


def read_replay(
    path: str | Path, *, size: str | None = None, volume: str | None = None, only: str | None = None
) -> ReplaySource:
    """The runs of a CSV table (`read_recorded_sizes`), or of a JSON file of points that `--store` kept.

    `size`, `volume`: formulas over n, of a table that says speeds over n.
    `only`: which rows of a table count, such as `kernel=gemm,pinned=1`.
    """
    path = Path(path)
    if path.suffix == ".json":
        return _points(path)
    printed = read_as(path, SPEED)
    printed = replace(printed, table=printed.table.only(only))
    if holds_panels(printed.table):
        return _panels(printed.table)
    if printed.table.names == ("n", RATE):
        elements, volumes, seconds = sized(printed.table, size, volume)
        order = np.argsort(elements, kind="stable")
        known = recorded(*(column[order] for column in (elements, volumes, seconds, seconds)))
        return replace(known, warnings=printed.notes)
    if size is not None or volume is not None:
        raise ScenarioError(f"{path} says sizes and volumes itself; leave --size and --volume out")
    return recorded_sizes(printed.table)


def _panels(table: Table) -> ReplaySource:
    """Of the largest number of columns, with those of fewer."""
    check_one_subject(table)
    kernel = KERNELS.get(table.text("kernel")[0], table.text("kernel")[0])
    *narrower, widest = [
        replace(recorded_sizes(runs), subject=Workload(kernel=kernel, columns=columns))
        for columns, runs in by_columns(table)
    ]
    return replace(widest, narrower=tuple(narrower))


def _points(path: Path) -> ReplaySource:
    entries = list(read_entries(path))
    known = {"format": FORMAT, "kind": KIND, **belongs_to({}, None)}
    head = check_head(entries[0] if entries else parse_entry(files.read_bytes(path)), known, path, KIND)
    with in_file(path):
        subject = read_keys({"subject": head["subject"]}, subject=Workload)["subject"]
        found = [point_of(entry) for entry in entries[1:] if "ends" not in entry]
        points = {one.key: one for one in found if one.finished}
    measured = sorted(points.values(), key=lambda point: point.size)
    rows = [
        (point.size, point.volume, cpu_s, wall_s)
        for point in measured
        for cpu_s, wall_s in zip(point.cpu_s, point.wall_s, strict=True)
    ]
    columns = np.array(rows, dtype=np.float64).reshape(-1, 4).T
    if np.unique(columns[0]).size < 2:
        raise ScenarioError(f"{path}: {len(points)} finished points in it; measure two sizes or more")
    return replace(recorded(*columns), subject=subject)
