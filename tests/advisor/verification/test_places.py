"""Which processors real ranks run on: a core each, cores in turn, or all cores of a PE."""

from dataclasses import replace

import pytest

from advisor.verification.places import places_on
from simulator import Configuration, this_machine
from simulator.base.machine import Core
from tests.support.platforms import pe, scenario, trace

EIGHT = replace(this_machine(), cores=tuple(Core(cpu, ()) for cpu in (0, 2, 4, 6, 8, 10, 12, 14)), quota_cores=None)


def placed(pes, partition, placement):
    made = scenario(pes, sum(partition))
    places, faults = places_on(EIGHT, made)
    assert not faults
    return [
        (seat.pe, seat.first, seat.units, seat.cpus) for seat in places.seats(Configuration("c", partition, placement))
    ]


def on(name, cpu, cores, **more):
    return replace(pe(name, **more), cpu=cpu, cores=cores)


def test_ranks_have_a_core_each_from_the_one_that_their_pe_begins_with():
    pes = [on("a", 4, 3), on("b", 0, 1)]
    assert placed(pes, (10, 20, 0, 30, 40), (0, 1, 0, 0, 0)) == [
        (0, 0, 10, (4,)),
        (1, 10, 20, (0,)),
        (0, 30, 30, (6,)),
        (0, 60, 40, (8,)),
    ]


def test_more_ranks_than_cores_take_them_in_turn_where_as_many_come_to_each():
    assert [seat[3] for seat in placed([on("a", 0, 2)], (1, 2, 3, 4), (0,) * 4)] == [(0,), (2,), (0,), (2,)]
    assert [seat[3] for seat in placed([on("a", 0, 2)], (1, 2, 3), (0,) * 3)] == [(0, 2)] * 3
    assert [seat[3] for seat in placed([on("a", 0, 1)], (1, 2, 3), (0,) * 3)] == [(0,)] * 3


def test_a_load_shares_all_cores_of_its_pe():
    loaded = on("a", 0, 2, load=trace([0], [1], 1))
    assert [seat[3] for seat in placed([loaded], (1, 2), (0, 0))] == [(0, 2)] * 2
    assert [seat[3] for seat in placed([on("b", 0, 1, load=trace([0], [1], 1))], (1, 2), (0, 0))] == [(0,)] * 2


def test_a_master_without_units_has_a_seat():
    assert placed([on("a", 0, 1), on("b", 2, 1)], (0, 5), (0, 1)) == [(0, 0, 0, (0,)), (1, 0, 5, (2,))]


def test_pes_of_one_node_without_a_cpu_take_the_cores_in_order():
    assert [seat[3] for seat in placed([on("a", None, 2), on("b", None, 1)], (1, 1, 1), (0, 0, 1))] == [
        (0,),
        (2,),
        (4,),
    ]


@pytest.mark.parametrize(
    ("pes", "found"),
    [
        ([on("a", 0, 2), on("b", 2, 1)], "PE b has cpu 2, which PE a has too"),
        ([on("a", 12, 3)], "PE a needs 3 cores from cpu 12 on, and this machine has no more than the cores 0, 2"),
        ([on("a", 0, 1), on("b", None, 1)], "PE b has no cpu of this machine; say `cpu:`"),
        ([on("a", 1, 1)], "PE a says cpu 1, which this machine does not have for us"),
        ([on("a", None, 8), on("b", None, 1)], "PE b needs a core, and this machine has no more than the cores"),
        ([on("a", None, 1), replace(on("b", None, 1), node="other")], "PEs a, b have no cpu of this machine"),
    ],
)
def test_what_has_no_place_here_is_said(pes, found):
    _, faults = places_on(EIGHT, scenario(pes, 10))
    assert any(found in fault for fault in faults), faults


def test_the_most_ranks_of_any_configuration():
    places, _ = places_on(EIGHT, scenario([on("a", 0, 2)], 10))
    assert places.most_ranks([Configuration("x", (10,), (0,)), Configuration("y", (4, 6, 0), (0, 0, 0))]) == 2
