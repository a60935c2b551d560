"""Units within the memory of nodes, and where a search begins."""

import pytest

from advisor.advise.space import Space
from simulator import Configuration
from tests.support.advice_cases import loaded


def scenario(folder, name, parameters, memory):
    """A node without a limit, and a faster one with so much memory, two cores each."""
    slow, fast = ({"pes": [{"cores": 2, "speeds": {"k": f"{speed} Mflop/s"}}], "name": f"n{speed}"} for speed in (1, 3))
    document = {
        "format": 1,
        "platform": {
            "nodes": [slow, fast | {"memory": memory, "swap": "0B"}],
            "network": {
                "topology": "star",
                "link": {"latency": "20us", "bandwidth": "1GB/s"},
                "loopback": {"latency": "1us", "bandwidth": "5GB/s"},
            },
        },
        "application": {"name": name, "kernel": "k", "parameters": parameters},
        "configurations": {"as-now": {"partition": "equal", "pes": ["n1"]}},
    }
    return loaded(document, folder)


@pytest.fixture
def stencil(tmp_path):
    """Memory of the faster node holds 38 of 200 rows, in two strips."""
    return scenario(tmp_path, "stencil", {"n": 200, "iterations": 5}, "128000B")


def test_units_that_memory_does_not_hold_are_done_by_others(stencil):
    made = Space(stencil).divided((0, 0, 1, 1))
    assert made.partition == (81, 81, 19, 19)
    assert stencil.lacking_bytes(made) == 0
    assert stencil.lacking_bytes(Configuration("more", (81, 80, 20, 19), made.placement)) > 0


def test_the_node_that_holds_all_keys_has_the_first_process(tmp_path):
    sort = scenario(tmp_path, "sort", {"n": 10_000}, "100000B")
    made = Space(sort).divided((1, 1, 0, 0))
    assert made.placement == (0, 0, 1, 1)
    assert sort.lacking_bytes(made) == 0


def test_the_order_of_ranks_in_a_file_does_not_decide_where_a_search_begins(stencil):
    space = Space(stencil)
    for ranks in ((0, 1, 0, 1), (1, 0, 0, 1)):
        units = tuple(10 + 5 * pe for pe in ranks)
        made = space.in_order(Configuration("mine", (170 - sum(units), *units), (0, *ranks)))
        assert made.placement == (1, 1, 0, 0, 0)  # the faster node first
        assert sorted(made.partition[:2]) == [15, 15]
    grid = Configuration("grid", (100, 100), (0, 1), (1, 2))
    assert space.in_order(grid) is grid
