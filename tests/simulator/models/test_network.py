import numpy as np
import pytest

from simulator.base.errors import ScenarioError
from simulator.models.network import LinkModel, fit_link


def test_latency_and_bandwidth():
    link = LinkModel.from_latency(1e-5, 1e9)
    assert link.time_s([0, 1000, 10**9]) == pytest.approx([1e-5, 1.1e-5, 1.00001])


def test_knots_lines_and_the_last_slope():
    link = LinkModel(np.array([10.0, 20.0, 40.0]), np.array([1.0, 2.0, 8.0]))
    assert link.time_s([0, 10, 15, 30, 50]) == pytest.approx([1, 1, 1.5, 5, 11])


def test_measured_times_that_decrease_are_pooled():
    assert fit_link([1, 2, 3], [2.0, 1.0, 5.0]).times_s.tolist() == [1.5, 1.5, 5.0]


@pytest.mark.parametrize(("sizes", "times"), [([1], [1]), ([2, 1], [1, 1]), ([1, 2], [2, 1]), ([1, 2], [0, 1])])
def test_what_is_no_link_is_refused(sizes, times):
    with pytest.raises(ScenarioError, match="link"):
        LinkModel(np.array(sizes, dtype=float), np.array(times, dtype=float))


def test_a_link_that_is_known_is_the_same_in_every_truth():
    link = LinkModel.from_latency(1e-5, 1e9)
    assert link.drawn(2.0).time_s([0, 1000, 10**9]).tolist() == link.time_s([0, 1000, 10**9]).tolist()
