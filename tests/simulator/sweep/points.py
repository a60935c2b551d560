"""A scenario of 16 PEs to sweep over, and questions of points that kill who answers them."""

import os
import signal

from simulator.sweep import simulated

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
