"""Short real pieces of an application: they check speeds and message times, and correct them where all agree."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from math import exp, inf, log, pi, sqrt
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from advisor.verification.residuals import without_loads
from simulator import PE, Configuration, Scenario, documents, run
from simulator.calibration import RealRun

PIECES = 3
"""Real runs, after one that warms up."""
LEAST_CORRECTION = 0.03
"""A machine differs by less from one second to the next."""
ALIKE = 1.05
"""Sizes within this factor have one speed."""
MOST_PACE = log(1.3)
"""All times are corrected by this at most, as a logarithm."""
FAR_OFF = 0.1
"""A prediction that is off by more than this from real pieces is said to be."""
REPLICATIONS = 40
"""Simulated for a makespan that is compared with real ones."""
MESSAGES_SD, MOST_LOG = log(2), log(8)
"""Message times are within this logarithm of what was measured, in two cases of three; and the most that they are
corrected by. The first only decides where pieces do not."""

Floats = NDArray[np.float64]


def doubt_of_median(values: ArrayLike) -> float:
    """How far the median of repeated runs may be from the truth, as a share of it; infinite for one run."""
    found = np.asarray(values, dtype=np.float64)
    if found.size < 2:
        return inf
    sd = float(np.std(found, ddof=1) / np.median(found))
    return max(LEAST_CORRECTION, sqrt(pi / 2) * 2 * sd / sqrt(found.size))


@dataclass(frozen=True)
class Piece(documents.Record):
    """What one PE really attained in runs of the application, unloaded, and what its band says."""

    SPARSE, DERIVED = False, ("speed_attained", "difference_percent", "corrected_by_percent")

    pe: str
    rows: int
    said: float = field(metadata=documents.named("speed_of_band"))
    """Speed of the band at that panel, in volume per second."""
    half_width: float = field(metadata=documents.NOT_WRITTEN)
    """Of the band there, as a share of its middle."""
    attained: tuple[float, ...] = field(metadata=documents.NOT_WRITTEN)
    """Volume per CPU second of each run's computation."""
    size: float = field(default=0.0, metadata=documents.NOT_WRITTEN)
    """What speeds are functions of."""

    @property
    def speed_attained(self) -> float:
        """The median."""
        return float(np.median(self.attained))

    @property
    def difference_percent(self) -> float:
        """What was attained over what the band says, less 1."""
        return 100 * (self.speed_attained / self.said - 1)

    @property
    def corrected_by_percent(self) -> float:
        """See `ratio`."""
        return 100 * (self.ratio - 1)

    @property
    def ratio(self) -> float:
        """What the band has to be multiplied by; 1 where the runs do not say so all alike.

        Their middle has to lie outside the band, and further from 1 than it is doubtful: what a machine drifts from one
        second to the next is no fault of the band.
        """
        ratios = np.array(self.attained) / self.said
        middle = float(np.median(ratios))
        return middle if abs(middle - 1) > max(self.half_width, doubt_of_median(ratios)) else 1.0


@dataclass(frozen=True)
class Tried:
    """A configuration of one process on each PE at most, and its real runs with the cost of computing by PE."""

    configuration: Configuration
    runs: tuple[RealRun, ...]

    @property
    def makespan_s(self) -> float:
        """The median."""
        return float(np.median([one.makespan_s for one in self.runs]))

    @property
    def doubt(self) -> float:
        """How far a prediction may be from the median without saying anything, as a share."""
        return doubt_of_median([one.makespan_s for one in self.runs])


@dataclass(frozen=True)
class Corrected:
    """A scenario as real pieces correct it."""

    scenario: Scenario
    pieces: tuple[Piece, ...]
    messages: float = 1.0
    """What message times between nodes were multiplied by."""
    pace: float = 1.0
    """What all times were multiplied by then."""
    unexplained: tuple[tuple[str, float], ...] = ()
    """Configurations whose real runs are off from the prediction nevertheless, and what they took over that."""

    def to_dict(self, tried: Sequence[Tried]) -> dict[str, Any]:
        """Plain data for JSON: what ran and what followed."""
        return {
            "runs": [
                {
                    "configuration": one.configuration.name,
                    "partition": list(one.configuration.partition),
                    "makespan_s": [run.makespan_s for run in one.runs],
                    "usages": [[asdict(used) for used in run.compute] for run in one.runs],
                }
                for one in tried
            ],
            "speeds": [one.to_dict() for one in self.pieces],
            "message_times_by": self.messages,
            "all_times_by": self.pace,
            "unexplained": dict(self.unexplained),
        }

    @property
    def lines(self) -> list[str]:
        """What was corrected, and what is not explained, in words."""
        changes: dict[str, list[float]] = {}
        for one in self.pieces:
            changes.setdefault(one.pe, []).append(one.ratio - 1)
        means = {pe: float(np.mean(found)) for pe, found in changes.items() if any(found)}
        found = [f"speed of {pe} by {change:+.0%}" for pe, change in means.items()]
        if self.messages != 1.0:
            found.append(f"message times by a factor of {self.messages:.2g}")
        if self.pace != 1.0:
            found.append(f"times of all that by a factor of {self.pace:.2f}, whose cause is not known")
        lines = [f"short real pieces of the application corrected the {'; the '.join(found)}"] if found else []
        for name, ratio in self.unexplained:
            lines.append(
                f"short real pieces under {name} took {ratio:.2f} times what is predicted; nothing measured says why"
            )
        return lines


def correct(scenario: Scenario, piece: Scenario, tried: Sequence[Tried]) -> Corrected:
    """Correct speeds by the CPU seconds of real runs, message times by what is left of their makespans, then all times.

    `scenario`: what is corrected.
    `piece`: the same with the application that really ran.
    `tried`: what ran.
    """
    asked = replace(piece.with_configurations(tuple(one.configuration for one in tried)), replications=REPLICATIONS)
    pieces = _pieces(asked, tried)
    pes = tuple(_scaled(pe, asked.application.kernel, pieces) for pe in scenario.platform.pes)
    asked, scenario = (replace(one, platform=replace(one.platform, pes=pes)) for one in (asked, scenario))
    messages, errors = _message_factor(asked, tried)
    pace = _pace(errors, [one.doubt for one in tried])
    unexplained = tuple(
        (one.configuration.name, exp(-error) / pace)
        for one, error in zip(tried, errors, strict=True)
        if abs(error + log(pace)) > max(FAR_OFF, one.doubt)
    )
    return Corrected(_paced(_slower(scenario, messages), pace), pieces, messages, pace, unexplained)


def _pieces(asked: Scenario, tried: Sequence[Tried]) -> tuple[Piece, ...]:
    """Each PE's speed as predicted, neighbours at work, and as attained."""
    idle, found = run(without_loads(asked)), []
    for number, one in enumerate(tried):
        nominal_s = np.median(idle.busy_ticks[number], axis=0) * idle.tick_s
        compute = asked.application.work.compute(len(one.configuration.partition))
        pairs = zip(one.configuration.partition, one.configuration.placement, strict=True)
        for process, (rows, place) in enumerate(pairs):
            used = [real.compute[place].cpu_s for real in one.runs]
            if not rows or nominal_s[process] <= 0 or min(used) <= 0:
                continue
            step = compute(rows)
            volume = float(np.sum(step.volume))
            attained = tuple(volume / seconds for seconds in used)
            said = volume / float(nominal_s[process])
            found.append(Piece(asked.platform.pes[place].name, rows, said, 0.0, attained, float(np.mean(step.size))))
    return tuple(found)


def _scaled(pe: PE, kernel: str, pieces: Sequence[Piece]) -> PE:
    """A PE whose speed is what pieces attained, those of sizes that are nearly the same together."""
    own = sorted((one for one in pieces if one.pe == pe.name), key=lambda one: one.size)
    if all(one.ratio == 1.0 for one in own):
        return pe
    alike: list[list[Piece]] = []
    for one in own:
        if alike and one.size <= ALIKE * alike[-1][0].size:
            alike[-1].append(one)
        else:
            alike.append([one])
    ratios = [float(np.mean([one.ratio for one in some])) for some in alike]
    sizes = [float(np.mean([one.size for one in some])) for some in alike]
    return replace(pe, speeds={**pe.speeds, kernel: pe.speeds[kernel].scaled(ratios, sizes)})


def _slower(scenario: Scenario, factor: float) -> Scenario:
    if factor == 1.0:
        return scenario
    network = scenario.platform.network.scaled(latency=factor, bandwidth=1 / factor)
    return replace(scenario, platform=replace(scenario.platform, network=network))


def _pace(errors: Sequence[float], doubts: Sequence[float]) -> float:
    """What all times have to be multiplied by where all makespans are off to one side: their mean, if it is not much.

    It leaves the advice as it is, and is what remains where a PE that waits gets more of its share afterwards.
    """
    common, doubt = float(np.mean(errors)), sqrt(float(np.mean(np.square(doubts))) / len(doubts))
    one_side = min(errors) * max(errors) > 0
    return exp(-common) if one_side and max(LEAST_CORRECTION, doubt) < abs(common) <= MOST_PACE else 1.0


def _paced(scenario: Scenario, pace: float) -> Scenario:
    if pace == 1.0:
        return scenario
    kernel, platform = scenario.application.kernel, scenario.platform
    pes = tuple(replace(pe, speeds={**pe.speeds, kernel: pe.speeds[kernel].scaled(1 / pace)}) for pe in platform.pes)
    return _slower(replace(scenario, platform=replace(platform, pes=pes)), pace)


def _message_factor(asked: Scenario, tried: Sequence[Tried]) -> tuple[float, list[float]]:
    """By what message times have to be multiplied, and by how much each is predicted too long then, as a logarithm.

    The least sum of squares, each error over its doubt; a correction has to make the errors half of what they were.
    """
    from scipy.optimize import minimize_scalar

    measured = np.log([one.makespan_s for one in tried])
    doubts = np.array([one.doubt for one in tried])

    def errors(place: float) -> Floats:
        found: Floats = np.log(np.median(run(_slower(asked, exp(place))).makespan_s, axis=1)) - measured
        return found

    def cost(place: float) -> float:
        misfit = errors(place) / (doubts / 2)  # they are two deviations
        return float(np.sum(misfit**2) + (place / MESSAGES_SD) ** 2)

    before = errors(0.0)
    if np.all(np.abs(before) <= doubts):
        return 1.0, before.tolist()
    place = float(minimize_scalar(cost, bounds=(-MOST_LOG, MOST_LOG), method="bounded", options={"xatol": 0.01}).x)
    after = errors(place)
    if np.any(np.abs(after) > np.maximum(doubts, np.abs(before) / 2)):
        return 1.0, before.tolist()  # it is not messages that this comes from
    return exp(place), after.tolist()
