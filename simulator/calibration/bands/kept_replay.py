"""A recorded table whose points are kept on disk as they are asked for, like those of real runs."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from simulator.base import files
from simulator.calibration.bands.source import Floats, ReplaySource
from simulator.calibration.bench.journal import PointStore
from simulator.calibration.bench.measurement import Measurement


class KeptReplay:
    """A recorded table with a store of finished points; the same table on the same file continues.

    Parameters
    ----------
    source
        The table.
    store
        File of finished points, a line each; None to keep none.

    Raises
    ------
    ScenarioError
        If the store holds something else.
    """

    def __init__(self, source: ReplaySource, *, store: Path | None) -> None:
        self._source = source
        repeated = (column for pair in source.repeats for column in pair)
        columns = (source.sizes, source.volumes, source.cpu_s, source.wall_s, *repeated)
        table = files.digest(b"".join(column.tobytes() for column in columns))
        self._store = PointStore(store, read=Measurement.from_row, subject={"table": table}, machine=None)
        self._used: set[float] = set()

    @property
    def smallest(self) -> float:
        """The table's smallest size, in elements."""
        return self._source.smallest

    @property
    def largest(self) -> float:
        """The table's largest size, in elements."""
        return self._source.largest

    @property
    def largest_is_memory_limit(self) -> bool:
        """Whether the largest size is the largest that can be allocated."""
        return self._source.largest_is_memory_limit

    @property
    def table(self) -> ReplaySource:
        """The table that points come from."""
        return self._source

    @property
    def subject(self) -> Mapping[str, Any]:
        """What was measured, where that is known."""
        return self._source.subject

    @property
    def reused(self) -> int:
        """How many of the points asked for an earlier process had finished."""
        return len(self._used & self._store.before)

    @property
    def warnings(self) -> tuple[str, ...]:
        """A line if a part of the store was damaged."""
        return self._store.warnings

    def measure(self, size: float) -> Measurement:
        """The recorded time at a size; see `ReplaySource.measure`."""
        found = self._source.measure(size)
        if found.size not in self._store.points:
            self._store.keep(found)
        self._used.add(found.size)
        return self._store.points[found.size]

    def cost_s(self, times_s: Floats) -> Floats:
        """A point costs its time once."""
        return self._source.cost_s(times_s)
