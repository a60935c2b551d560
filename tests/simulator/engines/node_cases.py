"""Random streams of jobs on random nodes, as the product takes them and as the oracle does."""

from dataclasses import dataclass, field

import numpy as np

from simulator.engines.jobs import run_jobs
from simulator.programs.streams.stream import make_stream
from simulator.scheduling.nodes import NO_LIMIT_MIB, JobNodes, JobPartition, Reservation
from simulator.scheduling.policy import Policy
from tests.simulator.engines.job_cases import SHORT
from tests.simulator.engines.jobs_oracle import SECOND
from tests.simulator.engines.nodes_oracle import PARTS, Asking, NodesOracle

MIB = 2**20
BACKFILLS = ("none", "easy", "conservative", "replanned")
FEATURES = ("", "fast", "big", "fast|big", "fast&big")
HAS = {"": lambda _own: True, "fast": lambda own: "fast" in own, "big": lambda own: "big" in own}
HAS |= {"fast|big": bool, "fast&big": lambda own: len(own) == 2}


@dataclass
class NodesCase:
    """Jobs and nodes by row, in whole seconds; `policy` in words."""

    nodes: list
    """(cores, memory, gpus, weight, features)."""
    partitions: list
    """(members, limit, exclusive)."""
    jobs: list
    """Dicts of fields of the stream."""
    closed: list = field(default_factory=list)
    policy: dict = field(default_factory=dict)

    def stream(self):
        names = [key for key in self.jobs[0] if key not in {"submit_s", "processors"}]
        columns = {key: [job[key] for job in self.jobs] for key in ("submit_s", "processors", *names)}
        told = {"partition": tuple(f"part{k}" for k in range(len(self.partitions))), "feature": FEATURES}
        return make_stream("drawn", **columns, names=told)

    def cluster(self):
        cores, memory, gpus, weight, features = zip(*self.nodes, strict=True)
        numbers = [np.array(some) for some in (cores, memory, gpus, weight)]
        parts = tuple(
            JobPartition(f"part{k}", np.array(members), limit, exclusive=exclusive)
            for k, (members, limit, exclusive) in enumerate(self.partitions)
        )
        reservations = tuple(Reservation(*span) for span in self.closed)
        return JobNodes(tuple(f"n{k}" for k in range(len(cores))), *numbers, features, parts, reservations)

    def runs(self, engine):
        return run_jobs(self.stream(), self.cluster(), Policy(**self.policy), engine=engine)

    def expected(self):
        capacity = [dict(zip(PARTS, node[:3], strict=True)) for node in self.nodes]
        jobs = [self.asking(number) for number in range(len(self.jobs))]
        oracle = NodesOracle(jobs, capacity, [node[3] for node in self.nodes], **self.policy)
        every = range(len(capacity))
        oracle.close(
            (begin * SECOND, end * SECOND, {node: capacity[node] for node in nodes or every})
            for begin, end, nodes in self.closed
        )
        return oracle.simulate()

    def asking(self, number):
        job = self.jobs[number]
        members, limit, exclusive = range(len(self.nodes)), job["limit_s"], False
        if job["partition"] >= 0:
            members, most, exclusive = self.partitions[job["partition"]]
            limit = min(limit, most)
        has = HAS[FEATURES[max(0, job["feature"])]]
        chunks = job["nodes"] or job["processors"]
        cores = -(-job["processors"] // chunks)
        memory = 0 if np.isnan(job["memory_bytes"]) else -(-int(cores * job["memory_bytes"]) // MIB)
        after = [job["preceding"] in self.ids, job["preceding"]]
        return Asking(
            number,
            job["submit_s"] * SECOND,
            job["run_s"] * SECOND,
            int(limit) * SECOND,
            chunks,
            {"cores": cores, "memory": memory, "gpus": -(-job["gpus"] // chunks)},
            spread=job["nodes"] > 0,
            whole=bool(exclusive or job["exclusive"]),
            nodes=tuple(node for node in members if has(self.nodes[node][4])),
            after=self.ids.index(after[1]) if after[0] else None,
            think=0 if np.isnan(job["think_s"]) else int(job["think_s"]) * SECOND,
        )

    @property
    def ids(self):
        return [job["ids"] for job in self.jobs]


def drawn_case(seed):
    """Jobs whose times are small whole numbers, so that most of what happens coincides with something else."""
    draw = np.random.default_rng(seed)
    nodes = drawn_nodes(draw)
    partitions = [drawn_partition(draw, len(nodes)) for _ in range(draw.integers(0, 4))]
    case = NodesCase(nodes, partitions, [], drawn_closed(draw, len(nodes)) if draw.random() < 0.3 else [])
    case.policy = {"backfill": BACKFILLS[seed % 4], "order": str(draw.choice(["fcfs", "fcfs", "sjf", "ljf"]))}
    if case.policy["backfill"] == "easy" and draw.random() < 0.3:
        case.policy["candidates"] = "shortest"
    wanted, submit, depends = int(draw.integers(2, 26)), 0, draw.random() < 0.4
    while len(case.jobs) < wanted:
        job = drawn_job(draw, case, submit, depends=depends)
        case.jobs.append(job)
        if not possible(case, len(case.jobs) - 1):
            case.jobs.pop()
        else:
            submit += int(draw.choice([0, 0, 1, 2]))
    for job in case.jobs:
        if waits_for_itself(case, job):
            job["preceding"] = -1
    return case


def waits_for_itself(case, job):
    of_id, before = {other["ids"]: other for other in case.jobs}, job
    for _ in case.jobs:
        before = of_id.get(before["preceding"])
        if before is None:
            return False
    return True


def drawn_nodes(draw):
    kinds = [(2, 8, 0), (4, 16, 0), (4, 16, 2), (8, 8, 1), (1, 64, 0), (8, NO_LIMIT_MIB, 4)]
    chosen = [kinds[k] for k in draw.integers(0, len(kinds), draw.integers(1, 4))]
    features = [(), (), ("fast",), ("big",), ("fast", "big")]
    weights = draw.integers(1, 3)
    return [
        (*chosen[draw.integers(len(chosen))], int(draw.integers(weights)), features[draw.integers(len(features))])
        for _ in range(draw.integers(1, 9))
    ]


def drawn_partition(draw, nodes):
    members = np.flatnonzero(draw.random(nodes) < 0.7).tolist() or [0]
    return members, float(draw.choice([np.inf, 3, 8])), bool(draw.random() < 0.2)


def drawn_closed(draw, nodes):
    spans = []
    for _ in range(draw.integers(1, 4)):
        begin = int(draw.integers(0, 30))
        members = tuple(np.flatnonzero(draw.random(nodes) < 0.5).tolist())
        spans.append((begin, begin + int(draw.integers(1, 9)), members))
    return spans


def drawn_job(draw, case, submit, *, depends):
    run = int(draw.choice(SHORT))
    limit = max(1, int(draw.choice([run, run, run + 1, 2 * run, draw.choice(SHORT)])))
    cores = sum(node[0] for node in case.nodes)
    processors = int(min(1 + draw.geometric(0.25) - 1, cores))
    spread = int(draw.integers(1, min(processors, len(case.nodes)) + 1)) if draw.random() < 0.5 else 0
    memory = [np.nan, np.nan, MIB, 2 * MIB - 1, 5 * MIB // 2, 7 * MIB]
    number = len(case.jobs)
    return {
        "ids": 100 + 3 * number,
        "submit_s": submit,
        "run_s": run,
        "limit_s": limit,
        "processors": processors,
        "nodes": spread,
        "memory_bytes": float(draw.choice(memory)),
        "gpus": int(draw.integers(0, 4)) if spread and draw.random() < 0.3 else 0,
        "exclusive": int(draw.random() < 0.15),
        "partition": int(draw.integers(-1, len(case.partitions))),
        "feature": int(draw.integers(1, len(FEATURES))) if draw.random() < 0.2 else -1,
        "preceding": 100 + 3 * int(draw.integers(0, number + 2)) if depends and draw.random() < 0.4 else -1,
        "think_s": float(draw.choice([np.nan, 0, 1, 3])),
    }


def possible(case, number):
    """Whether a job fits into empty nodes."""
    job, capacity = case.asking(number), [dict(zip(PARTS, node[:3], strict=True)) for node in case.nodes]
    oracle = NodesOracle([job], capacity, [0] * len(capacity))
    return oracle.place(job, 0, []) is not None


def difference(case, expected, engine):
    """The first field in which an engine differs from the oracle, with what both say; empty if they agree."""
    runs = case.runs(engine)
    fields = {
        "start_ticks": [job.start for job in expected],
        "finish_ticks": [job.finish for job in expected],
        "eligible_ticks": [job.joins for job in expected],
        "estimate_ticks": [job.limit for job in expected],
    }
    if case.policy["backfill"] != "none":
        fields["promised_ticks"] = [job.promised for job in expected]
    for name, told in fields.items():
        if (found := getattr(runs, name).tolist()) != told:
            return f"{engine}, {name}: {found}, the oracle {told}\n{case}"
    for job in expected:
        nodes = runs.nodes_of(job.number).tolist()
        if nodes != sorted(job.taken):
            return f"{engine}, nodes of job {job.number}: {nodes}, the oracle {job.taken}\n{case}"
        cores = {node: many * job.each["cores"] for node, many in job.taken.items()}
        if job.whole:
            cores = {node: case.nodes[node][0] for node in job.taken}
        if runs.processors[job.number] != sum(cores.values()):
            return f"{engine}, cores of job {job.number}: {runs.processors[job.number]}, the oracle {cores}\n{case}"
    return ""
