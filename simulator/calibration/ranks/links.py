"""Message times between real processes, by ping-pong."""

from collections.abc import Sequence

import numpy as np

from simulator.calibration.ranks.ranks import Ranks
from simulator.models.network import LinkModel, fit_link

SIZES_BYTES = tuple(4**power for power in range(5, 14))
"""1 KiB to 64 MiB."""


def measure_link(
    ranks: Ranks, *, rounds: int, generator: np.random.Generator, peers: Sequence[int] | None = None
) -> LinkModel:
    """Message times from rank 0 to others: the median over `rounds` and peers per size, in random order.

    Whatever load is on counts: who copies a payload needs the PE.
    """
    if peers is None:
        peers = range(1, len(ranks.cpus))
    times: dict[int, list[float]] = {size: [] for size in SIZES_BYTES}
    for size in SIZES_BYTES:
        ranks.ping(size, peer=peers[0])  # warms buffers and pages
    for _ in range(rounds):
        for size in generator.permutation(SIZES_BYTES).tolist():
            times[size] += [ranks.ping(size, peer=peer) for peer in peers]
    return fit_link(SIZES_BYTES, [float(np.median(times[size])) for size in SIZES_BYTES])
