"""HPL simulated beside HPL run for real, from speeds that one-process runs alone told.

`hpl_two_core_vm.csv`: HPL of hpcc 1.5 on a 1 x P grid, blocks of 64, BCAST 0 (increasing ring), DEPTH 0, OpenBLAS in
one thread, on a virtual machine of two AMD EPYC vCPUs (Linux, ticks of 4 ms). Processes are pinned: fast ones to core
0, slow ones to core 1, which they share with so many competitors, busy loops of equal weight. Open MPI with
`mpi_yield_when_idle`, MPICH as it is. With competitors and Open MPI: medians of two runs, nothing else running; with
MPICH one run of each, some of them while other work had begun. Without competitors: the least of three runs, in a
cgroup with nearly all CPU shares while other work went on. HPL's own phase times (HPL_DETAILED_TIMING)
of one process on the fast core: panels (`rfact`), updates with swaps, swaps (`laswp`), and the back substitution
(`up tr sv`).
"""

import csv
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from simulator import run
from simulator.models.network import LinkModel
from simulator.models.speed import SpeedBand
from simulator.platform.nodes import PE, Load, Platform
from simulator.programs.configuration import Configuration
from simulator.scenario_file.scenario import Application, Scenario
from tests.support.platforms import trace

TABLE = Path(__file__).parent / "hpl_two_core_vm.csv"
NB = 64
LINK = LinkModel.from_latency(1e-6, 5e9)
SLICE_S = 4e-3
"""A tick of the kernel; ping-pong on one core takes as long per message where ranks poll."""
WEIGHT = {"openmpi": 2.0, "mpich": 1.0}
"""What two competitors weigh, as one process alone on core 1 tells (3.2 and 2 times as long as on core 0).

MPICH starts its ranks in a session of their own, and the kernel shares a core between sessions first (autogroup).
"""
BOTH_BUSY = 0.571 / 0.636
"""Speed of a core while HPL runs on the other too: two one-process runs of n = 3200 one by one, and at once."""


@cache
def rows():
    with TABLE.open() as file:
        return list(csv.DictReader(file))


def real(mpi, competitors, n):
    """Seconds of each (fast, slow)."""
    return {
        (int(row["fast_processes"]), int(row["slow_processes"])): float(row["time_s"])
        for row in rows()
        if (row["mpi"], row["competitors"], row["n"]) == (mpi, str(competitors), str(n))
    }


def parts(n):
    """Rows left, width, columns behind with the right-hand side, and operations of panels and updates; (K,) each."""
    first = np.arange(0.0, n, NB)
    m, w = n - first, np.minimum(NB, n - first)
    behind = m - w + 1
    panels = w * (m - 1) - w * (w - 1) / 2 + (m - w) * w * (w - 1) + (w - 1) * w * (2 * w - 1) / 3
    return m, w, behind, panels, (w * (w - 1) + 2 * (m - w) * w) * behind


def share(at_full_speed_s, measured_s):
    """The speed that is nearest to measured times, in relative terms."""
    ratio = np.array(at_full_speed_s) / np.array(measured_s)
    return float(np.sum(ratio**2) / np.sum(ratio))


@cache
def speeds(mpi):
    """The update's speed by size, and how fast the other phases are beside it.

    Between two orders the updates of the larger one that the smaller one does not have are those of m rows left, m from
    one order to the other.
    """
    alone = [row for row in rows() if row["mpi"] == mpi and row["panels_s"]]
    orders = np.array([float(row["n"]) for row in alone])
    panels, updates, swaps, solves = (
        np.array([float(row[name]) for row in alone]) for name in ("panels_s", "updates_s", "swaps_s", "substitution_s")
    )
    done = np.array([parts(n)[4].sum() for n in orders])
    speed = np.diff(done, prepend=0) / np.diff(updates - swaps, prepend=0)
    sizes = (orders**2 + np.concatenate(([0], orders[:-1])) ** 2) / 2
    band = SpeedBand(sizes, speed, speed, speed)
    found = []
    for n in orders:
        m, w, behind, factored, _ = parts(n)
        moved = np.sum(2 * w * behind / band.speed(m * (w + behind)))
        solved = np.sum(w**2 / band.speed(w**2) + 2 * w * (n - m) / band.speed(w * np.maximum(n - m, 1)))
        found.append((np.sum(factored / band.speed(m * w)), moved, solved))
    given = zip(("panel_speed", "swap_speed", "solve_speed"), np.transpose(found), (panels, swaps, solves), strict=True)
    return band, {name: share(full, measured) for name, full, measured in given}


def simulated(mpi, competitors, n, *, slice_s=SLICE_S, factor=1.0):
    """Seconds of each (fast, slow) that was run."""
    band, shares = speeds(mpi)
    kernel = {"dgemm": SpeedBand(band.sizes, *(band.mid * factor,) * 3)}
    load = Load(trace([0.0], [WEIGHT[mpi]], 1.0), "fair") if competitors else None
    pes = PE("fast", "vm", kernel, slice_s=slice_s), PE("slow", "vm", kernel, load, slice_s=slice_s)
    waiting = "polling" if mpi == "mpich" else "yielding"
    parameters = {"n": n, "nb": NB, "phases": "all", "waiting": waiting} | shares
    placed = list(real(mpi, competitors, n))
    configurations = tuple(
        Configuration(f"{fast}+{slow}", (1,) * (fast + slow), (0,) * fast + (1,) * slow) for fast, slow in placed
    )
    made = run(Scenario(Platform.uniform(pes, LINK), Application("hpl", "dgemm", parameters), configurations, 1))
    return dict(zip(placed, made.makespan_s[:, 0].tolist(), strict=True))


def judged(mpi, competitors, n, **options):
    """Median of |simulated / real - 1|, rank correlation, and regret of what the simulation calls best."""
    measured, told = real(mpi, competitors, n), simulated(mpi, competitors, n, **options)
    both = np.array([(told[one], measured[one]) for one in measured])
    error = float(np.median(np.abs(both[:, 0] / both[:, 1] - 1)))
    rank = float(stats.spearmanr(both[:, 0], both[:, 1]).statistic)
    return error, rank, measured[min(told, key=told.__getitem__)] / min(measured.values()) - 1


@pytest.mark.parametrize("n", [1200, 2400, 4800])
def test_one_process_takes_its_time_with_and_without_competitors(n):
    """Found: 2 to 12 % too short."""
    told, measured = simulated("openmpi", 2, n), real("openmpi", 2, n)
    for alone in [(1, 0), (0, 1)]:
        assert told[alone] == pytest.approx(measured[alone], rel=0.15)


@pytest.mark.parametrize("n", [1600, 2400, 3200])
def test_two_free_cores(n):
    """Seven configurations; found: errors 2 to 7 %, rank correlation 0.93 to 0.96, regret 0 to 4 %."""
    error, rank, regret = judged("openmpi", 0, n, factor=BOTH_BUSY)
    assert error < 0.12
    assert rank > 0.85
    assert regret < 0.08


def test_speeds_measured_with_one_core_busy_promise_too_much():
    """Found at n = 1600, 2400, 3200: 9, 14 and 16 % with such speeds, 2, 4 and 7 % with both busy."""
    alone, busy = (
        np.mean([judged("openmpi", 0, n, factor=factor)[0] for n in (1600, 2400, 3200)]) for factor in (1, BOTH_BUSY)
    )
    assert busy < 0.6 * alone


@pytest.mark.parametrize("n", [1600, 3200, 4800])
def test_yielding_ranks_beside_two_competitors(n):
    """19 configurations; found: errors 15 to 21 %, rank correlation 0.86 to 0.95, regret 0.

    Without time slices: 52 to 77 %, 0.55 to 0.76, regret 55 to 337 %. Below n = 1600 worse: a round is the most that
    one waits, and several ranks on the loaded core need fewer.
    """
    error, rank, regret = judged("openmpi", 2, n)
    assert error < 0.3
    assert rank > 0.75
    assert regret < 0.05
    assert judged("openmpi", 2, n, slice_s=0.0)[0] > 0.45


@pytest.mark.parametrize("n", [800, 1600, 3200])
def test_polling_ranks_beside_two_competitors(n):
    """19 configurations; found: errors 9 to 18 %, rank correlation 0.92 to 0.96, regret 0.

    One process on each core is an exception, told up to four times too long: a rank that polls alone beside competitors
    is often running when its message comes. Without time slices: 79 to 95 %, 0.18 to 0.61, regret up to 128 %.
    """
    error, rank, regret = judged("mpich", 2, n)
    assert error < 0.3
    assert rank > 0.85
    assert regret < 0.05
    assert judged("mpich", 2, n, slice_s=0.0)[0] > 0.6
