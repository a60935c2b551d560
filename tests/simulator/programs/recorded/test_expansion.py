"""A recording as a program: what is plain stays, collectives move the data that they promise.

Parts of ranks are powers of two, so that the bytes of a message say which parts it carries. Whole programs are compared
with those that are written an object per operation.
"""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from simulator.base.errors import ScenarioError
from simulator.programs import program
from simulator.programs.assembly import assemble
from simulator.programs.columns import Kind
from simulator.programs.recorded.expansion import CHOICES, expanded
from simulator.programs.recorded.recording import COLLECTIVES, Action
from tests.support.collectives import Held, once, run
from tests.support.recordings import recording, recordings

SIZES = range(2, 14)
COLUMNS = ("kind", "partner", "source", "tag", "amount", "size")


def met(action, amounts, *, root=None, members=None, algorithms=None, **more):
    """Columns of one collective; `amounts` of the members in their order."""
    members = list(range(len(amounts))) if members is None else list(members)
    count = max(members) + 1
    ranks = [[] for _ in range(count)]
    for place, member in enumerate(members):
        said = {"communicator": 1, "amount": amounts[place], "partner": -1 if root is None else root}
        ranks[member].append((action, said | ({"source": place} if action == Action.ALLTOALLV else {})))
    made = recording(*ranks, groups=[range(count), members], **more)
    return expanded(made, algorithms).program.assembled


def rows_of(columns, process):
    """Kind, partner, request or source, and bytes of what a process does."""
    mine = slice(*columns.first[process : process + 2])
    found = zip(
        *(getattr(columns, name)[mine].tolist() for name in ("kind", "partner", "source", "amount")), strict=True
    )
    return [(Kind(kind), *rest) for kind, *rest in found]


def shuffled(count):
    return [int(member) for member in np.random.default_rng(count).permutation(count + 2)[:count]]


def carried(size_bytes):
    """The ranks whose parts a message holds."""
    return {place for place in range(64) if int(size_bytes) >> place & 1}


def test_a_posted_gather_and_scatter_are_those_of_mpi_libraries():
    columns = met(Action.GATHER, [1, 2, 4], root=5, members=[3, 5, 0], memory_bytes=np.full(6, 80))
    post, wait = Kind.POST_RECV, Kind.WAIT
    assert rows_of(columns, 5) == [(post, 0, 0, 0), (post, 3, 1, 0), (wait, -1, 0, 0), (wait, -1, 1, 0)]
    assert rows_of(columns, 3) == [(Kind.SEND, 5, -1, 1)]
    assert rows_of(columns, 0) == [(Kind.SEND, 5, -1, 4)]
    columns = met(Action.SCATTER, [1, 2, 4], root=5, members=[3, 5, 0])
    post = Kind.POST_SEND
    assert rows_of(columns, 5) == [(post, 0, 0, 4), (post, 3, 1, 1), (wait, -1, 0, 0), (wait, -1, 1, 0)]
    assert rows_of(columns, 3) == rows_of(columns, 0) == [(Kind.RECV, 5, -1, 0)]


@pytest.mark.parametrize("algorithm", ["ring", "bruck"])
def test_an_all_gather_brings_each_part_to_all(algorithm):
    for count in SIZES:
        members = shuffled(count)
        columns = met(
            Action.ALLGATHER, [2**place for place in range(count)], members=members, algorithms={"allgather": algorithm}
        )
        place_of = {member: place for place, member in enumerate(members)}
        held = Held([{place_of[one]: 1} if one in place_of else {} for one in range(max(members) + 1)], once)
        sent = run(columns)
        for message in sent:
            parts = carried(message.size_bytes)
            assert parts <= set(held.sent(message))
            held.receive(message, dict.fromkeys(parts, 1))
        assert all(len(held.now[member]) == count for member in members)
        rounds = {"ring": count - 1, "bruck": (count - 1).bit_length()}[algorithm]
        assert len(sent) == count * rounds


def test_an_all_to_all_of_unlike_parts_sends_each_its_own():
    rng = np.random.default_rng(0)
    for count in SIZES:
        members, parts = shuffled(count), rng.integers(0, 9, (count, count)).astype(float)
        columns = met(Action.ALLTOALLV, parts.sum(axis=1), members=members, parts=parts.tolist())
        found = {(message.source, message.destination): message.size_bytes for message in run(columns)}
        wanted = {(members[i], members[j]): parts[i, j] for i in range(count) for j in range(count) if i != j}
        assert found == wanted
        columns = met(
            Action.ALLTOALLV,
            parts.sum(axis=1),
            members=members,
            parts=parts.tolist(),
            algorithms={"alltoall": "posted"},
        )
        sends, recvs, waits = (columns.kind == kind for kind in (Kind.POST_SEND, Kind.POST_RECV, Kind.WAIT))
        ends = zip(columns.process[sends].tolist(), columns.partner[sends].tolist(), strict=True)
        assert dict(zip(ends, columns.amount[sends].tolist(), strict=True)) == {k: v for k, v in wanted.items() if v}
        assert recvs.sum() == sends.sum()
        assert waits.sum() == 2 * sends.sum()


def test_a_reduce_scatter_sends_each_rank_the_contributions_to_its_part():
    for count in SIZES:
        members = shuffled(count)
        sent = run(met(Action.REDUCE_SCATTER, [2**place for place in range(count)], members=members))
        assert {(one.source, members[carried(one.size_bytes).pop()]) for one in sent} == {
            (one.source, one.destination) for one in sent
        }
        assert len(sent) == count * (count - 1)


@pytest.mark.parametrize(("action", "algorithm"), [(Action.SCAN, "recursive_doubling"), (Action.EXSCAN, "linear")])
def test_a_scan_brings_the_data_of_those_before(action, algorithm):
    for count in SIZES:
        members = shuffled(count)
        sent = run(met(action, [7] * count, members=members, algorithms={"scan": algorithm}))
        held = Held([{one: 1} for one in range(max(members) + 1)], lambda mine, _: mine)
        for message in sent:
            assert message.size_bytes == 7
            held.receive(message, dict(held.sent(message)))
        for place, member in enumerate(members):
            assert set(members[: place + 1]) <= set(held.now[member])


def test_a_barrier_is_heard_by_all_from_all():
    for count in SIZES:
        members = shuffled(count)
        held = Held([{one: 1} for one in range(max(members) + 1)], lambda mine, _: mine)
        for message in run(met(Action.BARRIER, [0] * count, members=members)):
            held.receive(message, dict(held.sent(message)))
        assert all(set(held.now[member]) == set(members) for member in members)
    columns = met(Action.BARRIER, [0, 0, 0], algorithms={"barrier": "instant"})
    assert columns.kind.tolist() == [Kind.BARRIER] * 3
    assert columns.barriers.tolist() == [3]


def test_long_collectives_have_other_algorithms():
    for size, count, wanted in ((12_287, 8, 7), (12_288, 7, 6), (12_288, 8, 7 + 8 * 7)):
        assert len(run(met(Action.BCAST, [size] * count, root=0))) == wanted
    assert len(run(met(Action.ALLREDUCE, [9_999] * 4))) == 4 * 2
    assert len(run(met(Action.ALLREDUCE, [10_000] * 4))) == 4 * 6


def test_communicators_are_apart_and_requests_too():
    said = {"partner": 1, "amount": 4.0, "tag": 7}
    back = {"partner": 0, "amount": 4.0, "tag": 7}
    one = [
        (Action.POST_SEND, said | {"source": 3}),
        (Action.GATHER, {"partner": 0, "amount": 1.0}),
        (Action.WAIT, {"source": 3}),
    ]
    other = [
        (Action.RECV, back | {"communicator": 1}),
        (Action.GATHER, {"partner": 0, "amount": 1.0}),
        (Action.RECV, back),
    ]
    columns = expanded(
        recording([*one, (Action.SEND, said | {"communicator": 1})], other, groups=[[0, 1], [1, 0]])
    ).program.assembled
    assert rows_of(columns, 0)[1:4] == [(Kind.POST_RECV, 1, 4, 0), (Kind.WAIT, -1, 4, 0), (Kind.WAIT, -1, 3, 0)]
    tags = columns.tag.tolist()
    assert tags[0] == tags[-1] != tags[4] == tags[5]


def test_what_ranks_do_not_agree_on_is_refused():
    meet, inside = (Action.BARRIER,), (Action.BARRIER, {"communicator": 1})
    with pytest.raises(ScenarioError, match="rank 0 does 2 collectives of communicator 0 and rank 1 1: it is cut off"):
        expanded(recording([meet, meet], [meet]))
    with pytest.raises(ScenarioError, match=r"collective 1 .* is barrier \(root -1\) for rank 0 and bcast \(root 0\)"):
        expanded(recording([meet, meet], [meet, (Action.BCAST, {"partner": 0})]))
    with pytest.raises(ScenarioError, match="rank 2 takes part in collectives of communicator 1, in which it is not"):
        expanded(recording([inside], [inside], [inside], groups=[[0, 1, 2], [0, 1]]))
    with pytest.raises(ScenarioError, match="broadcast: 'tree' is no algorithm of it; take usual, ring"):
        expanded(recording([meet], [meet]), {"broadcast": "tree"})


OBJECTS = {
    Action.BCAST: (program.Broadcast, "broadcast", "two_rings"),
    Action.REDUCE: (program.Reduce, "reduce", "binomial"),
    Action.ALLREDUCE: (program.AllReduce, "allreduce", "recursive_doubling"),
    Action.ALLTOALL: (program.AllToAll, "alltoall", "pairwise"),
}
"""Collectives that rows of operations know as they are, and one algorithm of each."""


MODES = "threshold", "rendezvous", "eager"


def written(made, process, tags):
    """What a process did, an object per operation."""
    row = []
    for at in range(*made.first[process : process + 2]):
        action, partner, source = Action(made.action[at]), int(made.partner[at]), int(made.source[at])
        amount, tag = float(made.amount[at]), tags[int(made.communicator[at]), int(made.tag[at])]
        mode = MODES[made.mode[at]]
        if action == Action.COMPUTE:
            row.append(program.Compute(amount, max(1, made.memory_bytes[process] / 8)))
        elif action == Action.SLEEP:
            row.append(program.Delay(amount))
        elif action == Action.SEND:
            row.append(program.Send(partner, int(amount), tag, mode))
        elif action == Action.POST_SEND:
            row.append(program.PostSend(partner, int(amount), source, tag, mode))
        elif action == Action.POST_RECV:
            row.append(program.PostRecv(partner, source, tag))
        elif action == Action.WAIT:
            row.append(program.Wait(source))
        elif action == Action.RECV:
            row.append(program.Recv(partner, tag))
        elif action == Action.EXCHANGE:
            row.append(program.Exchange(partner, source, int(amount), tag, mode))
        elif (group := tuple(made.group(made.communicator[at]).tolist())) and len(group) > 1:
            kind, _, algorithm = OBJECTS[action]
            root = {} if partner < 0 else {"root": partner}
            row.append(kind(size_bytes=int(amount), algorithm=algorithm, group=group, **root))
    return tuple(row)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(recordings(kinds=tuple(OBJECTS)))
def test_it_is_the_program_that_its_operations_written_one_by_one_make(made):
    found = expanded(made, {name: algorithm for _, name, algorithm in OBJECTS.values()})
    columns = found.program.assembled
    keys = sorted(set(zip(made.communicator.tolist(), made.tag.tolist(), strict=True)))
    tags = {key: place if np.any(made.communicator) else key[1] for place, key in enumerate(keys)}
    rows = tuple(written(made, process, tags) for process in range(made.ranks))
    wanted = assemble(program.Program(rows, tuple(made.memory_bytes.tolist())))
    assert columns.first.tolist() == wanted.first.tolist()
    for name in COLUMNS:
        assert np.array_equal(getattr(columns, name), getattr(wanted, name)), name
    assert np.all(made.rank[found.action] == columns.process)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(recordings())
def test_every_action_becomes_rows_in_its_place(made):
    for barrier in ("dissemination", "instant"):
        found = expanded(made, {"barrier": barrier})
        assert np.all(np.diff(found.action) >= 0)
        alone = [len(made.group(one)) == 1 for one in made.communicator[: made.action.size].tolist()]
        silent = (made.action <= Action.SLEEP) & (made.amount == 0)
        collective = np.isin(made.action, list(COLLECTIVES))
        lone = collective & np.array(alone, dtype=bool)
        plain = np.bincount(found.action, minlength=made.action.size)[~collective]
        assert plain.tolist() == (~silent[~collective]).astype(int).tolist()
        assert not np.any(np.isin(found.action, np.flatnonzero(lone)))


def test_all_algorithms_can_be_chosen():
    for name, choices in CHOICES.items():
        for algorithm in choices:
            meet = [(Action[one], {"amount": 8.0, "partner": 0 if Action[one] in (9, 10, 14, 15) else -1})
                    for one in ("BARRIER", "BCAST", "REDUCE", "ALLREDUCE", "SCAN", "GATHER", "SCATTER", "ALLGATHER",
                                "ALLTOALL", "REDUCE_SCATTER")]  # fmt: skip
            made = expanded(recording(*[meet] * 5), {name: algorithm}).program.assembled
            assert made.kind.size
