"""A third reading of the policies, on nodes: from the definitions, with nothing of the product and nothing clever.

A job asks for equal chunks of cores, memory and GPUs. What a node has free at a time is its capacity less all that is
held then; what is free for a while is the least of every time in it. Everything is found again at every instant: what
is held is a list of spans, and starts are looked for at all instants at which some of it ends.
"""

from dataclasses import dataclass, field
from itertools import count

PARTS = ("cores", "memory", "gpus")


@dataclass(eq=False)
class Asking:
    """One job; times in ticks."""

    number: int
    submit: int
    run: int
    limit: int
    chunks: int
    each: dict
    """Of one chunk, by part."""
    spread: bool = False
    """Each chunk on a node of its own."""
    whole: bool = False
    nodes: tuple = ()
    """Those that it may use."""
    after: int | None = None
    think: int = 0
    joins: int | None = None
    start: int | None = None
    finish: int | None = None
    promise: int | None = None
    promised: int = -1
    taken: dict = field(default_factory=dict)
    """Chunks by node."""


@dataclass(frozen=True)
class Held:
    begin: int
    end: int
    amounts: dict
    """By node, by part."""


class NodesOracle:
    """`capacity`: by node and part; `weight`: of each node."""

    def __init__(self, jobs, capacity, weight, *, order="fcfs", backfill="easy", candidates="order"):
        self.jobs, self.capacity = jobs, capacity
        self.order_of_nodes = sorted(range(len(capacity)), key=lambda node: (weight[node], node))
        self.closed = []
        self.order, self.backfill, self.candidates = order, backfill, candidates
        for job in jobs:
            job.run = max(1, min(job.run, job.limit))
            job.joins = None if job.after is not None else job.submit
        self.queue, self.running, self.seen, self.now = [], [], set(), 0

    def close(self, spans):
        """`spans`: begin, end and amounts by node and part of each reservation."""
        self.closed = [Held(*span) for span in spans]

    def simulate(self):
        while any(job.finish is None or job in self.running for job in self.jobs):
            self.now = min(self.instants())
            ended = [job for job in self.running if job.finish == self.now]
            for job in ended:
                self.running.remove(job)
                for other in self.jobs:
                    if other.after == job.number:
                        other.joins = max(other.submit, self.now + other.think)
            joining = [job for job in self.jobs if job.joins == self.now and job not in self.seen]
            self.seen.update(joining)
            self.queue += joining
            if ended or joining or self.promises_due() or any(one.end == self.now for one in self.closed):
                early = any(job.start + job.limit > self.now for job in ended)
                self.plan(joining, early, bool(ended))
        return self.jobs

    def instants(self):
        yield from (job.joins for job in self.jobs if job.joins is not None and job not in self.seen)
        yield from (job.finish for job in self.running)
        yield from (one.end for one in self.closed if one.end > self.now)
        if self.backfill in {"conservative", "replanned"}:
            yield from (job.promise for job in self.queue if job.promise is not None)

    def promises_due(self):
        promising = self.backfill in {"conservative", "replanned"}
        return promising and any(job.promise is not None and job.promise <= self.now for job in self.queue)

    # What is free

    def holding(self, job, begin):
        if job.whole:
            return Held(begin, begin + job.limit, {node: self.capacity[node] for node in job.taken})
        amounts = {node: {part: many * job.each[part] for part in PARTS} for node, many in job.taken.items()}
        return Held(begin, begin + job.limit, amounts)

    def held(self, promised=()):
        """By running jobs, reservations, and jobs that are promised something."""
        running = [self.holding(job, job.start) for job in self.running]
        return running + self.closed + [self.holding(job, job.promise) for job in promised]

    def free(self, node, part, time, held):
        return self.capacity[node][part] - sum(
            one.amounts[node][part] for one in held if one.begin <= time < one.end and node in one.amounts
        )

    def chunks_on(self, job, node, begin, held):
        """How many of a job's chunks a node holds from a time on for as long as the job is planned to run."""
        times = [begin, *(one.begin for one in held if begin < one.begin < begin + job.limit)]
        least = {part: min(self.free(node, part, time, held) for time in times) for part in PARTS}
        if job.whole and least != self.capacity[node]:
            return 0
        for many in count():
            if many == (1 if job.spread else job.chunks) or any(
                (many + 1) * job.each[part] > least[part] for part in PARTS if job.each[part]
            ):
                return many
        raise AssertionError

    def place(self, job, begin, held):
        """Chunks by node if a job fits at a time, else None."""
        left, taken = job.chunks, {}
        for node in self.order_of_nodes:
            if node in job.nodes and left and (many := min(left, self.chunks_on(job, node, begin, held))):
                taken[node] = many
                left -= many
        return None if left else taken

    def earliest(self, job, held):
        for time in sorted({self.now, *(one.end for one in held if one.end > self.now)}):
            if (taken := self.place(job, time, held)) is not None:
                return time, taken
        raise AssertionError

    # Decisions

    def in_order(self):
        line = sorted(self.queue, key=lambda job: (job.joins, job.number))
        if self.order in {"sjf", "ljf"}:
            line.sort(key=lambda job: job.limit if self.order == "sjf" else -job.limit)
        return line

    def begin(self, job, taken):
        self.queue.remove(job)
        self.running.append(job)
        job.start, job.finish, job.taken = self.now, self.now + job.run, taken

    def plan(self, joining, early, ended):
        if self.backfill in {"conservative", "replanned"}:
            self.keep_promises(joining, early, ended)
            return
        for job in self.in_order():
            begin, taken = self.earliest(job, self.held())
            if begin > self.now:
                break
            self.begin(job, taken)
        if self.queue and self.backfill == "easy":
            self.pass_the_head()

    def pass_the_head(self):
        head, *others = self.in_order()
        head.promise, head.taken = self.earliest(head, self.held())
        head.promised = head.promise if head.promised == -1 else head.promised
        if self.candidates == "shortest":
            others.sort(key=lambda job: job.limit)
        for job in others:
            if (taken := self.place(job, self.now, self.held([head]))) is not None:
                self.begin(job, taken)

    def promise_to(self, job, others):
        job.promise, job.taken = self.earliest(job, self.held([one for one in others if one.promise is not None]))
        job.promised = job.promise if job.promised == -1 else job.promised

    def keep_promises(self, joining, early, ended):
        line = self.in_order()
        if ended and self.backfill == "replanned":
            for job in line:
                job.promise = None
            for job in line:
                self.promise_to(job, line)
        else:
            for job in line if early else ():
                if job.promise is not None:
                    job.promise = None
                    self.promise_to(job, line)
            for job in joining:
                self.promise_to(job, line)
        for job in line:
            if job.promise <= self.now:
                self.begin(job, job.taken)
