"""Random small scenarios in coarse ticks, for tests that compare what different engines make of them."""

from dataclasses import replace

import numpy as np
from hypothesis import strategies as st

from simulator.models.load import LoadTrace
from simulator.models.memory import MemoryLevel, MemoryUse
from simulator.models.neighbours import Bandwidth, KernelUses, Occupancy, ShareTable, SharingDomain
from simulator.models.network import LinkModel
from simulator.platform.networks import Link, Listed, Network, Star
from simulator.platform.nodes import PE, Load, Node, Platform, Quota
from simulator.programs.columns import RULES, SelfScheduling, UnitSpread
from simulator.programs.configuration import Configuration
from simulator.programs.program import (
    ANY,
    Barrier,
    Compute,
    Delay,
    Exchange,
    Farm,
    PostRecv,
    PostSend,
    Program,
    ReadWrite,
    Recv,
    Send,
    Wait,
    WaitUntil,
)
from simulator.scenario_file.scenario import Application, Scenario
from simulator.scenario_file.truths import Draws
from tests.support.platforms import flat

KINDS = ("compute", "message", "message", "message", "anyone", "exchange", "barrier", "farm", "wait", "delay", "disk")
small = st.integers(0, 12)


@st.composite
def loads(draw):
    pieces = draw(st.lists(st.tuples(st.integers(1, 9), st.sampled_from([0, 0.3, 1, 2, 5])), min_size=1, max_size=4))
    rule = draw(st.sampled_from(["fair", "idle", "given"]))
    ends = draw(st.sampled_from(["cycle", "hold", "hold", "error"]))
    values = np.array([value for _, value in pieces])
    if rule == "given":
        values = values / 5
    edges = np.cumsum([0, *(length for length, _ in pieces)]).astype(float)
    if ends == "error":
        edges[-1] += 60
    return Load(LoadTrace(edges[:-1], values, edges[-1], ends), rule)


@st.composite
def listed(draw, links, nodes):
    """Ways over any of a few links that all share."""
    some = tuple(replace(draw(links), name=f"link{place}", shared=True) for place in range(draw(st.integers(1, 5))))
    ways = st.lists(st.integers(0, len(some) - 1), min_size=1, max_size=4, unique=True)
    pairs = [(one, other) for one in range(len(nodes)) for other in range(len(nodes)) if one != other]
    return Listed(tuple(nodes), some, {pair: tuple(2 * link for link in draw(ways)) for pair in pairs})


@st.composite
def platforms(draw):
    """Up to four PEs on up to three nodes, each node with a disk."""
    count = draw(st.integers(1, 4))
    pes = tuple(
        PE(
            f"pe{i}",
            f"node{draw(st.integers(0, min(i, 2)))}",
            {"k": flat(draw(st.sampled_from([1, 2, 3])))},
            draw(st.none() | loads()),
            cores=draw(st.integers(1, 2)),
        )
        for i in range(count)
    )
    nodes = list(dict.fromkeys(pe.node for pe in pes))
    links = st.builds(
        Link, st.just("link"), st.integers(0, 3).map(float), st.sampled_from([0.7, 1.0, 2.0, 5.0]), st.booleans()
    )
    eager = draw(st.sampled_from([0, 6]))
    own = LinkModel.from_latency(float(draw(st.integers(1, 3))), 4.0)
    if len(nodes) == 1 or draw(st.integers(0, 3)) == 0:
        network = Network.uniform(own, eager_bytes=eager)
    else:
        topology = draw(listed(links, nodes) | st.builds(Star, st.tuples(*[links] * len(nodes)), st.none() | links))
        contention = draw(st.sampled_from(["none", "fifo", "fair", "fifo", "fair"]))
        network = Network(topology, loopback=own, contention=contention, eager_bytes=eager)
    return Platform(pes, network, tuple(Node(name, disk=draw(links)) for name in nodes))


@st.composite
def served(draw, farm, processes):
    """A farm under any rule, with a pool that takes its time, data, and now and then drawn units."""
    rule, units = draw(st.sampled_from(RULES)), farm.volumes.size
    parts = ()
    if rule == "static":
        ends = sorted(draw(st.lists(st.integers(0, units), min_size=processes - 1, max_size=processes - 1)))
        parts = tuple(np.diff([0, *ends, units]).tolist())
    first, last = sorted(draw(st.tuples(st.integers(1, 9), st.integers(1, 4))), reverse=True)
    told = SelfScheduling(
        rule,
        draw(st.integers(1, 2)),
        draw(st.sampled_from([0, first])),
        last,
        draw(st.sampled_from([0.0, 0.3, 1.0, 4.0])),
        parts,
    )
    if told.first == 0:
        told = replace(told, last=1)
    spread = draw(st.sampled_from([None, None, UnitSpread("exponential"), UnitSpread("gamma", 0.4)]))
    return replace(
        farm,
        scheduling=told,
        serve_s=float(draw(st.sampled_from([0, 0, 1, 2, 5]))),
        unit_bytes=float(draw(st.sampled_from([0, 0, 1, 3]))),
        spread=spread,
    )


@st.composite
def farming(draw):
    """As `scenarios`, but nearly all that happens is farms with many units, two at a time now and then."""
    made, draws = draw(scenarios())
    processes = len(made.configurations[0].placement)
    everyone, rows = tuple(range(processes)), [[] for _ in range(processes)]
    for _ in range(draw(st.integers(1, 3))):
        some = draw(
            st.sampled_from([everyone, everyone[: max(1, processes // 2)], everyone[::-1], everyone[processes // 2 :]])
        )
        volumes = np.array(draw(st.lists(st.integers(0, 6), min_size=4, max_size=24)), dtype=float)
        farm = draw(
            served(Farm(volumes, 1.0, draw(st.integers(1, 3)), float(draw(st.integers(0, 2))), some), len(some))
        )
        late = draw(st.sampled_from(everyone))
        rows[late].append(Delay(draw(small)))
        for process in some:
            rows[process].append(farm)
    program = Program(tuple(map(tuple, rows)), (0,) * processes, draw(st.booleans()))
    return replace(made, application=replace(made.application, written=program)), draws


def post(draw, rows, opened, channel):
    """A message of which at least one side is posted, now and then one of them not at all."""
    one, other, tag = channel
    mode, size = draw(st.sampled_from(["threshold", "threshold", "rendezvous", "eager"])), draw(small)
    blocks = draw(st.sampled_from(["neither", "neither", "sender", "receiver"])) if one != other else "neither"
    for process, side in ((one, "sender"), (other, "receiver")):
        if not draw(st.integers(0, 60)):
            continue
        request = min(set(range(99)) - set(opened[process]))
        if side == blocks:
            rows[process].append(Send(other, size, tag, mode) if side == "sender" else Recv(one, tag))
        else:
            posted = PostSend(other, size, request, tag, mode) if side == "sender" else PostRecv(one, request, tag)
            rows[process].append(posted)
            opened[process].append(request)


def wait(draw, rows, opened, channel):
    """For some request of two processes, if they have any."""
    for process in set(channel[:2]):
        if opened[process]:
            request = draw(st.sampled_from(opened[process]))
            opened[process].remove(request)
            rows[process].append(Wait(request))


@st.composite
def programs(draw, processes, *, posted=None):
    """Operations that fit together if done in the order drawn; now and then one is left out.

    `posted`: how often messages are posted, beside eleven others.
    """
    rows = [[] for _ in range(processes)]
    anybody = st.integers(0, processes - 1)

    def add(process, operation):
        if draw(st.integers(0, 60)):
            rows[process].append(operation)

    posted = draw(st.sampled_from([0, 0, 1, 3])) if posted is None else posted
    opened = [[] for _ in range(processes)]
    for kind in draw(st.lists(st.sampled_from(KINDS + ("posted", "await") * posted), min_size=4, max_size=24)):
        one, other, tag = draw(anybody), draw(anybody), draw(st.integers(0, 1))
        group = tuple(sorted(draw(st.sets(anybody, min_size=1))))
        if kind in ("message", "anyone") and one != other:
            add(one, Send(other, draw(small), tag))
            add(other, Recv(ANY if kind == "anyone" else one, tag))
        if kind in ("posted", "await"):
            (post if kind == "posted" else wait)(draw, rows, opened, (one, other, tag))
        if kind == "exchange":
            shift = draw(st.integers(0, len(group) - 1))
            for place, process in enumerate(group):
                to, source = group[(place + shift) % len(group)], group[place - shift]
                add(process, Exchange(to, source, draw(small), tag))
        if kind in ("barrier", "farm"):
            volumes = np.array(draw(st.lists(st.integers(0, 6), max_size=6)), dtype=float)
            pull_s = float(draw(st.integers(0, 3)))
            farm = Farm(volumes, 1.0, draw(st.integers(1, 3)), pull_s, group)
            farm = draw(st.just(farm) | served(farm, len(group)))
            for process in group:
                add(process, Barrier(group) if kind == "barrier" else farm)
        alone = {
            "compute": Compute(draw(small), 1.0),
            "wait": WaitUntil(draw(st.integers(0, 30))),
            "delay": Delay(draw(small)),
            "disk": ReadWrite(draw(small)),
        }
        if kind in alone:
            add(one, alone[kind])
    for process, some in enumerate(opened):
        rows[process] += map(Wait, draw(st.permutations(some)))
    return Program(tuple(map(tuple, rows)), (0,) * processes, draw(st.booleans()))


shares = st.sampled_from([1.0, 0.9, 0.7, 0.5, 0.31])


@st.composite
def laws(draw, kind):
    if kind in ("core", "clock") or draw(st.integers(0, 5)) == 0:
        return ShareTable((1.0, *sorted(draw(st.lists(shares, min_size=1, max_size=3)), reverse=True)))
    capacity = draw(st.sampled_from([5.0, 10.0, 16.0]))
    return Bandwidth(capacity, draw(st.sampled_from([1.0, 4.0]))) if kind == "memory" else Occupancy(capacity)


@st.composite
def domains(draw, count):
    """Of every kind, caches of two levels; each PE at most once in those of a level."""
    found = []
    for kind, level in (("core", "core"), ("cache", "L2"), ("cache", "L3"), ("memory", "memory"), ("clock", "clock")):
        groups = draw(st.lists(st.sampled_from([0, 0, 0, 1, 1, 2]), min_size=count, max_size=count))
        for number in range(2):
            members = tuple(pe for pe, group in enumerate(groups) if group == number)
            if members and draw(st.integers(0, 3)):
                found.append(SharingDomain(kind, f"{level}{number}", level, members, draw(laws(kind))))
    return tuple(found)


@st.composite
def with_domains(draw):
    """As `scenarios`, with sharing domains, uses of the kernel or of memory, and loads that press."""
    made, draws = draw(scenarios())
    platform = made.platform
    levels = tuple(MemoryLevel(n, c, t, 0.0, shared=draw(st.booleans())) for n, c, t in LEVELS)
    nodes = []
    for node in platform.nodes:
        values = {name: np.array(draw(st.lists(st.integers(0, 9).map(float), min_size=2, max_size=2))) for name in USED}
        waits = {name: np.array(draw(st.lists(st.sampled_from([0, 0.5, 2]), min_size=2, max_size=2))) for name in USED}
        uses = {"k": KernelUses(np.array([1.0, 4.0]), values, waits)} if draw(st.booleans()) else {}
        nodes.append(replace(node, uses=uses, levels=levels if draw(st.booleans()) else ()))
    pes = tuple(_demanding(pe, draw(st.sampled_from([0.0, 2.0, 7.0]))) for pe in platform.pes)
    shared = draw(domains(len(pes)))
    platform = replace(platform, pes=pes, nodes=tuple(nodes), domains=shared)
    program = made.application.written
    rows = [(*(Compute(v, float(v)) for v in draw(volumes)), *row) for row in program.operations]
    program = replace(program, operations=tuple(rows))
    footprints = tuple(draw(st.lists(st.sampled_from([0, 4, 12]), min_size=1, max_size=1)) * len(program.operations))
    memory = draw(st.none() | st.builds(MemoryUse, st.sampled_from([0.3, 2.0]), st.sampled_from([0.5, 1.0])))
    application = replace(made.application, written=replace(program, footprints_bytes=footprints), memory=memory)
    return replace(made, platform=platform, application=application), draws


@st.composite
def in_turns(draw, made):
    """As some scenarios, loads and processes of most PEs with a load take turns."""
    scenario, draws = draw(made)
    pes = []
    for pe in scenario.platform.pes:
        takes = pe.load is not None and pe.load.rule != "given" and draw(st.integers(0, 4))
        load = replace(pe.load, rule="turns") if takes else pe.load
        pes.append(replace(pe, slice_s=float(draw(st.integers(1, 6))) if takes else 0.0, load=load))
    return replace(scenario, platform=replace(scenario.platform, pes=tuple(pes))), draws


@st.composite
def under_quotas(draw, pes, tick_s=1.0):
    """PEs in control groups of one or several PEs of a node."""
    periods = st.integers(2, 12).map(lambda ticks: ticks * tick_s)
    groups = [Quota(draw(cpus), draw(periods), name) for name in ("one", "two")]
    quotas = st.none() | st.builds(Quota, cpus, periods) | st.sampled_from(groups)
    return tuple(replace(pe, quota=draw(quotas)) for pe in pes)


@st.composite
def with_quotas(draw, scenarios):
    """As some scenarios, with control groups of one or several PEs of a node, and periods that begin at any tick."""
    made, draws = draw(scenarios())
    platform = replace(made.platform, pes=draw(under_quotas(made.platform.pes)))
    shape = draws.load_starts_s.shape
    places = np.array([[draw(st.integers(0, 11)) / 12 for _ in range(shape[1])] for _ in range(shape[0])])
    return replace(made, platform=platform), replace(draws, quota_places=places)


cpus = st.sampled_from([0.1, 0.25, 0.37, 0.5, 0.8, 1.0, 1.3])
LEVELS = (("L2", 6.0, 0.1), ("L3", 14.0, 0.4), ("RAM", 0.0, 2.0))
volumes = st.lists(st.integers(1, 12), min_size=1, max_size=2)
USED = ("L2", "L3", "memory")


def _demanding(pe, demand):
    if pe.load is None:
        return pe
    return replace(pe, load=replace(pe.load, demands={"memory": demand, "L3": demand} if demand else {}))


@st.composite
def scenarios(draw, **options):
    """A scenario of one or two configurations in ticks of 1 s, and its draws; `options` as of `programs`."""
    platform, processes = draw(platforms()), draw(st.integers(1, 5))
    places = st.lists(st.integers(0, len(platform.pes) - 1), min_size=processes, max_size=processes)
    configurations = tuple(
        Configuration(f"c{i}", (1,) * processes, tuple(draw(places))) for i in range(draw(st.integers(1, 2)))
    )
    application = Application.of_program(draw(programs(processes, **options)), kernel="k")
    made = Scenario(platform, application, configurations, draw(st.integers(1, 2)), 0)
    shape = (made.replications, len(platform.pes))
    starts = [[0 if ends(pe) else draw(st.integers(0, 20)) for pe in platform.pes] for _ in range(shape[0])]
    return made, Draws(np.array(starts, dtype=float), np.full(shape, 0.5), numbers=np.arange(made.replications))


def ends(pe):
    return pe.load is not None and pe.load.trace.after_end == "error"
