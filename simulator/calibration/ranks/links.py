"""Message times between real processes, by ping-pong."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace

import numpy as np

from simulator.calibration.ranks.ranks import Ranks
from simulator.models.doubt import Doubt, Floats, doubt_of_errors
from simulator.models.network import LinkModel, fit_link

SIZES_BYTES = tuple(4**power for power in range(5, 14))
"""1 KiB to 64 MiB."""


OUTER = 0.1
"""Share of the times of a size, on either side, that its mean is without."""


def measure_link(
    ranks: Ranks,
    *,
    rounds: int,
    generator: np.random.Generator,
    peers: Sequence[int] | None = None,
    around: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> LinkModel:
    """Message times from rank 0 to others: the mean over `rounds` and peers per size without its outer tenths.

    Whatever load is on counts: who copies a payload needs the PE. A load that comes and goes makes times of two kinds,
    of which the median knows one; the sum of many messages follows the mean.

    Parameters
    ----------
    ranks, rounds, generator, peers
        Each round visits all sizes in a new random order, with each peer.
    around
        What is on during a round, such as a load from another place of its trace each time.
    """
    if peers is None:
        peers = range(1, len(ranks.cpus))
    times: dict[int, list[float]] = {size: [] for size in SIZES_BYTES}
    for size in reversed(SIZES_BYTES):
        for peer in peers:
            ranks.ping(size, peer=peer)  # warms buffers and pages
    for _ in range(rounds):
        with around():
            for size in generator.permutation(SIZES_BYTES).tolist():
                times[size] += [ranks.ping(size, peer=peer) for peer in peers]
    link = fit_link(SIZES_BYTES, [_inner_mean(times[size]) for size in SIZES_BYTES])
    return replace(link, doubt=_doubt(link, [np.array(times[size]) for size in SIZES_BYTES]), source="link")


def _doubt(link: LinkModel, times_s: Sequence[Floats]) -> Doubt:
    """What is not known of the knots' times: the errors of their means, and half of what each is off its neighbours.

    Between knots a line is half as long as the one that leaves a knot out.
    """
    scatter = [float(np.sqrt(np.pi / 2) * np.mean(np.abs(np.log(row / np.median(row))))) for row in times_s]
    errors = [sd / np.sqrt(row.size) for sd, row in zip(scatter, times_s, strict=True)]
    x, y = np.log(link.sizes_bytes), np.log(link.times_s)
    share = (x[1:-1] - x[:-2]) / (x[2:] - x[:-2])
    off = y[1:-1] - (y[:-2] + share * (y[2:] - y[:-2]))
    return doubt_of_errors(link.sizes_bytes[1:-1], off / 2, sampling=float(np.sqrt(np.mean(np.square(errors)))))


def _inner_mean(times_s: Sequence[float]) -> float:
    ordered = np.sort(np.array(times_s))
    cut = round(OUTER * ordered.size)
    return float(np.mean(ordered[cut : ordered.size - cut]))
