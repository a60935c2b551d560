"""Scenarios of many PEs of unequal kinds: contention, unequal work and noise decide which of them should take part."""

import numpy as np

from simulator.base.randomness import stream
from simulator.models.load import LoadTrace
from simulator.models.network import LinkModel
from simulator.models.speed import SpeedBand
from simulator.platform.networks import Link, Network, Star
from simulator.platform.nodes import PE, Load, Platform
from simulator.programs.configuration import Configuration
from simulator.scenario_file.scenario import Application, Scenario

KERNEL = "k"


def band(speed, noise):
    """A band whose positions, drawn evenly, have a coefficient of variation of `noise`."""
    half = noise * np.sqrt(3)
    one = np.ones(1)
    return SpeedBand(one, one * speed * (1 - half), one * speed, one * speed * (1 + half))


def platform(kinds, each, *, seed, noise=0.05, bandwidth=1e9, contention="fair", loaded=True):
    """Kinds of PEs, one PE per node, on a star; every third kind has a load of its own that comes and goes."""
    generator = stream(seed, "platform")
    speeds = 1e9 * np.sort(generator.uniform(1, 8, kinds))[::-1]
    pes, links = [], []
    for kind, speed in enumerate(speeds.tolist()):
        load = None
        if loaded and kind % 3 == 1:
            values = (generator.random(50) < 0.3).astype(float)
            load = Load(LoadTrace(np.arange(50) * 0.2, values, 10.0), "fair")
        for number in range(each):
            name = f"kind{kind}-{number:03d}"
            pes.append(PE(name, name, {KERNEL: band(speed, noise)}, load))
            links.append(Link(name, 20e-6, bandwidth))
    network = Network(Star(tuple(links)), loopback=LinkModel.from_latency(1e-6, 1e10), contention=contention)
    return Platform(tuple(pes), network)


def scenario(name, *, kinds=10, each=100, seed=1, **options):
    """`hpl` (ring broadcasts, blocks dealt out in cycles), `farm` (self-scheduling) or `matmul` (a master)."""
    parameters = {
        "hpl": {"n": 12800, "nb": 64},
        "farm": {"units": 3000, "volume": 1e9, "size": 1000, "chunk": 2, "pull": "20ms"},
        "matmul": {"n": 4000},
        "ep": {"samples": 10**9, "volume": 1000.0, "result_bytes": 10**7},
    }[name]
    application = Application(name, KERNEL, parameters)
    return Scenario(
        platform(kinds, each, seed=seed, **options), application, (Configuration.one_each("one", (1,)),), seed=seed
    )
