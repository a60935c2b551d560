"""One pass of a policy: who starts now and who is promised what, from what is known at this tick. Nothing here waits.

Sources: Lifka, "The ANL/IBM SP scheduling system", 1995 (EASY); Mu'alem and Feitelson, TPDS 2001 (EASY, conservative).
"""

from bisect import insort
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import cast

from simulator.scheduling.policy import PROMISING, Policy
from simulator.scheduling.profiles import Counted, Held, Hole, PlannedPool, Pool, Profile
from simulator.scheduling.slurm import SlurmPolicy, Turn


@dataclass(frozen=True)
class Jobs:
    """What decisions know of jobs: lists by job, choices as pairs of number and size."""

    pool: Pool
    choices: list[list[tuple[int, int]]]
    plan: list[list[int]]
    """Planned ticks of each choice, by class of the slowest PE."""
    users: Sequence[int] = ()

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
    running: Sequence[tuple[int, Held]]
    """Planned end of each running job, and what it holds."""
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
    turns: frozenset[Turn] = frozenset()
    """Slurm: which of its schedulers decide now."""


@dataclass(frozen=True)
class Decision:
    """What a pass decides."""

    starts: list[tuple[int, Hole]]
    promises: dict[int, Hole] = field(default_factory=dict)
    """Conservative: of all that still wait. EASY: of the head."""


def decide(policy: Policy, jobs: Jobs, seen: Situation) -> Decision:
    """One pass of a policy."""
    if policy.backfill == "slurm":
        return _slurm(policy.slurm, jobs, seen)
    if policy.backfill in PROMISING:
        return _kept(jobs, seen, replan=seen.corrected or (seen.freed and policy.backfill == "replanned"))
    if policy.placement == "min-min":
        return _least_first(jobs, seen)
    if isinstance(jobs.pool, Counted) and not jobs.pool.reserved:
        return _counted(policy, jobs, seen, jobs.pool.pes)
    return _in_profile(policy, jobs, seen)


def _counted(policy: Policy, jobs: Jobs, seen: Situation, pes: int) -> Decision:
    """The head while it fits; behind a head that waits, who does not delay it (EASY)."""
    now, starts = seen.now, list[tuple[int, Hole]]()
    releases = sorted((end, size) for end, size in seen.running if end > now)
    free = pes - sum(size for _, size in releases)
    started, head = set[int](), None
    for job in seen.queue:
        choice, size, lasting = jobs.counted(job)
        if size > free:
            head = job
            break
        free -= size
        insort(releases, (now + lasting, size))
        starts.append((job, Hole(now, lasting, choice, size)))
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
        starts.append((job, Hole(now, lasting, choice, size)))
    return Decision(starts, {head: Hole(shadow, jobs.counted(head)[2], jobs.counted(head)[0])})


def _shadow(releases: list[tuple[int, int]], free: int, size: int) -> tuple[int, int]:
    """When a head of this size can start as planned, and how many PEs it leaves then."""
    shadow = -1
    for end, released in releases:
        if free >= size and end > shadow:
            break
        free, shadow = free + released, end
    return shadow, free - size


def _in_profile(policy: Policy, jobs: Jobs, seen: Situation) -> Decision:
    """The same on PEs by number or on nodes: who passes the head takes nothing that it is to get."""
    profile, starts, promises = _running(jobs, seen), list[tuple[int, Hole]](), dict[int, Hole]()
    started = set[int]()
    for job in seen.queue:
        hole = jobs.pool.best(profile, job)
        if hole is None:
            break
        profile.take(hole.start, hole.end, hole.held)
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
        hole = jobs.pool.best(profile, job)
        if hole is not None and hole.start == seen.now:
            profile.take(hole.start, hole.end, hole.held)
            starts.append((job, hole))
    return Decision(starts, promises)


def _slurm(slurm: SlurmPolicy, jobs: Jobs, seen: Situation) -> Decision:
    """Slurm's main scheduler, in which who does not fit closes its partition, then a cycle of sched/backfill."""
    now, starts, tests = seen.now, dict[int, Hole](), Counter[int]()
    profile, opened, pool = _running(jobs, seen), _running(jobs, seen), cast("PlannedPool", jobs.pool)

    def start(job: int, hole: Hole) -> None:
        for one in (profile, opened):
            one.take(now, hole.end, hole.held)
        starts[job] = hole

    depth = None if "full" in seen.turns else slurm.default_queue_depth + 1 if "main" in seen.turns else 0
    for job in seen.queue[:depth]:
        hole = pool.best(opened, job)
        if hole is None or hole.start > now:
            pool.close(opened, job)
        else:
            start(job, hole)
    for job in seen.queue if "cycle" in seen.turns else ():
        user = jobs.users[job]
        if job in starts or (slurm.bf_max_job_user and tests[user] == slurm.bf_max_job_user):
            continue
        if tests.total() == slurm.bf_max_job_test:
            break
        tests[user] += 1
        hole = pool.best(profile, job, beyond=1)  # a plan that begins at the very end of this job is in its way
        if hole is not None and hole.start == now:
            start(job, hole)
        elif hole is not None and hole.start <= now + slurm.window:
            pool.hold(profile, hole, slurm.span(hole.start, hole.lasting))
    return Decision(list(starts.items()))


def _least_first(jobs: Jobs, seen: Situation) -> Decision:
    """Min-min: again and again the job that can end first, of equal ones the first of the queue."""
    profile, starts, left = _running(jobs, seen), list[tuple[int, Hole]](), list(seen.queue)
    while left:
        found = [(job, jobs.pool.best(profile, job)) for job in left]
        known = [(job, hole) for job, hole in found if hole is not None]
        job, hole = min(known, key=lambda entry: entry[1].end)
        profile.take(hole.start, hole.end, hole.held)
        if hole.start == seen.now:
            starts.append((job, hole))
        left.remove(job)
    return Decision(starts)


def _running(jobs: Jobs, seen: Situation) -> Profile:
    """What running jobs leave free."""
    profile = jobs.pool.profile(seen.now)
    for end, held in seen.running:
        profile.take(seen.now, end, held)
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
        self._pool, self._profile, self.promises = jobs.pool, _running(jobs, seen), promises
        for hole in promises.values():
            self._profile.take(hole.start, hole.end, hole.held)

    def lift(self, job: int) -> None:
        """Give a job's promised hole back."""
        hole = self.promises.pop(job)
        self._profile.give(hole.start, hole.end, hole.held)

    def put(self, job: int) -> None:
        """Promise a job its earliest hole."""
        hole = self._pool.best(self._profile, job)
        assert hole is not None  # noqa: S101 - the cluster can hold every job, so the last place of its profile can
        self._profile.take(hole.start, hole.end, hole.held)
        self.promises[job] = hole
