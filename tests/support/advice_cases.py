"""Random small clusters whose advice is judged, as documents of scenario files, and what may be done to one.

A case is drawn by its number alone. How long it computes is drawn relative to what its messages take, so that one node,
some nodes and all nodes are each right now and then.
"""

import copy
from pathlib import Path

import numpy as np
import yaml

from simulator import load_scenario

KERNEL = "k"
LATENCY_S, BANDWIDTH = 20e-6, 1.25e9
REPLICATIONS = 40
APPLICATIONS = ("ep", "matmul", "stencil", "fft", "sort", "hpl", "cholesky", "farm")
OBJECTIVES = ("mean", "mean", "p95", "cost", "energy")
FACTORS = (1, 1, 1.5, 2, 3, 4)
"""Of speeds."""


def application(name, draws, *, coarse):
    """Parameters; volume, messages in seconds and elements in all; bytes that one process of all needs."""
    if name == "ep":
        samples = int(draws.integers(5, 25) if coarse else draws.integers(200, 6000))
        return {"samples": samples, "volume": 1e6}, samples * 1e6, LATENCY_S, samples, 0
    if name == "farm":
        units, chunk = int(draws.integers(8, 40) if coarse else draws.integers(100, 500)), int(draws.integers(1, 5))
        parameters = {"units": units, "volume": 1e6, "size": 1000, "chunk": chunk, "pull": "20us"}
        return parameters, units * 1e6, units / chunk * LATENCY_S, 1000, 0
    if name == "sort":
        n = int(draws.integers(10_000, 500_000))
        return {"n": n}, n * np.log2(n), LATENCY_S + 8 * n / BANDWIDTH, 2 * n, 16 * n
    if name in ("hpl", "cholesky"):
        blocks, nb = int(draws.integers(6, 13) if coarse else draws.integers(16, 33)), int(draws.integers(16, 65))
        n, third = blocks * nb, 2 / 3 if name == "hpl" else 1 / 3
        return {"n": n, "nb": nb}, third * n**3, blocks * (LATENCY_S + 4 * n * nb / BANDWIDTH), n * n, 8 * n * n
    return square(name, draws, coarse=coarse)


def square(name, draws, *, coarse):
    """The same of applications whose units are rows of a square."""
    n = int(draws.integers(10, 41) if coarse else draws.integers(100, 900))
    if name == "matmul":
        return {"n": n}, 2 * n**3, LATENCY_S + 8 * n * n / BANDWIDTH, 3 * n * n, 24 * n * n
    if name == "fft":
        return {"n": n}, 10 * n * n * np.log2(n), 3 * LATENCY_S + 16 * n * n / BANDWIDTH, 4 * n * n, 32 * n * n
    iterations = int(draws.integers(5, 30))
    messages_s = iterations * 2 * (LATENCY_S + 8 * n / BANDWIDTH)
    return {"n": n, "iterations": iterations}, 5 * n * n * iterations, messages_s, 2 * n * n, 16 * n * n


def load(draws, run_s):
    """A trace beside which runs are short, some hours of a day, or one that changes many times in a run."""
    if draws.random() < 0.6:
        day_s, begins, lasts = run_s * draws.uniform(5, 50), draws.uniform(0.1, 0.6), draws.uniform(0.1, 0.35)
        times, values = [0.0, begins * day_s, (begins + lasts) * day_s], [0, int(draws.integers(1, 9)), 0]
    else:
        stays = run_s * draws.uniform(0.02, 0.4) * draws.integers(1, 4, 30)
        times, values, day_s = (np.cumsum(stays) - stays).tolist(), draws.integers(0, 4, 30).tolist(), stays.sum()
    return {
        "trace": {"times_s": times, "values": values, "end_s": float(day_s)},
        "rule": str(draws.choice(["fair", "idle"])),
    }


def speed(draws, flops, elements):
    """Of a core: the same at all sizes, or falling up to so many elements."""
    if not elements:
        return f"{flops:.6g} flop/s"
    falls = (1.0, float(draws.uniform(0.7, 1)), float(draws.uniform(0.35, 0.7)))
    sizes = [2.0 + elements / parts for parts in (16, 4, 1)]
    return {"sizes": sizes, "speeds": [float(flops * fall) for fall in falls]}


def case(number, *, most_nodes=5, most_cores=4, cores_in_all=20):
    """The document of a scenario; and its classes: the application, the objective, and what is uneven in it."""
    draws = np.random.default_rng([number, 20_261_126])
    name = APPLICATIONS[number % len(APPLICATIONS)]
    coarse = bool(draws.random() < 0.3) and name != "sort"
    has = {what: bool(draws.random() < often) for what, often in
           {"links": 0.45, "switches": 0.3, "loads": 0.35, "memory": 0.2, "sizes": 0.25}.items()}  # fmt: skip
    parameters, volume, messages_s, elements, needed_bytes = application(name, draws, coarse=coarse)
    computed_s = messages_s * float(np.exp(draws.uniform(np.log(3), np.log(300))))
    base = volume / computed_s
    kinds = [speed(draws, base * factor, elements * has["sizes"]) for factor in draws.choice(FACTORS, 3)]
    nodes, left = [], cores_in_all
    for place in range(int(draws.integers(2, most_nodes + 1))):
        cores = min(int(draws.integers(1, most_cores + 1)), left)
        if not cores:
            break
        left -= cores
        pe = {"cores": cores, "speeds": {KERNEL: kinds[draws.integers(0, 3)]}, "power": f"{draws.integers(20, 200)}W"}
        node = {"name": f"n{place}", "price": round(float(draws.uniform(0.5, 5)), 2), "pes": [pe]}
        if has["links"] and draws.random() < 0.5:
            node["link"] = {"latency": f"{draws.choice([100, 300, 1000, 3000])}us",
                            "bandwidth": f"{draws.choice([10, 50, 200])}MB/s"}  # fmt: skip
        if has["loads"] and draws.random() < 0.5:
            pe["load"] = load(draws, computed_s / 8)
        if has["memory"] and place and needed_bytes and draws.random() < 0.6:
            node |= {"memory": f"{int(needed_bytes * draws.uniform(0.05, 0.7)) + 1}B", "swap": "0B"}
        nodes.append(node)
    network = {"topology": "star", "contention": str(draws.choice(["fair", "fair", "none"])),
               "link": {"latency": "20us", "bandwidth": "1.25GB/s"}}  # fmt: skip
    if has["switches"] and len(nodes) > 2:
        sides = draws.permutation([place % 2 for place in range(len(nodes))])
        switches = [
            {"nodes": [node["name"] for node, side in zip(nodes, sides, strict=True) if side == one]} for one in (0, 1)
        ]
        uplink = {"latency": f"{draws.choice([20, 200])}us", "bandwidth": f"{draws.choice([50, 125, 500])}MB/s"}
        network |= {"topology": "tree", "uplink": uplink, "switches": switches}
    loaded = any("load" in node["pes"][0] for node in nodes)
    objective = OBJECTIVES[draws.integers(0, len(OBJECTIVES))]
    objective = "mean" if objective == "p95" and not loaded else objective
    document = {
        "format": 1, "platform": {"nodes": nodes, "network": network},
        "application": {"name": name, "kernel": KERNEL, "parameters": parameters},
        "configurations": {"as-now": {"partition": "equal", **({"pes": ["n0"]} if has["memory"] else {})}},
        "replications": REPLICATIONS if loaded else 1, "seed": number,
    }  # fmt: skip
    limited = {"links": any("link" in node for node in nodes), "switches": network["topology"] == "tree",
               "loads": loaded, "memory": any("memory" in node for node in nodes), "sizes": has["sizes"],
               "coarse": coarse}  # fmt: skip
    return document, {
        "application": name,
        "objective": objective,
        "has": [what for what, there in limited.items() if there],
    }


def loaded(document, folder, name="scenario"):
    """The scenario of a document."""
    path = Path(folder) / f"{name}.yaml"
    path.write_text(yaml.safe_dump(copy.deepcopy(document), sort_keys=False))
    return load_scenario(path)


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


def recorded(seed, folder, name):
    """A random platform of up to 3 nodes, 4 cores each, 3 kinds, a recorded load on some."""
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
