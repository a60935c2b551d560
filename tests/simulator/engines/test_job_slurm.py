"""Slurm's policy in both engines beside a plain reading of its rules, and what holds whatever the stream."""

from dataclasses import asdict, dataclass, field, replace

import numpy as np
import pytest

from simulator.base.errors import ScenarioError
from simulator.engines.jobs import run_jobs
from simulator.programs.streams.stream import make_stream
from simulator.scheduling.policy import Policy
from simulator.scheduling.slurm import Account, SlurmPolicy
from tests.simulator.engines import node_cases
from tests.simulator.engines.job_cases import ENGINES, difference, drawn_jobs, stream_of
from tests.simulator.engines.jobs_oracle import SECOND
from tests.simulator.engines.node_cases import NodesCase
from tests.simulator.engines.nodes_oracle import PARTS
from tests.simulator.engines.slurm_oracle import Slurm, SlurmOnNodes, SlurmOracle

STREAMS, MANY = 60, 1500
TREE = {
    ("a", ""): ("root", 3),
    ("b", ""): ("root", 1),
    ("deep", ""): ("b", 2),
    ("idle", ""): ("root", 4),
    ("a", "u0"): ("", 5),
    ("deep", "u1"): ("", 0),
}
NAMES = {"account": ("a", "b", "deep", "other"), "user": ("u0", "u1", "u2")}
NAMES |= {"partition": ("long", "short", "third"), "qos": ("normal", "high", "low")}


@dataclass(frozen=True)
class Case:
    """Jobs as (submit, run, size, limit, user, given estimates) in ticks, their labels, and Slurm's parameters."""

    jobs: tuple
    labels: tuple
    pes: int
    slurm: Slurm
    policy: dict

    def expected(self):
        named = tuple(tuple(NAMES[field][number] for field, number in label.items()) for label in self.labels)
        return SlurmOracle(self.jobs, self.pes, self.slurm, named, **self.policy).simulate()

    def runs(self, engine):
        columns = {field: np.array([label[field] for label in self.labels]) for field in NAMES}
        stream = replace(stream_of(self.jobs), names=NAMES, **columns)
        return run_jobs(stream, self.pes, Policy(**self.policy, slurm=of_product(self.slurm)), engine=engine)


def of_product(slurm):
    """The same parameters as the product names them."""
    given = asdict(slurm)
    weights = {name: given[name] for name in ("age", "fair_share", "job_size", "partition", "qos")}
    times = ("max_age", "half_life", "calc_period", "bf_interval", "bf_window", "bf_resolution", "sched_interval")
    return SlurmPolicy(
        **{f"weight_{name}": value for name, value in weights.items()},
        **{f"{name}_s": given[name] for name in times},
        **{name: given[name] for name in ("favor_small", "bf_max_job_test", "bf_max_job_user")},
        default_queue_depth=slurm.queue_depth,
        partition_factors=tuple(slurm.partition_factors.items()),
        qos_priorities=tuple(slurm.qos_priorities.items()),
        accounts=tuple(Account(name, parent, shares, user) for (name, user), (parent, shares) in slurm.tree.items()),
    )


def drawn_case(seed):
    draw = np.random.default_rng((seed, 46))
    pes = int(draw.choice([1, 2, 5, 8, 32]))
    jobs = drawn_jobs(draw, int(draw.integers(2, 45)), pes)
    grain = max(1, SECOND // max(1, min(job[3] for job in jobs))) * int(draw.choice([1, 1, 3, 20]))
    jobs = tuple((job[0] * grain, job[1] * grain, job[2], job[3] * grain, job[4], job[5]) for job in jobs)
    longest = max(job[3] for job in jobs) // SECOND
    times = ("max_age", "half_life", "calc_period", "bf_interval", "bf_window", "bf_resolution", "sched_interval")
    slurm = Slurm(
        **{name: int(draw.choice([0, 1, 50, 1000])) for name in ("age", "fair_share", "job_size", "partition", "qos")},
        **{name: int(draw.integers(1, max(2, longest * int(draw.choice([1, 4]))))) for name in times},
        favor_small=bool(draw.integers(2)),
        bf_max_job_test=int(draw.choice([1, 4, 500])),
        bf_max_job_user=int(draw.choice([0, 0, 2])),
        queue_depth=int(draw.choice([0, 3, 100])),
        partition_factors={"long": 2, "short": 5} if draw.random() < 0.5 else {},
        qos_priorities={"high": 10, "low": 3} if draw.random() < 0.5 else {},
        tree=TREE if draw.random() < 0.5 else {},
    )
    order = "multifactor" if draw.random() < 0.8 else str(draw.choice(["fcfs", "sjf", "wfp3"]))
    backfill = str(draw.choice(["slurm", "slurm", "slurm", "none", "easy", "conservative"]))
    slurm = replace(slurm, age=slurm.age or 7)
    labels = [{field: int(draw.integers(len(names))) for field, names in NAMES.items()} for _ in jobs]
    labels = tuple(label | {"user": max(0, job[4])} for job, label in zip(jobs, labels, strict=True))
    jobs = tuple((*job[:4], label["user"], job[5]) for job, label in zip(jobs, labels, strict=True))
    return Case(jobs, labels, pes, slurm, {"order": order, "backfill": backfill})


@dataclass
class OnNodes(NodesCase):
    """The same on nodes, whose partitions have tiers."""

    slurm: Slurm = field(default_factory=Slurm)
    tiers: tuple = ()

    def stream(self):
        made = super().stream()
        return replace(made, names=NAMES | dict(made.names))

    def cluster(self):
        made = super().cluster()
        parts = [replace(part, tier=tier) for part, tier in zip(made.partitions, self.tiers, strict=True)]
        return replace(made, partitions=tuple(parts))

    def runs(self, engine):
        policy = Policy(**self.policy, slurm=of_product(self.slurm))
        return run_jobs(self.stream(), self.cluster(), policy, engine=engine)

    def expected(self):
        capacity = [dict(zip(PARTS, node[:3], strict=True)) for node in self.nodes]
        every = [*((tier, part[0]) for tier, part in zip(self.tiers, self.partitions, strict=True))]
        oracle = SlurmOnNodes(
            [self.asking(number) for number in range(len(self.jobs))],
            capacity,
            [node[3] for node in self.nodes],
            self.slurm,
            labels=[(*(NAMES[key][job[key]] for key in ("account", "user")), "", "") for job in self.jobs],
            asked=[(job["nodes"], job["processors"]) for job in self.jobs],
            partition=[
                every[job["partition"]] if job["partition"] >= 0 else (1, range(len(capacity))) for job in self.jobs
            ],
            **self.policy,
        )
        oracle.close(
            (begin * SECOND, end * SECOND, {node: capacity[node] for node in nodes or range(len(capacity))})
            for begin, end, nodes in self.closed
        )
        return oracle.simulate()


def difference_on_nodes(case, expected, engine):
    """As on nodes; nobody is promised a start under Slurm, and EASY's promises have a test of their own."""
    told = case.runs(engine).promised_ticks.tolist()
    for job, promised in zip(expected, told, strict=True):
        job.promised = promised
    return node_cases.difference(case, expected, engine)


def drawn_on_nodes(seed):
    draw = np.random.default_rng((seed, 47))
    made = node_cases.drawn_case(seed)
    for job in made.jobs:
        job |= {key: int(draw.integers(len(NAMES[key]))) for key in ("account", "user")}
    times = ("max_age", "half_life", "calc_period", "bf_interval", "bf_window", "bf_resolution", "sched_interval")
    slurm = Slurm(
        age=7,
        **{name: int(draw.choice([0, 50, 1000])) for name in ("fair_share", "job_size")},
        **{name: int(draw.integers(1, int(draw.choice([3, 12])))) for name in times},
        favor_small=bool(draw.integers(2)),
        bf_max_job_test=int(draw.choice([1, 4, 500])),
        bf_max_job_user=int(draw.choice([0, 0, 2])),
        queue_depth=int(draw.choice([0, 3, 100])),
        tree=TREE if draw.random() < 0.5 else {},
    )
    policy = {"order": str(draw.choice(["multifactor", "multifactor", "fcfs", "sjf"]))}
    policy["backfill"] = str(draw.choice(["slurm", "slurm", "slurm", "none", "easy"]))
    tiers = tuple(int(draw.integers(1, 3)) for _ in made.partitions)
    return OnNodes(made.nodes, made.partitions, made.jobs, made.closed, policy, slurm, tiers)


def check(seeds, drawn, differ):
    for seed in seeds:
        case = drawn(seed)
        expected = case.expected()
        for engine in ENGINES:
            assert not (told := differ(case, expected, engine)), f"seed {seed}: {told}"


def test_engines_start_what_slurm_starts():
    check(range(STREAMS), drawn_case, difference)


def test_engines_start_what_slurm_starts_on_nodes():
    check(range(STREAMS), drawn_on_nodes, difference_on_nodes)


@pytest.mark.slow
def test_engines_start_what_slurm_starts_on_many_streams():
    check(range(STREAMS, STREAMS + MANY), drawn_case, difference)
    check(range(STREAMS, STREAMS + MANY), drawn_on_nodes, difference_on_nodes)


# What holds whatever the stream


@pytest.mark.parametrize("backfill", ["none", "easy", "conservative", "slurm"])
def test_priorities_of_age_alone_are_the_order_of_submission(backfill):
    for seed in range(20):
        case = drawn_case(seed)
        old = Slurm(age=1000, max_age=10**9)
        aged = replace(case, slurm=old, policy={"order": "multifactor", "backfill": backfill})
        first = replace(case, policy={"order": "fcfs", "backfill": backfill}, slurm=Slurm())
        for engine in ENGINES:
            assert aged.runs(engine).start_ticks.tolist() == first.runs(engine).start_ticks.tolist()


def stream(submit_s, run_s, processors, limit_s, **fields):
    names = {"account": ("a", "b"), "qos": ("normal", "high"), "partition": ("long", "short"), "user": ("u", "v")}
    given = {"submit_s": submit_s, "run_s": run_s, "processors": processors, "limit_s": limit_s}
    return replace(make_stream("made", **given, **fields), names=names)


def starts(jobs, pes, policy):
    found = [run_jobs(jobs, pes, policy, engine=engine).start_s.tolist() for engine in ENGINES]
    assert found[0] == found[1]
    return found[0]


def test_who_has_used_less_comes_first_once_priorities_are_calculated():
    """u's job runs from 0 to 100; both wait from 10 on; at the period of 60 s v is served better, and runs first."""
    slurm = SlurmPolicy(weight_fair_share=1000, calc_period_s=60)
    jobs = stream([0, 10, 10], [100] * 3, [4] * 3, [100] * 3, user=[0, 0, 1], account=[0, 0, 0])
    assert starts(jobs, 4, Policy("multifactor", "easy", slurm=slurm)) == [0, 200, 100]
    late = replace(slurm, calc_period_s=600)
    assert starts(jobs, 4, Policy("multifactor", "easy", slurm=late)) == [0, 100, 200]


@pytest.mark.parametrize(("field", "weight"), [("qos", "weight_qos"), ("partition", "weight_partition")])
def test_a_better_qos_or_partition_comes_first(field, weight):
    given = {"partition_factors": (("short", 4),), "qos_priorities": (("high", 10),), weight: 100}
    jobs = stream([0, 10, 10], [100] * 3, [4] * 3, [100] * 3, **{field: [0, 0, 1]})
    assert starts(jobs, 4, Policy("multifactor", slurm=SlurmPolicy(**given))) == [0, 200, 100]


def test_large_jobs_come_first_or_small_ones():
    jobs = stream([0, 10, 10], [100] * 3, [4, 1, 4], [100] * 3)
    large = SlurmPolicy(weight_job_size=100)
    assert starts(jobs, 4, Policy("multifactor", "none", slurm=large)) == [0, 200, 100]
    small = replace(large, favor_small=True)
    assert starts(jobs, 4, Policy("multifactor", "none", slurm=small)) == [0, 100, 200]


def test_a_cycle_lets_a_job_pass_that_ends_before_the_slot_of_the_plan():
    """The head is planned for 100 s: in slots of 60 s it holds its PEs from 60 s on; the small one is seen at 30 s."""
    jobs = stream([0, 1, 2], [100, 50, 20], [3, 4, 1], [100, 50, 29])
    assert starts(jobs, 4, Policy(backfill="slurm")) == [0, 100, 30]
    late = stream([0, 1, 2], [100, 50, 20], [3, 4, 1], [100, 50, 30])
    assert starts(late, 4, Policy(backfill="slurm")) == [0, 100, 150]
    fine = Policy(backfill="slurm", slurm=SlurmPolicy(bf_resolution_s=1))
    assert starts(late, 4, fine) == [0, 100, 30]
    assert starts(late, 4, Policy(backfill="slurm", slurm=SlurmPolicy(bf_window_s=69))) == [0, 100, 30]


def test_what_slurm_has_no_meaning_for_is_refused():
    with pytest.raises(ScenarioError, match="all its weights are 0"):
        Policy("multifactor")
    with pytest.raises(ScenarioError, match="same_second event"):
        Policy(backfill="slurm", same_second="event")
    with pytest.raises(ScenarioError, match="processors counted"):
        Policy(backfill="slurm", processors="named")
    with pytest.raises(ScenarioError, match="bf_interval_s is 0"):
        SlurmPolicy(bf_interval_s=0)
