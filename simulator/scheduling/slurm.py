"""Slurm's own policy: what a job's priority is made of, and what its two schedulers are set to.

Source: slurmctld 22.05, plugins priority/multifactor (with its fair tree) and sched/backfill; its manual slurm.conf(5).
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Literal, NamedTuple

import numpy as np

from simulator.base.arrays import Floats, Ints
from simulator.base.errors import ScenarioError
from simulator.programs.streams.stream import Stream

Turn = Literal["calculate", "main", "full", "cycle"]
"""What has its turn: priorities, the main scheduler, the same on the whole queue, a cycle of sched/backfill."""
SECOND = 10**9
"""Ticks."""
DAY_S = 86_400
ROOT = "root"
HIGHEST = 4_294_967_295.0
"""Priorities are whole numbers from 1 to this one."""
TIER = 4_294_967_296.0
"""What a partition's tier weighs: more than any priority."""
LN_2 = 0.693
"""As Slurm's source has it."""


@dataclass(frozen=True)
class Account:
    """An account of the tree, or with a user's name one user of an account."""

    name: str
    parent: str = ROOT
    shares: int = 1
    user: str = ""


@dataclass(frozen=True)
class SlurmPolicy:
    """Parameters of slurm.conf, with Slurm's defaults; times in seconds.

    Raises ScenarioError for numbers that are negative, or periods of no length.
    """

    weight_age: int = 0
    weight_fair_share: int = 0
    weight_job_size: int = 0
    weight_partition: int = 0
    weight_qos: int = 0
    favor_small: bool = False
    max_age_s: int = 7 * DAY_S
    half_life_s: int = 7 * DAY_S
    """Of what was used; 0: nothing is forgotten."""
    calc_period_s: int = 300
    bf_interval_s: int = 30
    bf_window_s: int = DAY_S
    bf_resolution_s: int = 60
    bf_max_job_test: int = 500
    bf_max_job_user: int = 0
    """Jobs of one user that a cycle of the backfill scheduler looks at; 0: all."""
    default_queue_depth: int = 100
    sched_interval_s: int = 60
    partition_factors: tuple[tuple[str, int], ...] = ()
    """`PriorityJobFactor` by name, 1 where a partition is not named."""
    qos_priorities: tuple[tuple[str, int], ...] = ()
    """By name, 0 where a QOS is not named."""
    accounts: tuple[Account, ...] = ()
    """Who has other shares than 1, or another parent than the root."""

    def __post_init__(self) -> None:
        for one in fields(self):
            value = getattr(self, one.name)
            least = 1 if one.name.endswith(("period_s", "interval_s", "resolution_s", "job_test", "max_age_s")) else 0
            if isinstance(value, int) and value < least:
                raise ScenarioError(f"slurm: {one.name} is {value}; give a whole number from {least} on")

    @property
    def window(self) -> int:
        """In ticks."""
        return self.bf_window_s * SECOND

    def span(self, begin: int, lasting: int) -> tuple[int, int]:
        """The ticks that a plan holds: whole slots of the resolution, at least one."""
        slot = self.bf_resolution_s * SECOND
        first = begin // slot * slot
        return first, max(first + slot, (begin + lasting) // slot * slot)

    def periods(self, *, calculates: bool, schedules: bool) -> dict[Turn, int]:
        """In ticks, of what a policy uses."""
        found: dict[Turn, int] = {"calculate": self.calc_period_s * SECOND} if calculates else {}
        cycles: dict[Turn, int] = {"full": self.sched_interval_s * SECOND, "cycle": self.bf_interval_s * SECOND}
        return found | (cycles if schedules else {})

    @property
    def weighs(self) -> bool:
        """Whether priorities differ at all."""
        return any(getattr(self, one.name) for one in fields(self) if one.name.startswith("weight_"))

    @property
    def words(self) -> str:
        """What is not as Slurm comes, by field."""
        return ", ".join(
            f"{one.name} {getattr(self, one.name)}" for one in fields(self) if getattr(self, one.name) != one.default
        )


class Turns:
    """When what comes in periods is due; it is left out where nothing that it looks at has changed."""

    def __init__(self, periods: Mapping[Turn, int], begin: int) -> None:
        self._periods, self._begin, self._changed = periods, begin, set[Turn]()

    def change(self, *turns: Turn) -> None:
        """Something has changed for these."""
        self._changed.update(turn for turn in turns if turn in self._periods)

    def due(self, now: int, *turns: Turn) -> set[Turn]:
        """Which of these come now; with that they are over."""
        changed = self._changed.intersection(turns)
        due = {turn for turn in changed if (now - self._begin) % self._periods[turn] == 0}
        self._changed -= due
        return due

    def ahead(self, now: int) -> set[int]:
        """The next tick of each."""
        periods = {self._periods[turn] for turn in self._changed}
        return {now + period - (now - self._begin) % period for period in periods}


# Priorities of the jobs of one run. Both engines use these functions, one of them compiled.


class Shares(NamedTuple):
    """What priorities come from; arrays (job,), (node of the tree of accounts,) or (user,), users being its leaves."""

    fixed: Floats
    """What never changes of a job's priority."""
    ahead: Floats
    """Its partition's tier, weighed."""
    cores: Ints
    leaf: Ints
    """Whose job it is, as a node of the tree."""
    counted: Ints
    """The second up to which its use is counted."""
    parent: Ints
    """Of each node, which comes before it; -1 for the root, the first node."""
    share: Floats
    """A node's part of the shares of its siblings."""
    depth: Ints
    """How many nodes a user's path has at most, in its one entry."""
    path: Ints
    """Nodes below the root down to each user, -1 behind it; (user * depth,)."""
    fresh: Ints
    """Core seconds since the last calculation."""
    usage: Floats
    """Core seconds, halved once per half-life."""
    level: Floats
    """A node's share over its part of its parent's use."""
    line: Ints
    """Users, the least served first."""
    factor: Floats
    """Fair share of each node that is a user's, from 0 to 1."""
    rates: Floats
    """`AGE`, `FAIR_SHARE`, `MAX_AGE_S`, `DECAY`."""


AGE, FAIR_SHARE, MAX_AGE_S, DECAY = range(4)
_KINDS = {name: np.float64 if kind is Floats else np.int64 for name, kind in Shares.__annotations__.items()}
UNUSED = Shares(**{name: np.zeros(1, dtype=kind) for name, kind in _KINDS.items()})  # type: ignore[arg-type]
"""Where the order is another."""


def standing(s: Shares, job: int, waited_s: int) -> float:
    """A job's priority, negative, so that the least stands first; a higher tier stands before all priorities."""
    age = 1.0 if waited_s >= s.rates[MAX_AGE_S] else waited_s / s.rates[MAX_AGE_S]
    total = age * s.rates[AGE] + s.factor[s.leaf[job]] * s.rates[FAIR_SHARE] + s.fixed[job]
    return float(-(s.ahead[job] + math.floor(min(max(total, 1.0), HIGHEST))))


def count_use(s: Shares, job: int, second: int) -> None:
    """Count what a running job has used up to a second."""
    s.fresh[s.leaf[job]] += s.cores[job] * (second - s.counted[job])
    s.counted[job] = second


def share_again(s: Shares, elapsed_s: int, compare: Callable[[Shares, int, int], int]) -> None:
    """What was used up to now decays, and users get their fair shares; running jobs are counted before.

    Rule: users stand in the order of their accounts' levels, top accounts first, those of equal accounts as if they
    were of one. A user's factor is its rank from the last one over their number; equal ones have one rank.

    `compare`: `compared`, compiled where this is.
    """
    nodes, kept, step, left = s.parent.size, 1.0, s.rates[DECAY], elapsed_s
    while left > 0:
        if left & 1:
            kept *= step
        step *= step
        left >>= 1
    for node in range(nodes - 1, 0, -1):
        s.fresh[s.parent[node]] += s.fresh[node]
    for node in range(nodes):
        s.usage[node] = (s.usage[node] + s.fresh[node]) * kept
        s.fresh[node] = 0
        if node > 0 and s.usage[node] > 0.0 and s.share[node] > 0.0:
            s.level[node] = s.share[node] / (s.usage[node] / s.usage[s.parent[node]])
        else:
            s.level[node] = math.inf if s.share[node] > 0.0 else 0.0
    for place in range(1, s.line.size):
        user, back = s.line[place], place
        while back > 0 and compare(s, user, s.line[back - 1]) > SAME:
            s.line[back] = s.line[back - 1]
            back -= 1
        s.line[back] = user
    users, depth, rank = s.line.size, s.depth[0], s.line.size
    for place in range(users):
        user = s.line[place]
        if place > 0 and compare(s, s.line[place - 1], user) > HEAD:
            rank = users - place
        last = depth - 1
        while s.path[user * depth + last] < 0:
            last -= 1
        s.factor[s.path[user * depth + last]] = rank / users


AFTER, SAME, HEAD, BEFORE = range(-1, 3)


def compared(s: Shares, one: int, other: int) -> int:
    """Whether a user stands `AFTER` or `BEFORE` another, or as its equal: its path the `SAME`, or the `HEAD` of it."""
    depth = s.depth[0]
    for place in range(depth):
        mine, theirs = s.path[one * depth + place], s.path[other * depth + place]
        if mine < 0:
            return SAME if theirs < 0 else HEAD
        if theirs < 0:
            return AFTER
        if s.level[mine] != s.level[theirs]:
            return BEFORE if s.level[mine] > s.level[theirs] else AFTER
    return SAME


# What a run begins with


def shares_of(
    stream: Stream, policy: SlurmPolicy, *, cores: Ints, nodes: Ints, cluster: tuple[int, int], tier: Ints
) -> Shares:
    """Before the first job.

    `cores`, `nodes`: of each job; `cluster`: nodes and cores in all; `tier`: of each job's partition.
    """
    part = [nodes / cluster[0], cores / cluster[1]]
    size = sum(1.0 - one if policy.favor_small else one for one in part) / 2
    partition = _factors(stream, "partition", dict(policy.partition_factors), 1)
    qos = _factors(stream, "qos", dict(policy.qos_priorities), 0)
    weighed = (size * policy.weight_job_size, partition * policy.weight_partition, qos * policy.weight_qos)
    keys, leaf, parent, share = _tree(stream, policy.accounts)
    users = [node for node, key in enumerate(keys) if key[1]]
    paths = [_path(node, parent) for node in users]
    depth = max(map(len, paths))
    path = [step for one in paths for step in (*one, *[-1] * (depth - len(one)))]
    decay = 1.0 - LN_2 / policy.half_life_s if policy.half_life_s else 1.0
    rates = (policy.weight_age, policy.weight_fair_share, policy.max_age_s, decay)
    made = Shares(
        fixed=weighed[0] + weighed[1] + weighed[2],
        ahead=tier.astype(np.float64) * TIER,
        cores=cores,
        leaf=leaf,
        counted=np.zeros(len(stream), dtype=np.int64),
        parent=parent,
        share=share,
        depth=np.array([depth]),
        path=np.array(path),
        fresh=np.zeros(len(keys), dtype=np.int64),
        usage=np.zeros(len(keys)),
        level=np.zeros(len(keys)),
        line=np.arange(len(users)),
        factor=np.zeros(len(keys)),
        rates=np.array(rates, dtype=np.float64),
    )
    share_again(made, 0, compared)
    return made


def _factors(stream: Stream, field: str, given: dict[str, int], usual: int) -> Floats:
    """Of each job, what its partition or QOS is worth, over what the most valuable one is."""
    values = np.array([float(given.get(name, usual)) for name in _names(stream, field)])
    largest = max([*given.values(), usual, 1])
    return values / largest


def _names(stream: Stream, field: str) -> list[str]:
    """Of each job, what its number in a field stands for."""
    numbers, names = getattr(stream, field).tolist(), stream.names.get(field, ())
    return [names[number] if 0 <= number < len(names) else str(number) for number in numbers]


def _tree(stream: Stream, accounts: Sequence[Account]) -> tuple[list[tuple[str, str]], Ints, Ints, Floats]:
    """Account and user of each node, the root first; each job's node; each node's parent and part of the shares."""
    given = {(one.name, one.user): one for one in accounts}
    nodes: dict[tuple[str, str], int] = {(ROOT, ""): 0}
    parent, shares = [-1], [1]

    def put(key: tuple[str, str], below: tuple[tuple[str, str], ...] = ()) -> int:
        if key not in nodes:
            one = given.get(key, Account(key[0]))
            above = (one.name, "") if key[1] else (one.parent, "")
            if above in below:
                raise ScenarioError(f"slurm: account {above[0]} is its own parent; name another one")
            parent.append(put(above, (*below, key)))
            shares.append(one.shares)
            nodes[key] = len(parent) - 1
        return nodes[key]

    for key in given:
        put(key)
    leaf = [put(pair) for pair in zip(_names(stream, "account"), _names(stream, "user"), strict=True)]
    above, raw = np.array(parent), np.array(shares, dtype=np.float64)
    level = np.bincount(above + 1, raw)[above + 1]
    part = np.divide(raw, level, out=np.zeros_like(raw), where=level > 0)
    return list(nodes), np.array(leaf, dtype=np.int64), above, part


def _path(node: int, parent: Ints) -> list[int]:
    """Nodes from below the root down to a user's."""
    found: list[int] = []
    while node > 0:
        found.insert(0, node)
        node = int(parent[node])
    return found
