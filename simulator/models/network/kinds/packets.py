"""Message times in whole packets, as they are given."""

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from simulator.base.arrays import Floats
from simulator.base.documents import Data
from simulator.base.form import Duration, Latency, Payload
from simulator.base.units import write_duration, write_size
from simulator.models.doubt import doubt_data
from simulator.models.network.kinds.kind import Kind, KindForm, MessageModel, refuse_unless


@dataclass(frozen=True)
class PacketModel(MessageModel):
    """Message time of a payload that travels in whole packets: a latency, and a time for each packet.

    A last packet that is not full takes as long as a full one; a message without bytes is one packet.
    """

    latency_s: float
    packet_bytes: float
    packet_s: float
    title: ClassVar[str] = "Link that sends whole packets"
    is_fitted: ClassVar[bool] = False

    def __post_init__(self) -> None:
        latency = self.latency_s
        refuse_unless(0 <= latency < math.inf, f"latency is {latency:g}; give a finite number of at least 0")
        for name, value in (("packet", self.packet_bytes), ("packet_time", self.packet_s)):
            refuse_unless(0 < value < math.inf, f"{name} is {value:g}; give a finite number above 0")

    @property
    def bandwidth_bytes_per_s(self) -> float:
        """Bytes per second in full packets."""
        return self.packet_bytes / self.packet_s

    def time_s(self, size_bytes: ArrayLike, hops: ArrayLike = 1) -> Floats:  # noqa: ARG002 - as all message models
        """Message times for payloads of any shape; the same over any number of hops."""
        packets = np.maximum(1.0, np.ceil(np.asarray(size_bytes, dtype=np.float64) / self.packet_bytes))
        return np.asarray(self.latency_s + packets * self.packet_s, dtype=np.float64)

    def scaled(self, latency: float = 1.0, bandwidth: float = 1.0) -> "PacketModel":
        """See `MessageModel.scaled`."""
        return replace(self, latency_s=latency * self.latency_s, packet_s=self.packet_s / bandwidth)

    def to_data(self) -> Data:
        """See `MessageModel.to_data`; with units."""
        return {
            "latency": write_duration(self.latency_s),
            "packet": write_size(self.packet_bytes),
            "packet_time": write_duration(self.packet_s),
            **doubt_data(self.doubt),
        }


class PacketsForm(KindForm):
    """Message times in whole packets, at least one."""

    latency: Latency
    """Time before the first packet."""
    packet: Payload
    """Payload of a packet, such as `1500B`."""
    packet_time: Duration
    """Time of each packet, such as `12us`."""

    def times(self) -> PacketModel:
        """See `KindForm`."""
        return PacketModel(self.latency, float(self.packet), self.packet_time)


KIND = Kind(PacketModel, PacketsForm)
