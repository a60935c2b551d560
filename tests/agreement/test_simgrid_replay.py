"""Recorded MPI programs in SimGrid's replay and in our engines: the same makespans."""

import pytest

from tests.agreement import simgrid_replay as judge

pytestmark = pytest.mark.slow

LATENCY_S, BANDWIDTH = 1e-4, 1e8
ONE_WAY = judge.pairs([1e9, 5e8], dict.fromkeys(((0, 1), (1, 0)), (LATENCY_S, BANDWIDTH)))


def message_s(size_bytes):
    return LATENCY_S + (size_bytes + judge.ENVELOPE_BYTES) / BANDWIDTH


@pytest.mark.parametrize(("eager", "expected"), [(0, [0.3 + message_s(10**6)] * 2), (10**9, [0.1, 0.3])])
def test_what_a_late_receive_costs_in_the_judge(eager, expected):
    trace = "0 init\n1 init\n0 compute 1e8\n0 send 1 0 1000000\n1 compute 1.5e8\n1 recv 0 0 1000000\n"
    found = judge.replay(trace, ONE_WAY, [0, 1], eager_bytes=eager, ends=True)
    assert [*found.ends_s, found.makespan_s] == pytest.approx([*expected, expected[1]], rel=1e-9)


def test_what_cannot_be_replayed_is_an_error():
    with pytest.raises(RuntimeError, match="smpirun: status"):
        judge.replay("0 init\n0 levitate\n", ONE_WAY, [0])
