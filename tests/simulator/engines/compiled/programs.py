"""Random small scenarios, of a few ticks each so that much happens at once, for comparing engines."""

from dataclasses import dataclass

import numpy as np

from simulator.models.load import LoadTrace
from simulator.models.network import LinkModel
from simulator.platform.networks import Link, Network
from simulator.platform.nodes import PE, Load, Node, Platform
from simulator.programs.configuration import Configuration
from simulator.programs.program import (
    ANY,
    Barrier,
    Compute,
    Delay,
    Exchange,
    Farm,
    Program,
    ReadWrite,
    Recv,
    Send,
    WaitUntil,
)
from simulator.scenario_file.scenario import Application, Scenario
from tests.support.platforms import flat

TICK = 1e-12


@dataclass(frozen=True)
class Routed:
    """Links, and for each pair of nodes the directed ones between them."""

    links: tuple[Link, ...]
    between: dict[tuple[int, int], tuple[int, ...]]
    node_count: int

    def routes(self, sources, destinations):
        found = [self.between[pair] for pair in zip(sources.tolist(), destinations.tolist(), strict=True)]
        return np.cumsum([0, *(len(links) for links in found)]), np.array([link for links in found for link in links])


def random_scenario(rng):
    """A scenario of 2 to 6 processes; `rng` decides everything."""
    processes, nodes = int(rng.integers(2, 7)), int(rng.integers(1, 4))
    pes = tuple(random_pe(rng, number, f"n{number % nodes}") for number in range(int(rng.integers(nodes, nodes + 3))))
    platform = Platform(pes, random_network(rng, nodes), random_disks(rng, nodes))
    shapes = [tuple(int(pe) for pe in rng.integers(0, len(pes), processes)) for _ in range(2)]
    configurations = tuple(Configuration(f"c{i}", (1,) * processes, shape) for i, shape in enumerate(shapes))
    program = random_program(rng, processes)
    made = Application.of_program(program, kernel="dgemm")
    return Scenario(platform, made, configurations, replications=2, seed=int(rng.integers(1000)))


def random_pe(rng, number, node):
    speeds, cores = {"dgemm": flat(rng.choice([1.0, 1.0, 0.7]) / TICK)}, int(rng.choice([1, 1, 2, 4]))
    if rng.random() < 0.5:
        return PE(f"p{number}", node, speeds, cores=cores)
    times = np.cumsum([0, *rng.integers(1, 20, int(rng.integers(0, 5)))])
    values = rng.choice([0.0, 0.3, 0.5, 1.0, 2.0, 7.7], times.size)
    after_end = str(rng.choice(["cycle", "cycle", "cycle", "hold", "hold", "error"]))
    end = times[-1] + rng.integers(1, 20) + (500 if after_end == "error" else 0)
    trace = LoadTrace(times * TICK, values, float(end * TICK), after_end)
    rule = str(rng.choice(["fair", "fair", "idle", "given"]))
    if rule == "given":
        trace = LoadTrace(times * TICK, np.minimum(values, 1.0), float(end * TICK), after_end)
    return PE(f"p{number}", node, speeds, Load(trace, rule), cores=cores)


def random_network(rng, nodes):
    eager = int(rng.choice([0, 0, 5, 1000]))
    if rng.random() < 0.2:
        return Network.uniform(LinkModel.from_latency(3 * TICK, 1 / TICK), eager_bytes=eager)
    links = tuple(random_link(rng, f"l{i}") for i in range(int(rng.integers(1, 5))))
    directed = [2 * i + d for i, link in enumerate(links) for d in range(1 if link.shared else 2)]
    between = {}
    for a in range(nodes):
        for b in range(nodes):
            if a != b:
                count = int(rng.integers(1, min(4, len(directed)) + 1))
                between[a, b] = tuple(int(link) for link in rng.permutation(directed)[:count])
    loopback = LinkModel.from_latency(2 * TICK, 4 / TICK)
    contention = str(rng.choice(["none", "fifo", "fifo", "fair", "fair", "fair"]))
    return Network(Routed(links, between, nodes), None, loopback, contention, eager)


def random_link(rng, name):
    bandwidth = rng.choice([1.0, 1.0, 0.5, 1 / 3, 3.7, 1e-3])
    return Link(name, float(rng.choice([0, 0, 1, 2.5])) * TICK, float(bandwidth / TICK), bool(rng.random() < 0.3))


def random_disks(rng, nodes):
    return tuple(
        Node(f"n{i}", disk=Link(f"d{i}", float(rng.integers(0, 3)) * TICK, float(rng.choice([1.0, 0.3]) / TICK)))
        for i in range(nodes)
    )


def random_program(rng, processes):
    """Steps that would not deadlock if all receives named their senders; now and then one is left out."""
    rows = [[] for _ in range(processes)]
    for _ in range(int(rng.integers(1, 14))):
        random_step(rng, rows)
    if rng.random() < 0.05:
        row = rows[int(rng.integers(processes))]
        if row:
            del row[int(rng.integers(len(row)))]
    return Program(tuple(tuple(row) for row in rows), (0,) * processes, bool(rng.random() < 0.4))


def random_step(rng, rows):  # noqa: C901, PLR0912 - a branch for each kind
    order = [int(process) for process in rng.permutation(len(rows))]
    some, size, tag = order[: int(rng.integers(1, len(rows) + 1))], int(rng.integers(0, 40)), int(rng.integers(0, 2))
    match int(rng.integers(0, 11)):
        case 0 | 1 | 2:
            for process in some:
                rows[process].append(Compute(float(rng.integers(1, 30)), 1.0))
        case 3 | 4:
            rows[order[0]].append(Send(order[1], size, tag))
            rows[order[1]].append(Recv(order[0], tag))
        case 5:
            senders = order[1 : 1 + int(rng.integers(1, 4))]
            for sender in senders:
                rows[sender].append(Send(order[0], size, tag))
                rows[order[0]].append(Recv(ANY, tag))
        case 6:
            for place, process in enumerate(some):
                to, source = some[(place + 1) % len(some)], some[place - 1]
                rows[process].append(Exchange(to, source, int(rng.integers(0, 40)), tag))
        case 7:
            operation = Barrier(tuple(some))
            for process in some:
                rows[process].append(operation)
        case 8:
            volumes = rng.integers(0, 9, int(rng.integers(0, 12))).astype(float)
            farm = Farm(volumes, 1.0, int(rng.integers(1, 4)), float(rng.integers(0, 3)) * TICK, tuple(some))
            for process in some:
                rows[process].append(farm)
        case 9:
            for process in some:
                at = float(rng.integers(0, 60)) * TICK
                rows[process].append(WaitUntil(at) if rng.random() < 0.5 else Delay(at / 4))
        case _:
            for process in some:
                rows[process].append(ReadWrite(size))
