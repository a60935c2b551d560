"""Runs that costs are fitted to: what each used by every method, how long it took; as plain data too."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simulator.models.resource import Method

Floats = NDArray[np.float64]
Counts = Mapping[Method, Mapping[str, float]]
"""Method -> operation -> how often one run uses it."""

MICRO, KERNEL, STREAM = "micro", "kernel", "stream"
"""Roles: a micro-benchmark; a kernel of the study at a training size; words read in order, for the memory term."""


@dataclass(frozen=True)
class Observation:
    """One function at one size."""

    program: str
    """Name of the micro-benchmark or kernel; runs of one program are left out of a fit together."""
    role: str
    n: int
    """Size; words for a stream."""
    time_s: float
    """Median CPU seconds of one run."""
    half_interval: float | None
    """Half width of the 95 % interval of the median, as a share; None below six samples."""
    working_set_bytes: float
    """Arrays that it is given."""
    counts: Counts

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Observation":
        """The inverse of `to_dict`."""
        return cls(**data)


def operations(observations: Sequence[Observation], method: Method) -> tuple[str, ...]:
    """Every operation that a run uses, by one method, in order of first use."""
    return tuple(dict.fromkeys(name for seen in observations for name in seen.counts.get(method, {})))


def counted(observations: Sequence[Observation], method: Method, names: Sequence[str]) -> Floats:
    """How often each run used each operation; (runs, operations)."""
    return np.array([[seen.counts[method].get(name, 0.0) for name in names] for seen in observations])


def bytes_of(arguments: Sequence[Any]) -> float:
    """Bytes of the arrays among a function's arguments."""
    return float(sum(value.nbytes for value in arguments if isinstance(value, np.ndarray)))
