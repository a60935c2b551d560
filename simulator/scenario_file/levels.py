"""PEs that change their level while a run lasts: each level is a part of a load trace, which engines know.

A level that outlasts a run is the run's noise and is drawn as that. Shorter ones become an availability (rule `given`)
of the quickest level's speed, of which each PE draws its own start; PEs with a load of their own keep the noise.
"""

from dataclasses import replace
from functools import lru_cache

import numpy as np

from simulator.base.identity import Same
from simulator.models.doubt import Doubt
from simulator.models.levels import Levels
from simulator.models.speed import SpeedBand
from simulator.platform.nodes import PE, Load, Platform
from simulator.programs.configuration import even_split
from simulator.scenario_file.scenario import Scenario

OUTLASTS = 20.0
"""Runs that a level lasts from which on it is there from begin to end: in one of so many it would change."""
KEPT = 64
"""Platforms whose traces are remembered: a search asks for the same ones again and again."""


def with_level_traces(scenario: Scenario) -> Scenario:
    """The scenario with traces in the place of levels that change while equal parts of it run; else as it is."""
    if scenario.application.written is not None or not any(_changing(band) for band in scenario.bands):
        return scenario
    work, count = scenario.application.work, len(scenario.platform.pes)
    step = work.compute(count)(max(even_split(work.units, count)))
    size, volume = float(np.mean(step.size)), float(np.sum(step.volume))
    return replace(scenario, platform=_traced(Same(scenario.platform), scenario.application.kernel, size, volume))


@lru_cache(maxsize=KEPT)
def _traced(of: Same[Platform], kernel: str, size: float, volume: float) -> Platform:
    """The platform on which parts of one problem size and volume run."""
    known: dict[int, tuple[SpeedBand, Load]] = {}

    def traced(pe: PE) -> PE:
        band = pe.speeds.get(kernel)
        levels = None if band is None or pe.load is not None else _changing(band)
        if band is None or levels is None or (levels.lasts_s or 0.0) > OUTLASTS * volume / float(band.cut(size).mid):
            return pe
        if id(band) not in known:
            known[id(band)] = _parted(band, levels, size)
        speed, load = known[id(band)]
        return replace(pe, speeds={**pe.speeds, kernel: speed}, load=load)

    return replace(of.value, pes=tuple(traced(pe) for pe in of.value.pes))


def _parted(band: SpeedBand, levels: Levels, size: float) -> tuple[SpeedBand, Load]:
    """The band at its quickest level, without noise, and what PEs have of it over time."""
    quickest = 1 / levels.at(levels.sizes, 0.0)
    silent = replace(band, noise=None, doubt=band.doubt or Doubt.constant(0.0))
    return silent.scaled(quickest, levels.sizes), Load(levels.trace(size), "given", own=True, presses=False)


def _changing(band: SpeedBand) -> Levels | None:
    """The levels of a band of which it is known how long they last."""
    levels = None if band.noise is None else band.noise.levels
    return None if levels is None or levels.lasts_s is None else levels
