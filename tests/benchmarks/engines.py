"""Which engines the benchmark times: each a function from a scenario to its makespan in seconds."""

from collections.abc import Callable
from functools import partial

from tests.benchmarks import ours, plain_simpy
from tests.benchmarks.scenarios import Scenario

IN_PROCESS: dict[str, Callable[[Scenario], float]] = {
    "compiled": partial(ours.makespan, engine="compiled"),
    "process": partial(ours.makespan, engine="process"),
    "simpy": plain_simpy.run,
}
"""Name -> function. The harness times a whole call, that is building the engine's own form of the scenario and
simulating it, after one call that is not counted. An `UnsupportedProgram` leaves the engine out of that scenario."""
