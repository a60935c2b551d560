"""Who gets how much: units of each PE as now and as advised, its speed, what its load leaves; many PEs gathered."""

import itertools
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from simulator.base.names import compact
from simulator.models.load import availability
from simulator.models.speed import SpeedBand
from simulator.platform.nodes import PE
from simulator.programs.configuration import Configuration
from simulator.scenario_file.scenario import Scenario

MOST_SHARES = 8
"""Rows that a reader takes in at a glance."""
_ALIKE = 0.02
"""Relative difference of speeds up to which nodes are said to be alike."""
_DEVIATES = 1.645
"""Standard deviations to each side that hold 90 % of a normal distribution."""


@dataclass(frozen=True)
class Share:
    """What one PE, or one of several alike, gets: units as now and as advised, and what it can do."""

    name: str
    node: str
    before: float | None
    """Units as now; None where that is not known."""
    after: float
    speed: float | None = None
    """Units per second of all its cores without load, at the share that is advised."""
    known: float | None = None
    """How well that is known: half of the 90 % interval, as a share of it."""
    load: float | None = None
    """Mean competing processes; None without load, and where the trace states our share."""
    left: float | None = None
    """Mean share of a core that the load leaves to one process; 1 without load."""
    processes: float = 0
    pes: int = 1
    members: tuple[str, ...] = ()
    """PEs or nodes that it is the mean of; empty: itself alone."""
    low: float = 0.0
    high: float = 0.0
    """The least and the most that one of the members gets as advised."""

    @property
    def count(self) -> int:
        """How many it is the mean of."""
        return len(self.members) or 1


def shares_of(scenario: Scenario, before: Configuration | None, after: Configuration) -> tuple[Share, ...]:
    """What each PE of a platform gets, those included that get nothing.

    `before`: what runs now; None where nothing is compared.
    """
    had = None if before is None else _units_on(scenario, before)
    gets, rate = _units_on(scenario, after), _rates(scenario, len(after.partition))
    runs = Counter(pe for pe, units in zip(after.placement, after.partition, strict=True) if units)
    whole = scenario.application.work.units if scenario.application.written is None else 0
    usual = max(1, round(whole / len(gets)))
    return tuple(
        Share(
            pe.name,
            pe.node,
            None if had is None else had[place],
            gets[place],
            *rate(pe, gets[place] or usual),
            *_load(pe),
            processes=runs[place],
        )
        for place, pe in enumerate(scenario.platform.pes)
    )


def _units_on(scenario: Scenario, configuration: Configuration) -> list[int]:
    found = [0] * len(scenario.platform.pes)
    for pe, units in zip(configuration.placement, configuration.partition, strict=True):
        found[pe] += units
    return found


def _rates(scenario: Scenario, processes: int) -> Callable[[PE, int], tuple[float | None, float | None]]:
    """What tells units per second of a PE with so many units, and how well that is known."""
    application, kept = scenario.application, dict[tuple[int, int], tuple[float | None, float | None]]()
    compute = None if application.written is not None else application.work.compute(processes)

    def rate(pe: PE, units: int) -> tuple[float | None, float | None]:
        band = pe.speeds.get(application.kernel)
        if band is None or compute is None:
            return None, None
        if (id(band), units) not in kept:
            kept[id(band), units] = _rate(band, compute(units), units)
        speed, known = kept[id(band), units]
        return None if speed is None else speed * pe.cores, known

    return rate


def _rate(band: SpeedBand, step: Any, units: int) -> tuple[float | None, float | None]:
    volume, size = float(np.sum(step.volume)), float(np.max(step.size))
    if volume <= 0:
        return None, None
    cut = band.cut(size)
    known: float | None = None
    if band.stated:
        known = 0.0 if band.doubt is None else math.expm1(_DEVIATES * float(band.doubt.at(size)))
    elif cut.mid:
        known = (cut.high - cut.low) / 2 / cut.mid
    return cut.mid * units / volume, known


def _load(pe: PE) -> tuple[float | None, float | None]:
    """Mean competitors, and what they leave of a core to one process."""
    if pe.load is None:
        return None, 1.0
    trace = pe.load.trace
    left = availability(trace.values, pe.load.rule, cores=pe.cores)
    mean = float(np.average(left, weights=trace.durations_s))
    return None if pe.load.rule == "given" else trace.mean(), mean


def gathered_shares(shares: Sequence[Share], *, most: int = MOST_SHARES) -> tuple[tuple[Share, ...], str]:
    """At most so many rows, and what a row is of: `PE` or `node`.

    PEs of a node become one, then nodes that are alike (speed, load, as many PEs); if that is not enough, those that
    get about as much, most first.
    """
    if len(shares) <= most:
        return tuple(shares), "PE"
    nodes = _joined(shares, lambda share: share.node, _sum)
    of = "node" if all(share.node for share in shares) and len(nodes) < len(shares) else "PE"
    rows = nodes if of == "node" else list(shares)
    if len(rows) > most:
        rows = _joined(rows, _kind, _mean)
    if len(rows) > most:
        every = sorted(nodes if of == "node" else shares, key=lambda share: -share.after)
        edges = [round(place * len(every) / most) for place in range(most + 1)]
        rows = [_mean(every[low:high]) for low, high in itertools.pairwise(edges)]
    return tuple(rows), of


def _joined(
    shares: Iterable[Share], key: Callable[[Share], object], join: Callable[[list[Share]], Share]
) -> list[Share]:
    found: dict[object, list[Share]] = {}
    for share in shares:
        found.setdefault(key(share), []).append(share)
    return [join(own) for own in found.values()]


def _kind(share: Share) -> tuple[object, ...]:
    """What nodes have in common that are alike."""
    speed = None if not share.speed else round(math.log(share.speed) / _ALIKE)
    own = share.after if speed is None else bool(share.after)
    return share.pes, speed, None if share.left is None else round(share.left, 2), own, _stem(share.name)


def _stem(name: str) -> str:
    """A name without its numbers."""
    return re.sub(r"[0-9]+", "", name)


def _sum(own: list[Share]) -> Share:
    """PEs of a node as one."""
    befores, speeds = [share.before for share in own], [share.speed for share in own]
    known = [share.known for share in own if share.known is not None]
    return Share(
        own[0].node,
        own[0].node,
        None if None in befores else math.fsum(value or 0.0 for value in befores),
        math.fsum(share.after for share in own),
        None if None in speeds else math.fsum(value or 0.0 for value in speeds),
        max(known, default=None),
        _average([share.load for share in own], missing=0.0),
        _average([share.left for share in own]),
        processes=math.fsum(share.processes for share in own),
        pes=len(own),
    )


def _mean(own: list[Share]) -> Share:
    """Several as one of them."""
    if len(own) == 1:
        return own[0]
    known, afters = [share.known for share in own if share.known is not None], [share.after for share in own]
    return replace(
        own[0],
        name=_names([share.name for share in own]),
        before=_average([share.before for share in own]),
        after=math.fsum(afters) / len(own),
        speed=_average([share.speed for share in own]),
        known=max(known, default=None),
        load=_average([share.load for share in own], missing=0.0),
        left=_average([share.left for share in own]),
        processes=math.fsum(share.processes for share in own) / len(own),
        members=tuple(share.name for share in own),
        low=min(afters),
        high=max(afters),
    )


def _average(values: Sequence[float | None], *, missing: float | None = None) -> float | None:
    """The mean; None where none of them, or without `missing` one of them, is not known."""
    if all(value is None for value in values) or (missing is None and None in values):
        return None
    return math.fsum(missing or 0.0 if value is None else value for value in values) / len(values)


def _names(names: Sequence[str]) -> str:
    """`fast[01-08]` where numbers follow each other; else the first one, which stands for the others."""
    if (pattern := compact(sorted(names, key=lambda name: (len(name), name)))) is not None:
        return pattern
    return f"{names[0]} …"
