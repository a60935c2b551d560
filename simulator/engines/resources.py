"""What the processes of the SimPy engine share: PEs under load, messages by rendezvous, and the end of an instant."""

import heapq
from bisect import bisect_left, bisect_right
from collections import defaultdict, deque
from collections.abc import Callable
from math import ceil, floor

import simpy
from simpy.events import EventPriority

from simulator.costs import LAST_TICK, ServiceTable, TickOverflowError
from simulator.errors import SimulationError, TraceError

AFTER_PROCESSES = EventPriority(2)
"""Priority of the end of an instant: above NORMAL, so that every process has advanced before it."""


def now(env: simpy.Environment) -> int:
    """The current tick."""
    return int(env.now)  # exact: every delay is an int


class Service:
    """Attained service on one PE over absolute trace time, and its inverse, for a fixed number of our processes."""

    def __init__(self, table: ServiceTable) -> None:
        self._knots: list[int] = table.knots.tolist()
        self._rates: list[float] = table.rates.tolist()
        self._attained: list[int] = table.attained.tolist()
        self._after_end = table.after_end
        self._end: int = self._knots[-1]
        self._total: int = self._attained[-1]

    def at(self, tick: int) -> int:
        """Nominal ticks attained from the trace's start to `tick`."""
        laps, inside = divmod(tick, self._end) if self._after_end == "cycle" else (0, tick)
        if inside >= self._end:
            return self._beyond(inside)
        piece = bisect_right(self._knots, inside) - 1
        gained = floor(self._rates[piece] * (inside - self._knots[piece]))
        return laps * self._total + min(self._attained[piece] + gained, self._attained[piece + 1])

    def when(self, attained: int) -> int | None:
        """The least tick by which `attained` (above 0) is reached; None if it never is."""
        laps, inside = 0, attained
        if self._after_end == "cycle":
            if self._total == 0:
                return None
            laps = (attained - 1) // self._total
            inside = attained - laps * self._total
        if inside > self._total:
            return self._when_beyond(inside)
        piece = bisect_left(self._attained, inside) - 1
        return laps * self._end + self._least(piece, inside)

    def _least(self, piece: int, attained: int) -> int:
        start, longest = self._knots[piece], self._knots[piece + 1] - self._knots[piece]
        return start + _steps(self._rates[piece], attained - self._attained[piece], longest)

    def _beyond(self, tick: int) -> int:
        """After a trace that holds its last value, or ends."""
        if self._after_end == "error":
            raise TraceError("load trace: it ends before the run does, a longer one or `cycle` or `hold` needed")
        return self._total + floor(self._rates[-1] * (tick - self._end))

    def _when_beyond(self, attained: int) -> int | None:
        if self._after_end == "error":
            self._beyond(self._end)
        if self._rates[-1] == 0:
            return None
        return self._end + _steps(self._rates[-1], attained - self._total, None)


def _steps(rate: float, missing: int, longest: int | None) -> int:
    """The least number of ticks in which `floor(rate * ticks)` reaches what is missing, at most `longest`."""
    if missing > rate * LAST_TICK:
        return LAST_TICK if longest is None else longest  # the caller refuses what lasts so long
    steps = ceil(missing / rate)
    if longest is not None:
        steps = min(longest, steps)
    while steps > 1 and floor(rate * (steps - 1)) >= missing:
        steps -= 1
    while (longest is None or steps < longest) and floor(rate * steps) < missing:
        steps += 1
    return steps


class Instant:
    """The end of the current tick: runs each asked-for settlement once, after all processes have advanced."""

    def __init__(self, env: simpy.Environment) -> None:
        self._env = env
        self._settlements: dict[int, Callable[[], None]] = {}

    def after(self, key: int, settle: Callable[[], None]) -> None:
        """Ask that `settle` runs at the end of this instant, once per key."""
        if not self._settlements:
            end = simpy.Event(self._env)
            end.callbacks.append(self._settle)
            end._ok, end._value = True, None  # noqa: SLF001 - how SimPy's own events carry a priority
            self._env.schedule(end, priority=AFTER_PROCESSES)
        self._settlements[key] = settle

    def _settle(self, _event: simpy.Event) -> None:
        due, self._settlements = self._settlements, {}
        for settle in due.values():
            settle()


class SharedPE:
    """A PE that its load and our processes share in equal parts; settled only when the number of processes changes."""

    def __init__(
        self, env: simpy.Environment, instant: Instant, name: str, service: Callable[[int], Service], start: int
    ) -> None:
        self._env, self._instant, self._name = env, instant, name
        self._service, self._start = service, start
        self._running: list[tuple[int, int, simpy.Event]] = []
        self._arrived: list[tuple[int, int, simpy.Event]] = []
        self._attained = 0
        self._settled = 0
        self._version = 0

    def compute(self, nominal_ticks: int, process: int) -> simpy.Event:
        """Join with `nominal_ticks` of work; the event happens when they are attained."""
        done = self._env.event()
        self._arrived.append((nominal_ticks, process, done))
        self._instant.after(id(self), self._settle)
        return done

    def _advance(self) -> None:
        """Bring the attained service up to now, at the number of processes that has held so far."""
        if self._running:
            service = self._service(len(self._running))
            self._attained += service.at(self._start + now(self._env)) - service.at(self._start + self._settled)
        self._settled = now(self._env)

    def _settle(self) -> None:
        self._advance()
        for nominal_ticks, process, done in self._arrived:
            heapq.heappush(self._running, (self._attained + nominal_ticks, process, done))
        self._arrived.clear()
        self._version += 1
        if not self._running:
            return
        service, at = self._service(len(self._running)), self._start + now(self._env)
        end = service.when(service.at(at) + self._running[0][0] - self._attained)
        if end is None:
            raise SimulationError(f"PE {self._name}: its load leaves nothing for ever, some share at some time needed")
        if end >= LAST_TICK:
            raise TickOverflowError
        wake = self._env.timeout(end - at, self._version)
        wake.callbacks.append(self._wake)

    def _wake(self, event: simpy.Event) -> None:
        if event.value != self._version:
            return  # the number of processes changed since
        self._advance()
        while self._running and self._running[0][0] <= self._attained:
            heapq.heappop(self._running)[2].succeed()
        self._instant.after(id(self), self._settle)


class Messages:
    """Messages by rendezvous without contention, matched by (source, destination, tag) in program order."""

    def __init__(self, env: simpy.Environment) -> None:
        self._env = env
        self._sends: dict[tuple[int, int, int], deque[tuple[int, simpy.Event]]] = defaultdict(deque)
        self._recvs: dict[tuple[int, int, int], deque[simpy.Event]] = defaultdict(deque)

    def send(self, key: tuple[int, int, int], ticks: int) -> simpy.Event:
        """Offer a message; the event happens when it has been delivered."""
        done = self._env.event()
        self._sends[key].append((ticks, done))
        self._match(key)
        return done

    def recv(self, key: tuple[int, int, int]) -> simpy.Event:
        """Wait for a message; the event happens when it has arrived."""
        done = self._env.event()
        self._recvs[key].append(done)
        self._match(key)
        return done

    def _match(self, key: tuple[int, int, int]) -> None:
        if self._sends[key] and self._recvs[key]:
            (ticks, sent), received = self._sends[key].popleft(), self._recvs[key].popleft()

            def deliver(_event: simpy.Event) -> None:
                sent.succeed()
                received.succeed()

            self._env.timeout(ticks).callbacks.append(deliver)
