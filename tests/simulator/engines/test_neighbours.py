"""Sharing domains by closed forms, to the tick, in both engines."""

from fractions import Fraction
from math import ceil

import numpy as np
import pytest

from simulator.engines import process
from simulator.engines.compiled import run as compiled
from simulator.models.load import LoadTrace
from simulator.models.memory import MemoryLevel, MemoryUse
from simulator.models.neighbours import Bandwidth, KernelUses, Occupancy, ShareTable, SharingDomain, Use
from simulator.models.network import LinkModel
from simulator.models.speed import SpeedBand
from simulator.platform.networks import Network
from simulator.platform.nodes import PE, Load, Node, Platform
from simulator.programs.configuration import Configuration
from simulator.programs.program import Compute, Delay, Farm, Program, Recv, Send
from simulator.scenario_file.scenario import Application, Scenario
from simulator.scenario_file.truths import Draws

ENGINES = pytest.mark.parametrize("engine", [process, compiled])
TICK = 1e-9
FULL = 2**30


def scenario(rows, domains, *, uses=None, loads=(), cores=1, places=None, polls=False, levels=(), memory=None):
    """Processes of speed 1 unit/s on PEs of one node, one on each unless `places` says otherwise."""
    places = tuple(range(len(rows))) if places is None else places
    count = max([*places, *(pe for domain in domains for pe in domain.pes)]) + 1
    loads = (*loads, *[None] * (count - len(loads)))
    pes = tuple(PE(f"pe{i}", "n", {"k": SpeedBand.constant(1.0)}, loads[i], cores=cores) for i in range(count))
    node = Node("n", uses={} if uses is None else {"k": uses}, levels=levels)
    platform = Platform(pes, Network.uniform(LinkModel.from_latency(1.0, 1e9)), (node,), tuple(domains))
    program = Program(tuple(rows), (80,) * len(rows), polls)
    application = Application("program", "k", {}, written=program, memory=memory)
    return Scenario(platform, application, (Configuration("c", (1,) * len(rows), places),), 1)


def finishes(made, engine):
    count = len(made.platform.pes)
    return (
        engine.run(made, Draws(np.zeros((1, count)), np.full((1, count), 0.5)), tick_s=TICK).finish_ticks[0][0].tolist()
    )


def ticks(seconds, share=FULL):
    """Of so much work at a share."""
    return ceil(Fraction(round(seconds / TICK) * FULL, share))


def table(kind, *shares, pes):
    return SharingDomain(kind, kind, kind, tuple(pes), ShareTable((1.0, *shares)))


STREAM = KernelUses(np.array([1.0]), {"memory": np.array([8e9])}, {"memory": np.array([1.0])})


@ENGINES
def test_two_on_one_channel_with_offset_starts(engine):
    """8 GB/s each of 10: alone 10 s; B starts 4 s later; both lose while both compute, and then A has ended."""
    law = Bandwidth(10e9, 4.0)
    kept = round(float(law.kept(Use(8e9, 1.0), 8e9)) * FULL)
    made = scenario(
        [(Compute(10, 1),), (Delay(4), Compute(10, 1))],
        [SharingDomain("memory", "m", "memory", (0, 1), law)],
        uses=STREAM,
    )
    first = ticks(4) + ticks(6, kept)
    left = ticks(10) * FULL - kept * (first - ticks(4))
    assert finishes(made, engine) == [first, first + ceil(Fraction(left, FULL))]
    assert 0.625 * FULL < kept < 0.7 * FULL


@ENGINES
def test_three_on_a_clock(engine):
    """1, 0.9, 0.7 of the clock: three until the first ends (2 s of work), then two, then one."""
    made = scenario([(Compute(v, 1),) for v in (2, 4, 5)], [table("clock", 0.9, 0.7, pes=range(3))])
    three, two = round(0.7 * FULL), round(0.9 * FULL)
    first = ticks(2, three)
    second = first + ceil(Fraction(ticks(4) * FULL - three * first, two))
    left = ticks(5) * FULL - three * first - two * (second - first)
    assert finishes(made, engine) == [first, second, second + ceil(Fraction(left, FULL))]


@ENGINES
def test_a_load_on_a_sibling_is_felt_by_its_trace(engine):
    """The sibling is free for 3 s, half busy for 2 s, then busy: 0.6 with two, so 0.8 beside half a load."""
    load = Load(LoadTrace(np.array([0.0, 3.0, 5.0]), np.array([0.0, 0.5, 1.0]), 100.0, "hold"), "fair")
    made = scenario([(Compute(10, 1),)], [table("core", 0.6, pes=(0, 1))], loads=(None, load))
    left = ticks(10) * FULL - FULL * ticks(3) - round(0.8 * FULL) * ticks(2)
    assert finishes(made, engine) == [ticks(5) + ceil(Fraction(left, round(0.6 * FULL)))]


@ENGINES
def test_a_load_of_three_presses_as_the_one_core_that_it_has(engine):
    load = Load(LoadTrace(np.array([0.0]), np.array([3.0]), 100.0, "hold"), "fair")
    made = scenario([(Compute(10, 1),)], [table("core", 0.6, 0.5, pes=(0, 1))], loads=(None, load))
    assert finishes(made, engine) == [ticks(10, round(0.6 * FULL))]


@ENGINES
def test_a_short_neighbour_costs_what_it_overlaps(engine):
    """Two of 80 bytes on a cache of 100, 2 accesses a unit: 4 s a unit more, for as long as both compute."""
    levels = (MemoryLevel("L3", 100, 1.0, 0, shared=True), MemoryLevel("RAM", 0, 5.0, 0))
    made = scenario([(Compute(10, 1),), (Compute(0.1, 1),)], [], levels=levels, memory=MemoryUse(2.0, 1.0))
    lost = 2 * (1 - 50 / 80) * 4
    kept = round(FULL / (1 + lost))
    short = ticks(0.1, kept)
    assert finishes(made, engine) == [short + ticks(10) - kept * short // FULL, short]
    always = scenario([(Compute(10, 1),)] * 2, [], levels=levels, memory=MemoryUse(2.0, 1.0))
    assert finishes(always, engine)[0] * TICK == pytest.approx(10 * (1 + lost), rel=2e-9)


@ENGINES
def test_two_processes_of_one_core_do_not_slow_each_other_as_siblings(engine):
    """They take turns; a third on the sibling core feels one of them at a time."""
    rows = [(Compute(2, 1),), (Compute(2, 1),), (Compute(2, 1),)]
    domain = table("core", 0.5, 0.4, pes=(0, 1))
    assert finishes(scenario(rows[:2], [domain], places=(0, 0)), engine) == [ticks(4)] * 2
    alone, _, sibling = finishes(scenario(rows, [domain], places=(0, 0, 1)), engine)
    assert sibling == ticks(4)
    assert alone == ticks(6), "half of a half until 4 s, then half of all"


@ENGINES
def test_who_polls_presses_on_a_core_and_on_no_channel(engine):
    rows = [(Compute(10, 1), Send(1, 1)), (Recv(0),)]
    memory = SharingDomain("memory", "m", "memory", (0, 1), Bandwidth(8e9))
    for polls, kind in ((False, "core"), (True, "core"), (True, "memory")):
        domain = table("core", 0.5, pes=(0, 1)) if kind == "core" else memory
        found = finishes(scenario(rows, [domain], polls=polls, uses=STREAM), engine)
        assert found[0] - finishes(scenario(rows, []), engine)[0] == (ticks(10) if polls and kind == "core" else 0)


@ENGINES
def test_shares_of_several_domains_multiply_and_chunks_of_farms_press(engine):
    farm = Farm(np.full(4, 2.0), 1.0, 1, 1.0, (1,))
    made = scenario([(Compute(100, 1),), (farm,)], [table("core", 0.5, pes=(0, 1)), table("clock", 0.7, pes=(0, 1))])
    both = round(0.5 * FULL) * round(0.7 * FULL) // FULL
    chunk = ticks(2, both)
    assert finishes(made, engine) == [
        ticks(100) - (4 * chunk * both - 4 * chunk * FULL) // FULL,
        4 * chunk + 5 * ticks(1),
    ]


@ENGINES
def test_cores_of_one_pe_share_what_its_domains_have(engine):
    law = Occupancy(100.0)
    uses = KernelUses(np.array([1.0]), {"L3": np.array([100.0])}, {"L3": np.array([1.0])})
    made = scenario(
        [(Compute(10, 1),)] * 2, [SharingDomain("cache", "L3", "L3", (0,), law)], uses=uses, cores=2, places=(0, 0)
    )
    assert finishes(made, engine) == [ticks(10, round(FULL / 1.5))] * 2


def test_a_kernel_of_which_nothing_is_known_is_told():
    memory = SharingDomain("memory", "m", "memory", (0, 1), Bandwidth(8e9))
    made = scenario([(Compute(10, 1),)] * 2, [memory])
    assert finishes(made, process) == [ticks(10)] * 2
    assert any(line.startswith("m: what k takes there is not known") for line in made.warnings)
    assert not scenario([(Compute(10, 1),)] * 2, [memory], uses=STREAM).warnings
