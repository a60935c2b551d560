"""What may be done to a cluster without changing the best advice for it, or without making it worse."""

import copy
import re
from typing import NamedTuple

import numpy as np

EXACT, SCALED_EXACT, NEAR = 1e-9, 1e-6, 0.005
SCALE = 4
"""All times are so many times as long; ticks round what is less than 1e-6 of them."""
TEXT = re.compile(r"^([0-9.e+]+) ?(.*)$")


class Change(NamedTuple):
    apply: object
    """(document, generator) -> changed document."""
    worse: float
    """How much more the best may be, as a share."""
    better: float = np.inf
    """How much less."""
    drawn: bool = True
    """Whether it holds of scenarios with draws."""
    scale: float = 1.0
    """What all values are multiplied with."""
    options: dict = {}  # noqa: RUF012 - never changed
    """Of the advice, before; with twice as many runs after."""


def shuffled(document, draws):
    nodes = document["platform"]["nodes"]
    document["platform"]["nodes"] = [nodes[place] for place in draws.permutation(len(nodes))]
    return document


def renamed(document, draws):
    nodes = document["platform"]["nodes"]
    letters = draws.permutation([f"{letter}x" for letter in "abcdefgh"]).tolist()
    names = {node["name"]: letters[place] for place, node in enumerate(nodes)}
    for node in nodes:
        node["name"] = names[node["name"]]
    for switch in document["platform"]["network"].get("switches", ()):
        switch["nodes"] = [names[name] for name in switch["nodes"]]
    for own in document["configurations"].values():
        own["pes"] = [names[name] for name in own["pes"]]
    return document


def with_ranks_in_another_order(document, draws):
    own = document["configurations"]["mine"]
    own["pes"] = [own["pes"][place] for place in draws.permutation(len(own["pes"]))]
    return document


def _times(text, factor):
    number, unit = TEXT.match(text).groups()
    return f"{float(number) * factor!r}{' ' * ('/' in unit)}{unit}"


def _slower_link(link):
    return {"latency": _times(link["latency"], SCALE), "bandwidth": _times(link["bandwidth"], 1 / SCALE)}


def scaled(document, _):
    """Everything takes four times as long."""
    network, parameters = document["platform"]["network"], document["application"]["parameters"]
    for place in (network, *document["platform"]["nodes"]):
        place |= {key: _slower_link(place[key]) for key in ("link", "uplink", "loopback") if key in place}
    for node in document["platform"]["nodes"]:
        (pe,) = node["pes"]
        for kernel, speed in pe["speeds"].items():
            if isinstance(speed, str):
                pe["speeds"][kernel] = _times(speed, 1 / SCALE)
            else:
                slower = [one / SCALE for one in speed["speeds"]]
                pe["speeds"][kernel] = {**speed, "speeds": slower}  # nodes of one kind share what it replaces
        if "load" in pe:
            trace = pe["load"]["trace"]
            trace |= {"times_s": [SCALE * at for at in trace["times_s"]], "end_s": SCALE * trace["end_s"]}
    if "pull" in parameters:
        parameters["pull"] = _times(parameters["pull"], SCALE)
    return document


def with_links_written(document, _):
    for node in document["platform"]["nodes"]:
        node.setdefault("link", dict(document["platform"]["network"]["link"]))
    return document


def with_another_kernel(document, draws):
    for node in document["platform"]["nodes"]:
        node["pes"][0]["speeds"]["other"] = f"{draws.integers(1, 9)} Gflop/s"
    return document


def _with_node(document, draws, change):
    """One node more, somewhere in the file, that is otherwise as the first one."""
    nodes, network = document["platform"]["nodes"], document["platform"]["network"]
    more = copy.deepcopy(nodes[0]) | {"name": "more"}
    change(more, more["pes"][0])
    nodes.insert(int(draws.integers(0, len(nodes) + 1)), more)
    if "switches" in network:
        network["switches"][int(draws.integers(0, 2))]["nodes"].append("more")
    return document


def with_slow_node(document, draws):
    first = document["platform"]["nodes"][0]["pes"][0]["speeds"]
    slow = {name: _times(one, 0.01) if isinstance(one, str) else {**one, "speeds": [v / 100 for v in one["speeds"]]}
            for name, one in first.items()}  # fmt: skip
    return _with_node(document, draws, lambda _, pe: pe.update(speeds=slow))


def with_far_node(document, draws):
    return _with_node(document, draws, lambda node, _: node.update(link={"latency": "30ms", "bandwidth": "1MB/s"}))


def with_small_node(document, draws):
    return _with_node(document, draws, lambda node, _: node.update(memory="16B", swap="0B"))


def with_busy_node(document, draws):
    load = {"trace": {"times_s": [0.0], "values": [20], "end_s": 1.0}, "rule": "fair"}
    return _with_node(document, draws, lambda _, pe: pe.update(load=load))


def with_core(document, draws):
    nodes = document["platform"]["nodes"]
    if document["application"]["name"] != "hpl":  # several processes on a core are advised where all PEs have one
        nodes[draws.integers(0, len(nodes))]["pes"][0]["cores"] += 1
    return document


def with_replications(document, _):
    return document | {"replications": 2 * document["replications"]}


def unchanged(document, _):
    return document


CHANGES = {
    "nodes in another order": Change(shuffled, EXACT, EXACT),
    "nodes under other names": Change(renamed, EXACT, EXACT, drawn=False),
    "ranks of the own configuration in another order": Change(with_ranks_in_another_order, EXACT, EXACT),
    "all takes four times as long": Change(scaled, SCALED_EXACT, SCALED_EXACT, scale=SCALE),
    "links of nodes written out": Change(with_links_written, EXACT, EXACT),
    "speeds of another kernel": Change(with_another_kernel, EXACT, EXACT),
    "twice the replications": Change(with_replications, EXACT, EXACT, drawn=False),
    "a slow node more": Change(with_slow_node, NEAR),
    "a far node more": Change(with_far_node, NEAR),
    "a node without memory more": Change(with_small_node, NEAR),
    "a busy node more": Change(with_busy_node, NEAR),
    "a core more": Change(with_core, NEAR),
    "twice the runs": Change(unchanged, NEAR, options={"runs": 150}),
}
"""By name, what may be done and by how much the best of all that is compared may change then."""


def plain(document):
    """A case that names nothing by its place in the file, and leaves no time to a default."""
    every = [node["name"] for node in document["platform"]["nodes"]]
    document["configurations"] = {
        name: {"partition": "equal", "pes": pes} for name, pes in (("as-now", ["n0"]), ("mine", every))
    }
    document["platform"]["network"]["loopback"] = {"latency": "1us", "bandwidth": "5GB/s"}
    return document
