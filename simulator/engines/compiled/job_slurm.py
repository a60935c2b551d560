"""Slurm's turns, priorities and schedulers: `simulator.scheduling.slurm` and its pass of `passes`, compiled."""

from simulator.engines.compiled.cache import callee, subroutine
from simulator.engines.compiled.job_nodes import NOW, PARTS, THEN, change, fits_now, gather, held_by
from simulator.engines.compiled.job_passes import only_choice, order_again, remove_started, start
from simulator.engines.compiled.job_places import TAKE, edge, find, profile_of_running, take
from simulator.engines.compiled.job_state import NONE, N, State
from simulator.engines.costs import LAST_TICK
from simulator.engines.costs.jobs import SECOND
from simulator.scheduling import slurm

count_use = callee(slurm.count_use)
compared = subroutine(slurm.compared)
share_again = subroutine(slurm.share_again)


@subroutine
def next_turn(j: State) -> int:
    """When what comes in periods is due next."""
    found = LAST_TICK
    if j.n[N.RUNNING] > 0 or j.n[N.QUEUED] > 0:
        j.n[N.TO_CALCULATE] = 1
    for turn in range(N.TO_CALCULATE, N.TO_CYCLE + 1):
        period = j.n[turn + N.CALC_PERIOD - N.TO_CALCULATE]
        if j.n[turn] and period > 0 and (turn == N.TO_CALCULATE or j.n[N.QUEUED] > 0):
            found = min(found, j.n[N.NOW] + period - (j.n[N.NOW] - j.n[N.ORIGIN]) % period)
    return found


@subroutine
def due(j: State, turn: int) -> bool:
    """Whether a turn comes now; with that it is over."""
    period = j.n[turn + N.CALC_PERIOD - N.TO_CALCULATE]
    if j.n[turn] == 0 or period == 0 or (j.n[N.NOW] - j.n[N.ORIGIN]) % period != 0:
        return False
    j.n[turn] = 0
    return True


@subroutine
def calculate(j: State, ended: int) -> bool:
    """Priorities of all that wait, if they are due."""
    if ended or j.n[N.QUEUED] > 0 or j.n[N.RUNNING] > 0:
        j.n[N.TO_CALCULATE] = 1
    if not due(j, N.TO_CALCULATE):
        return False
    second = j.n[N.NOW] // SECOND
    for place in range(j.n[N.RUNNING]):
        count_use(j.shares, j.running[place], second)
    share_again(j.shares, second - j.n[N.CALCULATED], compared)
    j.n[N.CALCULATED] = second
    order_again(j)
    return True


@subroutine
def pass_slurm(j: State) -> None:
    """The main scheduler, in which who does not fit closes its partition, then a cycle of sched/backfill."""
    if j.n[N.DYNAMIC]:
        order_again(j)
    depth = 0
    if j.n[N.WHOLE_QUEUE]:
        depth = j.n[N.QUEUED]
    elif j.n[N.MAIN]:
        depth = min(j.n[N.QUEUED], j.n[N.DEPTH])
    before = j.n[N.STARTED]
    j.n[N.BEYOND] = 0
    if j.n[N.RESERVED] > 0:
        _main_in_profile(j, depth)
    elif j.n[N.NODES] > 0:
        _main_on_nodes(j, depth)
    else:
        _main_counted(j, depth)
    if j.n[N.CYCLE]:
        _cycle(j)
    j.n[N.FREED] = j.n[N.CORRECTED] = j.n[N.NOTED] = 0
    if j.n[N.STARTED] > before:
        remove_started(j)


@callee
def _main_counted(j: State, depth: int) -> None:
    place = 0
    while place < depth and only_choice(j, j.queue[place]) <= j.n[N.PES] - j.n[N.USED]:
        start(j, j.queue[place])
        place += 1


@callee
def _main_on_nodes(j: State, depth: int) -> None:
    """`THEN` is what is free of nodes that are not closed."""
    j.n[N.PASS] += 1
    wide, fields = PARTS * j.n[N.NODES], 1 + j.n[N.NODES]
    left = j.parts.size // fields
    for at in range(wide if depth > 0 else 0):
        j.level[THEN * wide + at] = j.level[NOW * wide + at]
    for place in range(depth):
        job = j.queue[place]
        part = j.part[job] * fields
        if j.parts[part] == j.n[N.PASS]:
            continue
        if fits_now(j, job) and gather(j, job, j.level, THEN):
            only_choice(j, job)
            start(j, job)
            change(j, j.level, THEN, job, -1)
            continue
        j.parts[part] = j.n[N.PASS]
        left -= 1
        if left == 0:
            break
        for node in range(j.n[N.NODES]):
            if j.parts[part + 1 + node]:
                _shut(j, THEN, node, in_profile=0)


@callee
def _main_in_profile(j: State, depth: int) -> None:
    """The same beside reservations."""
    if depth > 0:
        profile_of_running(j)
        j.n[N.RISING] = 0
    for place in range(depth):
        job = j.queue[place]
        if find(j, job) == j.n[N.NOW]:
            take(j, j.n[N.NOW], j.n[N.NOW] + j.estimate[job], job, TAKE)
            start(j, job)
        elif j.n[N.NODES] == 0:
            break
        else:
            part = j.part[job] * (1 + j.n[N.NODES]) + 1
            for node in range(j.n[N.NODES]):
                for row in range(j.n[N.PROFILE] if j.parts[part + node] else 0):
                    _shut(j, row, node, in_profile=1)


@callee
def _shut(j: State, row: int, node: int, in_profile: int) -> None:
    """Let nobody have anything of a node in a row of the profile, or of `level`."""
    free = j.free if in_profile else j.level
    for at in range(PARTS * (row * j.n[N.NODES] + node), PARTS * (row * j.n[N.NODES] + node + 1)):
        free[at] = 0


@callee
def _cycle(j: State) -> None:
    """A cycle; plans behind the last job that would fit now without them hold nobody back."""
    now, tested, last = j.n[N.NOW], 0, NONE
    for place in range(j.n[N.QUEUED]):
        job = j.queue[place]
        j.tests[j.user[job] + 1] = 0
        if j.start[job] == NONE and _might_fit(j, job):
            last = place
    if last != NONE:
        profile_of_running(j)
        j.n[N.RISING], j.n[N.BEYOND] = 0, 1  # a plan that begins at the very end of a job is in its way
    for place in range(last + 1):
        job, user = j.queue[place], j.user[j.queue[place]] + 1
        if j.start[job] != NONE or j.tests[user] == j.n[N.TESTS_OF_USER]:
            continue
        if tested == j.n[N.TESTS]:
            break
        j.tests[user] += 1
        tested += 1
        begin = find(j, job)
        if begin == now:
            take(j, now, now + j.estimate[job], job, TAKE)
            start(j, job)
        elif begin != NONE and begin <= now + j.n[N.WINDOW]:
            _hold(j, begin, begin + j.estimate[job], job)


@callee
def _might_fit(j: State, job: int) -> bool:
    """Whether a job would fit now if nobody else were planned."""
    if j.n[N.NODES] > 0:
        return fits_now(j, job)
    return j.size[j.first[job]] <= j.n[N.PES] - j.n[N.USED]


@callee
def _hold(j: State, begin: int, end: int, job: int) -> None:
    """Hold whole slots of the resolution for a planned start: nodes whole, of PEs no more than it leaves free then."""
    slot, nodes = j.n[N.SLOT], j.n[N.NODES]
    first = edge(j, begin // slot * slot)
    last = max(begin // slot * slot + slot, end // slot * slot)
    if nodes == 0:
        at = edge(j, begin)
        take(j, begin, last, job, TAKE)
        for row in range(first, at):
            j.free[row] = min(j.free[row], j.free[at])
        return
    for row in range(first, edge(j, last)):
        for place in held_by(j, job):
            _shut(j, row, j.held[place], in_profile=1)
