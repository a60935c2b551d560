"""Times with the range that they may lie in."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Times:
    """Seconds of any shape, and the ends of their ranges; all the same where nothing is a range."""

    s: Floats
    low_s: Floats
    high_s: Floats

    @classmethod
    def zero(cls) -> "Times":
        """No time."""
        return cls(np.zeros(()), np.zeros(()), np.zeros(()))

    @property
    def is_range(self) -> bool:
        """Whether any is more than one number."""
        return bool(np.any(self.low_s != self.high_s))

    def __add__(self, other: "Times") -> "Times":
        """One after the other; ranges add up, as if all were at the same end."""
        return Times(self.s + other.s, self.low_s + other.low_s, self.high_s + other.high_s)

    def times(self, count: ArrayLike) -> "Times":
        """So many, of at least 0."""
        factor = np.asarray(count, dtype=np.float64)
        return Times(factor * self.s, factor * self.low_s, factor * self.high_s)
