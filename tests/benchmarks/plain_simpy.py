"""The scenarios in plain SimPy, as a careful user writes them from its manual: the yardstick of the `process` engine.

Each function builds and runs one scenario and returns the makespan in seconds. Nothing is integrated or predicted:
every change of a trace is a timeout, and all shares are computed again at every arrival and end.
"""

import itertools
from collections.abc import Callable, Iterator

import numpy as np
import simpy
from simpy.events import ProcessGenerator

from tests.benchmarks.scenarios import (
    LINK_BANDWIDTH,
    LINK_LATENCY_S,
    AllocationSweep,
    BulkSynchronous,
    Floats,
    FluctuatingHosts,
    PanelFactorization,
    ProcessorSharing,
    Scenario,
    SelfScheduled,
    SharedBackbone,
)


def run(scenario: Scenario) -> float:
    return RUNNERS[type(scenario)](scenario)


def fluctuating_hosts(scenario: FluctuatingHosts) -> float:
    env = simpy.Environment()

    def changes(h: int) -> Iterator[tuple[float, float]]:
        """How long each speed holds, and the flop meanwhile; lists of numbers would need four times the room."""
        amounts = scenario.holds_s[h] * scenario.shares[h] * scenario.peaks[h]
        passes = (zip(scenario.holds_s[h].data, amounts.data, strict=True) for _ in itertools.count())
        return itertools.chain.from_iterable(passes)

    def host(h: int) -> ProcessGenerator:
        trace = changes(h)
        held_s, possible = next(trace)
        for flops in scenario.flops[h].tolist():
            left = flops
            while left > possible:
                left -= possible
                yield env.timeout(held_s)
                held_s, possible = next(trace)
            last_s = held_s * left / possible
            held_s -= last_s
            possible -= left
            yield env.timeout(last_s)

    for h in range(len(scenario.peaks)):
        env.process(host(h))
    env.run()
    return env.now


class Channel:
    """From one process to the next: whoever comes second moves the bytes, then wakes the other."""

    def __init__(self, env: simpy.Environment) -> None:
        self.env = env
        self.waiting: simpy.Event | None = None

    def transfer(self, duration_s: float) -> ProcessGenerator:
        if self.waiting is None:
            self.waiting = self.env.event()
            yield self.waiting
        else:
            done, self.waiting = self.waiting, None
            yield self.env.timeout(duration_s)
            done.succeed()


def ring_channels(env: simpy.Environment, processes: int) -> list[Channel]:
    """Channel p leads from process p to process p + 1."""
    return [Channel(env) for _ in range(processes)]


def ring_broadcast(channels: list[Channel], p: int, root: int, duration_s: float) -> ProcessGenerator:
    place = (p - root) % len(channels)
    if place > 0:
        yield from channels[p - 1].transfer(duration_s)
    if place < len(channels) - 1:
        yield from channels[p].transfer(duration_s)


class Barrier:
    def __init__(self, env: simpy.Environment, parties: int) -> None:
        self.env = env
        self.parties = parties
        self.missing = parties
        self.opened = env.event()

    def wait(self) -> simpy.Event:
        opened = self.opened
        self.missing -= 1
        if self.missing == 0:
            self.missing = self.parties
            self.opened = self.env.event()
            opened.succeed()
        return opened


def bulk_synchronous(scenario: BulkSynchronous) -> float:
    env = simpy.Environment()
    processes = len(scenario.peaks)
    channels = ring_channels(env, processes)
    barrier = Barrier(env, processes)
    duration_s = LINK_LATENCY_S + scenario.message_bytes / LINK_BANDWIDTH
    computes = (scenario.flops / scenario.peaks).T.tolist()

    def process(p: int) -> ProcessGenerator:
        for step, compute_s in enumerate(computes[p]):
            yield env.timeout(compute_s)
            if scenario.broadcast:
                yield from ring_broadcast(channels, p, step % processes, duration_s)
            else:
                yield barrier.wait()

    for p in range(processes):
        env.process(process(p))
    env.run()
    return env.now


def panel_factorization(scenario: PanelFactorization) -> float:
    env = simpy.Environment()
    processes = len(scenario.peaks)
    channels = ring_channels(env, processes)
    durations = (LINK_LATENCY_S + scenario.panel_bytes / LINK_BANDWIDTH).tolist()
    updates = (scenario.update_flops / scenario.peaks).T.tolist()
    panels = [flops / scenario.peaks[k % processes].item() for k, flops in enumerate(scenario.panel_flops.tolist())]

    def process(p: int) -> ProcessGenerator:
        for k, update_s in enumerate(updates[p]):
            owner = k % processes
            if p == owner:
                yield env.timeout(panels[k])
            yield from ring_broadcast(channels, p, owner, durations[k])
            if update_s > 0:
                yield env.timeout(update_s)

    for p in range(processes):
        env.process(process(p))
    env.run()
    return env.now


def allocation_sweep(scenario: AllocationSweep) -> float:
    return min(panel_factorization(scenario.configuration(c)) for c in range(len(scenario.peaks)))


def max_min_rates(capacities: Floats, backbone: float) -> Floats:
    """Rates of flows that have a link each and share a backbone: the smaller of own link and water level."""
    order = np.sort(capacities)
    below = np.concatenate([[0.0], np.cumsum(order)[:-1]])
    levels = (backbone - below) / np.arange(len(order), 0, -1)
    full = np.flatnonzero(levels < order)
    return np.minimum(capacities, levels[full[0]]) if len(full) else capacities


def shared_backbone(scenario: SharedBackbone) -> float:
    env = simpy.Environment()

    def rounds() -> ProcessGenerator:
        for flow_bytes in scenario.flow_bytes:
            yield env.timeout(scenario.latency_s)
            left, capacities = flow_bytes.copy(), scenario.capacities
            while len(left):
                rates = max_min_rates(capacities, scenario.backbone)
                ends = left / rates
                soonest = ends.min().item()
                yield env.timeout(soonest)
                moving = ends > soonest
                left = (left - rates * soonest)[moving]
                capacities = capacities[moving]

    env.process(rounds())
    env.run()
    return env.now


class SharedCore:
    """One core; at every arrival and end, what is left of all present tasks is brought up to date."""

    def __init__(self, env: simpy.Environment, speed: float) -> None:
        self.env = env
        self.speed = speed
        self.left: list[float] = []
        self.waiting: list[simpy.Event] = []
        self.settled_s = 0.0
        self.alarm: simpy.Timeout | None = None

    def compute(self, flops: float) -> simpy.Event:
        self.settle()
        self.left.append(flops)
        self.waiting.append(self.env.event())
        self.plan()
        return self.waiting[-1]

    def settle(self) -> None:
        if self.left:
            each = (self.env.now - self.settled_s) * self.speed / len(self.left)
            self.left = [left - each for left in self.left]
        self.settled_s = self.env.now

    def plan(self) -> None:
        if self.left:
            self.alarm = self.env.timeout(max(0.0, min(self.left)) * len(self.left) / self.speed)
            self.alarm.callbacks.append(self.end)

    def end(self, alarm: simpy.Event) -> None:
        if alarm is not self.alarm:  # somebody came meanwhile; a later alarm counts
            return
        self.settle()
        first = self.left.index(min(self.left))
        del self.left[first]
        self.waiting.pop(first).succeed()
        self.plan()


def processor_sharing(scenario: ProcessorSharing) -> float:
    env = simpy.Environment()
    core = SharedCore(env, scenario.speed)

    def task(arrival_s: float, flops: float) -> ProcessGenerator:
        yield env.timeout(arrival_s)
        yield core.compute(flops)

    for arrival_s, flops in zip(scenario.arrivals_s.tolist(), scenario.flops.tolist(), strict=True):
        env.process(task(arrival_s, flops))
    env.run()
    return env.now


def self_scheduled(scenario: SelfScheduled) -> float:
    env = simpy.Environment()
    ends = np.concatenate(([0.0], np.cumsum(scenario.flops)))
    taken = 0

    def host(peak: float) -> ProcessGenerator:
        nonlocal taken
        while True:
            first, chunk = taken, min(scenario.chunk(scenario.flops.size - taken), scenario.flops.size - taken)
            taken += chunk
            yield env.timeout(scenario.pull_s)
            if not chunk:
                return
            yield env.timeout(float(ends[first + chunk] - ends[first]) / peak)

    for peak in scenario.peaks.tolist():
        env.process(host(peak))
    env.run()
    return float(env.now)


RUNNERS: dict[type, Callable] = {
    FluctuatingHosts: fluctuating_hosts,
    BulkSynchronous: bulk_synchronous,
    PanelFactorization: panel_factorization,
    SharedBackbone: shared_backbone,
    AllocationSweep: allocation_sweep,
    ProcessorSharing: processor_sharing,
    SelfScheduled: self_scheduled,
}
