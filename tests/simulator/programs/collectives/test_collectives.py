"""Every algorithm moves the data that its collective promises: the assembled columns are run with symbolic data.

What a message carries follows from simple rules that do not know the algorithm: all that its sender has (broadcast,
gather, reduce), all that its receiver will ever need (scatter), or the piece that came last (rings); and its bytes must
be the bytes of that. So a wrong partner, order, or size shows as data that is missing, twice there, or of other size.
"""

import math

import numpy as np
import pytest

from simulator.programs.assembly import assemble
from simulator.programs.collectives import ALGORITHMS
from simulator.programs.program import AllReduce, AllToAll, Broadcast, Gather, Loop, Program, Reduce, Scatter
from tests.support.collectives import (
    Held,
    combine,
    messages,
    once,
    parts_bytes,
    run,
)

SIZE = 1009
SIZES = range(1, 18)


def groups(count):
    """All of `count` processes, and `count` of more, in a random order."""
    rng = np.random.default_rng(count)
    some = tuple(int(member) for member in rng.permutation(count + 3)[:count])
    return [(count, None, tuple(range(count))), (count + 3, some, some)]


def cases(kind, algorithm):
    """An algorithm for all sizes of groups: members, root, messages; all roots, of the random groups two."""
    rooted = kind not in (AllToAll, AllReduce)
    for count in SIZES:
        for processes, group, members in groups(count):
            roots = (members if group is None else members[:2]) if rooted else [None]
            for root in roots:
                extra = {"root": root} if rooted else {}
                operation = kind(size_bytes=SIZE, algorithm=algorithm, group=group, **extra)
                yield members, root, messages(operation, processes, members)


def log2_up(count):
    return (count - 1).bit_length()


def check_forwarding(sent, held, size_of):
    """Each message carries all that its sender has."""
    for message in sent:
        data = dict(held.sent(message))
        assert data
        assert message.size_bytes == size_of(data)
        held.receive(message, data)


def needed(sent, wanted):
    """What each message must carry so that everyone ends with what it wants, last message first; and what is left."""
    need = {process: set(items) for process, items in wanted.items()}
    carried = []
    for message in reversed(sent):
        carried.append(need[message.destination])
        need[message.source] = need[message.source] | need[message.destination]
        need[message.destination] = set()
    return carried[::-1], need


@pytest.mark.parametrize("algorithm", [name for name in ALGORITHMS[Broadcast] if name != "scatter_ring"])
def test_broadcast_reaches_everyone_once(algorithm):
    for members, root, sent in cases(Broadcast, algorithm):
        held = Held([{"data": 1} if process == root else {} for process in range(max(members) + 1)], once)
        check_forwarding(sent, held, lambda _: SIZE)
        assert all(held.now[member] for member in members)
        assert len(sent) == len(members) - 1


def test_scatter_ring_broadcast():
    for members, root, sent in cases(Broadcast, "scatter_ring"):
        count = len(members)
        sizes = parts_bytes(SIZE, count)
        first = members.index(root)
        distance = {member: (members.index(member) - first) % count for member in members}
        scattered = [message for message in sent if not message.exchanged]
        carried, need = needed(scattered, {member: {distance[member]} for member in members})
        assert [message.size_bytes for message in scattered] == [sizes[list(pieces)].sum() for pieces in carried]
        assert all(not pieces for member, pieces in need.items() if member != root)
        around = [message for message in sent if message.exchanged]
        got = pass_around(around, {member: distance[member] for member in members}, sizes)
        assert all(set(pieces) == set(range(count)) and len(pieces) == count for pieces in got.values())


def pass_around(sent, own, sizes):
    """Each sends its own piece first, then always the one that came last; the pieces of each, in the order got."""
    got = {member: [piece] for member, piece in own.items()}
    turns = dict.fromkeys(own, 0)
    for message in sent:
        piece = got[message.source][turns[message.source]]
        turns[message.source] += 1
        assert message.size_bytes == sizes[piece]
        got[message.destination].append(piece)
    return got


@pytest.mark.parametrize("algorithm", ALGORITHMS[Scatter])
def test_scatter_brings_each_its_part(algorithm):
    for members, root, sent in cases(Scatter, algorithm):
        carried, need = needed(sent, {member: {member} for member in members})
        assert [message.size_bytes for message in sent] == [SIZE * len(parts) for parts in carried]
        assert need[root] == set(members)
        assert not any(parts for member, parts in need.items() if member != root)


@pytest.mark.parametrize("algorithm", ALGORITHMS[Gather])
def test_gather_brings_every_part_to_the_root(algorithm):
    for members, root, sent in cases(Gather, algorithm):
        held = Held([{process: 1} for process in range(max(members) + 1)], once)
        check_forwarding(sent, held, lambda data: SIZE * len(data))
        assert set(held.now[root]) == set(members)
        assert len(sent) == len(members) - 1


@pytest.mark.parametrize("algorithm", ALGORITHMS[Reduce])
def test_reduce_counts_every_contribution_once(algorithm):
    for members, root, sent in cases(Reduce, algorithm):
        held = Held([{"sum": {process}} for process in range(max(members) + 1)], combine)
        check_forwarding(sent, held, lambda _: SIZE)
        assert held.now[root]["sum"] == set(members)
        assert len(sent) == len(members) - 1


@pytest.mark.parametrize("algorithm", ["recursive_doubling", "reduce_broadcast"])
def test_all_reduce_counts_every_contribution_once_everywhere(algorithm):
    for members, _, sent in cases(AllReduce, algorithm):
        held = Held([{"sum": {process}} for process in range(max(members) + 1)], combine)
        check_forwarding(sent, held, lambda _: SIZE)
        assert all(held.now[member]["sum"] == set(members) for member in members)
        count = len(members)
        power = 2 ** (count.bit_length() - 1)
        expected = {
            "recursive_doubling": power * int(math.log2(power)) + 2 * (count - power),
            "reduce_broadcast": 2 * (count - 1),
        }
        assert len(sent) == expected[algorithm]


def test_ring_all_reduce():
    for members, _, sent in cases(AllReduce, "ring"):
        count = len(members)
        sizes = parts_bytes(SIZE, count)
        sums = {member: {piece: {member} for piece in range(count)} for member in members}
        last = {member: members.index(member) for member in members}
        rounds = {}
        for message in sent:
            rounds.setdefault(message.sent_as, []).append(message)
            assert message.sent_as == message.received_as
        for number in sorted(rounds):
            moved = [(m, last[m.source], set(sums[m.source][last[m.source]])) for m in rounds[number]]
            for message, piece, data in moved:
                assert message.size_bytes == sizes[piece]
                mine = sums[message.destination]
                mine[piece] = combine(mine[piece], data)
                last[message.destination] = piece
        assert all(sums[m][piece] == set(members) for m in members for piece in range(count))
        assert sum(message.size_bytes for message in sent) == 2 * (count - 1) * SIZE


@pytest.mark.parametrize("algorithm", ALGORITHMS[AllToAll])
def test_all_to_all_is_one_message_for_each_ordered_pair(algorithm):
    for members, _, sent in cases(AllToAll, algorithm):
        pairs = sorted((message.source, message.destination) for message in sent)
        assert pairs == sorted((a, b) for a in members for b in members if a != b)
        assert {message.size_bytes for message in sent} <= {SIZE}


def rounds(sent, processes):
    """Length of the longest chain of messages of one unit of time, every process in one operation at a time."""
    free, ended = [0] * processes, {}
    for message in sent:
        begins = max(
            ended.get((message.source, message.sent_as), free[message.source]),
            ended.get((message.destination, message.received_as), free[message.destination]),
        )
        for process, place in ((message.source, message.sent_as), (message.destination, message.received_as)):
            ended.setdefault((process, place), begins)  # both halves of an exchange begin together
            free[process] = max(free[process], begins + 1)
    return max(free, default=0)


@pytest.mark.parametrize("count", SIZES)
def test_rounds_in_closed_form(count):
    def needs(kind, algorithm, **extra):
        return rounds(messages(kind(size_bytes=SIZE, algorithm=algorithm, **extra), count), count)

    assert needs(Broadcast, "ring", root=0) == count - 1
    assert needs(Broadcast, "linear", root=0) == count - 1
    assert needs(Broadcast, "binomial", root=0) == log2_up(count)
    assert needs(Reduce, "binomial", root=0) == log2_up(count)
    if count > 3:
        assert needs(Broadcast, "modified_ring", root=0) == count - 1  # the root's second message starts the chain
        second = (count + 1) // 2
        assert needs(Broadcast, "two_rings", root=0) == max(second - 1, 2 + count - 1 - second)
    if count & (count - 1) == 0:
        assert needs(AllReduce, "recursive_doubling") == log2_up(count)


def test_two_rings_by_hand():
    """As HPL_bcast_2ring.c: of 7 processes 0 sends to 1 and 4; 1 to 2, 2 to 3; 4 to 5, 5 to 6."""
    sent = messages(Broadcast(0, SIZE, "two_rings"), 7)
    assert {(m.source, m.destination) for m in sent} == {(0, 1), (1, 2), (2, 3), (0, 4), (4, 5), (5, 6)}
    assert [m.destination for m in sent if m.source == 0] == [1, 4]


def test_modified_ring_by_hand():
    """As HPL_bcast_1rinM.c: 0 sends to 1 and 2, 1 to nobody, 2 to 3 and so on."""
    sent = messages(Broadcast(0, SIZE, "modified_ring"), 5)
    assert {(m.source, m.destination) for m in sent} == {(0, 1), (0, 2), (2, 3), (3, 4)}
    assert [m.destination for m in sent if m.source == 0] == [1, 2]


def test_roots_and_sizes_of_each_iteration():
    """Arrays over iterations give what as many single collectives give, for every algorithm."""
    count = 6
    roots, sizes = np.array([[0, 3], [5, 3], [2, 1]]), np.array([[7, 0], [13, 5], [1000, 1]])
    for kind, algorithms in ALGORITHMS.items():
        for algorithm in algorithms:
            rooted = kind not in (AllToAll, AllReduce)
            looped = kind(size_bytes=sizes, algorithm=algorithm, **({"root": roots} if rooted else {}))
            singles = tuple(
                kind(size_bytes=int(size), algorithm=algorithm, **({"root": int(root)} if rooted else {}))
                for root, size in zip(roots.ravel(), sizes.ravel(), strict=True)
            )
            one = assemble(Program.everywhere(count, (Loop(3, (Loop(2, (looped,)),)),)))
            other = assemble(Program.everywhere(count, singles))
            for name in ("first", "kind", "partner", "source", "tag", "amount"):
                np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=f"{kind} {algorithm}")


def test_collectives_one_after_the_other_do_not_deadlock():
    """Random collectives of random groups, in one order for all, under rendezvous."""
    rng = np.random.default_rng(5)
    kinds = [(kind, algorithm) for kind, algorithms in ALGORITHMS.items() for algorithm in algorithms]
    for _ in range(30):
        rows = [[] for _ in range(9)]
        for _ in range(12):
            kind, algorithm = kinds[rng.integers(len(kinds))]
            group = tuple(int(member) for member in rng.permutation(9)[: rng.integers(1, 10)])
            extra = {"root": group[-1]} if kind not in (AllToAll, AllReduce) else {}
            operation = kind(size_bytes=SIZE, algorithm=algorithm, group=group, **extra)
            for member in group:
                rows[member].append(operation)
        run(assemble(Program(tuple(tuple(row) for row in rows), (0,) * 9)))
