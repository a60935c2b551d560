"""PEs in sharing domains: each computation attains its share of what the PE gives, which its neighbours change."""

from collections.abc import Iterator
from dataclasses import dataclass

import simpy

from simulator.engines.costs.sharing import CACHE, FULL, MEMORY, ONE, PARTS, Sharing
from simulator.engines.resources.cpu import Site, Usage, end_of
from simulator.engines.resources.instant import Clock, Instant, Occurrence, Phase


class Neighbourhood:
    """All sharing domains of one run; after changes it finds shares again once at the end of the instant."""

    def __init__(self, env: Clock, instant: Instant, sharing: Sharing, place: int, starts: list[int]) -> None:
        self._env, self._instant, self._starts, self._loads = env, instant, starts, sharing.loads
        self._kinds: list[int] = sharing.kinds.tolist()
        self._slots: list[list[int]] = sharing.slots.tolist()
        self._demands: list[list[int]] = sharing.demands[place].tolist()
        self._rows: list[list[int]] = sharing.tables[place].tolist()
        self._load_demands: list[list[int]] = sharing.load_demands[place].tolist()
        self._tables = [sharing.table(number).data for number in range(len(sharing.first) - 1)]
        self._members = [domain.pes for domain in sharing.domains]
        bites: list[bool] = sharing.biting[place].tolist()
        self._slots = [[number if number >= 0 and bites[number] else -1 for number in row] for row in self._slots]
        self._pes: dict[int, DomainPE] = {}
        self._cores: dict[int, int] = {}
        self._changed: set[int] = set()
        self._planned: dict[int, int] = {}

    def add(self, number: int, pe: "DomainPE") -> None:
        """A PE with processes of ours."""
        self._pes[number] = pe

    def cores(self, cores: dict[int, int]) -> None:
        """Of all PEs."""
        self._cores = cores

    def changed(self, number: int) -> None:
        """Who is present on a PE, or its load, has changed."""
        self._changed.add(number)
        self._instant.ask(Phase.NEIGHBOURS, self._settle)

    def _settle(self) -> None:
        domains = {domain for number in self._changed for domain in self._slots[number] if domain >= 0}
        near = self._changed | {pe for domain in domains for pe in self._members[domain]}
        pressed: dict[int, dict[int, int]] = {domain: self._pressures(domain) for domain in self._all(near)}
        for number in sorted(near):
            pe = self._pes.get(number)
            if pe is not None:
                changed = False
                for computation in () if pe.stands else pe.present():
                    share = self._share(number, pe, computation.process, pressed)
                    changed |= share != computation.next_share
                    computation.next_share = share
                if changed or number in self._changed:
                    self._instant.ask(Phase.PES, pe.settle, number)
            self._plan_load(number)
        self._changed.clear()

    def _all(self, pes: set[int]) -> set[int]:
        return {domain for number in pes for domain in self._slots[number] if domain >= 0}

    def _load(self, number: int) -> int:
        load = self._loads[number]
        return 0 if load is None else load.at(self._starts[number] + self._env.now)

    def _oversubscribed(self, number: int, m: int) -> bool:
        return PARTS * m + self._load(number) > PARTS * self._cores[number]

    def _all_of(self, number: int, slot: int) -> int:
        """Units with which all that is on a PE presses, as if each had a core."""
        kind, pe = self._kinds[self._slots[number][slot]], self._pes.get(number)
        units = self._load(number) * self._load_demands[number][slot] // PARTS
        if pe is not None:
            if pe.stands:
                return units
            units += sum(self._demands[computation.process][slot] for computation in pe.present())
            units += ONE * pe.polling if kind not in (CACHE, MEMORY) else 0
        return units

    def _pressures(self, domain: int) -> dict[int, int]:
        """Of each PE of a domain on the others."""
        found = {}
        for number in self._members[domain]:
            units, pe = self._all_of(number, self._slots[number].index(domain)), self._pes.get(number)
            m = 0 if pe is None else pe.m
            if self._kinds[domain] != CACHE and self._oversubscribed(number, m):
                units = units * PARTS * self._cores[number] // (PARTS * m + self._load(number))
            found[number] = units
        return found

    def _share(self, number: int, pe: "DomainPE", process: int, pressed: dict[int, dict[int, int]]) -> int:
        share = FULL
        for slot, domain in enumerate(self._slots[number]):
            row = self._rows[process][slot]
            if domain < 0 or row < 0:
                continue
            here = self._all_of(number, slot) - self._demands[process][slot]
            if self._kinds[domain] != CACHE and self._oversubscribed(number, pe.m):
                here = here * PARTS * (self._cores[number] - 1) // (PARTS * (pe.m - 1) + self._load(number))
            others = here + sum(pressed[domain].values()) - pressed[domain][number]
            table = self._tables[row]
            share = max(1, share * table[min(others, len(table) - 1)] // FULL)
        return share

    def _plan_load(self, number: int) -> None:
        """Come back when the load of a PE changes, if anything computes that it may press on."""
        load, now = self._loads[number], self._env.now
        if load is None or self._planned.get(number, -1) > now:
            return
        near = (pe for domain in self._slots[number] if domain >= 0 for pe in self._members[domain])
        if not any(pe in self._pes and self._pes[pe].computes for pe in near):
            return
        start = self._starts[number]
        change = load.changes_after(start + now)
        if change is not None:
            self._planned[number] = change - start
            wake = simpy.Timeout(self._env, change - start - now)
            wake.callbacks.append(lambda _event: self.changed(number))


@dataclass(eq=False)
class _Computation:
    process: int
    begin: int
    left: int
    """What it still has to attain, in 2^-30 ticks, when its PE was last settled."""
    done: Occurrence
    share: int = FULL
    next_share: int = -1


class DomainPE:
    """A PE in sharing domains."""

    def __init__(self, env: Clock, instant: Instant, usage: Usage, site: Site, neighbourhood: Neighbourhood) -> None:
        self._env, self._instant, self._usage, self._site = env, instant, usage, site
        self._neighbourhood = neighbourhood
        self._running: list[_Computation] = []
        self._arrived: list[_Computation] = []
        self.polling = 0
        """Processes that wait for others and keep it busy with that."""
        self._service = site.service(1)
        self._mark = 0
        self._stood = False
        self._wake: simpy.Event | None = None
        neighbourhood.add(site.index, self)
        if site.group is not None:
            site.group.add(self, site)

    @property
    def runnable(self) -> int:
        """Processes that compute or poll."""
        return len(self._running) + len(self._arrived) + self.polling

    @property
    def stands(self) -> bool:
        """Whether its control group has used what its quota grants."""
        return self._site.stands

    @property
    def m(self) -> int:
        """Runnable processes that do not stand."""
        return 0 if self.stands else self.runnable

    @property
    def computes(self) -> bool:
        """Whether anything does."""
        return bool(self._running or self._arrived)

    def present(self) -> Iterator[_Computation]:
        """Computations."""
        yield from self._running
        yield from self._arrived

    def compute(self, nominal_ticks: int, process: int) -> simpy.Event:
        """Join with `nominal_ticks` of work; the event happens when they are attained."""
        done = Occurrence(self._env)
        self._arrived.append(_Computation(process, self._env.now, nominal_ticks * FULL, done))
        self.reconsider()
        self._site.changed()
        return done

    def poll(self, change: int) -> None:
        """One process more, or less, waits for others and keeps the PE busy with that."""
        self.polling += change
        self.reconsider()
        self._site.changed()

    def reconsider(self) -> None:
        """Find shares again at the end of this instant."""
        self._neighbourhood.changed(self._site.index)

    def _advance(self, now: int) -> None:
        """Up to now, at the shares and the number of processes that have held so far."""
        if self._running and not self._stood:
            mark = self._service.at(self._site.start + now)
            for computation in self._running:
                computation.left -= computation.share * (mark - self._mark)
            self._mark = mark

    def settle(self) -> None:
        """At the end of an instant: from now on at the new shares and number of processes."""
        now, at = self._env.now, self._site.start + self._env.now
        self._advance(now)
        self._running += self._arrived
        self._arrived.clear()
        self._wake, self._stood = None, self.stands
        if not self._running or self._stood:
            return
        for computation in self._running:
            computation.share = computation.next_share
        self._service = self._site.service(self.m)
        self._mark = self._service.at(at)
        missing = min(-(-computation.left // computation.share) for computation in self._running)
        end = end_of(self._service, self._site.name, self._mark + missing)
        self._wake = simpy.Timeout(self._env, end - at)
        self._wake.callbacks.append(self._end_due)

    def _end_due(self, wake: simpy.Event) -> None:
        if wake is not self._wake:
            return  # shares changed since
        now = self._env.now
        self._advance(now)
        for computation in [computation for computation in self._running if computation.left <= 0]:
            self._running.remove(computation)
            self._usage.busy[computation.process] += now - computation.begin
            self._usage.computed[computation.process] = now
            computation.done.succeed()
        self.reconsider()
        self._site.changed()
