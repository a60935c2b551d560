"""A second reading of Slurm's policy: priorities of waiting jobs, its main scheduler and its backfill scheduler.

Nothing of the product: fair shares as Slurm's own fair_tree.c ranks users, by merging the children of equal accounts;
plans as a list of what was held in the order in which it was, looked through again for every question.
"""

from dataclasses import dataclass, field
from math import floor, inf

from tests.simulator.engines.jobs_oracle import SECOND, Oracle
from tests.simulator.engines.nodes_oracle import Held, NodesOracle


@dataclass(frozen=True)
class Slurm:
    """Parameters by their names in slurm.conf, times in seconds; the tree as {(account, user): (parent, shares)}."""

    age: int = 0
    fair_share: int = 0
    job_size: int = 0
    partition: int = 0
    qos: int = 0
    favor_small: bool = False
    max_age: int = 604_800
    half_life: int = 604_800
    calc_period: int = 300
    bf_interval: int = 30
    bf_window: int = 86_400
    bf_resolution: int = 60
    bf_max_job_test: int = 500
    bf_max_job_user: int = 0
    queue_depth: int = 100
    sched_interval: int = 60
    partition_factors: dict = field(default_factory=dict)
    qos_priorities: dict = field(default_factory=dict)
    tree: dict = field(default_factory=dict)


@dataclass(eq=False)
class Member:
    """An account or a user of the tree."""

    key: tuple
    shares: int
    parent: "Member | None"
    children: list = field(default_factory=list)
    fresh: int = 0
    usage: float = 0.0
    factor: float = 0.0

    @property
    def level(self):
        share = self.shares / sum(one.shares for one in self.parent.children) if self.shares else 0.0
        if share == 0 or self.usage == 0:
            return inf if share else 0.0
        return share / (self.usage / self.parent.usage)

    def with_parents(self):
        return [self, *(self.parent.with_parents() if self.parent else [])]


class SlurmPriorities:
    """`labels`: account, user, partition and QOS of each job, by name."""

    def prepare(self, slurm, labels, begin):
        self.slurm, self.labels = slurm, labels
        self.begin_tick = begin // SECOND * SECOND
        self.calculated, self.changed = self.begin_tick // SECOND, set()
        self.root = Member(("root", ""), 1, None)
        self.members = {("root", ""): self.root}
        for key in [*slurm.tree, *((account, user) for account, user, _, _ in labels)]:
            self.member(key)
        self.priority, self.counted = {}, {}
        self.rank_users()

    # Turns

    def periods(self):
        found = {"calculate": self.slurm.calc_period} if self.order == "multifactor" else {}
        if self.backfill == "slurm":
            found |= {"full": self.slurm.sched_interval, "cycle": self.slurm.bf_interval}
        return found

    def turns_ahead(self):
        for period in self.periods().values():
            yield self.begin_tick + ((self.now - self.begin_tick) // (period * SECOND) + 1) * period * SECOND

    def turn(self, turn):
        if turn not in self.changed or (self.now - self.begin_tick) % (self.periods()[turn] * SECOND):
            return False
        self.changed.discard(turn)
        return True

    def calculate_if_due(self, *, ended):
        if ended or self.queue or self.running:
            self.changed.add("calculate")
        due = self.order == "multifactor" and self.turn("calculate")
        if due:
            self.calculate()
        return due

    # Priorities

    def member(self, key):
        if key not in self.members:
            account, user = key
            parent, shares = self.slurm.tree.get(key, ("root", 1))
            above = self.member((account, "") if user else (parent, ""))
            self.members[key] = Member(key, shares, above)
            above.children.append(self.members[key])
        return self.members[key]

    def use(self, job):
        account, user, _, _ = self.labels[job.number]
        seconds = self.now // SECOND - self.counted[job]
        self.counted[job] = self.now // SECOND
        for one in self.members[account, user].with_parents():
            one.fresh += self.cores(job) * seconds

    def calculate(self):
        for job in self.running:
            self.use(job)
        second = self.now // SECOND
        kept = self.kept(second - self.calculated)
        self.calculated = second
        for one in self.members.values():
            one.usage, one.fresh = (one.usage + one.fresh) * kept, 0
        self.rank_users()
        for job in self.queue:
            self.prioritise(job)

    def kept(self, seconds):
        """The decay of one second to a power, its squares taken from the lowest bit of the power on."""
        found, square = 1.0, 1.0 - 0.693 / self.slurm.half_life if self.slurm.half_life else 1.0
        for bit in reversed(f"{seconds:b}"):
            found = found * square if bit == "1" else found
            square *= square
        return found

    def rank_users(self):
        self.users = sum(1 for one in self.members.values() if one.key[1])
        self.rank = self.next_rank = self.users
        self.rank_children(self.root.children, tied=False)

    def rank_children(self, siblings, *, tied):
        waiting = sorted(siblings, key=lambda one: (-one.level, not one.key[1]))
        before = None
        while waiting:
            one = waiting.pop(0)
            level, tied = one.level, tied if before is None else before == one.level
            before = level
            if one.key[1]:
                self.rank = self.rank if tied else self.next_rank
                one.factor = self.rank / self.users
                self.next_rank -= 1
                continue
            children = list(one.children)
            while waiting and waiting[0].level == level:
                children += waiting.pop(0).children
            self.rank_children(children, tied=tied)

    def prioritise(self, job):
        slurm, (account, user, partition, qos) = self.slurm, self.labels[job.number]
        waited = self.now // SECOND - self.joined(job) // SECOND
        age = min(waited / slurm.max_age, 1.0)
        nodes, cores = self.parts(job)
        size = ((1.0 - nodes) + (1.0 - cores)) / 2 if slurm.favor_small else (nodes + cores) / 2
        factors, priorities = slurm.partition_factors, slurm.qos_priorities
        of_partition = factors.get(partition, 1) / max([*factors.values(), 1])
        of_qos = priorities.get(qos, 0) / max([*priorities.values(), 1])
        fixed = size * slurm.job_size + of_partition * slurm.partition + of_qos * slurm.qos
        share = self.members[account, user].factor
        self.priority[job] = min(max(1, floor(age * slurm.age + share * slurm.fair_share + fixed)), 2**32 - 1)


class SlurmOracle(SlurmPriorities, Oracle):
    """On PEs that are counted."""

    def __init__(self, jobs, pes, slurm, labels, **policy):
        super().__init__(jobs, pes, **policy)
        self.prepare(slurm, labels, jobs[0][0])

    def cores(self, job):
        return job.size

    def joined(self, job):
        return job.submit

    def parts(self, job):
        return job.size / self.pes, job.size / self.pes

    def ticks_ahead(self):
        yield from super().ticks_ahead()
        yield from self.turns_ahead()

    def instant_tick(self):
        ending = [job for job in self.running if job.finish == self.now]
        for job in ending:
            self.terminate(job)
            self.use(job)
        self.correct()
        calculated = self.calculate_if_due(ended=bool(ending))
        arriving = self.arrivals()
        for job in arriving:
            self.submit(job)
            self.prioritise(job)
        happened = bool(ending or arriving)
        if happened or calculated:
            self.changed |= {"full", "cycle"}
        if self.backfill == "slurm":
            self.schedule(main=happened)
        elif happened or (calculated and self.queue) or self.due():
            self.plan(arriving)

    def start(self, job, pes=()):
        super().start(job, pes)
        self.counted[job] = self.now // SECOND

    def score(self, job):
        return -self.priority[job] if self.order == "multifactor" else super().score(job)

    # The two schedulers

    def schedule(self, *, main):
        full, cycle = self.turn("full"), self.turn("cycle")
        if main or full:
            for tested, job in enumerate(self.in_order()):
                if job.size > self.free_count() or (tested > self.slurm.queue_depth and not full):
                    break
                self.start(job)
        if cycle:
            self.held = [("take", self.now, job.planned_end, job.size) for job in self.running]
            tests = []
            for job in self.in_order():
                if len(tests) == self.slurm.bf_max_job_test:
                    break
                if tests.count(job.user) < (self.slurm.bf_max_job_user or inf):
                    tests.append(job.user)
                    self.look_at(job)
        self.plans_moved = self.ended_early = self.ended = False

    def look_at(self, job):
        begin = self.earliest(job)
        if begin == self.now:
            self.held.append(("take", self.now, self.now + job.estimate, job.size))
            self.start(job)
        elif begin <= self.now + self.slurm.bf_window * SECOND:
            slot = self.slurm.bf_resolution * SECOND
            first, last = begin - begin % slot, begin + job.estimate
            self.held.append(("cap", first, begin, self.free(begin) - job.size))
            self.held.append(("take", begin, max(first + slot, last - last % slot), job.size))

    def free(self, tick):
        found = self.pes
        for kind, begin, end, many in self.held:
            if begin <= tick < end:
                found = found - many if kind == "take" else min(found, many)
        return found

    def earliest(self, job):
        ticks = sorted({self.now, *(tick for _, begin, end, _ in self.held for tick in (begin, end))})
        for tick in ticks:
            during = [one for one in ticks if tick < one <= tick + job.estimate]
            if tick >= self.now and all(self.free(one) >= job.size for one in [tick, *during]):
                return tick
        raise AssertionError


class SlurmOnNodes(SlurmPriorities, NodesOracle):
    """`asked`: nodes and processors of each job; `partition`: tier and nodes of each job's partition."""

    def __init__(self, jobs, capacity, weight, slurm, *, labels, asked, partition, **policy):
        super().__init__(jobs, capacity, weight, **policy)
        self.asked, self.partition = asked, partition
        self.prepare(slurm, labels, min(job.submit for job in jobs))

    def cores(self, job):
        return self.asked[job.number][1]

    def joined(self, job):
        return job.joins

    def parts(self, job):
        nodes, processors = self.asked[job.number]
        return max(1, nodes) / len(self.capacity), processors / sum(node["cores"] for node in self.capacity)

    def simulate(self):
        while any(job.finish is None or job in self.running for job in self.jobs):
            self.now = min([*self.instants(), *self.turns_ahead()])
            ended = [job for job in self.running if job.finish == self.now]
            for job in ended:
                self.running.remove(job)
                self.use(job)
                for other in self.jobs:
                    if other.after == job.number:
                        other.joins = max(other.submit, self.now + other.think)
            calculated = self.calculate_if_due(ended=bool(ended))
            joining = [job for job in self.jobs if job.joins == self.now and job not in self.seen]
            self.seen.update(joining)
            self.queue += joining
            for job in joining:
                self.prioritise(job)
            happened = bool(ended or joining) or any(one.end == self.now for one in self.closed)
            if happened or calculated:
                self.changed |= {"full", "cycle"}
            if self.backfill == "slurm":
                self.schedule(main=happened)
            elif happened or (calculated and self.queue):
                self.plan(joining, early=False, ended=bool(ended))
        return self.jobs

    def in_order(self):
        line = super().in_order()
        if self.order == "multifactor":
            line.sort(key=lambda job: (-self.partition[job.number][0], -self.priority[job]))
        return line

    def begin(self, job, taken):
        super().begin(job, taken)
        self.counted[job] = self.now // SECOND

    def schedule(self, *, main):
        full, cycle = self.turn("full"), self.turn("cycle")
        shut = set()
        for tested, job in enumerate(self.in_order() if main or full else ()):
            if tested > self.slurm.queue_depth and not full:
                break
            every, job.nodes = job.nodes, tuple(node for node in job.nodes if node not in shut)
            taken = self.place(job, self.now, self.held())
            job.nodes = every
            if taken is None:
                shut |= set(self.partition[job.number][1])
            else:
                self.begin(job, taken)
        plans, tests = [], []
        for job in self.in_order() if cycle else ():
            user = self.labels[job.number][1]
            if len(tests) == self.slurm.bf_max_job_test:
                break
            if tests.count(user) < (self.slurm.bf_max_job_user or inf):
                tests.append(user)
                plans += self.look_at(job, plans)

    def look_at(self, job, plans):
        """What a job's plan holds, if it does not start now."""
        held = self.held() + plans
        job.limit += 1
        places = ((time, self.place(job, time, held)) for time in sorted({self.now, *(one.end for one in held)}))
        begin, taken = next((time, taken) for time, taken in places if time >= self.now and taken is not None)
        job.limit -= 1
        if begin == self.now:
            self.begin(job, taken)
            return []
        if begin > self.now + self.slurm.bf_window * SECOND:
            return []
        slot = self.slurm.bf_resolution * SECOND
        first, last = begin - begin % slot, begin + job.limit
        nodes = {node: self.capacity[node] for node in taken}
        return [Held(first, max(first + slot, last - last % slot), nodes)]
