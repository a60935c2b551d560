"""Real processes: ranks, competitors, and that none of them stays behind."""

import json
import os
import signal
import subprocess
import sys
import time

import psutil
import pytest

from simulator import CalibrationError
from simulator.calibration import CommandRanks, Competitor, Ranks, RealProgram
from tests.support.platforms import trace
from tests.support.processes import relatives

CPUS = sorted(os.sched_getaffinity(0))
PAIR = [CPUS[0], CPUS[-1]]


def product(n, cpus):
    return RealProgram("matmul", "dgemm", {"n": n}, (n // len(cpus),) * len(cpus), tuple((cpu,) for cpu in cpus))


def products(units, cpu):
    """So many products of order 600, one after another."""
    parameters = {"units": units, "size": 3 * 600**2, "volume": 2.0 * 600**3}
    return RealProgram("farm", "dgemm", parameters, (units,), ((cpu,),))


def test_ranks_run_where_they_were_put():
    with Ranks(PAIR) as ranks:
        ranks.prepare_program(product(16, PAIR))  # both have started
        children = [psutil.Process(pid) for pid in relatives()]
        assert [child.cpu_affinity() for child in sorted(children, key=lambda c: c.pid)] == [[cpu] for cpu in PAIR]


def test_a_rank_that_dies_is_named_and_the_rest_ends():
    with Ranks(PAIR) as ranks:
        ranks.prepare_program(product(16, PAIR))
        os.kill(max(relatives()), signal.SIGKILL)
        with pytest.raises(CalibrationError, match=r"rank 1: ended early"):
            ranks.run_program(product(16, PAIR))
    assert relatives() == []


@pytest.mark.real
def test_a_kernel_that_cannot_allocate_says_so():
    with Ranks(PAIR[:1]) as ranks:
        ranks.prepare_program(product(10_000_000, PAIR[:1]))
        with pytest.raises(CalibrationError, match=r"ended early: .*(MemoryError|allocate)"):
            ranks.run_program(product(10_000_000, PAIR[:1]))


@pytest.mark.real
@pytest.mark.parametrize("load", [1, 2])
def test_equal_competitors_leave_a_fair_share(load):
    """Rule `fair`: what we and `load` competitors get is shared equally, whoever else is busy here."""
    with Competitor(PAIR[-1], trace([0, 1], [load, load], 2)) as competitor:
        others = [psutil.Process(pid) for pid in relatives()]
        with Ranks(PAIR[-1:]) as ranks, competitor.replay(0):
            ranks.prepare_program(products(100, PAIR[-1]))
            before = cpu_seconds(others)
            (usage,) = ranks.run_program(products(100, PAIR[-1])).compute
            theirs = cpu_seconds(others) - before
    assert usage.cpu_s / (usage.cpu_s + theirs) == pytest.approx(1 / (1 + load), rel=0.12)


SPIN = """
import json, os, sys, time
def theirs():
    ticks = [open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()[11:13] for pid in sys.argv[2:]]
    return sum(int(tick) for pair in ticks for tick in pair) / os.sysconf("SC_CLK_TCK")
before, own, end = theirs(), time.process_time(), time.monotonic() + 2
while time.monotonic() < end: pass
json.dump([time.process_time() - own, theirs() - before], open(sys.argv[1], "w"))
"""


@pytest.mark.real
def test_a_command_has_its_fair_share_beside_competitors_of_their_own_sessions(tmp_path):
    """A command has a session; two busy loops in one session would leave it a half (autogroup), not a third."""
    with Competitor(PAIR[-1], trace([0, 1], [2, 2], 2), apart=True) as competitor:
        loops = [str(pid) for pid in relatives()]
        with CommandRanks(PAIR[-1:]) as ranks, competitor.replay(0):
            ranks.run([[sys.executable, "-S", "-c", SPIN, str(tmp_path / "shares"), *loops]], limit_s=60)
    own_s, their_s = json.loads((tmp_path / "shares").read_text())
    assert own_s / (own_s + their_s) == pytest.approx(1 / 3, rel=0.12)


def cpu_seconds(processes):
    return sum(sum(process.cpu_times()[:2]) for process in processes)


@pytest.mark.real
def test_a_competitor_follows_its_trace_and_rests_afterwards():
    with Competitor(PAIR[-1], trace([0, 0.3], [1, 0], 0.6)) as competitor:
        child = psutil.Process(relatives()[0])
        with competitor.replay(0):
            before = sum(child.cpu_times()[:2])
            time.sleep(1.2)  # two whole periods
            used = sum(child.cpu_times()[:2]) - before
        assert used == pytest.approx(0.6, abs=0.15)
        time.sleep(0.1)
        before = sum(child.cpu_times()[:2])
        time.sleep(0.3)
        assert sum(child.cpu_times()[:2]) - before < 0.05


@pytest.mark.real
def test_each_loop_is_busy_from_its_own_level_on():
    """Load 2, then 1: while both loops are on they share, and the second rests for the other half."""
    with Competitor(PAIR[-1], trace([0, 0.3], [2, 1], 0.6)) as competitor:
        first, second = (psutil.Process(pid) for pid in sorted(relatives()))
        with competitor.replay(0):
            before = cpu_seconds([first]), cpu_seconds([second])
            time.sleep(1.8)
            used = cpu_seconds([first]) - before[0], cpu_seconds([second]) - before[1]
    assert 0.1 < used[1] / used[0] < 0.6


DRIVER = """
import sys
import numpy as np
from simulator import LoadTrace
from simulator.calibration import CommandRanks, Competitor, Ranks, RealProgram
pair = [int(cpu) for cpu in sys.argv[1:]]
load = LoadTrace(np.array([0.0, 1.0]), np.array([1.0, 1.0]), 2.0)
with Ranks(pair) as ranks, Competitor(pair[-1], load) as competitor, competitor.replay(0):
    parameters = {"units": 100_000, "size": 3 * 600**2, "volume": 2.0 * 600**3}
    program = RealProgram("farm", "dgemm", parameters, (50_000, 50_000), tuple((cpu,) for cpu in pair))
    ranks.prepare_program(program)
    print("up", flush=True)
    ranks.run_program(program)  # busy for minutes: no closed pipe would end it sooner
"""


@pytest.mark.real
def test_children_die_with_a_killed_driver():
    command = [sys.executable, "-c", DRIVER, *(str(cpu) for cpu in PAIR)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as driver:
        assert driver.stdout.readline() == b"up\n"
        family = psutil.Process(driver.pid).children(recursive=True)
        assert len(family) == 3
        driver.kill()
    assert psutil.wait_procs(family, timeout=5)[1] == []
