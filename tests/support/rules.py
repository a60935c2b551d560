"""Programs of a few operations by hand: ticks of 1 s, speeds of 1 per second."""

import numpy as np

from simulator.engines import process
from simulator.models.network import LinkModel
from simulator.platform.networks import Link, Network, Star
from simulator.platform.nodes import PE, Platform
from simulator.programs.configuration import Configuration
from simulator.programs.program import Program
from simulator.scenario_file.scenario import Application, Scenario
from simulator.scenario_file.truths import Draws
from tests.support.platforms import flat

TICK = 1.0
FREE = Network.uniform(LinkModel.from_latency(1.0, 1.0))
EAGER = Network.uniform(LinkModel.from_latency(1.0, 1.0), eager_bytes=5)


def star(bandwidths, *, contention, backbone=None, latency_s=0.0, **options):
    private = tuple(Link(f"link{i}", latency_s, float(bw)) for i, bw in enumerate(bandwidths))
    middle = None if backbone is None else Link("backbone", 0.0, float(backbone), shared=True)
    loopback = LinkModel.from_latency(1.0, 1.0)
    return Network(Star(private, middle), loopback=loopback, contention=contention, **options)


def build(rows, *, network=FREE, pes=None, placement=None, polls=False, nodes=()):
    """One program; without `pes` every process has a PE and a node of its own."""
    count = len(rows)
    pes = pes or [PE(f"pe{i}", f"n{i}", {"k": flat(1)}) for i in range(count)]
    placement = tuple(placement or (range(count) if len(pes) > 1 else (0,) * count))
    program = Program(tuple(map(tuple, rows)), (0,) * count, polls)
    return Scenario(
        Platform(tuple(pes), network, tuple(nodes)),
        Application.of_program(program, kernel="k"),
        (Configuration("c", (1,) * count, placement),),
        1,
    )


def simulate(rows, *, engine=process, own=None, **options):
    """A run with its log; `own` are operations or sharing of the user's own, which one engine knows."""
    made = build(rows, **options)
    shape = (1, len(made.platform.pes))
    draws = Draws(np.zeros(shape), np.full(shape, 0.5))
    return engine.run(made, draws, tick_s=TICK, log_replications=1, **(own or {}))
