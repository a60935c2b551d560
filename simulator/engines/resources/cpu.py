"""PEs under load, one process alone or several in equal parts: attained service and its inverse in exact integers.

A control group with a quota has several of them stand at times, see `ControlGroup`.
"""

import heapq
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from math import ceil, floor
from typing import Protocol

import simpy

from simulator.base.errors import ApportionError
from simulator.engines import faults
from simulator.engines.costs import LAST_TICK, ServiceTable, TickOverflowError
from simulator.engines.resources.instant import Clock, Instant, Occurrence, Phase

EXACT = 2**53
"""Up to here every int is a float64, so that a full share attains exactly the ticks that pass."""


class Service:
    """What one of `m` processes attains on a PE by each tick of its trace, for a fixed `m`."""

    def __init__(self, table: ServiceTable) -> None:
        # Memory views hand out Python's own numbers without copying a long trace.
        self._knots, self._rates, self._attained = table.knots.data, table.rates.data, table.attained.data
        self._after_end = table.after_end
        self._end: int = self._knots[-1]
        self._total: int = self._attained[-1]
        self._turns: list[list[int]] | None = None if table.turns is None else table.turns.tolist()
        self._even = self._after_end == "hold" and len(self._rates) == 1 and self._turns is None
        """One share for ever."""
        self._rate: float = self._rates[0]
        self.full = self._even and self._rate == 1.0
        """Whether a process has the PE to itself for ever."""

    def at(self, tick: int) -> int:
        """Nominal ticks attained from the trace's start to `tick`."""
        if self._even and tick < self._end:
            return min(floor(self._rate * tick), self._total)
        laps, inside = divmod(tick, self._end) if self._after_end == "cycle" else (0, tick)
        if inside >= self._end:
            return self._beyond(inside)
        piece = bisect_right(self._knots, inside) - 1
        gained = self._gained(piece, inside - self._knots[piece])
        return laps * self._total + min(self._attained[piece] + gained, self._attained[piece + 1])

    def known(self, tick: int) -> int:
        """As `at`, and after a trace that ends what was attained by then."""
        return self.at(min(tick, self._end) if self._after_end == "error" else tick)

    def when(self, attained: int) -> int | None:
        """The least tick by which `attained` (above 0) is reached; None if it never is.

        Raises TraceError if the trace ends before.
        """
        if self._even and attained <= self._total:
            return _steps(self._rate, attained, self._end)
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
        return int(start + self._ticks_for(piece, attained - self._attained[piece], longest))

    def _gained(self, piece: int, ticks: int) -> int:
        """What is attained in so many ticks from the beginning of a piece on."""
        if self._turns is not None:
            ours, of_all = self._turns[0][piece], self._turns[1][piece]
            ticks = ticks // of_all * ours + max(0, ticks % of_all - (of_all - ours))
        return floor(self._rates[piece] * ticks)

    def _ticks_for(self, piece: int, missing: int, longest: int | None) -> int:
        """The least number of ticks in which so much is attained, at most `longest`."""
        if self._turns is None:
            return _steps(self._rates[piece], missing, longest)
        ours, of_all = self._turns[0][piece], self._turns[1][piece]
        rounds, rest = divmod(_steps(self._rates[piece], missing, longest) - 1, ours)
        ticks = rounds * of_all + (of_all - ours) + rest + 1
        return ticks if longest is None else min(longest, ticks)

    def _beyond(self, tick: int) -> int:
        """After a trace that holds its last value, or ends."""
        if self._after_end == "error" and tick > self._end:
            raise faults.ended_trace()
        return self._total + self._gained(-1, tick - self._end)

    def _when_beyond(self, attained: int) -> int | None:
        if self._after_end == "error":
            raise faults.ended_trace()
        if self._rates[-1] == 0:
            return None
        return self._end + self._ticks_for(-1, attained - self._total, None)


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


class Usage:
    """What the processes of one run computed, by process."""

    def __init__(self, processes: int) -> None:
        self.busy = [0] * processes
        """Ticks from the begin to the end of computations, summed."""
        self.computed = [0] * processes
        """When the last computation ended."""


@dataclass(frozen=True)
class Site:
    """A PE as a run sees it."""

    index: int
    name: str
    service: Callable[[int], Service]
    """What one of so many processes attains."""
    start: int
    """Tick of its load's trace at which the run starts."""
    group: "ControlGroup | None" = None
    """Its control group, if that has a quota."""

    @property
    def stands(self) -> bool:
        """Whether its control group has used what its quota grants."""
        return self.group is not None and self.group.stands

    def changed(self) -> None:
        """Who is runnable on it has changed, which its control group has to know."""
        if self.group is not None:
            self.group.changed()


def end_of(service: Service, pe: str, attained: int) -> int:
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
        self._undisturbed = EXACT - self._start if self._service.full else 0
        """Up to this tick computations take their nominal ticks."""

    def compute(self, nominal_ticks: int, process: int) -> simpy.Event:
        """The event of the end of a computation that begins now."""
        begin = self._env.now
        end = begin + nominal_ticks
        if end > self._undisturbed:
            try:
                end = self._end(begin, nominal_ticks)
            except (ApportionError, TickOverflowError) as fault:
                return self._refuse(fault)
        self._usage.busy[process] += end - begin
        self._usage.computed[process] = end
        return simpy.Timeout(self._env, end - begin)

    def _end(self, begin: int, nominal_ticks: int) -> int:
        attained = self._service.at(self._start + begin) + nominal_ticks
        return end_of(self._service, self._site.name, attained) - self._start

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
        self._attained = 0
        self._settled = 0
        self._shared_by = 0
        """`m` since then."""
        self._in_force = site.service(1)
        """The service since then, and in `_mark` what it had attained by then."""
        self._mark = 0
        self._planned: tuple[int, int] | None = None
        """Target and `m` that the wake-up in force was planned for."""
        self._wake: simpy.Event | None = None

        self._stood = False
        """Whether its control group stood since then."""
        if site.group is not None:
            site.group.add(self, site)

    @property
    def runnable(self) -> int:
        """Processes that compute or poll."""
        return len(self._running) + len(self._arrived) + self._polling

    @property
    def computes(self) -> bool:
        """Whether anything does."""
        return bool(self._running or self._arrived)

    def compute(self, nominal_ticks: int, process: int) -> simpy.Event:
        """Join with `nominal_ticks` of work; the event happens when they are attained."""
        done = Occurrence(self._env)
        self._arrived.append((nominal_ticks, process, done))
        self.reconsider()
        self._site.changed()
        return done

    def poll(self, change: int) -> None:
        """One process more, or less, waits for others and keeps the PE busy with that."""
        self._polling += change
        if self._running:
            self.reconsider()
        self._site.changed()

    def reconsider(self) -> None:
        """Find the next end again at the end of this instant."""
        self._instant.ask(Phase.PES, self._settle, self._site.index)

    def _advance(self, now: int) -> None:
        """Bring the attained service up to now, at the number of processes that has held so far."""
        if now > self._settled:
            if self._running and not self._stood:
                mark = self._in_force.at(self._start + now)
                self._attained += mark - self._mark
                self._mark = mark
            self._settled = now

    def _settle(self) -> None:
        now, running = self._env.now, self._running
        self._advance(now)
        for nominal_ticks, process, done in self._arrived:
            heapq.heappush(running, (self._attained + nominal_ticks, next(self._order), process, now, done))
        self._arrived.clear()
        if not running:
            return
        target, shared_by, at = running[0][0], len(running) + self._polling, self._start + now
        if self._site.stands:
            self._stood, self._planned, self._wake = True, None, None
            return
        if self._planned == (target, shared_by):
            return
        self._planned = target, shared_by
        if shared_by != self._shared_by or self._stood:
            self._shared_by, self._in_force, self._stood = shared_by, self._service(shared_by), False
            self._mark = self._in_force.at(at)
        end = end_of(self._in_force, self._site.name, self._mark + target - self._attained)
        self._wake = simpy.Timeout(self._env, end - at)
        self._wake.callbacks.append(self._end_due)

    def _end_due(self, wake: simpy.Event) -> None:
        if wake is not self._wake:
            return  # the number of processes changed since
        now = self._env.now
        self._advance(now)
        while self._running and self._running[0][0] <= self._attained:
            _, _, process, begin, done = heapq.heappop(self._running)
            self._usage.busy[process] += now - begin
            self._usage.computed[process] = now
            done.succeed()
        if not self._running:
            self._shared_by = 0  # `_mark` is not kept up meanwhile
        self.reconsider()
        self._site.changed()


class Limited(Protocol):
    """A PE whose control group has a quota: who is runnable, and whether anything computes, may make it stand."""

    @property
    def runnable(self) -> int: ...  # noqa: D102 - as in SharedPE
    @property
    def computes(self) -> bool: ...  # noqa: D102
    def reconsider(self) -> None: ...  # noqa: D102


class ControlGroup:
    """PEs that share a quota: what they used of it in the period under way, and whether they stand until that ends."""

    def __init__(self, env: Clock, instant: Instant, *, budget: int, period: int, phase: int) -> None:
        self._env, self._instant = env, instant
        self._budget, self._period, self._phase = budget, period, phase
        self._pes: list[tuple[Limited, Site]] = []
        self._running: list[tuple[int, Site]] = []
        """Runnable processes of each PE since it was settled."""
        self._settled = self._used = 0
        self.stands = False
        self._wake: simpy.Event | None = None

    def add(self, pe: Limited, site: Site) -> None:
        """A PE with processes of ours."""
        self._pes.append((pe, site))

    def changed(self) -> None:
        """Who is runnable on its PEs has changed."""
        self._instant.ask(Phase.QUOTAS, self._settle, self._pes[0][1].index)

    def _used_between(self, begin: int, end: int) -> int:
        """Processor time that the runnable processes use where nobody stands."""
        used = 0
        for runnable, site in self._running:
            service = site.service(runnable)
            used += runnable * (service.known(site.start + end) - service.known(site.start + begin))
        return used

    def _settle(self) -> None:
        now = self._env.now
        if now > LAST_TICK:
            raise TickOverflowError
        begin = now - (now + self._phase) % self._period
        if self._settled < begin:
            self._used, self._settled = 0, begin
        if self._used < self._budget:
            self._used += self._used_between(self._settled, now)
        self._settled = now
        self._running = [(pe.runnable, site) for pe, site in self._pes if pe.runnable]
        computes, stood = any(pe.computes for pe, _ in self._pes), self.stands
        self.stands = computes and self._used >= self._budget
        if self.stands != stood:
            for pe, _ in self._pes:
                pe.reconsider()
        self._wake = self._plan(begin + self._period) if computes else None

    def _plan(self, end: int) -> simpy.Event:
        """Come back when the quota is used up, or at the latest when the period ends."""
        now, missing = self._env.now, self._budget - self._used
        if not self.stands:
            later = range(now + 1, end)
            end = now + 1 + bisect_left(later, missing, key=lambda tick: self._used_between(now, tick))
        wake = simpy.Timeout(self._env, end - now)
        wake.callbacks.append(lambda wake: self.changed() if wake is self._wake else None)
        return wake
