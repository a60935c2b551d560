"""What a change does besides: to those who wait longest, to jobs of each size, user and queue; what Slurm is set to."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from advisor.jobs.backtest import SIZES, size_names
from advisor.jobs.compare import Alternative
from simulator import Policy, Stream, job_draws, job_metrics, units, written_lines

Floats = NDArray[np.float64]
LONGEST = 0.1
"""Share of the jobs, those that wait longest."""
LOSES, LOSES_S = 1.1, 60.0
"""Who waits longer by this factor, and by so much, loses."""
FEWEST = 10
"""Jobs of a group below which nothing is said of it."""
MOST_SAID = 2
"""Groups that lose that are named."""


@dataclass(frozen=True)
class Group:
    """Mean waits of some jobs."""

    name: str
    jobs: int
    before_s: float
    after_s: float

    @property
    def loses(self) -> bool:
        """Whether they wait longer by more than is nothing."""
        return self.after_s > LOSES * self.before_s and self.after_s - self.before_s > LOSES_S


@dataclass(frozen=True)
class Effects:
    """Waits of a stream before a change and after it, simulated."""

    longest: Group
    by_size: tuple[Group, ...]
    by_queue: tuple[Group, ...]
    """By partition or queue, where there are several."""
    users: int
    """With enough jobs."""
    users_lose: int

    @property
    def sentence(self) -> str:
        """Who waits longest, and who loses."""
        before, after = (units.show_duration(value) for value in (self.longest.before_s, self.longest.after_s))
        said = f"The longest tenth waits {after} ({before} now)"
        losers = [one for one in (*self.by_size, *self.by_queue) if one.loses]
        names = [
            f"{one.name} ({units.show_duration(one.after_s)}, {units.show_duration(one.before_s)} now)"
            for one in losers
        ]
        more = [f"{len(names) - MOST_SAID} more groups"] if len(names) > MOST_SAID else []
        users = [f"{self.users_lose} of {self.users} users"] if self.users_lose else []
        who = [*names[:MOST_SAID], *more, *users]
        return f"{said}. Longer wait {', '.join(who)}." if who else f"{said}. No size, queue or user waits longer."


def effects(stream: Stream, base: Alternative, change: Alternative) -> Effects:
    """What a change does to the jobs of a stream, warm-up left out."""
    itself = job_draws.Drawn(stream, np.arange(len(stream)))
    runs = [one.run(itself) for one in (base, change)]
    counts = job_metrics.measured(runs[0]) & job_metrics.measured(runs[1])
    before, after = (one.wait_s[counts] for one in runs)
    kept = stream.take(counts)
    tenth = max(1, round(LONGEST * before.size))
    longest = Group("the longest tenth", tenth, *(float(np.sort(wait)[-tenth:].mean()) for wait in (before, after)))
    size = np.searchsorted(SIZES, kept.processors, side="right") - 1
    users = tuple(_groups([""] * (int(kept.user.max(initial=-1)) + 1), kept.user, before, after))
    return Effects(
        longest,
        tuple(_groups([f"jobs of {name}" for name in size_names()], size, before, after)),
        tuple(one for name in ("partition", "queue") for one in _named(kept, name, before, after)),
        len(users),
        sum(one.loses for one in users),
    )


def _named(stream: Stream, name: str, before: Floats, after: Floats) -> tuple[Group, ...]:
    """By partition or queue; nothing where there is one."""
    of = getattr(stream, name)
    known = stream.names.get(name, ())
    names = [
        f"{name} {known[one] if one < len(known) and known[one] else one}" for one in range(int(of.max(initial=-1)) + 1)
    ]
    found = tuple(_groups(names, of, before, after))
    return found if len(found) > 1 else ()


def _groups(names: Sequence[str], group: NDArray[np.int64], before: Floats, after: Floats) -> Iterator[Group]:
    """Those with enough jobs."""
    for one in np.unique(group[group >= 0]).tolist():
        mine = group == one
        if np.count_nonzero(mine) >= FEWEST:
            yield Group(names[one], int(np.count_nonzero(mine)), float(before[mine].mean()), float(after[mine].mean()))


def slurm_lines(policy: Policy) -> tuple[str, ...]:
    """What slurm.conf says for a policy, and what is not the same there; nothing for one that Slurm does not have.

    Slurm plans all jobs again at each pass of its backfilling, every `bf_interval` seconds.
    """
    if policy.backfill == "slurm":
        return written_lines(policy)
    usual = policy.own is None and policy.order == "fcfs" and policy.candidates == "order"
    if not usual:
        return ()
    basic = "PriorityType=priority/basic"
    if policy.backfill == "none":
        return "SchedulerType=sched/builtin", basic
    reserved = 1 if policy.backfill == "easy" else 0  # jobs of a partition that hold a promise; 0: all
    remark = {
        "easy": "# one reservation for the first job of each partition; passes come every bf_interval (30 s)",
        "conservative": "# Slurm keeps no promise: it plans all jobs again at each pass, every bf_interval (30 s)",
        "replanned": "# all jobs are planned again at each pass, every bf_interval (30 s), not at each end of a job",
    }
    return (
        "SchedulerType=sched/backfill",
        f"SchedulerParameters=bf_job_part_count_reserve={reserved},bf_continue,bf_max_job_test=1000",
        basic,
        remark[policy.backfill],
    )
