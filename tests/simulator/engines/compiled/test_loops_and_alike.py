"""Loops that are rolled up and replications that are done once: the same ticks as the reference engine's."""

import numpy as np
import pytest

from simulator.base.errors import ApportionError
from simulator.engines import process
from simulator.engines.compiled import alike
from simulator.engines.compiled import run as compiled
from simulator.engines.compiled.workspace import rolled
from simulator.engines.costs import TickOverflowError
from simulator.models.network import LinkModel
from simulator.platform.networks import Link, Network, Star
from simulator.platform.nodes import PE, Load, Platform
from simulator.programs.assembly import assemble
from simulator.programs.configuration import Configuration
from simulator.programs.program import ANY, Barrier, Compute, Exchange, Loop, Program, Recv, Send
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


def test_the_loop_of_a_program_is_kept_once():
    columns = assemble(Program((*step(np.random.default_rng(1), 3),), (0,) * 3))
    found = rolled(columns)
    assert found.turns.tolist() == [TURNS - 1] * 3
    assert found.times.sum() == columns.kind.size
    assert found.columns.kind.tolist() == columns.kind[found.row].tolist()


def test_calm_replications_are_done_once(monkeypatch):
    """A load that leaves a whole core for most of its trace: only replications that meet the rest are done."""
    done = []
    real = alike._part
    monkeypatch.setattr(alike, "_part", lambda *a: done.append(np.size(a[2])) or real(*a))
    made = scenario(3, values=[0.0, 0.0, 0.0, 9.0], length=10_000_000)
    made = Scenario(made.platform, made.application, made.configurations, 30, 5)
    assert outcome(compiled, made) == outcome(process, made)
    assert done
    assert sum(done) < 2 * 30


@pytest.mark.parametrize("seed", range(2))
def test_a_calm_stretch_ends_to_the_tick_where_the_load_begins(seed):
    rng = np.random.default_rng(seed)
    times = np.cumsum([0, *rng.integers(1, 60, 7)])
    values = rng.choice([0.0, 1.0, 2.0], 7)
    for after_end in ("cycle", "hold", "error"):
        load = Load(trace(times[:-1] * TICK, values, float(times[-1] * TICK), after_end), "fair")
        for start in range(int(times[-1])):
            found = int(alike._calm_for(load, np.array([start]), 2, 3, TICK)[0])
            shown = [
                values[np.searchsorted(times, t % times[-1], side="right") - 1] for t in range(start, 2 * times[-1])
            ]
            if after_end == "hold":
                shown[times[-1] - start :] = [values[-1]] * times[-1]
            elif after_end == "error":
                shown[times[-1] - start :] = [9.0] * times[-1]
            calm = next((t for t, value in enumerate(shown) if value > 1), None)
            assert (found == calm) if calm is not None else found >= len(shown) or found > 10**12
