"""PEs under load: one that a single process has to itself, and one that several share in equal parts."""

import heapq
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count

import simpy

from simulator.costs import LAST_TICK, TickOverflowError
from simulator.engines import faults
from simulator.engines.resources.instant import Clock, Instant, Occurrence, Phase
from simulator.engines.resources.service import Service
from simulator.errors import ApportionError


class Usage:
    """What the processes of one run computed, by process."""

    def __init__(self, processes: int) -> None:
        self.busy = [0] * processes
        """Ticks from the begin to the end of computations, summed."""
        self.computed = [0] * processes
        """When the last computation ended."""

    def add(self, process: int, begin: int, end: int) -> None:
        """Count a computation."""
        self.busy[process] += end - begin
        self.computed[process] = end


@dataclass(frozen=True)
class Site:
    """A PE as a run sees it."""

    index: int
    name: str
    service: Callable[[int], Service]
    """What one of so many processes attains."""
    start: int
    """Tick of its load's trace at which the run starts."""


def _end_of(service: Service, pe: str, attained: int) -> int:
    """The tick of the trace at which `attained` is reached; otherwise the fault that forbids it."""
    end = service.when(attained)
    if end is None:
        raise faults.stalled(pe)
    if end >= LAST_TICK:
        raise TickOverflowError
    return end


class OwnPE:
    """A PE that runs one process: when a computation ends is known as soon as it begins."""

    def __init__(self, env: Clock, instant: Instant, usage: Usage, site: Site) -> None:
        self._env, self._instant, self._usage, self._site = env, instant, usage, site
        self._service, self._start = site.service(1), site.start

    def compute(self, nominal_ticks: int, process: int) -> simpy.Event:
        """The event of the end of a computation that begins now."""
        begin = self._env.now
        at = self._start + begin
        try:
            end = _end_of(self._service, self._site.name, self._service.at(at) + nominal_ticks) - self._start
        except (ApportionError, TickOverflowError) as fault:
            return self._refuse(fault)
        self._usage.add(process, begin, end)
        return self._env.timeout(end - begin)

    def _refuse(self, fault: Exception) -> simpy.Event:
        """Raise a fault in its turn among those of other PEs: at the end of the instant."""

        def settle() -> None:
            raise fault

        self._instant.ask(Phase.PES, settle, self._site.index)
        return self._env.event()


class SharedPE:
    """A PE that its load and our processes share in equal parts; settled only when the number of processes changes.

    All attain the same service from then on, so that the heap of targets never changes (virtual time).
    """

    def __init__(self, env: Clock, instant: Instant, usage: Usage, site: Site) -> None:
        self._env, self._instant, self._usage, self._site = env, instant, usage, site
        self._service, self._start = site.service, site.start
        self._running: list[tuple[int, int, int, int, Occurrence]] = []
        """Target, order, process, begin and event of each computation."""
        self._arrived: list[tuple[int, int, Occurrence]] = []
        self._order = count()
        self._polling = 0
        self._runnable = 0
        """`m` since the last settlement."""
        self._attained = 0
        self._settled = 0
        self._planned: tuple[int, int] | None = None
        """Target and `m` that the wake-up in force was planned for."""
        self._wake: simpy.Event | None = None

    def compute(self, nominal_ticks: int, process: int) -> simpy.Event:
        """Join with `nominal_ticks` of work; the event happens when they are attained."""
        done = Occurrence(self._env)
        self._arrived.append((nominal_ticks, process, done))
        self._instant.ask(Phase.PES, self._settle, self._site.index)
        return done

    def poll(self, change: int) -> None:
        """One process more, or less, waits for others and keeps the PE busy with that."""
        self._polling += change
        if self._running:
            self._instant.ask(Phase.PES, self._settle, self._site.index)

    def _advance(self, now: int) -> None:
        """Bring the attained service up to now, at the number of processes that has held so far."""
        if self._running and now > self._settled:
            service = self._service(self._runnable)
            self._attained += service.at(self._start + now) - service.at(self._start + self._settled)
        self._settled = now

    def _settle(self) -> None:
        env = self._env
        self._advance(env.now)
        for nominal_ticks, process, done in self._arrived:
            entry = (self._attained + nominal_ticks, next(self._order), process, env.now, done)
            heapq.heappush(self._running, entry)
        self._arrived.clear()
        self._runnable = len(self._running) + self._polling
        if not self._running:
            return
        target = self._running[0][0]
        if self._planned == (target, self._runnable):
            return
        self._planned = target, self._runnable
        service, at = self._service(self._runnable), self._start + env.now
        end = _end_of(service, self._site.name, service.at(at) + target - self._attained)
        self._wake = env.timeout(end - at)
        self._wake.callbacks.append(self._end_due)

    def _end_due(self, wake: simpy.Event) -> None:
        if wake is not self._wake:
            return  # the number of processes changed since
        now = self._env.now
        self._advance(now)
        while self._running and self._running[0][0] <= self._attained:
            _, _, process, begin, done = heapq.heappop(self._running)
            self._usage.add(process, begin, now)
            done.succeed()
        self._instant.ask(Phase.PES, self._settle, self._site.index)


PE = OwnPE | SharedPE
