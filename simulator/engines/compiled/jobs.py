"""Streams of jobs in machine code: the arrays of a run, and what became of its jobs."""

import numpy as np
from numpy.typing import NDArray

from simulator.base.errors import ScenarioError
from simulator.engines.compiled.cache import compiled
from simulator.engines.compiled.job_events import CORRECTIONS, simulate
from simulator.engines.compiled.job_passes import BACKFILLS, DECIDE, PAST_LAST_TICK, RUNNING
from simulator.engines.compiled.job_state import NONE, N, State
from simulator.engines.costs import LAST_TICK
from simulator.engines.costs.jobs import JOB_TICK_S, JobCosts
from simulator.engines.job_own import OwnDecisions
from simulator.engines.job_runs import JobRuns
from simulator.programs.streams.stream import Stream
from simulator.scheduling.cluster import Cluster
from simulator.scheduling.estimates import Estimates
from simulator.scheduling.places import FASTEST_FIRST, groups_of
from simulator.scheduling.policy import Policy
from simulator.scheduling.scores import DYNAMIC, ORDERS

Ints = NDArray[np.int64]
WORD = 64
ROOM = 2
"""Sets of PEs that picking needs."""
UNKNOWN = ("start", "finish", "promised", "promise")
WORK = ("estimate", "choice", "kind", "planned", "number", "queue", "candidates", "running", "ending", "late", "chosen")
"""Arrays by job that begin as unknown, and as 0."""


def run(stream: Stream, cluster: Cluster, costs: JobCosts, policy: Policy, estimates: Estimates) -> JobRuns:
    """Run all jobs; see `simulator.engines.jobs.run_jobs`."""
    state, kernel = _state(cluster, costs, policy, estimates), compiled(simulate)
    status = kernel(state)
    own = OwnDecisions(stream, cluster, costs, policy)
    while status == DECIDE:
        _decide(state, own)
        status = kernel(state)
    if policy.own is not None:
        own.check_ended(np.flatnonzero(state.start < 0).tolist())
    if status == PAST_LAST_TICK:
        raise ScenarioError(f"stream {stream.name}: it lasts for more than 146 years; make it shorter")
    named = policy.processors == "named"
    first, pes = _allocated(state, costs, cluster) if named else (None, None)
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
        costs.size[state.choice],
        state.estimate,
        state.promised,
        costs.killed[state.choice, state.kind],
        first,
        pes,
    )


def _state(cluster: Cluster, costs: JobCosts, policy: Policy, estimates: Estimates) -> State:
    """The arrays of a run that has not begun."""
    jobs, words = costs.jobs, _word_count(cluster, policy)
    rows, wide = _rows(jobs, cluster.count, policy), max(1, words)
    groups, need, able = groups_of(cluster, policy.placement), *_able(cluster, costs)
    within = [np.flatnonzero(cluster.class_of <= kind) for kind in range(costs.run.shape[1])]
    free = np.zeros(rows * wide, dtype=np.int64)
    free[:wide] = _words([np.arange(cluster.count)], words) if words else cluster.count
    return State(
        n=_numbers(cluster, costs, policy, estimates, groups=len(groups)),
        submit=costs.submit,
        first=costs.first_choice,
        size=_own(costs.size),
        run=_own(costs.run),
        plan=costs.plan.reshape(-1).copy() if estimates.source == "last-two" else _own(costs.plan),
        ladder=_own(costs.ladder),
        limit=_own(costs.limit),
        user=_own(costs.user),
        need=need,
        steps=costs.steps,
        older=np.zeros(costs.users, dtype=np.int64),
        last=np.zeros(costs.users, dtype=np.int64),
        time=np.zeros(rows, dtype=np.int64),
        free=free,
        pes=np.zeros(jobs * words, dtype=np.int64),
        hole=np.zeros(ROOM * words, dtype=np.int64),
        groups=_words(groups, words),
        within=_words(within, words),
        able=_words(able, words),
        scores=np.zeros(jobs),
        **{name: np.full(jobs, NONE, dtype=np.int64) for name in UNKNOWN},
        **{name: np.zeros(jobs, dtype=np.int64) for name in WORK},
    )


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
        N.SCORED: policy.order in {"wfp3", "unicep", "f1"},
        N.DYNAMIC: ORDERS[policy.order] in DYNAMIC,
        N.STEPS: costs.steps.size,
        N.WAKE: LAST_TICK,
        N.PROFILE: 1,
        N.STATUS: RUNNING,
        N.OWN: policy.own is not None,
    }.items():
        found[name] = value
    return found


def _own(values: Ints) -> Ints:
    """In one line, as kernels take it."""
    return np.require(values, np.int64, ["C", "A", "W"]).reshape(-1)


def _rows(jobs: int, pes: int, policy: Policy) -> int:
    """Rows that a profile can need: one for each edge of what runs and what is promised."""
    if policy.backfill == "conservative":
        return 2 * jobs + 4
    return 2 * min(jobs, pes) + 4 if policy.placement != "min-min" else 2 * jobs + 4


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
        state.chosen[place], state.choice[job], state.kind[job] = job, job, kind
        state.estimate[job] = state.plan[job * kinds + kind]
        state.pes[job * words : (job + 1) * words] = _words([np.array(pes, dtype=np.int64)], words)
    state.n[N.CHOSEN] = len(starts)


def _pes(state: State, job: int, words: int) -> list[int]:
    """The PEs of one job."""
    masks = state.pes[job * words : (job + 1) * words].astype("<i8").view(np.uint8)
    return [int(number) for number in np.flatnonzero(np.unpackbits(masks, bitorder="little"))]
