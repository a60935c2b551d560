"""What changes nothing of a cluster, or only adds to it, does not make its advice worse."""

import pytest

from tests.support.advice_changes import CHANGES
from tests.support.advice_judged import changed, violated

CASES = 20


@pytest.mark.slow
@pytest.mark.parametrize("name", CHANGES)
def test_the_best_compared_is_as_good_after_a_change_that_must_not_matter(name):
    broken = {number: found for number in range(CASES) if (found := violated(changed(number, (name,))))}
    assert not broken
