"""Message times where only so many bytes may be on their way before the first of them is acknowledged."""

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from simulator.base.arrays import Floats
from simulator.base.documents import Data
from simulator.base.form import Bandwidth, Duration, Latency, Payload
from simulator.base.units import write_bandwidth, write_duration, write_size
from simulator.models.doubt import doubt_data
from simulator.models.network.kinds.kind import Kind, KindForm, MessageModel, refuse_unless


@dataclass(frozen=True)
class WindowModel(MessageModel):
    """Message time under a window, as TCP sends between sites: one window per round trip, however fast the wire is.

    With a window of `w` bytes, a round trip of `r` and a wire of `b` bytes per second, `l` bytes go in
    `n = ceil(l / w)` windows and take `latency + (n - 1) max(r, w / b) + (l - (n - 1) w) / b`. Where the wire needs
    longer for a window than its acknowledgement, this is latency plus bytes over bandwidth. Source: RFC 7323,
    section 1.1.
    """

    latency_s: float
    wire_bytes_per_s: float
    """Bytes per second within a window."""
    window_bytes: float
    """Bytes that may be on their way unacknowledged."""
    round_trip_s: float
    """Time from the first byte of a window to its acknowledgement."""
    title: ClassVar[str] = "Link with a window"
    is_fitted: ClassVar[bool] = False

    def __post_init__(self) -> None:
        for name, value in (("latency", self.latency_s), ("round_trip", self.round_trip_s)):
            refuse_unless(0 <= value < math.inf, f"{name} is {value:g}; give a finite number of at least 0")
        for name, value in (("bandwidth", self.wire_bytes_per_s), ("window", self.window_bytes)):
            refuse_unless(0 < value < math.inf, f"{name} is {value:g}; give a finite number above 0")

    @property
    def turn_s(self) -> float:
        """Seconds from the begin of a full window to that of the next."""
        return max(self.round_trip_s, self.window_bytes / self.wire_bytes_per_s)

    @property
    def bandwidth_bytes_per_s(self) -> float:
        """Bytes per second of the largest messages: a window per turn."""
        return self.window_bytes / self.turn_s

    def time_s(self, size_bytes: ArrayLike, hops: ArrayLike = 1) -> Floats:  # noqa: ARG002 - as all message models
        """Message times for payloads of any shape; the same over any number of hops."""
        size = np.asarray(size_bytes, dtype=np.float64)
        full = np.maximum(np.ceil(size / self.window_bytes) - 1, 0.0)
        rest = size - full * self.window_bytes
        return np.asarray(self.latency_s + full * self.turn_s + rest / self.wire_bytes_per_s, dtype=np.float64)

    def scaled(self, latency: float = 1.0, bandwidth: float = 1.0) -> "WindowModel":
        """See `MessageModel.scaled`: the round trip scales as the latency does, the window stays."""
        return replace(
            self,
            latency_s=latency * self.latency_s,
            round_trip_s=latency * self.round_trip_s,
            wire_bytes_per_s=bandwidth * self.wire_bytes_per_s,
        )

    def to_data(self) -> Data:
        """See `MessageModel.to_data`; with units."""
        return {
            "latency": write_duration(self.latency_s),
            "bandwidth": write_bandwidth(self.wire_bytes_per_s),
            "window": write_size(self.window_bytes),
            "round_trip": write_duration(self.round_trip_s),
            **doubt_data(self.doubt),
        }


class WindowForm(KindForm):
    """At most a window of bytes for each round trip, as TCP sends between sites."""

    latency: Latency
    """Time of a message without bytes, such as `20ms`."""
    bandwidth: Bandwidth
    """Bytes or bits per second within a window, such as `10Gbit/s`."""
    window: Payload
    """Bytes that may be on their way unacknowledged, such as `4MiB`."""
    round_trip: Duration | None = None
    """Time from the first byte of a window to its acknowledgement; by default twice the latency."""

    def times(self) -> WindowModel:
        """See `KindForm`."""
        round_trip = 2 * self.latency if self.round_trip is None else self.round_trip
        return WindowModel(self.latency, self.bandwidth, float(self.window), round_trip)


KIND = Kind(WindowModel, WindowForm)
