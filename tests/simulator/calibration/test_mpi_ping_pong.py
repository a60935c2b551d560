"""Ping-pong between MPI ranks, started by mpiexec; collected only where mpi4py is installed."""

import os

import psutil
import pytest

from simulator import CalibrationError
from simulator.calibration import LinkPlan, measure_link_times
from simulator.calibration.bench import group
from simulator.calibration.pingpong import campaign
from simulator.calibration.pingpong.pairs import local_pair
from tests.support.processes import relatives

CPUS = sorted(os.sched_getaffinity(0))


def test_ranks_exchange_messages_and_end():
    with local_pair("mpi", (CPUS[0], CPUS[-1])) as pair:
        assert pair.library
        for size in (1, 2**20):
            assert 0 < pair.sample_s(size, rounds=2, batches=2) < 60
    assert relatives() == []


def test_a_rank_that_dies_is_told():
    with local_pair("mpi", (CPUS[0], CPUS[-1])) as pair:
        ranks = [p for p in psutil.Process().children(recursive=True) if group.WORKER in p.cmdline()]
        ranks[0].kill()
        with pytest.raises(CalibrationError, match="MPI rank"):
            pair.sample_s(2**20, rounds=1, batches=1)
    assert relatives() == []


def test_ranks_that_do_not_start(monkeypatch):
    monkeypatch.setattr(group, "WORKER", "simulator.no_such_module")
    found = "mpiexec: the ranks did not start: .*no_such_module"
    with pytest.raises(CalibrationError, match=found), local_pair("mpi", (CPUS[0], CPUS[-1])):
        pass
    assert relatives() == []


def test_a_measurement_names_the_library(monkeypatch):
    monkeypatch.setattr(campaign, "SAMPLE_S", 0.0005)
    monkeypatch.setattr(campaign, "MOST_SAMPLES", 3)
    found = measure_link_times(LinkPlan("mpi", max_bytes=64, budget_s=60), store=None)
    assert found.link.library
    assert [size.samples for size in found.sizes] == [3] * 12
