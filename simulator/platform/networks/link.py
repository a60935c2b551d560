"""Links: a latency and a bandwidth, for each direction or for both together."""

import math
from dataclasses import dataclass, field, replace

from simulator.base.errors import ScenarioError
from simulator.models.doubt import Doubt
from simulator.models.network import MessageModel, drawn_model, scaled_model


@dataclass(frozen=True)
class Link:
    """Something that messages pass; a disk is one too."""

    name: str
    latency_s: float
    bandwidth_bytes_per_s: float
    shared: bool = False
    """Whether both directions share the bandwidth (a bus); otherwise each has it (full duplex)."""
    model: MessageModel | None = None
    """Message times by payload, where one latency and one bandwidth do not describe them; not under `fair`."""
    doubt: Doubt | None = None
    """What is not known of its times, over bytes; None: nothing is doubted."""
    source: str = field(default="", compare=False)
    """What links share most of their doubt by; empty: each link alone."""

    def __post_init__(self) -> None:
        where = f"platform: link {self.name}"
        if not (math.isfinite(self.latency_s) and self.latency_s >= 0):
            raise ScenarioError(f"{where}: latency: {self.latency_s:g} s found, at least 0 s allowed")
        if not (math.isfinite(self.bandwidth_bytes_per_s) and self.bandwidth_bytes_per_s > 0):
            raise ScenarioError(f"{where}: bandwidth: {self.bandwidth_bytes_per_s:g} B/s found, above 0 allowed")

    @classmethod
    def of_model(cls, name: str, model: MessageModel, *, shared: bool = False) -> "Link":
        """A link with measured times: latency and bandwidth are the model's."""
        rest = model.doubt, model.source
        return cls(name, model.latency_s, model.bandwidth_bytes_per_s, shared, model, *rest)

    def drawn(self, deviate: float) -> "Link":
        """The link in one truth, by a standard normal deviate."""
        if self.doubt is None:
            return self
        if self.model is not None:
            return Link.of_model(self.name, drawn_model(self.model, deviate), shared=self.shared)
        least, most = self.doubt.factor(self.doubt.sizes[[0, -1]], deviate).tolist()
        return replace(self.scaled(latency=least, bandwidth=1 / most), doubt=None)

    def scaled(self, *, latency: float = 1.0, bandwidth: float = 1.0) -> "Link":
        """The same link with so many times the latency and the bandwidth; see `scaled_model`."""
        if self.model is not None:
            model = scaled_model(self.model, latency=latency, bandwidth=bandwidth)
            return Link.of_model(self.name, model, shared=self.shared)
        return replace(
            self, latency_s=latency * self.latency_s, bandwidth_bytes_per_s=bandwidth * self.bandwidth_bytes_per_s
        )
