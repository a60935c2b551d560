"""The compiled engine where nothing is shared: against the process engine, closed forms, and itself on more threads."""

import pytest
from hypothesis import given, settings

from simulator.configuration import Configuration
from simulator.costs import TickOverflowError
from simulator.engines import process
from simulator.engines.compiled import run as compiled
from simulator.errors import ApportionError
from simulator.models.network import LinkModel
from simulator.networks import Network
from simulator.platform import Platform
from simulator.program import Program
from simulator.scenario import Application, Scenario, draw
from tests.simulator.engines.compiled.static_programs import scenarios
from tests.simulator.platforms import pe

TICK = 1e-12


def written(program, *, pes=None, link=None, eager_bytes=0, replications=1, configurations=None):
    """A scenario of a program, one process per PE."""
    count = len(program.operations)
    pes = pes or [pe(f"pe{i}", 1e12) for i in range(count)]
    network = Network.uniform(link or LinkModel.from_latency(10e-12, 1e12), eager_bytes=eager_bytes)
    configurations = configurations or (Configuration.one_each("c0", (1,) * count),)
    application = Application.of_program(program, kernel="dgemm")
    return Scenario(Platform(tuple(pes), network), application, configurations, replications)


def program(*rows):
    return Program(tuple(rows), (0,) * len(rows))


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


@given(scenario=scenarios())
@settings(max_examples=250, deadline=None)
def test_both_engines_say_the_same_of_every_operation(scenario):
    assert outcome(compiled, scenario, log_replications=2) == outcome(process, scenario, log_replications=2)


@pytest.mark.slow
@given(scenario=scenarios())
@settings(max_examples=20_000, deadline=None)
def test_both_engines_say_the_same_of_every_operation_of_many_programs(scenario):
    assert outcome(compiled, scenario, log_replications=2) == outcome(process, scenario, log_replications=2)
