"""A short real piece of the application, which checks and corrects measured speeds before anything is predicted."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from advisor.verification import ProgramRuns
from simulator import Configuration, SpeedBand, matmul
from simulator.calibration import Usage, clean_samples

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
