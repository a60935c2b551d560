"""The real slurmctld beside our simulation of it: made-up jobs of 1 to 20 s that sleep on nodes that all run here.

Slurm decides in real time, so a stream takes some six minutes and hardly any processor time; several can run at once.
Submissions, starts and ends are those of Slurm's own completion log (whole seconds); the simulation gets the
submissions and run times that were measured, so only decisions are compared. Limits are whole minutes, far longer than
the jobs: most plans of the backfill scheduler are never reached. Without slurmdbd Slurm ignores age and fair share:
`aged` and `fair` run it, with a database. `slurmctld/` holds what slurmctld 22.05.8 of Debian 12 did on 2 cores.

    python -m tests.studies.slurm_study basic -o FOLDER     # a stream through slurmctld: writes basic.csv
    python -m tests.studies.slurm_study --compare FOLDER    # what the simulation says of all streams in it
"""

import argparse
import csv
import re
import subprocess
import tempfile
import time
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

import numpy as np

from simulator import JobNodes, JobPartition, make_stream
from simulator.engines.jobs import run_jobs
from simulator.scheduling.slurm import Account
from simulator.scheduling.slurm_conf import written_policy
from tests.support.slurm_daemons import ACCOUNTED, ALL, accounting, ask, daemons, free_ports, host_name

RECORDED = Path(__file__).parent / "slurmctld"
NODES, CORES = 8, 4
JOBS, LASTING_S = 220, 280.0
"""So many that somebody waits nearly always: the jobs ask for about 1.2 times the cores while they are submitted."""
AFTER_S = 400.0
USERS = ("games", "man", "lp", "mail", "news", "uucp")
COLUMNS = ("job", "array", "submit_s", "start_s", "end_s", "nodes", "cpus", "limit_s", "user", "partition", "after")
COMPLETION = "JobCompType=jobcomp/filetxt\nJobCompLoc={folder}/completed.txt\nMaxJobCount=5000"
BACKFILL = "bf_interval=1,bf_resolution=1,bf_window=120,sched_interval=10,batch_sched_delay=1"
MULTIFACTOR = "PriorityType=priority/multifactor\nPriorityCalcPeriod=1\nPriorityMaxAge=10\nPriorityWeightJobSize=3000"
ACCOUNTS = (("account", "physics", "fairshare=3"), ("account", "chemistry", "fairshare=1"))
ACCOUNTS += (("account", "optics", "parent=physics", "fairshare=2"),)
OF_USERS = {
    "games": "physics",
    "man": "optics",
    "lp": "optics",
    "mail": "chemistry",
    "news": "chemistry",
    "uucp": "physics",
}
FAIR = (
    "PriorityType=priority/multifactor\nPriorityCalcPeriod=1\nPriorityMaxAge=10\nPriorityDecayHalfLife=5\n"
    "PriorityWeightAge=4000\nPriorityWeightFairshare=10000\nPriorityWeightJobSize=1000"
)
TWO = (
    "PartitionName=long Nodes=n[1-8] Default=YES MaxTime=10 State=UP PriorityJobFactor=1\n"
    "PartitionName=short Nodes=n[5-8] MaxTime=2 State=UP PriorityJobFactor=10"
)
TIERS = TWO.replace("MaxTime=2 State=UP", "MaxTime=2 State=UP PriorityTier=2")
_FIELD = re.compile(r"(\w+)=(\S*)")


@dataclass(frozen=True)
class Asked:
    """One job: seconds after the begin, and what sbatch is asked for."""

    at_s: float
    run_s: float
    nodes: int
    tasks: int
    limit_min: int
    user: str
    partition: str = ""
    after: int = -1
    array: int = 1


@dataclass(frozen=True)
class Streamed:
    """Lines of slurm.conf, and which kinds of jobs there are."""

    conf: str
    seed: int
    arrays: bool = False
    accounted: bool = False
    partitions: tuple[str, ...] = ("",)


STREAMS = {
    "basic": Streamed(f"PriorityType=priority/basic\n{ALL}", 1),
    "size": Streamed(f"{MULTIFACTOR}\n{ALL}", 2),
    "fair": Streamed(f"{FAIR}\n{ALL}", 6, accounted=True),
    "aged": Streamed(f"{MULTIFACTOR}\nPriorityWeightAge=10000\n{ALL}", 7, accounted=True),
    "small": Streamed(f"{MULTIFACTOR}\nPriorityFavorSmall=YES\n{ALL}", 3, arrays=True),
    "partitions": Streamed(f"{MULTIFACTOR}\nPriorityWeightPartition=4000\n{TWO}", 4, partitions=("long", "short")),
    "tiers": Streamed(f"{MULTIFACTOR}\n{TIERS}", 5, arrays=True, partitions=("long", "short")),
}


def jobs_of(stream, jobs=JOBS, lasting_s=LASTING_S):
    """Jobs on whole-node requests (`-N`) and packed ones (`-n`), some of them arrays or after another one."""
    draw = np.random.default_rng(stream.seed)
    at_s = np.sort(draw.uniform(0, lasting_s, jobs))
    found = []
    for number in range(jobs):
        partition = str(draw.choice(stream.partitions))
        largest = NODES // 2 if partition == "short" else NODES
        nodes = int(min(largest, draw.choice([0, 0, 0, 1, 1, 2, 2, 3, 4, 6])))
        tasks = nodes * int(draw.choice([1, 2, 4])) if nodes else int(min(largest * CORES, draw.geometric(0.25)))
        limit = int(draw.choice([1, 1, 1, 2] if partition == "short" else [1, 1, 2, 3, 5]))
        run_s, user = round(float(np.exp(draw.uniform(0, np.log(20)))), 1), str(draw.choice(USERS))
        special = draw.random() if stream.arrays else 1.0
        after = int(draw.integers(max(0, number - 15), number)) if special < 0.1 and number else -1
        after = after if after >= 0 and found[after].array == 1 else -1
        array = int(draw.integers(2, 5)) if special > 0.93 and stream.arrays else 1
        found.append(Asked(float(at_s[number]), run_s, nodes, tasks, limit, user, partition, after, array))
    return found


def submitted(environment, folder, job, ids):
    """The id that sbatch names."""
    words = ["sbatch", "--parsable", f"--uid={job.user}", f"--time={job.limit_min}", f"--ntasks={job.tasks}"]
    words += ["--output=/dev/null", "--chdir=/tmp", "--mem=1", f"--wrap=exec sleep {job.run_s}"]
    words += [f"--nodes={job.nodes}", f"--ntasks-per-node={job.tasks // job.nodes}"] if job.nodes else []
    words += [f"--partition={job.partition}"] if job.partition else []
    words += [f"--dependency=afterok:{ids[job.after]}"] if job.after >= 0 else []
    words += [f"--array=1-{job.array}"] if job.array > 1 else []
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=True, cwd=folder)
    return int(done.stdout.split(";")[0])


def real(stream, *, jobs=JOBS, lasting_s=LASTING_S):
    """Rows of what slurmctld did with a stream, by id."""
    asked, lines, before = jobs_of(stream, jobs, lasting_s), COMPLETION, ()
    if stream.accounted:
        ports, tree = free_ports(2), [*ACCOUNTS, *(("user", user, f"account={of}") for user, of in OF_USERS.items())]
        lines += "\n" + ACCOUNTED.format(host=host_name(), port=ports[0], folder="{folder}")
        before = lambda folder: accounting(folder, tree, ports)  # noqa: E731
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        conf = f"SchedulerParameters={BACKFILL}\n{stream.conf}\n{lines}"
        names = [f"n{number}" for number in range(1, NODES + 1)]
        (folder / "completed.txt").touch()
        with daemons(folder, names, cpus=CORES, lines=conf, before=before) as environment:
            ids, begin = [], time.monotonic()
            for job in asked:
                time.sleep(max(0.0, begin + job.at_s - time.monotonic()))
                ids.append(submitted(environment, folder, job, ids))
            deadline = time.monotonic() + AFTER_S
            while ask(environment, "squeue", "-h").strip() and time.monotonic() < deadline:
                time.sleep(3)
            time.sleep(3)
            text = (folder / "completed.txt").read_text()
        return rows_of(text, dict(zip(ids, asked, strict=True)), ids)


def rows_of(text, asked, ids):
    """Of the completion log; `array` is the id of the job or of its array, `after` that of the one before."""
    found = []
    for line in text.splitlines():
        said = dict(_FIELD.findall(line))
        first = int(said.get("ArrayJobId") or said["JobId"])
        job = asked[first if first in asked else int(said["JobId"])]
        times = [datetime.fromisoformat(said[key]).timestamp() for key in ("SubmitTime", "StartTime", "EndTime")]
        after = ids[job.after] if job.after >= 0 else -1
        cells = (int(said["JobId"]), first, *times, job.nodes, job.tasks, job.limit_min * 60)
        found.append(dict(zip(COLUMNS, (*cells, job.user, job.partition, after), strict=True)))
    begin = min(row["submit_s"] for row in found)
    for row in found:
        row |= {key: int(row[key] - begin) for key in ("submit_s", "start_s", "end_s")}
    return sorted(found, key=lambda row: row["job"])


def save(path, rows):
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


# What the simulation says


def recorded(path):
    """What slurmctld did, as a stream with its waits; accounts are those of the users."""
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    column = {key: np.array([int(row[key]) for row in rows]) for key in COLUMNS if key not in ("user", "partition")}
    labels = {"user": [row["user"] for row in rows], "account": [OF_USERS[row["user"]] for row in rows]}
    labels["partition"] = [row["partition"] for row in rows]
    names = {key: tuple(sorted(set(values))) for key, values in labels.items()}
    numbers = {key: [names[key].index(value) for value in values] for key, values in labels.items()}
    if names["partition"] == ("",):
        numbers["partition"] = [-1] * len(rows)
    return make_stream(
        path.stem,
        submit_s=column["submit_s"],
        processors=column["cpus"],
        run_s=np.maximum(1, column["end_s"] - column["start_s"]),
        limit_s=column["limit_s"],
        wait_s=column["start_s"] - column["submit_s"],
        ids=column["job"],
        nodes=column["nodes"],
        preceding=column["after"],
        names=names,
        **numbers,
    )


def as_written(stream):
    """The policy and the nodes of a stream's lines of slurm.conf."""
    lines = [dict(re.findall(r"(\w+)=(\S+)", line)) for line in stream.conf.splitlines()]
    parts = {one["PartitionName"]: one for one in lines if "PartitionName" in one}
    settings = {key.lower(): value for one in lines if "PartitionName" not in one for key, value in one.items()}
    settings["schedulerparameters"] = BACKFILL
    factors = {name: int(one.get("PriorityJobFactor", 1)) for name, one in parts.items()}
    policy, _ = written_policy(settings, "slurm.conf", factors)
    shares = {name: dict(word.split("=") for word in words) for _, name, *words in ACCOUNTS}
    tree = [Account(name, said.get("parent", "root"), int(said["fairshare"])) for name, said in shares.items()]
    tree.append(Account("root", "root", 1, "root"))
    policy = replace(policy, slurm=replace(policy.slurm, accounts=tuple(tree))) if stream.accounted else policy
    partitions = [
        JobPartition(
            name,
            np.arange(NODES // 2 if name == "short" else 0, NODES),
            float(one["MaxTime"]) * 60,
            tier=int(one.get("PriorityTier", 1)),
        )
        for name, one in parts.items()
        if name != "all"
    ]
    names = tuple(f"n{number}" for number in range(1, NODES + 1))
    same = (np.full(NODES, value) for value in (CORES, 1000, 0, 1))
    return policy, JobNodes(names, *same, partitions=tuple(partitions))


@dataclass(frozen=True)
class Compared:
    """Waits in s by slurmctld and simulated, and in what order jobs start."""

    jobs: int
    real_s: float
    simulated_s: float
    apart_s: float
    """Mean of absolute differences."""
    worst_s: float
    order: float
    """Of pairs of jobs that start at different seconds, those in one order."""


def compared(name, folder=RECORDED, *, backfill="slurm", longer_s=0):
    """One stream, with another way to backfill, or each job so much longer."""
    stream = recorded(folder / f"{name}.csv")
    policy, nodes = as_written(STREAMS[name])
    stream = replace(stream, run_s=stream.run_s + longer_s)
    runs = run_jobs(stream, nodes, replace(policy, backfill=backfill), engine="process")
    apart, (one, other) = np.abs(runs.wait_s - stream.wait_s), np.triu_indices(len(stream), 1)
    real, ours = stream.submit_s + stream.wait_s, runs.start_s
    signs = [np.sign(starts[one] - starts[other]) for starts in (real, ours)]
    differ = (signs[0] != 0) & (signs[1] != 0)
    return Compared(
        len(stream),
        float(stream.wait_s.mean()),
        float(runs.wait_s.mean()),
        float(apart.mean()),
        float(apart.max()),
        float(np.mean(signs[0][differ] == signs[1][differ])),
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("streams", nargs="*")
    parser.add_argument("--compare", type=Path)
    parser.add_argument("--jobs", type=int, default=JOBS)
    parser.add_argument("--lasting", type=float, default=LASTING_S)
    parser.add_argument("-o", "--output", type=Path, default=Path("out/slurm"))
    asked = parser.parse_args()
    for name in asked.streams:
        asked.output.mkdir(parents=True, exist_ok=True)
        save(asked.output / f"{name}.csv", real(STREAMS[name], jobs=asked.jobs, lasting_s=asked.lasting))
    for path in sorted(asked.compare.glob("*.csv")) if asked.compare else ():
        for backfill, longer_s in (("slurm", 0), ("easy", 0), ("none", 0), ("slurm", 1)):
            print(
                path.stem,
                backfill,
                f"+{longer_s} s",
                compared(path.stem, asked.compare, backfill=backfill, longer_s=longer_s),
            )


if __name__ == "__main__":
    main()
