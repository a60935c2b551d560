"""A policy: in which order jobs of the queue start, who may pass whom, and on which PEs."""

from dataclasses import dataclass, field
from typing import Literal, get_args

from simulator.base.documents import Data
from simulator.base.errors import ScenarioError, meant
from simulator.scheduling.own import OwnDecide
from simulator.scheduling.slurm import SlurmPolicy, Turn

Order = Literal["fcfs", "sjf", "ljf", "wfp3", "unicep", "f1", "multifactor"]
Backfill = Literal["none", "easy", "conservative", "replanned", "slurm"]
PROMISING = ("conservative", "replanned")
"""Ways to backfill that promise a start to everybody: one keeps them, one makes all again at each end."""
Candidates = Literal["order", "shortest"]
Processors = Literal["counted", "named"]
Placement = Literal["lowest", "fastest", "earliest-finish", "min-min", "memory"]
SameSecond = Literal["instant", "event"]
Sizes = Literal["fixed", "fit"]
WORDS: Data = {
    "order": Order,
    "backfill": Backfill,
    "candidates": Candidates,
    "processors": Processors,
    "placement": Placement,
    "same_second": SameSecond,
    "sizes": Sizes,
}
"""The words that each field may have."""


@dataclass(frozen=True)
class Policy:
    """What decides who starts when and where.

    Raises ScenarioError for unknown words, or two that exclude each other.
    """

    order: Order = "fcfs"
    """Of the queue; ties in the order of submission."""
    backfill: Backfill = "easy"
    candidates: Candidates = "order"
    """In which order jobs are tried that may pass the head (EASY): as in the queue, or by increasing estimate."""
    processors: Processors = "counted"
    """Whether PEs are only counted, or each job gets PEs by number and keeps them."""
    placement: Placement = "lowest"
    """Which of the free PEs, if these are named."""
    same_second: SameSecond = "instant"
    """One pass after all that happens at an instant, or one after each event of it."""
    sizes: Sizes = "fixed"
    """What a moldable job gets: the processes that it asks for, or so many that it is planned to end first."""

    slurm: SlurmPolicy = field(default_factory=SlurmPolicy)
    """What order multifactor and backfill slurm are set to."""
    own: OwnDecide | None = field(default=None, compare=False)
    """A function of the user's own that decides in place of order, backfilling and placement."""
    own_name: str = ""

    def __post_init__(self) -> None:
        for name, kind in WORDS.items():
            if (word := getattr(self, name)) not in get_args(kind):
                known = get_args(kind)
                raise ScenarioError(f"{name}: there is no {word!r}; take {', '.join(known)}{meant(word, known)}")
        if self.own is not None:
            self._check_own()
        if self.placement != "lowest" and self.processors == "counted":
            raise ScenarioError(f"placement {self.placement}: counted PEs have no places; take processors named")
        if self.same_second == "event" and self.processors == "named":
            raise ScenarioError("same_second event: a pass after each event is defined for counted PEs; take instant")
        self._check_slurm()

    def _check_slurm(self) -> None:
        """Refuse what Slurm's policy has no meaning for."""
        if self.order == "multifactor" and not self.slurm.weighs:
            raise ScenarioError(
                "order multifactor: all its weights are 0; give a slurm.conf that has some, or take fcfs"
            )
        if self.same_second == "event" and self.periodic:
            raise ScenarioError(
                f"same_second event: {self.periodic} has a meaning with passes per instant; take instant"
            )
        if self.backfill == "slurm" and self.processors == "named":
            raise ScenarioError("backfill slurm: it plans whole nodes or counted PEs; take processors counted")

    @property
    def periodic(self) -> str:
        """The word of it that has instants of its own, such as `backfill slurm`; empty without one."""
        if self.backfill == "slurm":
            return "backfill slurm"
        return "order multifactor" if self.order == "multifactor" else ""

    def _check_own(self) -> None:
        """Refuse words that a policy of the user's own would pass over, and give it a name."""
        for name in ("order", "backfill", "candidates", "placement", "sizes"):
            if (word := getattr(self, name)) != getattr(type(self), name):
                raise ScenarioError(f"{name} {word}: a policy of your own decides that itself; leave it out")
        object.__setattr__(self, "own_name", self.own_name or getattr(self.own, "__name__", "own"))

    @property
    def periods(self) -> dict[Turn, int]:
        """Of what Slurm does in periods, in ticks."""
        return self.slurm.periods(calculates=self.order == "multifactor", schedules=self.backfill == "slurm")

    @property
    def name(self) -> str:
        """Short, with what differs from the usual: `easy`, `sjf easy`, `fcfs conservative named`."""
        if self.own is not None:
            return f"{self.own_name}{' named' if self.processors == 'named' else ''}"
        words = [self.order, "" if self.backfill == "none" else self.backfill]
        words += ["shortest first"] if self.candidates == "shortest" and self.backfill == "easy" else []
        words += [self.processors] if self.processors != "counted" else []
        words += [self.placement] if self.placement != "lowest" else []
        words += ["sizes fit"] if self.sizes == "fit" else []
        return " ".join(word for word in words if word)

    def to_dict(self) -> Data:
        """By field."""
        if self.own is not None:
            return {"own": self.own_name, "processors": self.processors, "same_second": self.same_second}
        words = {name: getattr(self, name) for name in WORDS}
        return words | ({"slurm": self.slurm.words} if self.periodic else {})
