"""One pass of a policy: who starts now and who is promised what, from what is known at this tick. Nothing here waits.

Sources: Lifka, "The ANL/IBM SP scheduling system", 1995 (EASY); Mu'alem and Feitelson, TPDS 2001 (EASY, conservative).
"""

from bisect import insort
from collections.abc import Sequence
from dataclasses import dataclass, field

from simulator.scheduling.places import CountedProfile, Hole, NamedProfile, Places
from simulator.scheduling.policy import PROMISING, Policy

__all__ = ["Decision", "Jobs", "Situation", "decide"]


@dataclass(frozen=True)
class Jobs:
    """What decisions know of jobs: lists by job, choices as pairs of number and size."""

    pes: int
    choices: list[list[tuple[int, int]]]
    plan: list[list[int]]
    """Planned ticks of each choice, by class of the slowest PE."""
    needs: list[float]
    places: Places | None = None

    def counted(self, job: int) -> tuple[int, int, int]:
        """Choice, size and planned ticks of a job where PEs are counted."""
        choice, size = self.choices[job][0]
        return choice, size, self.plan[choice][0]


@dataclass(frozen=True)
class Situation:
    """What is known at a tick."""

    now: int
    queue: Sequence[int]
    """Jobs that wait, in the policy's order."""
    candidates: Sequence[int]
    """The same in the order in which they are tried behind the head."""
    running: Sequence[tuple[int, int]]
    """Planned end, and size or PEs of each running job."""
    running_jobs: Sequence[int] = ()
    """Which these are, in the order of their starts as they."""
    promises: dict[int, Hole] = field(default_factory=dict)
    """Conservative: what jobs of the queue were promised."""
    arrived: Sequence[int] = ()
    """Jobs that no pass has seen yet, in the order of submission."""
    freed: bool = False
    """Whether a job ended before its planned end since the last pass."""
    corrected: bool = False
    """Whether a planned end has moved since the last pass."""


@dataclass(frozen=True)
class Decision:
    """What a pass decides."""

    starts: list[tuple[int, Hole]]
    promises: dict[int, Hole] = field(default_factory=dict)
    """Conservative: of all that still wait. EASY: of the head."""


def decide(policy: Policy, jobs: Jobs, seen: Situation) -> Decision:
    """One pass of a policy."""
    if policy.backfill in PROMISING:
        return _kept(jobs, seen, replan=seen.corrected or (seen.freed and policy.backfill == "replanned"))
    if jobs.places is not None:
        together = policy.placement == "min-min"
        return _least_first(jobs, seen, jobs.places) if together else _named(policy, jobs, seen, jobs.places)
    return _counted(policy, jobs, seen)


def _counted(policy: Policy, jobs: Jobs, seen: Situation) -> Decision:
    """The head while it fits; behind a head that waits, who does not delay it (EASY)."""
    now, starts = seen.now, list[tuple[int, Hole]]()
    releases = sorted((end, size) for end, size in seen.running if end > now)
    free = jobs.pes - sum(size for _, size in releases)
    started, head = set[int](), None
    for job in seen.queue:
        choice, size, lasting = jobs.counted(job)
        if size > free:
            head = job
            break
        free -= size
        insort(releases, (now + lasting, size))
        starts.append((job, Hole(now, lasting, choice)))
        started.add(job)
    if head is None or policy.backfill == "none":
        return Decision(starts)
    shadow, extra = _shadow(releases, free, jobs.counted(head)[1])
    for job in seen.candidates:
        choice, size, lasting = jobs.counted(job)
        if job in started or job == head or size > free:
            continue
        if now + lasting > shadow:
            if size > extra:
                continue
            extra -= size
        free -= size
        starts.append((job, Hole(now, lasting, choice)))
    return Decision(starts, {head: Hole(shadow, jobs.counted(head)[2], jobs.counted(head)[0])})


def _shadow(releases: list[tuple[int, int]], free: int, size: int) -> tuple[int, int]:
    """When a head of this size can start as planned, and how many PEs it leaves then."""
    shadow = -1
    for end, released in releases:
        if free >= size and end > shadow:
            break
        free, shadow = free + released, end
    return shadow, free - size


def _named(policy: Policy, jobs: Jobs, seen: Situation, places: Places) -> Decision:
    """The same on PEs by number: who passes the head takes none that it is to get."""
    profile, starts, promises = _running(jobs, seen), list[tuple[int, Hole]](), dict[int, Hole]()
    started = set[int]()
    for job in seen.queue:
        hole = places.best(profile, jobs.choices[job], jobs.needs[job])
        if hole is None:
            break
        profile.take(hole.start, hole.end, hole.pes)
        if hole.start > seen.now:
            promises[job] = hole
            break
        starts.append((job, hole))
        started.add(job)
    if not promises or policy.backfill == "none":
        return Decision(starts)
    for job in seen.candidates:
        if job in started or job in promises:
            continue
        hole = places.best(profile, jobs.choices[job], jobs.needs[job])
        if hole is not None and hole.start == seen.now:
            profile.take(hole.start, hole.end, hole.pes)
            starts.append((job, hole))
    return Decision(starts, promises)


def _least_first(jobs: Jobs, seen: Situation, places: Places) -> Decision:
    """Min-min: again and again the job that can end first, of equal ones the first of the queue."""
    profile, starts, left = _running(jobs, seen), list[tuple[int, Hole]](), list(seen.queue)
    while left:
        found = [(job, places.best(profile, jobs.choices[job], jobs.needs[job])) for job in left]
        known = [(job, hole) for job, hole in found if hole is not None]
        job, hole = min(known, key=lambda entry: entry[1].end)
        profile.take(hole.start, hole.end, hole.pes)
        if hole.start == seen.now:
            starts.append((job, hole))
        left.remove(job)
    return Decision(starts)


def _running(jobs: Jobs, seen: Situation) -> NamedProfile:
    """What running jobs leave free."""
    assert jobs.places is not None  # noqa: S101 - only where PEs are named
    profile = NamedProfile(seen.now, jobs.places.every)
    for end, pes in seen.running:
        profile.take(seen.now, end, pes)
    return profile


def _kept(jobs: Jobs, seen: Situation, *, replan: bool) -> Decision:
    """Conservative: everybody has a promise, and nobody's gets worse, unless all are made again."""
    book = _Book(jobs, seen, {} if replan else dict(seen.promises))
    if replan:
        for job in seen.queue:
            book.put(job)
    else:
        for job in seen.queue if seen.freed else ():
            if job in seen.promises:
                book.lift(job)
                book.put(job)
        for job in seen.arrived:
            book.put(job)
    starts = [(job, book.promises[job]) for job in seen.queue if book.promises[job].start <= seen.now]
    gone = {job for job, _ in starts}
    return Decision(starts, {job: hole for job, hole in book.promises.items() if job not in gone})


class _Book:
    """Promises of a conservative policy and what they leave free."""

    def __init__(self, jobs: Jobs, seen: Situation, promises: dict[int, Hole]) -> None:
        self._jobs, self.promises = jobs, promises
        self._profile: CountedProfile | NamedProfile
        if jobs.places is None:
            self._profile = CountedProfile(seen.now, jobs.pes)
        else:
            self._profile = NamedProfile(seen.now, jobs.places.every)
        for end, taken in seen.running:
            if end > seen.now:
                self._profile.take(seen.now, end, taken)
        for job, hole in self.promises.items():
            self._profile.take(hole.start, hole.end, self._amount(job, hole))

    def _amount(self, job: int, hole: Hole) -> int:
        return hole.pes if self._jobs.places is not None else self._jobs.choices[job][0][1]

    def lift(self, job: int) -> None:
        """Give a job's promised hole back."""
        hole = self.promises.pop(job)
        if isinstance(self._profile, NamedProfile):
            self._profile.give(hole.start, hole.end, hole.pes)
        else:
            self._profile.take(hole.start, hole.end, -self._amount(job, hole))

    def put(self, job: int) -> None:
        """Promise a job its earliest hole."""
        jobs, profile = self._jobs, self._profile
        if isinstance(profile, NamedProfile):
            assert jobs.places is not None  # noqa: S101 - only where PEs are named
            hole = jobs.places.best(profile, jobs.choices[job], jobs.needs[job])
            assert hole is not None  # noqa: S101 - the cluster can hold every job, so its last place can
        else:
            choice, size, lasting = jobs.counted(job)
            hole = Hole(profile.earliest(size, lasting), lasting, choice)
        profile.take(hole.start, hole.end, self._amount(job, hole))
        self.promises[job] = hole
