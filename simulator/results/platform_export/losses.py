"""What of a platform SimGrid cannot express, feature by feature, and what it expresses only under a condition."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from simulator.models.load import availability
from simulator.models.network import LinkModel, MessageModel
from simulator.platform.nodes import PE, Platform
from simulator.scenario_file.scenario import Scenario

SHOWN = 4


@dataclass
class Losses:
    """What has been found."""

    lost: list[tuple[str, str]] = field(default_factory=list)
    """Features that would be left out or changed, and what stands for each; nothing does for some."""
    notes: list[str] = field(default_factory=list)
    """What is expressed, but should be known."""

    def lose(self, names: Sequence[str], what: str, instead: str) -> None:
        """Note a feature of some things, and what stands for it if it may be lost."""
        if names:
            self.lost.append((f"{what} of {some(names)}", instead))


def some(names: Sequence[str]) -> str:
    """Up to a few names, and how many there are."""
    listed = ", ".join(names[:SHOWN])
    return listed if len(names) <= SHOWN else f"{listed}, ... ({len(names)} in all)"


def is_line(model: MessageModel) -> bool:
    """Whether message times are one latency plus bytes over one bandwidth."""
    return isinstance(model, LinkModel) and model.sizes_bytes.size == 2 and model.sizes_bytes[0] == 0


def find_losses(scenario: Scenario, *, size: float | None) -> Losses:
    """What SimGrid's platform files cannot say of a scenario's platform."""
    losses = Losses()
    platform = scenario.platform
    _of_speeds(platform.pes, scenario.application.kernel, losses, size=size)
    _of_loads(scenario, losses)
    _of_network(platform, losses)
    _of_nodes(platform, losses)
    sliced = [pe.name for pe in platform.pes if pe.slice_s > 0]
    losses.lose(sliced, "time slices", "none, cores are shared at every instant")
    extra = [pe.name for pe in platform.pes if pe.cost_per_s is not None or pe.power_w is not None]
    if extra:
        losses.notes.append(f"cost and power of {some(extra)} left out: they decide no times")
    return losses


def _of_speeds(pes: Iterable[PE], kernel: str, losses: Losses, *, size: float | None) -> None:
    curved = [pe.name for pe in pes if pe.speed_of(kernel).sizes.size > 1 and not flat(pe, kernel)]
    if curved and size is None:
        losses.lose(curved, f"speeds of {kernel} by problem size", "")
    elif curved:
        losses.notes.append(f"speeds of {some(curved)} are those at a problem size of {size:g}")
    wide = [pe.name for pe in pes if pe.speed_of(kernel).wide]
    if wide:
        losses.notes.append(f"speeds of {some(wide)} are where the replication is in their bands")


def flat(pe: PE, kernel: str) -> bool:
    """Whether a speed band is the same at all sizes."""
    band = pe.speed_of(kernel)
    return all(np.all(curve == curve[0]) for curve in (band.low, band.mid, band.high))


def _of_loads(scenario: Scenario, losses: Losses) -> None:
    """Loads as the share that they leave: exact under `given`, and under the others where one process runs alone."""
    pes = scenario.platform.pes
    most = np.max([c.allocation(len(pes)) for c in scenario.configurations], axis=0)
    shared: list[str] = []
    alone: list[str] = []
    for index, pe in enumerate(pes):
        if pe.load is None or pe.load.rule == "given" or (pe.load.rule == "idle" and pe.cores == 1):
            continue
        (shared if most[index] > 1 else alone).append(pe.name)
    losses.lose(shared, "loads under fair or idle for several processes", "the share of one process alone")
    if alone:
        losses.notes.append(f"loads of {some(alone)} are the share of one process alone: exact for one on each")
    ended = [pe.name for pe in pes if pe.load is not None and pe.load.trace.after_end == "error"]
    if ended:
        losses.notes.append(f"traces of {some(ended)}: no run may outlast them here; SimGrid keeps the last value")
    zero = [pe.name for pe in pes if _stops(pe)]
    if zero:
        losses.notes.append(f"loads of {some(zero)} leave nothing at times: SimGrid then goes on at the speed before")


def _stops(pe: PE) -> bool:
    """Whether its load leaves nothing at times."""
    load = pe.load
    return load is not None and bool(np.any(availability(load.trace.values, load.rule, cores=pe.cores) == 0))


def _of_network(platform: Platform, losses: Losses) -> None:
    network = platform.network
    if network.contention == "fifo":
        losses.lose(["the links"], "contention fifo", "messages share a link")
    bent = [link.name for link in network.links if link.model is not None and not is_line(link.model)]
    losses.lose(bent, "message times by payload", "their latency and bandwidth")
    models = [("the network", network.model), ("the loopback", network.loopback)]
    curves = [name for name, model in models if model is not None and not is_line(model)]
    losses.lose(curves, "message times by payload", "their latency and bandwidth")
    if network.eager_bytes:
        losses.notes.append(f"eager messages (up to {network.eager_bytes} bytes) are the program's matter in SimGrid")


def _of_nodes(platform: Platform, losses: Losses) -> None:
    nodes = platform.known_nodes
    held = [node.name for node in nodes if node.levels or node.memory_bytes is not None]
    losses.lose(held, "memory", "none: nothing pages, and no level is shared")
    slow = [node.name for node in nodes if node.disk is not None and node.disk.latency_s > 0]
    losses.lose(slow, "a disk's latency", "its bandwidth alone")
    pes = [pe.node for pe in platform.pes]
    several = [node.name for node in nodes if node.disk is not None and pes.count(node.name) > 1]
    losses.lose(several, "one disk of several PEs", "the disk of the first of them")
