"""Message times: how long a payload takes from one process to another, piecewise linear in its bytes."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simulator.errors import ScenarioError

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

    def time_s(self, size_bytes: ArrayLike) -> Floats:
        """Message times for payloads of any shape."""
        size = np.asarray(size_bytes, dtype=np.float64)
        last_gap = np.diff(self.times_s)[-1] / np.diff(self.sizes_bytes)[-1]
        beyond = np.maximum(size - self.sizes_bytes[-1], 0.0) * last_gap
        return np.asarray(np.interp(size, self.sizes_bytes, self.times_s) + beyond, dtype=np.float64)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON and YAML."""
        return {"sizes_bytes": self.sizes_bytes.tolist(), "times_s": self.times_s.tolist()}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "LinkModel":
        """The model that `to_dict` wrote."""
        return cls(*(np.asarray(data[name], dtype=np.float64) for name in ("sizes_bytes", "times_s")))


def fit_link(sizes_bytes: ArrayLike, times_s: ArrayLike) -> LinkModel:
    """Least squares times that do not decrease through measured medians (isotonic regression), knots where measured."""
    from scipy.optimize import isotonic_regression

    sizes = np.asarray(sizes_bytes, dtype=np.float64)
    return LinkModel(sizes, np.asarray(isotonic_regression(np.asarray(times_s, dtype=np.float64)).x, dtype=np.float64))
