"""The reference engine's queue of jobs: an event per submission, end, correction and promised start; its results."""

from bisect import insort
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from heapq import heapify, heappop, heappush
from typing import Any

import numpy as np

from simulator.base.arrays import Flags, Floats, Ints
from simulator.base.errors import ScenarioError
from simulator.engines.costs.jobs import NEVER, SECOND, JobCosts
from simulator.engines.job_programs import JobPrograms, Started
from simulator.engines.resources.instant import Clock, Instant, Occurrence, Phase
from simulator.programs.streams.stream import Stream
from simulator.scheduling.estimates import Estimates
from simulator.scheduling.nodes import JobNodes
from simulator.scheduling.own import Running, Seen, Waiting, checked_starts
from simulator.scheduling.passes import Decision, Jobs, Situation
from simulator.scheduling.places import Cluster, numbers_of
from simulator.scheduling.policy import PROMISING, Policy
from simulator.scheduling.profiles import Held, Hole
from simulator.scheduling.scores import DYNAMIC, LJF, MULTIFACTOR, SJF, order_of, score
from simulator.scheduling.slurm import Shares, Turn, Turns, compared, count_use, share_again, standing

__all__ = ["JobQueue", "JobRuns", "OwnDecisions"]

Decide = Callable[[Situation], Decision]
NONE = -1


@dataclass(frozen=True, eq=False)
class OwnDecisions:
    """The passes of a policy of the user's own over one stream."""

    stream: Stream
    cluster: Cluster
    costs: JobCosts
    policy: Policy

    def starts(
        self, now: int, waiting: Iterable[tuple[int, int]], running: Sequence[tuple[int, int, int, Sequence[int]]]
    ) -> list[tuple[int, tuple[int, ...]]]:
        """Number and PEs of each job that starts now.

        `waiting`: number and estimate in ticks of each job that waits, in the order of submission.
        `running`: number, start and planned end in ticks, and PEs of each job that runs.
        """
        stream, sizes = self.stream, self.costs.size
        named = self.policy.processors == "named"
        jobs = tuple(
            Waiting(
                job,
                self._id(job),
                int(sizes[job]),
                int(self.costs.submit[job]) / SECOND,
                plan / SECOND,
                int(stream.user[job]),
                float(self.costs.needs[job]),
            )
            for job, plan in waiting
        )
        busy = tuple(
            Running(job, self._id(job), int(sizes[job]), start / SECOND, end / SECOND, tuple(pes) if named else ())
            for job, start, end, pes in running
        )
        taken = {pe for one in busy for pe in one.pes}
        free_pes = tuple(pe for pe in range(self.cluster.count) if pe not in taken) if named else ()
        free = self.cluster.count - sum(one.processors for one in busy)
        own = self.policy.own
        assert own is not None  # noqa: S101 - only such policies come here
        return checked_starts(self.policy.own_name, own, Seen(now / SECOND, jobs, busy, free, free_pes, *self._pes))

    @cached_property
    def _pes(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Slowness and memory of each PE."""
        return tuple(self.cluster.slowness.tolist()), tuple(self.cluster.memory_bytes.tolist())

    def _id(self, job: int) -> Any:
        """What the source calls a job, as a number or text of Python."""
        return self.stream.ids[job].item()

    def check_ended(self, waiting: Sequence[int]) -> None:
        """Refuse a policy that leaves jobs waiting when nothing else is to come.

        Raises ScenarioError with how many, and the first.
        """
        if waiting:
            found = f"it leaves {len(waiting)} jobs waiting for ever, job {self.stream.ids[waiting[0]]} first"
            raise ScenarioError(f"policy {self.policy.own_name}: {found}; start each job at some time")


@dataclass(frozen=True, eq=False)
class JobRuns:
    """Starts and ends of all jobs; arrays (job,) in the stream's order, times in ticks from the stream's second 0."""

    stream: Stream
    policy: Policy
    estimates: Estimates
    pes: int
    tick_s: float
    engine: str
    submit_ticks: Ints
    start_ticks: Ints
    finish_ticks: Ints
    processors: Ints
    """PEs or cores that each job held; on nodes of its own all of theirs."""
    estimate_ticks: Ints
    """Planned run time at the start, so before any correction."""
    promised_ticks: Ints
    """Conservative: the start that a job was promised first. EASY: the first shadow time of a job that became head
    and did not start in that pass. -1 for all others."""
    killed: Flags
    first_pe: Ints | None = None
    """If PEs are named: where each job's numbers begin in `allocated`, and the end; (job + 1,)."""
    allocated: Ints | None = None
    """PEs by number, ascending within a job."""
    eligible_ticks: Ints = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    """When each job joined the queue: its submission, or later, where it waited for another one's end."""
    nodes: JobNodes | None = None
    """Where jobs ran, if on nodes."""
    first_node: Ints | None = None
    """If on nodes: where each job's numbers begin in `held_nodes`, and the end; (job + 1,)."""
    held_nodes: Ints | None = None
    """Nodes by number, ascending within a job."""

    def __post_init__(self) -> None:
        if not self.eligible_ticks.size:
            object.__setattr__(self, "eligible_ticks", self.submit_ticks)

    @property
    def submit_s(self) -> Floats:
        """Submissions in seconds."""
        return self._seconds(self.submit_ticks)

    @property
    def start_s(self) -> Floats:
        """Starts in seconds."""
        return self._seconds(self.start_ticks)

    @property
    def finish_s(self) -> Floats:
        """Ends in seconds."""
        return self._seconds(self.finish_ticks)

    @property
    def wait_s(self) -> Floats:
        """From submission, or the later end of what a job waited for, to its start; in seconds."""
        return self._seconds(self.start_ticks - self.eligible_ticks)

    @property
    def run_s(self) -> Floats:
        """From start to end, in seconds."""
        return self._seconds(self.finish_ticks - self.start_ticks)

    def _seconds(self, ticks: Ints) -> Floats:
        """The nearest doubles: dividing rounds once, and the tick itself is no double."""
        return np.asarray(ticks / round(1 / self.tick_s))

    def pes_of(self, job: int) -> Ints:
        """The PEs of one job, if PEs are named."""
        if self.first_pe is None or self.allocated is None:
            return np.empty(0, dtype=np.int64)
        return self.allocated[self.first_pe[job] : self.first_pe[job + 1]]

    def nodes_of(self, job: int) -> Ints:
        """The nodes of one job, if it ran on nodes."""
        if self.first_node is None or self.held_nodes is None:
            return np.empty(0, dtype=np.int64)
        return self.held_nodes[self.first_node[job] : self.first_node[job + 1]]


class JobQueue:
    """One run of a stream.

    `jobs`: what decisions know; its plans are filled in here where they come from what has ended.
    `programs`: where jobs really run; without it each takes the time that `costs` has for it.
    `shares`: what priorities come from, where the order is `multifactor`.
    """

    def __init__(
        self,
        costs: JobCosts,
        policy: Policy,
        estimates: Estimates,
        *,
        jobs: Jobs,
        programs: JobPrograms | None = None,
        shares: Shares | None = None,
    ) -> None:
        self._costs, self._policy, self._estimates, self._jobs = costs, policy, estimates, jobs
        self._clock = Clock()
        self._instant = Instant(self._clock)
        self.eligible = costs.submit.copy()
        self._limit: list[int] = costs.limit.tolist()
        self._user: list[int] = costs.user.tolist()
        self._run: list[list[int]] = costs.run.tolist()
        self._ladder: list[list[list[int]]] = costs.ladder.tolist()
        self._order = order_of(policy.order)
        self._shares, begin = shares, int(costs.submit[0]) // SECOND if costs.jobs else 0
        self._turns = Turns(policy.periods, begin * SECOND)
        self._calculated = begin
        """The second at which priorities were calculated last."""
        self._standing: dict[int, float] = {}
        self._coming = [(tick, job) for job, tick in enumerate(costs.submit.tolist()) if costs.preceding[job] < 0]
        """When jobs join the queue, as far as is known now; a heap."""
        heapify(self._coming)
        self._followers: dict[int, list[int]] = {}
        """Jobs that wait for another one's end."""
        for job in np.flatnonzero(costs.preceding >= 0).tolist():
            self._followers.setdefault(int(costs.preceding[job]), []).append(job)
        self._opened = {end for _, end, _ in costs.reserved}
        """Ends of reservations."""
        self._queue: list[int] = []
        self._promises: dict[int, Hole] = {}
        self._wakes: set[int] = set()
        self._planned: dict[int, int] = {}
        """Planned end of each running job, in the order of starts."""
        self._kind: dict[int, int] = {}
        """Class of the slowest PE of each job that has started."""
        self._started: list[Started] = []
        """In the order of their starts, where jobs really run."""
        self._count = 0
        self._numbers: dict[int, int] = {}
        """The how manieth each running job was to start."""
        self._ends: dict[int, int] = {}
        """End of each running job, as far as is known now."""
        self._ended_at: dict[int, int] = {}
        self._programs = programs
        self._past: dict[int, tuple[int, int]] = {}
        """The last two run times of each user, the last one last; 0 where there was none."""
        self._ended: list[tuple[int, int]] = []
        """Number of the start, and job."""
        self._freed = self._corrected = False
        jobs_count = costs.jobs
        self.start = np.full(jobs_count, NONE, dtype=np.int64)
        self.finish, self.promised, self.choice = self.start.copy(), self.start.copy(), self.start.copy()
        self.estimate = self.start.copy()
        self.held: list[Held] = [0] * jobs_count
        """What each job holds or held: how many PEs, which as bits, or (node, 3)."""

    def run(self, decide: Decide) -> None:
        """Let all jobs start and end."""
        self._decide = decide
        for tick in self._opened:
            self._at(tick)
        self._await_next()
        self._clock.run()

    def _ask(self, _event: object = None) -> None:
        self._instant.ask(Phase.JOBS, self._settle)

    def _at(self, tick: int) -> None:
        event = Occurrence(self._clock)
        event.callbacks.append(self._ask)
        event.after(tick - self._clock.now)

    def _await_next(self) -> None:
        if self._coming:
            self._at(self._coming[0][0])

    def _settle(self) -> None:
        """Decide what this tick asks for."""
        now = self._clock.now
        ended, self._ended = [job for _, job in sorted(self._ended)], []
        if self._policy.same_second == "event":
            self._one_by_one(now, ended)
            return
        for job in ended:
            self._end(job, now)
        self._correct(now)
        calculated = self._calculate(now, ended=bool(ended))
        arrived = self._arrived(now)
        happened = bool(ended or arrived) or now in self._opened
        if happened or calculated:
            self._turns.change("full", "cycle")
        if self._policy.backfill != "slurm":
            if happened or self._due(now) or (calculated and self._queue):
                self._pass(now, arrived)
        else:
            turns = self._turns.due(now, "full", "cycle")
            turns.update(("main",) if happened else ())
            if turns:
                self._pass(now, arrived, turns)
        if self._queue or self._planned:
            self._turns.change("calculate")
        self._wake(self._turns.ahead(now))

    def _calculate(self, now: int, *, ended: bool) -> bool:
        """Priorities of all that wait, if they are due."""
        if ended or self._queue or self._planned:
            self._turns.change("calculate")
        if self._shares is None or not self._turns.due(now, "calculate"):
            return False
        second = now // SECOND
        for job in self._planned:
            count_use(self._shares, job, second)
        share_again(self._shares, second - self._calculated, compared)
        self._calculated = second
        for job in self._queue:
            self._standing[job] = standing(self._shares, job, second - int(self.eligible[job]) // SECOND)
        return True

    def _wake(self, ticks: set[int]) -> None:
        """Have an instant at each of these ticks."""
        for tick in ticks - self._wakes:
            self._wakes.add(tick)
            self._at(tick)

    def _arrived(self, now: int, most: int | None = None) -> list[int]:
        """Let all that join the queue now do so, or at most so many; which."""
        arrived = list[int]()
        while self._coming and self._coming[0][0] == now and len(arrived) != most:
            arrived.append(heappop(self._coming)[1])
        for job in arrived:
            self._submitted(job)
        if arrived:
            self._await_next()
        return arrived

    def _one_by_one(self, now: int, ended: list[int]) -> None:
        """A pass after each event: corrections, submissions, ends in the order of starts, promised starts."""
        self._correct(now, ending=frozenset(ended))
        left = list(reversed(ended))
        while True:
            if arrived := self._arrived(now, 1):
                self._pass(now, arrived)
            elif left:
                self._end(left.pop(), now)
                self._pass(now, [])
            else:
                break
        if self._due(now):
            self._pass(now, [])

    def _due(self, now: int) -> bool:
        """Whether a start is promised for now, or a reservation ends; a promise may have moved since its wake-up."""
        return now in self._opened or any(hole.start <= now for hole in self._promises.values())

    def _submitted(self, job: int) -> None:
        """Put a job into the queue, with its estimate."""
        if self._estimates.source == "last-two":
            older, last = self._past.get(self._user[job], (0, 0))
            limit, whole = self._limit[job], self._costs.whole
            mean = max(whole, (older + last) // 2 // whole * whole) if older and self._user[job] >= 0 else limit
            for choice, _ in self._jobs.choices[job]:
                self._jobs.plan[choice][:] = [min(mean, limit)] * len(self._jobs.plan[choice])
        if self._shares is not None:
            self._standing[job] = standing(self._shares, job, 0)
        insort(self._queue, job, key=lambda waiting: (int(self.eligible[waiting]), waiting))

    def _end(self, job: int, now: int) -> None:
        """A job has ended."""
        self.finish[job] = self._ended_at[job] = now
        if self._shares is not None:
            count_use(self._shares, job, now // SECOND)
        del self._ends[job]
        self._freed |= now < self._planned.pop(job) or self._policy.backfill == "replanned"
        self._past[self._user[job]] = (self._past.get(self._user[job], (0, 0))[1], now - int(self.start[job]))
        for follower in self._followers.pop(job, ()):
            self.eligible[follower] = max(now + int(self._costs.think[follower]), int(self.eligible[follower]))
            heappush(self._coming, (int(self.eligible[follower]), follower))
            if self.eligible[follower] > now:
                self._at(int(self.eligible[follower]))

    def _correct(self, now: int, ending: frozenset[int] = frozenset()) -> None:
        """Correct the planned ends of jobs that outlive what was planned."""
        for job in [job for job, end in self._planned.items() if end <= now and job not in ending]:
            self._planned[job] = int(self.start[job]) + self._longer(job, now - int(self.start[job]))
            self._corrected = True
            if self._planned[job] < self._ends[job]:
                self._at(self._planned[job])

    def _longer(self, job: int, so_far: int) -> int:
        """The next planned run time of a job that runs for so long already."""
        costs, limit = self._costs, self._limit[job]
        if self._estimates.correction == "limit":
            return limit
        if self._estimates.correction == "quantile":
            higher = self._ladder[int(self.choice[job])][self._kind[job]]
            return next((longer for longer in higher if longer > so_far), limit if limit < NEVER else 2 * so_far)
        first, steps = int(self.estimate[job]), costs.steps.tolist()
        longer = next((first + step for step in steps if first + step > so_far), 0)
        while longer <= so_far:
            longer = (longer or first + steps[-1]) + steps[-1]
        return min(longer, limit)

    def _pass(self, now: int, arrived: list[int], turns: set[Turn] | None = None) -> None:
        """Decide, and let start who is to start."""
        queue = self._ordered(now)
        plan, first = self._jobs.plan, self._jobs.choices
        shortest = self._policy.candidates == "shortest"
        candidates = sorted(queue, key=lambda job: plan[first[job][0][0]][0]) if shortest else queue
        running = [(end, self.held[job]) for job, end in self._planned.items()]
        flags: Any = {"freed": self._freed, "corrected": self._corrected, "turns": frozenset(turns or ())}
        seen = Situation(now, queue, candidates, running, tuple(self._planned), self._promises, arrived, **flags)
        decided = self._decide(seen)
        self._freed = self._corrected = False
        self._opened.discard(now)
        for job, hole in decided.starts:
            self._start(job, hole, now)
        if decided.starts:
            self._look_ahead()
            gone = {job for job, _ in decided.starts}
            self._queue = [job for job in self._queue if job not in gone]
        for job, hole in decided.promises.items():
            if self.promised[job] == NONE:
                self.promised[job] = hole.start
        if self._policy.backfill in PROMISING:
            self._promises = decided.promises
            self._wake({hole.start for hole in decided.promises.values()})

    def _ordered(self, now: int) -> list[int]:
        """The queue in the policy's order; ties as submitted."""
        plan, choices, order = self._jobs.plan, self._jobs.choices, self._order
        if order in {SJF, LJF}:
            sign = 1 if order == SJF else -1
            return sorted(self._queue, key=lambda job: sign * plan[choices[job][0][0]][0])
        if order == MULTIFACTOR:
            return sorted(self._queue, key=lambda job: self._standing[job])
        if order in DYNAMIC or self._policy.order == "f1":
            return sorted(self._queue, key=lambda job: self._score(job, now))
        return list(self._queue)

    def _score(self, job: int, now: int) -> float:
        choice, size = self._jobs.choices[job][0]
        joined = int(self.eligible[job])
        waited_s, estimate_s = (now - joined) / SECOND, self._jobs.plan[choice][0] / SECOND
        submitted_s = (joined - int(self._costs.submit[0])) / SECOND + 1.0
        return score(self._order, waited_s, estimate_s, float(size), submitted_s)

    def _start(self, job: int, hole: Hole, now: int) -> None:
        self.start[job], self.choice[job], self.estimate[job] = now, hole.choice, hole.lasting
        self.held[job] = hole.held
        if self._policy.backfill in PROMISING and self.promised[job] == NONE:
            self.promised[job] = now
        self._kind[job] = self._jobs.pool.slowest(hole.held)
        self._planned[job] = now + hole.lasting
        if self._shares is not None:
            self._shares.counted[job] = now // SECOND
        self._numbers[job], self._count = self._count, self._count + 1
        if self._programs is None:
            self._ends_at(job, now + self._run[hole.choice][self._kind[job]])
        else:
            self._started.append(Started(job, now, tuple(numbers_of(hole.held))))

    def _look_ahead(self) -> None:
        """See when jobs end that really run, now that others have started."""
        if self._programs is not None:
            for job, end in self._programs.ends(self._started, self._ended_at).items():
                self._ends_at(job, end)

    def _ends_at(self, job: int, end: int) -> None:
        """A running job ends then, unless something starts before and changes that."""
        if self._ends.get(job) == end:
            return
        self._ends[job] = end
        event = Occurrence(self._clock)
        event.callbacks.append(lambda _event: self._due_end(job, end))
        event.after(end - self._clock.now)
        if self._clock.now < self._planned[job] < end:
            self._at(self._planned[job])

    def _due_end(self, job: int, end: int) -> None:
        due = self._numbers[job], job
        if self._ends.get(job) == end and due not in self._ended:  # twice, where the end moved away and back
            self._ended.append(due)
            self._ask()

    def kinds(self) -> list[int]:
        """The class of the slowest PE of each job."""
        return [self._kind[job] for job in range(self._costs.jobs)]
