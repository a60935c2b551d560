"""Both engines against the simulator that follows the rules tick by tick, on random programs of several kinds."""

import os
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, seed, settings

from simulator.engines import process
from simulator.engines.compiled import run as compiled
from tests.support.programs import farming, in_turns, scenarios, with_domains, with_quotas
from tests.support.stepwise import check_three, outcome

EXAMPLES = int(os.environ.get("APPORTION_EXAMPLES", "25"))
MANY, AT_ONCE = 500, 100
KINDS = {
    "any": scenarios,
    "posted": lambda: scenarios(posted=8),
    "farms": farming,
    "domains": with_domains,
    "turns": lambda: in_turns(scenarios()),
    "turns and quotas in domains": lambda: in_turns(with_quotas(with_domains)),
    "quotas": lambda: with_quotas(scenarios),
    "quotas of farms": lambda: with_quotas(farming),
    "quotas in domains": lambda: with_quotas(with_domains),
}
quick = settings(max_examples=EXAMPLES, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "any"])
def test_three_readings_agree(kind):
    @given(KINDS[kind]())
    @settings(quick, max_examples=EXAMPLES * (4 if kind == "posted" else 1))
    def some(case):
        check_three(*case)

    some()


@pytest.mark.slow
@pytest.mark.parametrize("number", range(MANY // AT_ONCE))
@pytest.mark.parametrize("kind", KINDS)
def test_three_readings_of_hundreds_of_programs_agree(kind, number):
    """In parts that begin again: a long search of Hypothesis comes to stay among small programs without domains."""

    @seed(number)
    @given(KINDS[kind]())
    @settings(quick, max_examples=AT_ONCE, derandomize=False, database=None)
    def some(case):
        check_three(*case)

    some()


@pytest.mark.slow
@pytest.mark.parametrize("number", range(20))
def test_five_thousand_programs_with_posted_operations_agree(number):
    """On shared PEs with loads, polling or not; messages eager or not, alone, in turn and sharing links."""

    @seed(number)
    @given(scenarios(posted=8))
    @settings(quick, max_examples=250, derandomize=False, database=None)
    def some(case):
        check_three(*case)

    some()


@given(with_domains())
@settings(quick, max_examples=20)
def test_without_logs_and_with_replications_that_start_alike(case):
    """What the compiled engine does once for all that come out alike is what each would be."""
    made, draws = case
    made = replace(made, replications=1)
    results = [outcome(engine.run, made, draws)[-1] for engine in (process, compiled)]
    assert results[0] == results[1]
