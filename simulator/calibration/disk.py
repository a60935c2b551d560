"""A folder's disk: how long it takes to write files of several sizes there and to read them back, and the line fitted.

Every file is without a name, so nothing stays behind. What is written counts with `fsync`; before it is read, the
system is asked to forget it. Where a file system keeps all in memory, that is what is measured.
"""

import os
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import IO, Any, Literal

from simulator.base import files
from simulator.base.documents import read_keys
from simulator.base.machine import require_linux, this_machine
from simulator.base.randomness import stream
from simulator.base.units import write_bandwidth, write_duration
from simulator.calibration.bench.campaign import Budget, Progress, no_progress, run_campaign, shuffled
from simulator.calibration.bench.group import Group
from simulator.calibration.bench.journal import Journal, belongs_to, kept
from simulator.calibration.bench.pin import ANYWHERE
from simulator.calibration.bench.worker import Jobs

DIRECTIONS = ("write", "read")
SIZES_BYTES = tuple(4**power * 1024 for power in range(1, 8))
"""4 KiB to 16 MiB."""
LEAST_PASSES, MOST_PASSES = 3, 40
_KIND, _FORMAT = "disk visits", 1

Cell = tuple[str, int]
"""Direction and bytes."""


class Scratch:
    """Nameless files in a folder, one of each size."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._files: dict[int, IO[bytes]] = {}

    def write(self, size_bytes: int) -> dict[str, float]:
        """Seconds until so many bytes are on the disk."""
        held = self._file(size_bytes)
        data = memoryview(os.urandom(size_bytes))  # no file system packs it
        os.ftruncate(held.fileno(), 0)
        os.lseek(held.fileno(), 0, os.SEEK_SET)
        begin = time.perf_counter()
        while data:
            data = data[os.write(held.fileno(), data) :]
        os.fsync(held.fileno())
        return {"wall_s": time.perf_counter() - begin}

    def read(self, size_bytes: int) -> dict[str, float]:
        """Seconds until so many bytes are read from the disk."""
        if size_bytes not in self._files:
            self.write(size_bytes)
        number, left = self._files[size_bytes].fileno(), size_bytes
        os.posix_fadvise(number, 0, 0, os.POSIX_FADV_DONTNEED)
        os.lseek(number, 0, os.SEEK_SET)
        begin = time.perf_counter()
        while left:
            left -= len(os.read(number, left))
        return {"wall_s": time.perf_counter() - begin}

    def _file(self, size_bytes: int) -> IO[bytes]:
        if size_bytes not in self._files:
            self._files[size_bytes] = tempfile.TemporaryFile(dir=self._folder, buffering=0)  # noqa: SIM115 - held
        return self._files[size_bytes]


def jobs(folder: str) -> Jobs:
    """Writing and reading in one folder."""
    scratch = Scratch(folder)
    return {"write": scratch.write, "read": scratch.read}


@dataclass(frozen=True)
class DiskTimes:
    """What was measured of a disk."""

    samples_s: Mapping[Cell, tuple[float, ...]]
    """Seconds of each visit, by direction and bytes."""

    def line(self, *directions: str) -> tuple[float, float]:
        """Latency (s) and bandwidth (B/s) of these directions, of both without one: Hockney's line, relative errors."""
        from simulator.models.network.kinds.lines import fit_hockney
        from simulator.models.network.points import make_points

        cells = [cell for cell in self.samples_s if cell[0] in (directions or DIRECTIONS)]
        rows = [(size, time_s) for cell in cells for size, time_s in ((cell[1], s) for s in self.samples_s[cell])]
        sizes, times_s = zip(*rows, strict=True)
        model = fit_hockney(make_points(sizes, [1] * len(sizes), times_s)).model
        return max(model.latency_s, 0.0), model.bandwidth_bytes_per_s

    def to_data(self) -> dict[str, str]:
        """`disk` of a node as a scenario says it: one line for both directions, which share it."""
        latency_s, bandwidth = self.line()
        shown = (float(f"{value:.3g}") for value in (latency_s, bandwidth))
        return {"latency": write_duration(next(shown)), "bandwidth": write_bandwidth(next(shown))}


def measure_disk(
    folder: Path,
    *,
    budget_s: float = 20.0,
    seed: int = 1,
    store: Path | None = None,
    on_progress: Progress = no_progress,
) -> DiskTimes:
    """Write and read files of 4 KiB to 16 MiB in a folder in random order, three times and on while the budget lasts.

    Parameters
    ----------
    store
        Keeps every visit, so that the same call goes on where it ended.

    Raises
    ------
    ScenarioError
        If nothing can be written there, or the store holds visits of another folder or machine.
    CalibrationError
        If the disk fails.
    """
    require_linux()
    files.check_room(folder, folder=True, needed_bytes=2 * sum(SIZES_BYTES))
    files.make_folder(folder)
    samples: dict[Cell, list[float]] = {cell: [] for cell in product(DIRECTIONS, SIZES_BYTES)}

    def take(line: dict[str, Any]) -> None:
        visit = read_keys(line, cell=tuple[Literal["write", "read"], int], wall_s=float)
        samples[visit["cell"]].append(visit["wall_s"])

    def passes() -> Iterator[tuple[int, list[Cell]]]:
        for number in range(MOST_PASSES):
            asked = [cell for cell in samples if len(samples[cell]) <= number]
            yield number, shuffled(asked, stream(seed, "disk", number))

    belongs = belongs_to({"folder": str(folder.absolute())}, this_machine())
    journal = Journal(store, kind=_KIND, version=_FORMAT, what="visits", take=take, belongs=belongs)
    budget = Budget(budget_s)
    with kept(store, "visits"), journal, Group("disk", [(ANYWHERE, folder)]) as group:

        def sample(cell: Cell, _number: int) -> None:
            direction, size_bytes = cell
            on_progress(f"{direction} {size_bytes} bytes", min(1.0, budget.share))
            (answer,) = group.ask_all({"do": direction, "size_bytes": size_bytes})
            samples[cell].append(answer["wall_s"])
            journal.keep({"cell": list(cell), **answer})

        run_campaign(passes(), sample, budget=budget, least=LEAST_PASSES, journal=journal)
    return DiskTimes({cell: tuple(values) for cell, values in samples.items()})
