"""The eight scenarios that engines are timed on, as plain numbers, and the makespan that each must reproduce.

Nothing here knows an engine. Every random number comes from `default_rng(seed)`, drawn in the order of the code;
the makespans were found by SimGrid and SimPy independently and agree to 5e-10.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

LINK_BANDWIDTH = 1.25e9
"""Bytes per second of a message of B, C and E; each direction of each link is private, so nobody shares."""
LINK_LATENCY_S = 10e-6
"""End to end, of a message of B, C and E."""
AGREEMENT = 1e-6
"""Relative difference to the known makespan that an engine may have."""


@dataclass(frozen=True)
class FluctuatingHosts:
    """A: one process on each host, whose speed follows a trace that repeats; no messages.

    Host h computes at `peaks[h] * shares[h, k]` flop/s for `holds_s[h, k]` seconds, k = 0, 1, ..., and again from k = 0
    after the last. Its process computes `flops[h, 0]`, then `flops[h, 1]`, ... The work fills 0.9 of one pass.
    """

    peaks: Floats
    holds_s: Floats
    shares: Floats
    flops: Floats


@dataclass(frozen=True)
class BulkSynchronous:
    """B and Bbar: in every step all processes compute, then one message goes round the ring, or all meet at a barrier.

    Process p computes `flops[s, p]` in step s on its own host of `peaks[p]` flop/s. Then, with `broadcast`, root
    `s % P` sends `message_bytes` to the next process (modulo P), which sends them on, up to the one before the root.
    A send blocks until its receiver is there and has everything: `LINK_LATENCY_S + bytes / LINK_BANDWIDTH`.
    Without `broadcast` nobody starts the next step before all have ended this one, which costs nothing else.
    """

    peaks: Floats
    flops: Floats
    message_bytes: float
    broadcast: bool


@dataclass(frozen=True)
class PanelFactorization:
    """C: one-dimensional block-cyclic LU factorization without look-ahead, as High-Performance Linpack does it.

    In step k process `k % P` computes `panel_flops[k]`, then `panel_bytes[k]` go round the ring from it (as in B), then
    process p computes `update_flops[k, p]`, unless that is 0. Process p has a host of `peaks[p]` flop/s.
    """

    peaks: Floats
    panel_flops: Floats
    panel_bytes: Floats
    update_flops: Floats


@dataclass(frozen=True)
class SharedBackbone:
    """D: flows that share a backbone, max-min fair, in rounds.

    Flow f of round r carries `flow_bytes[r, f]` over its own link of `capacities[f]` bytes/s and over a backbone of
    `backbone` bytes/s. All flows of a round start together and move after `latency_s`; the next round starts when the
    last flow has ended.
    """

    capacities: Floats
    backbone: float
    latency_s: float
    flow_bytes: Floats


@dataclass(frozen=True)
class AllocationSweep:
    """E: what a search asks: the same small factorization on many orders of the same hosts; the least makespan counts.

    `peaks[c]` are the hosts of configuration c, in the order of the processes; the rest is as in C.
    """

    peaks: Floats
    panel_flops: Floats
    panel_bytes: Floats
    update_flops: Floats

    def configuration(self, index: int) -> PanelFactorization:
        return PanelFactorization(self.peaks[index], self.panel_flops, self.panel_bytes, self.update_flops)


@dataclass(frozen=True)
class ProcessorSharing:
    """F: tasks on one core of `speed` flop/s, which all present ones share equally.

    Task i arrives at `arrivals_s[i]` with `flops[i]`. Twice the capacity arrives: some 2,000 are present at the peak.
    """

    speed: float
    arrivals_s: Floats
    flops: Floats


@dataclass(frozen=True)
class SelfScheduled:
    """G: a farm of units of unlike cost, which hosts of a few kinds pull in chunks from one pool.

    Process p asks for a chunk, which takes `pull_s` whether or not anything is left, computes its units in order on its
    host of `peaks[p]` flop/s, and asks again, until nothing is left. How many units a chunk has is decided when it is
    asked for: one (`ss`), or the units left over the number of processes, rounded up (`gss`). Unit u has `flops[u]`.
    """

    peaks: Floats
    flops: Floats
    guided: bool
    pull_s: float

    def chunk(self, left: int) -> int:
        return -(-left // self.peaks.size) if self.guided else 1


Scenario = (
    FluctuatingHosts
    | BulkSynchronous
    | PanelFactorization
    | SharedBackbone
    | AllocationSweep
    | ProcessorSharing
    | SelfScheduled
)


def fluctuating_hosts(hosts: int, knots: int, *, tasks: int = 100, seed: int = 12345) -> FluctuatingHosts:
    rng = np.random.default_rng(seed)
    peaks = rng.uniform(1e9, 4e9, hosts)
    holds, shares, flops = np.empty((hosts, knots)), np.empty((hosts, knots)), np.empty((hosts, tasks))
    for h in range(hosts):
        holds[h] = rng.uniform(0.5, 1.5, knots)
        shares[h] = rng.uniform(0.2, 1.0, knots)
        parts = rng.uniform(0.5, 1.5, tasks)
        flops[h] = 0.9 * peaks[h] * np.dot(holds[h], shares[h]) * parts / parts.sum()
    return FluctuatingHosts(peaks, holds, shares, flops)


def bulk_synchronous(processes: int, *, broadcast: bool = True, steps: int = 200, seed: int = 777) -> BulkSynchronous:
    rng = np.random.default_rng(seed)
    peaks = rng.uniform(1e9, 4e9, processes)
    return BulkSynchronous(peaks, rng.uniform(1e6, 1e7, (steps, processes)), 65536.0, broadcast)


def panel_factorization(
    processes: int = 64, panels: int = 500, *, width: int = 128, seed: int = 4242
) -> PanelFactorization:
    peaks = np.random.default_rng(seed).uniform(2e9, 8e9, processes)
    steps = np.arange(panels)
    rows = (panels - steps) * float(width)
    owned = np.array([np.bincount(steps[k + 1 :] % processes, minlength=processes) for k in steps])
    updates = 2.0 * width * rows[:, None] * width * owned
    return PanelFactorization(peaks, rows * width * width, 8.0 * rows * width, updates)


def shared_backbone(flows: int, rounds: int, *, seed: int = 99) -> SharedBackbone:
    rng = np.random.default_rng(seed)
    capacities = rng.uniform(0.01, 1.0, flows) * 1.25e9
    return SharedBackbone(capacities, 12.5e9 * flows / 64.0, 1e-6, np.floor(rng.uniform(1e6, 64e6, (rounds, flows))))


def allocation_sweep(configurations: int = 200, *, seed: int = 2024) -> AllocationSweep:
    rng = np.random.default_rng(seed)
    one = panel_factorization(16, 50)
    peaks = np.array([one.peaks[rng.permutation(16)] for _ in range(configurations)])
    return AllocationSweep(peaks, one.panel_flops, one.panel_bytes, one.update_flops)


def processor_sharing(tasks: int = 4000, *, seed: int = 55) -> ProcessorSharing:
    rng = np.random.default_rng(seed)
    arrivals = np.cumsum(rng.exponential(1.0, tasks))
    return ProcessorSharing(1e9, arrivals, rng.uniform(0.0, 4e9, tasks))


def self_scheduled(
    processes: int = 1000, units: int = 1_000_000, *, guided: bool = False, seed: int = 314
) -> SelfScheduled:
    rng = np.random.default_rng(seed)
    return SelfScheduled(
        rng.choice([1.1e9, 1.9e9, 2.8e9, 4.1e9], processes), rng.uniform(0.5e9, 1.5e9, units), guided, 1e-5
    )


@dataclass(frozen=True)
class Case:
    """A scenario at one size: how it is called in `out/bench.json`, how it is made, and what must come out."""

    scenario: str
    size: str
    make: Callable[[], Scenario]
    makespan_s: float

    @property
    def name(self) -> str:
        return f"{self.scenario} {self.size}".strip()

    def agrees(self, makespan_s: float) -> bool:
        return abs(makespan_s / self.makespan_s - 1) <= AGREEMENT


CASES = (
    Case("A", "64x1e3", lambda: fluctuating_hosts(64, 1_000), 918.3217239527484),
    Case("A", "512x1e3", lambda: fluctuating_hosts(512, 1_000), 933.785643334755),
    Case("A", "64x1e5", lambda: fluctuating_hosts(64, 100_000), 90234.81910145),
    Case("A", "512x1e5", lambda: fluctuating_hosts(512, 100_000), 90296.75007574),
    Case("B", "16", lambda: bulk_synchronous(16), 1.16913422753269),
    Case("B", "256", lambda: bulk_synchronous(256), 1.47320745434363),
    Case("B", "1024", lambda: bulk_synchronous(1024), 1.6111436258735),
    Case("Bbar", "16", lambda: bulk_synchronous(16, broadcast=False), 1.23238910434322),
    Case("Bbar", "256", lambda: bulk_synchronous(256, broadcast=False), 1.72462255148349),
    Case("Bbar", "1024", lambda: bulk_synchronous(1024, broadcast=False), 1.86938627071678),
    Case("C", "", panel_factorization, 1501.08662502497),
    Case("D", "64", lambda: shared_backbone(64, 100), 73.694029738050),
    Case("D", "1024", lambda: shared_backbone(1024, 10), 36.6739608102115),
    Case("E", "", allocation_sweep, 4.30397824306088),
    Case("F", "", processor_sharing, 8041.653966966),
    Case("G", "ss", self_scheduled, 398.3935815801),
    Case("G", "gss", lambda: self_scheduled(guided=True), 914.1303800995),
)
