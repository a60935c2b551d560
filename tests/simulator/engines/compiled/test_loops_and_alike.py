"""Loops that are rolled up and replications that are done once: the same ticks as the reference engine's."""

from dataclasses import replace

import numpy as np
import pytest

from simulator.base.errors import ApportionError
from simulator.engines import process
from simulator.engines.compiled import run as compiled
from simulator.engines.costs import TickOverflowError, lower
from simulator.models.network import LinkModel
from simulator.platform.networks import Link, Network, Star
from simulator.platform.nodes import PE, Load, Platform
from simulator.programs.configuration import Configuration
from simulator.programs.program import (
    ANY,
    NOBODY,
    AllReduce,
    Barrier,
    Broadcast,
    Compute,
    Delay,
    Exchange,
    Loop,
    Program,
    Recv,
    Send,
)
from simulator.scenario_file.scenario import Application, Scenario
from simulator.scenario_file.truths import draw
from tests.support.platforms import flat, trace

TICK = 1e-12
TURNS = 40


def step(rng, count):
    """One turn of a loop: work, a ring, maybe a barrier or messages to the first process from anyone."""
    me = np.arange(count)
    work = Compute(rng.integers(1, 40, count).astype(float), 1.0)
    ring = Exchange((me + 1) % count, (me - 1) % count, int(rng.integers(0, 30)))
    extra = Send(0, 20), Recv(ANY), Barrier()
    kind = int(rng.integers(0, 3))
    rows = []
    for number in range(count):
        row = (work, ring)
        if kind == 1:
            row += (extra[2],)
        elif kind == 2 and count > 1:
            row += (extra[1],) * (count - 1) if number == 0 else (extra[0],)
        rows.append((work, Loop(TURNS, row), Barrier()))
    return tuple(rows)


def scenario(seed, *, values=None, length=None):
    rng = np.random.default_rng(seed)
    count = int(rng.integers(2, 6))
    values = rng.choice([0.0, 0.0, 0.4, 1.0, 2.0, 3.3], 6) if values is None else np.asarray(values)
    lengths = rng.integers(1, int(length or rng.choice([9, 500, 20_000])), values.size)
    times = np.cumsum([0, *lengths]) * TICK
    after_end = str(rng.choice(["cycle", "cycle", "hold"]))
    load = Load(trace(times[:-1], values, float(times[-1]), after_end), str(rng.choice(["fair", "idle"])))
    pes = (
        PE("busy", "n0", {"k": flat(1e12)}, load, cores=int(rng.integers(2, 5))),
        PE("idle", "n1", {"k": flat(0.7e12)}, cores=4),
    )
    links = tuple(Link(f"l{n}", 2 * TICK, 1e12) for n in range(2))
    contention = str(rng.choice(["none", "fifo", "fair"]))
    loopback = LinkModel.from_latency(2 * TICK, 1e12)
    network = Network(Star(links), loopback=loopback, contention=contention, eager_bytes=int(rng.choice([0, 25])))
    places = tuple(Configuration(f"c{n}", (1,) * count, tuple(rng.integers(0, 2, count).tolist())) for n in range(2))
    program = Program(step(rng, count), (0,) * count, polls=bool(rng.integers(0, 2)))
    return Scenario(Platform(pes, network), Application.of_program(program, kernel="k"), places, 4, seed)


def outcome(engine, made, **options):
    try:
        runs = engine.run(made, draw(made), tick_s=TICK, **options)
    except (ApportionError, TickOverflowError) as error:
        return type(error), str(error)
    times = (*runs.computed_ticks, *runs.busy_ticks, *runs.finish_ticks)
    return runs.makespan_ticks.tolist(), [array.tolist() for array in times], runs.logs


@pytest.mark.parametrize("block", [0, *(pytest.param(block, marks=pytest.mark.slow) for block in (1, 2, 3))])
def test_loops_under_changing_loads_end_at_the_same_ticks(block):
    for seed in range(10 * block, 10 * block + 10):
        made = scenario(seed)
        assert outcome(compiled, made) == outcome(process, made), seed
        assert outcome(compiled, made, log_replications=2) == outcome(process, made, log_replications=2), seed


def rows(rng, count):
    """Rows of all sorts of loops: nested, with collectives, with what differs between turns or processes."""
    me = np.arange(count)
    work = Compute(rng.integers(0, 40, count).astype(float), rng.integers(1, 3, count).astype(float))
    ring = Exchange((me + 1) % count, (me - 1) % count, rng.integers(1, 30, count))
    chain = Exchange(np.append(me[1:], NOBODY), np.append(NOBODY, me[:-1]), 7)
    varied = Compute(rng.integers(1, 9, (TURNS, count)).astype(float), 1.0)
    inner = Compute(rng.integers(1, 9, (3, count)).astype(float), 1.0)
    parts = [work, ring, chain, AllReduce(8), Broadcast(0, 20), Broadcast(np.arange(TURNS) % count, 4), varied]
    parts += [Delay(3 * TICK), Loop(3, (inner, ring)), Barrier(), Loop(2, (work, chain))]
    body = tuple(parts[place] for place in rng.permutation(len(parts))[: rng.integers(1, 6)])
    ends = [(), (work,), (ring, Barrier()), (Loop(3, (work,)),)]
    one = (*ends[rng.integers(4)], Loop(TURNS, body), *ends[rng.integers(4)])
    return tuple(one if rng.integers(2) else (*one,) for _ in range(count))  # shared by some


@pytest.mark.parametrize("block", [0, *(pytest.param(block, marks=pytest.mark.slow) for block in (1, 2, 3))])
def test_a_loop_that_is_lowered_once_is_the_whole_one(block):
    """Written out, costs are what lowering all turns gives, and runs end at the same ticks as the reference's."""
    shorter = 0
    for seed in range(25 * block, 25 * block + (25 if block else 10)):
        rng = np.random.default_rng(seed)
        made = scenario(seed)
        count = len(made.configurations[0].placement)
        program = Program(rows(rng, count), (0,) * count, polls=bool(rng.integers(0, 2)))
        made = replace(made, application=Application.of_program(program, kernel="k"))
        for once, whole in zip(*(lower(made, draw(made), tick_s=TICK, once=o) for o in (True, False)), strict=True):
            shorter += once.columns.kind.size < whole.columns.kind.size
            assert once.times.sum() == whole.columns.kind.size
            for name in ("kind", "partner", "source", "tag", "amount", "size", "first"):
                found = getattr(once.written_out.columns, name)
                assert np.array_equal(found, getattr(whole.columns, name)), (seed, name)
            for name in ("ticks", "units", "route", "eager"):
                assert np.array_equal(getattr(once.written_out, name), getattr(whole, name)), (seed, name)
            computes = once.written_out.computation >= 0
            nominal = once.nominal_ticks[..., once.written_out.computation[computes]]
            assert np.array_equal(nominal, whole.nominal_ticks)
        assert outcome(compiled, made) == outcome(process, made), seed
    assert shorter >= (5 if block else 2)


def test_a_fault_names_its_operation_in_the_whole_program():
    """Nobody receives the last message: it is operation 2 x TURNS of the first process, however loops are lowered."""
    two = Configuration("c", (1, 1), (0, 1))
    me = np.arange(2)
    body = Compute(3.0, 1.0), Exchange(1 - me, 1 - me, 20)
    program = Program(((Loop(TURNS, body), Recv(1)), (Loop(TURNS, body),)), (0, 0))
    made = replace(scenario(4), configurations=(two,), application=Application.of_program(program, kernel="k"))
    error, words = outcome(compiled, made)
    assert (error, words) == outcome(process, made)
    assert f"operation {2 * TURNS}" in words
