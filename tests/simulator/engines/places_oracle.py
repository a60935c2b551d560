"""The second reading of the policies, on PEs that differ in speed and memory, for jobs that may have several sizes.

As `jobs_oracle`: plain lists, everything again at every pass, nothing of the product. PEs are numbers; what is free
when is asked of the list of all spans that are held. Starts are looked for at planned ends alone: what is free for long
enough at another time is free for long enough at the planned end (or now) before it.
"""

from dataclasses import dataclass, field

from tests.simulator.engines.jobs_oracle import Job, Oracle

FAST_FIRST = ("fastest", "earliest-finish", "min-min")
WAITS = ("earliest-finish", "min-min")


@dataclass(eq=False)
class Moldable(Job):
    """A job whose time depends on how many PEs it gets and on the slowest of them; times in ticks of 1 ns."""

    memory: float = 0.0
    choices: list = field(default_factory=list)
    """(size, run by class, given by class and quantile or empty) each, by size."""
    choice: int = 0
    lasting: int = 0
    """Planned length of what is promised."""

    def __post_init__(self):
        self.size = self.choices[0][0]


@dataclass(frozen=True)
class Hole:
    end: int
    choice: int
    start: int
    pes: tuple
    kind: int

    @property
    def key(self):
        return self.end, self.choice, self.start


class PlacesOracle(Oracle):
    """`jobs`: (submit, limit, user, memory, choices); `slowness`, `memory`: of each PE."""

    def __init__(self, jobs, slowness, memory, *, placement="lowest", **policy):
        super().__init__([], len(slowness), processors="named", **policy)
        self.jobs = [
            Moldable(number, submit, 0, 0, limit, user, memory=need, choices=choices)
            for number, (submit, limit, user, need, choices) in enumerate(jobs)
        ]
        times = [time for job in self.jobs for time in (job.submit, job.limit, *(t for c in job.choices for t in c[1]))]
        self.whole = all(time is None or time % 10**9 == 0 for time in times)
        self.coming = list(self.jobs)
        self.placement, self.memory = placement, memory
        speeds = sorted(set(slowness))
        self.kind_of = [speeds.index(one) for one in slowness]
        self.kinds = list(range(len(speeds)))

    # What is planned

    def planned(self, job, choice):
        """Length by class; on slower PEs nobody plans with less than on faster ones."""
        lengths = [self.first_length(job, choice, kind) for kind in self.kinds]
        return [max(lengths[: kind + 1]) for kind in self.kinds]

    def first_length(self, job, choice, kind):
        _, run, given = job.choices[choice]
        if self.source == "exact":
            return self.ran(job, run[kind])
        if self.source == "given":
            return self.at_most_limit(job, given[kind][0])
        return super().first_estimate(job)

    def ran(self, job, run):
        return run if job.limit is None else min(run, job.limit)

    def submit(self, job):
        """The plans of the moment of submission hold while it waits."""
        job.plans = [self.planned(job, choice) for choice in range(len(job.choices))]
        job.estimate = job.plans[0][0]
        self.queue.append(job)

    def start_in(self, job, hole):
        size, run, given = job.choices[hole.choice]
        job.size, job.choice, job.estimate = size, hole.choice, hole.end - hole.start
        job.run, job.killed = self.ran(job, run[hole.kind]), job.limit is not None and run[hole.kind] > job.limit
        if given:
            ladders = [[given[kind][step] for kind in range(hole.kind + 1)] for step in range(len(given[0]))]
            job.given = tuple(max(ladder) for ladder in ladders)
        self.start(job, hole.pes)

    # Holes

    def hole(self, job, held):
        found = []
        for choice in range(len(job.choices)):
            for tick in sorted({self.now, *(end for _, end, _ in held if end > self.now)}):
                hole = self.hole_at(job, choice, tick, held)
                if hole is not None:
                    found.append(hole)
                    if self.placement not in WAITS:
                        break
        return min(found, key=lambda hole: hole.key)

    def hole_at(self, job, choice, tick, held):
        size = job.choices[choice][0]
        for kind in self.kinds if self.placement in FAST_FIRST else self.kinds[::-1]:
            until = tick + job.plans[choice][kind]
            busy = {pe for begin, end, pes in held if begin < until and end > tick for pe in pes}
            free = [pe for pe in range(self.pes) if pe not in busy and self.kind_of[pe] <= kind]
            free = [pe for pe in free if self.memory[pe] >= job.memory]
            if len(free) >= size:
                pes = tuple(sorted(sorted(free, key=self.preference)[:size]))
                slowest = max(self.kind_of[pe] for pe in pes)
                return Hole(tick + job.plans[choice][slowest], choice, tick, pes, slowest)
        return None

    def preference(self, pe):
        if self.placement in FAST_FIRST:
            return self.kind_of[pe], pe
        return (self.memory[pe], pe) if self.placement == "memory" else pe

    def held_by_running(self):
        return [(job.start, job.planned_end, job.pes) for job in self.holders()]

    # One pass

    def plan(self, arriving):
        if self.backfill in {"conservative", "replanned"}:
            self.keep_promises(arriving)
        elif self.placement == "min-min":
            self.least_first()
        else:
            self.head_and_others()
        self.ended_early = self.ended = self.plans_moved = False

    def head_and_others(self):
        held, head = self.held_by_running(), None
        for job in self.in_order():
            hole = self.hole(job, held)
            held.append((hole.start, hole.end, hole.pes))
            if hole.start > self.now:
                head = job
                break
            self.start_in(job, hole)
        if head is None or self.backfill == "none":
            return
        if head.promised == -1:
            head.promised = held[-1][0]
        others = [job for job in self.in_order() if job is not head]
        others = sorted(others, key=lambda job: job.estimate) if self.candidates == "shortest" else others
        for job in others:
            hole = self.hole(job, held)
            if hole.start == self.now:
                held.append((hole.start, hole.end, hole.pes))
                self.start_in(job, hole)

    def least_first(self):
        held, left = self.held_by_running(), self.in_order()
        while left:
            holes = {job: self.hole(job, held) for job in left}
            job = min(left, key=lambda job: holes[job].end)
            held.append((holes[job].start, holes[job].end, holes[job].pes))
            left.remove(job)
            if holes[job].start == self.now:
                self.start_in(job, holes[job])

    # Promises

    def put_back(self):
        for job in self.in_order():
            if job.promise is not None:
                job.promise = None
                self.promise(job)

    def promise(self, job):
        promises = [(j.promise, j.hole_end, j.reserved) for j in self.queue if j.promise is not None]
        job.promised_hole = self.hole(job, self.held_by_running() + promises)
        job.promise, job.hole_end, job.reserved = (getattr(job.promised_hole, name) for name in ("start", "end", "pes"))
        if job.promised == -1:
            job.promised = job.promise

    def keep_promises(self, arriving):
        if self.plans_moved or (self.backfill == "replanned" and self.ended):
            for job in self.queue:
                job.promise = None
            for job in self.in_order():
                self.promise(job)
        else:
            if self.ended_early:
                self.put_back()
            for job in arriving:
                self.promise(job)
        for job in self.in_order():
            if job.promise <= self.now:
                self.start_in(job, job.promised_hole)
