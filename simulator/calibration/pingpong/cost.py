"""What a message costs in CPU at its ends: ping-pongs by the system's accounting, alone and beside a computation."""

from collections.abc import Sequence
from contextlib import ExitStack

import numpy as np

from simulator.calibration.bench.competitor import Competitor
from simulator.calibration.pingpong.pairs import Pairs
from simulator.models.load import LoadTrace
from simulator.models.network.message_cost import CpuCost, MessageCost, fit_cpu_cost, memory_bytes_per_byte

SIZES = (1, 4096, 65_536, 2**20, 2**22)
"""Bytes of the messages, as far as they are allowed; always the largest allowed too, up to the last."""
WANTED_S = 0.02
"""About how long the ping-pongs of a sample take alone."""
BESIDE_ROUNDS = 10
"""Ping-pongs of a sample beside computations: each may wait for a time slice."""
SAMPLES = 3
MOST_ROUNDS = 2000
BUSY = LoadTrace(np.array([0.0]), np.array([1.0]), 3600.0)
"""One competitor, always."""


def measure_cost(pairs: Pairs, medium: str, *, max_bytes: int, cpus: Sequence[int]) -> MessageCost:
    """CPU seconds of messages of the first pair, by size.

    Parameters
    ----------
    cpus
        Processors of both ends, on each of which a computation runs for the second measurement; none for no such.

    Raises
    ------
    CalibrationError
        If a process ends early.
    """
    sizes = sorted({size for size in SIZES if size < max_bytes} | {min(max_bytes, SIZES[-1])})
    alone = _fitted(pairs, sizes, rounds=None)
    beside = None
    if cpus:
        with ExitStack() as stack:
            for cpu in dict.fromkeys(cpus):
                stack.enter_context(stack.enter_context(Competitor(cpu, BUSY)).replay(0.0))
            beside = _fitted(pairs, sizes, rounds=BESIDE_ROUNDS)
    return MessageCost(alone, beside, memory_bytes_per_byte(medium))


def _fitted(pairs: Pairs, sizes: Sequence[int], *, rounds: int | None) -> CpuCost:
    seconds = []
    for size in sizes:
        count = rounds or _rounds(pairs, size)
        pairs.cpu_s(size, rounds=1)  # pages and buffers are there afterwards
        seconds.append(float(np.median([pairs.cpu_s(size, rounds=count) for _ in range(SAMPLES)])))
    return fit_cpu_cost(sizes, np.maximum(seconds, 1e-9))


def _rounds(pairs: Pairs, size: int) -> int:
    once_s = 2 * pairs.sample_s("one_way", size, rounds=1, batches=5)
    return min(MOST_ROUNDS, max(2, round(WANTED_S / once_s)))
