"""The SimPy engine against a simulator that follows the rules tick by tick, on random programs."""

import pytest
from hypothesis import assume, given, settings

from tests.support.programs import scenarios
from tests.support.stepwise import check_one
from tests.support.stepwise_oracle import TooLongError


@pytest.mark.slow
@given(scenarios())
@settings(max_examples=75, deadline=None, derandomize=True)
def test_both_find_the_same_ticks(case):
    made, draws = case
    try:
        check_one(made, draws)
    except TooLongError:
        assume(False)
