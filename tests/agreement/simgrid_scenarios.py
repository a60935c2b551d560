"""Random platforms of every topology with loads, and programs on them, that SimGrid can run as we do.

SimGrid shares a link in inverse proportion to latency: so either all routes have one latency, or messages do not meet.
"""

import numpy as np

from simulator.models.load import LoadTrace
from simulator.models.network import LinkModel
from simulator.models.speed import SpeedBand
from simulator.platform.networks import Bus, Link, Listed, Mesh, Network, Star, Torus, Tree
from simulator.platform.nodes import PE, Load, Platform
from simulator.programs.configuration import Configuration
from simulator.programs.program import Compute, Delay, Program, Recv, Send
from simulator.scenario_file.scenario import Application, Scenario

TOPOLOGIES = ("star", "backbone", "bus", "tree", "torus", "mesh", "listed", "uniform")


def load(rng, rules):
    """A load or none; shares of 0 are left out, which SimGrid does not obey."""
    if rng.random() < 0.4:
        return None
    times = np.concatenate(([0.0], np.cumsum(rng.uniform(0.05, 2.0, rng.integers(0, 6)))))
    rule = str(rng.choice(rules))
    values = {"given": rng.uniform(0.1, 1.2, times.size), "fair": rng.uniform(0, 3, times.size)}.get(rule)
    after = str(rng.choice(["cycle", "hold"]))
    values = rng.uniform(0, 0.9, times.size) if values is None else values
    trace = LoadTrace(times, values, float(times[-1] + rng.uniform(0.05, 2.0)), after)
    return Load(trace, rule, drawn=after == "cycle" and bool(rng.random() < 0.5))


def shared(pe):
    """Whether its load leaves several processes what SimGrid's profile says; else one alone."""
    return pe.load is None or pe.load.rule == "given" or (pe.load.rule == "idle" and pe.cores == 1)


def network(rng, count, topology, *, meets):
    """Any topology over so many nodes; one latency on all routes where messages meet."""
    zero = meets and topology in ("tree", "torus", "listed")

    def latency():
        return 0.0 if zero else 1e-4 if meets else float(rng.uniform(0, 1e-3))

    def link(name, *, shared=None):
        both = bool(rng.random() < 0.3) if shared is None else shared
        return Link(name, latency(), float(rng.uniform(1e7, 2e9)), shared=both)

    private = tuple(link(f"own {i}") for i in range(count))
    made = {
        "star": lambda: Star(private),
        "backbone": lambda: Star(private, link("backbone", shared=True)),
        "bus": lambda: Bus(link("bus", shared=True)),
        "tree": lambda: Tree(private, tuple(i % 2 for i in range(count)), (link("up0"), link("up1"))),
        "torus": lambda: Torus((count // 2, 2) if count % 2 == 0 else (count,), link("torus")),
        "mesh": lambda: Mesh(count, link("mesh")),
        "listed": lambda: listed(rng, count, [link(f"l{i}") for i in range(4)]),
    }
    loopback = LinkModel.from_latency(float(rng.uniform(1e-6, 1e-4)), float(rng.uniform(1e8, 1e10)))
    if topology == "uniform":
        return Network(None, LinkModel.from_latency(float(rng.uniform(1e-6, 1e-4)), 1e9), loopback)
    return Network(made[topology](), loopback=loopback, contention="fair" if meets else "none")


def listed(rng, count, links):
    table = {}
    for one in range(count):
        for other in range(count):
            if one != other:
                picked = rng.choice(len(links), rng.integers(1, len(links) + 1), replace=False)
                table[one, other] = tuple(int(2 * link + rng.integers(0, 2)) for link in picked)
    return Listed(tuple(f"n{i}" for i in range(count)), tuple(links), table)


def rows(rng, processes):
    """Steps for all processes in one order, so that none can block another for ever."""
    made = [[] for _ in range(processes)]
    for _ in range(rng.integers(5, 40)):
        step, process = rng.integers(0, 4), int(rng.integers(0, processes))
        if step == 0:
            made[process].append(("compute", float(rng.uniform(1e6, 5e9))))
        elif step == 1:
            made[process].append(("sleep", float(rng.uniform(0.0, 1.0))))
        elif processes > 1:
            other = int((process + rng.integers(1, processes)) % processes)
            size, tag = int(rng.integers(0, 10 ** rng.integers(2, 9))), int(rng.integers(0, 2))
            made[process].append(("send", other, size, tag))
            made[other].append(("recv", process, tag))
    return made


def scenario(seed):
    """A scenario and its program's steps."""
    rng = np.random.default_rng(seed)
    topology, meets = TOPOLOGIES[seed % len(TOPOLOGIES)], bool(rng.random() < 0.6)
    count = int(rng.integers(2, 7))
    joined = bool(rng.random() < 0.3)
    rules = ["given", "idle"] if rng.random() < 0.5 else ["given", "fair", "idle"]
    pes = []
    for node in range(count):
        for place in range(int(rng.integers(1, 4)) if joined else 1):
            speed = SpeedBand.constant(float(rng.uniform(1e8, 4e9)))
            name = f"n{node}.{place}" if joined else f"n{node}"
            mine, cores = load(rng, rules), int(rng.integers(1, 4))
            if mine is not None and mine.rule == "idle" and "fair" not in rules:
                cores = 1
            pes.append(PE(name, f"n{node}", {"k": speed}, mine, cores=cores))
    processes = int(rng.integers(2, 9))
    if any(not shared(pe) for pe in pes):
        processes = min(processes, len(pes))
        places = rng.permutation(len(pes))[:processes].tolist()
    else:
        places = rng.integers(0, len(pes), processes).tolist()
    steps = rows(rng, processes)
    kinds = {"compute": lambda flops: Compute(flops, 1.0), "sleep": Delay, "send": Send, "recv": Recv}
    program = Program(tuple(tuple(kinds[kind](*figures) for kind, *figures in row) for row in steps), (0,) * processes)
    platform = Platform(tuple(pes), network(rng, count, topology, meets=meets and topology != "uniform"))
    configuration = Configuration("c", (1,) * processes, tuple(places))
    made = Scenario(platform, Application.of_program(program, kernel="k"), (configuration,), replications=1, seed=seed)
    return made, [[pes[place].name, row] for place, row in zip(places, steps, strict=True)]
