"""Random programs of posted and blocking messages in SimGrid's replay and in our engines: the same makespans."""

import os

import numpy as np
import pytest

from simulator import run
from simulator.models.network import LinkModel
from simulator.models.speed import SpeedBand
from simulator.platform.networks import Link, Listed, Network, Star
from simulator.platform.nodes import PE, Platform
from simulator.programs.assembly import assemble
from simulator.programs.configuration import Configuration
from simulator.programs.program import Compute, Delay, Exchange, PostRecv, PostSend, Program, Recv, Send, Wait
from simulator.scenario_file.scenario import Application, Scenario
from tests.agreement import simgrid_replay as judge

pytestmark = pytest.mark.slow

PROGRAMS, AT_ONCE = int(os.environ.get("APPORTION_SIMGRID_PROGRAMS", "300")), 20
RELATIVE, SLOWEST, FASTEST = 1e-9, 2e8, 2e9
"""Links in bytes per second: each of our flows ends within a 1024th of a byte."""
LOOPBACK = LinkModel.from_latency(1e-6, 1e10)
"""That of the judge's platforms; between processes of a host."""
SMALL = 1000
"""Bytes of a message up to which it may be eager."""
EXCHANGE_TAG = 9


class Opened:
    """Requests by process and (source, receiver, tag), in the order of posting."""

    def __init__(self, count):
        self.rows = [[] for _ in range(count)]
        self.waiting = [[] for _ in range(count)]
        """(request, triple)."""

    def post(self, process, triple, made):
        request = min(set(range(99)) - {one for one, _ in self.waiting[process]})
        self.rows[process].append(made(request))
        self.waiting[process].append((request, triple))

    def wait(self, process, rng):
        """For the oldest request of some triple, if there is any."""
        if self.waiting[process]:
            triples = [triple for _, triple in self.waiting[process]]
            place = triples.index(triples[rng.integers(0, len(triples))])
            self.rows[process].append(Wait(self.waiting[process].pop(place)[0]))


def rows(rng, count):
    """Steps for all processes in one order, so that none can block another for ever; every other one posts."""
    opened = Opened(count)
    made = opened.rows
    for _ in range(rng.integers(8, 60)):
        one = int(rng.integers(0, count))
        other = int((one + rng.integers(1, count)) % count)
        size = int(rng.integers(16, 10 ** rng.integers(2, 8)))
        tag = int(rng.integers(0, 2)) + 2 * (size > SMALL)  # the judge loses the order of unlike sizes of a tag
        step = rng.choice(["compute", "sleep", "message", "message", "message", "wait", "wait", "exchange"])
        if step == "compute":
            made[one].append(Compute(float(rng.uniform(1e5, 2e9)), 1.0))
        elif step == "sleep":
            made[one].append(Delay(float(rng.uniform(1e-6, 0.5))))
        elif step == "wait":
            opened.wait(one, rng)
        elif step == "exchange":
            made[one].append(Exchange(other, other, size, EXCHANGE_TAG + tag))
            made[other].append(Exchange(one, one, size, EXCHANGE_TAG + tag))
        else:
            message(rng, opened, (one, other, tag), size)
    for process in range(count):
        while opened.waiting[process]:
            opened.wait(process, rng)
    return tuple(map(tuple, made))


def message(rng, opened, triple, size):
    one, other, tag = triple
    if rng.random() < 0.7:
        opened.post(one, triple, lambda request: PostSend(other, size, request, tag))
    else:
        opened.rows[one].append(Send(other, size, tag))
    if rng.random() < 0.7:
        opened.post(other, triple, lambda request: PostRecv(one, request, tag))
    else:
        opened.rows[other].append(Recv(one, tag))


def platform(rng, speeds, cores, eager_bytes):
    """For us and for the judge: a link for each pair, or a star whose links messages share."""
    pes = tuple(PE(f"h{i}", f"n{i}", {"k": SpeedBand.constant(speed)}, cores=cores) for i, speed in enumerate(speeds))
    names, count = tuple(pe.node for pe in pes), len(pes)
    if rng.random() < 0.5:
        pairs = [(one, other) for one in range(count) for other in range(count) if one != other]
        figures = {pair: (float(rng.uniform(0, 1e-3)), float(rng.uniform(SLOWEST, FASTEST))) for pair in pairs}
        links = tuple(Link(f"l{a}.{b}", *figures[a, b]) for a, b in pairs)
        table = {pair: (2 * place,) for place, pair in enumerate(pairs)}
        topology, described = Listed(names, links, table), judge.pairs(speeds, figures, cores)
    else:
        latency, bandwidths = float(rng.uniform(1e-6, 1e-3)), rng.uniform(SLOWEST, FASTEST, count).tolist()
        topology = Star(tuple(Link(f"l{i}", latency / 2, bandwidth) for i, bandwidth in enumerate(bandwidths)))
        described = judge.star(speeds, bandwidths, latency, cores)
    network = Network(topology, loopback=LOOPBACK, contention="fair", eager_bytes=eager_bytes)
    return Platform(pes, network), described


@pytest.mark.parametrize("first", range(0, PROGRAMS, AT_ONCE))
def test_makespans_are_simgrid_s(first):
    for seed in range(first, min(first + AT_ONCE, PROGRAMS)):
        rng = np.random.default_rng(seed)
        hosts, processes = int(rng.integers(2, 6)), int(rng.integers(2, 8))
        places = [*range(min(hosts, processes)), *rng.integers(0, hosts, max(0, processes - hosts)).tolist()]
        eager_bytes = int(rng.choice([0, SMALL, 10**9]))
        speeds, cores = rng.uniform(1e8, 4e9, hosts).tolist(), int(rng.integers(1, 3))
        ours, theirs = platform(rng, speeds, cores, eager_bytes)
        program = Program(rows(rng, processes), (0,) * processes)
        configuration = Configuration("c", (1,) * processes, tuple(places))
        made = Scenario(ours, Application.of_program(program, kernel="k"), (configuration,), replications=1)
        lines = [line for lines in judge.ti_lines(assemble(program)) for line in lines]
        below = eager_bytes - judge.ENVELOPE_BYTES + 1 if eager_bytes else 0
        trace = "\n".join(lines) + "\n"
        expected = judge.replay(trace, theirs, places, eager_bytes=below).makespan_s
        for engine in ("process", "compiled"):
            found = run(made, engine=engine).makespan_s[0, 0]
            assert found == pytest.approx(expected, rel=RELATIVE, abs=len(lines) / 1024 / SLOWEST), (seed, engine)
