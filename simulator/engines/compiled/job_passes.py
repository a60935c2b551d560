"""One pass of a policy over the queue: `simulator.scheduling.passes`, compiled."""

from simulator.engines.compiled.cache import callee, subroutine
from simulator.engines.compiled.job_places import (
    GIVE,
    TAKE,
    best_hole,
    earliest,
    forget_past,
    profile_of_running,
    take,
    take_pes,
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

NO_BACKFILL, EASY, CONSERVATIVE = range(3)
BACKFILLS = {"none": NO_BACKFILL, "easy": EASY, "conservative": CONSERVATIVE}
RUNNING, DONE, DECIDE, PAST_LAST_TICK = range(4)
"""Statuses: the run goes on, is over, waits for a policy of the user's own, or has passed the last tick."""

_NOW, _QUEUED, _RUNNING, _ENDING, _LATE = (int(one) for one in (N.NOW, N.QUEUED, N.RUNNING, N.ENDING, N.LATE))
_BACKFILL, _SHORTEST, _WORDS, _KINDS = int(N.BACKFILL), int(N.SHORTEST), int(N.WORDS), int(N.KINDS)
_STARTED, _USED, _PES, _STATUS = int(N.STARTED), int(N.USED), int(N.PES), int(N.STATUS)
_FREED, _CORRECTED, _WAKE, _RISING = int(N.FREED), int(N.CORRECTED), int(N.WAKE), int(N.RISING)
_DYNAMIC, _MIN_MIN, _PROFILE, _SEEN, _NEXT = (
    int(N.DYNAMIC),
    int(N.MIN_MIN),
    int(N.PROFILE),
    int(N.SEEN),
    int(N.NEXT),
)


@subroutine
def start(j: State, job: int) -> None:
    """Let a job start now, with the choice, class, estimate and PEs that are put down for it."""
    now = j.n[_NOW]
    lasting = j.run[j.choice[job] * j.n[_KINDS] + j.kind[job]]
    if now > LAST_TICK - lasting:
        j.n[_STATUS] = PAST_LAST_TICK
        return
    j.start[job], j.finish[job], j.planned[job] = now, now + lasting, now + j.estimate[job]
    j.number[job] = j.n[_STARTED]
    j.n[_STARTED] += 1
    j.n[_USED] += j.size[j.choice[job]]
    begin_running(j, job)
    push(j, j.ending, j.n[_ENDING], job, BY_END)
    j.n[_ENDING] += 1
    if lasting > j.estimate[job]:
        push(j, j.late, j.n[_LATE], job, BY_PLAN)
        j.n[_LATE] += 1


@callee
def only_choice(j: State, job: int) -> int:
    """Put down the one choice of a job on counted PEs; its size."""
    choice = j.first[job]
    j.choice[job], j.kind[job], j.estimate[job] = choice, 0, j.plan[choice * j.n[_KINDS]]
    return j.size[choice]


@callee
def decide(j: State) -> None:
    """One pass."""
    if j.n[_DYNAMIC]:
        for place in range(j.n[_QUEUED]):
            rescore(j, j.queue[place])
        sort_again(j, j.queue, BY_ORDER)
        if j.n[_SHORTEST]:
            sort_again(j, j.candidates, BY_LENGTH)
    before = j.n[_STARTED]
    if j.n[_BACKFILL] == CONSERVATIVE:
        keep_promises(j)
    elif j.n[_WORDS] == 0:
        pass_counted(j)
    elif j.n[_MIN_MIN]:
        pass_least_first(j)
    else:
        pass_named(j)
    j.n[_FREED] = j.n[_CORRECTED] = 0
    j.n[_SEEN] = j.n[_NEXT]
    if j.n[_STARTED] > before:
        remove_started(j)


@callee
def remove_started(j: State) -> None:
    """Take what has started out of the queue."""
    left = without_started(j, j.queue)
    if j.n[_SHORTEST]:
        without_started(j, j.candidates)
    j.n[_QUEUED] = left


@subroutine
def pass_counted(j: State) -> None:
    """The head while it fits; behind a head that waits, who does not delay it (EASY)."""
    now, place = j.n[_NOW], 0
    first = first_planned(j)
    free = j.n[_PES] - j.n[_USED]
    for over in range(first):  # planned ends of this very tick, in `event` mode
        free += j.size[j.choice[j.running[over]]]
    while place < j.n[_QUEUED] and only_choice(j, j.queue[place]) <= free:
        free -= j.size[j.choice[j.queue[place]]]
        start(j, j.queue[place])
        place += 1
    if place == j.n[_QUEUED] or j.n[_BACKFILL] == NO_BACKFILL:
        return
    head = j.queue[place]
    extra, shadow = free, now
    for at in range(first, j.n[_RUNNING]):
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
    now, head = j.n[_NOW], j.queue[place]
    line = j.candidates if j.n[_SHORTEST] else j.queue
    for at in range(0 if j.n[_SHORTEST] else place + 1, j.n[_QUEUED]):
        if free == 0:
            break
        job = line[at]
        if job == head or j.start[job] != NONE:
            continue
        size = j.size[j.first[job]]
        if size > free:
            continue
        if now + j.plan[j.first[job] * j.n[_KINDS]] > shadow:
            if size > extra:
                continue
            extra -= size
        free -= size
        only_choice(j, job)
        start(j, job)


@subroutine
def pass_named(j: State) -> None:
    """The same on PEs by number: who passes the head takes none that it is to get."""
    now, head, begin = j.n[_NOW], NONE, NONE
    profile_of_running(j)
    for place in range(j.n[_QUEUED]):
        job = j.queue[place]
        begin = best_hole(j, job)
        if begin < 0:
            return
        take_pes(j, begin, begin + j.estimate[job], job, TAKE)
        if begin > now:
            head = job
            break
        start(j, job)
    if head == NONE or j.n[_BACKFILL] == NO_BACKFILL:
        return
    if j.promised[head] == NONE:
        j.promised[head] = begin
    j.n[_RISING] = 0
    for place in range(j.n[_QUEUED]):
        job = j.candidates[place] if j.n[_SHORTEST] else j.queue[place]
        if job == head or j.start[job] != NONE:
            continue
        if best_hole(j, job) == now:
            take_pes(j, now, now + j.estimate[job], job, TAKE)
            start(j, job)


@subroutine
def pass_least_first(j: State) -> None:
    """Min-min: again and again the job that can end first, of equal ones the first of the queue."""
    profile_of_running(j)
    j.n[_RISING] = 0
    for place in range(j.n[_QUEUED]):
        j.promise[j.queue[place]] = NONE
    for _ in range(j.n[_QUEUED]):
        chosen, chosen_end = NONE, NONE
        for place in range(j.n[_QUEUED]):
            job = j.queue[place]
            if j.promise[job] == NONE:
                end = best_hole(j, job) + j.estimate[job]
                if chosen == NONE or end < chosen_end:
                    chosen, chosen_end = job, end
        begin = chosen_end - j.estimate[chosen]
        take_pes(j, begin, chosen_end, chosen, TAKE)
        j.promise[chosen] = begin
        if begin == j.n[_NOW]:
            start(j, chosen)


@subroutine
def put(j: State, job: int) -> None:
    """Promise a job its earliest hole."""
    if j.n[_WORDS] > 0:
        begin = best_hole(j, job)
    else:
        size = only_choice(j, job)
        begin = earliest(j, size, j.estimate[job])
    take(j, begin, begin + j.estimate[job], job, TAKE)
    j.promise[job] = begin
    if j.promised[job] == NONE:
        j.promised[job] = begin


@subroutine
def keep_promises(j: State) -> None:
    """Conservative: everybody has a promise, and nobody's gets worse."""
    now = j.n[_NOW]
    forget_past(j)
    if j.n[_CORRECTED]:  # promises may not fit any more: all are made again
        profile_of_running(j)
        j.n[_RISING] = 0
    again = j.n[_FREED] or j.n[_CORRECTED]
    for place in range(j.n[_QUEUED] if again else 0):
        job = j.queue[place]
        if j.promise[job] == NONE and not j.n[_CORRECTED]:
            continue
        if not j.n[_CORRECTED]:
            take(j, j.promise[job], j.promise[job] + j.estimate[job], job, GIVE)
        put(j, job)
    if not j.n[_CORRECTED]:
        for job in range(j.n[_SEEN], j.n[_NEXT]):
            put(j, job)
    j.n[_WAKE] = LAST_TICK
    for place in range(j.n[_QUEUED]):
        job = j.queue[place]
        if j.promise[job] <= now:
            start(j, job)
        elif j.promise[job] < j.n[_WAKE]:
            j.n[_WAKE] = j.promise[job]
