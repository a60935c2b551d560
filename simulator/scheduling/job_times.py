"""Run times of jobs by their number of processes and the PEs that they get: a table that is made before a run."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simulator.base.errors import ScenarioError
from simulator.programs.streams.stream import Stream

__all__ = ["JobTimes"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class JobTimes:
    """What a job takes with one number of processes or another; jobs that are alike share a row."""

    row: Ints
    """Of each job; (job,)."""
    processes: tuple[Ints, ...]
    """By row: the numbers of processes that were looked at, ascending."""
    seconds: tuple[Floats, ...]
    """By row: run times, by number of processes and class of the slowest PE; (choices, class)."""

    def choices(self, stream: Stream, *, sizes: str) -> tuple[Ints, Ints, Floats]:
        """Where each job's choices begin, their processes, and their seconds.

        Parameters
        ----------
        sizes
            `fixed`: the number that the job asks for; `fit`: all between its least and its most.

        Returns
        -------
        tuple
            (job + 1,), (choice,) and (choice, class).

        Raises
        ------
        ScenarioError
            For a job of which no number of processes is in the table.
        """
        counts, size, seconds = [0], [], []
        for job, row in enumerate(self.row.tolist()):
            known = self.processes[row]
            asked = stream.processors[job]
            low, high = (asked, asked) if sizes == "fixed" else (stream.least[job], stream.most[job])
            here = np.flatnonzero((known >= low) & (known <= high))
            if not here.size:
                raise ScenarioError(
                    f"job {stream.ids[job]}: no run time is known with {low} to {high} processes; predict those first"
                )
            counts.append(here.size)
            size.append(known[here])
            seconds.append(self.seconds[row][here])
        return np.cumsum(counts), np.concatenate(size), np.concatenate(seconds)
