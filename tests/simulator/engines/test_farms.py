"""Farms under chunk rules: both engines and the reader that goes tick by tick on random programs, and cases by hand."""

import os

import pytest
from hypothesis import HealthCheck, given, seed, settings

from tests.support.programs import farming
from tests.support.stepwise import check_three

EXAMPLES = int(os.environ.get("APPORTION_EXAMPLES", "25"))
MANY, AT_ONCE = 500, 100
quick = settings(max_examples=EXAMPLES, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))


@given(farming())
@quick
def test_three_readings_of_farms_agree(case):
    check_three(*case)


@pytest.mark.slow
@pytest.mark.parametrize("number", range(MANY // AT_ONCE))
def test_three_readings_of_hundreds_of_farms_agree(number):
    @seed(number)
    @given(farming())
    @settings(quick, max_examples=AT_ONCE, derandomize=False, database=None)
    def some(case):
        check_three(*case)

    some()
