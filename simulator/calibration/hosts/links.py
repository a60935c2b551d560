"""The network of measured hosts: one model where all pairs are alike, else a link of each host to one switch."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from simulator.base.arrays import Floats
from simulator.base.errors import ScenarioError
from simulator.base.provenance import provenance
from simulator.calibration.hosts.campaign import Document, MeasuredPair
from simulator.models.doubt import DRIFT, doubt_of_errors
from simulator.models.network import LinkModel, MessageModel, fit_link, fit_network, make_points
from simulator.models.network.file import NetworkFile
from simulator.platform.networks.link import Link
from simulator.platform.networks.network import Network
from simulator.platform.networks.topologies import Star

ALIKE, ALIKE_SHARE = 0.25, 0.9
"""Pairs are alike if so many of their times lie so near to the middle of all pairs, by size."""
FAR_OFF = 0.15
"""Median error of the star from which on it is said that pairs differ in more than their links."""
MOST_FITTED = 48
"""Pairs whose samples the one model for all is fitted to, where there are more."""
PASSES = 20
LEAST_LATENCY_S = 1e-9


@dataclass(frozen=True)
class ClusterNetwork:
    """What joins the hosts."""

    document: Document
    """A network model's file: one model for all pairs."""
    star: Star | None
    """Where pairs differ: a link of each host to a switch, in the order of the hosts."""
    text: str
    warnings: tuple[str, ...] = ()

    def network(self, loopback: MessageModel) -> Network | None:
        """The network of a platform of these hosts, with message times within one; None where one model is enough."""
        return None if self.star is None else Network(self.star, loopback=loopback, contention="fifo")


def fit_cluster_network(names: Sequence[str], pairs: Sequence[MeasuredPair]) -> ClusterNetwork:
    """Fit what the pairs show."""
    if not pairs:
        raise ScenarioError("no pair of hosts was measured; give more budget, or more hosts")
    some = pairs[:: -(-len(pairs) // MOST_FITTED)]
    rows = [(size, time) for pair in some for size, times in pair.samples_s.items() for time in times]
    sizes, times = np.array(rows, dtype=np.float64).T
    fit = fit_network(make_points(sizes, np.ones(sizes.size), times))
    measured = {"between": "tcp", "host": "hosts of a cluster", "pairs": [list(pair.hosts) for pair in pairs]}
    document = NetworkFile.of_fit(fit, provenance(), measured=measured).to_dict()
    medians = [dict(zip(*(axis.tolist() for axis in pair.median_s()), strict=True)) for pair in pairs]
    seen = {size for row in medians for size in row}
    middle = {size: float(np.median([row[size] for row in medians if size in row])) for size in seen}
    off = np.array([abs(np.log(time / middle[size])) for row in medians for size, time in row.items()])
    if np.mean(off <= np.log1p(ALIKE)) >= ALIKE_SHARE:
        return ClusterNetwork(document, None, f"all {len(pairs)} measured pairs of hosts are alike")
    return _star(names, pairs, document)


def _star(names: Sequence[str], pairs: Sequence[MeasuredPair], document: Document) -> ClusterNetwork:
    place = {name: number for number, name in enumerate(names)}
    ends = np.array([[place[name] for name in pair.hosts] for pair in pairs])
    sizes, curves = _common(pairs)
    latencies = link_latencies(len(names), ends, curves[:, 0])
    payloads = np.maximum(curves[:, 1:] - curves[:, :1], LEAST_LATENCY_S)
    rates = np.column_stack([link_rates(len(names), ends, 1 / column) for column in payloads.T])
    times = np.maximum.accumulate(np.column_stack([np.zeros(len(names)), 1 / rates]), axis=1)
    said = latencies[ends].sum(axis=1)[:, np.newaxis] + times[ends].max(axis=1)
    scatter = [
        np.mean(np.abs(np.log(np.array(row) / np.median(row)))) for pair in pairs for row in pair.samples_s.values()
    ]
    logs, noise = np.log(curves / said), float(np.sqrt(np.pi / 2) * np.mean(scatter))
    doubt = doubt_of_errors(np.broadcast_to(sizes, logs.shape).ravel(), logs.ravel(), noise=noise, drift=DRIFT)
    links = tuple(
        Link.of_model(name, replace(LinkModel(sizes, latency + own), doubt=doubt, source="links of hosts"))
        for name, latency, own in zip(names, latencies, times, strict=True)
    )
    slow, fast = names[int(np.argmax(times[:, -1]))], names[int(np.argmin(times[:, -1]))]
    text = f"pairs of hosts differ: {slow} has the slowest link, {fast} the fastest"
    error = float(np.median(np.abs(np.expm1(logs))))
    warned = f"message times between hosts differ by {error:.0%} (median) from those of a link for each host"
    return ClusterNetwork(document, Star(links), text, (warned,) if error > FAR_OFF else ())


def _common(pairs: Sequence[MeasuredPair]) -> tuple[Floats, Floats]:
    """The sizes of any pair, and the median times of each pair there; beyond those of a pair along its last line."""
    sizes = np.array(sorted({size for pair in pairs for size in pair.samples_s}), dtype=np.float64)
    return sizes, np.array([fit_link(*pair.median_s()).time_s(sizes) for pair in pairs])


def link_latencies(count: int, ends: NDArray[np.int64], latencies_s: Floats) -> Floats:
    """The latency of each host's link: those of two add up to that of their pair."""
    from scipy.optimize import nnls

    rows = np.zeros((len(ends), count))
    rows[np.arange(len(ends)), ends[:, 0]] = rows[np.arange(len(ends)), ends[:, 1]] = 1 / latencies_s
    shrunk = 1e-3 * np.eye(count) / np.median(latencies_s)  # two hosts share what only their sum is known of
    found: Floats = nnls(np.vstack([rows, shrunk]), np.concatenate([np.ones(len(ends)), np.full(count, 5e-4)]))[0]
    return np.maximum(found, LEAST_LATENCY_S)


def link_rates(count: int, ends: NDArray[np.int64], rates: Floats) -> Floats:
    """How many messages of a size a second each host's link carries: the lesser number of two is that of their pair.

    From the highest that a host shows on, each takes the median over the pairs in which it is the slower end.
    """
    found = np.array([max(rates[(ends == host).any(axis=1)], default=np.max(rates)) for host in range(count)])
    for _ in range(PASSES):
        before = found.copy()
        for host in range(count):
            mine = (ends == host).any(axis=1)
            others = np.where(ends[mine, 0] == host, ends[mine, 1], ends[mine, 0])
            slower = before[others] >= before[host] * (1 - 1e-9)
            if np.any(slower):
                found[host] = float(np.median(rates[mine][slower]))
        if np.allclose(before, found, rtol=1e-9):
            break
    return found
