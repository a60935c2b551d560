"""`apportion jobs ...` on nodes as Slurm describes them: what a planner hands over and gets."""

import json

import numpy as np
import pytest

from tests.support.command_line import apportion_here as apportion

NODES = """NodeName=DEFAULT CPUs=4 RealMemory=8000
NodeName=n[1-4] Weight=1
NodeName=g1 Gres=gpu:x:2 Weight=9
PartitionName=long Nodes=n[1-4] Default=YES
PartitionName=gpu Nodes=g1 OverSubscribe=EXCLUSIVE
"""
HEAD = "JobID|User|Partition|Submit|Start|End|Timelimit|ReqCPUS|AllocCPUS|NNodes|ReqMem|ReqTRES|AllocTRES|State"


def log(jobs=130):
    """Each minute a job of four cores for 18 minutes on four nodes, so that they queue; each tenth one wants a GPU."""
    at = np.datetime64("2026-03-02T00:00:00")
    rows, free = [HEAD], [0, 0, 0, 0]
    for job in range(jobs):
        gpu, submit = job % 10 == 9, 60 * job
        start = submit if gpu else max(submit, min(free))
        end = start + (300 if gpu else 18 * 60)
        if not gpu:
            free[free.index(min(free))] = end
        times = "|".join(str(at + np.timedelta64(one, "s")) for one in (submit, start, end))
        cpus, tres = (1, "cpu=1,gres/gpu:x=1,gres/gpu=1") if gpu else (4, "cpu=4")
        kind = f"{'gpu' if gpu else 'long'}|{times}|0-00:20:00|{cpus}|{cpus}|1|1G|{tres}|{tres}|COMPLETED"
        rows.append(f"{job + 1}|u{job % 3}|{kind}")
    return "\n".join(rows) + "\n"


@pytest.fixture
def here(tmp_path):
    (tmp_path / "slurm.conf").write_text(NODES)
    (tmp_path / "jobs.txt").write_text(log())
    return tmp_path


def test_a_log_on_its_own_nodes_is_right_and_each_partition_is_compared(here):
    done = apportion("jobs", "jobs.txt", "--platform", "slurm.conf", "--draws", "none", "--json", "--target",
                     "mean wait 10min", "--price", "n2=9000,g1=40000", cwd=here)  # fmt: skip
    found = json.loads(done.stdout)
    test = found["backtest"]
    assert test["wait_s"]["log"] == pytest.approx(test["wait_s"]["simulated"])
    waits = {one["name"]: (one["log"], one["simulated"]) for one in test["by_partition"]}
    assert waits["long"][1] == pytest.approx(waits["long"][0])
    assert waits["long"][0] > 600
    assert waits["gpu"] == (0, 0)
    (best,) = found["capacity"]
    assert (best["of"], best["now"]) == ("nodes like n[1-4] (4 cores, 7.812 GiB)", 4)
    assert best["price"] == 9000 * (best["fewest"] - 4)


def test_more_of_a_node_keep_to_a_target_and_one_less_does_not(here):
    done = apportion("jobs", "jobs.txt", "--platform", "slurm.conf", "--draws", "none", "--json", "--target",
                     "mean wait 10min", cwd=here)  # fmt: skip
    fewest = json.loads(done.stdout)["capacity"][0]["fewest"]
    for count, kept in ((fewest, True), (fewest - 1, False)):
        (here / "other.conf").write_text(NODES.replace("n[1-4]", f"n[1-{count}]"))
        ran = apportion("jobs", "run", "jobs.txt", "--platform", "other.conf", "--json", cwd=here)
        assert (json.loads(ran.stdout)["averages"]["wait_s"] <= 600) == kept


def test_compare_and_forecast_run_on_nodes(here):
    done = apportion("jobs", "compare", "jobs.txt", "--platform", "slurm.conf", "--draws", "none", "--json", cwd=here)
    easy, fcfs = json.loads(done.stdout)["alternatives"]
    assert easy["pes"] == 20
    assert easy["metrics"]["wait"] <= fcfs["metrics"]["wait"]
    done = apportion("jobs", "forecast", "jobs.txt", "--platform", "slurm.conf", "--job", "100", "--json", cwd=here)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["at_once"], "the node with GPUs is free"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--platform", "slurm.conf", "--procs", "20"], "--procs has no effect with the 5 nodes of slurm.conf"),
        (["--platform", "slurm.conf", "--change", "a=b"], "--change a=b: only scenarios are changed so"),
        (["--platform", "small.conf"], "of 130 jobs do not fit on these nodes, the largest: job "),
        (["--platform", "slurm.conf", "--price", "n9=5"], "price: n9 is no change with a price"),
    ],
)  # fmt: skip
def test_what_does_not_go_together_is_one_line(here, arguments, said):
    (here / "small.conf").write_text("NodeName=n[1-8] CPUs=4\n")
    done = apportion("jobs", "jobs.txt", "--draws", "none", *arguments, cwd=here)
    assert done.returncode == 2, done.stdout
    assert said in done.stderr
