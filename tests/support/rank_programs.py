"""Programs whose ranks are like no others, as recordings are, on random small clusters; and all their placements."""

import itertools
from dataclasses import dataclass, replace

import numpy as np

from simulator import Configuration, Scenario, ScenarioError, run
from simulator.models.load import LoadTrace
from simulator.models.speed import SpeedBand
from simulator.platform.networks import Link, Network, Star, Tree
from simulator.platform.nodes import PE, Load, Node, Platform
from simulator.programs.applications.work import Work
from simulator.programs.assembly import assemble
from simulator.programs.program import AllReduce, Barrier, Compute, Exchange, Program, Recv, Send
from simulator.scenario_file.scenario import Application

KERNEL = "recorded"


@dataclass(frozen=True, eq=False)
class Recorded(Work):
    """What stands for a recording: a program of so many ranks, each with a unit of its own."""

    made: Program

    @property
    def units(self):
        return len(self.made.footprints_bytes)

    @property
    def by_rank(self):
        return True

    def rounds(self, _):
        return max(1, self.made.assembled.kind.size // self.units)

    def compute(self, _):
        columns = self.made.assembled
        mean = float(columns.amount[columns.kind == 1].sum()) / self.units
        return lambda units: Compute(units * mean, 1)

    def messages_bytes(self, _):
        return (1,)

    def program(self, configuration):
        if configuration.partition != (1,) * self.units:
            raise ScenarioError(f"configuration {configuration.name}: it needs {self.units} ranks of a unit each")
        return self.made


def recorded(rows, *, footprints=None):
    """An application of these rows, as columns."""
    held = footprints or (0,) * len(rows)
    columns = assemble(Program(tuple(map(tuple, rows)), held))
    work = Recorded(Program(((),) * len(rows), held, assembled=columns))
    return Application("recorded", KERNEL, own=work)


def relabelled(application, order):
    """The same program with rank order[r] called r."""
    columns, name = application.own.made.assembled, np.argsort(order)
    rows = np.concatenate([np.arange(*columns.first[rank : rank + 2]) for rank in order])
    counts = np.diff(columns.first)[order]
    messages = np.isin(columns.kind, (2, 3, 4))

    def renamed(column):
        known = messages & (column >= 0)
        return np.where(known, name[np.where(known, column, 0)], column)[rows].astype(np.int32)

    moved = {key: getattr(columns, key)[rows] for key in ("kind", "index", "tag", "amount", "size")}
    made = replace(
        columns,
        first=np.concatenate(([0], np.cumsum(counts))),
        partner=renamed(columns.partner),
        source=renamed(columns.source),
        footprints_bytes=columns.footprints_bytes[order],
        **moved,
    )
    held = tuple(made.footprints_bytes.tolist())
    return Application("recorded", KERNEL, own=Recorded(Program(((),) * len(order), held, assembled=made)))


def rows_of(draws, ranks, *, seconds):
    """Rounds of unequal computing and of messages between some pairs, a chain, a ring, a root or all."""
    weights = np.exp(draws.normal(0, draws.choice([0.05, 0.4, 0.8]), ranks))
    shape = str(draws.choice(["ring", "pairs", "root", "chain", "all", "mixed"]))
    rounds = int(draws.integers(3, 9))
    payload = np.exp(draws.uniform(np.log(1e3), np.log(3e6)))
    rows = [[] for _ in range(ranks)]
    partners = [(i, j) for i, j in itertools.combinations(range(ranks), 2) if draws.random() < 0.5] or [(0, 1)]
    sizes = {pair: int(payload * np.exp(draws.normal(0, 1))) + 1 for pair in partners}
    for _ in range(rounds):
        for rank, row in enumerate(rows):
            row.append(Compute(float(seconds / rounds * weights[rank] * draws.uniform(0.9, 1.1)), 1))
        for part in ("ring", "pairs") if shape == "mixed" else (shape,):
            SHAPES[part](rows, sizes, int(payload), weights)
        if draws.random() < 0.3:
            for row in rows:
                row.append(Barrier())
    return rows


def ring(rows, _, payload, __):
    for rank, row in enumerate(rows):
        row.append(Exchange((rank + 1) % len(rows), (rank - 1) % len(rows), payload))


def pairs(rows, sizes, _, __):
    for (one, other), size in sizes.items():
        rows[one].append(Exchange(other, other, size))
        rows[other].append(Exchange(one, one, size))


def chain(rows, _, payload, __):
    for rank, row in enumerate(rows):
        if rank:
            row.insert(len(row) - 1, Recv(rank - 1))
        if rank + 1 < len(rows):
            row.append(Send(rank + 1, payload))


def root(rows, _, payload, weights):
    for rank in range(1, len(rows)):
        rows[rank].append(Send(0, int(payload * weights[rank])))
        rows[0].append(Recv(rank))


def everybody(rows, _, payload, __):
    for row in rows:
        row.append(AllReduce(payload))


SHAPES = {"ring": ring, "pairs": pairs, "root": root, "chain": chain, "all": everybody}


def platform_of(draws, ranks, *, most_cores=3):
    """Unlike PEs and links, with some room more than ranks need."""
    pes, nodes, left = [], [], ranks + int(draws.integers(0, 3))
    kinds = draws.choice([1.0, 1.0, 1.5, 2.0, 3.0], 3)
    switched, loaded = draws.random() < 0.35, draws.random() < 0.3
    private = []
    while left > 0:
        number, cores = len(nodes), min(left, int(draws.integers(1, most_cores + 1)))
        left -= cores
        nodes.append(Node(f"n{number}"))
        split = draws.random() < 0.5 and cores > 1
        for place in range(cores if split else 1):
            speed = float(draws.choice(kinds))
            load = None
            if loaded and draws.random() < 0.4:
                load = Load(LoadTrace(np.zeros(1), np.array([float(draws.integers(1, 4))]), 1.0, "hold"), "fair")
            band = SpeedBand.constant(speed)
            pes.append(PE(f"n{number}p{place}", f"n{number}", {KERNEL: band}, cores=1 if split else cores, load=load))
        slow = draws.random() < 0.3
        private.append(Link(f"l{number}", float(draws.choice([2e-5, 3e-4])) * (1 + 4 * slow), 1e8 / (1 + 4 * slow)))
    topology = Star(tuple(private))
    if switched and len(nodes) > 2:
        sides = tuple(int(side) for side in draws.permutation([place % 2 for place in range(len(nodes))]))
        topology = Tree(tuple(private), sides, (Link("u0", 2e-4, 4e7), Link("u1", 2e-4, 4e7)))
    network = Network(topology, contention=str(draws.choice(["fair", "fifo", "none"])),
                      eager_bytes=int(draws.choice([0, 10_000])))  # fmt: skip
    return Platform(tuple(pes), network, nodes=tuple(nodes))


def case(number, *, ranks=None, **how):
    """A scenario by its number: ranks in order on the first cores as now."""
    draws = np.random.default_rng([number, 20_261_129])
    count = ranks or int(draws.integers(4, 8))
    platform = platform_of(draws, count, **how)
    rows = rows_of(draws, count, seconds=float(np.exp(draws.uniform(np.log(0.01), np.log(1.0)))))
    cores = [place for place, pe in enumerate(platform.pes) for _ in range(pe.cores)]
    now = Configuration("as-now", (1,) * count, tuple(cores[:count]))
    return Scenario(platform, recorded(rows), (now,), replications=4)


def placements(scenario):
    """All of them, up to swaps of ranks on one PE: PEs of each rank."""
    platform, ranks = scenario.platform, scenario.application.work.units
    room = [pe.cores for pe in platform.pes]
    return (
        one for one in itertools.product(range(len(room)), repeat=ranks)
        if all(one.count(pe) <= room[pe] for pe in set(one))
    )  # fmt: skip


def least_s(scenario, placed, *, at_once=20_000):
    """The least mean makespan of some placements."""
    best = np.inf
    ranks = scenario.application.work.units
    while chunk := list(itertools.islice(placed, at_once)):
        asked = tuple(Configuration(f"p{n}", (1,) * ranks, one) for n, one in enumerate(chunk))
        best = min(best, float(run(scenario.with_configurations(asked)).makespan_s.mean(axis=1).min()))
    return best
