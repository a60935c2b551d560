"""Sums of what processes compute and send each other."""

import numpy as np

from simulator import Exchanged
from simulator.programs.program import Broadcast, Compute, Exchange, Loop, PostRecv, PostSend, Program, Recv, Send, Wait


def test_what_pairs_send_each_other_is_added_up_both_ways():
    rows = (
        (Compute(2.0, 7), Send(1, 100), Exchange(2, 2, 30), Compute(3.0, 8)),
        (Recv(0), Loop(3, (PostSend(2, 5, 0), Wait(0)))),
        (Exchange(0, 0, 4), Loop(3, (PostRecv(1, 0), Wait(0)))),
    )
    found = Exchanged.of(Program(rows, (1, 2, 3)))
    pairs = {
        (one, other): (count, sent)
        for one, other, count, sent in zip(
            found.one.tolist(), found.other.tolist(), found.messages, found.sent_bytes, strict=True
        )
    }
    assert pairs == {(0, 1): (1, 100), (0, 2): (2, 34), (1, 2): (3, 15)}
    assert found.volumes.tolist() == [5.0, 0.0, 0.0]
    assert found.size.tolist() == [7, 8]
    assert found.footprints_bytes.tolist() == [1, 2, 3]


def test_collectives_are_the_messages_of_their_algorithm():
    found = Exchanged.of(Program.everywhere(4, (Broadcast(0, 10, "linear"),)))
    assert (found.one.tolist(), found.other.tolist()) == ([0, 0, 0], [1, 2, 3])
    assert np.all(found.sent_bytes == 10)
    assert not found.process.size
