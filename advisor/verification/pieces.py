"""Short real pieces of an application: they check speeds, messages and shares, and correct them where all agree."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import exp, inf, log, pi, sqrt
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from advisor.verification.residuals import without_loads
from simulator import PE, Configuration, LoadTrace, Scenario, availability, randomness, run, units
from simulator.calibration import RealRun

PIECES = 3
"""Real runs, after one that warms up."""
LEAST_CORRECTION = 0.03
"""A machine differs by less from one second to the next."""
FAR_OFF = 0.1
"""A prediction that is off by more than this from real pieces is said to be."""
REPLICATIONS = 40
"""Simulated for a makespan that is compared with real ones."""
MESSAGES_SD, TURN_SD_S = log(4), 5e-3
"""Message times are within this logarithm of what was measured, and turns on a PE within these seconds, in two cases of
three: it only decides where pieces do not."""
BOUNDS = np.array([[-log(8), 0.0], [log(8), 10.0]])
"""Of the logarithm of the factor of message times, and of turns over `TURN_SD_S`."""
GRID, GRID_TURNS, EVALUATIONS = (-1.4, -0.7, 0.0, 0.7, 1.4), (0.0, 0.1, 0.3, 1.0, 3.0), 60
"""Where the search for both begins, and how many values it looks at from the best on."""
LEAST_TURN_S = 5e-5
TURNS, MOST_SHARE = 1000, 0.999
"""Turns that a load is drawn as, or one for each of its samples where it has more; a share of more has no turns."""

Floats = NDArray[np.float64]


def doubt_of_median(values: ArrayLike) -> float:
    """How far the median of repeated runs may be from the truth, as a share of it; infinite for one run."""
    found = np.asarray(values, dtype=np.float64)
    if found.size < 2:
        return inf
    sd = float(np.std(found, ddof=1) / np.median(found))
    return max(LEAST_CORRECTION, sqrt(pi / 2) * 2 * sd / sqrt(found.size))


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
    size: float = 0.0
    """What speeds are functions of."""

    @property
    def ratio(self) -> float:
        """What the band has to be multiplied by; 1 where the runs do not say so all alike.

        Their middle has to lie outside the band, and further from 1 than it is doubtful: what a machine drifts from one
        second to the next is no fault of the band.
        """
        ratios = np.array(self.attained) / self.said
        middle = float(np.median(ratios))
        return middle if abs(middle - 1) > max(self.half_width, doubt_of_median(ratios)) else 1.0

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
class Tried:
    """A configuration of one process on each PE at most, and its real runs with the cost of computing by PE."""

    configuration: Configuration
    runs: tuple[RealRun, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "configuration": self.configuration.name,
            "partition": list(self.configuration.partition),
            "makespan_s": [one.makespan_s for one in self.runs],
            "usages": [[used.to_dict() for used in one.compute] for one in self.runs],
        }

    @property
    def makespan_s(self) -> float:
        """The median."""
        return float(np.median([one.makespan_s for one in self.runs]))

    @property
    def doubt(self) -> float:
        """How far a prediction may be from the median without saying anything, as a share."""
        return doubt_of_median([one.makespan_s for one in self.runs])


@dataclass(frozen=True)
class Waiting:
    """What makes processes that wait for each other slower than their speeds and messages alone."""

    messages: float = 1.0
    """What message times between nodes are multiplied by."""
    turn_s: float = 0.0
    """How long a PE that others share is ours and theirs in turn, together and on average; 0: it is shared evenly."""

    def of(self, scenario: Scenario) -> Scenario:
        """The scenario with both."""
        platform = scenario.platform
        if self.turn_s > 0:
            platform = replace(platform, pes=tuple(_in_turns(pe, self.turn_s, scenario.seed) for pe in platform.pes))
        if self.messages != 1.0:
            network = platform.network.scaled(latency=self.messages, bandwidth=1 / self.messages)
            platform = replace(platform, network=network)
        return replace(scenario, platform=platform)


@dataclass(frozen=True)
class Corrected:
    """A scenario as real pieces correct it."""

    scenario: Scenario
    pieces: tuple[Piece, ...]
    waiting: Waiting
    unexplained: tuple[tuple[str, float], ...] = ()
    """Configurations whose real runs are off from the prediction nevertheless, and what they took over that."""

    def to_dict(self, tried: Sequence[Tried]) -> dict[str, Any]:
        """Plain data for JSON: what ran and what followed."""
        return {
            "runs": [one.to_dict() for one in tried],
            "speeds": [one.to_dict() for one in self.pieces],
            "message_times_by": self.waiting.messages,
            "turn_s": self.waiting.turn_s,
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
        if self.waiting.messages != 1.0:
            found.append(f"message times between hosts by a factor of {self.waiting.messages:.2g}")
        if self.waiting.turn_s:
            turn = units.show_duration(self.waiting.turn_s)
            found.append(f"shares of PEs: others take them for a part of every {turn}, not evenly")
        lines = [f"short real pieces of the application corrected the {'; the '.join(found)}"] if found else []
        for name, ratio in self.unexplained:
            lines.append(
                f"short real pieces under {name} took {ratio:.2f} times what is predicted; nothing measured says why"
            )
        return lines


def correct(scenario: Scenario, piece: Scenario, tried: Sequence[Tried]) -> Corrected:
    """Correct speeds by the CPU seconds of real runs, then what waiting costs by what is left of their makespans.

    Parameters
    ----------
    scenario
        What is corrected.
    piece
        The same with the application that really ran.
    tried
        What ran.
    """
    asked = replace(piece.with_configurations(tuple(one.configuration for one in tried)), replications=REPLICATIONS)
    pieces = _pieces(asked, tried)
    pes = tuple(_scaled(pe, asked.application.kernel, pieces) for pe in scenario.platform.pes)
    asked, scenario = (replace(one, platform=replace(one.platform, pes=pes)) for one in (asked, scenario))
    waiting, errors = _waiting(asked, tried)
    unexplained = tuple(
        (one.configuration.name, exp(-error))
        for one, error in zip(tried, errors, strict=True)
        if abs(error) > max(FAR_OFF, one.doubt)
    )
    return Corrected(waiting.of(scenario), pieces, waiting, unexplained)


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
    """A PE whose speed is what pieces of several sizes attained."""
    ratios = {one.size: one.ratio for one in sorted(pieces, key=lambda one: one.size) if one.pe == pe.name}
    if all(ratio == 1.0 for ratio in ratios.values()):
        return pe
    scaled = pe.speeds[kernel].scaled(list(ratios.values()), list(ratios))
    return replace(pe, speeds={**pe.speeds, kernel: scaled})


def _in_turns(pe: PE, turn_s: float, seed: int) -> PE:
    """A PE whose load leaves us all of it and nothing in turns, on average as much as before.

    How long turns last is drawn, in units of `turn_s`, the same for any `turn_s`.
    """
    if pe.load is None:
        return pe
    load, each = pe.load, -(-TURNS // pe.load.trace.values.size)
    shares = availability(load.trace.values, load.rule, cores=pe.cores)
    shares = np.repeat(np.clip(shares, 1 - MOST_SHARE, MOST_SHARE), each)
    ours, theirs = randomness.stream(seed, "turns", pe.name).exponential(size=(2, shares.size))
    ends = np.cumsum(np.column_stack([ours * shares, theirs * (1 - shares)]).ravel() * turn_s)
    values = np.tile([1.0, 0.0], shares.size)
    kept = np.diff(ends, prepend=0.0) > 0
    ends, values = ends[kept], values[kept]
    trace = LoadTrace(np.concatenate([[0.0], ends[:-1]]), values, float(ends[-1]))
    return replace(pe, load=replace(load, trace=trace, rule="given", recording=None))


def _waiting(asked: Scenario, tried: Sequence[Tried]) -> tuple[Waiting, list[float]]:
    """What explains the makespans best, and by how much each is predicted too long then, as a logarithm.

    The least sum of squares, each error over its doubt; message times that were measured and an even share are as
    likely as `MESSAGES_SD` and `TURN_SD_S` say. What is corrected has to make the errors half of what they were.
    """
    from scipy.optimize import minimize

    measured = np.log([one.makespan_s for one in tried])
    doubts = np.array([one.doubt for one in tried])
    shared = any(asked.platform.pes[place].load for one in tried for place in one.configuration.placement)

    def errors(waiting: Waiting) -> Floats:
        found: Floats = np.log(np.median(run(waiting.of(asked)).makespan_s, axis=1)) - measured
        return found

    def meant(place: Floats) -> Waiting:
        messages, turn = [*np.clip(place, *BOUNDS[:, : place.size]).tolist(), 0.0][:2]
        small = abs(messages) < LEAST_CORRECTION, turn * TURN_SD_S < LEAST_TURN_S
        return Waiting(1.0 if small[0] else exp(messages), 0.0 if small[1] else turn * TURN_SD_S)

    def cost(place: Floats) -> float:
        within = np.clip(place, *BOUNDS[:, : place.size])
        prior = np.sum((within / (MESSAGES_SD, 1.0)[: place.size]) ** 2) + np.sum(np.abs(place - within))
        return float(np.sum((errors(meant(within)) / doubts) ** 2) + prior)

    before = errors(Waiting())
    if np.all(np.abs(before) <= doubts):
        return Waiting(), before.tolist()
    places = [(messages, turn) for messages in GRID for turn in (GRID_TURNS if shared else (0.0,))]
    best = min((np.array(place[: 1 + shared]) for place in places), key=cost)
    found = minimize(cost, best, method="Nelder-Mead", options={"maxfev": EVALUATIONS, "xatol": 1e-3, "fatol": 1e-3})
    waiting = meant(found.x)
    after = errors(waiting)
    if np.any(np.abs(after) > np.maximum(doubts, np.abs(before) / 2)):
        return Waiting(), before.tolist()  # it is not messages or turns that this comes from
    return waiting, after.tolist()
