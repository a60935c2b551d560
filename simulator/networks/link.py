"""Links: a latency and a bandwidth, for each direction or for both together."""

import math
from dataclasses import dataclass

from simulator.errors import ScenarioError
from simulator.models.network import LinkModel


@dataclass(frozen=True)
class Link:
    """Something that messages pass; a disk is one too."""

    name: str
    latency_s: float
    bandwidth_bytes_per_s: float
    shared: bool = False
    """Whether both directions share the bandwidth (a bus); otherwise each has it (full duplex)."""
    model: LinkModel | None = None
    """Message times by payload, where one latency and one bandwidth do not describe them; not under `fair`."""

    def __post_init__(self) -> None:
        where = f"platform: link {self.name}"
        if not (math.isfinite(self.latency_s) and self.latency_s >= 0):
            raise ScenarioError(f"{where}: latency: {self.latency_s:g} s found, at least 0 s allowed")
        if not (math.isfinite(self.bandwidth_bytes_per_s) and self.bandwidth_bytes_per_s > 0):
            raise ScenarioError(f"{where}: bandwidth: {self.bandwidth_bytes_per_s:g} B/s found, above 0 allowed")

    @classmethod
    def of_model(cls, name: str, model: LinkModel, *, shared: bool = False) -> "Link":
        """A link with measured times: latency that of the least payload, bandwidth the last slope."""
        sizes, times = model.sizes_bytes, model.times_s
        slope = (times[-1] - times[-2]) / (sizes[-1] - sizes[-2])
        return cls(name, float(times[0]), 1.0 / float(slope) if slope > 0 else 1e30, shared, model)
