"""Estimates: how long a job is planned to run, and what holds once it has outlived that."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from simulator.base.errors import ScenarioError, meant

__all__ = ["CORRECTIONS", "SOURCES", "STEPS_S", "Estimates"]

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

    Raises
    ------
    ScenarioError
        For unknown words, or estimates that are given without times.
    """

    source: Source = "limit"
    """The user's limit; the true run time; the mean of the user's last two ended jobs (the limit where fewer ended),
    in whole seconds where all times are; or times that are given."""
    correction: Correction = "steps"
    """After an outlived estimate: the next of `STEPS_S` more than the first one, the limit, or the next quantile."""
    given_s: NDArray[np.float64] | None = None
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
        told = self.label or self.source
        ends = {"steps": "", "limit": ", to the limit", "quantile": ", next quantile"}[self.correction]
        return told + (ends if self.source in {"last-two", "given"} else "")

    def to_dict(self) -> dict[str, Any]:
        """What results say of it."""
        return {"source": self.source, "correction": self.correction, "label": self.name}
