"""Message times by payload alone: knots over its bytes, or whole packets."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simulator.base import notebook, units
from simulator.base.errors import ScenarioError
from simulator.models.doubt import Doubt, doubt_data, doubt_of

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class LinkModel:
    """Message time through knots: straight lines between them, the last slope (seconds per byte) beyond the last.

    One line is wrong by 30 to 190 % somewhere between a byte and some MiB on every medium, hence the knots.
    """

    sizes_bytes: Floats
    """Ascending payload sizes, at least two; below the first one its time holds."""
    times_s: Floats
    """Message times at the knots, not decreasing, above zero."""
    doubt: Doubt | None = field(default=None, kw_only=True)
    """What is not known of its times, over bytes. None: nothing is doubted, or nothing is known of it."""
    source: str = field(default="", compare=False, kw_only=True)
    """What links share a doubt by: the model's file, or the entry that says it; empty: each link alone."""

    def __post_init__(self) -> None:
        if self.sizes_bytes.ndim != 1 or self.sizes_bytes.shape != self.times_s.shape or self.sizes_bytes.size < 2:
            raise ScenarioError("link: two or more payload sizes and as many times allowed")
        if np.any(np.diff(self.sizes_bytes) <= 0) or np.any(self.sizes_bytes < 0):
            raise ScenarioError("link: sizes_bytes: ascending sizes allowed")
        if np.any(np.diff(self.times_s) < 0) or not np.all(np.isfinite(self.times_s)) or self.times_s[0] <= 0:
            raise ScenarioError("link: times_s: times above zero that do not decrease allowed")

    @classmethod
    def from_latency(cls, latency_s: float, bandwidth_bytes_per_s: float) -> "LinkModel":
        """The model of Hockney: latency plus bytes over bandwidth."""
        ends = np.array([0.0, 2.0**20])
        return cls(ends, latency_s + ends / bandwidth_bytes_per_s)

    @property
    def latency_s(self) -> float:
        """Time of the least payload."""
        return float(self.times_s[0])

    @property
    def bandwidth_bytes_per_s(self) -> float:
        """Bytes per second beyond the last knot; 1e30 where time does not grow."""
        slope = (self.times_s[-1] - self.times_s[-2]) / (self.sizes_bytes[-1] - self.sizes_bytes[-2])
        return 1.0 / float(slope) if slope > 0 else 1e30

    def time_s(self, size_bytes: ArrayLike, hops: ArrayLike = 1) -> Floats:  # noqa: ARG002 - as all message models
        """Message times for payloads of any shape; the same over any number of hops."""
        size = np.asarray(size_bytes, dtype=np.float64)
        last_gap = np.diff(self.times_s)[-1] / np.diff(self.sizes_bytes)[-1]
        beyond = np.maximum(size - self.sizes_bytes[-1], 0.0) * last_gap
        return np.asarray(np.interp(size, self.sizes_bytes, self.times_s) + beyond, dtype=np.float64)

    def __repr__(self) -> str:
        return f"LinkModel({self.sizes_bytes.size} knots, {_shown(self.latency_s, self.bandwidth_bytes_per_s)})"

    def _repr_html_(self) -> str:
        return message_page("Link", self.time_s, self.latency_s, self.bandwidth_bytes_per_s)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON and YAML."""
        return {"sizes_bytes": self.sizes_bytes.tolist(), "times_s": self.times_s.tolist(), **doubt_data(self.doubt)}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "LinkModel":
        """The model that `to_dict` wrote."""
        columns = (np.asarray(data[name], dtype=np.float64) for name in ("sizes_bytes", "times_s"))
        return cls(*columns, doubt=doubt_of(data))


@dataclass(frozen=True)
class PacketModel:
    """Message time of a payload that travels in whole packets: a latency, and a time for each packet.

    A last packet that is not full takes as long as a full one; a message without bytes is one packet.
    """

    latency_s: float
    packet_bytes: float
    """Payload of a full packet."""
    packet_s: float
    """Time of one packet, full or not."""
    doubt: Doubt | None = field(default=None, kw_only=True)
    """What is not known of its times, over bytes. None: nothing is doubted, or nothing is known of it."""
    source: str = field(default="", compare=False, kw_only=True)
    """What links share a doubt by: the model's file, or the entry that says it; empty: each link alone."""

    def __post_init__(self) -> None:
        found = {"latency": self.latency_s, "packet": self.packet_bytes, "packet_time": self.packet_s}
        for name, value in found.items():
            if not (math.isfinite(value) and (value > 0 or (value == 0 and name == "latency"))):
                allowed = "at least 0" if name == "latency" else "above 0"
                raise ScenarioError(f"link: {name}: {value:g} found, a finite number {allowed} allowed")

    @property
    def bandwidth_bytes_per_s(self) -> float:
        """Bytes per second in full packets."""
        return self.packet_bytes / self.packet_s

    def time_s(self, size_bytes: ArrayLike, hops: ArrayLike = 1) -> Floats:  # noqa: ARG002 - as all message models
        """Message times for payloads of any shape; the same over any number of hops."""
        packets = np.maximum(1.0, np.ceil(np.asarray(size_bytes, dtype=np.float64) / self.packet_bytes))
        return np.asarray(self.latency_s + packets * self.packet_s, dtype=np.float64)

    def _repr_html_(self) -> str:
        return message_page("Link that sends whole packets", self.time_s, self.latency_s, self.bandwidth_bytes_per_s)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON and YAML."""
        own = {"latency_s": self.latency_s, "packet_bytes": self.packet_bytes, "packet_s": self.packet_s}
        return own | doubt_data(self.doubt)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "PacketModel":
        """The model that `to_dict` wrote."""
        own = (float(data[name]) for name in ("latency_s", "packet_bytes", "packet_s"))
        return cls(*own, doubt=doubt_of(data))


def _shown(latency_s: float, bandwidth_bytes_per_s: float) -> str:
    return f"latency {units.show_duration(latency_s)}, bandwidth {bandwidth_bytes_per_s / 1e6:.4g} MB/s"


def message_page(
    title: str, time_s: Callable[[Floats], Floats], latency_s: float | None, bandwidth_bytes_per_s: float | None
) -> str:
    """How message times show themselves in a notebook: from a byte to 16 MiB."""
    sizes = np.logspace(0, 24, 97, base=2)
    chart = notebook.curves(sizes, {"time": time_s(sizes)}, labels=("payload (bytes)", "seconds"), log=(True, True))
    examples = np.array([1.0, 1024.0, 2.0**20, 2.0**24])
    rows = [
        {"payload": units.show_size(size), "time": units.show_duration(float(time))}
        for size, time in zip(examples, time_s(examples), strict=True)
    ]
    told = {
        "latency": None if latency_s is None else units.show_duration(latency_s),
        "bandwidth (MB/s)": None if bandwidth_bytes_per_s is None else bandwidth_bytes_per_s / 1e6,
    }
    return notebook.page(title, notebook.facts(told), chart, notebook.table(rows))


def fit_link(sizes_bytes: ArrayLike, times_s: ArrayLike) -> LinkModel:
    """Least squares times that do not decrease through measured medians (isotonic regression), knots where measured."""
    from scipy.optimize import isotonic_regression

    sizes = np.asarray(sizes_bytes, dtype=np.float64)
    return LinkModel(sizes, np.asarray(isotonic_regression(np.asarray(times_s, dtype=np.float64)).x, dtype=np.float64))
