"""Runs a stream of jobs under a policy, in either engine."""

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Literal

import numpy as np

from simulator.base.errors import ScenarioError
from simulator.engines.costs.jobs import JOB_TICK_S, NEVER, JobCosts, job_costs
from simulator.engines.job_programs import JobPrograms
from simulator.engines.job_queue import JobQueue, JobRuns, OwnDecisions
from simulator.programs.streams.stream import Stream
from simulator.scheduling.estimates import Estimates, JobTimes
from simulator.scheduling.nodes import JobNodes
from simulator.scheduling.passes import Decision, Jobs, Situation, decide
from simulator.scheduling.places import Cluster, Hole, Places, equal_pes, numbers_of
from simulator.scheduling.policy import PROMISING, Policy

__all__ = ["run_jobs"]

Engine = Literal["auto", "process", "compiled"]
LOADING = 100_000
"""Jobs that the `process` engine runs while the compiled one is loaded, or a part of the time that compiling takes."""
SLOWER = 5
"""Jobs that one counts as where each pass looks through a profile: with promises, and with PEs by number."""
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
    if isinstance(cluster, JobNodes):
        raise ScenarioError("nodes: jobs do not run on nodes yet; give a number of PEs")
    pes = equal_pes(cluster) if isinstance(cluster, int) else cluster
    costs = job_costs(stream, pes, policy, estimates, times)
    if programs is not None:
        return _really(stream, pes, costs, policy, estimates, programs)
    run = (
        _compiled
        if engine == "compiled" or (engine == "auto" and _worth_compiling(costs.jobs, policy))
        else _by_process
    )
    return run(stream, pes, costs, policy, estimates)


def _worth_compiling(jobs: int, policy: Policy) -> bool:
    global _seen  # noqa: PLW0603 - what one process has asked for
    _seen += jobs * (SLOWER if policy.backfill in PROMISING or policy.processors == "named" else 1)
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
    places = Places(pes, policy.placement, plan) if policy.processors == "named" else None
    jobs = Jobs(pes.count, of_job, plan, costs.needs.tolist(), places)
    queue = JobQueue(costs, policy, estimates, jobs=jobs, programs=programs)
    queue.run(_decider(OwnDecisions(stream, pes, costs, policy), jobs, queue))
    if policy.own is not None:
        OwnDecisions(stream, pes, costs, policy).check_ended(np.flatnonzero(queue.start < 0).tolist())
    named = policy.processors == "named"
    numbers = [list(numbers_of(mask)) for mask in queue.pes] if named else []
    first = np.cumsum([0, *map(len, numbers)]) if named else None
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
        costs.size[queue.choice],
        queue.estimate,
        queue.promised,
        costs.killed[queue.choice, queue.kinds()],
        first,
        np.array([number for group in numbers for number in group], dtype=np.int64) if named else None,
    )


def _decider(own: OwnDecisions, jobs: Jobs, queue: JobQueue) -> Callable[[Situation], Decision]:
    """What a pass decides: a policy of ours, or one of the user's own."""
    if own.policy.own is None:
        return lambda seen: decide(own.policy, jobs, seen)

    def of_the_user(seen: Situation) -> Decision:
        waiting = [(job, jobs.plan[job][0]) for job in sorted(seen.queue)]
        running = [
            (job, int(queue.start[job]), end, list(numbers_of(queue.pes[job])))
            for job, (end, _) in zip(seen.running_jobs, seen.running, strict=True)
        ]
        starts = own.starts(seen.now, waiting, running) if waiting else []
        holes = [(job, sum(1 << pe for pe in pes)) for job, pes in starts]
        places = jobs.places
        kinds = [0 if places is None else places.slowest(pes) for _, pes in holes]
        found = zip(holes, kinds, strict=True)
        return Decision([(job, Hole(seen.now, jobs.plan[job][kind], job, pes)) for (job, pes), kind in found])

    return of_the_user
