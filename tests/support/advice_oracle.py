"""An exhaustive search over small platforms that imports nothing of the advisor: what advice is measured against.

Cores of a node are alike and get equal units; how many of them run, and each node's share of the units, is tried on a
grid of 5 %, finer around the best.
"""

import itertools

import numpy as np

from simulator import Configuration, load_scenario, run

FRESH = 5_000_000
"""Number of the first replication that judges: none that a search has seen."""
LOOKED = 4_000_000
KEPT = 6
TEXT = """
format: 1
platform:
  nodes: [{nodes}]
  network:
    topology: star
    link: {{latency: 20us, bandwidth: 10Gbit/s}}
    loopback: {{latency: 1us, bandwidth: 8GB/s}}
application: {{name: {name}, kernel: k, parameters: {{{parameters}}}}}
configurations: {{equal: {{partition: equal}}}}
replications: 100
"""
PARAMETERS = {
    "ep": "samples: 6000, volume: 1000000",
    "matmul": "n: 600",
    "stencil": "n: 1200, iterations: 20",
    "farm": "units: 600, volume: 10000000, size: 1000, chunk: 7, pull: 20us",
    "hpl": "n: 1000, nb: 50",
}


def scenario(seed, folder, name):
    """A random platform of up to 3 nodes, 4 cores each, 3 kinds, loads on some."""
    draws = np.random.default_rng(seed)
    trace = folder / "load.csv"
    if not trace.exists():
        stays = draws.integers(1, 4, 40)
        rows = zip(np.cumsum(stays) - stays, draws.integers(0, 3, 40), strict=True)
        trace.write_text("time_s,load\n" + "".join(f"{at / 100},{load}\n" for at, load in rows))
    nodes = []
    speeds = draws.choice([1, 1.5, 2, 3, 4], size=3)
    for number in range(draws.integers(1, 4)):
        speed, cores = speeds[draws.integers(0, 3)], draws.integers(1, 5)
        load = ", load: {trace: load.csv, rule: fair}" if draws.random() < 0.3 else ""
        nodes.append(f"{{name: n{number}, pes: [{{cores: {cores}, speeds: {{k: {speed} Gflop/s}}{load}}}]}}")
    path = folder / f"{name}-{seed}.yaml"
    path.write_text(TEXT.format(nodes=", ".join(nodes), name=name, parameters=PARAMETERS[name]))
    return load_scenario(path)


def divided(units, weights):
    """Whole units in proportion, the largest remainders first."""
    exact = np.array(weights) / np.sum(weights) * units
    whole = np.floor(exact).astype(int)
    whole[np.argsort(whole - exact, kind="stable")[: units - whole.sum()]] += 1
    return whole


def configured(made, cores, shares):
    """Equal units for the processes of a node, whose share of all is given."""
    placement = [pe for pe, count in enumerate(cores) for _ in range(count)]
    weights = [shares[pe] / cores[pe] for pe in placement]
    work = made.application.work
    parts = work.fitting(tuple(divided(work.units, weights).tolist()))
    return Configuration("one", parts, tuple(placement))


def means(made, configurations, *, replications, first):
    """Mean makespans on common draws."""
    named = tuple(Configuration(f"c{n}", one.partition, one.placement) for n, one in enumerate(configurations))
    found = run(made.with_configurations(named), replications=replications, first_replication=first)
    return found.makespan_s.mean(axis=1)


def grid(count, step):
    """All shares of so many parts in steps, none of them nothing."""
    steps = round(1 / step)
    for cuts in itertools.combinations(range(1, steps), count - 1):
        yield tuple(np.diff([0, *cuts, steps]) * step)


def best(made, *, equal_shares):
    """The best configuration there is, as far as the grid and its refinement see."""
    limits = [pe.cores for pe in made.platform.pes]
    draws = 1 if made.deterministic else 12
    tried = {}
    for cores in itertools.product(*(range(limit + 1) for limit in limits)):
        busy = [pe for pe, count in enumerate(cores) if count]
        if not busy:
            continue
        if equal_shares:
            tried[cores, tuple(float(count) for count in cores)] = None
            continue
        speeds = [float(made.platform.pes[pe].speed_of("k").mid[0]) * cores[pe] for pe in busy]
        for part in (tuple(np.array(speeds) / sum(speeds)), *grid(len(busy), 0.1 if len(busy) > 2 else 0.05)):
            shares = [0.0] * len(cores)
            for pe, share in zip(busy, part, strict=True):
                shares[pe] = float(share)
            tried[cores, tuple(shares)] = None
    keys = list(tried)
    values = means(made, [configured(made, *key) for key in keys], replications=draws, first=LOOKED)
    top = [keys[place] for place in np.argsort(values)[:KEPT]]
    for step in () if equal_shares else (0.05, 0.02, 0.01, 0.005):
        more = dict.fromkeys(top)
        for cores, shares in top:
            for source, target in itertools.permutations([pe for pe, count in enumerate(cores) if count], 2):
                moved = list(shares)
                moved[source] -= step
                moved[target] += step
                if moved[source] > 0:
                    more[cores, tuple(moved)] = None
        keys = list(more)
        values = means(made, [configured(made, *key) for key in keys], replications=draws, first=LOOKED)
        top = [keys[place] for place in np.argsort(values)[:KEPT]]
    return configured(made, *top[0])


def difference(made, advised, equal_shares):
    """How much longer the advice takes than the oracle's best, as a share, on 500 fresh common draws."""
    found = best(made, equal_shares=equal_shares)
    ours, theirs = means(made, [advised, found], replications=1 if made.deterministic else 500, first=FRESH)
    return float(ours / theirs - 1)
