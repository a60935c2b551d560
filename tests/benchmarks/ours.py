"""The benchmark's scenarios as our own, and their makespans by one of our engines."""

from functools import singledispatch

import numpy as np

import simulator
from simulator.models.load import LoadTrace
from simulator.models.network import LinkModel
from simulator.models.speed import SpeedBand
from simulator.platform.networks import Link, Listed, Network
from simulator.platform.nodes import PE, Load, Platform
from simulator.programs.columns import SelfScheduling
from simulator.programs.configuration import Configuration
from simulator.programs.program import NOBODY, Barrier, Broadcast, Compute, Farm, Loop, Program, Recv, Send, WaitUntil
from simulator.scenario_file.scenario import Application, Scenario
from tests.benchmarks import scenarios

KERNEL = "flops"
PLAIN_LINK = LinkModel.from_latency(scenarios.LINK_LATENCY_S, scenarios.LINK_BANDWIDTH)
NO_MESSAGES = Network.uniform(PLAIN_LINK)


def makespan(scenario, engine):
    """Build and simulate; of several configurations the least."""
    return float(simulator.run(build(scenario), engine=engine).makespan_s.min())


@singledispatch
def build(scenario):
    raise TypeError(scenario)


def pes(peaks, loads=None):
    loads = loads or [None] * len(peaks)
    return tuple(
        PE(f"pe{i}", f"node{i}", {KERNEL: SpeedBand.constant(peak)}, load)
        for i, (peak, load) in enumerate(zip(peaks.tolist(), loads, strict=True))
    )


def one(platform, program, placement=None):
    count = len(program.operations)
    configuration = Configuration("all", (1,) * count, placement or tuple(range(count)))
    return Scenario(platform, Application.of_program(program, kernel=KERNEL), (configuration,), replications=1)


@build.register
def _(scenario: scenarios.FluctuatingHosts):
    loads = []
    for holds, shares in zip(scenario.holds_s, scenario.shares, strict=True):
        ends = np.cumsum(holds)
        times = np.concatenate(([0.0], ends[:-1]))
        loads.append(Load(LoadTrace(times, shares, float(ends[-1])), "given", drawn=False))
    tasks = scenario.flops.shape[1]
    row = (Loop(tasks, (Compute(scenario.flops.T, 1.0),)),)
    return one(Platform(pes(scenario.peaks, loads), NO_MESSAGES), Program.everywhere(len(loads), row))


@build.register
def _(scenario: scenarios.BulkSynchronous):
    steps, processes = scenario.flops.shape
    together = Broadcast(np.arange(steps) % processes, scenario.message_bytes) if scenario.broadcast else Barrier()
    row = (Loop(steps, (Compute(scenario.flops, 1.0), together)),)
    return one(Platform(pes(scenario.peaks), NO_MESSAGES), Program.everywhere(processes, row))


def factorization(panel_flops, panel_bytes, update_flops):
    panels, processes = update_flops.shape
    step = np.arange(panels)
    panel = np.zeros((panels, processes))
    panel[step, step % processes] = panel_flops
    body = (Compute(panel, 1.0), Broadcast(step % processes, panel_bytes), Compute(update_flops, 1.0))
    return Program.everywhere(processes, (Loop(panels, body),))


@build.register
def _(scenario: scenarios.PanelFactorization):
    program = factorization(scenario.panel_flops, scenario.panel_bytes, scenario.update_flops)
    return one(Platform(pes(scenario.peaks), NO_MESSAGES), program)


@build.register
def _(scenario: scenarios.AllocationSweep):
    program = factorization(scenario.panel_flops, scenario.panel_bytes, scenario.update_flops)
    peaks = np.sort(scenario.peaks[0])
    orders = np.searchsorted(peaks, scenario.peaks).tolist()
    partition = (1,) * peaks.size
    candidates = tuple(Configuration(str(i), partition, tuple(order)) for i, order in enumerate(orders))
    application = Application.of_program(program, kernel=KERNEL)
    return Scenario(Platform(pes(peaks), NO_MESSAGES), application, candidates, replications=1)


@build.register
def _(scenario: scenarios.SharedBackbone):
    """Sender f on node f, its receiver on one node more; the way there is f's own link and the backbone."""
    rounds, flows = scenario.flow_bytes.shape
    private = [Link(f"link{f}", scenario.latency_s, c) for f, c in enumerate(scenario.capacities.tolist())]
    names = tuple(f"node{f}" for f in range(flows + 1))
    ways = {(f, flows): (2 * f, 2 * flows) for f in range(flows)}
    listed = Listed(names, (*private, Link("backbone", 0.0, scenario.backbone, shared=True)), ways)
    number = np.arange(2 * flows)
    sends = Send(np.where(number < flows, number + flows, NOBODY), np.hstack([scenario.flow_bytes] * 2))
    sender = (Loop(rounds, (sends, Barrier(tuple(range(flows))))),)
    receiver = (Loop(rounds, (Recv(np.where(number < flows, NOBODY, number - flows)),)),)
    program = Program((sender,) * flows + (receiver,) * flows, (0,) * (2 * flows))
    placement = (*range(flows), *((flows,) * flows))
    network = Network(listed, loopback=PLAIN_LINK, contention="fair")
    return one(Platform(pes(np.ones(flows + 1)), network), program, placement)


@build.register
def _(scenario: scenarios.ProcessorSharing):
    row = (WaitUntil(scenario.arrivals_s), Compute(scenario.flops, 1.0))
    program = Program.everywhere(scenario.flops.size, row)
    return one(Platform(pes(np.array([scenario.speed])), NO_MESSAGES), program, (0,) * scenario.flops.size)


@build.register
def _(scenario: scenarios.SelfScheduled):
    rule = SelfScheduling("gss" if scenario.guided else "ss")
    program = Program.everywhere(scenario.peaks.size, (Farm(scenario.flops, 1.0, 1, scenario.pull_s, None, rule),))
    return one(Platform(pes(scenario.peaks), NO_MESSAGES), program)
