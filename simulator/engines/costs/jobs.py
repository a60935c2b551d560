"""The door of job streams: seconds become ticks once, before either engine starts."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from simulator.base.arrays import Flags, Floats, Ints
from simulator.base.errors import ScenarioError
from simulator.engines.costs.job_nodes import bounded, node_requests, preceding, refused, reserved, unfit
from simulator.engines.costs.ticks import LAST_TICK, to_ticks
from simulator.programs.streams.stream import Stream
from simulator.scheduling.estimates import STEPS_S, Estimates, JobTimes
from simulator.scheduling.nodes import JobNodes, NodeRequests
from simulator.scheduling.places import Cluster, equal_pes
from simulator.scheduling.policy import Policy
from simulator.scheduling.profiles import Span
from simulator.scheduling.slurm import Shares, shares_of

__all__ = ["JOB_TICK_S", "NEVER", "JobCosts", "job_costs", "job_shares"]

OF_JOBS = 2
"""Axes of estimates that are given by job, not by choice and class."""
JOB_TICK_S = 1e-9
"""Streams last for years: 1 ps, the tick of runs, would end after 53 days."""
SECOND = 10**9
NEVER = LAST_TICK
"""A limit that nobody set."""


@dataclass(frozen=True, eq=False)
class JobCosts:
    """A stream in integers; J jobs, X choices of a number of processes (one for a rigid job), K classes of PEs."""

    submit: Ints
    """(J,)."""
    first_choice: Ints
    """Where each job's choices begin, and the end; (J + 1,)."""
    size: Ints
    """Processes; (X,)."""
    run: Ints
    """True run times, ended by the limit, by the class of the slowest PE; (X, K)."""
    killed: Flags
    """Whether the limit ends it; (X, K)."""
    plan: Ints
    """First estimates, (X, K); 0 where they are made from what has ended (`last-two`)."""
    ladder: Ints
    """Further quantiles; (X, K, quantiles - 1)."""
    limit: Ints
    """`NEVER` where there is none; (J,)."""
    user: Ints
    """From 0, -1 where nobody knows; (J,)."""
    needs: Floats
    """Bytes per process, 0 where nobody knows; (J,)."""
    steps: Ints
    """What is added to an outlived first estimate."""
    whole: int
    """Ticks of which estimates from ended jobs are multiples."""
    preceding: Ints
    """The job whose end each one waits for, -1 for none; (J,)."""
    think: Ints
    """From that end until it joins the queue; (J,)."""
    pes: int
    """PEs, or cores of nodes."""
    reserved: tuple[Span, ...] = ()
    nodes: JobNodes | None = None
    requests: NodeRequests | None = None
    """What jobs ask for where they run on nodes."""

    @property
    def jobs(self) -> int:
        """How many."""
        return int(self.submit.size)

    @cached_property
    def users(self) -> int:
        """How many."""
        return int(self.user.max(initial=-1)) + 1


def job_costs(
    stream: Stream, cluster: Cluster | JobNodes, policy: Policy, estimates: Estimates, times: JobTimes | None = None
) -> JobCosts:
    """Lower a stream.

    Raises ScenarioError for jobs that the cluster cannot hold, missing run times or limits that the estimates need, and
    policies that do not fit the cluster; all faults at once.
    """
    nodes = cluster if isinstance(cluster, JobNodes) else None
    if nodes is not None:
        stream = replace(stream, limit_s=bounded(stream, nodes))
    pes = equal_pes(cluster.count) if isinstance(cluster, JobNodes) else cluster
    requests = None if nodes is None else node_requests(stream, nodes)
    first, size, seconds = _choices(stream, pes, times, policy)
    of_job = np.repeat(np.arange(len(stream)), np.diff(first))
    faults = list(refused(cluster, policy))
    for jobs, what, remedy in [] if nodes is None or requests is None else unfit(stream, nodes, requests):
        faults += _some(stream, jobs, what, remedy)
    faults += _faults(stream, pes, policy, estimates, size=size, of_job=of_job, seconds=seconds)
    if faults:
        raise ScenarioError(faults)
    limit = np.where(np.isnan(stream.limit_s), NEVER, _ticks(np.nan_to_num(stream.limit_s)))
    true, bound = _ticks(seconds), limit[of_job][:, np.newaxis]
    run = np.minimum(true, bound)
    plan = _plans(estimates, run, bound, of_job)
    known = stream.user >= 0
    user = np.full(len(stream), -1, dtype=np.int64)
    user[known] = np.unique(stream.user[known], return_inverse=True)[1]
    return JobCosts(
        submit=np.rint(stream.submit_s * SECOND).astype(np.int64),
        first_choice=first,
        size=size,
        run=run,
        killed=true > bound,
        plan=np.ascontiguousarray(plan[..., 0]),
        ladder=np.ascontiguousarray(plan[..., 1:]),
        limit=limit,
        user=user,
        needs=np.nan_to_num(stream.memory_bytes),
        steps=np.array(STEPS_S, dtype=np.int64) * SECOND,
        whole=SECOND if stream.whole_seconds else 1,
        preceding=preceding(stream),
        think=np.rint(np.nan_to_num(stream.think_s) * SECOND).astype(np.int64),
        pes=cluster.count,
        reserved=reserved(cluster),
        nodes=nodes,
        requests=requests,
    )


def job_shares(stream: Stream, costs: JobCosts, policy: Policy) -> Shares | None:
    """What priorities of a run that has not begun come from; None where its order has none."""
    if policy.order != "multifactor":
        return None
    cores, cluster = costs.size[costs.first_choice[:-1]], (costs.pes, costs.pes)
    nodes, tier = cores, np.zeros(costs.jobs, dtype=np.int64)
    if costs.nodes is not None and costs.requests is not None:
        nodes, tier = np.maximum(stream.nodes, 1), costs.requests.tier[costs.requests.partition]
        cluster = (len(costs.nodes.names), costs.nodes.count)
    return shares_of(stream, policy.slurm, cores=cores, nodes=nodes, cluster=cluster, tier=tier)


def _ticks(seconds: Floats) -> Ints:
    return np.asarray(to_ticks(seconds, JOB_TICK_S), dtype=np.int64)


def _choices(stream: Stream, cluster: Cluster, times: JobTimes | None, policy: Policy) -> tuple[Ints, Ints, Floats]:
    """Where each job's choices begin, their processes, and seconds by class."""
    if times is None:
        first = np.arange(len(stream) + 1, dtype=np.int64)
        return first, stream.processors, stream.run_s[:, np.newaxis] * cluster.classes
    return times.choices(stream, sizes=policy.sizes)


def _plans(estimates: Estimates, run: Ints, bound: Ints, of_job: Ints) -> Ints:
    """Estimates in the order in which they are used; (X, K, quantiles).

    Nobody plans with less time on slower PEs: among PEs that are free for the time of the slowest of them a job may get
    fast ones alone, and these must be free for the time that it is planned to take there.
    """
    if estimates.source == "exact":
        return np.maximum.accumulate(run, axis=1)[..., np.newaxis]
    if estimates.source == "limit":
        return np.broadcast_to(bound, run.shape)[..., np.newaxis]
    if estimates.given_s is None:
        return np.zeros((*run.shape, 1), dtype=np.int64)
    given = _ticks(estimates.given_s)
    if given.ndim == OF_JOBS:
        given = np.broadcast_to(given[of_job][:, np.newaxis], (*run.shape, given.shape[-1]))
    return np.maximum.accumulate(np.minimum(given, bound[..., np.newaxis]), axis=1)


def _faults(
    stream: Stream, cluster: Cluster, policy: Policy, estimates: Estimates, *, size: Ints, of_job: Ints, seconds: Floats
) -> list[str]:
    """Of a stream, for a policy on a cluster."""
    faults = []
    unequal = cluster.classes.size > 1 or bool(np.any(np.isfinite(cluster.memory_bytes)))
    if unequal and policy.processors == "counted":
        faults.append("processors counted: the cluster's PEs differ in speed or memory; take processors named")
    if policy.sizes == "fit" and policy.processors == "counted":
        faults.append("sizes fit: counted PEs have no places to fit into; take processors named")
    unknown = np.unique(of_job[np.isnan(seconds).any(axis=1)])
    faults += _some(stream, unknown, "has no run time", "clean the stream, or predict its applications first")
    faults += _some(
        stream,
        np.flatnonzero(_fewest(size, of_job, len(stream)) > cluster.count),
        f"needs more than the cluster's {cluster.count} PEs",
        "drop it or take a larger cluster",
    )
    faults += _some(stream, np.unique(of_job[size < 1]), "has no processes", "give at least 1")
    if estimates.source in {"limit", "last-two"} or (estimates.source == "given" and estimates.correction == "limit"):
        used = f"take --estimates exact or give the limits that estimates {estimates.name} need"
        faults += _some(stream, np.flatnonzero(np.isnan(stream.limit_s)), "has no limit", used)
    return faults + _some(
        stream,
        _too_large(stream, cluster, size, of_job),
        "finds too few PEs with the memory that it needs",
        "drop it or take a larger cluster",
    )


def _fewest(size: Ints, of_job: Ints, jobs: int) -> Ints:
    """The fewest processes of each job; (J,)."""
    fewest = np.full(jobs, NEVER)
    np.minimum.at(fewest, of_job, size)
    return fewest


def _too_large(stream: Stream, cluster: Cluster, size: Ints, of_job: Ints) -> Ints:
    """Jobs that never find enough PEs with enough memory; (some,)."""
    needs = np.nan_to_num(stream.memory_bytes)
    memory = np.sort(cluster.memory_bytes)
    able = memory.size - np.searchsorted(memory, needs)
    return np.flatnonzero((able < _fewest(size, of_job, len(stream))) & (needs > 0))


def _some(stream: Stream, jobs: Ints, what: str, remedy: str) -> list[str]:
    """One sentence for all jobs with one fault; none without any."""
    if not jobs.size:
        return []
    others = f" (and {jobs.size - 1} more)" if jobs.size > 1 else ""
    return [f"stream {stream.name}: job {stream.ids[jobs[0]]}{others} {what}; {remedy}"]
