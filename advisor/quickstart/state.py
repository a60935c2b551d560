"""What a quickstart knows so far, kept on disk as it grows, so that an interruption loses nothing."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from advisor.verification import ProgramRuns, Verification
from advisor.verification.pieces import PIECES, Piece
from simulator import Configuration, LinkModel, LoadTrace, Machine, SpeedBand, files, matmul, provenance
from simulator.calibration import Measurement, NeighboursModel, Usage, clean_samples


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
