"""Small platforms and scenarios that tests share."""

import numpy as np

from simulator.models.load import LoadTrace
from simulator.models.network import LinkModel
from simulator.models.speed import Cut, SpeedBand
from simulator.platform.nodes import PE, Load, Platform
from simulator.programs.configuration import Configuration
from simulator.scenario_file.scenario import Application, Scenario


def flat(speed):
    """A band without width."""
    return SpeedBand(np.array([1.0]), *(np.array([float(speed)]) for _ in range(3)))


def band(low, mid, high):
    return SpeedBand.through([Cut(1.0, low, mid, high)])


def pe(name, speed=1e9, load=None, rule="fair"):
    speeds = {"dgemm": speed if isinstance(speed, SpeedBand) else flat(speed)}
    return PE(name, "node", speeds, None if load is None else Load(load, rule))


def trace(times, values, end, after_end="cycle"):
    return LoadTrace(np.array(times, dtype=float), np.array(values, dtype=float), float(end), after_end)


def scenario(pes, n, *partitions, link=None, replications=1, seed=0):
    link = link or LinkModel.from_latency(1e-6, 1e12)
    configurations = tuple(Configuration.one_each(f"c{i}", rows) for i, rows in enumerate(partitions))
    application = Application("matmul", "dgemm", {"n": n})
    return Scenario(Platform.uniform(tuple(pes), link), application, configurations, replications, seed)
