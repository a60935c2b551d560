"""Runs a stream of jobs under a policy, in either engine."""

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Literal

import numpy as np

from simulator.base.arrays import Ints
from simulator.base.errors import ScenarioError
from simulator.engines.costs.jobs import JOB_TICK_S, NEVER, JobCosts, job_costs, job_shares
from simulator.engines.job_programs import JobPrograms
from simulator.engines.job_queue import JobQueue, JobRuns, OwnDecisions
from simulator.programs.streams.stream import Stream
from simulator.scheduling.estimates import Estimates, JobTimes
from simulator.scheduling.nodes import JobNodes, NodePlaces
from simulator.scheduling.passes import Decision, Jobs, Situation, decide
from simulator.scheduling.places import Cluster, Places, equal_pes, numbers_of
from simulator.scheduling.policy import PROMISING, Policy
from simulator.scheduling.profiles import Counted, Hole, Pool

__all__ = ["run_jobs"]

Engine = Literal["auto", "process", "compiled"]
LOADING = 100_000
"""Jobs that the `process` engine runs while the compiled one is loaded, or a part of the time that compiling takes."""
SLOWER = 5
"""Jobs that one counts as where each pass looks through a profile: with promises, and with PEs by number."""
ON_NODES = 50
"""The same on nodes, where each pass looks at all of them: 3,000 jobs that queue on 32 nodes took minutes."""
_seen = 0


def run_jobs(
    stream: Stream,
    cluster: Cluster | JobNodes | int,
    policy: Policy = Policy(),  # noqa: B008 - frozen
    estimates: Estimates = Estimates(),  # noqa: B008 - frozen
    *,
    times: JobTimes | None = None,
    programs: JobPrograms | None = None,
    engine: Engine = "auto",
) -> JobRuns:
    """Run all jobs of a stream.

    Raises ScenarioError for jobs that the cluster cannot hold, and what the estimates or the policy need and do not
    get.

    `stream`: its jobs in the order of submission.
    `cluster`: the PEs, or nodes with cores; a number stands for so many equal PEs.
    `times`: run times of jobs that are applications or moldable, by number of processes and class of PEs.
    `programs`: what really runs the jobs, in place of `times`, which are then only planned with. Limits kill no such
    job.
    `engine`: `process` (SimPy), `compiled` (Numba), or `auto`; both give the same starts.
    """
    if engine not in {"auto", "process", "compiled"}:
        raise ScenarioError(f"engine: there is no {engine!r}; take auto, process or compiled")
    pes = equal_pes(cluster) if isinstance(cluster, int) else cluster
    costs = job_costs(stream, pes, policy, estimates, times)
    if isinstance(pes, JobNodes):
        pes = equal_pes(pes.count)
    if programs is not None:
        return _really(stream, pes, costs, policy, estimates, programs)
    run = _compiled if engine == "compiled" or (engine == "auto" and _worth_compiling(costs, policy)) else _by_process
    return run(stream, pes, costs, policy, estimates)


def _worth_compiling(costs: JobCosts, policy: Policy) -> bool:
    global _seen  # noqa: PLW0603 - what one process has asked for
    slower = SLOWER if policy.backfill in PROMISING or policy.processors == "named" else 1
    _seen += costs.jobs * (slower if costs.nodes is None else ON_NODES)
    return _seen >= LOADING


def _compiled(stream: Stream, pes: Cluster, costs: JobCosts, policy: Policy, estimates: Estimates) -> JobRuns:
    from simulator.engines.compiled.jobs import run

    return run(stream, pes, costs, policy, estimates)


def _really(
    stream: Stream, pes: Cluster, costs: JobCosts, policy: Policy, estimates: Estimates, programs: JobPrograms
) -> JobRuns:
    """Jobs as programs, which either engine simulates."""
    if policy.processors == "counted":
        raise ScenarioError("processors counted: programs run on PEs by number; take processors named")
    endless = np.full_like(costs.limit, NEVER)
    unkilled = replace(costs, limit=endless, killed=np.zeros_like(costs.killed))
    return replace(_by_process(stream, pes, unkilled, policy, estimates, programs), engine=programs.done_by)


def _by_process(
    stream: Stream,
    pes: Cluster,
    costs: JobCosts,
    policy: Policy,
    estimates: Estimates,
    programs: JobPrograms | None = None,
) -> JobRuns:
    """In SimPy."""
    choices = list(zip(range(costs.size.size), costs.size.tolist(), strict=True))
    edges, plan = costs.first_choice.tolist(), costs.plan.tolist()
    of_job = [choices[first:end] for first, end in pairwise(edges)]
    pool: Pool = Counted(pes.count, of_job, plan, costs.reserved)
    if policy.processors == "named":
        pool = Places(pes, policy.placement, of_job, plan, costs.needs.tolist())
    elif costs.nodes is not None and costs.requests is not None:
        pool = NodePlaces(costs.nodes, costs.requests, plan, costs.reserved)
    jobs = Jobs(pool, of_job, plan, costs.user.tolist())
    shares = job_shares(stream, costs, policy)
    queue = JobQueue(costs, policy, estimates, jobs=jobs, programs=programs, shares=shares)
    queue.run(_decider(OwnDecisions(stream, pes, costs, policy), jobs, queue))
    if policy.own is not None:
        OwnDecisions(stream, pes, costs, policy).check_ended(np.flatnonzero(queue.start < 0).tolist())
    pe_numbers = [list(numbers_of(pes)) for pes in queue.held] if policy.processors == "named" else None
    on_nodes = [np.flatnonzero(held[:, 0]).tolist() for held in queue.held] if costs.nodes is not None else None
    sizes = costs.size[queue.choice]
    return JobRuns(
        stream,
        policy,
        estimates,
        pes.count,
        JOB_TICK_S,
        "process",
        costs.submit,
        queue.start,
        queue.finish,
        sizes if on_nodes is None else np.array([held[:, 0].sum() for held in queue.held], dtype=np.int64),
        queue.estimate,
        queue.promised,
        costs.killed[queue.choice, queue.kinds()],
        *_ragged(pe_numbers),
        queue.eligible,
        costs.nodes,
        *_ragged(on_nodes),
    )


def _ragged(numbers: list[list[int]] | None) -> tuple[Ints | None, Ints | None]:
    """Where each job's numbers begin, and the end; and all of them."""
    if numbers is None:
        return None, None
    return np.cumsum([0, *map(len, numbers)]), np.array([one for some in numbers for one in some], dtype=np.int64)


def _decider(own: OwnDecisions, jobs: Jobs, queue: JobQueue) -> Callable[[Situation], Decision]:
    """What a pass decides: a policy of ours, or one of the user's own."""
    if own.policy.own is None:
        return lambda seen: decide(own.policy, jobs, seen)

    named = own.policy.processors == "named"

    def of_the_user(seen: Situation) -> Decision:
        waiting = [(job, jobs.plan[job][0]) for job in sorted(seen.queue)]
        running = [
            (job, int(queue.start[job]), end, list(numbers_of(queue.held[job])) if named else [])
            for job, (end, _) in zip(seen.running_jobs, seen.running, strict=True)
        ]
        starts = own.starts(seen.now, waiting, running) if waiting else []
        held = [sum(1 << pe for pe in pes) if named else jobs.choices[job][0][1] for job, pes in starts]
        found = zip([job for job, _ in starts], held, map(jobs.pool.slowest, held), strict=True)
        return Decision([(job, Hole(seen.now, jobs.plan[job][kind], job, pes)) for job, pes, kind in found])

    return of_the_user
