"""What the kernels of job streams share: arrays by job, switches, what runs and what waits in their orders."""

from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simulator.base.arrays import Floats, Ints
from simulator.engines.compiled.cache import callee, subroutine
from simulator.engines.costs.jobs import SECOND
from simulator.scheduling import scores, slurm
from simulator.scheduling.slurm import Shares

log2 = callee(scores.log2)
wfp3 = callee(scores.wfp3)
unicep = callee(scores.unicep)
f1 = callee(scores.f1)
standing = callee(slurm.standing)
NONE = -1
BY_ORDER, BY_LENGTH = 0, 1
"""In which order waiting jobs stand: the policy's, or by increasing estimate."""
BY_END, BY_PLAN, BY_JOINING = range(3)
"""What a heap goes by: ends, planned ends, or the times at which jobs join the queue."""

FOLLOWER, SIBLING, THINK, WAITS, LINKS = range(5)
"""Columns of `State.links`: the first job that waits for this one's end, the next one that waits for the same end, the
time from that end to joining the queue, whether the job waits for one; and how many columns."""


class N(IntEnum):
    """Numbers of a run, as places in `State.n`."""

    JOBS = 0
    PES = 1
    KINDS = 2
    """Classes of PEs."""
    LADDER = 3
    """Further quantiles of each estimate."""
    ORDER = 4
    BACKFILL = 5
    SHORTEST = 6
    EVENT = 7
    LAST_TWO = 8
    CORRECTION = 9
    WHOLE = 10
    WORDS = 11
    """Of a set of PEs; 0 where these are counted."""
    GROUPS = 12
    FASTEST_FIRST = 13
    EARLIEST_FINISH = 14
    MIN_MIN = 15
    NOW = 16
    NEXT = 17
    """The first job that has not been submitted."""
    NOTED = 18
    QUEUED = 19
    RUNNING = 20
    ENDING = 21
    LATE = 22
    STARTED = 23
    USED = 24
    FREED = 25
    CORRECTED = 26
    WAKE = 27
    """Earliest promised start."""
    PROFILE = 28
    """Rows of the profile."""
    RISING = 29
    """Whether what is free only grows over the profile."""
    STATUS = 30
    OWN = 31
    """Whether a policy of the user's own decides."""
    STEPS = 32
    SCORED = 33
    """Whether the order has scores."""
    DYNAMIC = 34
    """Whether these change while jobs wait."""
    COMING = 35
    NODES = 36
    """0 where there are only PEs."""
    RESERVED = 37
    OPENED = 38
    """Reservations that have ended."""
    EPOCH = 39
    """Counts ends: what did not fit since the last one does not fit now."""
    PASS = 40
    ROWS = 41
    """That the profile needs."""
    SPARE = 43
    """Cores that are free now."""
    BEGIN = 42
    """The first submission."""
    PERIODIC = 44
    """Whether something comes in periods."""
    ORIGIN = 45
    """From which tick on periods count."""
    TO_CALCULATE = 46
    """Whether something has changed since priorities were calculated last; the next two likewise."""
    TO_WHOLE_QUEUE = 47
    TO_CYCLE = 48
    CALC_PERIOD = 49
    SCHED_PERIOD = 50
    CYCLE_PERIOD = 51
    CALCULATED = 52
    """Second at which priorities were calculated last."""
    MAIN = 53
    """Whether Slurm's main scheduler decides now."""
    WHOLE_QUEUE = 54
    """Whether it does on the whole queue."""
    CYCLE = 55
    DEPTH = 56
    TESTS = 57
    TESTS_OF_USER = 58
    WINDOW = 59
    SLOT = 60
    BEYOND = 61
    """So long beyond its planned end a job needs what it gets."""


class State(NamedTuple):
    """Arrays of one run; J jobs, X choices, K classes, W words of a set of PEs, M nodes, R unlike requests."""

    n: Ints
    """See `N`."""
    joins: Ints
    """When each job joins the queue."""
    links: Ints
    """Of jobs that wait for another one's end; (J, 4): see `LINKS`."""
    coming: Ints
    """Heap by (joining, number) of jobs whose wait for another one's end is over."""
    noted: Ints
    """Jobs that no pass has seen, or those that a policy of the user's own starts."""
    past: Ints
    """The last run time but one of each user, and the last; (user, 2)."""
    first: Ints
    size: Ints
    run: Ints
    plan: Ints
    ladder: Ints
    limit: Ints
    user: Ints
    request: Ints
    """What each job asks for: a row of `able`, or of `asks`."""
    steps: Ints
    start: Ints
    finish: Ints
    promised: Ints
    estimate: Ints
    choice: Ints
    kind: Ints
    planned: Ints
    number: Ints
    promise: Ints
    """Start that a waiting job is promised, -1 without one."""
    queue: Ints
    """In the policy's order."""
    candidates: Ints
    running: Ints
    ending: Ints
    """Heap by (end, number)."""
    late: Ints
    """Heap by planned end: those that outlive it."""
    time: Ints
    """Begin of each row of the profile."""
    free: Ints
    """PEs that are free in each row: how many, or (row, word)."""
    pes: Ints
    """PEs of each job; (J, W)."""
    hole: Ints
    """PEs that were picked, and room to pick; (4, W)."""
    groups: Ints
    """PEs in the order in which they are taken; (group, W)."""
    within: Ints
    """PEs of a class or faster; (K, W)."""
    able: Ints
    """PEs with at least so much memory; (memory class, W)."""
    scores: Floats
    """Of waiting jobs, where the order has scores."""
    reserved: Ints
    """(reservation, 2 + numbers of a row of the profile): begin, end and what it holds, by end."""
    asks: Ints
    """(R, fields): see `job_nodes`."""
    sets: Ints
    """Nodes that jobs may use; (set, 1 + 2 M): how many, which in the order in which they are taken, and flags."""
    level: Ints
    """Rows like those of the profile: all that there is; on nodes also what is free now, then, and at both times."""
    held_first: Ints
    """Where in `held` each job's part begins; (J,)."""
    held: NDArray[np.int32]
    """How many nodes a job has, and by node its number and the job's chunks there."""
    part: Ints
    """Partition of each job."""
    parts: Ints
    """(partition, 1 + M): the pass in which a job that does not fit closed it, and flags of its nodes."""
    tests: Ints
    """Jobs of each user that a cycle of Slurm's backfill scheduler has looked at."""
    shares: Shares


_FCFS, _SJF, _LJF, _WFP3, _UNICEP = scores.FCFS, scores.SJF, scores.LJF, scores.WFP3, scores.UNICEP
_MULTIFACTOR = scores.MULTIFACTOR
_SECOND = float(SECOND)


# The queue


@callee
def plan_of(j: State, job: int) -> int:
    """What a job is ordered by: the estimate of its first choice on the fastest PEs."""
    return j.plan[j.first[job] * j.n[N.KINDS]]


@callee
def before(j: State, one: int, other: int) -> bool:
    """Whether one job stands before another in the queue."""
    order = j.n[N.ORDER]
    if order in (_SJF, _LJF):
        mine, theirs = plan_of(j, one), plan_of(j, other)
        if mine != theirs:
            return (mine < theirs) == (order == _SJF)
    elif order != _FCFS and j.scores[one] != j.scores[other]:
        return j.scores[one] < j.scores[other]
    return j.joins[one] < j.joins[other] if j.joins[one] != j.joins[other] else one < other


@callee
def shorter(j: State, one: int, other: int) -> bool:
    """Whether one job is tried before another behind the head."""
    mine, theirs = plan_of(j, one), plan_of(j, other)
    return mine < theirs if mine != theirs else before(j, one, other)


@subroutine
def rescore(j: State, job: int) -> None:
    """A job's score at this tick."""
    order, choice = j.n[N.ORDER], j.first[job]
    waited_s = (j.n[N.NOW] - j.joins[job]) / _SECOND
    estimate_s, processors = j.plan[choice * j.n[N.KINDS]] / _SECOND, float(j.size[choice])
    if order == _MULTIFACTOR:
        j.scores[job] = standing(j.shares, job, j.n[N.NOW] // SECOND - j.joins[job] // SECOND)
    elif order == _WFP3:
        j.scores[job] = wfp3(waited_s, estimate_s, processors)
    elif order == _UNICEP:
        j.scores[job] = unicep(waited_s, estimate_s, log2(processors))
    else:
        j.scores[job] = f1(log2(estimate_s), processors, log2((j.joins[job] - j.n[N.BEGIN]) / _SECOND + 1.0))


@subroutine
def put_in(j: State, line: Ints, count: int, job: int, by: int) -> None:
    """Put a job into its place among so many others."""
    low, high = 0, count
    while low < high:
        middle = (low + high) >> 1
        if shorter(j, job, line[middle]) if by == BY_LENGTH else before(j, job, line[middle]):
            high = middle
        else:
            low = middle + 1
    for place in range(count, low, -1):
        line[place] = line[place - 1]
    line[low] = job


@subroutine
def sort_again(j: State, line: Ints, by: int) -> None:
    """Bring the queue into its order, most of which it has from before."""
    for place in range(1, j.n[N.QUEUED]):
        job, back = line[place], place
        while back > 0 and (shorter(j, job, line[back - 1]) if by == BY_LENGTH else before(j, job, line[back - 1])):
            line[back] = line[back - 1]
            back -= 1
        line[back] = job


@callee
def without_started(j: State, line: Ints) -> int:
    """Take out of the queue what has started; how many are left."""
    kept = 0
    for place in range(j.n[N.QUEUED]):
        job = line[place]
        if j.start[job] == NONE:
            line[kept] = job
            kept += 1
    return kept


# What runs


@callee
def begin_running(j: State, job: int) -> None:
    """Put a job among those that run, by planned end."""
    low, high = 0, j.n[N.RUNNING]
    while low < high:
        middle = (low + high) >> 1
        if j.planned[job] < j.planned[j.running[middle]]:
            high = middle
        else:
            low = middle + 1
    for place in range(j.n[N.RUNNING], low, -1):
        j.running[place] = j.running[place - 1]
    j.running[low] = job
    j.n[N.RUNNING] += 1


@callee
def end_running(j: State, job: int) -> None:
    """Take a job out of those that run."""
    low, high = 0, j.n[N.RUNNING]
    while low < high:
        middle = (low + high) >> 1
        if j.planned[j.running[middle]] < j.planned[job]:
            low = middle + 1
        else:
            high = middle
    while j.running[low] != job:
        low += 1
    j.n[N.RUNNING] -= 1
    for place in range(low, j.n[N.RUNNING]):
        j.running[place] = j.running[place + 1]


@callee
def first_planned(j: State) -> int:
    """The place among those that run of the first whose planned end is still to come."""
    place = 0
    while place < j.n[N.RUNNING] and j.planned[j.running[place]] <= j.n[N.NOW]:
        place += 1
    return place


# Heaps


@callee
def sooner(j: State, one: int, other: int, by: int) -> bool:
    """Whether one job's event comes before another's (ties: in the order of starts, or of the stream)."""
    if by == BY_JOINING:
        return j.joins[one] < j.joins[other] if j.joins[one] != j.joins[other] else one < other
    mine, theirs = (j.planned[one], j.planned[other]) if by == BY_PLAN else (j.finish[one], j.finish[other])
    return mine < theirs if mine != theirs else j.number[one] < j.number[other]


@callee
def push(j: State, heap: Ints, count: int, job: int, by: int) -> None:
    """Add a job to a heap of so many."""
    place = count
    while place > 0 and sooner(j, job, heap[(place - 1) >> 1], by):
        heap[place] = heap[(place - 1) >> 1]
        place = (place - 1) >> 1
    heap[place] = job


@callee
def pop(j: State, heap: Ints, count: int, by: int) -> int:
    """Take the first job from a heap of so many."""
    first, moved, place, count = heap[0], heap[count - 1], 0, count - 1
    while True:
        below = 2 * place + 1
        if below >= count:
            break
        if below + 1 < count and sooner(j, heap[below + 1], heap[below], by):
            below += 1
        if not sooner(j, heap[below], moved, by):
            break
        heap[place] = heap[below]
        place = below
    heap[place] = moved
    return first
