"""What a scenario holds, for people and as plain data: alike nodes with cores and speeds, links, what is drawn."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from simulator.base import units
from simulator.base.documents import Record
from simulator.base.names import compact
from simulator.models.doubt import noise_and_doubt
from simulator.models.speed import SpeedBand
from simulator.platform.nodes import PE
from simulator.scenario_file.scenario import Scenario

_CONSTANT = 1e-6


@dataclass(frozen=True)
class AlikeNodes:
    """Nodes that have as many PEs and cores, of the same speed and load."""

    nodes: str
    """A pattern of their names, or the names."""
    count: int
    pes: int
    cores: int
    gpus: int
    speed: str
    """Of a core or GPU, over the problem sizes that are known."""
    memory: str
    load: str


@dataclass(frozen=True)
class Contents(Record):
    """What is in a scenario."""

    nodes: int
    pes: int
    cores: int
    kinds: tuple[AlikeNodes, ...]
    drawn: tuple[str, ...]
    """What differs from replication to replication, or from truth to truth; empty: nothing."""

    def lines(self) -> list[str]:
        """A table of the nodes, and what is drawn; 80 columns, but for long names."""
        some = any(kind.gpus for kind in self.kinds)
        speed = "speed of a core or GPU" if some else "speed of a core"
        rows = [("nodes", "", "PEs", "cores", "GPUs", speed, "memory", "load")]
        for kind in self.kinds:
            counts = str(kind.pes), str(kind.cores), str(kind.gpus) if some else ""
            rows.append((kind.nodes, f"{kind.count} x", *counts, kind.speed, kind.memory, kind.load))
        shown = [column for column in range(len(rows[0])) if column < 1 or any(row[column] for row in rows[1:])]
        widths = {column: max(len(row[column]) for row in rows) for column in shown}
        table = ["  " + "  ".join(row[column].ljust(widths[column]) for column in shown).rstrip() for row in rows]
        drawn = "; ".join(self.drawn) or "nothing: all replications are alike"
        return [*table, f"drawn: {drawn}"]


def contents_of(scenario: Scenario) -> Contents:
    """What a scenario holds: its nodes, alike ones together, and what is drawn."""
    platform, kernel = scenario.platform, scenario.application.kernel
    by_node: dict[str, list[PE]] = {}
    for pe in platform.pes:
        by_node.setdefault(pe.node, []).append(pe)
    memories = {node.name: node.memory_bytes for node in platform.nodes}
    alike: dict[tuple[Any, ...], list[str]] = {}
    for name, pes in by_node.items():
        about = tuple((pe.cores, pe.gpu is None, _speed(pe.speeds.get(kernel)), _load(pe)) for pe in pes)
        alike.setdefault((*about, memories.get(name)), []).append(name)
    kinds = tuple(_kind(names, by_node[names[0]], kernel, key[-1]) for key, names in alike.items())
    cores = sum(pe.cores for pe in platform.pes if pe.gpu is None)
    return Contents(len(by_node), len(platform.pes), cores, kinds, _drawn(scenario))


def _kind(names: list[str], pes: Sequence[PE], kernel: str, memory_bytes: int | None) -> AlikeNodes:
    pattern = compact(names) or ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
    loads = dict.fromkeys(filter(None, map(_load, pes)))
    memory = "" if memory_bytes is None else units.show_size(memory_bytes)
    cores, gpus = sum(pe.cores for pe in pes if pe.gpu is None), sum(pe.gpu is not None for pe in pes)
    said = _speed(*(pe.speeds.get(kernel) for pe in pes)), memory, "; ".join(loads)
    return AlikeNodes(pattern, len(names), len(pes), cores, gpus, *said)


def _speed(*bands: SpeedBand | None) -> str:
    """`3 Gunits/s`, or the lowest and the highest over the sizes that are known."""
    known = np.concatenate([np.zeros(0), *(band.mid[band.mid > 0] for band in bands if band is not None)])
    if not known.size:
        return "none"
    low, high = float(known.min()), float(known.max())
    shown = units.show_rate(high, "units/s")
    return shown if high - low <= _CONSTANT * high else f"{units.show_rate(low, 'units/s')} to {shown}"


def _load(pe: PE) -> str:
    return "" if pe.load is None else f"mean {pe.load.trace.mean():.2f}, {pe.load.rule or 'fair or idle'}"


def _drawn_of(scenario: Scenario) -> str:
    recorded = scenario.application.recorded
    runs = 0 if recorded is None else len(recorded.recording.computed_s)
    return f"computing of call sites ({runs} recordings)" if runs else "units of the application"


def _drawn(scenario: Scenario) -> tuple[str, ...]:
    """What is drawn: loads, noise and doubt of speeds, doubt of links, units of the application."""
    pes, kernel = scenario.platform.pes, scenario.application.kernel
    bands = {id(band): band for pe in pes if (band := pe.speeds.get(kernel)) is not None and band.wide}
    loaded = sum(pe.load is not None and pe.load.draws for pe in pes)
    doubted = sum(link.doubt is not None for link in scenario.platform.network.links)
    said = list(dict.fromkeys(noise_and_doubt(band.doubt, band.noise, sizes=band.sizes) for band in bands.values()))
    more = f" and {len(said) - 1} more like it" if len(said) > 1 else ""
    found = [
        f"when the load of {loaded} PE{'s' if loaded > 1 else ''} begins" if loaded else "",
        f"speeds ({said[0]}{more})" if said else "",
        f"doubt of {doubted} link{'s' if doubted > 1 else ''}" if doubted else "",
        _drawn_of(scenario) if scenario.application.draws else "",
    ]
    return tuple(filter(None, found))
