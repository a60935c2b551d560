"""What a what-if answers: each point against the base, fronts of cost, what pays most."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from advisor.advise.ranking import Gain
from advisor.results import Described, Drawn, Ends, Provenance
from advisor.whatif.advised import PointAdvice
from advisor.whatif.grid import Grid
from advisor.whatif.purchases import Bought
from simulator import documents, ties


@dataclass(frozen=True)
class Configured:
    """One configuration at a point, against itself in the base."""

    name: str
    makespan_s: Described
    difference_s: Ends | None
    gain: Ends | None


@dataclass(frozen=True)
class Cost:
    """What a run costs, all PEs of the platform for the whole makespan."""

    cost_per_s: float
    run: float


@dataclass(frozen=True)
class Energy:
    """What a run draws, in watts and joules."""

    power_w: float
    run: float


@dataclass(frozen=True)
class PointFound:
    """A point; without an answer, `best` is None and `error` says why.

    It is judged by its own best configuration (least mean makespan) against the base's best one, replication by
    replication.
    """

    point: int
    hash: str
    set: tuple[str, ...]
    changes: Mapping[str, Any]
    differs: tuple[str, ...]
    """Paths at which it is not as the scenario has it."""
    chosen: bool
    """Whether all of these can be bought or chosen; else it is another question, and is not ranked with the others."""
    configurations: tuple[Configured, ...]
    best: str | None
    advice: PointAdvice | None
    error: str | None
    difference_s: Ends | None = None
    gain: Gain | None = None
    together: Ends | None = None
    """The gain with intervals that hold for all points at once (Bonferroni)."""
    chance: float | None = None
    """That no other point is faster."""
    expected_loss: float | None = None
    """How much longer it is expected to take than the fastest of each truth."""
    same_as: int | None = None
    """A point that takes the same time in every replication."""
    cost: Cost | None = field(default=None, metadata=documents.SPARE)
    energy: Energy | None = field(default=None, metadata=documents.SPARE)

    @property
    def own(self) -> Configured | None:
        """The configuration that it is judged by."""
        return next((one for one in self.configurations if one.name == self.best), None)

    @property
    def mean_s(self) -> float:
        """The least mean makespan."""
        return min(one.makespan_s.mean for one in self.configurations)

    @property
    def named(self) -> str:
        """What it changes, without what it sets to what is there."""
        changed = zip(self.set, self.changes, strict=True)
        return " with ".join(text for text, path in changed if path in self.differs) or "the scenario as it is"

    def spent(self, of: str) -> Cost | Energy | None:
        """`cost` or `energy` of a run."""
        return self.cost if of == "cost" else self.energy


@dataclass(frozen=True)
class Front:
    """Points that none beats in both makespan and cost."""

    of: str
    unit: str
    points: tuple[int, ...]
    silent: int
    """Points that do not say what they cost."""


@dataclass(frozen=True)
class Findings:
    """What `apportion whatif` answers; times and dates are in `spent` and `provenance` only.

    Intervals and chances are None where replications are too few to have one; nothing pays then.
    """

    format: int
    command: str
    scenario: str
    question: str
    parameters: Mapping[str, Any]
    drawn: Drawn = field(metadata=documents.FLAT)
    grid: Grid
    points: tuple[PointFound, ...]
    comparisons: int
    ties: tuple[int, ...]
    """The points that are expected to lose 1 % to the fastest at most."""
    pays: tuple[int, ...]
    pays_most: int | None
    pays_most_alone: int | None
    nearly: int | None
    """A point within 1 % of the one that pays most that changes less."""
    single: tuple[int, ...]
    """Points that change one field that can be bought or chosen, the largest gain first."""
    not_ranked: tuple[str, ...]
    """Fields that can be neither bought nor chosen, such as the problem's size."""
    fronts: tuple[Front, ...]
    failed: int
    spent: Mapping[str, Any]
    warnings: tuple[str, ...]
    provenance: Provenance
    sentence: str = ""
    bought: tuple[Bought, ...] | None = field(default=None, metadata=documents.SPARE)
    """Purchases with what they gain per price, where prices were given."""

    def by_gain(self, *, every: bool = False) -> list[PointFound]:
        """Points that change anything and have a gain, the fastest first; of equal ones those with the fewest changes.

        `every`: those too that are not ranked.
        """
        some = [one for one in self.points if one.gain is not None and one.differs and (one.chosen or every)]
        return fewest_first(some, [-one.gain.mean for one in some if one.gain is not None])


def fewest_first(points: Sequence[PointFound], values: Sequence[float]) -> list[PointFound]:
    """Those with the least values first; of equal ones those with the fewest changes."""
    return [points[place] for place in ties.in_order(values, [len(one.differs) for one in points])]
