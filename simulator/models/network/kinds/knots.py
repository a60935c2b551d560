"""Message times through knots over the bytes, as they are given: straight lines between them."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from simulator.base import units
from simulator.base.arrays import Floats, Vector
from simulator.models.network.kinds.kind import (
    Kind,
    KindForm,
    MessageModel,
    bandwidth_of,
    check_curve,
    stretched,
)


@dataclass(frozen=True)
class LinkModel(MessageModel):
    """Message time through knots: straight lines between them, the last slope (seconds per byte) beyond the last.

    One line is wrong by 30 to 190 % somewhere between a byte and some MiB on every medium, hence the knots.
    """

    sizes_bytes: Vector
    """Ascending payload sizes, at least two; below the first one its time holds."""
    times_s: Vector
    """Message times at the knots, not decreasing, above zero."""
    is_fitted: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_curve(self.sizes_bytes, self.times_s, ("sizes_bytes", "times_s"))

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
        """Bytes per second beyond the last knot; `NO_LIMIT` where time does not grow."""
        slope = (self.times_s[-1] - self.times_s[-2]) / (self.sizes_bytes[-1] - self.sizes_bytes[-2])
        return bandwidth_of(float(slope))

    def time_s(self, size_bytes: ArrayLike, hops: ArrayLike = 1) -> Floats:  # noqa: ARG002 - as all message models
        """Message times for payloads of any shape; the same over any number of hops."""
        size = np.asarray(size_bytes, dtype=np.float64)
        last_gap = np.diff(self.times_s)[-1] / np.diff(self.sizes_bytes)[-1]
        beyond = np.maximum(size - self.sizes_bytes[-1], 0.0) * last_gap
        return np.asarray(np.interp(size, self.sizes_bytes, self.times_s) + beyond, dtype=np.float64)

    def scaled(self, latency: float = 1.0, bandwidth: float = 1.0) -> "LinkModel":
        """See `MessageModel.scaled`; what was not known of the times is not known of these."""
        return LinkModel(self.sizes_bytes, stretched(self.times_s, latency, bandwidth))

    def drawn(self, deviate: float) -> "LinkModel":
        """See `MessageModel.drawn`: each knot has the factor of its size, and each size of the doubt is a knot."""
        if self.doubt is None:
            return self
        sizes = np.union1d(self.sizes_bytes, self.doubt.sizes) if self.doubt.sizes.size > 1 else self.sizes_bytes
        return LinkModel(sizes, np.maximum.accumulate(self.time_s(sizes) * self.doubt.factor(sizes, deviate)))

    def __repr__(self) -> str:
        speed = f"bandwidth {self.bandwidth_bytes_per_s / 1e6:.4g} MB/s"
        return f"LinkModel({self.sizes_bytes.size} knots, latency {units.show_duration(self.latency_s)}, {speed})"


def fit_link(sizes_bytes: ArrayLike, times_s: ArrayLike) -> LinkModel:
    """Least squares times that do not decrease through measured medians (isotonic regression), knots where measured."""
    from scipy.optimize import isotonic_regression

    sizes = np.asarray(sizes_bytes, dtype=np.float64)
    return LinkModel(sizes, np.asarray(isotonic_regression(np.asarray(times_s, dtype=np.float64)).x, dtype=np.float64))


class KnotsForm(KindForm):
    """Message times through knots: straight lines between, the last slope beyond."""

    sizes_bytes: list[float]
    """Bytes, ascending."""
    times_s: list[float]
    """Seconds that a message of each size takes."""

    def times(self) -> LinkModel:
        """See `KindForm`."""
        return LinkModel(np.array(self.sizes_bytes, dtype=np.float64), np.array(self.times_s, dtype=np.float64))


KIND = Kind(LinkModel, KnotsForm)
