"""What a scenario file may say of noise and doubt."""

from typing import Annotated

import numpy as np
from pydantic import Field

from simulator.base.errors import ScenarioError
from simulator.base.form import Form
from simulator.models.doubt import COMMON, Doubt, Noise
from simulator.models.levels import Levels

_Share = Annotated[float, Field(ge=0, le=1)]
_SD = Annotated[float, Field(ge=0)]
_Factor = Annotated[float, Field(gt=0)]


class DoubtForm(Form):
    """What measuring left unknown of a time: the same for all runs, drawn once per truth."""

    sizes: list[float] = Field(default=[1.0], min_length=1)
    """Problem sizes in elements (of links: bytes), ascending; one for the same doubt at every size."""
    sd: list[_SD] = Field(min_length=1)
    """Standard deviation of the logarithm at each of them: 0.05 is 5 %."""
    common: _Share = COMMON
    """Share of the variance that all PEs (links) of the kind have in common."""
    sources: dict[str, _Share] = Field(default={})
    """What it is made of, as shares of the variance."""

    def doubt(self) -> Doubt:
        """The doubt that it says."""
        return Doubt(np.array(self.sizes, np.float64), np.array(self.sd, np.float64), self.common, self.sources)


class LevelsForm(Form):
    """Levels at which PEs run while all of them are at work: each PE has one of them for a while."""

    sizes: list[float] = Field(min_length=1)
    """Problem sizes in elements, ascending."""
    factors: list[list[_Factor]] = Field(min_length=1)
    """At each size the time at each level over that of the middle speed; equally likely, ascending."""
    lasts_s: float | None = None
    """Seconds until a PE has another level, in the mean; if left out, a run ends before."""

    def levels(self) -> Levels:
        """The levels that it says."""
        if len({len(row) for row in self.factors}) > 1:
            raise ScenarioError("levels: factors: give as many at each size")
        return Levels(np.array(self.sizes, np.float64), np.array(self.factors, np.float64), self.lasts_s)


class NoiseForm(Form):
    """How the time of one run differs from its truth."""

    factors: list[_Factor] = Field(min_length=1)
    """Factors on the time that are equally likely, ascending."""
    levels: LevelsForm | None = None
    """Which of them belong to a problem size, and how long a PE keeps one; if left out, drawn for each run."""
    sizes: list[_Factor] | None = None
    """Problem sizes in elements, ascending, at which `spreads` are given; if left out, noise is alike at every size."""
    spreads: list[_Factor] | None = None
    """What logarithms of factors are multiplied with at each of them; straight in log-log between, constant beyond."""

    def noise(self) -> Noise:
        """The noise that it says."""
        levels = None if self.levels is None else self.levels.levels()
        sizes, spreads = (None if said is None else np.array(said, np.float64) for said in (self.sizes, self.spreads))
        return Noise(np.array(self.factors, np.float64), levels, sizes, spreads)
