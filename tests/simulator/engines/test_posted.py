"""Posted sends and receives and their waits: by hand, and as what they are equal to."""

import numpy as np
import pytest

from simulator.base.errors import ScenarioError, SimulationError
from simulator.engines import process
from simulator.engines.compiled import run as compiled
from simulator.engines.job_programs import together
from simulator.engines.log import critical_path
from simulator.engines.waited_for import waited_for
from simulator.programs.assembly import assemble
from simulator.programs.columns import Kind
from simulator.programs.program import (
    ANY,
    NOBODY,
    AllToAll,
    Broadcast,
    Compute,
    Exchange,
    Gather,
    Loop,
    PostRecv,
    PostSend,
    Program,
    Recv,
    Reduce,
    Scatter,
    Send,
    Wait,
)
from simulator.scenario_file.truths import Draws
from tests.support.rules import EAGER, build, simulate, star


def finish(rows, **options):
    """When each process ended, in every engine."""
    found = [simulate(rows, engine=engine, **options) for engine in (process, compiled)]
    ends, others = (runs.finish_ticks[0][0].tolist() for runs in found)
    assert others == ends
    return ends


def test_what_is_posted_moves_while_its_processes_compute():
    """Messages take 1 tick and 1 for each byte; the transfer begins with the later of both posts."""
    rows = [
        [PostSend(1, 4, 0), Compute(9, 1), Wait(0)],
        [Compute(2, 1), PostRecv(0, 0), Compute(1, 1), Wait(0)],
    ]
    assert finish(rows) == [9, 7]
    late = [[PostSend(1, 4, 0), Compute(1, 1), Wait(0)], [Compute(20, 1), PostRecv(0, 0), Compute(1, 1), Wait(0)]]
    assert finish(late) == [25, 25]
    assert finish(late, network=EAGER) == [1, 21]


def test_a_post_meets_what_blocks_and_what_blocks_meets_a_post():
    assert finish([[Send(1, 4)], [Compute(3, 1), PostRecv(0, 7), Wait(7)]]) == [8, 8]
    assert finish([[Compute(3, 1), Send(1, 4)], [PostRecv(0, 7), Compute(1, 1), Wait(7)]]) == [8, 8]
    assert finish([[PostSend(1, 4, 0), Compute(1, 1), Wait(0)], [Compute(3, 1), Recv(0)]]) == [8, 8]


def test_messages_of_a_channel_match_in_the_order_of_posting_whoever_waits_first():
    """Two bytes, then eight; the second receive blocks and the first is posted."""
    rows = [
        [PostSend(1, 2, 0), PostSend(1, 8, 1), Wait(1), Wait(0)],
        [PostRecv(0, 5), Recv(0), Compute(1, 1), Wait(5)],
    ]
    assert finish(rows) == [9, 10]
    swapped = [rows[0], [PostRecv(0, 5), PostRecv(0, 6), Wait(5), Compute(1, 1), Wait(6)]]
    assert finish(swapped) == [9, 9]


def test_receives_that_wait_get_messages_in_their_order():
    """Whether they block or not; the first message has two bytes, the second eight."""
    sent = [Compute(2, 1), PostSend(1, 2, 0), PostSend(1, 8, 1), Wait(1), Wait(0)]
    assert finish([sent, [PostRecv(0, 5), PostRecv(0, 6), Wait(5), Compute(1, 1), Wait(6)]]) == [11, 11]
    assert finish([sent, [PostRecv(0, 5), PostRecv(0, 6), Wait(6), Compute(1, 1), Wait(5)]]) == [11, 12]
    assert finish([sent, [PostRecv(0, 5), Recv(0), Compute(1, 1), Wait(5)]]) == [11, 12]


@pytest.mark.parametrize("contention", ["none", "fifo", "fair"])
def test_a_receive_that_is_posted_late_by_the_first_process_is_late(contention):
    """One byte per second: four after the later of both posts."""
    rows = [[Compute(20, 1), PostRecv(1, 0), Wait(0)], [PostSend(0, 4, 0), Compute(1, 1), Wait(0)]]
    assert finish(rows, network=star([1, 1], contention=contention)) == [24, 24]


def test_a_message_says_its_mode_itself():
    ends = {
        mode: finish([[Send(1, 4, mode=mode)], [Compute(9, 1), Recv(0)]], network=EAGER)
        for mode in ("threshold", "rendezvous", "eager")
    }
    assert ends == {"threshold": [0, 9], "rendezvous": [14, 14], "eager": [0, 9]}
    assert finish([[PostSend(1, 9, 0, mode="eager"), Wait(0)], [Compute(3, 1), Recv(0)]]) == [0, 10]
    assert finish([[Exchange(1, 1, 9, mode="eager")], [Compute(3, 1), Recv(0), Send(0, 1)]]) == [12, 12]


def test_a_process_meets_itself_by_posts_only():
    rows = [[PostRecv(0, 0), PostSend(0, 3, 1), Compute(2, 1), Wait(0), Wait(1)]]
    assert finish(rows) == [4]


@pytest.mark.parametrize("contention", ["none", "fifo", "fair"])
@pytest.mark.parametrize("eager_bytes", [0, 5, 100])
def test_an_exchange_is_a_posted_receive_a_send_and_a_wait(contention, eager_bytes):
    """In a ring of four with unlike sizes and delays; both ways around."""
    network = star([3, 1, 2, 5], contention=contention, latency_s=1.0, eager_bytes=eager_bytes)

    def rows(exchange):
        return [
            [Compute(3 * p, 1), *exchange((p + 1) % 4, (p - 1) % 4, 7 + p), *exchange((p - 1) % 4, (p + 1) % 4, 2 * p)]
            for p in range(4)
        ]

    whole = finish(rows(lambda to, source, size: [Exchange(to, source, size)]), network=network)
    apart = finish(rows(lambda to, source, size: [PostRecv(source, 3), Send(to, size), Wait(3)]), network=network)
    assert apart == whole


def test_links_in_turn_go_by_when_posts_meet():
    """One link carries one after the other; who posts first and is met last comes last."""
    rows = [
        [PostSend(2, 4, 0), PostSend(3, 4, 1), Wait(0), Wait(1)],
        [],
        [Compute(2, 1), PostRecv(0, 0), Wait(0)],
        [PostRecv(0, 0), Wait(0)],
    ]
    assert finish(rows, network=star([1, 1, 9, 9], contention="fifo")) == [8, 0, 8, 4]


@pytest.mark.parametrize("contention", ["none", "fifo", "fair"])
@pytest.mark.parametrize("over_turns", [False, True])
def test_loops_that_post_are_what_they_are_turn_by_turn(contention, over_turns):
    """In a ring of four; a request may be open from one turn to the next. Without logs a turn is kept once."""
    network = star([3, 1, 2, 5], contention=contention, latency_s=1.0, eager_bytes=5)
    posts = [(PostRecv((p - 1) % 4, 0), PostSend((p + 1) % 4, 3 + p, 1)) for p in range(4)]
    waits = Wait(1), Wait(0)
    turns = [(Compute(2 + p, 1), *((*waits, *posts[p]) if over_turns else (*posts[p], *waits))) for p in range(4)]
    rows = [(*posts[p], Loop(30, turns[p]), *waits) if over_turns else (Loop(30, turns[p]),) for p in range(4)]
    made = build(rows, network=network)
    draws = Draws(np.zeros((1, 4)), np.full((1, 4), 0.5))
    found = [engine.run(made, draws, tick_s=1.0).finish_ticks[0][0].tolist() for engine in (process, compiled)]
    assert found[0] == found[1]
    assert max(found[0]) > 30 * 5


def test_who_waits_polls_in_programs_that_poll():
    """Two processes on one PE: the other one's ten units take twice as long while the first one polls."""
    rows = [[PostRecv(1, 0), Wait(0)], [Compute(10, 1), Send(0, 1, mode="eager")]]
    options = {"pes": build([[]]).platform.pes, "placement": (0, 0)}
    assert finish(rows, **options) == [12, 10]
    assert finish(rows, polls=True, **options) == [22, 20]


LATENCY_S, BYTES, PARTIES = 2.0, 6, 5
CLOSED = {
    "none": LATENCY_S + BYTES,
    "fair": LATENCY_S + (PARTIES - 1) * BYTES,
    "fifo": (PARTIES - 1) * (LATENCY_S + BYTES),
}
"""Of a party of five over links of one byte per second: messages alone, over one link at once, and one by one."""


ROOTED = Broadcast, Scatter, Gather, Reduce
COLLECTIVES = [(kind, contention) for kind in ROOTED for contention in CLOSED]


@pytest.mark.parametrize(("kind", "contention"), [*COLLECTIVES, (AllToAll, "none"), (AllToAll, "fair")])
def test_posted_collectives_take_what_their_messages_take_at_once(kind, contention):
    root = {} if kind is AllToAll else {"root": 2}
    operation = kind(size_bytes=BYTES, algorithm="posted", **root)
    network = star([1] * PARTIES, contention=contention, latency_s=LATENCY_S / 2)
    ends = finish([[operation, operation]] * PARTIES, network=network)
    assert max(ends) == pytest.approx(2 * CLOSED[contention], abs=2)


def test_a_posted_collective_keeps_its_requests_to_itself():
    """The root's own request 0 is open across it."""
    around = [PostRecv(1, 0), Gather(0, 3, "posted"), Wait(0)], [Gather(0, 3, "posted"), Send(0, 5)]
    assert finish([*around, [Gather(0, 3, "posted")]]) == [10, 10, 4]
    with pytest.raises(SimulationError, match=r"\(wait for receive from process 1, a collective\)"):
        simulate([[Gather(0, 3, "posted")], []])


def test_a_deadlock_names_what_a_wait_waits_for():
    with pytest.raises(SimulationError) as caught:
        simulate([[PostRecv(1, 4, 2), Wait(4)], [PostSend(0, 9, 1), Compute(1, 1), Wait(1)]])
    assert list(caught.value.lines) == [
        "configuration c: deadlock: process 0 waits in operation 1 (wait for request 4: receive from process 1, tag 2)",
        "configuration c: deadlock: process 1 waits in operation 2 (wait for request 1: send to process 0, tag 0)",
    ]
    with pytest.raises(
        SimulationError, match=r"process 0, operation 0 \(send to process 1, tag 0\): received by nobody"
    ):
        simulate([[PostSend(1, 9, 0, mode="eager"), Wait(0)], []])


def test_requests_are_refused_that_do_not_take_turns():
    def refused(row, message):
        with pytest.raises(ScenarioError) as caught:
            assemble(Program((tuple(row), ()), (0, 0)))
        assert str(caught.value) == f"program: process 0, operation {message}"

    refused([Compute(1, 1), Wait(2)], "1 (wait): request 2 is not open; post it before it is waited for")
    again = "is still open; wait for it before it is posted again"
    refused([PostSend(1, 1, 3), PostRecv(1, 3), Wait(3), Wait(3)], f"1 (post_recv): request 3 {again}")
    refused([PostSend(1, 1, 3)], "0 (post_send): request 3 is never waited for; add a wait")
    named = "it names no process; post receives from named ones only"
    refused([PostRecv(ANY, 0), Wait(0)], f"0 (post_recv): {named}")
    refused([PostSend(7, 1, 0), Wait(0)], "0 (post_send): there is no process 7; give 0 to 1")
    with pytest.raises(ScenarioError, match="'buffered' is no mode of a message; take threshold, rendezvous, eager"):
        assemble(Program(((Send(1, 1, mode="buffered"),),), (0,)))
    with pytest.raises(ScenarioError, match="-3 is no number of a request; give whole numbers of at least 0"):
        assemble(Program(((Wait(-3),),), (0,)))


def test_columns_of_a_shared_row_leave_out_posts_to_nobody_and_their_waits():
    request = np.array([0, NOBODY])
    row = (PostSend(np.array([1, NOBODY]), 8, request, 5, "eager"), PostRecv(np.array([NOBODY, 0]), 1, 5))
    columns = assemble(Program.everywhere(2, (*row, Wait(request), Wait(np.array([NOBODY, 1])))))
    names = ("kind", "partner", "source", "tag", "amount", "size")
    assert list(zip(*(getattr(columns, name).tolist() for name in names), strict=True)) == [
        (Kind.POST_SEND, 1, 0, 5, 8, 2),
        (Kind.WAIT, -1, 0, 0, 0, 0),
        (Kind.POST_RECV, 0, 1, 5, 0, 0),
        (Kind.WAIT, -1, 1, 0, 0, 0),
    ]


def test_programs_side_by_side_keep_their_requests():
    """As jobs that run at a time are: other processes, the same requests."""
    columns = assemble(Program(((PostSend(1, 8, 0), Wait(0)), (PostRecv(0, 3), Exchange(1, 1, 2), Wait(3))), (0, 0)))
    both = together([columns, columns], [0.0, 3.0])
    messages = both.kind != Kind.WAIT_UNTIL
    assert both.partner[messages].tolist() == [1, -1, 0, 1, -1, 3, -1, 2, 3, -1]
    assert both.source[messages].tolist() == [0, 0, 3, 1, 3, 0, 0, 3, 3, 3]
    both.check()


def steps(rows, **options):
    runs = simulate(rows, **options)
    return [
        (step.operation.process, step.operation.operation, step.from_ticks, step.to_ticks)
        for step in critical_path(build(rows, **options), runs, 0, 0)
        if step.to_ticks > step.from_ticks
    ]


def test_the_critical_path_goes_through_a_wait_to_the_later_post():
    late = [[Compute(2, 1), PostSend(1, 4, 0), Compute(1, 1), Wait(0)], [Compute(4, 1), PostRecv(0, 0), Wait(0)]]
    assert steps(late) == [(1, "compute", 0, 4), (0, "wait", 4, 9)]
    early = [[Compute(4, 1), PostSend(1, 4, 0), Wait(0)], [PostRecv(0, 0), Compute(5, 1), Wait(0), Compute(1, 1)]]
    assert steps(early) == [(0, "compute", 0, 4), (1, "wait", 4, 9), (1, "compute", 9, 10)]
    assert steps(early, network=EAGER) == [(0, "compute", 0, 4), (1, "wait", 4, 9), (1, "compute", 9, 10)]
    (message,) = waited_for(build(early), simulate(early), 0, 0).messages
    assert (message.sender, message.start_ticks, message.end_ticks) == (0, 4, 9)
