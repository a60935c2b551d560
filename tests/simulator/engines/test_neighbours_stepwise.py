"""Sharing domains: the SimPy engine, and the compiled one, against the reader that goes tick by tick."""

import os
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, assume, given, seed, settings

from simulator.base.errors import ApportionError
from simulator.engines import process
from simulator.engines.compiled import run as compiled
from simulator.engines.costs import TickOverflowError
from tests.support.programs import with_domains
from tests.support.stepwise import TICK, check_one
from tests.support.stepwise_oracle import TooLongError

EXAMPLES = int(os.environ.get("APPORTION_EXAMPLES", "25"))
MANY, AT_ONCE = 500, 100
quick = settings(max_examples=EXAMPLES, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))


def outcome(engine, made, draws):
    try:
        runs = engine(made, draws, tick_s=TICK, log_replications=made.replications)
    except (ApportionError, TickOverflowError) as fault:
        return type(fault).__name__, getattr(fault, "lines", ())
    logs = {
        key: sorted((e.process, e.index, e.start_ticks, e.end_ticks) for e in log) for key, log in runs.logs.items()
    }
    arrays = (runs.makespan_ticks, *runs.computed_ticks, *runs.busy_ticks, *runs.finish_ticks)
    return logs, [values.tolist() for values in arrays]


def check_all(case):
    made, draws = case
    expected = outcome(process.run, made, draws)
    assert outcome(compiled.run, made, draws) == expected
    if expected[0] == "ScenarioError":  # no program: a farm whose processes do not agree on it
        return
    try:
        check_one(made, draws)
    except TooLongError:
        assume(False)


@given(with_domains())
@quick
def test_three_readings_of_sharing_domains_agree(case):
    check_all(case)


@pytest.mark.slow
@pytest.mark.parametrize("number", range(MANY // AT_ONCE))
def test_three_readings_of_hundreds_of_programs_agree(number):
    """In parts that begin again: a long search of Hypothesis comes to stay among small programs without domains."""

    @seed(number)
    @given(with_domains())
    @settings(quick, max_examples=AT_ONCE, derandomize=False, database=None)
    def some(case):
        check_all(case)

    some()


@given(with_domains())
@settings(quick, max_examples=20)
def test_without_logs_and_with_replications_that_start_alike(case):
    """What the compiled engine does once for all that come out alike is what each would be."""
    made, draws = case
    made = replace(made, replications=1)
    results = [outcome(engine.run, made, draws)[-1] for engine in (process, compiled)]
    assert results[0] == results[1]
