"""Jobs on nodes: both engines against an oracle of the definitions, start by start and node by node, and what holds."""

from dataclasses import replace

import numpy as np
import pytest

from simulator.base.errors import ScenarioError
from simulator.engines.jobs import run_jobs
from simulator.programs.streams.stream import make_stream
from simulator.results.job_files import job_table_lines
from simulator.results.job_metrics import averages
from simulator.scheduling.estimates import Estimates
from simulator.scheduling.nodes import NO_LIMIT_MIB, JobNodes, JobPartition, Reservation
from simulator.scheduling.places import Cluster
from simulator.scheduling.policy import Policy
from tests.simulator.engines.job_cases import ENGINES, drawn_jobs, stream_of
from tests.simulator.engines.jobs_oracle import SECOND
from tests.simulator.engines.node_cases import BACKFILLS, difference, drawn_case
from tests.simulator.engines.nodes_oracle import Asking, NodesOracle

STREAMS, MANY = 200, 2_000
FIELDS = ("start_ticks", "finish_ticks", "eligible_ticks", "estimate_ticks", "promised_ticks", "processors", "killed")
ALL_BACKFILLS = pytest.mark.parametrize("backfill", BACKFILLS)
ALL_ENGINES = pytest.mark.parametrize("engine", ENGINES)


def check(seeds):
    waited = behind = moved = 0
    for seed in seeds:
        case = drawn_case(seed)
        expected = case.expected()
        for engine in ENGINES:
            assert not (told := difference(case, expected, engine)), f"seed {seed}: {told}"
        waited += sum(job.start > job.joins for job in expected)
        behind += sum(job.joins > job.submit for job in expected)
        moved += sum(job.start < job.promised for job in expected)
    assert waited > 3 * len(seeds), "few waited"
    assert behind > 0.2 * len(seeds), "few waited for another one's end"
    assert moved > 0.2 * len(seeds), "few were pulled forward"


def test_engines_place_jobs_as_the_definitions_do():
    check(range(STREAMS))


@pytest.mark.slow
def test_engines_place_jobs_of_many_streams_as_the_definitions_do():
    check(range(STREAMS, STREAMS + MANY))


def nodes_of(*kinds, **others):
    """Nodes from (cores, memory, gpus) each."""
    cores, memory, gpus = (np.array(column) for column in zip(*kinds, strict=True))
    weight = others.pop("weight", np.ones(len(kinds), dtype=np.int64))
    return JobNodes(tuple(f"n{k}" for k in range(len(kinds))), cores, memory, gpus, np.asarray(weight), **others)


def same(one, other, *, but=()):
    for name in FIELDS:
        if name not in but:
            assert getattr(one, name).tolist() == getattr(other, name).tolist(), name


def plain(seed, pes, count=60):
    draw = np.random.default_rng((seed, 5))
    return stream_of(drawn_jobs(draw, count, pes))


# One thing seen in two ways


@ALL_BACKFILLS
@pytest.mark.parametrize("plan", [("limit", "steps"), ("exact", "steps"), ("last-two", "steps"), ("last-two", "limit")])
def test_one_node_is_a_pool_of_counted_pes(backfill, plan):
    for seed, order in enumerate(("fcfs", "sjf", "wfp3")):
        pes, policy = (4, 13, 64)[seed % 3], Policy(order=order, backfill=backfill)
        counted = run_jobs(plain(seed, pes), pes, policy, Estimates(*plan), engine="compiled")
        node = nodes_of((pes, 0, 0))
        for engine in ENGINES:
            same(run_jobs(plain(seed, pes), node, policy, Estimates(*plan), engine=engine), counted)


@ALL_BACKFILLS
def test_nodes_of_one_core_are_pes_by_number(backfill):
    for seed in range(10):
        pes = (3, 13, 64)[seed % 3]
        named = run_jobs(plain(seed, pes), pes, Policy(backfill=backfill, processors="named"), engine="compiled")
        for engine in ENGINES:
            runs = run_jobs(plain(seed, pes), nodes_of(*[(1, 0, 0)] * pes), Policy(backfill=backfill), engine=engine)
            same(runs, named)
            assert all(runs.nodes_of(job).tolist() == named.pes_of(job).tolist() for job in range(len(runs.stream)))


def test_a_node_that_nobody_may_use_changes_nothing():
    for seed in range(60):
        case = drawn_case(seed)
        if not all(job["partition"] >= 0 for job in case.jobs):
            continue
        before = case.runs("compiled")
        case.nodes = [*case.nodes, (64, NO_LIMIT_MIB, 8, 0, ("fast", "big"))]
        same(case.runs("compiled"), before)


def test_who_needs_no_memory_sees_none():
    differ = 0
    for seed in range(40):
        case = drawn_case(seed)
        with_needs = case.runs("compiled").start_ticks.tolist()
        case.jobs = [job | {"memory_bytes": np.nan} for job in case.jobs]
        before = case.runs("compiled")
        case.nodes = [(cores, 0, *others) for cores, _, *others in case.nodes]
        same(case.runs("compiled"), before)
        differ += with_needs != before.start_ticks.tolist()
    assert differ > 4, "memory decides nowhere"


def test_other_units_of_time_change_nothing_else():
    for seed in range(40):
        case = drawn_case(seed)
        case.jobs = [job | {"run_s": max(1, job["run_s"])} for job in case.jobs]
        before = case.runs("compiled")
        times = ("submit_s", "run_s", "limit_s", "think_s")
        case.jobs = [job | {name: 60 * job[name] for name in times} for job in case.jobs]
        case.partitions = [(members, 60 * limit, alone) for members, limit, alone in case.partitions]
        case.closed = [(60 * begin, 60 * end, nodes) for begin, end, nodes in case.closed]
        assert (60 * before.start_ticks).tolist() == case.runs("compiled").start_ticks.tolist()


# Beside what the oracle knows


@ALL_BACKFILLS
def test_counted_pes_stand_still_under_reservations_and_jobs_wait_for_others(backfill):
    for seed in range(30):
        draw = np.random.default_rng((seed, 7))
        pes, stream = 8, plain(seed, 8, 30)
        stream = stream.take(
            np.arange(30),
            limit_s=np.fmax(1, np.round(stream.limit_s)),
            run_s=np.round(stream.run_s),
            submit_s=np.round(stream.submit_s),
            preceding=np.where(draw.random(30) < 0.3, draw.integers(1, np.arange(1, 31) + 1) - 1, -1),
            think_s=draw.choice([0.0, 2.0], 30),
        )
        spans = [(int(b), int(b) + int(draw.integers(1, 60)), int(draw.integers(1, pes + 1))) for b in (5, 40)]
        cluster = Cluster(
            np.ones(pes), np.full(pes, np.inf), reservations=tuple(Reservation(*s[:2], pes=s[2]) for s in spans)
        )
        expected = counted_by_the_oracle(stream, pes, spans, backfill)
        for engine in ENGINES:
            runs = run_jobs(stream, cluster, Policy(backfill=backfill), engine=engine)
            assert runs.start_ticks.tolist() == [job.start for job in expected], seed
            assert runs.eligible_ticks.tolist() == [job.joins for job in expected], seed


def counted_by_the_oracle(stream, pes, spans, backfill):
    ids = stream.ids.tolist()
    jobs = [
        Asking(
            job,
            int(stream.submit_s[job]) * SECOND,
            int(stream.run_s[job]) * SECOND,
            int(stream.limit_s[job]) * SECOND,
            int(stream.processors[job]),
            {"cores": 1, "memory": 0, "gpus": 0},
            nodes=(0,),
            after=ids.index(int(stream.preceding[job])) if int(stream.preceding[job]) in ids else None,
            think=int(stream.think_s[job]) * SECOND,
        )
        for job in range(len(stream))
    ]
    oracle = NodesOracle(jobs, [{"cores": pes, "memory": 0, "gpus": 0}], [0], backfill=backfill)
    oracle.close([(b * SECOND, e * SECOND, {0: {"cores": many, "memory": 0, "gpus": 0}}) for b, e, many in spans])
    return oracle.simulate()


@ALL_BACKFILLS
@pytest.mark.parametrize("plan", [("exact", "steps"), ("last-two", "steps"), ("last-two", "limit")])
def test_engines_agree_where_estimates_are_outlived(backfill, plan):
    for seed in range(10):
        case = drawn_case(4 * seed + BACKFILLS.index(backfill))
        stream = case.stream().take(np.arange(len(case.jobs)), user=np.arange(len(case.jobs)) % 2)
        runs = [
            run_jobs(stream, case.cluster(), Policy(**case.policy), Estimates(*plan), engine=one) for one in ENGINES
        ]
        same(*runs)
        assert runs[0].held_nodes.tolist() == runs[1].held_nodes.tolist()


@ALL_ENGINES
def test_a_job_that_waits_for_two_others_in_a_row_starts_after_both(engine):
    stream = make_stream(
        "s",
        submit_s=[0, 0, 1],
        run_s=[5, 7, 1],
        limit_s=[9] * 3,
        processors=[1] * 3,
        preceding=[-1, 1, 2],
        think_s=[0, 3, 0],
    )
    runs = run_jobs(stream, 3, Policy(), engine=engine)
    assert runs.start_s.tolist() == [0, 8, 15]
    assert runs.wait_s.tolist() == [0, 0, 0]


@ALL_ENGINES
def test_cores_of_whole_nodes_count_as_used(engine):
    nodes = nodes_of((4, 8, 0), (4, 8, 0))
    stream = make_stream("s", submit_s=[0, 0], run_s=[10, 10], limit_s=[10, 10], processors=[1, 2], exclusive=[1, 0])
    runs = run_jobs(stream, nodes, Policy(), engine=engine)
    assert (runs.processors.tolist(), runs.pes) == ([4, 2], 8)
    assert [runs.nodes_of(job).tolist() for job in (0, 1)] == [[0], [1]]
    assert averages(runs, warm_up=0).utilisation == pytest.approx(6 / 8)
    rows = "".join(job_table_lines(runs)).splitlines()
    assert (rows[0].split(",")[-1], [row.split(",")[-1] for row in rows[1:]]) == ("nodes", ["0", "1"])


@ALL_ENGINES
def test_light_nodes_are_taken_first(engine):
    nodes = nodes_of((2, 8, 0), (2, 8, 0), (2, 8, 0), weight=[3, 1, 1])
    stream = make_stream("s", submit_s=[0, 1], run_s=[10, 10], limit_s=[10, 10], processors=[3, 3])
    runs = run_jobs(stream, nodes, Policy(), engine=engine)
    assert [runs.nodes_of(job).tolist() for job in (0, 1)] == [[1, 2], [0, 2]]


FAULTS = {
    "too large": ({"memory_bytes": [2.0**34, 1]}, {}, "job 1 finds no nodes that hold what it asks for"),
    "loose gpus": ({"gpus": [1, 0]}, {}, "job 1 asks for GPUs, but not on how many nodes"),
    "many nodes": ({"partition": [0, 0], "nodes": [0, 2]}, {}, "job 2 asks for more nodes than its partition allows"),
    "partition": ({"partition": [1, 0]}, {}, "there is no partition '1'; take 0"),
    "circle": ({"preceding": [2, 1]}, {}, "job 1 waits for jobs that wait for it"),
    "named": ({}, {"processors": "named"}, "nodes are not known by PE"),
    "event": ({}, {"same_second": "event"}, "a pass after each event is not defined with nodes"),
    "own": ({}, {"own": lambda seen: seen.waiting}, "a policy of your own decides on PEs alone"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_say_what_to_do(fault):
    fields, words, told = FAULTS[fault]
    nodes = nodes_of((2, 8, 1), (2, 8, 1), partitions=(JobPartition("0", np.array([0, 1]), max_nodes=1),))
    stream = make_stream("s", submit_s=[0, 0], run_s=[1, 1], limit_s=[1, 1], processors=[2, 2], **fields)
    with pytest.raises(ScenarioError, match=told):
        run_jobs(stream, nodes, Policy(**words))


def test_nodes_that_cannot_be_are_refused():
    with pytest.raises(ScenarioError, match="gpus has 1 entries; give one for each of 2 nodes"):
        replace(nodes_of((1, 1, 0), (1, 1, 0)), gpus=np.array([1]))
    with pytest.raises(ScenarioError, match="has no core"):
        nodes_of((0, 1, 0))
    with pytest.raises(ScenarioError, match="a node that there is not"):
        nodes_of((1, 1, 0), partitions=(JobPartition("p", np.array([1])),))
    with pytest.raises(ScenarioError, match="it must begin at 0 or later and end after that"):
        Reservation(5, 5)
