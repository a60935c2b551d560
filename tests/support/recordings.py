"""Recordings of a few actions, and random ones of which every rank's calls fit those of the others."""

import numpy as np
from hypothesis import strategies as st

from simulator.programs.recorded.recording import COLLECTIVES, ROOTED, Action, Described, Recording

INTS = ("partner", "source", "tag", "communicator", "site")
PLAIN = {"partner": -1, "source": -1, "tag": 0, "communicator": 0, "mode": 0, "amount": 0.0, "site": -1}


def recording(*ranks, groups=None, parts=(), described=None, **more):
    """One whose ranks did these actions, each a tuple of an action and its columns."""
    actions = [one for rank in ranks for one in rank]
    columns = {
        name: np.array([one[1].get(name, usual) if len(one) > 1 else usual for one in actions])
        for name, usual in PLAIN.items()
    }
    columns = {name: column.astype(np.int32) if name in INTS else column for name, column in columns.items()}
    columns["mode"] = columns["mode"].astype(np.int8)
    groups = [range(len(ranks))] if groups is None else groups
    return Recording.of(
        np.cumsum([0, *map(len, ranks)]),
        np.array([one[0] for one in actions], dtype=np.int8),
        described or Described("./program"),
        **columns,
        members_first=np.cumsum([0, *map(len, groups)]),
        members=np.array([member for group in groups for member in group], dtype=np.int64),
        parts_first=np.cumsum([0, *map(len, parts)]),
        parts=np.array([size for row in parts for size in row], dtype=float),
        **more,
    )


@st.composite
def recordings(draw, *, communicators=True, kinds=tuple(COLLECTIVES), modes=(0, 0, 1, 2)):
    """Up to five ranks that compute, sleep, talk and meet; what one posts it waits for before the next meeting."""
    count = draw(st.integers(2, 5))
    groups = [list(range(count))]
    if communicators:
        some = st.lists(st.integers(0, count - 1), min_size=1, max_size=count, unique=True)
        groups += draw(st.lists(some, max_size=2))
    ranks, rows = [[] for _ in range(count)], []
    sizes, tags = st.integers(0, 3000), st.integers(0, 3)
    for _ in range(draw(st.integers(1, 8))):
        what = draw(st.sampled_from(["compute", "sleep", "message", "posted", "exchange", "collective", "collective"]))
        number = draw(st.integers(0, len(groups) - 1))
        group = groups[number]
        if what in ("compute", "sleep"):
            action = Action.COMPUTE if what == "compute" else Action.SLEEP
            ranks[draw(st.integers(0, count - 1))].append((action, {"amount": float(draw(st.integers(0, 5)))}))
        elif what == "collective":
            _meet(draw, ranks, rows, number, group, draw(st.sampled_from(kinds)))
        elif len(group) > 1:
            order = draw(st.permutations(group))
            said = {"tag": draw(tags), "communicator": number, "mode": draw(st.sampled_from(modes))}
            size = float(draw(sizes))
            if what == "exchange":
                for at, rank in enumerate(order):
                    ends = {"partner": order[(at + 1) % len(order)], "source": order[at - 1]}
                    ranks[rank].append((Action.EXCHANGE, {**said, **ends, "amount": size}))
                continue
            sender, receiver = order[:2]
            if what == "message":
                ranks[sender].append((Action.SEND, {**said, "partner": receiver, "amount": size}))
                ranks[receiver].append((Action.RECV, {**said, "mode": 0, "partner": sender, "amount": size}))
                continue
            request = draw(st.integers(0, 2))
            sent = {**said, "partner": receiver, "amount": size, "source": request}
            got = {**said, "mode": 0, "partner": sender, "amount": size, "source": request}
            ranks[sender].append((Action.POST_SEND, sent))
            ranks[receiver].append((Action.POST_RECV, got))
            for rank in (sender, receiver):
                if draw(st.booleans()):
                    ranks[rank].append((Action.COMPUTE, {"amount": 1.0}))
                ranks[rank].append((Action.WAIT, {"source": request}))
    held = np.array([draw(st.sampled_from([0, 4096, 2**20])) for _ in range(count)])
    return recording(*ranks, groups=groups, parts=rows, memory_bytes=held)


def _meet(draw, ranks, rows, number, group, kind):
    """A collective of a group."""
    size = float(draw(st.integers(0, 20_000)))
    root = draw(st.sampled_from(group)) if kind in ROOTED else -1
    for rank in group:
        said = {"partner": root, "communicator": number, "amount": 0.0 if kind == Action.BARRIER else size}
        if kind == Action.ALLTOALLV:
            rows.append([float(draw(st.integers(0, 900))) for _ in group])
            said |= {"source": len(rows) - 1, "amount": sum(rows[-1])}
        elif kind in (Action.GATHER, Action.SCATTER, Action.ALLGATHER, Action.REDUCE_SCATTER):
            said["amount"] = float(draw(st.integers(0, 20_000)))
        ranks[rank].append((kind, said))
