"""One pass of a policy over the queue: `simulator.scheduling.passes`, compiled."""

from simulator.engines.compiled.cache import callee, subroutine
from simulator.engines.compiled.job_nodes import THEN, change, fits_beside, fits_now, hold, meet_on, shadow_of
from simulator.engines.compiled.job_places import (
    GIVE,
    TAKE,
    best_hole,
    clear_profile,
    find,
    forget_past,
    profile_of_running,
    reserve,
    take,
)
from simulator.engines.compiled.job_state import (
    BY_END,
    BY_LENGTH,
    BY_ORDER,
    BY_PLAN,
    NONE,
    N,
    State,
    begin_running,
    first_planned,
    push,
    rescore,
    sort_again,
    without_started,
)
from simulator.engines.costs import LAST_TICK
from simulator.engines.costs.jobs import SECOND
from simulator.scheduling.scores import MULTIFACTOR

SLURM, NO_BACKFILL, EASY, CONSERVATIVE, REPLANNED = range(5)
BACKFILLS = {"slurm": SLURM, "none": NO_BACKFILL, "easy": EASY, "conservative": CONSERVATIVE, "replanned": REPLANNED}
RUNNING, DONE, DECIDE, PAST_LAST_TICK, FULL = range(5)
"""Statuses: the run goes on, is over, waits for a policy of the user's own, has passed the last tick, or needs
more rows for its profile."""


@subroutine
def start(j: State, job: int) -> None:
    """Let a job start now, with the choice, class, estimate and PEs that are put down for it."""
    now = j.n[N.NOW]
    lasting = j.run[j.choice[job] * j.n[N.KINDS] + j.kind[job]]
    if now > LAST_TICK - lasting:
        j.n[N.STATUS] = PAST_LAST_TICK
        return
    j.start[job], j.finish[job], j.planned[job] = now, now + lasting, now + j.estimate[job]
    j.number[job] = j.n[N.STARTED]
    j.n[N.STARTED] += 1
    j.n[N.USED] += j.size[j.choice[job]]
    if j.n[N.NODES] > 0:
        hold(j, job, -1)
    begin_running(j, job)
    push(j, j.ending, j.n[N.ENDING], job, BY_END)
    j.n[N.ENDING] += 1
    if j.n[N.ORDER] == MULTIFACTOR:
        j.shares.counted[job] = now // SECOND
    if lasting > j.estimate[job]:
        push(j, j.late, j.n[N.LATE], job, BY_PLAN)
        j.n[N.LATE] += 1


@callee
def only_choice(j: State, job: int) -> int:
    """Put down the one choice of a job on counted PEs; its size."""
    choice = j.first[job]
    j.choice[job], j.kind[job], j.estimate[job] = choice, 0, j.plan[choice * j.n[N.KINDS]]
    return j.size[choice]


@callee
def decide(j: State) -> None:
    """One pass."""
    if j.n[N.DYNAMIC]:
        order_again(j)
    before = j.n[N.STARTED]
    if j.n[N.BACKFILL] >= CONSERVATIVE:
        keep_promises(j)
    elif j.n[N.MIN_MIN]:
        pass_least_first(j)
    elif j.n[N.WORDS] > 0 or j.n[N.RESERVED] > 0:
        pass_in_profile(j)
    elif j.n[N.NODES] > 0:
        pass_on_nodes(j)
    else:
        pass_counted(j)
    j.n[N.FREED] = j.n[N.CORRECTED] = j.n[N.NOTED] = 0
    if j.n[N.STARTED] > before:
        remove_started(j)


@subroutine
def order_again(j: State) -> None:
    """Bring the queue into its order of this tick."""
    for place in range(j.n[N.QUEUED]):
        rescore(j, j.queue[place])
    sort_again(j, j.queue, BY_ORDER)
    if j.n[N.SHORTEST]:
        sort_again(j, j.candidates, BY_LENGTH)


@callee
def remove_started(j: State) -> None:
    """Take what has started out of the queue."""
    left = without_started(j, j.queue)
    if j.n[N.SHORTEST]:
        without_started(j, j.candidates)
    j.n[N.QUEUED] = left


@callee
def pass_counted(j: State) -> None:
    """The head while it fits; behind a head that waits, who does not delay it (EASY)."""
    now, place = j.n[N.NOW], 0
    first = first_planned(j)
    free = j.n[N.PES] - j.n[N.USED]
    for over in range(first):  # planned ends of this very tick, in `event` mode
        free += j.size[j.choice[j.running[over]]]
    while place < j.n[N.QUEUED] and only_choice(j, j.queue[place]) <= free:
        free -= j.size[j.choice[j.queue[place]]]
        start(j, j.queue[place])
        place += 1
    if place == j.n[N.QUEUED] or j.n[N.BACKFILL] == NO_BACKFILL:
        return
    head = j.queue[place]
    extra, shadow = free, now
    for at in range(first, j.n[N.RUNNING]):
        other = j.running[at]
        if extra >= j.size[j.choice[head]] and j.planned[other] > shadow:
            break
        extra += j.size[j.choice[other]]
        shadow = j.planned[other]
    extra -= j.size[j.choice[head]]
    if j.promised[head] == NONE:
        j.promised[head] = shadow
    _behind(j, place, free, extra, shadow)


@callee
def _behind(j: State, place: int, free: int, extra: int, shadow: int) -> None:
    """Let those start that do not delay the head, which stands at a place of the queue."""
    now, head = j.n[N.NOW], j.queue[place]
    line = j.candidates if j.n[N.SHORTEST] else j.queue
    for at in range(0 if j.n[N.SHORTEST] else place + 1, j.n[N.QUEUED]):
        if free == 0:
            break
        job = line[at]
        if job == head or j.start[job] != NONE:
            continue
        size = j.size[j.first[job]]
        if size > free:
            continue
        if now + j.plan[j.first[job] * j.n[N.KINDS]] > shadow:
            if size > extra:
                continue
            extra -= size
        free -= size
        only_choice(j, job)
        start(j, job)


@subroutine
def pass_on_nodes(j: State) -> None:
    """The same on nodes: who passes the head and ends later needs what is free both now and then."""
    now, place = j.n[N.NOW], 0
    j.n[N.PASS] += 1
    while place < j.n[N.QUEUED] and fits_now(j, j.queue[place]):
        only_choice(j, j.queue[place])
        start(j, j.queue[place])
        place += 1
    if place == j.n[N.QUEUED] or j.n[N.BACKFILL] == NO_BACKFILL:
        return
    head, shadow = j.queue[place], NONE
    if j.promised[head] == NONE:
        j.promised[head] = shadow = shadow_of(j, head)
    line = j.candidates if j.n[N.SHORTEST] else j.queue
    for at in range(0 if j.n[N.SHORTEST] else place + 1, j.n[N.QUEUED]):
        job = line[at]
        if job == head or j.start[job] != NONE or not fits_now(j, job):
            continue
        if shadow == NONE:
            shadow = shadow_of(j, head)
        later = now + j.plan[j.first[job] * j.n[N.KINDS]] > shadow
        if later and not fits_beside(j, job):
            continue
        only_choice(j, job)
        start(j, job)
        if later:
            change(j, j.level, THEN, job, -1)
        meet_on(j, job)


@subroutine
def pass_in_profile(j: State) -> None:
    """The same on PEs by number or beside reservations: who passes the head takes nothing that it is to get."""
    now, head, begin = j.n[N.NOW], NONE, NONE
    profile_of_running(j)
    for place in range(j.n[N.QUEUED]):
        job = j.queue[place]
        begin = find(j, job)
        if begin < 0:
            return
        take(j, begin, begin + j.estimate[job], job, TAKE)
        if begin > now:
            head = job
            break
        start(j, job)
    if head == NONE or j.n[N.BACKFILL] == NO_BACKFILL:
        return
    if j.promised[head] == NONE:
        j.promised[head] = begin
    j.n[N.RISING] = 0
    for place in range(j.n[N.QUEUED]):
        job = j.candidates[place] if j.n[N.SHORTEST] else j.queue[place]
        if job == head or j.start[job] != NONE:
            continue
        if find(j, job) == now:
            take(j, now, now + j.estimate[job], job, TAKE)
            start(j, job)


@subroutine
def pass_least_first(j: State) -> None:
    """Min-min: again and again the job that can end first, of equal ones the first of the queue."""
    profile_of_running(j)
    j.n[N.RISING] = 0
    for place in range(j.n[N.QUEUED]):
        j.promise[j.queue[place]] = NONE
    for _ in range(j.n[N.QUEUED]):
        chosen, chosen_end = NONE, NONE
        for place in range(j.n[N.QUEUED]):
            job = j.queue[place]
            if j.promise[job] == NONE:
                end = best_hole(j, job) + j.estimate[job]
                if chosen == NONE or end < chosen_end:
                    chosen, chosen_end = job, end
        begin = chosen_end - j.estimate[chosen]
        take(j, begin, chosen_end, chosen, TAKE)
        j.promise[chosen] = begin
        if begin == j.n[N.NOW]:
            start(j, chosen)


@subroutine
def put(j: State, job: int) -> None:
    """Promise a job its earliest hole."""
    begin = find(j, job)
    take(j, begin, begin + j.estimate[job], job, TAKE)
    j.promise[job] = begin
    if j.promised[job] == NONE:
        j.promised[job] = begin


@subroutine
def keep_promises(j: State) -> None:
    """Conservative: everybody has a promise, and nobody's gets worse, unless all are made again."""
    now = j.n[N.NOW]
    replan = j.n[N.CORRECTED] == 1 or (j.n[N.FREED] == 1 and j.n[N.BACKFILL] == REPLANNED)
    if j.n[N.PROFILE] == 0:
        clear_profile(j)
        reserve(j)
    forget_past(j)
    if replan:  # promises may not fit any more
        profile_of_running(j)
    j.n[N.RISING] = 0
    for place in range(j.n[N.QUEUED] if replan or j.n[N.FREED] else 0):
        job = j.queue[place]
        if j.promise[job] == NONE and not replan:
            continue
        if not replan:
            take(j, j.promise[job], j.promise[job] + j.estimate[job], job, GIVE)
        put(j, job)
    if not replan:
        for place in range(j.n[N.NOTED]):
            put(j, j.noted[place])
    j.n[N.WAKE] = LAST_TICK
    for place in range(j.n[N.QUEUED]):
        job = j.queue[place]
        if j.promise[job] <= now:
            start(j, job)
        elif j.promise[job] < j.n[N.WAKE]:
            j.n[N.WAKE] = j.promise[job]
