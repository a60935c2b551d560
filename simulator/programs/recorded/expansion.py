"""What the ranks of a recording did as the operations of a program: arrays throughout, collectives as messages.

Which algorithm a collective has is chosen by name, or `usual`: what MPICH and Open MPI do for so many ranks and bytes,
kept simple. A barrier is messages too, as it takes time on a real network. Requests of collectives are numbered above
those of the recording, and messages of unlike communicators have unlike tags.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simulator.base.arrays import Floats, Ints
from simulator.base.errors import ScenarioError
from simulator.programs import program
from simulator.programs.collectives import ALGORITHMS, Party, expand
from simulator.programs.columns import COLLECTIVE_TAG, Columns, Kind, Slot
from simulator.programs.program import Collective, Program
from simulator.programs.recorded import parts
from simulator.programs.recorded.recording import COLLECTIVES, Action, Recording

USUAL, INSTANT = "usual", "instant"
WORD_BYTES = 8
MOST_CELLS = 2**22
"""Places of collectives that are worked out together: 30 bytes each."""
LONG_BROADCAST_BYTES, FEW_RANKS = 12_288, 8
"""From so many bytes and ranks on MPICH scatters a broadcast and gathers it (MPIR_CVAR_BCAST_SHORT_MSG_SIZE)."""
LONG_REDUCE_BYTES = 10_000
"""From so many bytes on Open MPI's all-reduce is a ring (coll_tuned_decision_fixed.c)."""
LONG_GATHER_BYTES = 81_920
"""From so many bytes of all ranks on MPICH's all-gather is a ring (MPIR_CVAR_ALLGATHER_SHORT_MSG_SIZE)."""

UNEQUAL: dict[str, dict[str, parts.Algorithm]] = {
    "barrier": {"dissemination": parts.dissemination_barrier},
    "scan": {"recursive_doubling": parts.doubling_scan, "linear": parts.linear_scan},
    "gather": {"posted": parts.posted_gather},
    "scatter": {"posted": parts.posted_scatter},
    "allgather": {"ring": parts.ring_all_gather, "bruck": parts.bruck_all_gather},
    "alltoall": {"pairwise": parts.pairwise_all_to_all, "posted": parts.posted_all_to_all},
    "reduce_scatter": {"pairwise": parts.pairwise_reduce_scatter},
}
"""Algorithms that take the part of each rank, by collective and name."""
EQUAL: dict[str, type[Collective]] = {
    "broadcast": program.Broadcast,
    "reduce": program.Reduce,
    "allreduce": program.AllReduce,
    "gather": program.Gather,
    "scatter": program.Scatter,
}
"""Those of programs, whose ranks have parts of one size: the largest where they differ."""
NAMED = {
    Action.BARRIER: "barrier",
    Action.BCAST: "broadcast",
    Action.REDUCE: "reduce",
    Action.ALLREDUCE: "allreduce",
    Action.SCAN: "scan",
    Action.EXSCAN: "scan",
    Action.GATHER: "gather",
    Action.SCATTER: "scatter",
    Action.ALLGATHER: "allgather",
    Action.ALLTOALL: "alltoall",
    Action.ALLTOALLV: "alltoall",
    Action.REDUCE_SCATTER: "reduce_scatter",
}
CHOICES: dict[str, tuple[str, ...]] = {
    name: tuple(
        dict.fromkeys(
            (
                USUAL,
                *UNEQUAL.get(name, ()),
                *(ALGORITHMS[EQUAL[name]] if name in EQUAL else ()),
                *((INSTANT,) if name == "barrier" else ()),
            )
        )
    )
    for name in dict.fromkeys(NAMED.values())
}
"""Names of algorithms of each collective."""
KINDS = {
    Action.COMPUTE: Kind.COMPUTE,
    Action.SLEEP: Kind.DELAY,
    Action.SEND: Kind.SEND,
    Action.RECV: Kind.RECV,
    Action.EXCHANGE: Kind.EXCHANGE,
    Action.POST_SEND: Kind.POST_SEND,
    Action.POST_RECV: Kind.POST_RECV,
    Action.WAIT: Kind.WAIT,
}
FIELDS = {"kind": np.int8, "partner": np.int32, "source": np.int32, "tag": np.int32, "amount": float, "size": float}


@dataclass(frozen=True)
class Expansion:
    """A recording as a program."""

    program: Program
    columns: Columns
    """Its operations."""
    action: Ints
    """The action of the recording that each operation is part of; (operations,)."""


def expanded(recording: Recording, algorithms: Mapping[str, str] | None = None, *, polls: bool = True) -> Expansion:
    """The program of a recording; computing is CPU seconds where it was recorded, at each rank's working set.

    Raises ScenarioError if ranks disagree about their collectives, or requests or algorithms are not what they may be.

    `algorithms`: by the names of `CHOICES`; what is not named is `usual`.
    `polls`: whether a rank that waits keeps its PE busy.
    """
    state = _State(recording, dict.fromkeys(CHOICES, USUAL) | dict(algorithms or {}))
    blocks = [_plain(recording), *(_rows(state, meeting) for meeting in meetings(recording))]
    action, columns = _in_order(blocks, recording.action.size)
    rank_of, ranks = recording.rank[action], recording.ranks
    first = np.searchsorted(rank_of, np.arange(ranks + 1))
    held = recording.memory_bytes.astype(np.int64)
    made = Columns(
        first=first,
        index=(np.arange(action.size) - first[rank_of]).astype(np.int32),
        **columns,
        barriers=np.array(state.barriers, dtype=np.int32),
        farms=np.zeros(0, np.int32),
        farm_tables=(),
        customs=(),
        footprints_bytes=held,
        polls=polls,
    )
    made.check()
    return Expansion(Program(((),) * ranks, tuple(held.tolist()), polls, assembled=made), made, action)


@dataclass(frozen=True)
class _Block:
    """Rows that some actions become, those of one action together and in order."""

    action: Ints
    columns: dict[str, NDArray[Any]]


def _in_order(blocks: list[_Block], actions: int) -> tuple[Ints, dict[str, Any]]:
    """All rows by their actions."""
    if len(blocks) == 1:
        return blocks[0].action, blocks[0].columns
    counts = np.zeros(actions, np.int64)
    for block in blocks:
        counts += np.bincount(block.action, minlength=actions)
    edges = np.concatenate(([0], np.cumsum(counts)))
    columns: dict[str, NDArray[Any]] = {name: np.empty(edges[-1], kind) for name, kind in FIELDS.items()}
    for block in blocks:
        begins = np.flatnonzero(np.diff(block.action, prepend=-1))
        lengths = np.diff(np.append(begins, block.action.size))
        place = edges[block.action] + np.arange(block.action.size) - np.repeat(begins, lengths)
        for name, column in columns.items():
            column[place] = block.columns[name]
    return np.repeat(np.arange(actions), counts), columns


def _plain(recording: Recording) -> _Block:
    """What is one row: computing, sleeping and messages between two ranks."""
    kind_of = np.zeros(len(Action), np.int8)
    kind_of[list(KINDS)] = list(KINDS.values())
    kind, partner, source = kind_of[recording.action], recording.partner.copy(), recording.source.copy()
    amount, posts = recording.amount.copy(), (Kind.POST_SEND, Kind.POST_RECV, Kind.WAIT)
    one_way = np.flatnonzero((kind == Kind.EXCHANGE) & ((partner < 0) | (source < 0)))
    here = np.where(partner[one_way] >= 0, Kind.SEND, np.where(source[one_way] >= 0, Kind.RECV, Kind.NONE))
    kind[one_way] = here
    partner[one_way] = np.maximum(partner[one_way], source[one_way])
    kind[((kind == Kind.COMPUTE) | (kind == Kind.DELAY)) & (amount == 0)] = Kind.NONE
    source[~np.isin(kind, (Kind.EXCHANGE, *posts))] = -1
    amount[np.isin(kind, (Kind.RECV, Kind.POST_RECV, Kind.WAIT))] = 0
    elements = np.maximum(1.0, recording.memory_bytes / WORD_BYTES)
    size = np.where(kind == Kind.COMPUTE, elements[recording.rank], recording.mode)
    kept = np.flatnonzero(kind)
    columns: dict[str, NDArray[Any]] = {"kind": kind, "partner": partner, "source": source, "tag": _tags(recording)}
    columns |= {"amount": amount, "size": size}
    return _Block(kept, {name: column[kept] for name, column in columns.items()})


def _tags(recording: Recording) -> NDArray[np.int32]:
    """Tags that no two communicators share."""
    if not np.any(recording.communicator):
        return recording.tag
    both = recording.communicator.astype(np.int64) << 32 | recording.tag
    return np.asarray(np.unique(both, return_inverse=True)[1].reshape(-1), np.int32)


# Collectives


@dataclass(frozen=True)
class Meeting:
    """Collectives of one communicator that are of one kind and root."""

    action: Action
    members: Ints
    rows: Ints
    """Actions of the ranks, in the order of the communicator; (G, M)."""
    root: int


@dataclass
class _State:
    """What is shared while the collectives of a recording are expanded."""

    recording: Recording
    algorithms: Mapping[str, str]
    barriers: list[int] = field(default_factory=list)
    first_request: int = 0

    def __post_init__(self) -> None:
        for name, chosen in self.algorithms.items():
            if name not in CHOICES or chosen not in CHOICES[name]:
                known = ", ".join(CHOICES.get(name, CHOICES))
                raise ScenarioError(f"{name}: {chosen!r} is no algorithm of it; take {known}")
        posts = np.isin(self.recording.action, (Action.POST_SEND, Action.POST_RECV))
        self.first_request = int(self.recording.source[posts].max(initial=-1)) + 1


def meetings(recording: Recording) -> Iterator[Meeting]:
    """All collectives of more than one rank; what ranks did in a communicator for the k-th time is one."""
    rows = np.flatnonzero((recording.action >= COLLECTIVES.start) & (recording.action < COLLECTIVES.stop))
    rows = rows[np.argsort(recording.communicator[rows], kind="stable")]
    found, edges = np.unique(recording.communicator[rows], return_index=True)
    ranks = recording.rank
    for communicator, (begin, end) in zip(found.tolist(), pairwise([*edges.tolist(), rows.size]), strict=True):
        members, mine = recording.group(communicator), rows[begin:end]
        if members.size < 2:
            continue
        counts = np.bincount(ranks[mine], minlength=recording.ranks)
        if np.any(counts[members] != counts[members[0]]) or counts[members].sum() != mine.size:
            raise _unlike(recording, communicator, counts)
        meeting = mine.reshape(members.size, -1)[np.argsort(np.argsort(members))]
        yield from _alike(recording, communicator, members, meeting)


def _unlike(recording: Recording, communicator: int, counts: Ints) -> ScenarioError:
    inside = np.isin(np.arange(recording.ranks), recording.group(communicator))
    most, least = (
        int(np.argmax(np.where(inside, counts, -1))),
        int(np.argmin(np.where(inside, counts, counts.max() + 1))),
    )
    others = np.flatnonzero((counts > 0) & ~inside)
    if others.size:
        what = f"rank {others[0]} takes part in collectives of communicator {communicator}, in which it is not"
    else:
        does = f"rank {most} does {counts[most]} collectives of communicator {communicator}"
        what = f"{does} and rank {least} {counts[least]}"
    return ScenarioError(f"recording: {what}: it is cut off, or of unlike ranks; record the program again")


def _alike(recording: Recording, communicator: int, members: Ints, rows: Ints) -> Iterator[Meeting]:
    """Collectives of a communicator by kind and root, which its ranks agree on."""
    kinds, roots = recording.action[rows], recording.partner[rows]
    wrong = np.flatnonzero(np.any((kinds != kinds[0]) | (roots != roots[0]), axis=0))
    if wrong.size:
        number = int(wrong[0])
        rank = int(np.argmax((kinds[:, number] != kinds[0, number]) | (roots[:, number] != roots[0, number])))
        said = [f"{Action(kinds[r, number]).name.lower()} (root {roots[r, number]})" for r in (0, rank)]
        what = f"collective {number} of communicator {communicator} is {said[0]} for rank {members[0]}"
        raise ScenarioError(f"recording: {what} and {said[1]} for rank {members[rank]}; record the program again")
    both = np.stack((kinds[0].astype(np.int64), roots[0].astype(np.int64)))
    for kind, root in np.unique(both, axis=1).T.tolist():
        yield Meeting(Action(kind), members, rows[:, (both[0] == kind) & (both[1] == root)], root)


def _rows(state: _State, meeting: Meeting) -> _Block:
    """The messages of collectives."""
    name = NAMED[meeting.action]
    sizes = sizes_of(state.recording, meeting)
    chosen = np.full(meeting.rows.shape[1], state.algorithms[name], dtype=object)
    if state.algorithms[name] == USUAL:
        chosen[:] = _usual(name, meeting.members.size, sizes)
    blocks = []
    for algorithm in dict.fromkeys(chosen.tolist()):
        which = np.flatnonzero(chosen == algorithm)
        cells = 2 * meeting.members.size * (1 if _apart(meeting, algorithm) else meeting.members.size)
        at_once = max(1, MOST_CELLS // cells)
        for begin in range(0, which.size, at_once):
            some = which[begin : begin + at_once]
            blocks += _some(state, meeting, some, sizes[..., some], algorithm)
    action = np.concatenate([block.action for block in blocks])
    columns = {name: np.concatenate([block.columns[name] for block in blocks]) for name in FIELDS}
    return _Block(action, columns)


def sizes_of(recording: Recording, meeting: Meeting) -> Floats:
    """Bytes of each rank's part, (G, M), of an all-to-all (G, G, M); of what has one size for all, the root's."""
    amounts = recording.amount[meeting.rows]
    if meeting.action == Action.ALLTOALLV:
        places = recording.parts_first[recording.source[meeting.rows]]
        every = places[..., np.newaxis] + np.arange(meeting.members.size)
        return np.asarray(recording.parts[every].transpose(0, 2, 1))
    if meeting.action == Action.ALLTOALL:
        return np.repeat(amounts[:, np.newaxis], meeting.members.size, axis=1)
    if NAMED[meeting.action] in UNEQUAL:
        return np.asarray(amounts)
    at = int(np.flatnonzero(meeting.members == meeting.root)[0]) if meeting.root >= 0 else 0
    return np.broadcast_to(amounts[at], amounts.shape)


def _usual(name: str, ranks: int, sizes: Floats) -> NDArray[Any]:
    """What libraries take, for each of some collectives."""
    if name == "broadcast":
        return np.where((sizes[0] < LONG_BROADCAST_BYTES) | (ranks < FEW_RANKS), "binomial", "scatter_ring")
    if name == "allreduce":
        return np.where(sizes[0] < LONG_REDUCE_BYTES, "recursive_doubling", "ring")
    if name == "allgather":
        return np.where(sizes.sum(axis=0) < LONG_GATHER_BYTES, "bruck", "ring")
    return np.asarray({"reduce": "binomial"}.get(name) or next(iter(UNEQUAL[name])))


def _apart(meeting: Meeting, algorithm: str) -> bool:
    """Whether the root does much and the others little."""
    return meeting.root >= 0 and algorithm in ("linear", "posted")


def _some(state: _State, meeting: Meeting, some: Ints, sizes: Floats, algorithm: str) -> list[_Block]:
    """Some of the collectives, all by one algorithm: of the root and of the others where they do unlike things."""
    rows, members = meeting.rows[:, some], meeting.members
    if algorithm == INSTANT:
        return [_instant(state, rows)]
    ranks = np.arange(members.size)
    is_root = members == meeting.root
    these = (ranks[is_root], ranks[~is_root]) if _apart(meeting, algorithm) else (ranks,)
    return [_flat(state, rows[some], _slots(meeting, some, sizes, algorithm)) for some in these]


def _slots(meeting: Meeting, ranks: Ints, sizes: Floats, algorithm: str) -> list[Slot]:
    """What some ranks do, of (process, iteration)."""
    name, members = NAMED[meeting.action], meeting.members
    if algorithm in UNEQUAL.get(name, ()):
        root = np.flatnonzero(members == meeting.root)[:1] if meeting.root >= 0 else np.zeros(1, np.int64)
        party = Party(members, ranks[:, np.newaxis], root[:, np.newaxis], np.zeros((1, 1)))
        return UNEQUAL[name][algorithm](party, np.asarray(sizes))
    fields: dict[str, Any] = {"size_bytes": sizes.max(axis=0), "algorithm": algorithm}
    if meeting.root >= 0:
        fields["root"] = meeting.root
    return expand(EQUAL[name](**fields), members[ranks], members, (sizes.shape[-1],))


def _instant(state: _State, rows: Ints) -> _Block:
    """Barriers that cost nothing but waiting."""
    numbers = len(state.barriers) + np.arange(rows.shape[1])
    state.barriers += [rows.shape[0]] * rows.shape[1]
    columns: dict[str, NDArray[Any]] = {name: np.full(rows.size, -float(name == "source")) for name in FIELDS}
    columns |= {"kind": np.full(rows.size, Kind.BARRIER), "partner": np.tile(numbers, rows.shape[0])}
    return _Block(rows.reshape(-1), columns)


def _flat(state: _State, rows: Ints, slots: list[Slot]) -> _Block:
    """Slots as rows, action after action, places that are empty left out."""
    shape = (*rows.shape, len(slots))
    columns: dict[str, NDArray[Any]] = {name: np.empty(shape, kind) for name, kind in FIELDS.items()}
    for place, slot in enumerate(slots):
        for name, column in columns.items():
            column[..., place] = getattr(slot, name)
    kept = columns["kind"] != Kind.NONE
    found = {name: column[kept] for name, column in columns.items()}
    found["tag"][:] = COLLECTIVE_TAG
    found["source"][found["kind"] >= Kind.POST_SEND] += state.first_request
    return _Block(np.broadcast_to(rows[..., np.newaxis], shape)[kept], found)
