"""What is drawn: truths, which many replications share, and within each truth what differs from run to run.

Every draw has a stream of its own, keyed by what it is for, so that adding a PE or leaving one out shifts no other.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from simulator.base import randomness
from simulator.models.speed import SpeedBand
from simulator.programs.columns import Columns
from simulator.scenario_file.scenario import Scenario, truth_count
from simulator.scenario_file.truths import APPLICATION, SERIES, TruthKey, speed_parts

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

FEW_DRAWS = 2**16
"""Draws up to which each is remembered; more are made together, and as many at once."""


@dataclass(frozen=True)
class Draws:
    """What differs between replications; axes are (replication, PE)."""

    load_starts_s: Floats
    """Where in its trace each PE's load starts. PEs of one clock start together."""
    band_positions: Floats
    """Where in the doubt of its speed each PE's truth lies, from 0 (slow) to 1; alike for all runs of a truth."""
    noise_positions: Floats | None = None
    """Where in the noise of its speed each PE runs, from 0 (quick) to 1; None: 0.5 everywhere."""
    truths: Ints | None = None
    """Number of the truth of each replication, (replication,); None where nothing is doubted."""
    series: Ints | None = None
    """The series that each replication belongs to, as `truths`."""
    application_deviates: Floats | None = None
    """Standard normal deviate of the doubt of the application's own model, (replication,); None: 0 everywhere."""
    application_positions: Floats | None = None
    """Where in the application's own noise each run lies, from 0 to 1, (replication,); None: 0.5 everywhere."""

    def of(self, replications: slice | Ints) -> "Draws":
        """Of some of the replications."""
        return replace(self, **{name: part[replications] for name, part in vars(self).items() if part is not None})

    def factors(self, program: Columns) -> Floats | None:
        """What the times of a program's computations and delays are multiplied with, (replication,); None: nothing."""
        found = None
        if program.doubt is not None and self.application_deviates is not None:
            found = program.doubt.factor(1.0, self.application_deviates)
        if program.noise is not None and self.application_positions is not None:
            noise = program.noise.at(self.application_positions)
            found = noise if found is None else found * noise
        return found

    def speeds(self, band: SpeedBand, pe: int, sizes: Floats) -> Floats:
        """Speeds of a PE with this band at problem sizes (S,) in each run; (replication, S)."""
        noise = 0.5 if self.noise_positions is None else self.noise_positions[:, pe, np.newaxis]
        return band.drawn(sizes, position=self.band_positions[:, pe, np.newaxis], noise=noise)


def draw(scenario: Scenario, *, first: int = 0, placed_only: bool = False) -> Draws:
    """The draws of all replications of a scenario, numbered from `first` on.

    The same seed, number and count of truths give the same bits, whatever the other PEs and replications are; only PEs
    of a node that have the same recording share a draw (`Platform.load_clocks`). Replication r of a series has truth
    `r % truth_count(scenario)`.

    Parameters
    ----------
    placed_only
        Leave out PEs without a process in any configuration: on a large platform most of them may be such.
    """
    pes, kernel = scenario.platform.pes, scenario.application.kernel
    asked = _placed(scenario) if placed_only else range(len(pes))
    shape = (scenario.replications, len(pes))
    starts, positions, noise = np.zeros(shape), np.full(shape, 0.5), None
    doubtful, noisy, loaded = [], [], []  # streams are keyed: leaving out draws that decide nothing shifts no other
    for index in asked:
        pe = pes[index]
        uses = pe.drawn(kernel)
        if "speed" in uses:
            band = pe.speeds[kernel]
            doubtful += [index] if band.doubtful else []
            noisy += [index] if band.noise is not None else []
        if pe.load is not None and "load" in uses:
            loaded.append((index, pe.load.trace.end_s))
        elif pe.load is not None:
            starts[:, index] = pe.load.start_s
    truths = series = None
    if scenario.doubtful:
        series, numbers = np.divmod(first + np.arange(scenario.replications), SERIES)
        truths = numbers % truth_count(scenario)
        _place(scenario, doubtful, series, truths, positions)
    if noisy:
        noise = np.full(shape, 0.5)
        for index, drawn in _drawn(scenario, noisy, first, "speed"):
            noise[:, index] = drawn
    clocks, of_clock = scenario.platform.load_clocks, dict[int, list[tuple[int, float]]]()
    for index, end_s in loaded:
        of_clock.setdefault(clocks[index], []).append((index, end_s))
    for clock, drawn in _drawn(scenario, list(of_clock), first, "load"):
        for index, end_s in of_clock[clock]:
            starts[:, index] = drawn * end_s
    return Draws(starts, positions, noise, truths, series, *_of_application(scenario, first, truths, series))


def _of_application(
    scenario: Scenario, first: int, truths: Ints | None, of_series: Ints | None
) -> tuple[Floats | None, Floats | None]:
    """Deviates of the doubt of the application's model, and positions in its noise; see `Draws`."""
    doubtful, noisy = scenario.application_spreads
    deviates = positions = None
    if doubtful and truths is not None and of_series is not None:
        deviates = np.empty(truths.size)
        for series in np.unique(of_series).tolist():
            rows = np.flatnonzero(of_series == series)
            drawn = TruthKey.of(scenario, series).deviates(APPLICATION)
            deviates[rows] = drawn[truths[rows]]
    if noisy:
        numbers = range(first, first + scenario.replications)
        if len(numbers) <= FEW_DRAWS:
            positions = np.array([_uniform(scenario.seed, number, APPLICATION, "noise") for number in numbers])
        else:
            positions = randomness.firsts(scenario.seed, [(number, APPLICATION, "noise") for number in numbers])
    return deviates, positions


def _placed(scenario: Scenario) -> list[int]:
    """PEs that have a process in some configuration, and those whose loads such processes feel."""
    placed = {pe for configuration in scenario.configurations for pe in configuration.placement}
    for domain in scenario.platform.domains:
        if not placed.isdisjoint(domain.pes):
            placed.update(domain.pes)
    return sorted(placed)


def _place(scenario: Scenario, pes: list[int], of_series: Ints, truths: Ints, positions: Floats) -> None:
    """Write where the truths of some PEs lie into `positions` (replication, PE)."""
    from scipy.special import ndtr

    kernel, names = scenario.application.kernel, scenario.platform.draw_names
    for series in np.unique(of_series).tolist():
        rows = np.flatnonzero(of_series == series)
        key = TruthKey.of(scenario, series)
        for index in pes:
            parts = speed_parts(scenario.platform.pes[index].speeds[kernel], names[index])
            positions[rows, index] = ndtr(key.deviate(parts))[truths[rows]]


def _drawn(scenario: Scenario, pes: list[int], first: int, use: str) -> Iterator[tuple[int, Floats]]:
    """Each of some PEs with its draws for one use, from 0 to 1; (replication,)."""
    seed, names = scenario.seed, scenario.platform.draw_names
    numbers = range(first, first + scenario.replications)
    if len(pes) * len(numbers) <= FEW_DRAWS:
        for pe in pes:
            yield pe, np.array([_uniform(seed, number, names[pe], use) for number in numbers])
        return
    at_once = max(1, FEW_DRAWS // len(numbers))
    for start in range(0, len(pes), at_once):
        some = pes[start : start + at_once]
        drawn = randomness.firsts(seed, [(number, names[pe], use) for pe in some for number in numbers])
        yield from zip(some, drawn.reshape(len(some), -1), strict=True)


@lru_cache(maxsize=FEW_DRAWS)
def _uniform(seed: int, replication: int, name: str, use: str) -> float:
    """One draw, remembered: a search simulates the same replications many times, and this depends on its key only."""
    return float(randomness.stream(seed, replication, name, use).random())
