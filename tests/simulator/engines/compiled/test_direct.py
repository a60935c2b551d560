"""The compiled engine where nothing is shared: against the process engine, closed forms, and itself on more threads."""

import numpy as np
import pytest

from simulator import run
from simulator.base.errors import ApportionError, ScenarioError, SimulationError, TraceError, UnsupportedProgram
from simulator.engines import process
from simulator.engines.compiled import direct
from simulator.engines.compiled import run as compiled
from simulator.engines.costs import TickOverflowError
from simulator.models.network import LinkModel
from simulator.platform.networks import Network
from simulator.platform.nodes import Platform
from simulator.programs.configuration import Configuration
from simulator.programs.program import Broadcast, Compute, Custom, Delay, Loop, Program, Recv, Send
from simulator.scenario_file.scenario import Application, Scenario
from simulator.scenario_file.truths import draw
from tests.support.platforms import band, pe, trace

TICK = 1e-12


def written(program, *, pes=None, latency=10, eager_bytes=0, replications=1, configurations=None):
    """A scenario of a program, one process per PE; a unit of volume and a byte take a tick each."""
    count = len(program.operations)
    pes = pes or [pe(f"pe{i}", 1e12) for i in range(count)]
    network = Network.uniform(LinkModel.from_latency(latency * TICK, 1e12), eager_bytes=eager_bytes)
    configurations = configurations or (Configuration.one_each("c0", (1,) * count),)
    application = Application.of_program(program, kernel="dgemm")
    return Scenario(Platform(tuple(pes), network), application, configurations, replications)


def program(*rows, polls=False):
    return Program(tuple(rows), (0,) * len(rows), polls)


def outcome(engine, scenario, **options):
    """Everything that a run says, or its error."""
    try:
        runs = engine.run(scenario, draw(scenario), tick_s=TICK, **options)
    except ApportionError as error:
        return type(error), error.lines
    except TickOverflowError:
        return TickOverflowError
    times = [[array.tolist() for array in part] for part in (runs.computed_ticks, runs.busy_ticks, runs.finish_ticks)]
    return runs.makespan_ticks.tolist(), times, runs.logs


def compute(ticks):
    return Compute(float(ticks), 1.0)


def test_many_channels_are_told_apart():
    """More channels than places in the table: from two senders, a tag each, received in another order."""
    order = np.random.default_rng(3).permutation(40).tolist()
    receiver = [operation for tag in order for operation in (Recv(1, tag), Delay(TICK), Recv(0, tag))]
    senders = [[Send(2, 1 + (7 * tag + 13 * sender) % 50, tag) for tag in range(40)] for sender in (0, 1)]
    made = written(program(*map(tuple, (*senders, receiver))), eager_bytes=99)
    found = outcome(compiled, made, log_replications=1)
    assert found == outcome(process, made, log_replications=1)
    assert not isinstance(found[0], type)


def test_any_number_of_threads_gives_the_same(monkeypatch):
    monkeypatch.setattr(direct, "ALONE", 0)
    load = trace(np.arange(50) * 1e-11, np.arange(50) % 3, 5e-10)
    pes = [pe(f"pe{i}", band(0.5e12, 1e12, 2e12), load) for i in range(3)]
    ring = program(*[(Loop(10, (compute(30), Broadcast(0, 5))),)] * 3)
    orders = [(0, 1, 2), (1, 2, 0), (2, 1, 0)]
    configurations = tuple(Configuration(f"c{i}", (1, 1, 1), order) for i, order in enumerate(orders))
    made = written(ring, pes=pes, replications=7, configurations=configurations)
    alone, many = (outcome(compiled, made, threads=threads, log_replications=1) for threads in (1, 5))
    assert alone == many == outcome(process, made, log_replications=1)
    assert len({tick for row in alone[0] for tick in row}) > 10


@pytest.mark.parametrize("large", [0, 10**9])
def test_programs_side_by_side_or_one_after_another_give_the_same(large, monkeypatch):
    """Small blocks share the threads, a large one has them all; here each number of processes is a block."""
    monkeypatch.setattr(compiled, "LARGE", large)
    load = trace(np.arange(50) * 1e-11, np.arange(50) % 3, 5e-10)
    pes = [pe(f"pe{i}", 1e12, load) for i in range(5)]
    stencil = Application("stencil", kernel="dgemm", parameters={"n": 60, "iterations": 3})
    counts = enumerate((5, 1, 4, 2, 3, 5))
    configurations = tuple(Configuration(f"c{place}", (60 // n,) * n, tuple(range(n))) for place, n in counts)
    network = Network.uniform(LinkModel.from_latency(10 * TICK, 1e12))
    made = Scenario(Platform(tuple(pes), network), stencil, configurations, 7)
    alone, many = (outcome(compiled, made, threads=threads, log_replications=1) for threads in (1, 3))
    assert alone == many == outcome(process, made, log_replications=1)


def test_the_first_run_with_a_fault_decides():
    ends = trace([0], [0], 50 * TICK, "error")
    places = (Configuration("fine", (1, 1), (0, 1)), Configuration("late", (1, 1), (1, 0)))
    made = written(
        program((compute(60),), (compute(40),)), pes=[pe("a", 1e12), pe("b", 1e12, ends)], configurations=places
    )
    with pytest.raises(TraceError, match="it ends before the run does"):
        run(made, engine="compiled")
    held = trace([0], [1], 50 * TICK, "hold")
    made = written(program((Recv(1),), (compute(40), Recv(0))), pes=[pe("a", 1e12), pe("b", 1e12, held, "idle")])
    with pytest.raises(SimulationError, match="PE b: its load leaves nothing for ever"):
        run(made, engine="compiled")


def test_very_long_runs_restart_with_a_coarser_tick():
    slow = [pe("a", 1.0), pe("b", 1.0)]
    made = written(program((compute(4e6), Send(1, 1)), (Recv(0), compute(4e6))), pes=slow)
    runs = run(made, engine="compiled")
    assert (runs.tick_s, runs.engine) == (1e-9, "compiled")
    assert runs.makespan_ticks[0, 0] == pytest.approx(8e15, abs=4)


def test_operations_of_the_users_own_are_refused_by_name():
    made = written(program((Custom("think"),)))
    with pytest.raises(UnsupportedProgram, match="the operation 'think' of your own found, the engine process does it"):
        run(made, engine="compiled")
    with pytest.raises(UnsupportedProgram, match="operations or sharing of your own found"):
        run(written(program((compute(1),))), engine="compiled", operations={"think": None})
    with pytest.raises(ScenarioError, match="think"):
        run(made, engine="auto")
