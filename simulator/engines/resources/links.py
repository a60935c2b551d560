"""Messages and the links that they take without contention or first come, first served; barriers; farms."""

from collections import defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from heapq import heappop, heappush
from typing import Protocol

import simpy

from simulator.engines.resources.instant import Clock, Instant, Occurrence, Phase
from simulator.scheduling import chunks

Channel = tuple[int, int, int]
"""Sender, receiver and tag: messages of one channel are matched in the order in which they were posted."""
Inbox = tuple[int, int]
"""Receiver and tag."""


@dataclass(frozen=True)
class Movements:
    """What messages and disk transfers of one configuration cost, by row of its operations; see `Costs`."""

    ticks: Sequence[int]
    units: Sequence[int]
    route: Sequence[int]
    routes: Sequence[tuple[int, ...]]


class Transfers(Protocol):
    """Moves data over links."""

    def start(self, row: int, done: Occurrence) -> None:
        """Request, in this instant, the transfer of what the operation in `row` sends; `done` happens at its end."""


class NoContention:
    """Whatever moves meets no other."""

    def __init__(self, movements: Movements) -> None:
        self._ticks = movements.ticks

    def start(self, row: int, done: Occurrence) -> None:
        """See `Transfers`."""
        done.after(self._ticks[row])


class _Waiting:
    """A transfer that waits for its links, or holds them."""

    __slots__ = ("done", "links", "missing", "row")

    def __init__(self, row: int, links: tuple[int, ...], done: Occurrence) -> None:
        self.row, self.links, self.done = row, links, done
        self.missing = 0
        """Links in whose queue others are before it."""


class FifoLinks:
    """Each directed link carries one transfer at a time, first come, first served; a transfer needs all of its own.

    Every link has a queue with the transfer that holds it at its head, so that a transfer is granted when it is at the
    head of all its queues.
    """

    def __init__(self, instant: Instant, movements: Movements) -> None:
        self._instant, self._movements = instant, movements
        self._queues = defaultdict[int, deque[_Waiting]](deque)
        self._requested: list[_Waiting] = []
        self._ready: list[_Waiting] = []

    def start(self, row: int, done: Occurrence) -> None:
        """See `Transfers`."""
        route = self._movements.route[row]
        if route < 0:
            done.after(self._movements.ticks[row])
            return
        self._requested.append(_Waiting(row, self._movements.routes[route], done))
        self._instant.ask(Phase.LINKS, self._grant)

    def _grant(self) -> None:
        for transfer in sorted(self._requested, key=lambda transfer: transfer.row):
            for link in transfer.links:
                queue = self._queues[link]
                transfer.missing += bool(queue)
                queue.append(transfer)
            if not transfer.missing:
                self._ready.append(transfer)
        self._requested.clear()
        for transfer in self._ready:
            transfer.done.callbacks.append(partial(self._release, transfer))
            transfer.done.after(self._movements.ticks[transfer.row])
        self._ready.clear()

    def _release(self, ended: _Waiting, _event: simpy.Event) -> None:
        for link in ended.links:
            queue = self._queues[link]
            queue.popleft()
            if queue:
                queue[0].missing -= 1
                if not queue[0].missing:
                    self._ready.append(queue[0])
                    self._instant.ask(Phase.LINKS, self._grant)


class Barriers:
    """All barriers of one run; each ends when its last process arrives."""

    def __init__(self, env: Clock, sizes: Sequence[int]) -> None:
        self._env = env
        self._missing = list(sizes)
        self._open: dict[int, simpy.Event] = {}

    def arrive(self, number: int) -> simpy.Event | None:
        """The event at which all are there; None for the last one, who need not wait."""
        self._missing[number] -= 1
        if self._missing[number]:
            if number not in self._open:
                self._open[number] = self._env.event()
            return self._open[number]
        if number in self._open:
            self._open.pop(number).succeed()
        return None


@dataclass(frozen=True)
class FarmTerms:
    """What a pull gets and how long it lasts."""

    units: int
    processes: int
    rule: int
    notes: tuple[float, ...]
    """Of the rule, before anything is handed out."""
    pull_ticks: int
    serve_ticks: int


class _Pool:
    """The units of one farm that are left, and whom its rule has seen."""

    __slots__ = ("free", "handed_out", "notes")

    def __init__(self, terms: FarmTerms) -> None:
        self.handed_out, self.free, self.notes = 0, 0, list(terms.notes)


@dataclass(frozen=True)
class Request:
    """A process that asks a farm's pool for work."""

    process: int
    farm: int
    place: int
    data: Sequence[int]
    """Ticks that the data of so many units takes to it."""


class Farms:
    """All farms of one run: hands out the next units of work in the order in which they are asked for."""

    def __init__(self, env: Clock, instant: Instant, terms: Sequence[FarmTerms]) -> None:
        self._env, self._instant, self._terms = env, instant, terms
        self._pools = [_Pool(term) for term in terms]
        self._asked: list[tuple[Request, Occurrence]] = []
        self._served: list[tuple[Request, Occurrence]] = []

    def pull(self, request: Request) -> Occurrence:
        """Ask for work; the event has as its value the first of the units that are handed out, and the one after."""
        pulled = Occurrence(self._env)
        self._asked.append((request, pulled))
        self._instant.ask(Phase.PULLS, self._grant)
        return pulled

    def computed(self, request: Request, units: int, ticks: int) -> bool:
        """Note that a process has computed its chunk; whether it asks for another one."""
        rule = self._terms[request.farm].rule
        chunks.finish(rule, request.place, units, ticks, self._pools[request.farm].notes)
        return rule != chunks.STATIC

    def _grant(self) -> None:
        for request, pulled in sorted(self._asked, key=lambda entry: entry[0].process):
            pool, serve = self._pools[request.farm], self._terms[request.farm].serve_ticks
            begin = max(self._env.now, pool.free)
            pool.free = begin + serve
            if begin > self._env.now:
                turn = Occurrence(self._env)
                turn.callbacks.append(partial(self._its_turn, request, pulled))
                turn.after(begin - self._env.now)
            else:
                self._served.append((request, pulled))
        for request, pulled in self._served:
            self._hand_out(request, pulled)
        self._asked.clear()
        self._served.clear()

    def _its_turn(self, request: Request, pulled: Occurrence, _event: simpy.Event) -> None:
        self._served.append((request, pulled))
        self._instant.ask(Phase.PULLS, self._grant)

    def _hand_out(self, request: Request, pulled: Occurrence) -> None:
        pool, terms = self._pools[request.farm], self._terms[request.farm]
        left = terms.units - pool.handed_out
        count = chunks.decide(terms.rule, left, terms.processes, request.place, pool.notes)
        first = chunks.first_unit(terms.rule, pool.handed_out, request.place, pool.notes)
        pool.handed_out += count
        pulled.after(terms.pull_ticks + request.data[count], (first, first + count))


class Message:
    """A posted message that nobody has received yet."""

    __slots__ = ("channel", "done", "eager", "row", "taken")

    def __init__(self, row: int, channel: Channel, done: Occurrence, *, eager: bool) -> None:
        self.row, self.channel, self.done, self.eager = row, channel, done, eager
        self.taken = False


class Messages:
    """All messages of one run that were posted and not yet received, and all receives that wait for one."""

    def __init__(self, env: Clock, instant: Instant, transfers: Transfers, *, from_anyone: set[Inbox]) -> None:
        self._env, self._instant, self._transfers = env, instant, transfers
        self._posted: dict[Channel, deque[Message]] = {}
        self._receiving = defaultdict[Channel, deque[Occurrence]](deque)
        """The receives that wait for a named sender, by channel; all but the last one are posted."""
        self._inboxes: dict[Inbox, list[tuple[int, int, Message]]] = {inbox: [] for inbox in from_anyone}
        """Heaps of (tick posted, row, message) for receives from anyone; taken messages leave late."""
        self._expecting: dict[Inbox, Occurrence] = {}
        """The receives from anyone that wait."""

    def send(self, row: int, channel: Channel, *, eager: bool) -> Occurrence | None:
        """Post a message; the event at which its sender goes on, None if that is at once."""
        if waiting := self._receiving.get(channel):
            received = waiting.popleft()
            self._transfers.start(row, received)
            return None if eager else received
        done = Occurrence(self._env)
        message = Message(row, channel, done, eager=eager)
        queue = self._posted.get(channel)
        if queue is None:
            self._posted[channel] = deque((message,))
        else:
            queue.append(message)
        if self._inboxes:
            self._announce(message)
        if not eager:
            return done
        self._transfers.start(row, done)
        return None

    def receive(self, channel: Channel) -> Occurrence | None:
        """Wait for the next message of a channel; the event of its arrival, None if it is there."""
        queue = self._posted.get(channel)
        if not queue:
            received = Occurrence(self._env)
            self._receiving[channel].append(received)
            return received
        message = queue.popleft()
        message.taken = True
        if not message.eager:
            self._transfers.start(message.row, message.done)
        return None if message.done.over else message.done

    def receive_from_anyone(self, inbox: Inbox) -> Occurrence:
        """Wait for the earliest message to a process with a tag; chosen at the end of an instant."""
        received = self._expecting[inbox] = Occurrence(self._env)
        self._ask(inbox)
        return received

    def unreceived(self) -> list[int]:
        """Rows of the messages that nobody has received."""
        return [message.row for queue in self._posted.values() for message in queue]

    def _announce(self, message: Message) -> None:
        """Offer a message to receives from anyone."""
        _, receiver, tag = message.channel
        heap = self._inboxes.get((receiver, tag))
        if heap is not None:
            heappush(heap, (self._env.now, message.row, message))
            if (receiver, tag) in self._expecting:
                self._ask((receiver, tag))

    def _ask(self, inbox: Inbox) -> None:
        # A process waits for one message from anyone at a time.
        self._instant.ask(Phase.ANYONE, lambda: self._choose(inbox), inbox[0])

    def _choose(self, inbox: Inbox) -> None:
        """The earliest message that is left: of each channel that is its earliest, as it has to be."""
        heap = self._inboxes[inbox]
        while heap and heap[0][2].taken:
            heappop(heap)
        if not heap:
            return
        message = heappop(heap)[2]
        message.taken = True
        self._posted[message.channel].popleft()
        received = self._expecting.pop(inbox)
        if message.done.over:
            received.after(1)
            return
        message.done.callbacks.append(lambda _event: received.succeed())
        if not message.eager:
            self._transfers.start(message.row, message.done)
