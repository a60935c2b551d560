"""A second reading of the policies for streams of jobs: from one tick at which something happens to the next.

Nothing clever, and nothing of the product: plain lists, whole numbers for times, sets of PEs by number. The engines,
which keep what this one computes again at every pass, must find the same starts.

Rules: Feitelson and Mu'alem Weil (TPDS 2001) for EASY and conservative backfilling; Tsafrir, Etsion and Feitelson
(TPDS 2007) for estimates of users' last two jobs and their corrections; the order of what happens at one instant as in
the policy's `same_second`.
"""

from dataclasses import dataclass, field
from itertools import pairwise
from math import log2, log10

SECOND = 10**9
MINUTE, HOUR = 60 * SECOND, 3600 * SECOND
STEPS = [MINUTE, 5 * MINUTE, 15 * MINUTE, 30 * MINUTE, *(hours * HOUR for hours in (1, 2, 5, 10, 20, 50, 100))]
CLOSE = 1e-11
"""Relative difference of two scores that another routine for logarithms might see the other way round."""


class CloseCallError(Exception):
    """Two scores with logarithms differ by rounding only: nobody can say who is first."""


@dataclass(eq=False)
class Job:
    """One job; times in ticks of 1 ns."""

    number: int
    submit: int
    run: int
    size: int
    limit: int | None = None
    user: int = -1
    given: tuple[int, ...] = ()
    estimate: int = 0
    start: int | None = None
    finish: int | None = None
    planned_end: int | None = None
    promise: int | None = None
    promised: int = -1
    pes: list[int] = field(default_factory=list)
    reserved: list[int] = field(default_factory=list)
    killed: bool = False
    corrections: int = 0

    def __post_init__(self):
        self.killed = self.limit is not None and self.run > self.limit
        self.run = max(1, self.limit if self.killed else self.run)


def oracle(jobs, pes, **policy):
    """What becomes of jobs (submit, run, size, limit, user, given estimates), in ticks, by submission: a list of `Job`.

    The limit may be None, the user -1 (of no history), and the last fields may be left out.
    """
    return Oracle(jobs, pes, **policy).simulate()


class Oracle:
    def __init__(
        self,
        jobs,
        pes,
        *,
        order="fcfs",
        backfill="easy",
        candidates="order",
        processors="counted",
        same_second="instant",
        source="limit",
        correction="steps",
    ):
        self.whole = all(time is None or time % SECOND == 0 for job in jobs for time in (job[0], job[1], job[3]))
        self.jobs = [Job(number, *job) for number, job in enumerate(jobs)]
        self.pes, self.order, self.backfill, self.candidates = pes, order, backfill, candidates
        self.named, self.same_second = processors == "named", same_second
        self.source, self.correction = source, correction
        self.coming, self.queue, self.running = list(self.jobs), [], []
        self.history = {}
        self.ended_early = self.ended = self.plans_moved = False
        self.now = 0

    # What happens when

    def simulate(self):
        while self.coming or self.queue or self.running:
            self.now = min(self.ticks_ahead())
            self.event_tick() if self.same_second == "event" else self.instant_tick()
        return self.jobs

    def ticks_ahead(self):
        yield from (job.submit for job in self.coming[:1])
        yield from (tick for job in self.running for tick in (job.finish, job.planned_end) if tick > self.now)
        yield from (job.promise for job in self.queue if job.promise is not None)

    def instant_tick(self):
        ending = [job for job in self.running if job.finish == self.now]
        for job in ending:
            self.terminate(job)
        self.correct()
        arriving = self.arrivals()
        for job in arriving:
            self.submit(job)
        if ending or arriving or self.due():
            self.plan(arriving)

    def event_tick(self):
        self.correct()
        for job in self.arrivals():
            self.submit(job)
            self.plan([job])
        for job in [job for job in self.running if job.finish == self.now]:
            self.terminate(job)
            self.plan([])
        if self.due():
            self.plan([])

    def arrivals(self):
        arriving = []
        while self.coming and self.coming[0].submit == self.now:
            arriving.append(self.coming.pop(0))
        return arriving

    def due(self):
        return [job for job in self.queue if job.promise is not None and job.promise <= self.now]

    def submit(self, job):
        job.estimate = self.first_estimate(job)
        self.queue.append(job)

    def start(self, job, pes=()):
        self.queue.remove(job)
        self.running.append(job)
        job.start, job.finish, job.planned_end = self.now, self.now + job.run, self.now + job.estimate
        job.promise, job.pes = None, list(pes)

    def terminate(self, job):
        self.running.remove(job)
        self.history.setdefault(job.user, []).append(job.run)
        self.ended = True
        self.ended_early = self.ended_early or job.planned_end > self.now

    # Estimates

    def first_estimate(self, job):
        if self.source == "exact":
            return job.run
        limit = job.limit
        if self.source == "given":
            return self.at_most_limit(job, job.given[0])
        last = self.history.get(job.user, [])[-2:]
        if self.source == "limit" or len(last) < 2 or job.user < 0:
            return limit
        unit = SECOND if self.whole else 1
        mean = max(sum(last) // 2 // unit * unit, unit)
        return self.at_most_limit(job, mean)

    def at_most_limit(self, job, length):
        return length if job.limit is None else min(length, job.limit)

    def correct(self):
        for job in self.running:
            if job.planned_end == self.now < job.finish:
                self.plans_moved = True
                while job.planned_end <= self.now:
                    job.planned_end = job.start + self.next_estimate(job)

    def next_estimate(self, job):
        if self.correction == "limit":
            return job.limit
        if self.correction == "quantile":
            return self.next_quantile(job)
        past = job.corrections - len(STEPS) + 1
        step = STEPS[job.corrections] if past <= 0 else STEPS[-1] + past * STEPS[-1]
        job.corrections += 1
        return self.at_most_limit(job, job.estimate + step)

    def next_quantile(self, job):
        """The limit after the last one; without a limit twice the time so far."""
        lasted = self.now - job.start
        later = [self.at_most_limit(job, length) for length in job.given if self.at_most_limit(job, length) > lasted]
        return later[0] if later else 2 * lasted if job.limit is None else job.limit

    # Order of the queue

    def in_order(self):
        """The queue by the policy; Python's sort is stable, so ties stay in the order of submission."""
        if self.order == "fcfs":
            return list(self.queue)
        keys = {job.number: self.score(job) for job in self.queue}
        ordered = sorted(self.queue, key=lambda job: keys[job.number])
        if self.order in {"unicep", "f1"}:
            self.check_close_calls(ordered, keys)
        return ordered

    def score(self, job):
        waited, length = (self.now - job.submit) / 1e9, job.estimate / 1e9
        if self.order in {"sjf", "ljf"}:
            return job.estimate if self.order == "sjf" else -job.estimate
        if self.order == "wfp3":
            share = waited / length
            return -(share * share * share) * job.size
        if self.order == "unicep":
            return -waited / (log2(job.size) * length) if job.size > 1 else float("-inf")
        since = (job.submit - self.jobs[0].submit) / 1e9 + 1
        return log10(length) * job.size + 870 * log10(since)

    def check_close_calls(self, ordered, keys):
        for one, other in pairwise(ordered):
            a, b = keys[one.number], keys[other.number]
            alike = (one.submit, one.estimate, one.size) == (other.submit, other.estimate, other.size)
            if not alike and a != float("-inf") and abs(a - b) <= CLOSE * max(abs(a), abs(b)) and a != 0:
                raise CloseCallError

    # One pass

    def plan(self, arriving):
        if self.backfill in {"conservative", "replanned"}:
            self.keep_promises(arriving)
        else:
            self.start_in_order()
            if self.queue and self.backfill == "easy":
                self.backfill_named() if self.named else self.backfill_counted()
        self.ended_early = self.ended = self.plans_moved = False

    def holders(self):
        """Jobs that hold PEs from now on: not those whose planned end is now."""
        return [job for job in self.running if job.planned_end > self.now]

    def free_count(self):
        return self.pes - sum(job.size for job in self.holders())

    def free_pes(self):
        taken = {pe for job in self.holders() for pe in job.pes}
        return [pe for pe in range(self.pes) if pe not in taken]

    def start_in_order(self):
        for job in self.in_order():
            if job.size > self.free_count():
                break
            self.start(job, self.free_pes()[: job.size] if self.named else [])

    def shadow(self, head):
        """When the head fits at last by the plans of what runs, and how many PEs are free by then."""
        for tick in sorted({job.planned_end for job in self.holders()}):
            free = self.pes - sum(job.size for job in self.holders() if job.planned_end > tick)
            if free >= head.size:
                if head.promised == -1:
                    head.promised = tick
                return tick, free
        raise AssertionError

    def who_may_pass(self):
        head, *others = self.in_order()
        return head, sorted(others, key=lambda job: job.estimate) if self.candidates == "shortest" else others

    def backfill_counted(self):
        head, others = self.who_may_pass()
        shadow, free_then = self.shadow(head)
        extra = free_then - head.size
        for job in others:
            if job.size > self.free_count():
                continue
            if self.now + job.estimate <= shadow:
                self.start(job)
            elif job.size <= extra:
                extra -= job.size
                self.start(job)

    def backfill_named(self):
        head, others = self.who_may_pass()
        shadow, _ = self.shadow(head)
        held_then = {pe for job in self.holders() if job.planned_end > shadow for pe in job.pes}
        reserved = [pe for pe in range(self.pes) if pe not in held_then][: head.size]
        for job in others:
            before = self.now + job.estimate <= shadow
            suited = [pe for pe in self.free_pes() if before or pe not in reserved]
            if job.size <= len(suited):
                self.start(job, suited[: job.size])

    # Promises

    def keep_promises(self, arriving):
        if self.plans_moved or (self.backfill == "replanned" and self.ended):
            for job in self.queue:
                job.promise, job.reserved = None, []
            for job in self.in_order():
                self.promise(job)
        else:
            if self.ended_early:
                self.put_back()
            for job in arriving:
                self.promise(job)
        for job in self.in_order():
            if job.promise <= self.now:
                self.start(job, job.reserved)

    def put_back(self):
        for job in self.in_order():
            if job.promise is None:
                continue
            before, job.promise = job.promise, None
            self.promise(job)
            assert job.promise <= before

    def promise(self, job):
        """The earliest hole beside what runs and all other promises."""
        held = [(job.start, job.planned_end, job.size, job.pes) for job in self.holders()]
        held += [(j.promise, j.promise + j.estimate, j.size, j.reserved) for j in self.queue if j.promise is not None]
        job.promise, job.reserved = self.hole_named(job, held) if self.named else (self.hole_counted(job, held), [])
        if job.promised == -1:
            job.promised = job.promise

    def hole_counted(self, job, held):
        changes = {self.now: 0}
        for begin, end, size, _ in held:
            changes[max(begin, self.now)] = changes.get(max(begin, self.now), 0) + size
            changes[end] = changes.get(end, 0) - size
        ticks = sorted(changes)
        hole, busy = self.now, 0
        for tick, following in zip(ticks, [*ticks[1:], None], strict=True):
            busy += changes[tick]
            if busy + job.size > self.pes:
                hole = following
            elif following is None or following - hole >= job.estimate:
                return hole
        raise AssertionError

    def hole_named(self, job, held):
        for tick in sorted({self.now, *(end for _, end, _, _ in held)}):
            overlapping = [pes for begin, end, _, pes in held if begin < tick + job.estimate and end > tick]
            taken = {pe for pes in overlapping for pe in pes}
            free = [pe for pe in range(self.pes) if pe not in taken]
            if len(free) >= job.size:
                return tick, free[: job.size]
        raise AssertionError
