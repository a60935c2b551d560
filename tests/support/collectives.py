"""A tiny interpreter of assembled columns: who receives which message, in an order that rendezvous allows.

It knows nothing of collectives. A sender goes on when its receiver has the message, or waits later if it posts. An
exchange sends what its process held before it.
"""

import itertools
from collections import deque
from dataclasses import dataclass

import numpy as np

from simulator.programs.assembly import assemble
from simulator.programs.columns import Kind
from simulator.programs.program import ANY, Program


@dataclass(frozen=True)
class Message:
    """One message."""

    source: int
    destination: int
    size_bytes: float
    sent_as: int
    """Place of the operation that sends it among its process's operations; that of the receiver's is `received_as`."""
    received_as: int
    exchanged: bool
    """Whether an exchange sends it."""


class DeadlockError(Exception):
    pass


def messages(operation, processes, members=None):
    """Messages of an operation in which `members` take part, in an order in which they can happen."""
    row = (operation,)
    rows = tuple(row if members is None or process in members else () for process in range(processes))
    columns = assemble(Program(rows, (0,) * processes))
    return run(columns)


SENDS, RECEIVES = (Kind.SEND, Kind.EXCHANGE, Kind.POST_SEND), (Kind.RECV, Kind.EXCHANGE, Kind.POST_RECV)
POSTS = (Kind.POST_SEND, Kind.POST_RECV)


def run(columns):
    """All messages of a program of sends, receives and exchanges; barriers, computations and the like are skipped."""
    names = ("kind", "partner", "source", "tag", "amount")
    rows = list(zip(*(getattr(columns, name).tolist() for name in names), strict=True))
    wanted = {*SENDS, *RECEIVES, Kind.WAIT}
    keep = [[row for row in rows[a:b] if row[0] in wanted] for a, b in itertools.pairwise(columns.first.tolist())]
    state = Run(keep)
    while state.ready:
        process = state.ready.popleft()
        if state.at[process] < len(keep[process]) and not state.halves[process]:
            state.step(process, *keep[process][state.at[process]])
    stuck = [process for process, row in enumerate(keep) if state.at[process] < len(row)]
    if stuck:
        raise DeadlockError(stuck)
    return state.found


class Run:
    """Where each process is, and what is open."""

    def __init__(self, rows):
        self.at, self.halves, self.over = [0] * len(rows), [0] * len(rows), set()
        self.sends, self.receives, self.found = {}, {}, []
        self.ready = deque(range(len(rows)))

    def step(self, process, kind, partner, source, tag, size_bytes):
        if kind == Kind.WAIT:
            if (process, source) in self.over:
                self.over.remove((process, source))
                self.go_on(process)
            return
        place, request = self.at[process], source if kind in POSTS else None
        source = source if kind == Kind.EXCHANGE else partner
        assert source != ANY
        assert process not in (partner, source)
        self.halves[process] = 0 if kind in POSTS else 2 if kind == Kind.EXCHANGE else 1
        if kind in SENDS:
            self.sends[process, partner, tag] = (size_bytes, place, kind == Kind.EXCHANGE, request)
        else:
            assert size_bytes == 0
        if kind in RECEIVES:
            self.receives[source, process, tag] = place, request
        if kind in POSTS:
            self.go_on(process)
        for channel in [(process, partner, tag)] * (kind in SENDS) + [(source, process, tag)] * (kind in RECEIVES):
            if channel in self.sends and channel in self.receives:
                self.meet(channel)

    def meet(self, channel):
        size_bytes, sent_as, exchanged, sends = self.sends.pop(channel)
        received_as, receives = self.receives.pop(channel)
        self.found.append(Message(channel[0], channel[1], size_bytes, sent_as, received_as, exchanged))
        self.close(channel[0], sends)
        self.close(channel[1], receives)

    def close(self, process, request):
        if request is not None:
            self.over.add((process, request))
            self.ready.append(process)
            return
        self.halves[process] -= 1
        if not self.halves[process]:
            self.go_on(process)

    def go_on(self, process):
        self.at[process] += 1
        self.ready.append(process)


class Held:
    """What each process holds, and what it held when its present operation began."""

    def __init__(self, initial, merge):
        self.now = [dict(parts) for parts in initial]
        self.before = [(0, dict(parts)) for parts in initial]
        self.merge = merge

    def sent(self, message):
        """Data of a message: what the sender held when the operation that sends it began."""
        place, held = self.before[message.source]
        if place != message.sent_as:
            held = dict(self.now[message.source])
            self.before[message.source] = (message.sent_as, held)
        return held

    def receive(self, message, data):
        """Take data in."""
        place, _ = self.before[message.destination]
        if place != message.received_as:
            self.before[message.destination] = (message.received_as, dict(self.now[message.destination]))
        for key, value in data.items():
            mine = self.now[message.destination]
            mine[key] = self.merge(mine[key], value) if key in mine else value


def once(_mine, _other):
    raise AssertionError("data that is there already")


def combine(mine, other):
    """Contributions of several processes: none is counted twice; what is complete replaces what is not."""
    if mine <= other:
        return other
    assert not mine & other, "a contribution counted twice"
    return mine | other


def parts_bytes(size_bytes, count):
    """Bytes of parts that are equal but for one byte."""
    edges = [(size_bytes // count) * i + min(i, size_bytes % count) for i in range(count + 1)]
    return np.diff(edges)
