"""HPL with all its phases: operations by hand and in closed form, relative speeds, and what waiting costs others."""

import pytest

from simulator import run
from simulator.base.errors import ScenarioError
from simulator.models.network import LinkModel
from simulator.platform.nodes import Platform
from simulator.programs.applications import build_program, make_work
from simulator.programs.configuration import Configuration
from simulator.scenario_file.scenario import Application, Scenario
from tests.simulator.programs.applications.counts import Counts
from tests.support.collectives import run as follow
from tests.support.platforms import pe, trace

ALL = {"phases": "all"}
SPEED, LATENCY_S, BANDWIDTH = 1e6, 1e-4, 1e6


def counted(parameters, *partition):
    return Counts(build_program("hpl", parameters, Configuration.one_each("c", partition)))


def message_s(size_bytes):
    return LATENCY_S + size_bytes / BANDWIDTH


def simulated(parameters, placement, *pes, engine="auto"):
    platform = Platform.uniform(pes, LinkModel.from_latency(LATENCY_S, BANDWIDTH))
    configuration = Configuration("c", (1,) * len(placement), placement)
    return run(Scenario(platform, Application("hpl", "dgemm", parameters), (configuration,), 1), engine=engine)


def test_all_phases_by_hand():
    """n = 4 in blocks of 2: process 0 has block 0 and, as block 2, the right-hand side; process 1 has block 1.

    | step | by 0 | by 1 | message |
    |---|---|---|---|
    | panel of 4 x 2 | 3 divisions, 3 x 2, 2 divisions = 11 | | 8 (8 + 2 + 1) = 88 from 0 |
    | update, 2 + 2 x 2 x 2 = 10 each column | 10 | 20 | |
    | panel of 2 x 2 | | 1 division, 2 = 3 | 8 (4 + 2 + 1) = 56 from 1 |
    | update, 2 each column | 2 | | 32 (the right-hand side) from 0 |
    | unknowns 2 and 3 | | 4, and 2 x 2 x 2 = 8 for the rows above | 16 from 1 |
    | unknowns 0 and 1 | 4 | | |
    """
    found = counted({"n": 4, "nb": 2} | ALL, 1, 1)
    assert found.volumes == [[11, 10, 2, 4], [20, 3, 4, 8]]
    assert found.sizes == [[8, 4 * 3, 2 * 3, 4], [4 * 4, 4, 4, 4]]
    assert found.messages == {(0, 1): [88, 32], (1, 0): [56, 16]}
    assert found.footprints == [8 * (5 * 3 + 8 + 2 + 1)] * 2


@pytest.mark.parametrize(("n", "nb"), [(1, 1), (7, 1), (22, 4), (24, 4), (5, 9), (30, 7), (1000, 64)])
@pytest.mark.parametrize("partition", [(1,), (1, 0, 1), (2, 3, 1)])
def test_all_operations_are_those_that_hpl_counts(n, nb, partition):
    """2/3 n**3 + 3/2 n**2, less 7/6 n, whatever the blocks and whoever has them."""
    if sum(partition) > max(-(-n // nb), len(partition)):
        return
    expected = 2 / 3 * n**3 + 3 / 2 * n**2 - 7 / 6 * n
    assert counted({"n": n, "nb": nb} | ALL, *partition).volume.sum() == pytest.approx(expected, rel=1e-12)
    assert make_work("hpl", {"n": n, "nb": nb} | ALL).volume == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("phases", ["main", "all"])
def test_a_slow_panel_counts_as_more(phases):
    fast, slow = (
        counted({"n": 6, "nb": 2, "phases": phases, "panel_speed": speed}, 1, 1).volumes for speed in (1.0, 0.25)
    )
    assert slow[0][0] == 4 * fast[0][0]
    assert slow[0][1:3] == fast[0][1:3]
    assert slow[1][0] == fast[1][0]
    assert slow[1][1] == 4 * fast[1][1]


def test_swaps_move_two_words_a_row_and_column_and_solving_has_its_own_speed():
    """The case by hand: 2 x 2 words in each of 1 and 2 columns, then in 1; half a word, an eighth of the speed."""
    found = counted({"n": 4, "nb": 2, "swap_speed": 0.5, "solve_speed": 0.125} | ALL, 1, 1)
    assert found.volumes == [[11, 10 + 8, 2 + 8, 4 * 8], [20 + 16, 3, 4 * 8, 8 * 8]]
    work = make_work("hpl", {"n": 4, "nb": 2, "swap_speed": 0.5, "solve_speed": 0.125, "panel_speed": 0.5} | ALL)
    assert work.volume == pytest.approx(found.volume.sum() + 11 + 3)


@pytest.mark.parametrize("broadcast", ["ring", "modified_ring", "two_rings", "scatter_ring"])
@pytest.mark.parametrize("partition", [(1, 1, 1, 1), (1, 0, 1, 1), (3, 1, 0, 2), (1, 0, 0, 0)])
def test_all_messages_are_received(broadcast, partition):
    """With 2, 3 and 11 blocks: fewer than processes, and a right-hand side within and beyond the last block."""
    for n, nb in [(8, 4), (11, 4), (22, 2)]:
        if sum(partition) <= max(-(-n // nb), len(partition)):
            found = counted({"n": n, "nb": nb, "broadcast": broadcast} | ALL, *partition)
            assert len(follow(found.columns)) == len(found.sent)
            if sum(units > 0 for units in partition) == 1:
                assert not found.sent


@pytest.mark.parametrize("load", [0, 2])
@pytest.mark.parametrize("waiting", ["yielding", "polling"])
def test_processes_share_a_pe_with_competitors_and_with_each_other(load, waiting):
    """The case by hand on one PE with `load` competitors: m processes of ours get 1 / (load + m) each.

    Both update at once, for 10 operations of each. Else one of the two waits, and counts if it polls; before the last
    4 operations it has ended.
    """
    competitors = trace([0.0], [float(load)], 1.0) if load else None
    made = simulated({"n": 4, "nb": 2, "waiting": waiting} | ALL, (0, 0), pe("a", SPEED, competitors))
    alone, together = load + 1, load + 2
    waits = together if waiting == "polling" else alone
    expected = 10 * together + (11 + 10 + 3 + 2 + 4 + 8) * waits + 4 * alone
    times = sum(message_s(size) for size in (88, 56, 32, 16))
    assert made.makespan_s[0, 0] == pytest.approx(expected / SPEED + times, rel=1e-7)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"phases": "most"}, "application: parameters: phases: it is 'most'; give one of main, all"),
        ({"panel_speed": 0}, "application: parameters: panel_speed: it is 0; give a finite number above 0"),
        (
            {"swap_speed": 0.1},
            "application: parameters: swap_speed is for what phases: main leaves out; leave it out, or write",
        ),
    ],
)
def test_what_does_not_fit_is_refused(given, message):
    with pytest.raises(ScenarioError, match=message):
        make_work("hpl", {"n": 8, "nb": 2} | given)
