"""A scenario of 16 PEs to sweep over, and questions of points that kill who answers them."""

import os
import signal
import sys
import tempfile
from concurrent.futures import BrokenExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from simulator import whatif
from simulator.experiments.sweep import local, make_plan, simulated, sweep
from simulator.experiments.sweep.work import answer_batch, hand

SCENARIO = """\
format: 1
platform:
  nodes:
  - name: fast
    count: 4
    pes:
    - speeds: {dgemm: 20Gflop/s}
  - name: slow
    count: 12
    pes:
    - speeds: {dgemm: 5Gflop/s}
      load: {trace: load.csv, rule: fair, after_end: cycle}
  link: {latency: 50us, bandwidth: 1Gbit/s}
application:
  name: matmul
  kernel: dgemm
  parameters: {n: 1600}
configurations:
  equal: {partition: equal}
replications: 5
seed: 3
"""
LOAD = "time_s,load\n0,0\n0.5,1\n0.7,3\n1.9,0\n3,0\n"
POISON = 1313


def write(folder):
    """The scenario and its load trace in a folder; the scenario's path."""
    (folder / "load.csv").write_text(LOAD)
    path = folder / "sixteen.yaml"
    path.write_text(SCENARIO)
    return path


def poisoned(scenario, threads):
    """As `simulated`, but one problem size kills its process, as the kernel does when memory is full."""
    if scenario.application.parameters["n"] == POISON:
        os.kill(os.getpid(), signal.SIGKILL)
    return simulated(scenario, threads)


def faulty(scenario, threads):
    """As `simulated`, but one problem size meets an error that nobody foresaw."""
    if scenario.application.parameters["n"] == POISON:
        raise ZeroDivisionError("something nobody thought of")
    return simulated(scenario, threads)


def counted(scenario, threads):
    """As `simulated`, and a line in the file that `COUNTED` names, each time that it is asked."""
    handle = os.open(os.environ["COUNTED"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(handle, f"{scenario.application.parameters['n']}\n".encode())
    os.close(handle)
    return simulated(scenario, threads)


def counted_plan(path, values):
    """Points that are counted; more replications, so that they take a while."""
    varied = whatif.read_varied(f"application.parameters.n={values}")
    return make_plan(path, whatif.points([varied]), ask=counted, replications=400)


if __name__ == "__main__":
    from tests.support import sweep_points  # workers find the question there, not in __main__

    plan = sweep_points.counted_plan(Path(sys.argv[1]), sys.argv[3])
    sweep(plan, partial(local, 2), folder=Path(sys.argv[2]), resume=True)


N = "application.parameters.n"


class Thread:
    """Workers that are one thread of this process."""

    killed = BrokenExecutor

    def __init__(self, plan, pool):
        self.plan = plan
        self.pool = pool

    def count(self):
        return 1

    def submit(self, places):
        return self.pool.submit(answer_batch, self.plan.name, places, self.plan.ask)


@contextmanager
def thread(plan):
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(1) as pool:
        hand(plan.name, plan.payload(), folder, 1)
        yield Thread(plan, pool)


def plan_of(path, *varied, ask=simulated, **options):
    return make_plan(path, whatif.points([whatif.read_varied(text) for text in varied]), ask=ask, **options)


def never(_plan):
    raise AssertionError("workers were started")
