"""Estimates: how long a job is planned to run, what holds once it has outlived that, and tables of run times."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from simulator.base.arrays import Floats, Ints
from simulator.base.documents import Data
from simulator.base.errors import ScenarioError, meant
from simulator.programs.streams.stream import Stream

Source = Literal["limit", "exact", "last-two", "given"]
Correction = Literal["steps", "limit", "quantile"]
SOURCES: tuple[Source, ...] = ("limit", "exact", "last-two", "given")
CORRECTIONS: tuple[Correction, ...] = ("steps", "limit", "quantile")
STEPS_S = tuple(60 * minutes for minutes in (1, 5, 15, 30, 60, 120, 300, 600, 1200, 3000, 6000))
"""What is added to the first estimate, once each: 1, 5, 15, 30 min, 1, 2, 5, 10, 20, 50, 100 h.

Source: Tsafrir, Etsion and Feitelson, "Backfilling using system-generated predictions", TPDS 2007.
"""


@dataclass(frozen=True, eq=False)
class Estimates:
    """Where planned run times come from; none is longer than the job's limit.

    Raises ScenarioError for unknown words, or estimates that are given without times.
    """

    source: Source = "limit"
    """The user's limit; the true run time; the mean of the user's last two ended jobs (the limit where fewer ended),
    in whole seconds where all times are; or times that are given."""
    correction: Correction = "steps"
    """After an outlived estimate: the next of `STEPS_S` more than the first one, the limit, or the next quantile."""
    given_s: Floats | None = None
    """What to plan with, and then each further quantile, ascending; (job, quantiles) or (choice, class, quantiles)."""
    label: str = ""
    """How results call given estimates: `fit p75`."""

    def __post_init__(self) -> None:
        for name, word, known in (("estimates", self.source, SOURCES), ("correction", self.correction, CORRECTIONS)):
            if word not in known:
                raise ScenarioError(f"{name}: there is no {word!r}; take {', '.join(known)}{meant(word, known)}")
        if (self.source == "given") != (self.given_s is not None):
            raise ScenarioError("estimates: given estimates need times, others take none")
        if self.correction == "quantile" and self.source != "given":
            raise ScenarioError(f"correction quantile: estimates {self.source} have no quantiles; take steps or limit")

    @property
    def name(self) -> str:
        """Short: `limit`, `last-two, to the limit`."""
        shown = self.label or self.source
        ends = {"steps": "", "limit": ", to the limit", "quantile": ", next quantile"}[self.correction]
        return shown + (ends if self.source in {"last-two", "given"} else "")

    def to_dict(self) -> Data:
        """What results say of it."""
        return {"source": self.source, "correction": self.correction, "label": self.name}


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
        """Where each job's choices begin (job + 1,), their processes (choice,) and their seconds (choice, class).

        Raises ScenarioError for a job of which no number of processes is in the table.

        `sizes`: `fixed`: the number that the job asks for; `fit`: all between its least and its most.
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
