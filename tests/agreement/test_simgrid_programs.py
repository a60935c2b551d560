"""Random platforms and programs in SimGrid and in our engines: the same makespans, within its semantics.

These are: cores shared equally, speed profiles, rendezvous messages, latency and then max-min fair flows.
"""

import os

import numpy as np
import pytest

from simulator import run
from simulator.models.load import LoadTrace
from simulator.models.network import LinkModel
from simulator.models.speed import SpeedBand
from simulator.platform.networks import Link, Network, Star
from simulator.platform.nodes import PE, Load, Platform
from simulator.programs.configuration import Configuration
from simulator.programs.program import Compute, Delay, Program, Recv, Send
from simulator.scenario_file.scenario import Application, Scenario
from tests.agreement import simgrid
from tests.agreement.simgrid_scenarios import rows

pytestmark = pytest.mark.slow  # the oracle has to be compiled first

RELATIVE = 1e-6
PROGRAMS = int(os.environ.get("APPORTION_SIMGRID_PROGRAMS", "200"))
LOOPBACK_BANDWIDTH = 1e10
"""SimGrid's own, without latency; ours lasts a tick more."""


def hosts(rng):
    """Speeds, cores and profiles (times, shares, period or None)."""
    found = []
    for _ in range(rng.integers(1, 7)):
        profile = None
        if rng.random() < 0.6:
            times = np.concatenate(([0.0], np.cumsum(rng.uniform(0.05, 2.0, rng.integers(0, 6)))))
            period = float(times[-1] + rng.uniform(0.05, 2.0)) if rng.random() < 0.6 else None
            profile = times, rng.uniform(0.1, 1.0, times.size), period
        found.append((rng.uniform(1e8, 4e9), int(rng.integers(1, 4)), profile))
    return found


def network(rng, count):
    """Bandwidth and latency of each host's link, and of the backbone if there is one."""
    latency = rng.uniform(1e-6, 1e-3) if rng.random() < 0.8 else 0.0
    backbone = rng.uniform(1e7, 2e9) if rng.random() < 0.5 else None
    return rng.uniform(1e7, 2e9, count), latency, backbone


def described(found, net, places, programs):
    """For SimGrid."""
    bandwidths, latency, backbone = net
    names = [f"h{i}" for i in range(len(found))]
    lines = [simgrid.EQUAL_WEIGHTS]
    for name, (speed, cores, profile) in zip(names, found, strict=True):
        lines.append(simgrid.host(name, speed, cores=cores))
        if profile is not None:
            times, shares, period = profile
            lines.append(simgrid.speed(name, times.tolist(), shares.tolist(), period_s=period))
    lines += simgrid.star(names, bandwidths.tolist(), latency, backbone=backbone)
    for process, (place, row) in enumerate(zip(places, programs, strict=True)):
        operations = []
        for kind, *figures in row:
            if kind == "compute":
                operations.append(simgrid.compute(*figures))
            elif kind == "sleep":
                operations.append(simgrid.sleep(*figures))
            elif kind == "send":
                operations.append(simgrid.send(f"p{figures[0]}", *figures[1:]))
            else:
                operations.append(simgrid.recv(f"p{figures[0]}", *figures[1:]))
        lines += simgrid.process(f"p{process}", names[place], operations)
    return lines


def ours(found, net, places, programs):
    bandwidths, latency, backbone = net
    pes = []
    for number, (speed, cores, profile) in enumerate(found):
        load = None
        if profile is not None:
            times, shares, period = profile
            end, after = (period, "cycle") if period is not None else (times[-1] + 1.0, "hold")
            load = Load(LoadTrace(times, shares, float(end), after), "given", drawn=False)
        pes.append(PE(f"h{number}", f"n{number}", {"k": SpeedBand.constant(speed)}, load, cores=cores))
    links = tuple(Link(f"l{i}", latency / 2, b) for i, b in enumerate(bandwidths.tolist()))
    middle = None if backbone is None else Link("backbone", 0.0, backbone, shared=True)
    loopback = LinkModel(np.array([0.0, 1e9]), np.array([1e-12, 1e-12 + 1e9 / LOOPBACK_BANDWIDTH]))
    kinds = {
        "compute": lambda flops: Compute(flops, 1.0),
        "sleep": Delay,
        "send": Send,
        "recv": Recv,
    }
    program = Program(
        tuple(tuple(kinds[kind](*figures) for kind, *figures in row) for row in programs), (0,) * len(programs)
    )
    platform = Platform(tuple(pes), Network(Star(links, middle), loopback=loopback, contention="fair"))
    configuration = Configuration("c", (1,) * len(places), tuple(places))
    return Scenario(platform, Application.of_program(program, kernel="k"), (configuration,), replications=1)


@pytest.mark.parametrize("seed", range(PROGRAMS))
def test_makespans_are_simgrid_s(seed):
    rng = np.random.default_rng(seed)
    found = hosts(rng)
    processes = int(rng.integers(1, 9))
    places = rng.integers(0, len(found), processes).tolist()
    net, programs = network(rng, len(found)), rows(rng, processes)
    expected = simgrid.run_simgrid(described(found, net, places, programs)).makespan_s
    made = ours(found, net, places, programs)
    for engine in ("process", "compiled"):
        assert run(made, engine=engine).makespan_s[0, 0] == pytest.approx(expected, rel=RELATIVE, abs=1e-9), engine
