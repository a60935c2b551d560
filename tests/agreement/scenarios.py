"""Random scenarios over all operations, contention modes, shared PEs and loads, for comparing engines.

Times are a few ticks each, so that many things fall into the same instant: that is where engines differ.
"""

from dataclasses import replace

import numpy as np
from hypothesis import strategies as st

from simulator.models.doubt import Doubt, Noise
from simulator.models.load import LoadTrace
from simulator.models.neighbours import ShareTable, SharingDomain
from simulator.models.network import LinkModel
from simulator.models.speed import SpeedBand
from simulator.platform.networks import Link, Network, Star
from simulator.platform.nodes import PE, Load, Node, Platform
from simulator.programs.configuration import Configuration
from simulator.programs.program import (
    ANY,
    AllReduce,
    AllToAll,
    Barrier,
    Broadcast,
    Compute,
    Delay,
    Exchange,
    Farm,
    Gather,
    Loop,
    PostRecv,
    PostSend,
    Program,
    ReadWrite,
    Recv,
    Reduce,
    Scatter,
    Send,
    Wait,
    WaitUntil,
)
from simulator.scenario_file.scenario import Application, Scenario
from tests.support.programs import served

TICK = 1e-12
PER_TICK = 1e12
"""Units of volume or bytes per second that make one per tick."""

few = st.integers(0, 12)
some_bytes = st.integers(0, 40)


@st.composite
def platforms(draw, pes):
    """PEs on a few nodes, and any kind of network."""
    nodes = draw(st.integers(1, pes))
    places = [draw(st.integers(0, nodes - 1)) for _ in range(pes)]
    names = list(dict.fromkeys(places))
    made = tuple(draw(pe(f"pe{number}", f"node{place}")) for number, place in enumerate(places))
    disk = Link("disk", draw(st.sampled_from([0.0, 2 * TICK])), draw(st.integers(1, 9)) * PER_TICK / 3, shared=True)
    return Platform(made, draw(networks(len(names))), tuple(Node(f"node{place}", disk=disk) for place in names))


@st.composite
def pe(draw, name, node):
    low = draw(st.integers(1, 8)) * PER_TICK / 4
    width = draw(st.sampled_from([0.0, 0.0, 0.5]))
    band = SpeedBand(*(np.array([float(x)]) for x in (1.0, low, low * (1 + width / 2), low * (1 + width))))
    load, cores, slices = draw(st.none() | loads()), draw(st.sampled_from([1, 1, 1, 2, 3])), draw(st.integers(0, 3))
    return PE(name, node, {"k": band}, load, cores=cores, slice_s=max(0, slices - 1) * TICK)


@st.composite
def loads(draw):
    rule = draw(st.sampled_from(["fair", "idle", "given"]))
    pieces = draw(st.lists(st.tuples(st.integers(1, 20), st.integers(0, 8)), min_size=1, max_size=5))
    times = np.cumsum([0] + [length for length, _ in pieces]) * TICK
    values = np.array([value for _, value in pieces]) / (8 if rule == "given" else 4)
    if draw(st.integers(0, 9)):  # seldom a PE that stands still for ever
        values[-1] = 0.5
    after_end = draw(st.sampled_from(["cycle", "cycle", "hold"]))
    drawn, start_s = draw(st.booleans()), draw(st.sampled_from([0.0, 0.0, 0.3, 0.8])) * float(times[-1])
    return Load(LoadTrace(times[:-1], values, float(times[-1]), after_end), rule, drawn=drawn, start_s=start_s)


@st.composite
def networks(draw, nodes):
    eager = draw(st.sampled_from([0, 0, 10, 100]))
    loopback = LinkModel(np.array([0.0, 10.0]), np.array([2 * TICK, draw(st.integers(2, 6)) * TICK]))
    if not draw(st.integers(0, 3)):
        return Network.uniform(loopback, eager_bytes=eager)
    links = tuple(draw(link(f"link{number}")) for number in range(nodes))
    backbone = draw(st.none() | link("backbone"))
    contention = draw(st.sampled_from(["none", "fifo", "fair", "fair"]))
    return Network(Star(links, backbone), loopback=loopback, contention=contention, eager_bytes=eager)


@st.composite
def link(draw, name):
    latency = draw(st.sampled_from([0.0, 0.0, TICK, 3 * TICK]))
    return Link(name, latency, draw(st.integers(1, 30)) * PER_TICK / 7, shared=draw(st.booleans()))


@st.composite
def rows(draw, processes, *, careless=False, shared=True):
    """A row per process, made step by step for all of them, so that no order of steps can block (unless careless)."""
    made = [[] for _ in range(processes)]
    everyone = range(processes)
    steps = [solo, solo, pair, pair, ring, together, posted] + [anyone, farm] * shared
    for _ in range(draw(st.integers(1, 8))):
        draw(st.sampled_from(steps))(draw, made, everyone)
    if careless:
        for process in everyone:
            for _ in range(draw(st.integers(0, 2))):
                other, tag = draw(st.sampled_from(everyone)), draw(st.integers(0, 1))
                kinds = [
                    (Send(other, 5, tag),),
                    (Recv(other, tag),),
                    (Recv(ANY, tag),),
                    (Exchange(other, process, 12, tag),),
                ]
                kinds += [(PostSend(other, 12, 0, tag), Wait(0)), (PostRecv(other, 0, tag), Wait(0))]
                made[process] += draw(st.sampled_from(kinds))
    return tuple(tuple(row) for row in made)


def solo(draw, made, everyone):
    for process in draw(st.lists(st.sampled_from(everyone), min_size=1, max_size=4)):
        kind = draw(st.sampled_from([compute, compute, compute, delay, wait, disk, loop]))
        made[process].append(kind(draw))


def compute(draw):
    return Compute(draw(few), 1.0)


def delay(draw):
    return Delay(draw(few) * TICK)


def wait(draw):
    return WaitUntil(draw(st.integers(0, 60)) * TICK)


def disk(draw):
    return ReadWrite(draw(some_bytes))


def loop(draw):
    count = draw(st.integers(0, 3))
    volumes = np.array([[float(draw(few))] for _ in range(count)]).reshape(count, 1)
    return Loop(count, (Compute(volumes, 1.0), Delay(draw(few) * TICK)))


def pair(draw, made, everyone):
    if len(everyone) < 2:
        return
    source, to = draw(st.permutations(everyone))[:2]
    tag = draw(st.integers(0, 1))
    for size in draw(st.lists(some_bytes, min_size=1, max_size=3)):
        made[source].append(Send(to, size, tag))
        if draw(st.booleans()):
            made[to].append(compute(draw))
        made[to].append(Recv(source, tag))


def posted(draw, made, everyone):
    """Messages whose sides are posted or block, and waits in another order, with work in between."""
    opened = [[] for _ in everyone]
    for _ in range(draw(st.integers(1, 5))):
        one, other, tag = draw(st.sampled_from(everyone)), draw(st.sampled_from(everyone)), draw(st.integers(0, 1))
        mode, size = draw(st.sampled_from(["threshold", "threshold", "rendezvous", "eager"])), draw(some_bytes)
        blocks = draw(st.sampled_from(["", "", "sender", "receiver"])) if one != other else ""
        request = len(opened[one])
        made[one].append(
            Send(other, size, tag, mode) if blocks == "sender" else PostSend(other, size, request, tag, mode)
        )
        opened[one] += [request] * (blocks != "sender")
        request = len(opened[other])
        made[other].append(Recv(one, tag) if blocks == "receiver" else PostRecv(one, request, tag))
        opened[other] += [request] * (blocks != "receiver")
        late = draw(st.sampled_from(everyone))
        made[late].append(compute(draw))
    for process, requests in enumerate(opened):
        for request in draw(st.permutations(requests)):
            made[process] += [Wait(request), *([compute(draw)] if draw(st.booleans()) else [])]


def anyone(draw, made, everyone):
    """One process receives from several others, whoever comes first."""
    if len(everyone) < 2:
        return
    order = draw(st.permutations(everyone))
    to, sources = order[0], order[1 : 1 + draw(st.integers(1, len(everyone) - 1))]
    for source in sources:
        if draw(st.booleans()):
            made[source].append(compute(draw))
        made[source].append(Send(to, draw(some_bytes), 7))
        if draw(st.booleans()):
            made[source].append(compute(draw))
    for _ in sources:
        made[to].append(Recv(ANY, 7))
        if draw(st.booleans()):
            made[to].append(compute(draw))


def ring(draw, made, everyone):
    if len(everyone) < 2:
        return
    order = draw(st.permutations(everyone))[: draw(st.integers(2, len(everyone)))]
    size, tag = draw(some_bytes), draw(st.integers(0, 1))
    for place, process in enumerate(order):
        made[process].append(Exchange(order[(place + 1) % len(order)], order[place - 1], size + place, tag))


def together(draw, made, everyone):
    group = tuple(draw(st.permutations(everyone))[: draw(st.integers(1, len(everyone)))])
    root, size = draw(st.sampled_from(group)), draw(some_bytes)
    operation = draw(
        st.sampled_from(
            [
                Barrier(group),
                Barrier(group),
                Broadcast(root, size, "ring", group),
                Broadcast(root, size, "binomial", group),
                Scatter(root, size, "binomial", group),
                Gather(root, size, "linear", group),
                AllToAll(size, "pairwise", group),
                Reduce(root, size, "binomial", group),
                AllReduce(size, "recursive_doubling", group),
            ]
        )
    )
    for process in group:
        made[process].append(operation)


def farm(draw, made, everyone):
    group = tuple(draw(st.permutations(everyone))[: draw(st.integers(1, len(everyone)))])
    volumes = np.array(draw(st.lists(few, max_size=8)), dtype=float)
    operation = Farm(volumes, 1.0, draw(st.integers(1, 3)), draw(few) * TICK, group)
    if draw(st.booleans()):
        other = draw(served(operation, len(group)))
        operation = replace(other, serve_s=other.serve_s * TICK)
    for process in group:
        made[process].append(operation)


doubts = st.builds(Doubt.constant, st.sampled_from([0.05, 0.5]), common=st.sampled_from([0.0, 0.8, 1.0]))
noises = st.none() | st.builds(Noise.normal, st.sampled_from([0.1, 0.4]), count=st.just(4))


@st.composite
def doubtful(draw):
    """As `scenarios`, with doubt of anything, and one to five truths."""
    made = draw(scenarios())
    platform = made.platform
    pes = tuple(draw(_doubtful_pe(one)) for one in platform.pes)
    network = platform.network
    if draw(st.booleans()):
        doubt, source = draw(doubts), draw(st.sampled_from(["", "links"]))
        network = network.with_links(lambda one: replace(one, doubt=doubt, source=source))
    for name in ("model", "loopback"):
        one = getattr(network, name)
        if one is not None and draw(st.booleans()):
            network = replace(network, **{name: replace(one, doubt=draw(doubts))})
    domains = ()
    if draw(st.booleans()):
        law = ShareTable((1.0, 0.75, 0.5))
        domains = (SharingDomain("clock", "clock", "clock", tuple(range(len(pes))), law, draw(st.none() | doubts)),)
    platform = replace(platform, pes=pes, network=network, domains=domains)
    return replace(
        made, platform=platform, truths=draw(st.none() | st.integers(1, 5)), replications=draw(st.integers(1, 7))
    )


@st.composite
def _doubtful_pe(draw, one):
    band = one.speeds["k"]
    if draw(st.booleans()):
        band = replace(band, doubt=draw(doubts), noise=draw(noises), source=draw(st.sampled_from(["", "kind"])))
    load = one.load
    if load is not None:
        known = load.rule == "given" or draw(st.booleans())
        load = replace(load, recorded=draw(st.booleans()), rule_known=known)
    return replace(one, speeds={"k": band}, load=load)


@st.composite
def scenarios(draw, *, careless=False):
    """A scenario with one hand-written program, several processes per PE allowed."""
    processes, pes = draw(st.integers(1, 6)), draw(st.integers(1, 5))
    platform = draw(platforms(pes))
    program = Program(draw(rows(processes, careless=careless)), (0,) * processes, polls=draw(st.booleans()))
    placements = [
        tuple(draw(st.integers(0, pes - 1)) for _ in range(processes)) for _ in range(draw(st.integers(1, 2)))
    ]
    configurations = tuple(Configuration(f"c{i}", (1,) * processes, placed) for i, placed in enumerate(placements))
    application = Application.of_program(program, kernel="k")
    return Scenario(platform, application, configurations, draw(st.integers(1, 3)), draw(st.integers(0, 5)))


@st.composite
def unshared(draw):
    """A scenario in which nothing is shared: a PE for each process, one model of message times."""
    processes = draw(st.integers(1, 5))
    eager = draw(st.sampled_from([0, 10, 100]))
    network = Network.uniform(LinkModel.from_latency(draw(st.integers(1, 5)) * TICK, PER_TICK), eager_bytes=eager)
    platform = replace(draw(platforms(processes)), network=network)
    written = draw(rows(processes, careless=draw(st.booleans()), shared=False))
    application = Application.of_program(Program(written, (0,) * processes, polls=draw(st.booleans())), kernel="k")
    orders = draw(st.lists(st.permutations(range(processes)), min_size=1, max_size=2))
    configurations = tuple(Configuration(f"c{i}", (1,) * processes, tuple(one)) for i, one in enumerate(orders))
    return Scenario(platform, application, configurations, draw(st.integers(1, 2)), draw(st.integers(0, 99)))
