"""Changes to a scenario that answers ask about: speeds, loads, links, memory, problem size. The draws stay."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from simulator import PE, Load, Scenario, SpeedBand

LEAST_SHARE = 0.01
"""Least share of a PE that scaling a trace of shares leaves."""
SWAP = "swap"


def with_pes(scenario: Scenario, pes: Sequence[PE]) -> Scenario:
    """The same with other PEs in the places of its own."""
    return replace(scenario, platform=replace(scenario.platform, pes=tuple(pes)))


def with_speed(scenario: Scenario, pes: Sequence[int], factor: float) -> Scenario:
    """Some PEs so many times as fast."""
    return _with_bands(
        scenario, pes, lambda band: SpeedBand(band.sizes, *(factor * c for c in (band.low, band.mid, band.high)))
    )


def at_best_size(scenario: Scenario) -> Scenario:
    """All PEs at every problem size as fast as at their best: nothing is lost to further memory levels."""

    def best(band: SpeedBand) -> SpeedBand:
        place = int(np.argmax(band.mid))
        low, mid, high = (curve[place : place + 1] for curve in (band.low, band.mid, band.high))
        return SpeedBand(np.ones(1), low, mid, high)

    return _with_bands(scenario, range(len(scenario.platform.pes)), best)


def with_load(scenario: Scenario, factor: float, pes: Sequence[int] | None = None) -> Scenario:
    """The loads of some PEs, by default of all, times a factor; of traces that state our share, what it lacks to 1."""
    chosen = set(range(len(scenario.platform.pes)) if pes is None else pes)
    return with_pes(
        scenario,
        [
            pe if pe.load is None or place not in chosen else replace(pe, load=_scaled(pe.load, factor))
            for place, pe in enumerate(scenario.platform.pes)
        ],
    )


def with_link(scenario: Scenario, *, latency: float = 1.0, bandwidth: float = 1.0) -> Scenario:
    """Every link with so many times the latency and the bandwidth."""
    network = scenario.platform.network.scaled(latency=latency, bandwidth=bandwidth)
    return replace(scenario, platform=replace(scenario.platform, network=network))


def with_free_messages(scenario: Scenario) -> Scenario:
    """Messages that take next to no time."""
    return replace(scenario, platform=replace(scenario.platform, network=scenario.platform.network.free))


def with_memory(scenario: Scenario, *, capacity: float = 1.0, access: float = 1.0) -> Scenario:
    """Memory and its levels so many times as large, with so many times the access times."""

    def changed(node: Any) -> Any:
        levels = tuple(
            replace(
                level,
                capacity_bytes=capacity * level.capacity_bytes,
                latency_s=access * level.latency_s,
                gap_s=access * level.gap_s,
            )
            for level in node.levels
        )
        memory = None if node.memory_bytes is None else max(1, round(capacity * node.memory_bytes))
        return replace(node, levels=levels, memory_bytes=memory)

    return _with_nodes(scenario, changed)


def without_paging(scenario: Scenario) -> Scenario:
    """As much main memory on each node as its processes ask for."""

    def changed(node: Any) -> Any:
        levels = node.levels
        if levels and levels[-1].name == SWAP:
            levels = (*levels[:-2], *(replace(level, capacity_bytes=np.inf) for level in levels[-2:-1]))
        return replace(node, memory_bytes=None, levels=levels)

    return _with_nodes(scenario, changed)


def without_sharing(scenario: Scenario) -> Scenario:
    """Processes that lose nothing to others on their node by sharing memory levels."""
    return replace(scenario, application=replace(scenario.application, memory=None))


def without_domains(scenario: Scenario) -> Scenario:
    """Neighbours that cost nothing: no sharing domains."""
    return replace(scenario, platform=replace(scenario.platform, domains=()))


def with_capacity(scenario: Scenario, domains: Sequence[int], factor: float) -> Scenario:
    """Some sharing domains, of memory or caches by their places, with so many times the capacity."""
    every = list(scenario.platform.domains)
    for place in domains:
        law: Any = every[place].law
        every[place] = replace(every[place], law=replace(law, capacity=factor * law.capacity))
    return replace(scenario, platform=replace(scenario.platform, domains=tuple(every)))


def _with_bands(scenario: Scenario, pes: Sequence[int], change: Any) -> Scenario:
    kernel, all_pes = scenario.application.kernel, list(scenario.platform.pes)
    for place in pes:
        pe = all_pes[place]
        all_pes[place] = replace(pe, speeds={**pe.speeds, kernel: change(pe.speed_of(kernel))})
    return with_pes(scenario, all_pes)


def _with_nodes(scenario: Scenario, change: Any) -> Scenario:
    platform = scenario.platform
    return replace(scenario, platform=replace(platform, nodes=tuple(map(change, platform.nodes))))


def _scaled(load: Load, factor: float) -> Load:
    values = load.trace.values
    if load.rule == "given":
        values = np.clip(1 - factor * (1 - values), LEAST_SHARE, np.maximum(values, 1.0))
    else:
        values = factor * values
    return replace(load, trace=replace(load.trace, values=values), recording=load.recording or load.trace)
