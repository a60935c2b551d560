"""Queues against theory: M/M/1 and M/D/1, at a disk that serves in turn and on a PE that all share."""

import numpy as np
import pytest

from simulator.engines import process
from simulator.models.network import LinkModel
from simulator.platform.networks import Link, Network, Star
from simulator.platform.nodes import PE, Node, Platform
from simulator.programs.configuration import Configuration
from simulator.programs.program import Compute, Program, ReadWrite, WaitUntil
from simulator.scenario_file.scenario import Application, Scenario
from simulator.scenario_file.truths import draw
from tests.support.platforms import flat

JOBS, LOAD, BATCHES, WARM_UP = 6_000, 0.6, 30, 0.1
STUDENT_999 = 3.66
"""Quantile for 30 batches, two-sided 99.9 %: the seed is fixed, theory lies inside or it does not."""


def times_in_system(operation, rng):
    """Seconds from arrival to end of each job; service takes 1 s on average."""
    arrivals = np.cumsum(rng.exponential(1 / LOAD, JOBS))
    network = Network(Star((Link("unused", 0.0, 1.0),)), loopback=LinkModel.from_latency(1.0, 1.0), contention="fifo")
    platform = Platform((PE("pe", "n", {"k": flat(1e6)}),), network, (Node("n", disk=Link("disk", 0.0, 1e6)),))
    program = Program.everywhere(JOBS, (WaitUntil(arrivals), operation))
    every = Configuration("c", (1,) * JOBS, (0,) * JOBS)
    made = Scenario(platform, Application.of_program(program, kernel="k"), (every,), 1)
    runs = process.run(made, draw(made), tick_s=1e-9)
    return runs.finish_ticks[0][0] * runs.tick_s - arrivals


def inside(times, expected):
    """Whether theory lies in the confidence interval of the batch means."""
    means = times[int(WARM_UP * JOBS) :].reshape(BATCHES, -1).mean(axis=1)
    half = STUDENT_999 * means.std(ddof=1) / np.sqrt(BATCHES)
    assert half < 0.35 * expected
    return abs(means.mean() - expected) < half


@pytest.mark.parametrize("where", ["disk", "pe"])
@pytest.mark.parametrize("service", ["exponential", "constant"])
def test_time_in_system(where, service):
    """In turn: W = 1 + rho/(1-rho) (M/M/1), 1 + rho/(2 (1-rho)) (M/D/1); shared: 1/(1-rho), whatever the service."""
    rng = np.random.default_rng(11)
    amount = rng.exponential(1e6, JOBS) if service == "exponential" else np.full(JOBS, 1e6)
    operation = ReadWrite(np.rint(amount).astype(np.int64)) if where == "disk" else Compute(amount, 1.0)
    in_turn = 1 + LOAD / (1 - LOAD) / (1 if service == "exponential" else 2)
    expected = in_turn if where == "disk" else 1 / (1 - LOAD)
    assert inside(times_in_system(operation, rng), expected)
