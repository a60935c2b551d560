"""Made-up programs on made-up kinds of PEs, their runs with noise, and runs of HPL that were recorded."""

from pathlib import Path

import numpy as np

from simulator.models.process_count.runs import AllocationRuns

RECORDED = Path(__file__).parents[1] / "simulator/models/process_count/hpl_yielding.csv"
"""HPL 2.3 (the part of Debian's hpcc), 1 x P, block 64, OpenBLAS, Open MPI 4.1.4 that yields while it waits, recorded
2026-11-21 on two cores of a Zen 4 virtual machine: `fast` a free core, `slow` one with two equal busy loops."""


def lu(size, allocations, *, seconds=(6e-10, 2.2e-9, 1.2e-9), panel=8e-7, hop=8e-8, crowd=1e-4):
    """LU in panels: work N^3/P, a lower order that small sizes feel, a ring of messages, processes that wait."""
    size = np.asarray(size, float)[:, None]
    pes, m = allocations[:, :, 0].astype(float), allocations[:, :, 1].astype(float)
    processes = (pes * m).sum(axis=1, keepdims=True)
    work = np.array(seconds[: pes.shape[1]]) * m / processes * (size**3 + 100 * size**2)
    net = processes > m
    messages = net * (panel * size**2 + hop * size**2 * processes + 0.1 * processes)
    messages = messages + ~net * 1.2e-6 * size**2 * (1 - 1 / processes)
    return np.where(pes > 0, work + messages + crowd * size * (m - 1), 0.0).max(axis=1)


def runs_of(allocations, sizes, truth, *, noise=0.0, seed=0, repetitions=1, kinds=None):
    """Every configuration at every size; noise relative, normal."""
    allocations = np.asarray(allocations, dtype=np.int64)
    every = np.concatenate([allocations] * len(sizes) * repetitions)
    size = np.tile(np.repeat(np.asarray(sizes, float), len(allocations)), repetitions)
    rng = np.random.default_rng(seed)
    time_s = truth(size, every) * (1 + noise * rng.standard_normal(len(size)))
    unknown = np.full((len(size), allocations.shape[1]), np.nan)
    kinds = kinds or ("fast", "slow", "middle")[: allocations.shape[1]]
    return AllocationRuns(kinds, size, every, time_s, unknown, unknown.copy())


def cheapest_set():
    """The paper's construction runs: the fast PE alone, 1, 2, 4 or 8 slow ones, 1 to 6 processes on each."""
    fast = [[[1, m], [0, 0]] for m in range(1, 7)]
    return np.array(fast + [[[0, 0], [p, m]] for p in (1, 2, 4, 8) for m in range(1, 7)])


def judged():
    """The paper's 62 configurations."""
    found = [[[0, 0], [p, 1]] for p in range(1, 9)]
    return np.array(found + [[[1, m], [p, min(p, 1)]] for m in range(1, 7) for p in range(9)])


def recorded(largest=np.inf, smallest=0.0):
    """Runs of HPL, all of 19 configurations, twice; see `RECORDED`."""
    table = np.genfromtxt(RECORDED, delimiter=",", names=True)
    table = table[(table["N"] <= largest) & (table["N"] >= smallest)]
    columns = [[table["fastpes"], table["fastprocs"]], [table["slowpes"], table["slowprocs"]]]
    allocations = np.array(columns, dtype=np.int64).transpose(2, 0, 1)
    unknown = np.full((len(table), 2), np.nan)
    return AllocationRuns(("fast", "slow"), table["N"], allocations, table["time_s"], unknown, unknown)


def two_core_tables():
    """HPL on the two cores by MPI and number of busy loops, every configuration at every size; see `test_hpl_real`."""
    path = Path(__file__).parents[1] / "simulator/programs/applications/hpl_two_core_vm.csv"
    table = np.genfromtxt(path, delimiter=",", names=True, dtype=None, encoding="utf-8")
    found = {}
    for mpi, competitors in sorted(set(zip(table["mpi"], table["competitors"], strict=True))):
        own = table[(table["mpi"] == mpi) & (table["competitors"] == competitors)]
        fast, slow = own["fast_processes"].astype(np.int64), own["slow_processes"].astype(np.int64)
        columns = [[np.minimum(fast, 1), fast], [np.minimum(slow, 1), slow]]
        unknown = np.full((len(own), 2), np.nan)
        allocations = np.array(columns, dtype=np.int64).transpose(2, 0, 1)
        size = own["n"].astype(np.float64)
        found[f"{mpi}, {competitors}"] = AllocationRuns(
            ("fast", "slow"), size, allocations, own["time_s"].astype(np.float64), unknown, unknown
        )
    return found


def chosen(runs, keep):
    """Some of the runs."""
    return AllocationRuns(
        runs.kinds, runs.size[keep], runs.allocations[keep], runs.time_s[keep], runs.comp_s[keep], runs.comm_s[keep]
    )
