"""Which sizes a quickstart measures and runs, so that it fits its budget, the caches and the memory."""

import numpy as np

from simulator import LoadTrace, Machine, availability
from simulator.calibration import Point

KERNEL = "dgemm"
"""What the application computes with."""
VERIFY = 0.45
"""Share of the budget for real runs of the application."""
PAIRED_REPETITIONS = 6
"""Real runs of each configuration that the application's size is chosen for."""
MEMORY_SHARE = 0.25
"""Most of the available memory that anything here uses."""
SAMPLE_S = 0.08
"""About how long one run of a kernel may take at a general size: then it gets fewer rows."""
ALIKE = 1.15
"""Panels whose rows are not so many times apart are measured once."""
SHORT_BUDGET_S = 30.0
"""Below it, fewer general sizes are measured."""
PANEL_SHARE = 0.013
"""Share of the budget that one run of the application's own panels may take: longer ones get fewer rows."""


def application_order(machine: Machine, pes: int, *, budget_s: float, speed: float, trace: LoadTrace) -> int:
    """The order n of the matrices for which real runs of all repetitions fit the budget and the memory.

    Parameters
    ----------
    machine, pes
        For the memory, and how many PEs take part.
    budget_s
        Of the whole quickstart, in seconds.
    speed
        A first idea of the kernel's, in operations per second.
    trace
        Load on the last PE.
    """
    share = float(np.mean(availability(trace.values, "fair")))
    overhead_s = 0.4  # of one pair of runs: distributing, checking, switching the load
    equal_s = max(0.15, (VERIFY * budget_s / (PAIRED_REPETITIONS + 1) - overhead_s) / 1.6)
    in_time = (equal_s * pes * speed * share / 2) ** (1 / 3)
    matrices = 3 + 2 + 3 * (pes + 2)  # A, B and C; room for the check; B and parts of A and C in every rank
    in_memory = (MEMORY_SHARE * machine.memory_available_bytes / 8 / matrices) ** 0.5
    return max(64 * pes, int(min(in_time, in_memory)) // 8 * 8)


def measuring_points(machine: Machine, pes: int, n: int, *, speeds: dict[str, float], budget_s: float) -> list[Point]:
    """The application's own panels, and general sizes of both kernels from cache-resident to past the last-level cache.

    Parameters
    ----------
    machine, pes
        For the caches and the memory, and how many PEs measure at once.
    n
        Order of the application's matrices.
    speeds
        By kernel, a first idea of its speed; large sizes get as few rows as fit the time for one run.
    budget_s
        Of the whole quickstart, in seconds; a short one measures fewer sizes.
    """
    past_cache = (2.5 * max(machine.last_level_cache_bytes, 2**25) / 8) ** 0.5
    in_memory = (MEMORY_SHARE * machine.memory_available_bytes / 8 / 4 / pes) ** 0.5
    largest = int(min(past_cache, in_memory)) // 8 * 8
    points = [Point(KERNEL, n, rows) for rows in panel_rows(n, pes, speed=speeds[KERNEL], budget_s=budget_s)]
    for kernel, slowdown in ((KERNEL, 1.0), ("matmul", 4.0)):  # the textbook loops slow down past the caches
        inner = {64, 1024} if budget_s < SHORT_BUDGET_S else {64, 256, 1024}
        for order in sorted(order for order in inner | {largest} if order <= max(largest, n)):
            rows = int(SAMPLE_S * speeds[kernel] / slowdown / (2 * order * order))
            if kernel != KERNEL or order != n:
                points.append(Point(kernel, order, max(8, min(order, rows))))
    return points


def panel_rows(n: int, pes: int, *, speed: float, budget_s: float) -> list[int]:
    """Rows of the application's panels that are measured: what equal and advised splits use, and what is about them.

    Parameters
    ----------
    n, pes
        Order of the matrices, and how many PEs take part.
    speed
        A first idea of the kernel's, in operations per second.
    budget_s
        Of the whole quickstart, in seconds: no panel takes more than `PANEL_SHARE` of it.
    """
    wanted = (n / (8 * pes), n / (2 * pes), n / pes, n / pes**0.5, n)
    most = max(8, int(PANEL_SHARE * budget_s * speed / (2 * n * n)))
    found = sorted({max(1, min(int(rows), most, n)) for rows in wanted})
    return [rows for rows, more in zip(found, [*found[1:], found[-1] * 9], strict=True) if more > ALIKE * rows]
