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


def simulate(j: State) -> int:
    """Go on until all jobs have ended, or a policy of the user's own is to decide; the status."""
    if j.n[N.STATUS] == DECIDE:
        j.n[N.STATUS] = RUNNING
        _start_chosen(j)
    while j.n[N.STATUS] == RUNNING:
        now = _next_tick(j)
        if now == LAST_TICK:
            j.n[N.STATUS] = DONE
            break
        j.n[N.NOW] = now
        if not (_one_event(j) if j.n[N.EVENT] else _instant(j)):
            continue
        if j.n[N.OWN]:
            if j.n[N.QUEUED] > 0:
                j.n[N.STATUS] = DECIDE
        else:
            decide(j)
    return j.n[N.STATUS]


@callee
def _start_chosen(j: State) -> None:
    """Let the jobs start that a policy of the user's own has chosen."""
    for place in range(j.n[N.CHOSEN]):
        start(j, j.chosen[place])
    j.n[N.CHOSEN] = 0
    kept = 0
    for place in range(j.n[N.QUEUED]):
        if j.start[j.queue[place]] == NONE:
            j.queue[kept] = j.queue[place]
            kept += 1
    j.n[N.QUEUED] = kept
    j.n[N.SEEN] = j.n[N.NEXT]


@callee
def _next_tick(j: State) -> int:
    """When something happens next; the last tick if nothing does."""
    found = LAST_TICK
    if j.n[N.NEXT] < j.n[N.JOBS]:
        found = j.submit[j.n[N.NEXT]]
    if j.n[N.ENDING] > 0:
        found = min(found, j.finish[j.ending[0]])
    if j.n[N.LATE] > 0:
        found = min(found, j.planned[j.late[0]])
    if j.n[N.BACKFILL] == CONSERVATIVE:
        found = min(found, j.n[N.WAKE])
    return found


@callee
def _instant(j: State) -> bool:
    """All that is due: ends, corrections, submissions; whether a pass follows."""
    now, any_due = j.n[N.NOW], j.n[N.BACKFILL] == CONSERVATIVE and j.n[N.WAKE] <= j.n[N.NOW]
    while j.n[N.ENDING] > 0 and j.finish[j.ending[0]] == now:
        _end(j)
        any_due = True
    _correct(j)
    while j.n[N.NEXT] < j.n[N.JOBS] and j.submit[j.n[N.NEXT]] == now:
        _submit(j)
        any_due = True
    return any_due


@callee
def _one_event(j: State) -> bool:
    """Corrections, then the first of a submission, an end and a promised start; whether a pass follows."""
    now = j.n[N.NOW]
    _correct(j)
    if j.n[N.NEXT] < j.n[N.JOBS] and j.submit[j.n[N.NEXT]] == now:
        _submit(j)
        return True
    if j.n[N.ENDING] > 0 and j.finish[j.ending[0]] == now:
        _end(j)
        return True
    return j.n[N.BACKFILL] == CONSERVATIVE and j.n[N.WAKE] <= now


@callee
def _submit(j: State) -> None:
    """Put the next job into the queue, with its estimate."""
    job = j.n[N.NEXT]
    j.n[N.NEXT] += 1
    if j.n[N.LAST_TWO]:
        planned, user = j.limit[job], j.user[job]
        if user >= 0 and j.older[user] > 0:
            whole = j.n[N.WHOLE]
            planned = min(planned, max(whole, (j.older[user] + j.last[user]) // 2 // whole * whole))
        for place in range(j.first[job] * j.n[N.KINDS], j.first[job + 1] * j.n[N.KINDS]):
            j.plan[place] = planned
    if j.n[N.SCORED]:
        rescore(j, job)
    put_in(j, j.queue, j.n[N.QUEUED], job, BY_ORDER)
    if j.n[N.SHORTEST]:
        put_in(j, j.candidates, j.n[N.QUEUED], job, BY_LENGTH)
    j.n[N.QUEUED] += 1


@callee
def _end(j: State) -> None:
    """The job that is due ends."""
    job = pop(j, j.ending, j.n[N.ENDING], BY_END)
    j.n[N.ENDING] -= 1
    end_running(j, job)
    j.n[N.USED] -= j.size[j.choice[job]]
    if j.n[N.NOW] < j.planned[job]:
        j.n[N.FREED] = 1
        if j.n[N.BACKFILL] == CONSERVATIVE:
            take(j, j.n[N.NOW], j.planned[job], job, GIVE)
    if j.user[job] >= 0:
        j.older[j.user[job]] = j.last[j.user[job]]
        j.last[j.user[job]] = j.n[N.NOW] - j.start[job]


@subroutine
def _correct(j: State) -> None:
    """Correct the planned ends of jobs that outlive what was planned."""
    while j.n[N.LATE] > 0 and j.planned[j.late[0]] <= j.n[N.NOW]:
        job = pop(j, j.late, j.n[N.LATE], BY_PLAN)
        j.n[N.LATE] -= 1
        end_running(j, job)
        j.planned[job] = j.start[job] + _longer(j, job, j.n[N.NOW] - j.start[job])
        begin_running(j, job)
        j.n[N.CORRECTED] = 1
        if j.planned[job] < j.finish[job]:
            push(j, j.late, j.n[N.LATE], job, BY_PLAN)
            j.n[N.LATE] += 1


@subroutine
def _longer(j: State, job: int, so_far: int) -> int:
    """The next planned run time of a job that runs for so long already."""
    limit = j.limit[job]
    if j.n[N.CORRECTION] == TO_LIMIT:
        return limit
    if j.n[N.CORRECTION] == BY_QUANTILE:
        base = (j.choice[job] * j.n[N.KINDS] + j.kind[job]) * j.n[N.LADDER]
        for place in range(base, base + j.n[N.LADDER]):
            if j.ladder[place] > so_far:
                return j.ladder[place]
        return limit if limit < LAST_TICK else 2 * so_far
    first, count = j.estimate[job], j.n[N.STEPS]
    for place in range(count):
        if first + j.steps[place] > so_far:
            return min(first + j.steps[place], limit)
    longer = first + 2 * j.steps[count - 1]
    while longer <= so_far:
        longer += j.steps[count - 1]
    return min(longer, limit)
