"""What changes nothing of a cluster, or only adds to it, does not make its advice worse; more cases in the study."""

import pytest

from tests.support.advice_judged import changed, violated

CASES = 10
"""The study has more: `python -m tests.studies.advice_study changes`."""


@pytest.mark.slow
@pytest.mark.parametrize("number", range(CASES))
def test_the_best_compared_is_as_good_after_changes_that_must_not_matter(number):
    assert not violated(changed(number))
