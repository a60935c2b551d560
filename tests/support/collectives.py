"""A tiny interpreter of assembled columns: who receives which message, in an order that rendezvous allows.

It knows nothing of collectives. Messages are blocking: a sender goes on when its receiver has the message. An exchange
sends what its process held before it.
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


def run(columns):
    """All messages of a program of sends, receives and exchanges; barriers, computations and the like are skipped."""
    wanted = (Kind.SEND, Kind.RECV, Kind.EXCHANGE)
    names = ("kind", "partner", "source", "tag", "amount")
    rows = list(zip(*(getattr(columns, name).tolist() for name in names), strict=True))
    edges = columns.first.tolist()
    keep = [[row for row in rows[a:b] if row[0] in wanted] for a, b in itertools.pairwise(edges)]
    at = [0] * columns.processes
    open_sends, open_recvs, found = {}, {}, []
    halves = [0] * columns.processes
    ready = deque(range(columns.processes))

    def close(process):
        halves[process] -= 1
        if not halves[process]:
            at[process] += 1
            ready.append(process)

    while ready:
        process = ready.popleft()
        if at[process] == len(keep[process]):
            continue
        kind, partner, source, tag, size_bytes = keep[process][at[process]]
        source = source if kind == Kind.EXCHANGE else partner
        assert source != ANY
        assert partner != process
        assert source != process
        halves[process] = 2 if kind == Kind.EXCHANGE else 1
        place = at[process]
        if kind != Kind.RECV:
            open_sends[process, partner, tag] = (size_bytes, place, kind == Kind.EXCHANGE)
        if kind != Kind.SEND:
            open_recvs[source, process, tag] = place
        if kind == Kind.RECV:
            assert size_bytes == 0
        channels = [(process, partner, tag)] if kind != Kind.RECV else []
        channels += [(source, process, tag)] if kind != Kind.SEND else []
        for channel in channels:
            if channel in open_sends and channel in open_recvs:
                size_bytes, sent_as, exchanged = open_sends.pop(channel)
                received_as = open_recvs.pop(channel)
                found.append(Message(channel[0], channel[1], size_bytes, sent_as, received_as, exchanged))
                close(channel[0])
                close(channel[1])
    stuck = [p for p in range(columns.processes) if at[p] < len(keep[p])]
    if stuck:
        raise DeadlockError(stuck)
    return found


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
