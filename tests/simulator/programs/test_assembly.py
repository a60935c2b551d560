"""Rows -> columns: what each process does, by hand."""

import numpy as np
import pytest

from simulator.base.errors import ScenarioError
from simulator.programs.assembly import assemble
from simulator.programs.columns import Kind
from simulator.programs.program import (
    NOBODY,
    Barrier,
    Broadcast,
    Compute,
    Delay,
    Exchange,
    Farm,
    Loop,
    Program,
    ReadWrite,
    Recv,
    Send,
    WaitUntil,
)


def listed(program):
    """Per process: (kind, partner, source, amount) of each primitive operation."""
    columns = assemble(program)
    rows = list(zip(columns.kind, columns.partner, columns.source, columns.amount, strict=True))
    return [
        [(Kind(k), int(p), int(s), float(a)) for k, p, s, a in rows[first:end]]
        for first, end in zip(columns.first[:-1], columns.first[1:], strict=True)
    ]


def test_rows_of_their_own():
    program = Program(((Compute(3, 1), Send(1, 8, 2)), (Recv(0, 2), Compute(0, 1), Delay(0), WaitUntil(0))), (0, 0))
    assert listed(program) == [
        [(Kind.COMPUTE, -1, -1, 3), (Kind.SEND, 1, -1, 8)],
        [(Kind.RECV, 0, -1, 0), (Kind.WAIT_UNTIL, -1, -1, 0)],
    ]
    columns = assemble(program)
    assert columns.index.tolist() == [0, 1, 0, 3]
    assert columns.tag.tolist() == [0, 2, 2, 0]
    assert columns.process.tolist() == [0, 0, 1, 1]


def test_a_shared_row_takes_each_process_s_own_figures():
    volumes = np.array([[1.0, 2.0], [3.0, 0.0], [5.0, 6.0]])
    row = (ReadWrite(7), Loop(3, (Compute(volumes, 1.0), Exchange(np.array([1, 0]), np.array([1, 0]), 4))))
    exchange = {0: (Kind.EXCHANGE, 1, 1, 4), 1: (Kind.EXCHANGE, 0, 0, 4)}
    disk = (Kind.READ_WRITE, -1, -1, 7)
    assert listed(Program.everywhere(2, row)) == [
        [disk, *(part for v in (1, 3, 5) for part in ((Kind.COMPUTE, -1, -1, v), exchange[0]))],
        [disk, (Kind.COMPUTE, -1, -1, 2), exchange[1], exchange[1], (Kind.COMPUTE, -1, -1, 6), exchange[1]],
    ]


def test_loops_in_loops_keep_the_order():
    volumes = np.arange(1.0, 7.0).reshape(2, 3, 1)
    row = (Loop(2, (Loop(3, (Compute(volumes, 1.0),)), Delay(np.array([[10.0], [20.0]])))),)
    amounts = [a for _, _, _, a in listed(Program.everywhere(1, row))[0]]
    assert amounts == [1, 2, 3, 10, 4, 5, 6, 20]
    assert listed(Program.everywhere(1, (Loop(0, (Compute(1.0, 1.0),)),))) == [[]]


def test_nobody_leaves_a_message_out():
    row = (Send(np.array([1, NOBODY]), 5), Recv(np.array([NOBODY, 0])))
    assert listed(Program.everywhere(2, row)) == [[(Kind.SEND, 1, -1, 5)], [(Kind.RECV, 0, -1, 0)]]
    edge = (Exchange(np.array([1, NOBODY]), np.array([NOBODY, 0]), 5),)
    assert [rows[0][:2] for rows in listed(Program.everywhere(2, edge))] == [(Kind.SEND, 1), (Kind.RECV, 0)]


def test_the_kth_barriers_of_a_group_meet():
    pair, all_of_them = Barrier((0, 1)), Barrier()
    program = Program(((pair, all_of_them, pair), (Loop(1, (pair,)), all_of_them, pair), (all_of_them,)), (0, 0, 0))
    numbers = [[p for _, p, _, _ in rows] for rows in listed(program)]
    assert numbers[0] == numbers[1]
    assert numbers[2] == [numbers[0][1]]
    assert assemble(program).barriers.tolist() == [2, 3, 2]


def test_farms_in_loops_are_new_farms_over_one_table():
    row = (Loop(3, (Farm(np.array([1.0, 2.0]), 1.0, 2, 0.5),)),)
    columns = assemble(Program.everywhere(2, row))
    assert columns.farms.tolist() == [0, 0, 0]
    assert columns.partner.tolist() == [0, 1, 2] * 2
    (table,) = columns.farm_tables
    assert (table.volumes.tolist(), table.chunk, table.pull_s, table.processes) == ([1.0, 2.0], 2, 0.5, (0, 1))


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ((), "program: it has no processes; give at least one"),
        (
            ((Compute(-1, 1),),),
            r"program: process 0, operation 0 \(compute\): it is \-1; give a finite number of at least 0",
        ),
        (((Delay(1), Send(3, 1)), ()), r"program: process 0, operation 1 \(send\): there is no process 3; give 0 to 1"),
        (((Barrier((1,)),), ()), "program: process 0 is not in its group; give groups that hold their processes"),
        (((Barrier((0, 5)),), ()), r"program: \(0, 5\) is no group; give processes 0 to 1, once each"),
        (((Broadcast(4, 1),), ()), "program: broadcast: root is not in its group; give a member"),
        (
            ((Broadcast(0, 1, "pigeon"),), ()),
            "program: broadcast: algorithm: 'pigeon' is unknown; take ring, modified_ring, two_rings, binomial",
        ),
        (((Broadcast(0, -1),), ()), "program: broadcast: size_bytes: give finite numbers of at least 0"),
        (((Loop(-1, ()),),), r"program: loop: it has \-1 iterations; give at least 0"),
        (
            ((Compute(np.ones(3), 1),), ()),
            r"program: an array has the shape \(3,\); give one that fits \(iterations\.\.\., process\) = \(2,\)",
        ),
        (((Farm(np.ones(2), 1, 0),),), "program: farm: chunk is 0 and pull_s 0; give at least 1 and at least 0"),
        (((Farm(np.array([-1.0]), 1),),), "volumes"),
        (
            ((Farm(np.ones(2), 1),), (Farm(np.ones(3), 1),)),
            "program: farm of 2 processes: two of them differ; give one for all",
        ),
    ],
)
def test_what_no_engine_could_run_is_refused(rows, message):
    with pytest.raises(ScenarioError, match=message):
        assemble(Program(rows, (0,) * len(rows)))
