"""Both engines on random programs: identical ticks for every operation of every process, and the same errors."""

import os

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from simulator import run
from simulator.errors import ApportionError
from tests.agreement.scenarios import scenarios

EXAMPLES = int(os.environ.get("APPORTION_EXAMPLES", "150"))
MANY = 20_000

quick = settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
thorough = settings(quick, max_examples=MANY, derandomize=False)


def outcome(scenario, engine):
    """Everything that a run says: results with all logs, or the lines of its error."""
    try:
        runs = run(scenario, engine=engine, log_replications=scenario.replications)
    except ApportionError as error:
        return type(error).__name__, error.lines
    logs = {
        key: sorted((e.process, e.index, e.operation, e.start_ticks, e.end_ticks) for e in log)
        for key, log in runs.logs.items()
    }
    arrays = (runs.makespan_ticks, *runs.computed_ticks, *runs.busy_ticks, *runs.finish_ticks)
    return runs.tick_s, logs, [np.asarray(a).tolist() for a in arrays]


def assert_same(scenario):
    assert outcome(scenario, "process") == outcome(scenario, "compiled")


@given(scenario=scenarios())
@quick
def test_random_programs_agree(scenario):
    assert_same(scenario)


@given(scenario=scenarios(careless=True))
@quick
def test_programs_that_may_deadlock_agree(scenario):
    assert_same(scenario)


@pytest.mark.slow
@given(scenario=scenarios())
@thorough
def test_twenty_thousand_random_programs_agree(scenario):
    assert_same(scenario)
