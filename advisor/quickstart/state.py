"""What a quickstart knows so far, kept on disk as it grows, so that an interruption loses nothing."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from advisor.verification import ProgramRuns, Verification
from simulator import Configuration, LinkModel, LoadTrace, Machine, SpeedBand, files, matmul, provenance
from simulator.calibration import Measurement, NeighboursModel, Usage, clean_samples

# A short real piece of the application, which checks and corrects measured speeds before anything is predicted.

PIECES = 3
"""Real runs, after one that warms up."""
LEAST_CORRECTION = 0.03
"""A machine differs by less from one second to the next."""


@dataclass(frozen=True)
class Piece:
    """What one PE really attained in runs of the application, unloaded, and what its band says."""

    pe: str
    rows: int
    said: float
    """Speed of the band at that panel, in volume per second."""
    half_width: float
    """Of the band there, as a share of its middle."""
    attained: tuple[float, ...]
    """Volume per CPU second of each run's computation."""

    @property
    def ratio(self) -> float:
        """What the band has to be multiplied by; 1 where the runs do not say so all alike.

        Their middle has to lie outside the band, and by more than they differ among themselves: what a machine drifts
        from one second to the next is no fault of the band.
        """
        ratios = np.array(self.attained) / self.said
        middle = float(np.median(ratios))
        doubt = max(self.half_width, float(np.ptp(ratios)), LEAST_CORRECTION)
        return middle if abs(middle - 1) > doubt else 1.0

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        attained = float(np.median(self.attained))
        return {
            "pe": self.pe,
            "rows": self.rows,
            "speed_of_band": self.said,
            "speed_attained": attained,
            "difference_percent": 100 * (attained / self.said - 1),
            "corrected_by_percent": 100 * (self.ratio - 1),
        }


def run_pieces(
    runs: ProgramRuns, equal: Configuration, bands: Mapping[str, SpeedBand], names: Sequence[str]
) -> tuple[Piece, ...]:
    """Run the application under the equal split, without load, and compare what each PE attains with its band.

    Parameters
    ----------
    runs
        Of the application as it will be verified.
    bands, names
        The band of the application's kernel by PE, and the PEs in order.
    """
    n = int(runs.application.parameters["n"])
    runs.prepare([equal])
    used: list[tuple[Usage, ...]] = [runs.run(equal).compute for _ in range(PIECES)]
    pieces = []
    for place, (name, rows) in enumerate(zip(names, equal.partition, strict=True)):
        samples = clean_samples([row[place] for row in used])
        cut = bands[name].cut(matmul.problem_size(n, rows))
        attained = tuple(matmul.volume(n, rows) / sample.cpu_s for sample in samples if sample.cpu_s > 0)
        if rows and attained:
            pieces.append(Piece(name, rows, cut.mid, (cut.high - cut.low) / 2 / cut.mid, attained))
    return tuple(pieces)


def corrected(band: SpeedBand, ratio: float) -> SpeedBand:
    """A band whose speeds are all multiplied."""
    if ratio == 1.0:
        return band
    return replace(band, low=band.low * ratio, mid=band.mid * ratio, high=band.high * ratio)


# What a quickstart knows so far, kept on disk as it grows, so that an interruption loses nothing.

MOST_PES = 8

Progress = Callable[[str, float], None]
"""Called with a stage and the share of the whole that is done."""


@dataclass
class Quickstart:
    """Everything measured so far, and what it was measured for."""

    folder: Path
    budget_s: float
    seed: int
    machine: Machine
    trace: LoadTrace
    on_progress: Progress
    begun: float = field(default_factory=time.monotonic)
    seconds: dict[str, float] = field(default_factory=dict)
    measured: list[Measurement] = field(default_factory=list)
    link: LinkModel | None = None
    neighbours: NeighboursModel | None = None
    """What the PEs lose to each other."""
    no_neighbours: str = ""
    """Why that is not known."""
    pieces: tuple[Piece, ...] = ()
    benchmark_speeds: list[float] = field(default_factory=list)
    verification: Verification | None = None

    @property
    def cpus(self) -> list[int]:
        """The processors that serve as PEs; background load runs on the last."""
        return [core.cpu for core in self.machine.cores[: min(MOST_PES, self.machine.pe_count)]]

    @property
    def names(self) -> list[str]:
        """Name of each PE."""
        return [f"core{cpu}" for cpu in self.cpus]

    def save(self) -> None:
        """Write everything measured so far."""
        document = {
            "format": 1,
            "kernels": kernels_document(self.measured),
            "link": None if self.link is None else self.link.to_dict(),
            "neighbours": None if self.neighbours is None else self.neighbours.to_dict(),
            "pieces": [piece.to_dict() for piece in self.pieces],
            "benchmark_speeds": self.benchmark_speeds,
            "verification": {name: times.tolist() for name, times in self.verification.measured_s.items()}
            if self.verification
            else {},
            "provenance": provenance.provenance(seed=self.seed, machine=self.machine),
        }
        files.write_json(self.folder / "measurements.json", document)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Time a stage."""
        start = time.monotonic()
        try:
            yield
        finally:
            self.seconds[name] = round(time.monotonic() - start, 3)


def kernels_document(measured: Sequence[Measurement]) -> list[dict[str, Any]]:
    """One entry per kernel and PE, with every point and all its samples."""
    keys = dict.fromkeys((m.kernel, m.pe) for m in measured)
    return [
        {
            "name": kernel,
            "pe": pe,
            "points": [m.to_dict() for m in measured if (m.kernel, m.pe) == (kernel, pe)],
        }
        for kernel, pe in keys
    ]
