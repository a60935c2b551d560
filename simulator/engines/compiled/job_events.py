"""The event loop of a stream of jobs, compiled: the same instants as in `simulator.engines.job_queue`."""

from simulator.engines.compiled.cache import callee, subroutine
from simulator.engines.compiled.job_passes import CONSERVATIVE, DECIDE, DONE, RUNNING, decide, start
from simulator.engines.compiled.job_places import GIVE, take
from simulator.engines.compiled.job_state import (
    BY_END,
    BY_LENGTH,
    BY_ORDER,
    BY_PLAN,
    NONE,
    N,
    State,
    begin_running,
    end_running,
    pop,
    push,
    put_in,
    rescore,
)
from simulator.engines.costs import LAST_TICK

TO_LIMIT, BY_STEPS, BY_QUANTILE = range(3)
CORRECTIONS = {"limit": TO_LIMIT, "steps": BY_STEPS, "quantile": BY_QUANTILE}

_NOW, _QUEUED, _ENDING, _LATE, _NEXT = (int(one) for one in (N.NOW, N.QUEUED, N.ENDING, N.LATE, N.NEXT))
_JOBS, _KINDS, _LADDER, _EVENT, _SHORTEST = (int(one) for one in (N.JOBS, N.KINDS, N.LADDER, N.EVENT, N.SHORTEST))
_BACKFILL, _CORRECTION, _LAST_TWO, _WHOLE = (int(one) for one in (N.BACKFILL, N.CORRECTION, N.LAST_TWO, N.WHOLE))
_FREED, _CORRECTED, _WAKE, _USED, _STATUS = (int(one) for one in (N.FREED, N.CORRECTED, N.WAKE, N.USED, N.STATUS))
_OWN, _CHOSEN, _SCORED, _STEPS, _SEEN = (int(one) for one in (N.OWN, N.CHOSEN, N.SCORED, N.STEPS, N.SEEN))


def simulate(j: State) -> int:
    """Go on until all jobs have ended, or a policy of the user's own is to decide; the status."""
    if j.n[_STATUS] == DECIDE:
        j.n[_STATUS] = RUNNING
        _start_chosen(j)
    while j.n[_STATUS] == RUNNING:
        now = _next_tick(j)
        if now == LAST_TICK:
            j.n[_STATUS] = DONE
            break
        j.n[_NOW] = now
        if not (_one_event(j) if j.n[_EVENT] else _instant(j)):
            continue
        if j.n[_OWN]:
            if j.n[_QUEUED] > 0:
                j.n[_STATUS] = DECIDE
        else:
            decide(j)
    return j.n[_STATUS]


@callee
def _start_chosen(j: State) -> None:
    """Let the jobs start that a policy of the user's own has chosen."""
    for place in range(j.n[_CHOSEN]):
        start(j, j.chosen[place])
    j.n[_CHOSEN] = 0
    kept = 0
    for place in range(j.n[_QUEUED]):
        if j.start[j.queue[place]] == NONE:
            j.queue[kept] = j.queue[place]
            kept += 1
    j.n[_QUEUED] = kept
    j.n[_SEEN] = j.n[_NEXT]


@callee
def _next_tick(j: State) -> int:
    """When something happens next; the last tick if nothing does."""
    found = LAST_TICK
    if j.n[_NEXT] < j.n[_JOBS]:
        found = j.submit[j.n[_NEXT]]
    if j.n[_ENDING] > 0:
        found = min(found, j.finish[j.ending[0]])
    if j.n[_LATE] > 0:
        found = min(found, j.planned[j.late[0]])
    if j.n[_BACKFILL] == CONSERVATIVE:
        found = min(found, j.n[_WAKE])
    return found


@callee
def _instant(j: State) -> bool:
    """All that is due: ends, corrections, submissions; whether a pass follows."""
    now, any_due = j.n[_NOW], j.n[_BACKFILL] == CONSERVATIVE and j.n[_WAKE] <= j.n[_NOW]
    while j.n[_ENDING] > 0 and j.finish[j.ending[0]] == now:
        _end(j)
        any_due = True
    _correct(j)
    while j.n[_NEXT] < j.n[_JOBS] and j.submit[j.n[_NEXT]] == now:
        _submit(j)
        any_due = True
    return any_due


@callee
def _one_event(j: State) -> bool:
    """Corrections, then the first of a submission, an end and a promised start; whether a pass follows."""
    now = j.n[_NOW]
    _correct(j)
    if j.n[_NEXT] < j.n[_JOBS] and j.submit[j.n[_NEXT]] == now:
        _submit(j)
        return True
    if j.n[_ENDING] > 0 and j.finish[j.ending[0]] == now:
        _end(j)
        return True
    return j.n[_BACKFILL] == CONSERVATIVE and j.n[_WAKE] <= now


@callee
def _submit(j: State) -> None:
    """Put the next job into the queue, with its estimate."""
    job = j.n[_NEXT]
    j.n[_NEXT] += 1
    if j.n[_LAST_TWO]:
        planned, user = j.limit[job], j.user[job]
        if user >= 0 and j.older[user] > 0:
            whole = j.n[_WHOLE]
            planned = min(planned, max(whole, (j.older[user] + j.last[user]) // 2 // whole * whole))
        for place in range(j.first[job] * j.n[_KINDS], j.first[job + 1] * j.n[_KINDS]):
            j.plan[place] = planned
    if j.n[_SCORED]:
        rescore(j, job)
    put_in(j, j.queue, j.n[_QUEUED], job, BY_ORDER)
    if j.n[_SHORTEST]:
        put_in(j, j.candidates, j.n[_QUEUED], job, BY_LENGTH)
    j.n[_QUEUED] += 1


@callee
def _end(j: State) -> None:
    """The job that is due ends."""
    job = pop(j, j.ending, j.n[_ENDING], BY_END)
    j.n[_ENDING] -= 1
    end_running(j, job)
    j.n[_USED] -= j.size[j.choice[job]]
    if j.n[_NOW] < j.planned[job]:
        j.n[_FREED] = 1
        if j.n[_BACKFILL] == CONSERVATIVE:
            take(j, j.n[_NOW], j.planned[job], job, GIVE)
    if j.user[job] >= 0:
        j.older[j.user[job]] = j.last[j.user[job]]
        j.last[j.user[job]] = j.n[_NOW] - j.start[job]


@subroutine
def _correct(j: State) -> None:
    """Plan anew for jobs that outlive what was planned."""
    while j.n[_LATE] > 0 and j.planned[j.late[0]] <= j.n[_NOW]:
        job = pop(j, j.late, j.n[_LATE], BY_PLAN)
        j.n[_LATE] -= 1
        end_running(j, job)
        j.planned[job] = j.start[job] + _longer(j, job, j.n[_NOW] - j.start[job])
        begin_running(j, job)
        j.n[_CORRECTED] = 1
        if j.planned[job] < j.finish[job]:
            push(j, j.late, j.n[_LATE], job, BY_PLAN)
            j.n[_LATE] += 1


@subroutine
def _longer(j: State, job: int, so_far: int) -> int:
    """The next planned run time of a job that runs for so long already."""
    limit = j.limit[job]
    if j.n[_CORRECTION] == TO_LIMIT:
        return limit
    if j.n[_CORRECTION] == BY_QUANTILE:
        base = (j.choice[job] * j.n[_KINDS] + j.kind[job]) * j.n[_LADDER]
        for place in range(base, base + j.n[_LADDER]):
            if j.ladder[place] > so_far:
                return j.ladder[place]
        return limit if limit < LAST_TICK else 2 * so_far
    first, count = j.estimate[job], j.n[_STEPS]
    for place in range(count):
        if first + j.steps[place] > so_far:
            return min(first + j.steps[place], limit)
    longer = first + 2 * j.steps[count - 1]
    while longer <= so_far:
        longer += j.steps[count - 1]
    return min(longer, limit)
