"""Two processes in lockstep, each in a control group with a quota: what they really take, and what is simulated."""

import multiprocessing
import os
import time
from pathlib import Path

import numpy as np
import pytest

from simulator import Quota, run
from tests.simulator.engines.test_quotas import of_run, unit_pe

CGROUPS = Path("/sys/fs/cgroup/cpu")
"""Version 1."""
CPU, PERIOD_S, TURNS = 0.37, 0.1, 40
PAIRS = 8
"""Of control groups: how their periods lie to each other, which the kernel draws, moves computing by a third."""

pytestmark = [pytest.mark.real, pytest.mark.skipif(not os.access(CGROUPS, os.W_OK), reason="no control groups")]


def take_part(cpu, folder, work_s, partner, answers):
    """Compute and meet, as long as it takes; wall seconds in all, and of computing."""
    (folder / "cgroup.procs").write_text(str(os.getpid()))
    os.sched_setaffinity(0, {cpu})
    time.sleep(0.037 * cpu)  # out of step
    busy_s, begun = 0.0, time.monotonic()
    for turn in range(TURNS + 1):
        partner.send_bytes(b"x")
        partner.recv_bytes()
        if turn == TURNS:
            break
        if turn == 0:
            begun = time.monotonic()
        since, until = time.monotonic(), time.thread_time() + work_s
        while time.thread_time() < until:
            pass
        busy_s += time.monotonic() - since
    answers.put((time.monotonic() - begun, busy_s))


def real_s(tmp_path, work_s):
    """Makespan, and the mean of what the two computed."""
    folders, answers, ends = [], multiprocessing.Queue(), multiprocessing.Pipe()
    for number in range(2):
        folders.append(CGROUPS / f"{tmp_path.name}-{number}")
        folders[-1].mkdir()
        (folders[-1] / "cpu.cfs_period_us").write_text(str(round(PERIOD_S * 1e6)))
        (folders[-1] / "cpu.cfs_quota_us").write_text(str(round(CPU * PERIOD_S * 1e6)))
    parts = [
        multiprocessing.Process(target=take_part, args=(number, folders[number], work_s, ends[number], answers))
        for number in range(2)
    ]
    for part in parts:
        part.start()
    found = np.array([answers.get(timeout=60) for _ in parts])
    for part in parts:
        part.join()
    for folder in folders:
        folder.rmdir()
    return found[:, 0].max(), found[:, 1].mean()


@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="one processor")
@pytest.mark.parametrize("work_s", [0.01, 0.02, 0.05])
def test_lockstep_under_quotas_takes_what_is_simulated(tmp_path, work_s):
    """An availability of the same mean says that nobody waits: there computing takes 6 to 30 % too long."""
    real = np.array([real_s(tmp_path, work_s) for _ in range(PAIRS)])
    runs = run(of_run([unit_pe(name, Quota(CPU, PERIOD_S)) for name in "ab"], TURNS, work_s), replications=200)
    computing_s = runs.busy_ticks[0].mean(axis=1) * runs.tick_s
    simulated = runs.makespan_s.mean(), computing_s.mean()
    print(f"{work_s} s: {real.mean(axis=0)} s in all and computing, {simulated} simulated")
    assert runs.makespan_s.mean() == pytest.approx(real[:, 0].mean(), rel=0.1)
    assert computing_s.mean() == pytest.approx(real[:, 1].mean(), rel=0.1)
    assert computing_s.mean() < TURNS * work_s / CPU
    inside = (real[:, 1] > 0.95 * computing_s.min()) & (real[:, 1] < 1.05 * computing_s.max())
    assert inside.all(), real[:, 1]
