"""Is the simulation right for a log: the waits that it tells, against those simulated under each usual policy."""

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from advisor.jobs.advise import POLICIES as USUAL
from advisor.jobs.setting import Setting
from advisor.wording import percent
from simulator import Estimates, JobNodes, Policy, SlurmPolicy, Stream, job_metrics, units

Floats = NDArray[np.float64]
LEAST_KNOWN = 0.5
"""Share of the jobs whose wait the log must tell, or there is nothing to compare with."""
FEWEST = 100
"""Jobs whose waits say whether a simulation is right."""
NEARLY_S = 60.0
"""Added to waits before their ratio is taken: nobody minds a second or ten."""
WITHIN = 1.25
"""Factor between mean waits of the log and simulated ones, of all and of a usual week, up to which they agree."""
HELD_BACK = 0.05
"""Share of the time that jobs wait in which the first would fit, and of PEs too many: less may be rounded times."""
WEEK_S = 7 * 86_400.0
SIZES = (1, 2, 8, 32, 128, 512)
"""Least PEs of each class of jobs."""
POLICIES = (*USUAL, Policy(backfill="none"), Policy(order="sjf", backfill="none"))
"""Those that a log is simulated under; of equally good ones the first."""
FAIR = Policy(
    "multifactor",
    "slurm",
    slurm=SlurmPolicy(
        weight_age=1_000,
        weight_fair_share=10_000,
        weight_job_size=1_000,
        weight_partition=1_000,
        max_age_s=14 * 86_400,
        half_life_s=14 * 86_400,
    ),
)
"""And where a log names accounts or partitions: the example of Slurm's page on its multifactor priority plugin."""


@dataclass(frozen=True)
class Both:
    """A figure of the log and of its simulation, for some of the jobs."""

    name: str
    jobs: int
    log: float
    simulated: float


@dataclass(frozen=True)
class Tried:
    """How far a policy's waits are from those of the log."""

    policy: str
    factor: float
    """Between a job's wait in the log and the simulated one, each with `NEARLY_S` more: geometric mean."""


@dataclass(frozen=True)
class Backtest:
    """The waits of a log against simulated ones, under the policy that fits best."""

    policy: str
    tried: tuple[Tried, ...]
    """Best first."""
    wait_s: Both
    slowdown: Both
    """Bounded slowdown."""
    utilisation: Both
    weekly: float
    """Factor between the mean waits of a usual week."""
    by_size: tuple[Both, ...]
    """Mean waits in s."""
    by_partition: tuple[Both, ...]
    """Where there are several."""
    by_week: tuple[Both, ...]
    reasons: tuple[str, ...]
    """What the log shows that is not simulated."""

    @property
    def agrees(self) -> bool:
        """Whether mean waits of all jobs and of usual weeks, and mean slowdowns, are within the bound."""
        slowdown = math.exp(abs(math.log(self.slowdown.log / self.slowdown.simulated)))
        return max(self.weekly, slowdown, _apart(self.wait_s.log, self.wait_s.simulated)) <= WITHIN

    @property
    def sentence(self) -> str:
        """Whether the simulation is right for the log."""
        log, simulated = (units.show_duration(value) for value in (self.wait_s.log, self.wait_s.simulated))
        right = "right" if self.agrees else "not right"
        return (
            f"The simulation is {right} for this log: mean wait {log}, simulated {simulated} ({self.policy} fits best)."
        )


def backtest(stream: Stream, setting: Setting, estimates: Estimates) -> Backtest | None:
    """Simulate a log under each of `POLICIES` and compare waits; None for one that tells few, or applications.

    `estimates`: what policies plan with.
    """
    known = ~np.isnan(stream.wait_s)
    if setting.scenario is not None or stream.applications or known.sum() < max(FEWEST, LEAST_KNOWN * len(stream)):
        return None
    slurm = (Policy(backfill="slurm"), FAIR) if _named(stream, "account") or _named(stream, "partition") else ()
    waits = {one.name: setting.run(stream, one, estimates).wait_s[known] for one in (*POLICIES, *slurm)}
    log_s, stream = stream.wait_s[known], stream.take(known)
    tried = sorted((Tried(name, _factor(log_s, wait_s)) for name, wait_s in waits.items()), key=lambda one: one.factor)
    name = tried[0].policy
    week = ((stream.submit_s - stream.submit_s[0]) // WEEK_S).astype(np.int64)
    size = np.searchsorted(SIZES, stream.processors, side="right")
    by_week = _groups([f"week {number + 1}" for number in range(week.max() + 1)], week, log_s, waits[name])
    weights = np.array([one.jobs for one in by_week])
    apart = np.array([math.log(_apart(one.log, one.simulated)) for one in by_week])
    return Backtest(
        policy=name,
        tried=tuple(tried),
        wait_s=_both("mean wait in s", log_s, waits[name]),
        slowdown=_both("bounded slowdown", *(_slowdown(stream, wait_s) for wait_s in (log_s, waits[name]))),
        utilisation=Both(
            "utilisation",
            len(stream),
            *(_utilisation(stream, wait_s, setting.pes) for wait_s in (log_s, waits[name])),
        ),
        weekly=math.exp(float(np.average(apart, weights=weights))),
        by_size=_groups(size_names(), size - 1, log_s, waits[name]),
        by_partition=_by_partition(stream, log_s, waits[name]),
        by_week=by_week,
        reasons=tuple(_reasons(stream, log_s, waits[name], setting)),
    )


def _named(stream: Stream, field: str) -> bool:
    return bool(np.any(getattr(stream, field) >= 0)) and bool(stream.names.get(field))


def _apart(log: float, simulated: float) -> float:
    """The factor between two mean waits."""
    return math.exp(abs(math.log((log + NEARLY_S) / (simulated + NEARLY_S))))


def _factor(log_s: Floats, simulated_s: Floats) -> float:
    return float(np.exp(np.mean(np.abs(np.log((log_s + NEARLY_S) / (simulated_s + NEARLY_S))))))


def _both(name: str, log: Floats, simulated: Floats) -> Both:
    return Both(name, log.size, float(log.mean()), float(simulated.mean()))


def _slowdown(stream: Stream, wait_s: Floats) -> Floats:
    run_s = np.maximum(stream.run_s, job_metrics.SHORTEST_S)
    return np.maximum(1.0, (wait_s + stream.run_s) / run_s)


def _utilisation(stream: Stream, wait_s: Floats, pes: int) -> float:
    end_s = _came_s(stream, wait_s) + wait_s + stream.run_s
    lasting_s = float(end_s.max() - stream.submit_s.min())
    return float(np.sum(stream.processors * stream.run_s)) / (pes * lasting_s) if lasting_s > 0 else 0.0


def size_names() -> list[str]:
    """Of classes of jobs by their PEs."""
    ends = [str(after - 1) for after in SIZES[1:]]
    names = [
        first if first == last else f"{first} to {last}" for first, last in zip(map(str, SIZES), ends, strict=False)
    ]
    return [f"{one} PEs" if one != "1" else "1 PE" for one in names] + [f"{SIZES[-1]} PEs or more"]


def _groups(names: Sequence[str], group: NDArray[np.int64], log_s: Floats, simulated_s: Floats) -> tuple[Both, ...]:
    """Mean waits of each group that has jobs."""
    return tuple(_both(names[one], log_s[group == one], simulated_s[group == one]) for one in np.unique(group))


def _by_partition(stream: Stream, log_s: Floats, simulated_s: Floats) -> tuple[Both, ...]:
    """Mean waits of each partition that the log has, if it has several."""
    of, known = stream.partition + 1, stream.names.get("partition", ())
    names = ["no partition", *(known[one] if one < len(known) and known[one] else str(one) for one in range(of.max()))]
    return _groups(names, of, log_s, simulated_s) if np.unique(of).size > 1 else ()


def _came_s(stream: Stream, wait_s: Floats) -> Floats:
    """When jobs joined the queue: submitted, or after the end of those that they depend on; (job,)."""
    row, came_s = {job: place for place, job in enumerate(stream.ids.tolist())}, stream.submit_s.copy()
    for job in np.flatnonzero(~np.isnan(stream.think_s)).tolist():
        before = row.get(stream.preceding[job])
        if before is not None:
            ended_s = came_s[before] + wait_s[before] + stream.run_s[before]
            came_s[job] = max(came_s[job], ended_s + stream.think_s[job])
    return came_s


def _reasons(stream: Stream, wait_s: Floats, simulated_s: Floats, setting: Setting) -> list[str]:
    """What the log shows that the simulation does not explain."""
    pes, on_nodes = setting.pes, isinstance(setting.cluster, JobNodes)
    (held, most), (usual, _) = _held_back(stream, wait_s, pes), _held_back(stream, simulated_s, pes)
    found = []
    if held > usual + HELD_BACK:
        maybe = "" if on_nodes else "nodes, "
        found.append(
            f"in {percent(held)} of the time that jobs wait, the first of them would fit on idle PEs "
            f"({percent(usual)} simulated): {maybe}reservations, limits of users or priorities may hold it back"
        )
    for field in ("queue", "qos") if on_nodes else ("partition", "queue", "qos"):
        named = getattr(stream, field)
        count = np.unique(named[named >= 0]).size
        if count > 1:
            found.append(f"the log has {count} {field}{'' if field == 'qos' else 's'}, which are taken as one")
    if most > (1 + HELD_BACK) * pes:
        found.append(f"up to {most} PEs are taken at once in the log, and {pes} are simulated")
    if on_nodes:
        return found
    unit = int(np.gcd.reduce(stream.processors))
    if unit > 1:
        found.append(f"all jobs take multiples of {unit} PEs, as where nodes are given whole")
    if stream.exclusive.any():
        share = percent(float(np.mean(stream.exclusive)))
        found.append(f"{share} of the jobs have whole nodes to themselves; describe the nodes by --platform")
    return found


def _held_back(stream: Stream, wait_s: Floats, pes: int) -> tuple[float, int]:
    """Of the time that some job waits, the share in which the first would fit on idle PEs; most PEs taken at once."""
    came_s = _came_s(stream, wait_s)
    start_s = came_s + wait_s
    count = len(stream)
    times_s = np.concatenate((start_s + stream.run_s, came_s, start_s))
    order = np.lexsort((np.repeat(np.arange(3), count), times_s))
    waiting, started = list[int](), np.zeros(count, dtype=np.bool_)
    taken = most = 0
    waited_s = fits_s = before_s = 0.0
    for time_s, event in zip(times_s[order].tolist(), order.tolist(), strict=True):
        what, job = divmod(event, count)
        while waiting and started[waiting[0]]:
            heapq.heappop(waiting)
        if waiting:
            waited_s += time_s - before_s
            fits_s += (time_s - before_s) * (stream.processors[waiting[0]] <= pes - taken)
        before_s = time_s
        if what == 1:
            heapq.heappush(waiting, job)
            continue
        started[job] = True
        taken += int(stream.processors[job]) * (1 if what else -1)
        most = max(most, taken)
    return (fits_s / waited_s if waited_s else 0.0), most
