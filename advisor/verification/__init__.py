"""Real runs of recommended and baseline configurations, here, beside the load that was assumed."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simulator import Configuration
from simulator.calibration import Competitor, Ranks, Usage

LEAST_REPETITIONS = 3


@dataclass(frozen=True)
class Verification:
    """What the real runs of some configurations took."""

    measured_s: dict[str, NDArray[np.float64]]
    """Makespan of every repetition, by configuration."""
    usages: tuple[tuple[Usage, ...], ...]
    """What the computation cost on each PE, one row per run."""

    def share_of(self, pe: int) -> float:
        """Share of a PE that its process got while it computed: CPU seconds over wall seconds, all runs together."""
        cpu_s = sum(row[pe].cpu_s for row in self.usages)
        wall_s = sum(row[pe].wall_s for row in self.usages)
        return cpu_s / wall_s if wall_s else 1.0


def verify_matmul(
    ranks: Ranks,
    competitor: Competitor,
    kernel: str,
    configurations: Sequence[Configuration],
    *,
    budget_s: float,
    load_starts_s: Callable[[int], float],
    on_progress: Callable[[Verification, float], None],
) -> Verification:
    """Run the row-partitioned matrix product under each configuration in turn, several times, with the load on.

    Parameters
    ----------
    ranks, competitor
        The processes on the PEs, and the load beside one of them.
    kernel
        What computes.
    configurations
        One process per PE each; run interleaved, so that drift falls on all alike.
    budget_s
        No repetition starts that would end after it, but each configuration runs at least three times.
    load_starts_s
        Where in its trace the load starts, per repetition: the same for all configurations (paired).
    on_progress
        Called after every run.
    """
    start = time.monotonic()
    n = sum(configurations[0].partition)
    for configuration in configurations:
        ranks.prepare_matmul(kernel, n, configuration.partition)
    for configuration in configurations:
        ranks.matmul(configuration.partition)  # warms pages and buffers; not counted
    measured: dict[str, list[float]] = {configuration.name: [] for configuration in configurations}
    usages: list[tuple[Usage, ...]] = []
    begun = time.monotonic()
    for repetition in range(1000):
        spent = time.monotonic() - begun
        if repetition >= LEAST_REPETITIONS and time.monotonic() - start + spent / repetition > budget_s:
            break
        for configuration in configurations:
            with competitor.replay(load_starts_s(repetition)):
                run = ranks.matmul(configuration.partition)
            measured[configuration.name].append(run.makespan_s)
            usages.append(run.compute)
            so_far = Verification({name: np.array(times) for name, times in measured.items()}, tuple(usages))
            on_progress(so_far, (time.monotonic() - start) / budget_s)
    return Verification({name: np.array(times) for name, times in measured.items()}, tuple(usages))
