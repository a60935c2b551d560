"""The PEs that jobs may take, as far as decisions know them: how fast each is and what memory it has."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simulator.base.errors import ScenarioError

__all__ = ["Cluster", "equal_pes"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Cluster:
    """PEs by number; arrays (PE,).

    Raises
    ------
    ScenarioError
        Without a PE, or for times that are not positive.
    """

    slowness: Floats
    """Run time of a job on PEs like this one over its run time on nominal PEs; a job's slowest PE decides."""
    memory_bytes: Floats
    """That one process may use; infinite where nothing limits it."""
    names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.slowness.size:
            raise ScenarioError("cluster: there is no PE; give at least one")
        if not np.all((self.slowness > 0) & np.isfinite(self.slowness)):
            raise ScenarioError(
                "cluster: a PE's slowness is not a positive number; give 1 for a nominal PE, 2 for half"
            )

    @property
    def count(self) -> int:
        """How many PEs."""
        return int(self.slowness.size)

    @property
    def classes(self) -> Floats:
        """Slowness of each class of PEs that are equally fast, fastest first; (class,)."""
        return np.unique(self.slowness)

    @property
    def class_of(self) -> NDArray[np.int64]:
        """Class of each PE; (PE,)."""
        return np.searchsorted(self.classes, self.slowness).astype(np.int64)


def equal_pes(count: int) -> Cluster:
    """So many nominal PEs without a limit of memory."""
    return Cluster(np.ones(max(0, count)), np.full(max(0, count), np.inf))
