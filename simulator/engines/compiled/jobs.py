"""The event loop of a stream of jobs in machine code: the same instants as in `simulator.engines.job_queue`."""

import numpy as np

from simulator.base.arrays import Ints
from simulator.base.errors import ScenarioError
from simulator.engines.compiled.cache import callee, compiled, subroutine
from simulator.engines.compiled.job_nodes import hold, node_arrays, on_nodes
from simulator.engines.compiled.job_passes import (
    BACKFILLS,
    CONSERVATIVE,
    DECIDE,
    DONE,
    FULL,
    PAST_LAST_TICK,
    REPLANNED,
    RUNNING,
    SLURM,
    decide,
    start,
)
from simulator.engines.compiled.job_places import GIVE, take, width
from simulator.engines.compiled.job_slurm import calculate, count_use, due, next_turn, pass_slurm
from simulator.engines.compiled.job_state import (
    BY_END,
    BY_JOINING,
    BY_LENGTH,
    BY_ORDER,
    BY_PLAN,
    FOLLOWER,
    LINKS,
    NONE,
    SIBLING,
    THINK,
    WAITS,
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
from simulator.engines.costs.jobs import JOB_TICK_S, NEVER, SECOND, JobCosts, job_shares
from simulator.engines.job_queue import JobRuns, OwnDecisions
from simulator.programs.streams.stream import Stream
from simulator.scheduling.estimates import Estimates
from simulator.scheduling.places import FASTEST_FIRST, Cluster, groups_of
from simulator.scheduling.policy import Policy
from simulator.scheduling.scores import DYNAMIC, MULTIFACTOR, ORDERS
from simulator.scheduling.slurm import UNUSED, Shares

TO_LIMIT, BY_STEPS, BY_QUANTILE = range(3)
CORRECTIONS = {"limit": TO_LIMIT, "steps": BY_STEPS, "quantile": BY_QUANTILE}


def simulate(j: State) -> int:
    """Go on until all jobs have ended, a policy of the user's own is to decide, or rows are missing; the status."""
    if j.n[N.STATUS] == DECIDE:
        j.n[N.STATUS] = RUNNING
        _start_chosen(j)
    while j.n[N.STATUS] in (RUNNING, FULL):
        if j.n[N.STATUS] == FULL:  # the instant is over, only its pass is missing
            j.n[N.STATUS] = RUNNING
        else:
            j.n[N.NOW] = _next_tick(j)
            if j.n[N.NOW] == LAST_TICK:
                j.n[N.STATUS] = DONE
                break
            if not (_one_event(j) if j.n[N.EVENT] else _instant(j)):
                continue
            if j.n[N.OWN]:
                if j.n[N.QUEUED] > 0:
                    j.n[N.STATUS] = DECIDE
                continue
            if _needs_rows(j):
                j.n[N.STATUS] = FULL
                break
        if j.n[N.BACKFILL] == SLURM:
            pass_slurm(j)
        else:
            decide(j)
    return j.n[N.STATUS]


@callee
def _start_chosen(j: State) -> None:
    """Let the jobs start that a policy of the user's own has chosen."""
    for place in range(j.n[N.NOTED]):
        start(j, j.noted[place])
    kept = 0
    for place in range(j.n[N.QUEUED]):
        if j.start[j.queue[place]] == NONE:
            j.queue[kept] = j.queue[place]
            kept += 1
    j.n[N.QUEUED], j.n[N.NOTED] = kept, 0


@callee
def _needs_rows(j: State) -> bool:
    """Whether the profile may need more rows in the next pass and while jobs end after it; then how many in all."""
    many = j.n[N.BACKFILL] == SLURM or j.n[N.BACKFILL] >= CONSERVATIVE or j.n[N.MIN_MIN] != 0
    if not many and j.n[N.WORDS] == 0 and j.n[N.RESERVED] == 0:
        return False
    placed = j.n[N.QUEUED] if many else min(j.n[N.QUEUED], j.n[N.PES])
    j.n[N.ROWS] = j.n[N.PROFILE] + 6 * placed + 3 * j.n[N.RUNNING] + 2 * j.n[N.RESERVED] + 4
    return j.n[N.ROWS] > j.time.size


@callee
def reserved_to(j: State) -> int:
    """When the next reservation ends."""
    return j.reserved[j.n[N.OPENED] * (2 + width(j)) + 1]


@callee
def _next_tick(j: State) -> int:
    """When something happens next; the last tick if nothing does."""
    found = LAST_TICK
    if j.n[N.NEXT] < j.n[N.JOBS]:
        found = j.joins[j.n[N.NEXT]]
    if j.n[N.COMING] > 0:
        found = min(found, j.joins[j.coming[0]])
    if j.n[N.OPENED] < j.n[N.RESERVED]:
        found = min(found, reserved_to(j))
    if j.n[N.ENDING] > 0:
        found = min(found, j.finish[j.ending[0]])
    if j.n[N.LATE] > 0:
        found = min(found, j.planned[j.late[0]])
    if j.n[N.BACKFILL] >= CONSERVATIVE:
        found = min(found, j.n[N.WAKE])
    if j.n[N.PERIODIC]:
        found = min(found, next_turn(j))
    return found


@callee
def _instant(j: State) -> bool:
    """All that is due: ends, corrections, submissions; whether a pass follows."""
    now, any_due = j.n[N.NOW], j.n[N.BACKFILL] >= CONSERVATIVE and j.n[N.WAKE] <= j.n[N.NOW]
    while j.n[N.ENDING] > 0 and j.finish[j.ending[0]] == now:
        _end(j)
        any_due = True
    _correct(j)
    calculated = j.n[N.PERIODIC] != 0 and calculate(j, int(any_due))
    job = _joining(j)
    while job != NONE:
        _submit(j, job)
        any_due = True
        job = _joining(j)
    while j.n[N.OPENED] < j.n[N.RESERVED] and reserved_to(j) <= now:
        j.n[N.OPENED] += 1
        any_due = True
    if j.n[N.BACKFILL] == SLURM:
        return _turns(j, int(any_due), int(calculated))
    return any_due or (calculated and j.n[N.QUEUED] > 0)


@callee
def _turns(j: State, happened: int, calculated: int) -> bool:
    """Which of Slurm's schedulers decide now; whether any does."""
    if happened or calculated:
        j.n[N.TO_WHOLE_QUEUE] = j.n[N.TO_CYCLE] = 1
    j.n[N.MAIN], j.n[N.WHOLE_QUEUE], j.n[N.CYCLE] = happened, due(j, N.TO_WHOLE_QUEUE), due(j, N.TO_CYCLE)
    return j.n[N.MAIN] + j.n[N.WHOLE_QUEUE] + j.n[N.CYCLE] > 0


@callee
def _one_event(j: State) -> bool:
    """Corrections, then the first of a submission, an end and a promised start; whether a pass follows."""
    now = j.n[N.NOW]
    _correct(j)
    job = _joining(j)
    if job != NONE:
        _submit(j, job)
        return True
    if j.n[N.ENDING] > 0 and j.finish[j.ending[0]] == now:
        _end(j)
        return True
    return j.n[N.BACKFILL] >= CONSERVATIVE and j.n[N.WAKE] <= now


@callee
def _joining(j: State) -> int:
    """The next job that joins the queue now, of several the first of the stream; NONE without one."""
    now, found = j.n[N.NOW], NONE
    if j.n[N.NEXT] < j.n[N.JOBS] and j.joins[j.n[N.NEXT]] == now:
        found = j.n[N.NEXT]
    if j.n[N.COMING] > 0 and j.joins[j.coming[0]] == now and (found == NONE or j.coming[0] < found):
        j.n[N.COMING] -= 1
        return pop(j, j.coming, j.n[N.COMING] + 1, BY_JOINING)
    if found != NONE:
        j.n[N.NEXT] += 1
        skip_waiting(j)
    return found


@callee
def skip_waiting(j: State) -> None:
    """Go on to the next job that waits for no other one's end."""
    while j.n[N.NEXT] < j.n[N.JOBS] and j.links[j.n[N.NEXT] * LINKS + WAITS]:
        j.n[N.NEXT] += 1


@callee
def _submit(j: State, job: int) -> None:
    """Put a job into the queue, with its estimate."""
    j.noted[j.n[N.NOTED]] = job
    j.n[N.NOTED] += 1
    if j.n[N.LAST_TWO]:
        planned, user = j.limit[job], j.user[job]
        if user >= 0 and j.past[2 * user] > 0:
            whole = j.n[N.WHOLE]
            planned = min(planned, max(whole, (j.past[2 * user] + j.past[2 * user + 1]) // 2 // whole * whole))
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
    if j.n[N.NODES] > 0:
        hold(j, job, 1)
        j.n[N.EPOCH] += 1
    _release(j, job)
    if j.n[N.ORDER] == MULTIFACTOR:
        count_use(j.shares, job, j.n[N.NOW] // SECOND)
    if j.n[N.BACKFILL] == REPLANNED:
        j.n[N.FREED] = 1
    if j.n[N.NOW] < j.planned[job]:
        j.n[N.FREED] = 1
        if j.n[N.BACKFILL] >= CONSERVATIVE:
            take(j, j.n[N.NOW], j.planned[job], job, GIVE)
    if j.user[job] >= 0:
        j.past[2 * j.user[job]] = j.past[2 * j.user[job] + 1]
        j.past[2 * j.user[job] + 1] = j.n[N.NOW] - j.start[job]


@callee
def _release(j: State, job: int) -> None:
    """Let jobs come that waited for the end of this one."""
    follower = j.links[job * LINKS + FOLLOWER]
    while follower != NONE:
        j.joins[follower] = max(j.joins[follower], j.n[N.NOW] + j.links[follower * LINKS + THINK])
        push(j, j.coming, j.n[N.COMING], follower, BY_JOINING)
        j.n[N.COMING] += 1
        follower = j.links[follower * LINKS + SIBLING]


@callee
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


WORD = 64
FIRST_ROWS = 64
"""Of a profile; there are more once these are full."""
UNKNOWN = ("start", "finish", "promised", "promise")
WORK = (
    *("estimate", "choice", "kind", "planned", "number", "queue", "candidates", "running", "ending", "late"),
    *("coming", "noted"),
)
"""Arrays by job that begin as unknown, and as 0."""


def run(stream: Stream, cluster: Cluster, costs: JobCosts, policy: Policy, estimates: Estimates) -> JobRuns:
    """Run all jobs; see `simulator.engines.jobs.run_jobs`."""
    shares = job_shares(stream, costs, policy) or UNUSED
    state, kernel = _state(cluster, costs, policy, estimates, shares), compiled(simulate)
    status = kernel(state)
    own = OwnDecisions(stream, cluster, costs, policy)
    while status in {DECIDE, FULL}:
        if status == DECIDE:
            _decide(state, own)
        else:
            state = _with_rows(state)
        status = kernel(state)
    if policy.own is not None:
        own.check_ended(np.flatnonzero(state.start < 0).tolist())
    if status == PAST_LAST_TICK:
        raise ScenarioError(f"stream {stream.name}: it lasts for more than 146 years; make it shorter")
    first_pe, allocated = _allocated(state, costs, cluster) if policy.processors == "named" else (None, None)
    held, first_node, held_nodes = on_nodes(state, costs)
    return JobRuns(
        stream,
        policy,
        estimates,
        cluster.count,
        JOB_TICK_S,
        "compiled",
        costs.submit,
        state.start,
        state.finish,
        costs.size[state.choice] if held is None else held,
        state.estimate,
        state.promised,
        costs.killed[state.choice, state.kind],
        first_pe,
        allocated,
        state.joins,
        costs.nodes,
        first_node,
        held_nodes,
    )


def _state(cluster: Cluster, costs: JobCosts, policy: Policy, estimates: Estimates, shares: Shares) -> State:
    """The arrays of a run that has not begun."""
    jobs, words = costs.jobs, _word_count(cluster, policy)
    groups, need, able = groups_of(cluster, policy.placement), *_able(cluster, costs)
    within = [np.flatnonzero(cluster.class_of <= kind) for kind in range(costs.run.shape[1])]
    level = _words([np.arange(cluster.count)], words) if words else np.array([cluster.count])
    given = {"request": need, "level": level} | node_arrays(costs)
    wide = 3 * len(costs.nodes.names) if costs.nodes is not None else max(1, words)
    spans = [[begin, end, *held.reshape(-1)] for begin, end, held in sorted(costs.reserved, key=lambda span: span[1])]
    return State(
        n=_numbers(cluster, costs, policy, estimates, groups=len(groups)),
        joins=costs.submit.copy(),
        first=costs.first_choice,
        size=_own(costs.size),
        run=_own(costs.run),
        plan=costs.plan.reshape(-1).copy() if estimates.source == "last-two" else _own(costs.plan),
        ladder=_own(costs.ladder),
        limit=_own(costs.limit),
        user=_own(costs.user),
        steps=costs.steps,
        past=np.zeros(2 * costs.users, dtype=np.int64),
        links=_links(costs),
        time=np.zeros(FIRST_ROWS, dtype=np.int64),
        free=np.zeros(FIRST_ROWS * wide, dtype=np.int64),
        pes=np.zeros(jobs * words, dtype=np.int64),
        hole=np.zeros(2 * words, dtype=np.int64),
        groups=_words(groups, words),
        within=_words(within, words),
        able=_words(able, words),
        scores=np.zeros(jobs),
        tests=np.zeros(costs.users + 1, dtype=np.int64),
        shares=shares,
        reserved=np.array(spans, dtype=np.int64).reshape(-1),
        **given,
        **{name: np.full(jobs, NONE, dtype=np.int64) for name in UNKNOWN},
        **{name: np.zeros(jobs, dtype=np.int64) for name in WORK},
    )


def _links(costs: JobCosts) -> Ints:
    """Who waits for whose end, in the columns of `LINKS`."""
    links = np.full((costs.jobs, LINKS), NONE, dtype=np.int64)
    links[:, THINK], links[:, WAITS] = costs.think, costs.preceding >= 0
    for job in np.flatnonzero(costs.preceding >= 0)[::-1].tolist():
        other = costs.preceding[job]
        links[job, SIBLING], links[other, FOLLOWER] = links[other, FOLLOWER], job
    return links.reshape(-1)


def _word_count(cluster: Cluster, policy: Policy) -> int:
    """Words of a set of PEs; 0 where these are counted."""
    return -(-cluster.count // WORD) if policy.processors == "named" else 0


def _numbers(cluster: Cluster, costs: JobCosts, policy: Policy, estimates: Estimates, *, groups: int) -> Ints:
    """Counts and switches, by `N`."""
    found = np.zeros(len(N), dtype=np.int64)
    for name, value in {
        N.JOBS: costs.jobs,
        N.PES: cluster.count,
        N.KINDS: costs.run.shape[1],
        N.LADDER: costs.ladder.shape[2],
        N.ORDER: ORDERS[policy.order],
        N.BACKFILL: BACKFILLS[policy.backfill],
        N.SHORTEST: policy.candidates == "shortest" and policy.backfill == "easy",
        N.EVENT: policy.same_second == "event",
        N.LAST_TWO: estimates.source == "last-two",
        N.CORRECTION: CORRECTIONS[estimates.correction],
        N.WHOLE: costs.whole,
        N.WORDS: _word_count(cluster, policy),
        N.GROUPS: groups,
        N.FASTEST_FIRST: policy.placement in FASTEST_FIRST,
        N.EARLIEST_FINISH: policy.placement in {"earliest-finish", "min-min"},
        N.MIN_MIN: policy.placement == "min-min",
        N.SCORED: policy.order in {"wfp3", "unicep", "f1", "multifactor"},
        N.DYNAMIC: ORDERS[policy.order] in DYNAMIC,
        N.STEPS: costs.steps.size,
        N.PERIODIC: bool(policy.periodic),
        N.ORIGIN: costs.submit[0] // SECOND * SECOND if costs.jobs else 0,
        N.CALCULATED: costs.submit[0] // SECOND if costs.jobs else 0,
        N.CALC_PERIOD: policy.periods.get("calculate", 0),
        N.SCHED_PERIOD: policy.periods.get("full", 0),
        N.CYCLE_PERIOD: policy.periods.get("cycle", 0),
        N.DEPTH: policy.slurm.default_queue_depth + 1,
        N.TESTS: policy.slurm.bf_max_job_test,
        N.TESTS_OF_USER: policy.slurm.bf_max_job_user or NEVER,
        N.WINDOW: policy.slurm.window,
        N.SLOT: policy.slurm.bf_resolution_s * SECOND,
        N.WAKE: LAST_TICK,
        N.NEXT: np.argmin(costs.preceding >= 0) if costs.jobs else 0,
        N.NODES: len(costs.nodes.names) if costs.nodes is not None else 0,
        N.SPARE: cluster.count,
        N.RESERVED: len(costs.reserved),
        N.EPOCH: 1,
        N.BEGIN: costs.submit[0] if costs.jobs else 0,
        N.STATUS: RUNNING,
        N.OWN: policy.own is not None,
    }.items():
        found[name] = value
    return found


def _own(values: Ints) -> Ints:
    """In one line, as kernels take it."""
    return np.require(values, np.int64, ["C", "A", "W"]).reshape(-1)


def _with_rows(state: State) -> State:
    """With a profile that holds twice as many rows, or as many as are needed."""
    rows, wide = state.time.size, state.free.size // state.time.size
    more = max(rows, int(state.n[N.ROWS]) - rows)
    time, free = (np.zeros(count, dtype=np.int64) for count in (more, more * wide))
    return state._replace(time=np.concatenate([state.time, time]), free=np.concatenate([state.free, free]))


def _able(cluster: Cluster, costs: JobCosts) -> tuple[Ints, list[Ints]]:
    """For each job a number of its need of memory, and for each need the PEs that have it."""
    needs, which = np.unique(costs.needs, return_inverse=True)
    return which.astype(np.int64), [np.flatnonzero(cluster.memory_bytes >= need) for need in needs]


def _words(members: list[Ints], words: int) -> Ints:
    """Sets of PEs as words of 64 bits, the lowest PE in the lowest bit; (set * word,)."""
    bits = np.zeros((len(members), words * WORD), dtype=np.uint8)
    for row, numbers in enumerate(members if words else []):
        bits[row, numbers] = 1
    return np.packbits(bits, axis=1, bitorder="little").reshape(-1).view("<i8").astype(np.int64)


def _allocated(state: State, costs: JobCosts, cluster: Cluster) -> tuple[Ints, Ints]:
    """Where each job's PEs begin, and the PEs."""
    masks = state.pes.astype("<i8").view(np.uint8).reshape(costs.jobs, -1)
    members = np.unpackbits(masks, axis=1, bitorder="little", count=cluster.count)
    return np.concatenate(([0], np.cumsum(costs.size[state.choice]))), np.nonzero(members)[1].astype(np.int64)


def _decide(state: State, own: OwnDecisions) -> None:
    """Ask a policy of the user's own who starts now, and put down choice, class, estimate and PEs."""
    kinds, words = own.costs.run.shape[1], int(state.n[N.WORDS])
    waiting = sorted(state.queue[: state.n[N.QUEUED]].tolist())
    running = sorted(state.running[: state.n[N.RUNNING]].tolist(), key=lambda job: int(state.number[job]))
    starts = own.starts(
        int(state.n[N.NOW]),
        [(job, int(state.plan[job * kinds])) for job in waiting],
        [(job, int(state.start[job]), int(state.planned[job]), _pes(state, job, words)) for job in running],
    )
    for place, (job, pes) in enumerate(starts):
        kind = int(own.cluster.class_of[list(pes)].max(initial=0))
        state.noted[place], state.choice[job], state.kind[job] = job, job, kind
        state.estimate[job] = state.plan[job * kinds + kind]
        state.pes[job * words : (job + 1) * words] = _words([np.array(pes, dtype=np.int64)], words)
    state.n[N.NOTED] = len(starts)


def _pes(state: State, job: int, words: int) -> list[int]:
    """The PEs of one job."""
    masks = state.pes[job * words : (job + 1) * words].astype("<i8").view(np.uint8)
    return [int(number) for number in np.flatnonzero(np.unpackbits(masks, bitorder="little"))]
