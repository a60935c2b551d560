"""The network of measured hosts: one model where all pairs are alike, else a link of each host to one switch."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simulator.base.errors import ScenarioError
from simulator.base.provenance import provenance
from simulator.calibration.hosts.campaign import MeasuredPair
from simulator.models.doubt import DRIFT, Doubt, doubt_of_errors
from simulator.models.network import MessageModel, fit_network, make_points
from simulator.models.network.file import CalibratedNetwork
from simulator.platform.networks.link import Link
from simulator.platform.networks.network import Network
from simulator.platform.networks.topologies.star import Star

ALIKE, ALIKE_SHARE = 0.25, 0.9
"""Pairs are alike if so many of their times lie so near to the middle of all pairs, by size."""
FAR_OFF = 0.15
"""Mean error of the star from which on it is said that pairs differ in more than their links."""
PASSES = 20
LEAST_LATENCY_S = 1e-9

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class ClusterNetwork:
    """What joins the hosts."""

    document: dict[str, Any]
    """A network model's file: one model for all pairs."""
    star: Star | None
    """Where pairs differ: a link of each host to a switch, in the order of the hosts."""
    text: str
    warnings: tuple[str, ...] = ()

    def network(self, loopback: MessageModel) -> Network | None:
        """The network of a platform of these hosts, with message times within one; None where one model is enough."""
        return None if self.star is None else Network(self.star, loopback=loopback, contention="fair")


def fit_cluster_network(names: Sequence[str], pairs: Sequence[MeasuredPair]) -> ClusterNetwork:
    """Fit what the pairs show.

    Raises
    ------
    ScenarioError
        If no pair was measured, or no form fits.
    """
    if not pairs:
        raise ScenarioError("no pair of hosts was measured; give more budget, or more hosts")
    rows = [(size, time) for pair in pairs for size, times in pair.samples_s.items() for time in times]
    sizes, times = np.array(rows, dtype=np.float64).T
    fit = fit_network(make_points(sizes, np.ones(sizes.size), times))
    measured = {"between": "tcp", "host": "hosts of a cluster", "pairs": [list(pair.hosts) for pair in pairs]}
    document = CalibratedNetwork(fit, provenance(), measured=measured).to_dict()
    medians = [dict(zip(*(axis.tolist() for axis in pair.median_s()), strict=True)) for pair in pairs]
    middle = {size: float(np.median([row[size] for row in medians if size in row])) for size in set(sizes.tolist())}
    off = np.array([abs(np.log(time / middle[size])) for row in medians for size, time in row.items()])
    if np.mean(off <= np.log1p(ALIKE)) >= ALIKE_SHARE:
        return ClusterNetwork(document, None, f"all {len(pairs)} measured pairs of hosts are alike")
    return _star(names, pairs, document)


def _star(names: Sequence[str], pairs: Sequence[MeasuredPair], document: dict[str, Any]) -> ClusterNetwork:
    place = {name: number for number, name in enumerate(names)}
    ends = np.array([[place[name] for name in pair.hosts] for pair in pairs])
    lines = np.array([hockney(*pair.median_s()) for pair in pairs])
    latencies, bandwidths = (
        link_latencies(len(names), ends, lines[:, 0]),
        link_bandwidths(len(names), ends, lines[:, 1]),
    )
    sizes, errors, scatter = [], [], []
    for pair, (one, other) in zip(pairs, ends, strict=True):
        asked, seen = pair.median_s()
        said = latencies[one] + latencies[other] + asked / min(bandwidths[one], bandwidths[other])
        sizes += asked.tolist()
        errors += np.log(seen / said).tolist()
        scatter += [np.mean(np.abs(np.log(np.array(row) / np.median(row)))) for row in pair.samples_s.values()]
    logs, noise = np.array(errors), float(np.sqrt(np.pi / 2) * np.mean(scatter))
    doubt: Doubt = doubt_of_errors(np.array(sizes), logs, noise=noise, drift=DRIFT)
    links = tuple(
        Link(name, float(latency), float(bandwidth), doubt=doubt, source="links of hosts")
        for name, latency, bandwidth in zip(names, latencies, bandwidths, strict=True)
    )
    slow, fast = names[int(np.argmin(bandwidths))], names[int(np.argmax(bandwidths))]
    text = f"pairs of hosts differ: {slow} has the slowest link, {fast} the fastest"
    error = float(np.mean(np.abs(np.expm1(logs))))
    warned = f"message times between hosts differ by {error:.0%} on average from those of a link for each host"
    return ClusterNetwork(document, Star(links), text, (warned,) if error > FAR_OFF else ())


def hockney(sizes: Floats, times_s: Floats) -> tuple[float, float]:
    """Latency and bandwidth of one pair: the line with least squares of relative errors, neither number negative."""
    from scipy.optimize import nnls

    (latency, gap), _ = nnls(np.column_stack([1 / times_s, sizes / times_s]), np.ones(sizes.size))
    return max(float(latency), LEAST_LATENCY_S), 1 / max(float(gap), 1e-15)


def link_latencies(count: int, ends: NDArray[np.int64], latencies_s: Floats) -> Floats:
    """The latency of each host's link: those of two add up to that of their pair."""
    from scipy.optimize import nnls

    rows = np.zeros((len(ends), count))
    rows[np.arange(len(ends)), ends[:, 0]] = rows[np.arange(len(ends)), ends[:, 1]] = 1 / latencies_s
    shrunk = 1e-3 * np.eye(count) / np.median(latencies_s)  # two hosts share what only their sum is known of
    found: Floats = nnls(np.vstack([rows, shrunk]), np.concatenate([np.ones(len(ends)), np.full(count, 5e-4)]))[0]
    return np.maximum(found, LEAST_LATENCY_S)


def link_bandwidths(count: int, ends: NDArray[np.int64], bandwidths: Floats) -> Floats:
    """The bandwidth of each host's link: the lesser of two is that of their pair.

    From the highest that a host shows on, each takes the median over the pairs in which it is the slower end.
    """
    found = np.array([max(bandwidths[(ends == host).any(axis=1)], default=np.max(bandwidths)) for host in range(count)])
    for _ in range(PASSES):
        before = found.copy()
        for host in range(count):
            mine = (ends == host).any(axis=1)
            others = np.where(ends[mine, 0] == host, ends[mine, 1], ends[mine, 0])
            slower = before[others] >= before[host] * (1 - 1e-9)
            if np.any(slower):
                found[host] = float(np.median(bandwidths[mine][slower]))
        if np.allclose(before, found, rtol=1e-9):
            break
    return found
