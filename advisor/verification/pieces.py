"""Short real pieces of an application: they check speeds and message times, and correct them where all agree."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import inf, sqrt
from typing import Any

import numpy as np

from advisor.verification.residuals import without_loads
from simulator import Configuration, Platform, Scenario, run
from simulator.calibration import RealRun

PIECES = 3
"""Real runs, after one that warms up."""
LEAST_CORRECTION = 0.03
"""A machine differs by less from one second to the next."""
REPLICATIONS = 40
"""Simulated for the time that message times are compared by."""
MOST_FACTOR, STEPS = 8.0, 12
"""Message times are corrected by this factor at most, in either direction, found in so many halvings."""


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


@dataclass(frozen=True)
class Corrected:
    """A scenario as real pieces correct it."""

    scenario: Scenario
    pieces: tuple[Piece, ...]
    messages: float
    """What message times between nodes were multiplied by."""

    @property
    def lines(self) -> list[str]:
        """What was corrected, in words."""
        found = [f"speed of {one.pe} by {one.ratio - 1:+.0%}" for one in self.pieces if one.ratio != 1.0]
        if self.messages != 1.0:
            found.append(f"message times between hosts by a factor of {self.messages:.2g}")
        return [f"short real pieces of the application corrected the {'; the '.join(found)}"] if found else []


def correct(scenario: Scenario, piece: Scenario, equal: Configuration, real: Sequence[RealRun]) -> Corrected:
    """Correct speeds by the CPU seconds of real runs, then message times by what is left of their makespans.

    Parameters
    ----------
    scenario
        What is corrected.
    piece
        The same with the application that really ran.
    equal
        The configuration that ran, one process on each PE at most.
    real
        Its runs, with the cost of computing by PE.
    """
    asked = replace(piece.with_configurations((equal,)), replications=REPLICATIONS)
    pieces = _pieces(asked, equal, real)
    ratios = {one.pe: one.ratio for one in pieces}
    pes = tuple(_scaled(pe, scenario.application.kernel, ratios.get(pe.name, 1.0)) for pe in scenario.platform.pes)
    platform = replace(scenario.platform, pes=pes)

    def predicted_s(factor: float) -> float:
        return float(np.median(run(replace(asked, platform=_slower(platform, factor))).makespan_s[0]))

    factor = _message_factor(predicted_s, np.array([one.makespan_s for one in real]))
    return Corrected(replace(scenario, platform=_slower(platform, factor)), pieces, factor)


def _pieces(asked: Scenario, equal: Configuration, real: Sequence[RealRun]) -> tuple[Piece, ...]:
    """Each PE's speed as predicted, neighbours at work, and as attained."""
    idle = run(without_loads(asked))
    nominal_s = np.median(idle.busy_ticks[0], axis=0) * idle.tick_s
    compute, found = asked.application.work.compute(len(equal.partition)), []
    for process, (units, place) in enumerate(zip(equal.partition, equal.placement, strict=True)):
        used = [one.compute[place].cpu_s for one in real]
        if not units or nominal_s[process] <= 0 or min(used) <= 0:
            continue
        step, pe = compute(units), asked.platform.pes[place]
        volume = float(np.sum(step.volume))
        attained = tuple(volume / one for one in used)
        found.append(Piece(pe.name, units, volume / float(nominal_s[process]), 0.0, attained))
    return tuple(found)


def _scaled(pe: Any, kernel: str, ratio: float) -> Any:
    return pe if ratio == 1.0 else replace(pe, speeds={**pe.speeds, kernel: pe.speeds[kernel].scaled(ratio)})


def _slower(platform: Platform, factor: float) -> Platform:
    if factor == 1.0:
        return platform
    return replace(platform, network=platform.network.scaled(latency=factor, bandwidth=1 / factor))


def _message_factor(predicted_s: Callable[[float], float], measured_s: np.ndarray[Any, Any]) -> float:
    """By what message times have to be multiplied for the makespans measured; 1 where these do not say so."""
    middle = float(np.median(measured_s))
    sd = float(np.std(measured_s, ddof=1)) / middle if measured_s.size > 1 else inf
    doubt = max(LEAST_CORRECTION, 2 * sd / sqrt(measured_s.size))
    if abs(predicted_s(1.0) / middle - 1) <= doubt:
        return 1.0
    least, most = 1 / MOST_FACTOR, MOST_FACTOR
    if not predicted_s(least) < middle < predicted_s(most):
        return 1.0  # it is not messages that this comes from
    for _ in range(STEPS):
        factor = sqrt(least * most)
        least, most = (factor, most) if predicted_s(factor) < middle else (least, factor)
    return sqrt(least * most)
