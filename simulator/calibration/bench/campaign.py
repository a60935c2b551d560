"""A campaign: cells are sampled in passes, each in a random order, while a budget lasts; rows are on disk at once."""

import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np

from simulator.base import units
from simulator.base.errors import ScenarioError
from simulator.calibration.bench.journal import Journal

Cell = TypeVar("Cell")
Progress = Callable[[str, float], None]
"""Called with what is measured and the share of the budget that is spent."""


def no_progress(_what: str, _share: float) -> None:
    """Nobody wants to know."""


class BudgetSpentError(Exception):
    """The next sample does not fit the budget: the campaign ends, and what it has stays."""


class BudgetTooShortError(ScenarioError):
    """A budget that cannot hold, with what would do.

    `why` is what follows "is too short", and what follows the time needed.
    """

    def __init__(self, limit_s: float, needed_s: float, why: tuple[str, str] = ("", "")) -> None:
        self.limit_s, self.needed_s, self.why = limit_s, needed_s, why
        super().__init__(self.said(units.show_duration(limit_s)))

    def said(self, given: str, *, more_s: float = 0.0) -> str:
        """The line, for a budget as it was written, of which so much more is needed for other things."""
        needed = units.write_duration(math.ceil(self.needed_s + more_s))
        return f"--budget: {given} is too short{self.why[0]}; give {needed} or more{self.why[1]}"


@dataclass(frozen=True)
class Budget:
    """Wall seconds that a campaign may take, those that earlier calls spent included."""

    limit_s: float
    before_s: float = 0.0
    begin_s: float = field(default_factory=time.monotonic)

    @property
    def spent_s(self) -> float:
        """Seconds so far."""
        return self.before_s + time.monotonic() - self.begin_s

    @property
    def share(self) -> float:
        """What is spent of the limit; above 1 beyond it."""
        return self.spent_s / max(self.limit_s, 1e-9)

    def holds(self, cost_s: float = 0.0) -> bool:
        """Whether something that costs so much ends before the limit."""
        return self.spent_s + cost_s <= self.limit_s

    def passes(self, *, least: int, most: int, first: int = 0, ahead: bool = False) -> Iterator[int]:
        """Numbers of whole passes: `least` in any case, then more as long as the budget lasts, up to `most`.

        `ahead`: a pass must be expected to end in time, by the mean of those before, not only to begin in time.
        """
        begun_s = self.spent_s
        for number in range(first, most):
            each_s = (self.spent_s - begun_s) / max(1, number - first) if ahead else 0.0
            if number >= least and not self.holds(each_s):
                return
            yield number

    def refusal(self, needed_s: float, purpose: str, hint: str = "") -> ScenarioError:
        """What to raise where the budget is too small, with what would suffice."""
        return BudgetTooShortError(self.limit_s, needed_s, ("", f" for {purpose}{hint}"))


def shuffled(cells: Sequence[Cell], generator: np.random.Generator) -> list[Cell]:
    """Cells in random order, so that drift and bursts of load fall on all of them alike."""
    return [cells[place] for place in generator.permutation(len(cells))]


def run_campaign(
    passes: Iterable[tuple[int, Iterable[Cell]]],
    sample: Callable[[Cell, int], object],
    *,
    budget: Budget | None = None,
    least: int = 0,
    cost_s: Callable[[Cell], float] = lambda _cell: 0.0,
    journal: Journal | None = None,
) -> None:
    """Sample the cells of each pass in turn.

    `passes`: the number of each pass and its cells in their order; they end when there is nothing left to do.
    `sample`: measures a cell in a pass and keeps the row; `BudgetSpentError` ends the campaign.
    `budget`: from pass `least` on, the first sample that would end beyond it ends the campaign; None: the passes end
    it.
    `cost_s`: seconds that a sample of a cell is expected to take.
    `journal`: waits for the disk after each pass.
    """
    for number, cells in passes:
        for cell in cells:
            if budget is not None and number >= least and not budget.holds(cost_s(cell)):
                return
            try:
                sample(cell, number)
            except BudgetSpentError:
                return
        if journal is not None:
            journal.sync()
