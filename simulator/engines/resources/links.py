"""What moves over links, and links that it passes without contention or first come, first served."""

from collections import defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import simpy

from simulator.engines.resources.instant import Instant, Occurrence, Phase


@dataclass(frozen=True)
class Movements:
    """What messages and disk transfers of one configuration cost, by row of its operations; see `Costs`."""

    ticks: Sequence[int]
    units: Sequence[int]
    route: Sequence[int]
    routes: Sequence[tuple[int, ...]]
    """The directed links of each route."""


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
