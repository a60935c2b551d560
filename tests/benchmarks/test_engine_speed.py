"""How the compiled engine's cost grows: with processes and operations, in memory."""

import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from statistics import median

import numpy as np
import pytest

import simulator
from simulator.platform.networks import Link, Network, Star
from simulator.platform.nodes import Platform
from simulator.programs.assembly import assemble
from simulator.programs.configuration import Configuration
from simulator.programs.program import Barrier, Compute, Exchange, Loop, PostRecv, PostSend, Program, Wait
from tests.benchmarks import ours

ROOT = Path(__file__).parents[2]
PROCESSES = (64, 256, 1024, 4096)
EXPONENT, MANY_PES_BYTES = 1.1, 2e9

pytestmark = pytest.mark.benchmark


def neighbours(processes, *, steps, pes=None, star=False):
    """Compute, exchange with the neighbours on a ring and meet, `steps` times; `pes` below `processes` are shared."""
    pes = pes or processes
    number = np.arange(processes)
    volumes = np.random.default_rng(1).uniform(1e6, 1e7, (steps, processes))
    body = (Compute(volumes, 1.0), Exchange((number + 1) % processes, (number - 1) % processes, 1000), Barrier())
    links = tuple(Link(f"link{n}", 1e-6, 1e9) for n in range(pes))
    network = Network(Star(links), loopback=ours.PLAIN_LINK, contention="fair") if star else ours.NO_MESSAGES
    places = tuple((number * pes // processes).tolist())
    peaks = np.random.default_rng(2).uniform(1e9, 2e9, pes)
    program = Program.everywhere(processes, (Loop(steps, body),))
    return ours.one(Platform(ours.pes(peaks), network), program, places)


def seconds(make, samples=5):
    """Median time of building and simulating, the first one not counted."""

    def once():
        begun = time.process_time()
        simulator.run(make(), engine="compiled")
        return time.process_time() - begun

    once()
    return median(once() for _ in range(samples))


@pytest.mark.parametrize("kind", ["alone", "shared PEs", "flows"])
def test_cost_grows_linearly_with_processes_and_operations(kind):
    times = [
        seconds(lambda p=p: neighbours(p, steps=20, pes=p // 2 if kind == "shared PEs" else p, star=kind == "flows"))
        for p in PROCESSES
    ]
    exponent = np.polyfit(np.log(PROCESSES), np.log(times), 1)[0]
    print(f"{kind}: {[f'{t * 1e3:.3g} ms' for t in times]}, exponent {exponent:.3f}")
    assert exponent <= EXPONENT


def posting(steps, *, star, placements=1):
    """Sixteen processes in a ring that post, compute and wait, `steps` times, as columns; on PEs in random orders."""
    me, draws = np.arange(16), np.random.default_rng(1)
    posts = PostRecv((me - 1) % 16, 0), PostSend((me + 1) % 16, 1000, 1)
    body = (*posts, Compute(draws.uniform(1e3, 1e5, (steps, 16)), 1.0), Wait(0), Wait(1))
    columns = assemble(Program.everywhere(16, (Loop(steps, body),)))
    links = tuple(Link(f"link{n}", 1e-6, 1e9) for n in range(16))
    network = Network(Star(links), loopback=ours.PLAIN_LINK, contention="fair" if star else "none")
    made = ours.one(
        Platform(ours.pes(draws.uniform(1e9, 2e9, 16)), network),
        Program(((),) * 16, (0,) * 16, assembled=columns),
        tuple(me.tolist()),
    )
    orders = [Configuration(f"c{n}", (1,) * 16, tuple(draws.permutation(16).tolist())) for n in range(placements)]
    return replace(made, configurations=tuple(orders)), columns.kind.size


@pytest.mark.parametrize("star", [False, True])
def test_a_million_actions_of_posts_and_waits_take_at_most_a_second(star):
    made, actions = posting(12_500, star=star)
    taken = seconds(lambda: made)
    print(f"{actions / taken / 1e6:.1f} million actions per second")
    assert actions == 1_000_000
    assert taken <= 1


@pytest.mark.parametrize("star", [False, True])
def test_a_hundred_placements_of_300_000_actions_take_at_most_15_seconds(star):
    made, actions = posting(3750, star=star, placements=100)
    taken = seconds(lambda: made, samples=1)
    print(f"{100 * actions / taken / 1e6:.1f} million actions per second")
    assert taken <= 15


MANY = """
from pathlib import Path
from tests.benchmarks.test_engine_speed import neighbours
import simulator
simulator.run(neighbours(100_000, steps=33), engine="compiled")
print(next(int(line.split()[1]) * 1024 for line in Path("/proc/self/status").open() if line.startswith("VmHWM")))
"""


def test_a_hundred_thousand_pes_fit_into_two_gigabytes():
    done = subprocess.run([sys.executable, "-c", MANY], capture_output=True, text=True, check=True, cwd=ROOT)
    print(f"peak {int(done.stdout) / 1e9:.2f} GB")
    assert int(done.stdout) <= MANY_PES_BYTES
