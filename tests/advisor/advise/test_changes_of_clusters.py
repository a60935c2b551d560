"""What changes nothing of a cluster, or only adds to it, does not make its advice worse; more cases in the study."""

import copy

import pytest

from tests.support.advice_cases import case
from tests.support.advice_changes import CHANGES
from tests.support.advice_judged import changed, violated

CASES = 10


@pytest.mark.slow
@pytest.mark.parametrize("number", range(CASES))
def test_the_best_compared_is_as_good_after_changes_that_must_not_matter(number):
    assert not violated(changed(number))


def test_a_speed_that_nodes_share_is_scaled_once():
    document, _ = case(30, most_nodes=4, most_cores=3, cores_in_all=6)
    first, second = (node["pes"][0]["speeds"]["k"] for node in document["platform"]["nodes"][:2])
    assert first is second
    before = list(first["speeds"])
    after = CHANGES["all takes four times as long"].apply(copy.deepcopy(document), None)
    for node in after["platform"]["nodes"][:2]:
        assert node["pes"][0]["speeds"]["k"]["speeds"] == [speed / 4 for speed in before]
