"""What became of the jobs of a stream under one policy: an entry per job."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simulator.programs.streams.stream import Stream
from simulator.scheduling.estimates import Estimates
from simulator.scheduling.policy import Policy

__all__ = ["JobRuns"]

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class JobRuns:
    """Starts and ends of all jobs; arrays (job,) in the stream's order, times in ticks from the stream's second 0."""

    stream: Stream
    policy: Policy
    estimates: Estimates
    pes: int
    """How many the cluster has."""
    tick_s: float
    engine: str
    submit_ticks: Ints
    start_ticks: Ints
    finish_ticks: Ints
    processors: Ints
    """PEs that each job got."""
    estimate_ticks: Ints
    """Planned run time at the start, so before any correction."""
    promised_ticks: Ints
    """Conservative: the start that a job was promised first. EASY: the first shadow time of a job that became head
    and did not start in that pass. -1 for all others."""
    killed: NDArray[np.bool_]
    """Whether the limit ended it."""
    first_pe: Ints | None = None
    """If PEs are named: where each job's numbers begin in `allocated`, and the end; (job + 1,)."""
    allocated: Ints | None = None
    """PEs by number, ascending within a job."""

    @property
    def submit_s(self) -> NDArray[np.float64]:
        """Submissions in seconds."""
        return self._seconds(self.submit_ticks)

    @property
    def start_s(self) -> NDArray[np.float64]:
        """Starts in seconds."""
        return self._seconds(self.start_ticks)

    @property
    def finish_s(self) -> NDArray[np.float64]:
        """Ends in seconds."""
        return self._seconds(self.finish_ticks)

    @property
    def wait_s(self) -> NDArray[np.float64]:
        """From submission to start, in seconds."""
        return self._seconds(self.start_ticks - self.submit_ticks)

    @property
    def run_s(self) -> NDArray[np.float64]:
        """From start to end, in seconds."""
        return self._seconds(self.finish_ticks - self.start_ticks)

    def _seconds(self, ticks: Ints) -> NDArray[np.float64]:
        """The nearest doubles: dividing rounds once, and the tick itself is no double."""
        return np.asarray(ticks / round(1 / self.tick_s))

    def pes_of(self, job: int) -> Ints:
        """The PEs of one job, if PEs are named."""
        if self.first_pe is None or self.allocated is None:
            return np.empty(0, dtype=np.int64)
        return self.allocated[self.first_pe[job] : self.first_pe[job + 1]]
