"""Exact runs of a cluster on which the paper's equations hold."""

import numpy as np

from simulator.models import AllocationRuns

SIZES = (400.0, 800.0, 1200.0, 1600.0, 2400.0)
COMP = {1: (0.3, 1e-4, 2e-8, 3e-10), 2: (0.5, 2e-4, 1e-8, 4e-10), 3: (0.2, 1e-4, 1e-8, 5e-10)}
COMM = {1: (0.1, 1e-5, 2e-8), 2: (0.2, 2e-5, 1e-8), 3: (0.3, 1e-5, 3e-8)}
"""By processes per PE, the constant first: reference curves of two PEs."""


def curve(coefficients, size):
    return sum(k * size**power for power, k in enumerate(coefficients))


def alone(m, size, factor=1.0):
    """Computation and communication of one PE alone."""
    return factor * curve((0.05 * m, 2e-5, 1e-8, 6e-10 * m), size), factor * curve((0.01 * m, 1e-6, 3e-9 * m), size)


def shared(m, size, processes):
    """P-T with the reference at two PEs: k7 = 1, k8 = 0; k9 and k10 such that they give the reference back there."""
    reference = 2 * m
    k9 = 0.05 / m
    k10 = reference * (1 - k9 * reference)
    comm = curve(COMM[m], size)
    return reference * curve(COMP[m], size) / processes, k9 * processes * comm + k10 * comm / processes


def one_kind(m, pes, size):
    return alone(m, size) if pes == 1 else shared(m, size, pes * m)


def make(rows, kinds=("fast", "slow"), *, phases=True):
    """Rows of (size, {kind: (pes, m, comp, comm)})."""
    size = np.array([row[0] for row in rows], float)
    allocations = np.zeros((len(rows), len(kinds), 2), np.int64)
    comp, comm = np.full((2, len(rows), len(kinds)), np.nan)
    for i, (_, used) in enumerate(rows):
        for name, (pes, m, computation, communication) in used.items():
            allocations[i, kinds.index(name)] = pes, m
            comp[i, kinds.index(name)], comm[i, kinds.index(name)] = computation, communication
    time_s = np.nanmax(comp + comm, axis=1)
    if not phases:
        comp, comm = np.full((2, *comp.shape), np.nan)
    return AllocationRuns(kinds, size, allocations, time_s, comp, comm)


def slow_rows(ms=(1, 2, 3), counts=(1, 2, 3, 4), sizes=SIZES):
    return [(n, {"slow": (p, m, *one_kind(m, p, n))}) for m in ms for p in counts for n in sizes]


def fast_rows(ms=(1, 2, 3), sizes=SIZES):
    return [(n, {"fast": (1, m, *(0.5 * np.array(one_kind(m, 1, n))))}) for m in ms for n in sizes]


def allocation(*rows):
    return np.array(rows).reshape(len(rows), -1, 2)
